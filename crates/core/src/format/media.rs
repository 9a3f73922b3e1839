//! [`Link`]: an image or a file that a chat links to. [`links`] finds those of one line of a chat, [`relink`] lets some of them lead
//! elsewhere, [`place`] says which file of the vault a link means.
//!
//! SillyTavern keeps pictures in `user/images` and files in `user/files`, and writes links to them as it names the files, with a slash
//! before them and nothing encoded. Links that others wrote can be percent-encoded, as a browser would ask for them. Everything else
//! that a link can be (another site, data, a way out of the vault) leads nowhere.

use std::borrow::Cow;

use forklore_json::{Raw, Splice, apply_all, quote};
use memchr::memmem;

/// Where SillyTavern keeps pictures and what else is shown in a message.
pub const IMAGES: &str = "user/images";
/// Where it keeps files that are attached to messages or chats.
pub const FILES: &str = "user/files";

/// No link to a file is longer. What is, is the picture itself.
const LONGEST: usize = 4096;

/// An image or a file that a chat links to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The file in the vault, as the link spells it
    pub literal: String,
    /// The file in the vault if the link is percent-encoded, where that is another one
    pub decoded: Option<String>,
}

impl Link {
    /// What a link means; `None` if it leads nowhere in the vault.
    pub fn read(link: &str) -> Option<Self> {
        let decoded = decode(link).and_then(|link| place(&link));
        match place(link) {
            Some(literal) => Some(Self { decoded: decoded.filter(|decoded| *decoded != literal), literal }),
            None => decoded.map(|literal| Self { literal, decoded: None }),
        }
    }

    /// The files that can be meant, the likeliest first.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.literal.as_str()).chain(self.decoded.as_deref())
    }
}

/// The file in the vault that a link leads to as it stands; `None` if it leads anywhere else.
pub fn place(link: &str) -> Option<String> {
    let path = link.strip_prefix('/').unwrap_or(link);
    let below = |folder: &str| path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    let fine = |part: &str| !matches!(part, "" | "." | "..");
    // Files have no folders; a backslash is a way out on some systems, and no name of SillyTavern's has one.
    let good = match (below(IMAGES), below(FILES)) {
        (Some(rest), _) => rest.split('/').all(fine),
        (_, Some(name)) => fine(name) && !name.contains('/'),
        _ => false,
    };
    (good && !path.contains(['\\', '\u{FFFD}']) && !path.contains(char::is_control)).then(|| path.to_owned())
}

/// Whether a line can have a link at all: nearly none has, and only those are read.
pub fn may_link(line: &[u8]) -> bool {
    memmem::find(line, b"user/").is_some() || memmem::find(line, br"user\/").is_some()
}

/// What one line of a chat links to, be it the header or a message.
pub fn links(line: &[u8]) -> Vec<Link> {
    if !may_link(line) {
        return Vec::new();
    }
    let Ok(raw) = Raw::parse(line) else { return Vec::new() };
    of_all(spots(raw))
}

/// What a chat as a whole links to, by its `chat_metadata`.
pub fn links_of_metadata(metadata: Raw<'_>) -> Vec<Link> {
    let mut found = Vec::new();
    in_metadata(metadata, &mut found);
    of_all(found)
}

/// A line with links that lead elsewhere; `None` if none of its links does. `moved` tells where a file is now.
pub fn relink(line: &[u8], moved: &dyn Fn(&str) -> Option<String>) -> Option<Vec<u8>> {
    if !may_link(line) {
        return None;
    }
    let raw = Raw::parse(line).ok()?;
    let splice = |spot: Raw<'_>| {
        let text = text(spot)?;
        let link = Link::read(&text)?;
        let (was, is) = link.places().find_map(|place| Some((place.to_owned(), moved(place)?)))?;
        let slash = if text.starts_with('/') { "/" } else { "" };
        // As it was written: encoded where the old one had to be read that way.
        let plain = text.strip_prefix('/').unwrap_or(&text) == was;
        let new = if plain { Cow::Borrowed(&*is) } else { Cow::Owned(encode(&is)) };
        Some(Splice { range: spot.range_in(line)?, with: quote(&format!("{slash}{new}")) })
    };
    let splices: Vec<Splice> = spots(raw).into_iter().filter_map(splice).collect();
    (!splices.is_empty()).then(|| apply_all(line, &splices))
}

fn of_all(spots: Vec<Raw<'_>>) -> Vec<Link> {
    spots.into_iter().filter_map(|spot| Link::read(&text(spot)?)).collect()
}

fn text(spot: Raw<'_>) -> Option<Cow<'_, str>> {
    spot.as_text().filter(|_| spot.bytes().len() <= LONGEST)
}

/// The strings of a line that are links, wherever they lead.
fn spots(line: Raw<'_>) -> Vec<Raw<'_>> {
    let mut found = Vec::new();
    let [extra, swipes, metadata] = line.pick(["extra", "swipe_info", "chat_metadata"]);
    let swipes = swipes.unwrap_or(Raw::NULL).elements().filter_map(|swipe| swipe.get("extra"));
    for extra in extra.into_iter().chain(swipes) {
        let [image, video, images, media, file, files] =
            extra.pick(["image", "video", "image_swipes", "media", "file", "files"]);
        found.extend(image.into_iter().chain(video));
        found.extend(images.unwrap_or(Raw::NULL).elements());
        let media = media.unwrap_or(Raw::NULL).elements();
        let files = file.into_iter().chain(files.unwrap_or(Raw::NULL).elements());
        found.extend(media.chain(files).filter_map(|one| one.get("url")));
    }
    if let Some(metadata) = metadata {
        in_metadata(metadata, &mut found);
    }
    found
}

fn in_metadata<'a>(metadata: Raw<'a>, found: &mut Vec<Raw<'a>>) {
    let [attachments, backgrounds] = metadata.pick(["attachments", "chat_backgrounds"]);
    found.extend(attachments.unwrap_or(Raw::NULL).elements().filter_map(|one| one.get("url")));
    found.extend(backgrounds.unwrap_or(Raw::NULL).elements());
}

/// The text behind percent signs; `None` if there is nothing behind them, or no text.
fn decode(link: &str) -> Option<String> {
    if !link.contains('%') {
        return None;
    }
    let mut bytes = Vec::with_capacity(link.len());
    let mut rest = link.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|digits| *first == b'%' && digits.is_ascii());
        let value = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// A path as `encodeURI` writes it, and `#` and `?` besides: they would end it.
fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.!~*'();/:@&=+$,".contains(&byte);
        if plain { out.push(char::from(byte)) } else { out.push_str(&format!("%{byte:02X}")) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        links(line.as_bytes()).into_iter().map(|link| link.literal).collect()
    }

    #[test]
    fn every_place_that_sillytavern_links_from_is_read() {
        let line = r#"{"mes":"user/images/no.png","extra":{"image":"/user/images/A/1.png","video":"user/images/2.mp4",
            "image_swipes":["/user/images/A/3.png"],"media":[{"url":"/user/images/A/4.png","type":"image"}],
            "file":{"url":"/user/files/5.txt"},"files":[{"url":"user/files/6.txt"}]},
            "swipe_info":[{"extra":{"image":"\/user\/images\/A\/7.png"}}]}"#;
        let all = ["images/A/1.png", "images/2.mp4", "images/A/3.png", "images/A/4.png", "files/5.txt"];
        let mut all: Vec<String> = all.iter().map(|name| format!("user/{name}")).collect();
        all.extend(["user/files/6.txt".to_owned(), "user/images/A/7.png".to_owned()]);
        assert_eq!(found(line), all);
        let header = r#"{"chat_metadata":{"attachments":[{"url":"/user/files/a.txt"}],"chat_backgrounds":["/user/images/B/b.png"]}}"#;
        assert_eq!(found(header), ["user/files/a.txt", "user/images/B/b.png"]);
    }

    #[test]
    fn nothing_outside_is_ever_meant() {
        let bad = [
            "http://x/user/images/a.png",
            "https://x/user/files/a",
            "data:image/png;base64,user/images/",
            "//user/images/a.png",
            "/user/images/../../../etc/passwd",
            "user/images/..",
            "user/images/./a",
            "user/images//a",
            "user/images/",
            "user/files/a/b",
            "user/files/..",
            "/etc/passwd",
            "../user/images/a.png",
            "user/images/a\\..\\b",
            "backgrounds/a.png",
            "user/images/%2e%2e/%2e%2e/settings.json\0",
            "user/files/%2e%2e",
            "user/images/a\u{0}b",
            "chats/A/b.jsonl",
        ];
        for link in bad {
            let places: Vec<String> =
                Link::read(link).iter().flat_map(Link::places).map(str::to_owned).collect();
            let out = |place: &String| place.split('/').any(|part| part == ".." || part.is_empty());
            assert!(!places.iter().any(out), "{link:?} -> {places:?}");
        }
        let way_out = Link::read("user/images/%2e%2e/%2e%2e/settings.json").unwrap();
        assert_eq!(way_out.decoded, None);
    }

    #[test]
    fn an_encoded_link_means_what_a_browser_would_ask_for() {
        let link = Link::read("/user/images/Ana%20B/one%23two.png").unwrap();
        assert_eq!(link.literal, "user/images/Ana%20B/one%23two.png");
        assert_eq!(link.decoded.as_deref(), Some("user/images/Ana B/one#two.png"));
        assert_eq!(Link::read("/user/images/100%.png").unwrap().decoded, None);
    }

    #[test]
    fn a_moved_file_is_linked_as_it_was_and_nothing_else_changes() {
        let line = br#"{ "n": 1.0, "extra" : {"image":"/user/images/A b/1.png", "media":[{"url":"user/images/A%20b/1.png"},{"url":"/user/images/2.png"}]}, "big": 12345678901234567890 }"#;
        let moved =
            |place: &str| (place == "user/images/A b/1.png").then(|| "user/images/A b/1 (2).png".to_owned());
        let new = relink(line, &moved).unwrap();
        let wanted = String::from_utf8(line.to_vec())
            .unwrap()
            .replace("/A b/1.png", "/A b/1 (2).png")
            .replace("A%20b/1.png", "A%20b/1%20(2).png");
        assert_eq!(String::from_utf8(new).unwrap(), wanted);
        assert_eq!(relink(line, &|_| None), None);
    }
}
