//! What a fork and its book are called: [`automatic`], [`typed`] and [`from_template`] for the chat, [`book`] for the lorebook.
//!
//! Every name is the stem of a file: clean, at most [`LONGEST`] bytes, and free. Whether a name is free the caller tells by
//! `taken`, which should not regard case: `UPPER` and `upper` are one file on Windows and macOS. Numbers are tried until one
//! is free, so `taken` must not say yes to everything.

use unicode_normalization::UnicodeNormalization;

use super::ForkKind;
use crate::format::names::{book_stem, chat_stem, is_kept};

/// How long the name of a book may get by what is put after the first book's name, in bytes: people read it in a list.
pub const READABLE: usize = 90;

/// Longest file stem SillyTavern can still save beside its temporary suffix, in bytes.
pub const LONGEST: usize = 230;

/// Why a typed name cannot be the name of a chat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing was typed, or only white space.
    #[error("the name is empty")]
    Empty,
    /// SillyTavern would clean the name away.
    #[error("no file can have this name")]
    Reserved,
    /// SillyTavern could not save the file.
    #[error("the name is too long: {bytes} bytes, where {LONGEST} are possible")]
    TooLong {
        /// How long the name is once it is clean.
        bytes: usize,
    },
}

/// What a template for names can speak of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TemplateValues<'a> {
    /// `{scene_number}`; `None` if there is no scene.
    pub scene_number: Option<usize>,
    /// `{scene_name}`; `None` if there is no scene or it has no name.
    pub scene_name: Option<&'a str>,
    /// `{message}`: number of the message that the fork is made at.
    pub message: usize,
    /// `{chat}`: name of the parent.
    pub chat: &'a str,
}

/// How the name of a fork's book is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookStyle<'a> {
    /// By a template, as extensions name the books that they make.
    Template {
        /// The template, with `{{char}}` and `{{chat}}`.
        template: &'a str,
        /// Name of the character or group.
        character: &'a str,
    },
    /// The book that the line began with and then the fork: `<book> - <fork>`.
    After {
        /// Name of that book; see [`first_book`].
        book: &'a str,
    },
}

/// The name that SillyTavern 1.19 would give a fork: the parent's name without an earlier number of the same kind, and then the
/// first number that is free.
pub fn automatic(parent: &str, kind: ForkKind, taken: &dyn Fn(&str) -> bool) -> String {
    let word = match kind {
        ForkKind::Branch => "Branch #",
        ForkKind::Checkpoint => "Checkpoint #",
    };
    let base = kept(without_number(parent, word));
    // A name such as `con.old` would be cleaned away whole, whatever is put after it.
    let base = if chat_stem(&format!("{base} - ")).is_empty() { "chat" } else { &base };
    let suffixes = (1u64..).map(|i| format!(" - {word}{i}"));
    first_free(suffixes, &|room| start_of(base, room).to_owned(), taken)
}

/// Takes off `- Branch #2` at the end and the older `Branch #2 -` at the start, in SillyTavern's order.
fn without_number<'a>(name: &'a str, word: &str) -> &'a str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let suffix = name.rsplit_once(word).filter(|(_, number)| is_number(number));
    let name = suffix.and_then(|(base, _)| base.strip_suffix(" - ")).unwrap_or(name);
    let prefix = name.strip_prefix(word).and_then(|rest| rest.split_once(" - "));
    prefix.filter(|(number, _)| is_number(number)).map_or(name, |(_, base)| base)
}

/// The file stem for a name that a user typed. Blanks at its ends stay, as in SillyTavern.
pub fn typed(name: &str) -> Result<String, NameError> {
    if name.trim().is_empty() {
        return Err(NameError::Empty);
    }
    let name = kept(name);
    // Before the cleaning, which cuts without a word.
    if name.len() > LONGEST {
        return Err(NameError::TooLong { bytes: name.len() });
    }
    let stem = chat_stem(&name);
    // Dots alone are a file to SillyTavern and a folder to everybody else.
    if stem.trim_matches(['.', ' ']).is_empty() { Err(NameError::Reserved) } else { Ok(stem) }
}

/// A name from the user's template, for example `Scene {scene_number} - {scene_name}`. What is no known placeholder is left.
///
/// `None` if the template speaks of a scene and there is none, or if nothing is left of the name.
pub fn from_template(
    template: &str,
    values: &TemplateValues<'_>,
    taken: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let name = kept(&fill(template, values)?);
    let name = start_of(name.trim(), LONGEST);
    if chat_stem(name).is_empty() {
        return None;
    }
    Some(first_free(copies(), &|room| start_of(name, room).to_owned(), taken))
}

/// Puts the values in. They go in as they are: braces in a scene's name mean nothing.
fn fill(template: &str, values: &TemplateValues<'_>) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (word, behind) = after.split_once('}').unwrap_or(("", ""));
        let value = match word {
            "scene_number" => values.scene_number?.to_string(),
            "scene_name" => values.scene_name?.to_owned(),
            "message" => values.message.to_string(),
            "chat" => values.chat.to_owned(),
            _ => {
                out.push('{');
                rest = after;
                continue;
            }
        };
        out.push_str(&value);
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

/// The name of the book that a line of forks began with, from that of a fork's book: `Lore - Night` is `Lore` where a chat of the line
/// is called `Night`. So a fork of a fork has the first book's name and its own in its book's, and not those of all between them.
pub fn first_book<'a>(book: &'a str, line: &[&str]) -> &'a str {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let whole = match book.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((base, n)) if number(n) => base,
        _ => book,
    };
    // A name that was too long was cut at a ` - `: its end is what the book has of it.
    let ends = |name: &str| {
        let name = kept(name);
        let cuts = name.match_indices(SEPARATOR).map(|(i, _)| i + SEPARATOR.len());
        let ends = std::iter::once(0).chain(cuts).map(|start| name[start..].to_owned()).collect::<Vec<_>>();
        ends.into_iter().find_map(|end| whole.strip_suffix(&end)?.strip_suffix(SEPARATOR))
    };
    let first = line.iter().filter_map(|name| ends(name)).filter(|base| !base.is_empty());
    first.min_by_key(|base| base.len()).unwrap_or(book)
}

const SEPARATOR: &str = " - ";

/// The name of the fork's book. Never empty.
pub fn book(style: BookStyle<'_>, fork: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let build = |room: usize| match style {
        BookStyle::Template { template, character } => {
            templated(template, &segment(character, "Unknown"), &segment(fork, "Chat"), room)
        }
        BookStyle::After { book } => joined(&kept(book), &kept(fork), room),
    };
    let usable = |room: usize| {
        let name = book_stem(&build(room));
        if name.trim().is_empty() { "book".to_owned() } else { name }
    };
    first_free(copies(), &usable, taken)
}

/// A name by a template within `room` bytes. If something has to go, it is the start of the chat's name: forks of one chat differ
/// at the end.
fn templated(template: &str, character: &str, chat: &str, room: usize) -> String {
    let name = render(template, character, chat);
    let Some(excess) = name.len().checked_sub(room).filter(|n| *n > 0) else { return name };
    let shorter = render(template, character, end_of(chat, chat.len().saturating_sub(excess)));
    start_of(&shorter, room).to_owned()
}

/// Fills a template, which may have blanks inside the braces, and cleans what stands around the values.
fn render(template: &str, character: &str, chat: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (word, behind) = after.split_once("}}").unwrap_or(("", ""));
        let value = match word.trim() {
            "char" => character,
            "chat" => chat,
            _ => {
                // One brace only: the next may be the first of a pair, as in `{{{char}}`.
                out.push('{');
                rest = &rest[before.len() + 1..];
                continue;
            }
        };
        out.push_str(value);
        rest = behind;
    }
    out.push_str(rest);
    kept(&out)
}

/// A part of a book's name, clean.
fn segment(text: &str, fallback: &str) -> String {
    let text = if text.is_empty() { fallback } else { text };
    let unfit = |c: char| matches!(c, '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    let parts = text.split(|c: char| unfit(c) || c.is_whitespace()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ").nfc().collect()
}

/// `<book> - <fork>` within `room` bytes. What makes it longer than people read is the start of the fork's name, which repeats its
/// parents'. If more has to go, it is the end of the book's name and then the start of the fork's.
fn joined(book: &str, fork: &str, room: usize) -> String {
    let fits = |fork: &str| book.len() + SEPARATOR.len() + fork.len() <= READABLE;
    let mut fork = fork;
    while let Some((_, end)) =
        fork.split_once(SEPARATOR).filter(|(_, end)| !fits(fork) && !end.trim().is_empty())
    {
        fork = end;
    }
    let tail = format!("{SEPARATOR}{fork}");
    match room.checked_sub(tail.len()) {
        Some(left) if left > 0 => format!("{}{tail}", start_of(book, left)),
        _ => end_of(fork, room).to_owned(),
    }
}

/// A name for a file that comes from elsewhere: its own if that can be had, else one like it. Never empty.
pub fn elsewhere(name: &str, fallback: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let clean = kept(name);
    let base = if chat_stem(&clean).trim_matches(['.', ' ']).is_empty() { fallback } else { &clean };
    first_free(copies(), &|room| start_of(base, room).to_owned(), taken)
}

/// Nothing, ` (2)`, ` (3)` and so on.
fn copies() -> impl Iterator<Item = String> {
    std::iter::once(String::new()).chain((2u64..).map(|i| format!(" ({i})")))
}

/// The first name that is free, of a base and one of the suffixes. `base` is told how many bytes it may have.
fn first_free(
    mut suffixes: impl Iterator<Item = String>,
    base: &dyn Fn(usize) -> String,
    taken: &dyn Fn(&str) -> bool,
) -> String {
    let name = |suffix: String| format!("{}{suffix}", base(LONGEST.saturating_sub(suffix.len())));
    // The suffixes never end, so there is always one.
    suffixes.find_map(|suffix| Some(name(suffix)).filter(|name| !taken(name))).unwrap_or_default()
}

/// A name without the characters that no file can have.
fn kept(name: &str) -> String {
    name.chars().filter(|c| is_kept(*c)).collect()
}

/// At most `room` bytes from the start; a cut name does not end in a blank.
fn start_of(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    text[..text.floor_char_boundary(room)].trim_end()
}

/// At most `room` bytes from the end; a cut name does not start with a blank.
fn end_of(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    text[text.ceil_char_boundary(text.len() - room)..].trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "z-AutoLB-{{char}}-{{chat}}";

    fn free(_: &str) -> bool {
        false
    }

    #[test]
    fn names_forks_as_sillytavern_does() {
        let taken = |name: &str| name == "X - Branch #1" || name == "X - Branch #2";
        assert_eq!(automatic("X", ForkKind::Branch, &taken), "X - Branch #3");
        assert_eq!(automatic("X - Branch #2", ForkKind::Branch, &taken), "X - Branch #3");
        assert_eq!(automatic("Branch #7 - X", ForkKind::Branch, &taken), "X - Branch #3");
        assert_eq!(automatic("Branch #7 - X - Branch #12", ForkKind::Branch, &taken), "X - Branch #3");
        assert_eq!(automatic("X - Branch #1", ForkKind::Checkpoint, &taken), "X - Branch #1 - Checkpoint #1");
        assert_eq!(automatic("Checkpoint #1 - X", ForkKind::Checkpoint, &free), "X - Checkpoint #1");
        assert_eq!(
            automatic("Bookmark #1 - X", ForkKind::Checkpoint, &free),
            "Bookmark #1 - X - Checkpoint #1"
        );
        assert_eq!(automatic("X Branch #2", ForkKind::Branch, &free), "X Branch #2 - Branch #1");
        assert_eq!(automatic("con.old", ForkKind::Branch, &free), "chat - Branch #1");
    }

    #[test]
    fn keeps_the_number_of_a_long_name() {
        let parent = "é".repeat(120);
        let name = automatic(&parent, ForkKind::Checkpoint, &|name| name.ends_with("#1"));
        assert!(name.ends_with("é - Checkpoint #2"));
        assert!((LONGEST - 1..=LONGEST).contains(&name.len()));
    }

    #[test]
    fn takes_typed_names_as_sillytavern_would_file_them() {
        assert_eq!(typed("My: \"odd\" name/1?").as_deref(), Ok("My odd name1"));
        assert_eq!(typed(" kept ").as_deref(), Ok(" kept "));
        assert_eq!(typed(" \t"), Err(NameError::Empty));
        assert_eq!(typed("CON"), Err(NameError::Reserved));
        assert_eq!(typed("??? "), Err(NameError::Reserved));
        assert_eq!(typed(".."), Err(NameError::Reserved));
        assert_eq!(typed("so...").as_deref(), Ok("so..."));
        assert_eq!(typed(&format!("{}:", "é".repeat(120))), Err(NameError::TooLong { bytes: 240 }));
        assert_eq!(typed(&"x".repeat(230)).map(|name| name.len()), Ok(230));
    }

    #[test]
    fn fills_templates() {
        let values = TemplateValues {
            scene_number: Some(3),
            scene_name: Some("The {chat} gate: night"),
            message: 41,
            chat: "Ana",
        };
        let fill = |template: &str| from_template(template, &values, &free);
        assert_eq!(
            fill("Scene {scene_number} - {scene_name}").as_deref(),
            Some("Scene 3 - The {chat} gate night")
        );
        assert_eq!(fill("{chat} at {message} {mood} {").as_deref(), Some("Ana at 41 {mood} {"));
        assert_eq!(fill("{{chat}}").as_deref(), Some("{Ana}"));
        assert_eq!(fill(" ? "), None);
        assert_eq!(fill("con"), None);
        let nowhere = TemplateValues { chat: "Ana", ..TemplateValues::default() };
        assert_eq!(from_template("Scene {scene_number}", &nowhere, &free), None);
        assert_eq!(from_template("{scene_name}", &nowhere, &free), None);
        let taken = |name: &str| name == "Ana" || name == "Ana (2)";
        assert_eq!(from_template("{chat}", &nowhere, &taken).as_deref(), Some("Ana (3)"));
    }

    #[test]
    fn names_books_by_a_template() {
        let style = |template| BookStyle::Template { template, character: "Ana/Lee" };
        let fork = "Branch #7 - 2025-11-21@20h36m45s: \"x\"  y";
        assert_eq!(
            book(style(TEMPLATE), fork, &free),
            "z-AutoLB-Ana Lee-Branch #7 - 2025-11-21@20h36m45s x y"
        );
        assert_eq!(book(style("{{ chat }}: {{{char}} {{x}}"), "$& \n", &free), "$& {Ana Lee {{x}}");
        assert_eq!(book(style(TEMPLATE), "e\u{301}", &|name| !name.ends_with(')')), "z-AutoLB-Ana Lee-é (2)");
        assert_eq!(book(style("?"), "x", &free), "book");
        assert_eq!(book(style("con"), "x", &|name| name == "book"), "book (2)");
    }

    #[test]
    fn a_long_book_keeps_the_forks_number() {
        let fork = format!("{} - Branch #12", "é".repeat(100));
        let style = BookStyle::Template { template: TEMPLATE, character: "Ana" };
        let name = book(style, &fork, &free);
        assert!(
            name.len() <= LONGEST && name.starts_with("z-AutoLB-Ana-é") && name.ends_with("é - Branch #12")
        );
        let name =
            book(BookStyle::After { book: &"b".repeat(225) }, "The: fork", &|name| !name.ends_with(')'));
        assert_eq!(name, format!("{} - The fork (2)", "b".repeat(LONGEST - 4 - 11)));
        let name = book(BookStyle::After { book: "b" }, &format!("{}end", "é".repeat(120)), &free);
        assert!(name.len() <= LONGEST && name.ends_with("éend"));
    }
}
