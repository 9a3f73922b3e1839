//! `search`: where something is said in a story or in all of them, which entries and recaps tell of it, and which chats are called so.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use forklore_core::adapter::{EntryRole, entry_role};
use forklore_core::format::chat::Message;
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library, Progress, StoryIx};
use memchr::memmem;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::{notes, show};

/// How many of each are given at once.
pub const MOST: usize = 100;
/// How many characters stand around what was found.
const AROUND: usize = 60;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchReport {
    /// Messages in which it is said. What a fork has from its parent is found in the parent.
    pub messages: Vec<FoundMessage>,
    /// Entries of lorebooks as they are now
    pub entries: Vec<FoundEntry>,
    /// Chats that are called so
    pub chats: Vec<String>,
    /// Running recaps as they are now
    pub recaps: Vec<FoundRecap>,
    /// What people have noted
    pub notes: Vec<FoundNote>,
    /// How many messages there are in all
    pub all_messages: usize,
    /// How many entries there are in all
    pub all_entries: usize,
    /// Whether there is more than is given
    pub more: bool,
}

/// A running recap that tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundRecap {
    /// The chat that it is of
    pub chat: String,
    /// What it says around it
    pub excerpt: Excerpt,
}

/// A note that says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundNote {
    /// A chat that it stands in
    pub chat: String,
    /// The message
    pub at: usize,
    /// What it says around it
    pub excerpt: Excerpt,
}

/// A message in which it is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundMessage {
    /// Address of the chat
    pub chat: String,
    /// The message
    pub at: usize,
    /// Who says it
    pub speaker: String,
    /// What is said around it
    pub excerpt: Excerpt,
}

/// An entry that tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundEntry {
    /// A chat that is bound to the book
    pub chat: String,
    /// The book
    pub book: String,
    /// Number of the entry
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// The key that has it, if one has
    pub key: Option<String>,
    /// What it says around it
    pub excerpt: Excerpt,
}

/// A part of a text, with what was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Excerpt {
    /// What comes before
    pub before: String,
    /// What was looked for, as it stands there; empty if only the title has it
    pub found: String,
    /// What comes after
    pub after: String,
}

/// Looks for `text`, without regard to case, in the chats of a story, or of all, and in their books. The first `from` messages and
/// entries are left out: they are known already.
pub fn search(
    library: &Library,
    story: Option<StoryIx>,
    text: &str,
    from: usize,
    progress: &dyn Progress,
) -> Result<SearchReport, PathError> {
    let wanted = fold(text.trim());
    let mut report = SearchReport {
        messages: Vec::new(),
        entries: Vec::new(),
        chats: Vec::new(),
        recaps: Vec::new(),
        notes: Vec::new(),
        all_messages: 0,
        all_entries: 0,
        more: false,
    };
    if wanted.is_empty() {
        return Ok(report);
    }
    let stories = library.stories().filter(|(s, _)| story.is_none_or(|only| only == *s));
    let chats: Vec<ChatIx> = stories.flat_map(|(_, story)| story.chats().iter().copied()).collect();
    let quick = Quick::of(&wanted);
    progress.start("Searching", chats.len() as u64);
    let look = |c: &ChatIx| {
        let found = in_chat(library, *c, &wanted, quick.as_ref());
        progress.advance(1);
        found
    };
    let found: Result<Vec<Vec<FoundMessage>>, _> = chats.par_iter().map(look).collect();
    progress.finish();
    report.messages = found?.into_iter().flatten().collect();
    let mut seen: HashSet<&str> = HashSet::new();
    for c in &chats {
        let chat = library.chat(*c);
        if contains(chat.name(), &wanted) {
            report.chats.push(library.address(*c).to_string());
        }
        if let Some((name, stem)) = chat.book()
            && seen.insert(stem)
        {
            in_book(library, *c, name, &wanted, &mut report.entries)?;
        }
    }
    (report.all_messages, report.all_entries) = (report.messages.len(), report.entries.len());
    report.recaps = in_recaps(library, &chats, &wanted);
    report.notes = in_notes(library, story, &wanted);
    report.more = report.messages.len().max(report.entries.len()) > from + MOST;
    report.messages = report.messages.into_iter().skip(from).take(MOST).collect();
    report.entries = report.entries.into_iter().skip(from).take(MOST).collect();
    // Names and recaps come with the first part.
    let most = if from == 0 { MOST } else { 0 };
    report.chats.truncate(most);
    report.recaps.truncate(most);
    report.notes.truncate(most);
    Ok(report)
}

fn in_chat(
    library: &Library,
    c: ChatIx,
    wanted: &[char],
    quick: Option<&Quick>,
) -> Result<Vec<FoundMessage>, PathError> {
    let chat = library.chat(c);
    let own =
        if chat.lineage().parent.is_some() { chat.lineage().fork_message.map_or(0, |at| at + 1) } else { 0 };
    let mut found = Vec::new();
    library.each_message(c, own, |at, line| {
        if quick.is_some_and(|quick| !quick.may_be_in(line)) {
            return;
        }
        let Ok(message) = Message::parse(line) else { return };
        let Some(excerpt) = excerpt(&message.text(), wanted) else { return };
        let chat = library.address(c).to_string();
        found.push(FoundMessage { chat, at, speaker: message.speaker().into_owned(), excerpt });
    })?;
    Ok(found)
}

/// The recaps of chats as they are now. Forks begin with their parent's: each text is told once.
fn in_recaps(library: &Library, chats: &[ChatIx], wanted: &[char]) -> Vec<FoundRecap> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for c in chats {
        // What cannot be read is not searched.
        let recap = show::running_at(library, *c, library.chat(*c).head());
        let Some(text) = recap.ok().and_then(|recap| recap.content) else { continue };
        if let Some(excerpt) = excerpt(&text, wanted)
            && seen.insert(text)
        {
            found.push(FoundRecap { chat: library.address(*c).to_string(), excerpt });
        }
    }
    found
}

/// What people have noted in a story, or in all.
fn in_notes(library: &Library, story: Option<StoryIx>, wanted: &[char]) -> Vec<FoundNote> {
    // Notes that cannot be read are told to whoever writes one.
    let notes = notes::all(&**library.fs()).unwrap_or_default().notes;
    let found = notes.iter().filter_map(|note| {
        let excerpt = excerpt(&note.text, wanted)?;
        let c = notes::place(library, note)?;
        let here = story.is_none_or(|only| library.chat(c).story() == only);
        here.then(|| FoundNote { chat: library.address(c).to_string(), at: note.message, excerpt })
    });
    found.collect()
}

fn in_book(
    library: &Library,
    c: ChatIx,
    name: &str,
    wanted: &[char],
    found: &mut Vec<FoundEntry>,
) -> Result<(), PathError> {
    let Some(book) = library.book(name)? else { return Ok(()) };
    // A book that makes no sense is told by `check`.
    let Ok(parsed) = book.parse() else { return Ok(()) };
    for entry in parsed.entries() {
        let comment = entry.comment();
        if entry_role(&comment) == EntryRole::Queue {
            continue;
        }
        let content = entry.content();
        let start = || Excerpt {
            before: content.chars().take(2 * AROUND).collect(),
            found: String::new(),
            after: String::new(),
        };
        let keys = entry.said()[1].unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text);
        let key = { keys }.find(|key| contains(key, wanted)).map(Cow::into_owned);
        let named = key.is_some() || contains(&comment, wanted);
        let said = excerpt(&content, wanted).or_else(|| named.then(start));
        if let Some(excerpt) = said {
            let chat = library.address(c).to_string();
            let (book, uid) = (name.to_owned(), entry.uid());
            found.push(FoundEntry { chat, book, uid, comment: comment.into_owned(), key, excerpt });
        }
    }
    Ok(())
}

/// A look at the bytes of a line that tells which ones need not be read: most do not have what is looked for, whatever is in them.
struct Quick(memmem::Finder<'static>);

impl Quick {
    /// Nothing if bytes cannot tell: where JSON writes something else than what is said, or letters beyond ASCII come in two sizes.
    fn of(wanted: &[char]) -> Option<Self> {
        let same = |c: &char| match c {
            '"' | '\\' | '/' => false,
            c if c.is_ascii() => !c.is_ascii_control(),
            c => c.to_lowercase().eq([*c]) && c.to_uppercase().eq([*c]),
        };
        let text: String = wanted.iter().collect();
        wanted.iter().all(same).then(|| Self(memmem::Finder::new(text.as_bytes()).into_owned()))
    }

    fn may_be_in(&self, line: &[u8]) -> bool {
        let lower = line.to_ascii_lowercase();
        // Escapes can be anything, and the sign of the kelvin is a large k.
        let hidden = [&b"\\u"[..], "\u{212a}".as_bytes()];
        self.0.find(&lower).is_some() || hidden.iter().any(|sign| memmem::find(&lower, sign).is_some())
    }
}

fn contains(text: &str, wanted: &[char]) -> bool {
    place(text, wanted).is_some()
}

fn fold(text: &str) -> Vec<char> {
    text.chars().map(fold_one).collect()
}

/// One character for one, so that places in the folded text are places in the text.
fn fold_one(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let mut lower = c.to_lowercase();
    lower.next().filter(|_| lower.next().is_none()).unwrap_or(c)
}

/// Where it stands in a text, in bytes.
fn place(text: &str, wanted: &[char]) -> Option<Range<usize>> {
    let first = wanted.first()?;
    let begins = text.char_indices().filter(|(_, c)| fold_one(*c) == *first).map(|(at, _)| at);
    { begins }.find_map(|start| {
        let mut rest = text[start..].char_indices();
        let same = wanted.iter().all(|w| rest.next().is_some_and(|(_, c)| fold_one(c) == *w));
        same.then(|| start..start + rest.next().map_or(text.len() - start, |(at, _)| at))
    })
}

fn excerpt(text: &str, wanted: &[char]) -> Option<Excerpt> {
    let Range { start, end } = place(text, wanted)?;
    let from = text[..start].char_indices().rev().take(AROUND).last().map_or(start, |(at, _)| at);
    let to = text[end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| end + at);
    let cut = |cut: bool| if cut { "…" } else { "" };
    Some(Excerpt {
        before: format!("{}{}", cut(from > 0), &text[from..start]),
        found: text[start..end].to_owned(),
        after: format!("{}{}", &text[end..to], cut(to < text.len())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_stands_as_it_was_written() {
        let found = excerpt("The İron Lantern burns.", &fold("iron LANTERN"));
        assert_eq!(found, None, "a letter that has no single small one is only itself");
        let found = excerpt("The Iron LANTERN burns.", &fold("iron lantern")).unwrap();
        assert_eq!((&*found.before, &*found.found, &*found.after), ("The ", "Iron LANTERN", " burns."));
        let long = format!("{}x{}", "é".repeat(200), "ß".repeat(200));
        let found = excerpt(&long, &fold("X")).unwrap();
        assert_eq!(found.before.chars().count(), AROUND + 1);
        assert!(found.after.ends_with("ß…"));
        let line = br#"{"mes":"The Iron LANTERN \u0041nd \u212a"}"#;
        assert!(Quick::of(&fold("iron lantern")).unwrap().may_be_in(line));
        assert!(
            Quick::of(&fold("zebra")).unwrap().may_be_in(line),
            "what is written otherwise has to be read"
        );
        assert!(!Quick::of(&fold("zebra")).unwrap().may_be_in(br#"{"mes":"The lantern"}"#));
        assert!(Quick::of(&fold("燈")).unwrap().may_be_in("{\"mes\":\"海邊的燈\"}".as_bytes()));
        for unsure in ["a\"b", "É", "a/b"] {
            assert!(Quick::of(&fold(unsure)).is_none(), "{unsure}");
        }
        let found = excerpt("海邊的燈", &fold("燈")).unwrap();
        assert_eq!((&*found.before, &*found.found, &*found.after), ("海邊的", "燈", ""));
    }
}
