//! SillyTavern's own `backups/`: copies of chats at earlier times, kept by character folder or group chat.
//!
//! A backup belongs to a line if its last message is on it. Its header then tells how variables, notes and recaps were at that
//! message. Backups are read only when a question needs them; there can be fifty of each chat. One that cannot be read tells nothing, and
//! the others tell what they tell: `check` names it.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use forklore_core::format::chat::Header;
use forklore_core::state::Ancestor;
use forklore_fs::{NodeKind, PathError, VaultPath};
use forklore_journal::layout;
use forklore_json::Raw;
use rayon::prelude::*;

use crate::cache;
use crate::library::{Library, StoryKind};
use crate::read::scan::{Scan, scan};
use crate::{Around, ChatIx};

impl Library {
    /// What `read` finds in the header of the backup nearest before or at message `at` of a chat, and that backup's last message.
    pub fn backup_header<T>(
        &self,
        chat: ChatIx,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Option<(usize, T)> {
        self.backup_headers_around(chat, at, read).before
    }

    /// What `read` finds in the headers of the backups nearest to message `at` of a chat: before or at it, and after it.
    pub fn backup_headers_around<T>(
        &self,
        chat: ChatIx,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Around<T> {
        let mut best: Around<T> = Around { before: None, after: None };
        for scan in self.backups(chat) {
            let Some(last) = self.last_on_line(chat, &scan) else { continue };
            let place = if last <= at { &mut best.before } else { &mut best.after };
            // The list is sorted by time: of several at one message, the last one before counts, and the first one after.
            let is_nearer = place
                .as_ref()
                .is_none_or(|(message, _)| if last <= at { *message <= last } else { last < *message });
            if let Some(found) = is_nearer.then(|| metadata_of(&scan)).flatten().and_then(read) {
                *place = Some((last, found));
            }
        }
        best
    }

    /// Shows the headers of the backups on the line of a chat, the last one first, with the message that each stood at, until `see` has seen
    /// enough.
    pub fn backup_headers_back(&self, chat: ChatIx, see: &mut dyn FnMut(usize, Raw<'_>) -> ControlFlow<()>) {
        let mut paths = self.backups_of(chat);
        paths.reverse();
        for scan in self.scans_of(chat, paths) {
            if let Some((last, metadata)) = self.last_on_line(chat, &scan).zip(metadata_of(&scan))
                && see(last, metadata).is_break()
            {
                break;
            }
        }
    }

    /// The last message of a backup, if it is on the line of a chat.
    fn last_on_line(&self, chat: ChatIx, scan: &Scan) -> Option<usize> {
        let last = scan.transcript.len().checked_sub(1)?;
        let moment = scan.transcript.moment(last);
        (moment.is_some() && moment == self.chats[chat].transcript.moment(last)).then_some(last)
    }

    /// The backups that can be of this chat, oldest first, each read when it is asked for: together they do not fit into memory.
    pub fn backups(&self, chat: ChatIx) -> impl Iterator<Item = Scan> {
        self.scans_of(chat, self.backups_of(chat))
    }

    fn scans_of(&self, chat: ChatIx, paths: Vec<VaultPath>) -> impl Iterator<Item = Scan> {
        let kind = self.stories[self.chats[chat].story].kind;
        let line = self.line_above(chat);
        let scans = paths.into_iter().filter_map(move |path| {
            let scan = self.scan_backup(&path, kind);
            self.met_closed.fetch_or(scan.is_err(), Ordering::Relaxed);
            scan.ok().flatten()
        });
        scans.filter(move |scan| self.is_on_line(chat, &line, scan))
    }

    /// Whether a backup can tell of a chat. One that another chat can be recognized in tells of that one, and of forks that were made
    /// from it later.
    fn is_on_line(&self, chat: ChatIx, line: &[Ancestor], scan: &Scan) -> bool {
        let header = scan.header.as_deref().map_or(Header::NONE, |header| Header::new(Raw::trust(header)));
        let Some(slug) = header.slug() else { return true };
        let is_owner = |other: ChatIx| {
            let other = self.chats[other].header();
            other.slug().as_ref() == Some(&slug) && other.main_chat() == header.main_chat()
        };
        let is_above = |above: &Ancestor| is_owner(above.chat) && scan.transcript.len() <= above.limit + 1;
        is_owner(chat) || line.iter().any(is_above) || !ChatIx::all(self.chats.len()).any(is_owner)
    }

    /// The backups that can be of this chat, oldest first.
    pub fn backups_of(&self, chat: ChatIx) -> Vec<VaultPath> {
        let prefix = self.backup_prefix_of(chat);
        let folder = layout::folder(layout::BACKUPS);
        let nodes = self.fs.list(&folder).unwrap_or_default().into_iter().filter(|node| {
            node.kind == NodeKind::File && node.name.starts_with(&prefix) && node.name.ends_with(".jsonl")
        });
        nodes.filter_map(|node| folder.join(&node.name).ok()).collect()
    }

    /// What the names of backups that can be of this chat begin with: those of a character are one heap.
    pub(crate) fn backup_prefix_of(&self, chat: ChatIx) -> String {
        let chat = &self.chats[chat];
        let story = &self.stories[chat.story];
        layout::backup_prefix(if story.kind == StoryKind::Group { &chat.name } else { &story.folder })
    }

    /// The backups that the system does not let us read, and the folder of all of them if it is that.
    pub fn closed_backups(&self) -> Vec<VaultPath> {
        let folder = layout::folder(layout::BACKUPS);
        let Ok(nodes) = self.fs.list(&folder) else { return vec![folder] };
        let chats = nodes.into_iter().filter(|node| {
            let is_chat = node.name.starts_with(layout::BACKUP_PREFIX) && node.name.ends_with(".jsonl");
            node.kind == NodeKind::File && is_chat
        });
        let paths: Vec<VaultPath> = chats.filter_map(|node| folder.join(&node.name).ok()).collect();
        let is_closed = |path: &&VaultPath| self.fs.open(path).is_err_and(|e| !e.is_missing());
        paths.par_iter().filter(is_closed).cloned().collect()
    }

    /// What a backup holds, if it can be read as a chat.
    pub fn scan_backup(&self, path: &VaultPath, kind: StoryKind) -> Result<Option<Scan>, PathError> {
        let fail = |source| PathError { path: path.clone(), doing: "read", source };
        let file = match self.fs.open(path) {
            Ok(file) => file,
            Err(e) if e.is_missing() => return Ok(None),
            Err(e) => return Err(e),
        };
        let identity = file.identity().map_err(fail)?;
        if let Some(known) = cache::recall(&*self.fs, path, identity) {
            return Ok(Some(known));
        }
        let scan = scan(&*file, kind == StoryKind::Group).map_err(fail)?;
        cache::remember(&*self.fs, path, identity, &scan);
        Ok(Some(scan))
    }
}

/// The metadata in the header of a backup.
fn metadata_of(scan: &Scan) -> Option<Raw<'_>> {
    scan.header.as_deref().map(Raw::trust)?.get("chat_metadata")
}
