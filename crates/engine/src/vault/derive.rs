//! [`Library::remember_fork`]: what is known of a fork and of its parent once it is made, worked out from what was known before.
//!
//! Both files are new to the cache, and the next command would read hundreds of megabytes to find out what we know: the fork has
//! the first messages of its parent behind another header, and in the parent one line has grown. Only files that are known to be
//! the ones we made are remembered; whatever is unusual is left to be read again.

use std::ops::Range;

use forklore_core::format::chat::Message;
use forklore_core::story::{Row, identify};
use forklore_fs::VaultPath;
use forklore_json::Raw;

use super::cache;
use super::library::{Chat, Library};
use super::scan::{Facts, Scan, Snapshots, links_of};
use crate::tx::operation::FileId;

/// A fork that was made.
#[derive(Debug)]
pub struct Made<'a> {
    /// Number of its parent
    pub parent: usize,
    /// Its last message
    pub at: usize,
    /// Its file
    pub target: &'a VaultPath,
    /// Its header line
    pub header: &'a [u8],
    /// What of the parent's file comes behind it, up to the end
    pub body: Range<u64>,
}

impl Library {
    /// Remembers a fork.
    pub fn remember_fork(&self, made: &Made<'_>, file: FileId) {
        let scan = self.chats.get(made.parent).and_then(|chat| fork(chat, made, file));
        self.remember(made.target, file, scan);
    }

    /// Remembers a chat of which one message was given a link. `was` is the file that got it, `is` the one that has it.
    pub fn remember_link(&self, chat: usize, at: usize, was: FileId, is: FileId) {
        let chat = &self.chats[chat];
        let known = chat.identity.is_some_and(|known| FileId::from(known) == was);
        self.remember(&chat.path, is, known.then(|| self.linked(chat, at, is)).flatten());
    }

    fn remember(&self, path: &VaultPath, file: FileId, scan: Option<Scan>) {
        let now = self.fs.identity(path).ok().flatten();
        if let (Some(now), Some(scan)) = (now.filter(|now| FileId::from(*now) == file), scan)
            && now.len >= cache::WORTHWHILE
        {
            cache::remember(&*self.fs, path, now, &scan);
        }
    }

    fn linked(&self, chat: &Chat, at: usize, is: FileId) -> Option<Scan> {
        let row = chat.transcript.row(at)?;
        let grown = i64::try_from(is.bytes).ok()? - i64::try_from(chat.bytes).ok()?;
        let len = u32::try_from(i64::from(row.len) + grown).ok()?;
        let line = self.fs.open(&chat.path).ok()?.read_range(row.start..row.start + u64::from(len)).ok()?;
        let message = Message::parse(&line).ok().filter(|message| identify(*message).2 == row.id)?;
        let mut facts = chat.facts.clone();
        facts.links.retain(|(message, ..)| *message != at);
        facts.links.extend(links_of(message).into_iter().map(|(bookmark, name)| (at, bookmark, name)));
        facts.links.sort_by_key(|(message, ..)| *message);
        let moved = |(i, row): (usize, Row)| match i.cmp(&at) {
            std::cmp::Ordering::Less => row,
            std::cmp::Ordering::Equal => Row { len, ..row },
            std::cmp::Ordering::Greater => Row { start: row.start.saturating_add_signed(grown), ..row },
        };
        Some(Scan {
            header: Some(chat.header.clone()).filter(|header| !header.is_empty()),
            transcript: chat.transcript.rows_from(0).enumerate().map(moved).collect(),
            facts,
            snapshots: chat.snapshots.clone(),
        })
    }
}

fn fork(chat: &Chat, made: &Made<'_>, file: FileId) -> Option<Scan> {
    let head = made.header.len() as u64;
    // What is wrong with the parent may be wrong here too, or not: that is for a closer look.
    if !chat.facts.damage.is_empty() || file.bytes != head + (made.body.end - made.body.start) {
        return None;
    }
    let kept = |message: usize| message <= made.at;
    let moved = |row: Row| Row { start: row.start - made.body.start + head, ..row };
    let facts = Facts {
        scenes: chat.facts.scenes.iter().filter(|(message, _)| kept(*message)).cloned().collect(),
        links: chat.facts.links.iter().filter(|(message, ..)| kept(*message)).cloned().collect(),
        damage: Vec::new(),
    };
    let sightings = chat.snapshots.sightings.iter().filter(|s| kept(s.message));
    let sightings: Vec<_> = sightings.cloned().collect();
    // Entries stand in the order in which scenes first showed them.
    let used = sightings.iter().filter_map(|s| s.entries.as_ref()).flatten().max();
    let used = used.map_or(0, |last| *last as usize + 1);
    let images = chat.snapshots.images.iter().take(used).cloned().collect();
    Some(Scan {
        header: Some(Raw::parse(made.header).ok()?.bytes().to_vec()),
        transcript: chat.transcript.rows_from(0).take(made.at + 1).map(moved).collect(),
        facts,
        snapshots: Snapshots { images, sightings },
    })
}
