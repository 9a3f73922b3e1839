//! What a remedies means for the chat's file: the edits of its header, and its record.

use std::collections::BTreeMap;

use forklore_core::fork::ForkKind;
use forklore_core::fork::book::fingerprint;
use forklore_core::fork::header as core_header;
use forklore_core::format::book::Book;
use forklore_core::format::names::book_stem;
use forklore_core::format::record::{self, Appended, ForkRecord, RECORD_VERSION};
use forklore_core::format::revision::{Revision, apply};
use forklore_core::story::lineage::{Kind, ParentNote};
use forklore_journal::operation::Edit;
use forklore_json::Raw;
use forklore_vault::{Chat, ChatIx, Library};

use super::HealError;
use super::remedies::Remedies;
use crate::header::edit_of;
use crate::memory::MemoryRecord;

impl Remedies {
    /// The edits that it means. `slugs` are those that chats get in the same operation.
    pub(super) fn edit(
        &self,
        library: &Library,
        c: ChatIx,
        slugs: &BTreeMap<ChatIx, String>,
        now: i64,
    ) -> Result<Vec<Edit>, HealError> {
        let chat = library.chat(c);
        let header = chat.header();
        let corrupt = || HealError::CorruptHeader(chat.name().to_owned());
        let mut revisions: Vec<Revision> = Vec::new();
        revisions.extend(self.slug.as_ref().map(|slug| Revision::text(&["integrity"], slug)));
        revisions.extend(self.main_chat.as_ref().map(|name| Revision::text(&["main_chat"], name)));
        let memory = self.memory.as_ref().map(MemoryRecord::revision);
        // Of one value there is one revision: each is compared with what the file has.
        let other = |revision: &&Revision| memory.as_ref().is_none_or(|memory| memory.path != revision.path);
        revisions.extend(self.revised.revisions.iter().filter(other).cloned());
        revisions.extend(memory);
        if self.adopt {
            let so_far = apply(Some(header.raw()), &revisions).map_err(|_| corrupt())?;
            let metadata = Raw::trust(&so_far).get("chat_metadata").unwrap_or(Raw::NULL);
            revisions.push(Revision::set(&["forklore"], self.record(library, c, metadata, slugs, now)));
        } else {
            // Put aside is not thrown away, also where no record is written: beside the one that is there, or alone.
            if !self.revised.archive.is_empty() {
                revisions.push(Revision::set(&["forklore", "archive"], self.archive(chat)));
            }
            if !self.quarantine.is_empty() {
                let all = record::quarantined(own_record(chat), &self.quarantine);
                revisions.push(Revision::set(&["forklore", "quarantine"], all));
            }
        }
        let mut edits = self.links.clone();
        if !revisions.is_empty() {
            edits.push(edit_of(chat, revisions, self.binding.is_some()).ok_or_else(corrupt)?);
        }
        Ok(edits)
    }

    /// What the chat has put aside, now and earlier.
    fn archive(&self, chat: &Chat) -> Vec<u8> {
        let archive: Vec<(&str, Vec<u8>)> =
            self.revised.archive.iter().map(|(key, value)| (*key, value.clone())).collect();
        record::archived(own_record(chat), &archive)
    }

    fn record(
        &self,
        library: &Library,
        c: ChatIx,
        metadata: Raw<'_>,
        slugs: &BTreeMap<ChatIx, String>,
        now: i64,
    ) -> Vec<u8> {
        let chat = library.chat(c);
        let parent = chat.lineage().parent;
        let slug_of = |p: ChatIx| {
            let given = slugs.get(&p).cloned();
            given.unwrap_or_else(|| library.chat(p).header().slug().unwrap_or_default().into_owned())
        };
        let parent_file = match (parent, &chat.lineage().note) {
            (Some(p), _) => library.chat(p).name().to_owned(),
            (None, Some(ParentNote::Missing(name) | ParentNote::Renamed(name))) => name.clone(),
            (None, None) => String::new(),
        };
        let message = chat.lineage().fork_message.unwrap_or(chat.head()).min(chat.head());
        let moment = chat.transcript().moment(message).map(|m| m.to_string()).unwrap_or_default();
        let head = chat.transcript().moment(chat.head()).map(|m| m.to_string()).unwrap_or_default();
        let (root, depth) = library.root_of(c);
        let print = self.book.as_ref().and_then(|(_, _, bytes)| Some(fingerprint(&Book::parse(bytes).ok()?)));
        let old = chat.record().cloned().unwrap_or_default();
        // What was its own stays that, whatever cannot be read just now.
        let was_own = |stem: &str| old.book.as_deref().map(book_stem).as_deref() == Some(stem);
        let bound = match &self.binding {
            Some(binding) => binding.clone().filter(|_| !self.shared),
            // Only a book that nobody else uses is the chat's own; who cannot be read may use it, and what cannot be read may be gone.
            None => chat
                .book()
                .filter(|(_, stem)| library.users_of(stem).len() < 2 && library.books().contains_key(*stem))
                .filter(|(_, stem)| {
                    let is_open = library.open_book(stem).is_ok();
                    was_own(stem) || (is_open && library.may_refer().next().is_none())
                })
                .map(|(name, _)| name.to_owned()),
        };
        let mut accepted = old.accepted;
        accepted.extend(self.accepted.iter().cloned());
        let record = ForkRecord {
            version: RECORD_VERSION,
            kind: match chat.lineage().kind {
                Kind::Checkpoint => ForkKind::Checkpoint.as_str().to_owned(),
                Kind::Copy => "copy".to_owned(),
                Kind::Branch | Kind::Main => ForkKind::Branch.as_str().to_owned(),
            },
            owner_file: chat.name().to_owned(),
            owner_slug: self.slug.clone().unwrap_or_else(|| header_slug(chat.header().metadata())),
            parent_file,
            parent_slug: parent.map(slug_of).unwrap_or_default(),
            message,
            moment,
            root,
            depth,
            book: bound,
            // A book that stays has in it what it had.
            undated: if self.book.is_some() { self.undated.clone() } else { old.undated },
            baseline: Some(core_header::baseline(metadata, chat.transcript().len(), head, print)),
            accepted,
            created: now,
            adopted: true,
            restored: old.restored,
            learnt: old.learnt,
            // The record says when they came, also if an older one did not: from now on its own time is another.
            appended: old.appended.map(|appended| Appended {
                when: appended.when.or(Some(old.created).filter(|_| !old.adopted)),
                ..appended
            }),
        };
        let quarantine = record::quarantined(own_record(chat), &self.quarantine);
        record.write(&[], &[("archive", self.archive(chat)), ("quarantine", quarantine)])
    }
}

/// What stands under `forklore`, unless it was copied from another chat: SillyTavern's forks have their parent's.
fn own_record(chat: &Chat) -> Option<Raw<'_>> {
    let metadata = chat.header().metadata();
    let is_anothers = chat.record().is_none() && ForkRecord::read(metadata).is_some();
    metadata.get("forklore").filter(|_| !is_anothers)
}

fn header_slug(metadata: Raw<'_>) -> String {
    metadata.get("integrity").and_then(Raw::as_text).unwrap_or_default().into_owned()
}
