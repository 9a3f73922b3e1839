//! The header line of a fork: [`Draft::header`]. It has a new identity, names its parent, and keeps a record of what it was made from.

use forklore_core::adapter::notes::CheckpointState;
use forklore_core::adapter::{self, EntryRole, entry_role, recap};
use forklore_core::fork::book as core_book;
use forklore_core::fork::header as core_header;
use forklore_core::format::record::{ForkRecord, RECORD_VERSION};
use forklore_core::format::revision::{Revision, apply};
use forklore_journal as journal;
use forklore_json::{Raw, object};
use forklore_vault::state::at::{BookAt, SourceKind};
use serde_json::json;

use super::ForkError;
use super::plan::{Draft, Restored};
use crate::new_book;
use crate::show::ShowSource;

impl Draft<'_> {
    /// The header line.
    pub(super) fn header(&self) -> Result<Vec<u8>, ForkError> {
        let chat = self.parent();
        let broken = |e: forklore_json::EditError| ForkError::CorruptChat {
            chat: chat.name().to_owned(),
            why: format!("its header cannot be edited ({e})"),
        };
        let mut revisions =
            vec![Revision::text(&["integrity"], self.slug), Revision::text(&["main_chat"], chat.name())];
        revisions.extend(self.revised.revisions.iter().cloned());
        let before = Some(chat.header().raw()).filter(|raw| *raw != Raw::NULL);
        let so_far = apply(before, &revisions).map_err(broken)?;
        // What extensions and the record note down is what the fork has by now.
        let metadata = Raw::trust(&so_far).get("chat_metadata").unwrap_or(Raw::NULL);
        let mut more = self.checkpoint_notes(metadata);
        more.push(Revision::set(&["forklore"], self.record(metadata)));
        let mut header = apply(Some(Raw::trust(&so_far)), &more).map_err(broken)?;
        if self.body.carriage_return {
            header.push(b'\r');
        }
        // The system can share the blocks of a long chat, if what follows the header stays where it was in its block.
        let range = &self.body.range;
        if chat.kept().is_none() && range.end.saturating_sub(range.start) > 1 << 20 {
            journal::pad(&mut header, range.start);
        }
        Ok(header)
    }

    /// What extensions note down about a fork when it is made.
    fn checkpoint_notes(&self, metadata: Raw<'_>) -> Vec<Revision> {
        let texts: Vec<String> = self.warnings.iter().map(|w| w.message.clone()).collect();
        let state = CheckpointState {
            now: self.now,
            message: self.spot.at,
            chat: self.name,
            queue_was_empty: self.waiting == 0,
            has_scene_break: self.around.scene.is_some(),
            scene_name: self.around.scene.and_then(|scene| scene.name.as_deref()),
            scene_recap: recap::stored(self.last.shown()).map(Raw::bytes),
            book: self.book.name(),
            entries: self.book.own().map_or(0, |own| own.entries.len()),
            reconstructed: matches!(self.found.source.kind, SourceKind::Scene),
            original_book: self.parent().book().map(|(name, _)| name),
            warnings: &texts,
        };
        adapter::ALL.iter().flat_map(|adapter| adapter.checkpoint(&state, metadata)).collect()
    }

    /// The record, with what is known of the book and what is kept aside.
    fn record(&self, metadata: Raw<'_>) -> Vec<u8> {
        let (spot, chat, restored) = (self.spot, self.parent(), self.restored);
        let (root, depth) = self.library.root_of(spot.chat);
        let moment = self.body.moment.to_string();
        let (more, last) = self.more.map_or((0, &moment), |more| (more.count(), &more.moment));
        let fingerprint = self.book.own().map(|own| own.fingerprint.clone());
        let parents_slug = || chat.header().slug().unwrap_or_default().into_owned();
        let record = ForkRecord {
            version: RECORD_VERSION,
            kind: spot.kind.as_str().to_owned(),
            owner_file: self.name.to_owned(),
            owner_slug: self.slug.to_owned(),
            parent_file: chat.name().to_owned(),
            parent_slug: restored.map_or_else(parents_slug, |restored| restored.parent_slug.clone()),
            message: restored.map_or(spot.at, |restored| restored.message),
            moment: restored.map_or(&moment, |restored| &restored.moment).clone(),
            root,
            depth: depth + 1,
            book: self.book.name().map(str::to_owned),
            undated: new_book::undated(self.found),
            baseline: Some(core_header::baseline(metadata, spot.at + 1 + more, last.clone(), fingerprint)),
            accepted: Vec::new(),
            created: self.now,
            adopted: false,
            restored: restored.map(|Restored { seq, .. }| *seq),
            learnt: self.learnt.cloned(),
            appended: self.more.map(|more| more.appended.clone()),
        };
        let about_book = [
            ("from", json!(chat.book().map(|(name, _)| name)).to_string().into_bytes()),
            ("source", serde_json::to_vec(&ShowSource::from(self.found.source)).unwrap_or_default()),
            ("left_out", serde_json::to_vec(&self.left_out()).unwrap_or_default()),
        ];
        let kept = [
            ("inherited", json!(self.revised.inherited).to_string().into_bytes()),
            ("archive", object(&with_queue(self.revised.archive.clone(), self.found))),
        ];
        record.write(&about_book, &kept)
    }
}

/// The queue that stays with the parent joins what the record keeps.
fn with_queue<'a>(mut archive: Vec<(&'a str, Vec<u8>)>, found: &BookAt) -> Vec<(&'a str, Vec<u8>)> {
    let live = found.live.as_ref().and_then(|book| book.parse().ok());
    let queue = live.as_ref().and_then(|book| {
        let queue = book.entries().iter().find(|e| entry_role(&e.comment()) == EntryRole::Queue)?;
        let content = queue.raw.get("content")?;
        core_book::empty_queue(&queue.comment(), &content.as_text()?).map(|_| content)
    });
    archive.extend(queue.map(|content| ("queue", content.bytes().to_vec())));
    archive
}
