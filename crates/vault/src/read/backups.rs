//! SillyTavern's own `backups/`: copies of chats at earlier times, kept by character folder or group chat.
//!
//! A backup belongs to a line if its last message is on it. Its header then tells how variables, notes and recaps were at that
//! message. Backups are read only when a question needs them; there can be fifty of each chat.

use crate::ChatIx;
use forklore_core::format::chat::Header;
use forklore_core::state::Ancestor;
use forklore_fs::{NodeKind, PathError, VaultPath};
use forklore_journal::layout;
use forklore_json::Raw;

use crate::cache;
use crate::library::{Library, StoryKind};
use crate::read::scan::{Scan, scan};

impl Library {
    /// What `read` finds in the header of the backup nearest before or at message `at` of a chat, and that backup's last message.
    pub fn backup_header<T>(
        &self,
        chat: ChatIx,
        at: usize,
        read: &dyn Fn(Raw<'_>) -> Option<T>,
    ) -> Result<Option<(usize, T)>, PathError> {
        let mut best: Option<(usize, T)> = None;
        for scan in self.backups(chat)? {
            let scan = scan?;
            let Some(last) = scan.transcript.len().checked_sub(1).filter(|last| *last <= at) else {
                continue;
            };
            let on_line = scan.transcript.moment(last) == self.chats[chat].transcript.moment(last);
            // Later files win: the list is sorted by time.
            if !on_line || best.as_ref().is_some_and(|(message, _)| *message > last) {
                continue;
            }
            let header = scan.header.as_deref().map_or(Raw::NULL, Raw::trust);
            if let Some(found) = header.get("chat_metadata").and_then(read) {
                best = Some((last, found));
            }
        }
        Ok(best)
    }

    /// The backups that can be of this chat, oldest first, each read when it is asked for: together they do not fit into memory.
    pub fn backups(&self, chat: ChatIx) -> Result<impl Iterator<Item = Result<Scan, PathError>>, PathError> {
        let kind = self.stories[self.chats[chat].story].kind;
        let line = self.line_above(chat);
        let paths = self.backups_of(chat)?.into_iter();
        let scans = paths.filter_map(move |path| self.scan_backup(&path, kind).transpose());
        Ok(scans.filter(move |scan| scan.as_ref().map_or(true, |scan| self.is_on_line(chat, &line, scan))))
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
    pub fn backups_of(&self, chat: ChatIx) -> Result<Vec<VaultPath>, PathError> {
        let prefix = self.backup_prefix_of(chat);
        let folder = layout::folder(layout::BACKUPS);
        let nodes = self.fs.list(&folder)?.into_iter().filter(|node| {
            node.kind == NodeKind::File && node.name.starts_with(&prefix) && node.name.ends_with(".jsonl")
        });
        Ok(nodes.filter_map(|node| folder.join(&node.name).ok()).collect())
    }

    /// What the names of backups that can be of this chat begin with: those of a character are one heap.
    pub(crate) fn backup_prefix_of(&self, chat: ChatIx) -> String {
        let chat = &self.chats[chat];
        let story = &self.stories[chat.story];
        layout::backup_prefix(if story.kind == StoryKind::Group { &chat.name } else { &story.folder })
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
