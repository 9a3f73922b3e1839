//! `blame`: which message, and what, each field of a lorebook entry and each line of its text comes from.

use forklore_core::adapter::{EntryRole, entry_role};
use forklore_core::format::book::EntryImage;
use forklore_core::state::{Blamed, Carry, Cause, Change, Place, blame as trace};
use forklore_fs::PathError;
use forklore_journal::oplog::time;
use forklore_vault::history::By;
use forklore_vault::state::at::{StateError, Wanted};
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

use crate::merge;

/// Where the entries of a chat's book come from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BlameReport {
    /// Address of the chat
    pub chat: String,
    /// The message that the book is looked at
    pub at: usize,
    /// The book
    pub book: String,
    /// Its entries, by number; the queue left out
    pub entries: Vec<BlameEntry>,
}

/// Where an entry comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BlameEntry {
    /// Its number
    pub uid: Option<i64>,
    /// Its title
    pub comment: String,
    /// `fact`, `registry` or `index`
    pub role: EntryRole,
    /// What made it
    pub made: Stamp,
    /// The last change of it that is more than being moved about
    pub last: Stamp,
    /// The last change of each field; nothing unless one entry was asked for
    pub fields: Option<Vec<BlameField>>,
    /// The change that each line of its text came with; nothing unless one entry was asked for
    pub lines: Option<Vec<BlameLine>>,
    /// Where it was written, if it was brought along from another chat
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<BlameFrom>,
}

/// Where something was written that was brought along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlameFrom {
    /// Address of the chat
    pub chat: String,
    /// Title of the entry there
    pub comment: String,
    /// The last change of it there
    pub last: Stamp,
}

/// Where a field comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BlameField {
    /// Its name
    pub field: String,
    /// Its last change
    #[serde(flatten)]
    pub stamp: Stamp,
}

/// Where a line comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BlameLine {
    /// The line
    pub text: String,
    /// The change that it came with
    #[serde(flatten)]
    pub stamp: Stamp,
}

/// When and by what something was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stamp {
    /// The message that it belongs to; the one at which it was first seen, if nobody saw it happen
    pub message: Option<usize>,
    /// Where nobody saw it happen: the last message at which it was certainly not so
    pub after: Option<usize>,
    /// When, as RFC 3339
    pub at: Option<String>,
    /// What made it
    pub cause: Cause,
    /// Title of the scene, if a scene's processing made it
    pub scene: Option<String>,
    /// The observation that shows it
    pub observation: Option<u64>,
    /// Who saw it: `watch`, `operation`, `plugin`, `backup`, `import`
    pub by: Option<&'static str>,
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
pub enum BlameError {
    /// The chat is shorter.
    #[error("Message {at} does not exist: \"{chat}\" has {messages} messages, counted from 0")]
    NoSuchMessage {
        /// What was asked for
        at: usize,
        /// The chat
        chat: String,
        /// How many there are
        messages: usize,
    },
    /// No book is bound to the chat.
    #[error("No lorebook is bound to \"{0}\"")]
    NoBook(String),
    /// There is no such entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The state of the book cannot be told.
    #[error(transparent)]
    State(#[from] StateError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Why a name leads to no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Nothing goes by that name.
    #[error("There is no entry {wanted:?} in the lorebook at message {at}")]
    NoSuchEntry {
        /// What was asked for
        wanted: String,
        /// The message
        at: usize,
        /// Titles that are like it
        like: Vec<String>,
        /// The message at which it was removed, if it was there once
        removed: Option<usize>,
    },
    /// Several go by that name.
    #[error("{wanted:?} could be {} entries", .candidates.len())]
    Ambiguous {
        /// What was asked for
        wanted: String,
        /// Their numbers and titles
        candidates: Vec<String>,
    },
}

/// Where the book of chat `c` at message `at` comes from: all of it, or the entry that `wanted` names by number, title, or the beginning
/// of a title.
pub fn blame(
    library: &Library,
    c: ChatIx,
    at: Option<usize>,
    wanted: Option<&str>,
) -> Result<BlameReport, BlameError> {
    let chat = library.chat(c);
    let messages = chat.transcript().len();
    let at = at.unwrap_or(chat.head());
    if at >= messages {
        return Err(BlameError::NoSuchMessage { at, chat: chat.name().to_owned(), messages });
    }
    let Some((book, _)) = chat.book() else { return Err(BlameError::NoBook(chat.name().to_owned())) };
    let lore = library.lore(c)?;
    let changes = &lore.known.changes;
    let mut state = library.book_at(c, at, Wanted::default())?.entries;
    state.retain(|entry| entry_role(&entry.image.comment) != EntryRole::Queue);
    let mut found =
        trace(&lore.known, &state, at, chat.head(), Carry { undated: true, since: true, perhaps: true });
    if let Some(wanted) = wanted {
        let titles: Vec<(Option<i64>, &str)> =
            found.iter().map(|one| (one.entry.image.uid, &*one.entry.image.comment)).collect();
        let place = choose(&titles, wanted, at).map_err(|e| with_removal(e, changes, at))?;
        found = vec![found.swap_remove(place)];
    }
    let teller = Teller { library, c, at, changes };
    let mut entries =
        found.iter().map(|one| teller.entry(one, wanted.is_some())).collect::<Result<Vec<_>, _>>()?;
    for (entry, one) in entries.iter_mut().zip(&found) {
        entry.from = brought(library, c, at, &one.entry.image)?;
    }
    Ok(BlameReport { chat: library.address(c).to_string(), at, book: book.to_owned(), entries })
}

/// Where an entry was written, if a chat that the line consists of had it brought along from its second parent and its first one had
/// another, or none.
fn brought(
    library: &Library,
    c: ChatIx,
    at: usize,
    entry: &EntryImage,
) -> Result<Option<BlameFrom>, BlameError> {
    let (mut here, mut at) = (c, at);
    for _ in 0..library.chats().count() {
        let chat = library.chat(here);
        let Some(parent) = chat.lineage().parent else { return Ok(None) };
        let begun = chat.record().map(|record| record.message);
        if let (Some(learnt), Some(second)) = (merge::learnt(chat), merge::second_parent(library, chat))
            && begun.is_some_and(|begun| begun <= at)
        {
            let number = entry.uid.map(|uid| {
                learnt.numbers.iter().find(|(_, here)| *here == uid).map_or(uid, |(there, _)| *there)
            });
            let same = |image: &EntryImage, uid: Option<i64>| {
                image.uid == uid && image.comment == entry.comment && image.content() == entry.content()
            };
            let own = library.book_at(parent, begun.unwrap_or(at), Wanted::default())?.entries;
            let upto = learnt.message.min(library.chat(second).head());
            let theirs = library.book_at(second, upto, Wanted::default())?.entries;
            let is_theirs = theirs.iter().any(|one| same(&one.image, number));
            if is_theirs && !own.iter().any(|one| same(&one.image, entry.uid)) {
                let wanted = number.map_or_else(|| entry.comment.to_string(), |number| number.to_string());
                let mut told = blame(library, second, Some(upto), Some(&wanted))?.entries;
                let Some(one) = told.pop() else { return Ok(None) };
                // What that one has from elsewhere is from there.
                let own = BlameFrom {
                    chat: library.address(second).to_string(),
                    comment: one.comment,
                    last: one.last,
                };
                return Ok(Some(one.from.unwrap_or(own)));
            }
        }
        at = at.min(chat.lineage().fork_message.unwrap_or(at));
        here = parent;
    }
    Ok(None)
}

/// The entry that a user means, of entries by number and title.
pub(crate) fn choose(entries: &[(Option<i64>, &str)], wanted: &str, at: usize) -> Result<usize, EntryError> {
    let lower = wanted.to_lowercase();
    let number: Option<i64> = wanted.parse().ok();
    type Test<'a> = Box<dyn Fn(&(Option<i64>, &str)) -> bool + 'a>;
    let tests: [Test<'_>; 5] = [
        Box::new(|(uid, _)| number.is_some() && *uid == number),
        Box::new(|(_, title)| *title == wanted),
        Box::new(|(_, title)| title.to_lowercase() == lower),
        Box::new(|(_, title)| title.to_lowercase().starts_with(&lower)),
        // "character-Mara" goes by the name of Mara.
        Box::new(|(_, title)| {
            title.split_once('-').is_some_and(|(_, name)| name.to_lowercase().starts_with(&lower))
        }),
    ];
    for test in tests.iter().filter(|_| !wanted.is_empty()) {
        let found: Vec<usize> = (0..entries.len()).filter(|i| test(&entries[*i])).collect();
        match found[..] {
            [] => {}
            [one] => return Ok(one),
            _ => {
                let name = |i: &usize| {
                    let (uid, title) = entries[*i];
                    uid.map_or_else(|| title.to_owned(), |uid| format!("{uid} ({title})"))
                };
                let candidates = found.iter().map(name).collect();
                return Err(EntryError::Ambiguous { wanted: wanted.to_owned(), candidates });
            }
        }
    }
    let like = entries.iter().map(|(_, title)| *title).filter(|title| {
        !lower.is_empty() && title.to_lowercase().contains(&lower)
            || strsim::jaro_winkler(title, wanted) > 0.85
    });
    let like = like.take(5).map(str::to_owned).collect();
    Err(EntryError::NoSuchEntry { wanted: wanted.to_owned(), at, like, removed: None })
}

/// Says when an entry that is not there was removed.
fn with_removal(e: EntryError, changes: &[Change], at: usize) -> EntryError {
    let EntryError::NoSuchEntry { wanted, at: asked, like, .. } = e else { return e };
    let is = |change: &&Change| {
        let before = change.before.as_ref().filter(|_| change.after.is_none());
        before.is_some_and(|entry| {
            *entry.comment == *wanted || entry.uid.is_some_and(|uid| uid.to_string() == wanted)
        })
    };
    let removed = changes.iter().rev().filter(is).find_map(|change| match change.place {
        Place::Ours(message) if message <= at => Some(message),
        _ => None,
    });
    EntryError::NoSuchEntry { wanted, at: asked, like, removed }
}

struct Teller<'a> {
    library: &'a Library,
    c: ChatIx,
    /// The message that is asked about
    at: usize,
    changes: &'a [Change],
}

/// Fields that only say where an entry stands among the others.
const PLACES: [&str; 3] = ["uid", "order", "displayIndex"];

impl Teller<'_> {
    fn entry(&self, one: &Blamed, whole: bool) -> Result<BlameEntry, PathError> {
        let is_telling =
            |field: &String| !PLACES.contains(&field.as_str()) && !one.entry.inferred.contains(field);
        let telling = || one.fields.iter().filter(|(field, _)| is_telling(field)).map(|(_, n)| *n);
        // What is so now, although nothing tells of it, was done last.
        let last = if telling().any(|n| n.is_none()) { None } else { telling().max().unwrap_or(one.made) };
        let fields = one
            .fields
            .iter()
            .map(|(field, n)| Ok(BlameField { field: field.clone(), stamp: self.stamp(*n)? }));
        let lines =
            one.lines.iter().map(|(text, n)| Ok(BlameLine { text: text.clone(), stamp: self.stamp(*n)? }));
        Ok(BlameEntry {
            uid: one.entry.image.uid,
            comment: one.entry.image.comment.to_string(),
            role: entry_role(&one.entry.image.comment),
            made: self.stamp(one.made)?,
            last: self.stamp(last)?,
            fields: if whole { Some(fields.collect::<Result<_, PathError>>()?) } else { None },
            lines: if whole { Some(lines.collect::<Result<_, PathError>>()?) } else { None },
            from: None,
        })
    }

    fn stamp(&self, n: Option<usize>) -> Result<Stamp, PathError> {
        let Some(change) = n.and_then(|n| self.changes.get(n)) else {
            return Ok(Stamp {
                message: None,
                after: None,
                at: None,
                cause: Cause::Seen,
                scene: None,
                observation: None,
                by: None,
            });
        };
        let (message, after) = match change.place {
            Place::Ours(message) => (Some(message), None),
            // Carried to a message before the one at which it was certainly there: nothing tells when it happened.
            Place::Between { from, until } => (Some(until).filter(|until| *until <= self.at), from),
            Place::Met { from, until } => (Some(until).filter(|until| *until <= self.at), Some(from)),
            Place::Since(message) => (None, Some(message)),
            _ => (None, None),
        };
        let dated = change.clock > i64::MIN && change.clock < i64::MAX;
        let by_scene = change.cause == Cause::Scene;
        let chat = self.library.chat(self.c);
        let scene = message.filter(|_| by_scene).and_then(|m| chat.facts().scene(m)?.name.clone());
        let history = self.library.history()?;
        let seen = change.observed.and_then(|seq| history?.find(seq));
        // What history saw has the time of that save; what is known otherwise has the clock of whoever wrote it.
        let clock = seen.map_or(change.clock, |seen| seen.observation.clock);
        Ok(Stamp {
            message,
            after,
            at: dated.then(|| time(clock)),
            cause: change.cause,
            scene,
            observation: change.observed,
            by: seen.map(|seen| match &seen.observation.by {
                By::Watch => "watch",
                By::Operation(_) => "operation",
                By::Plugin(_) => "plugin",
                By::Backup(_) => "backup",
                By::Import => "import",
                By::Forget => "forget",
            }),
        })
    }
}
