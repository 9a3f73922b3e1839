//! [`picture()`]: the picture of a story, from its card.

use forklore_core::format::group::Group;
use forklore_fs::{PathError, Vfs};
use forklore_journal::layout;

use crate::look::OneStory;
use crate::{ErrorCode, Failure, OpenVault};

/// Cards are pictures of a few megabytes at most. What is larger is not shown.
const LARGEST: u64 = 16 << 20;
/// So many members of a group are looked at.
const MEMBERS: usize = 20;

/// A picture.
pub struct Picture {
    /// Its media type
    pub media: &'static str,
    /// Changes when the file does
    pub tag: String,
    /// The file, without what a card says about its character; none if `known` was the tag
    pub bytes: Option<Vec<u8>>,
}

/// The picture of a story, by its folder: SillyTavern's small copy of the character's card, or the card itself; for a group, that of its
/// first member who has one. `known` is the tag of one that is there already.
pub fn picture(open: &OpenVault<'_>, of: &OneStory, known: Option<&str>) -> Result<Picture, Failure> {
    // A list asks for many of them at once: nothing is read but the picture.
    let cards = match of.story.strip_prefix("group:") {
        Some(group) => members(&*open.fs, group),
        None => vec![format!("{}.png", of.story)],
    };
    let folders = ["thumbnails/avatar", layout::CHARACTERS];
    for (card, folder) in cards.iter().flat_map(|card| folders.map(|folder| (card, folder))) {
        // A name that leads elsewhere is no name.
        let Ok(path) = layout::folder(folder).join(card) else { continue };
        let Some(id) = open.fs.identity(&path)?.filter(|id| id.len <= LARGEST) else { continue };
        let tag = format!("\"{:x}-{:x}-{:x}\"", id.file, id.len, id.modified);
        let bytes = read(&*open.fs, &path, id.len)?;
        let Some(media) = media(&bytes) else { continue };
        let bytes = (known != Some(&*tag)).then(|| without_texts(bytes));
        return Ok(Picture { media, tag, bytes });
    }
    let message = format!("\"{}\" has no picture", of.story);
    Err(Failure::new(ErrorCode::NoPicture, message, "Give the character one in SillyTavern."))
}

/// The cards of a group's members; none if there is no such group.
fn members(fs: &dyn Vfs, group: &str) -> Vec<String> {
    let read = || {
        let path = layout::folder(layout::GROUPS).join(&format!("{group}.json")).ok()?;
        let id = fs.identity(&path).ok()?.filter(|id| id.len <= LARGEST)?;
        let bytes = read(fs, &path, id.len).ok()?;
        Group::parse(&bytes, group).map(|group| group.members.into_iter().take(MEMBERS).collect())
    };
    read().unwrap_or_default()
}

fn read(fs: &dyn Vfs, path: &forklore_fs::VaultPath, len: u64) -> Result<Vec<u8>, PathError> {
    let file = fs.open(path)?;
    file.read_range(0..len).map_err(|source| PathError { path: path.clone(), doing: "read", source })
}

/// What kind of picture it is, by its first bytes. Only what cannot carry a script.
fn media(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// A PNG without its texts: a card carries its character in them, which can be larger than the picture.
fn without_texts(bytes: Vec<u8>) -> Vec<u8> {
    let Some((signature, mut rest)) =
        bytes.split_at_checked(8).filter(|(start, _)| start.starts_with(b"\x89PNG"))
    else {
        return bytes;
    };
    let mut kept = signature.to_vec();
    while let [a, b, c, d, ..] = *rest {
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        let Some((chunk, after)) = len.checked_add(12).and_then(|len| rest.split_at_checked(len)) else {
            break;
        };
        rest = after;
        if !matches!(&chunk[4..8], b"tEXt" | b"zTXt" | b"iTXt") {
            kept.extend_from_slice(chunk);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_shown_without_its_character() {
        let chunk = |kind: &[u8], data: &[u8]| {
            let len = u32::try_from(data.len()).unwrap().to_be_bytes();
            [&len[..], kind, data, &[0; 4]].concat()
        };
        let start = b"\x89PNG\r\n\x1a\n";
        let (head, end) = (chunk(b"IHDR", &[1; 13]), chunk(b"IEND", &[]));
        let card = [&start[..], &head, &chunk(b"tEXt", b"chara\0secret"), &end].concat();
        assert_eq!(without_texts(card), [&start[..], &head, &end].concat());
        // Cut off, or lying about its length: what is whole is shown.
        let torn = [&start[..], &head, &[255, 255, 255, 255, b'I']].concat();
        assert_eq!(without_texts(torn), [&start[..], &head].concat());
        assert_eq!(media(b"<svg onload=alert(1)>"), None);
    }
}
