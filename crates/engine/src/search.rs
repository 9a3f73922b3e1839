//! `search`: where something is said in a story, and which entries tell of it.

use std::collections::HashSet;

use forklore_core::adapter::{EntryRole, entry_role};
use forklore_core::format::chat::Message;
use forklore_fs::PathError;
use forklore_vault::{ChatIx, Library, StoryIx};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

/// How many of each are given.
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
    /// Whether there is more than is given
    pub more: bool,
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

/// Looks for `text`, without regard to case, in the chats of a story and their books.
pub fn search(library: &Library, story: StoryIx, text: &str) -> Result<SearchReport, PathError> {
    let wanted = fold(text.trim());
    let mut report = SearchReport { messages: Vec::new(), entries: Vec::new(), more: false };
    if wanted.is_empty() {
        return Ok(report);
    }
    let chats = library.story(story).chats();
    let found: Vec<Vec<FoundMessage>> =
        chats.par_iter().map(|c| in_chat(library, *c, &wanted)).collect::<Result<_, _>>()?;
    report.messages = found.into_iter().flatten().collect();
    let mut seen: HashSet<&str> = HashSet::new();
    for c in chats {
        if let Some((name, stem)) = library.chat(*c).book()
            && seen.insert(stem)
            && report.entries.len() <= MOST
        {
            in_book(library, *c, name, &wanted, &mut report.entries)?;
        }
    }
    report.more = report.messages.len() > MOST || report.entries.len() > MOST;
    report.messages.truncate(MOST);
    report.entries.truncate(MOST);
    Ok(report)
}

fn in_chat(library: &Library, c: ChatIx, wanted: &[char]) -> Result<Vec<FoundMessage>, PathError> {
    let chat = library.chat(c);
    let own =
        if chat.lineage().parent.is_some() { chat.lineage().fork_message.map_or(0, |at| at + 1) } else { 0 };
    let mut found = Vec::new();
    for at in own..chat.transcript().len() {
        let line = library.message_line(c, at)?.unwrap_or_default();
        let Ok(message) = Message::parse(&line) else { continue };
        let Some(excerpt) = excerpt(&message.text(), wanted) else { continue };
        let chat = library.address(c).to_string();
        found.push(FoundMessage { chat, at, speaker: message.speaker().into_owned(), excerpt });
        if found.len() > MOST {
            break;
        }
    }
    Ok(found)
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
        let said = excerpt(&content, wanted).or_else(|| excerpt(&comment, wanted).map(|_| start()));
        if let Some(excerpt) = said {
            let chat = library.address(c).to_string();
            let (book, uid) = (name.to_owned(), entry.uid());
            found.push(FoundEntry { chat, book, uid, comment: comment.into_owned(), excerpt });
        }
    }
    Ok(())
}

fn fold(text: &str) -> Vec<char> {
    text.chars().map(fold_one).collect()
}

/// One character for one, so that places in the folded text are places in the text.
fn fold_one(c: char) -> char {
    let mut lower = c.to_lowercase();
    lower.next().filter(|_| lower.next().is_none()).unwrap_or(c)
}

fn excerpt(text: &str, wanted: &[char]) -> Option<Excerpt> {
    let chars: Vec<char> = text.chars().collect();
    let folded: Vec<char> = chars.iter().copied().map(fold_one).collect();
    let start = folded.windows(wanted.len()).position(|window| window == wanted)?;
    let end = start + wanted.len();
    let text = |range: std::ops::Range<usize>| chars[range].iter().collect::<String>();
    let (from, to) = (start.saturating_sub(AROUND), (end + AROUND).min(chars.len()));
    let cut = |cut: bool| if cut { "…" } else { "" };
    Some(Excerpt {
        before: format!("{}{}", cut(from > 0), text(from..start)),
        found: text(start..end),
        after: format!("{}{}", text(end..to), cut(to < chars.len())),
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
    }
}
