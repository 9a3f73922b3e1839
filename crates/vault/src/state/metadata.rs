//! The metadata of a chat at a message: [`MetadataAt`], with the keys that are [`Unsure`].
//!
//! Headers are seen from time to time: by history, in SillyTavern's backups, and as they are now. What the last sight before a message and
//! the first one after it agree on was so in between. What they do not agree on is taken from the one that is nearer to the
//! message, and said to be.

use forklore_core::fork::header::is_handled;
use forklore_fs::PathError;
use forklore_json::Raw;

use crate::{ChatIx, Library, history_error};

/// The metadata of a chat at a message.
pub struct MetadataAt {
    /// Where it comes from, as far as anything tells
    pub sight: HeaderSight,
    /// Its keys and values
    pub members: Vec<(String, Vec<u8>)>,
    /// Those of which nothing tells how they were; also such that it lacks
    pub unsure: Vec<Unsure>,
}

impl MetadataAt {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Raw<'_>> {
        value(&self.members, key)
    }

    /// Where a key comes from.
    pub fn sight_of(&self, key: &str) -> HeaderSight {
        self.unsure.iter().find(|unsure| unsure.key == key).map_or(self.sight, |unsure| unsure.from)
    }
}

/// A sight of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderSight {
    /// Who saw it
    pub source: MetadataSource,
    /// The message that the chat ended with then
    pub message: Option<usize>,
}

/// A key of which nothing tells how it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsure {
    /// The key
    pub key: String,
    /// Whose word was taken
    pub from: HeaderSight,
    /// Whether that one has anything there
    pub is_there: bool,
    /// Who says otherwise, if anybody saw the header on the other side of the message, and whether that one has anything there
    pub otherwise: Option<(HeaderSight, bool)>,
}

/// What tells the metadata of a chat at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataSource {
    /// It is the last message: as it is now
    Head,
    /// History saw it then
    History,
    /// One of SillyTavern's backups has it
    Backup,
    /// Nothing is that old: as history first saw it
    First,
    /// Nothing: as it is now
    Inherited,
}

impl MetadataSource {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::History => "history",
            Self::Backup => "backup",
            Self::First => "first",
            Self::Inherited => "inherited",
        }
    }
}

/// What was found on both sides of a message, each with the message that it is of.
pub struct Around<T> {
    /// At the message, or nearest before
    pub before: Option<(usize, T)>,
    /// Nearest after
    pub after: Option<(usize, T)>,
}

/// Keys and values of a header.
type Members = Vec<(String, Vec<u8>)>;

/// A sight of a header: the message that the chat ended with, who saw it, what it was.
struct Seen {
    message: usize,
    sight: HeaderSight,
    members: Members,
}

impl Seen {
    fn by(source: MetadataSource) -> impl Fn((usize, Members)) -> Self {
        move |(message, members)| Self {
            message,
            sight: HeaderSight { source, message: Some(message) },
            members,
        }
    }
}

impl Library {
    /// What `read` finds in the header of a chat as history saw it at a message or last before.
    pub fn header_then<T>(
        &self,
        c: ChatIx,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<(usize, T)>, PathError> {
        let all = self.with_ghosts();
        match all.history()? {
            Some(history) => history.header_at(all, c, at, read).map_err(history_error),
            None => Ok(None),
        }
    }

    /// The metadata of a chat at a message.
    pub fn metadata_at(&self, c: ChatIx, at: usize) -> Result<MetadataAt, PathError> {
        self.with_ghosts().find_metadata(c, at)
    }

    fn find_metadata(&self, c: ChatIx, at: usize) -> Result<MetadataAt, PathError> {
        let head = self.chats[c].head();
        let now = members(self.chats[c].header().metadata());
        if at >= head {
            let sight = HeaderSight { source: MetadataSource::Head, message: Some(at) };
            return Ok(MetadataAt { sight, members: now, unsure: Vec::new() });
        }
        let seen = match self.history()? {
            Some(history) => history
                .headers_around(self, c, at, &|metadata| Some(members(metadata)))
                .map_err(history_error)?,
            None => Around { before: None, after: None },
        };
        let exact = |Seen { sight, members, .. }: Seen| MetadataAt { sight, members, unsure: Vec::new() };
        let before = match seen.before.map(Seen::by(MetadataSource::History)) {
            Some(before) if before.message == at => return Ok(exact(before)),
            before => before,
        };
        let backups = self.backup_headers_around(c, at, &|metadata| Some(members(metadata)));
        // Of two at the same message, what history saw counts.
        let message = before.as_ref().map(|before| before.message);
        let nearer = backups.before.filter(|(kept, _)| Some(*kept) > message);
        let before = nearer.map(Seen::by(MetadataSource::Backup)).or(before);
        let source = if before.is_some() { MetadataSource::History } else { MetadataSource::First };
        // What was seen at the last message is today's, if it still is.
        let is_todays = |seen: &(usize, Members)| before.is_some() && seen.0 >= head && seen.1 == now;
        let after = seen.after.filter(|seen| !is_todays(seen)).map(Seen::by(source));
        let after = after.unwrap_or_else(|| Seen {
            message: head,
            sight: HeaderSight { source: MetadataSource::Inherited, message: None },
            members: now.clone(),
        });
        let nearer = backups.after.filter(|(kept, _)| *kept < after.message);
        let after = nearer.map_or(after, Seen::by(MetadataSource::Backup));
        Ok(match before {
            Some(before) if before.message == at => exact(before),
            Some(before) => between(&before, &after, at),
            None => as_of_later(after),
        })
    }
}

/// Nothing is as old as the message.
fn as_of_later(after: Seen) -> MetadataAt {
    let unsure = |(key, value): &(String, Vec<u8>)| Unsure {
        key: key.clone(),
        from: after.sight,
        is_there: is_filled(Some(Raw::trust(value))),
        otherwise: None,
    };
    let unsure = after.members.iter().filter(|(key, _)| !is_handled(key)).map(unsure).collect();
    MetadataAt { sight: after.sight, members: after.members, unsure }
}

/// The message lies between two sights.
fn between(before: &Seen, after: &Seen, at: usize) -> MetadataAt {
    // Of a story that was looked at twice, each look tells of what is around it.
    let is_earlier_nearer = at - before.message <= after.message.saturating_sub(at);
    let mut unsure = Vec::new();
    let mut members = before.members.clone();
    let keys = before.members.iter().map(|(key, _)| key);
    let new = after.members.iter().map(|(key, _)| key).filter(|key| value(&before.members, key).is_none());
    for key in keys.chain(new).filter(|key| !is_handled(key)) {
        let (then, later) = (value(&before.members, key), value(&after.members, key));
        if then.zip(later).is_some_and(|(then, later)| then.says_the_same(later)) {
            continue;
        }
        let (is_then, is_later) = (is_filled(then), is_filled(later));
        let ((from, is_there), otherwise) = if is_earlier_nearer {
            ((before.sight, is_then), (after.sight, is_later))
        } else {
            ((after.sight, is_later), (before.sight, is_then))
        };
        if !is_earlier_nearer {
            let place = members.iter().position(|(known, _)| known == key);
            match (place, later) {
                (Some(place), Some(later)) => members[place].1 = later.bytes().to_vec(),
                (Some(place), None) => drop(members.remove(place)),
                (None, later) => {
                    members.extend(later.map(|later| (key.clone(), later.bytes().to_vec())));
                }
            }
        }
        // Nothing, written down in two ways, is nothing.
        if is_then || is_later {
            unsure.push(Unsure { key: key.clone(), from, is_there, otherwise: Some(otherwise) });
        }
    }
    MetadataAt { sight: before.sight, members, unsure }
}

/// The members of a header's metadata. A key that stands twice counts as readers count it.
fn members(metadata: Raw<'_>) -> Members {
    let mut members = Members::new();
    for key in metadata.members().filter_map(|(key, _)| key.as_text()) {
        let value = metadata.get(&key).filter(|_| !members.iter().any(|(known, _)| *known == *key));
        members.extend(value.map(|value| (key.into_owned(), value.bytes().to_vec())));
    }
    members
}

fn value<'a>(members: &'a Members, key: &str) -> Option<Raw<'a>> {
    members.iter().find(|(known, _)| known == key).map(|(_, value)| Raw::trust(value))
}

/// Whether a value is more than a place for one.
fn is_filled(value: Option<Raw<'_>>) -> bool {
    value.is_some_and(|value| value.is_truthy() && !matches!(value.bytes(), b"{}" | b"[]"))
}
