//! [`Library::remember_fork`]: what is known of a fork and of its parent once it is made, worked out from what was known before.
//!
//! Both files are new to the cache, and the next command would read hundreds of megabytes to find out what we know: the fork has
//! the first messages of its parent behind another header, and in the parent one line has grown. Only files that are known to be
//! the ones we made are remembered; whatever is unusual is left to be read again.

use crate::ChatIx;
use std::ops::Range;
use std::sync::PoisonError;

use forklore_core::format::chat::Message;
use forklore_core::story::identify;
use forklore_fs::VaultPath;
use forklore_journal::operation::FileId;
use forklore_json::Raw;

use crate::cache::{self, View};
use crate::library::{Chat, Library};
use crate::read::facts::{Facts, links_of};
use crate::read::outline::Outline;
use crate::read::scan::Scan;

/// A fork that was made.
#[derive(Debug)]
pub struct Made<'a> {
    /// Number of its parent
    pub parent: ChatIx,
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
        let chat = &self.chats[made.parent];
        let head = made.header.len() as u64;
        // What is wrong with the parent may be wrong here too, or not: that is for a closer look.
        if !chat.facts.damage.is_empty() || file.bytes != head + made.body.end.saturating_sub(made.body.start)
        {
            return;
        }
        let kept = |message: usize| message <= made.at;
        let facts = Facts {
            scenes: chat.facts.scenes.iter().filter(|(message, _)| kept(*message)).cloned().collect(),
            links: chat.facts.links.iter().filter(|(message, ..)| kept(*message)).cloned().collect(),
            damage: Vec::new(),
            undated: chat.facts.undated.filter(|message| kept(*message)),
        };
        let Ok(header) = Raw::parse(made.header) else { return };
        let view = self.view(chat).fork(made.at, made.body.start, head, &chat.snapshots.sightings);
        self.remember(chat, made.target, file, Some(header.bytes()), facts, &view);
    }

    /// Remembers a chat of which one message was given a link. `was` is the file that got it, `is` the one that has it.
    pub fn remember_link(&self, chat: ChatIx, at: usize, was: FileId, is: FileId) {
        let chat = &self.chats[chat];
        if chat.identity.is_none_or(|known| FileId::from(known) != was) {
            return;
        }
        let Some(Grown { by, len, links }) = self.grown_line(chat, at, is) else { return };
        let mut facts = chat.facts.clone();
        facts.links.retain(|(message, ..)| *message != at);
        facts.links.extend(links.into_iter().map(|(bookmark, name)| (at, bookmark, name)));
        facts.links.sort_by_key(|(message, ..)| *message);
        let header = Some(chat.body.get().line()).filter(|line| !line.is_empty() && chat.kept.is_none());
        self.remember(chat, &chat.path, is, header, facts, &self.view(chat).linked(at, by, len));
    }

    /// What the line of a message has become; `None` if it is not that line.
    fn grown_line(&self, chat: &Chat, at: usize, is: FileId) -> Option<Grown> {
        let row = chat.transcript.row(at)?;
        let grown = i64::try_from(is.bytes).ok()? - i64::try_from(chat.bytes).ok()?;
        let len = u32::try_from(i64::from(row.len) + grown).ok()?;
        let line = self.fs.open(&chat.path).ok()?.read_range(row.start..row.start + u64::from(len)).ok()?;
        let message = Message::parse(&line).ok().filter(|message| identify(*message).2 == row.id)?;
        Some(Grown { by: grown, len, links: links_of(message) })
    }

    /// Which part of what is remembered a chat is. One that was read just now may have to be waited for.
    fn view(&self, chat: &Chat) -> View {
        let writing = self.remembering.lock().unwrap_or_else(PoisonError::into_inner).remove(&chat.path);
        if let Some(view) = writing.and_then(|thread| thread.join().ok()).flatten() {
            let _known = chat.view.set(view);
        }
        chat.view.get().cloned().unwrap_or_else(|| View::of(&chat.transcript, &chat.snapshots))
    }

    /// Remembers a file, if it is still this one, as a part of what is known of `chat`.
    fn remember(
        &self,
        chat: &Chat,
        path: &VaultPath,
        file: FileId,
        header: Option<&[u8]>,
        facts: Facts,
        view: &View,
    ) {
        let now = self.fs.identity(path).ok().flatten().filter(|now| FileId::from(*now) == file);
        let Some(now) = now.filter(|now| now.len >= cache::WORTHWHILE) else { return };
        let outline = Outline::of(header);
        if view.is_remembered() {
            cache::remember_view(&*self.fs, path, now, header, &outline, &facts, view);
            return;
        }
        let (transcript, snapshots) = view.part_of(&chat.transcript, &chat.snapshots);
        let header = header.map(<[u8]>::to_vec);
        let scan = Scan { header, outline, transcript, facts, snapshots, view: None };
        cache::remember(&*self.fs, path, now, &scan);
    }
}

/// A line that was given a link.
struct Grown {
    /// By how many bytes it is longer
    by: i64,
    len: u32,
    /// Whether each is a checkpoint's, and its name
    links: Vec<(bool, String)>,
}
