//! What is told of a fork: [`Draft::report`].

use std::sync::Arc;

use forklore_core::adapter::{EntryRole, entry_role};
use forklore_core::format::book::EntryImage;
use forklore_fs::VaultPath;
use forklore_journal::operation::Edit;
use forklore_vault::address::Address;

use super::book::{BookPlan, naming_parent};
use super::plan::Draft;
use super::{ForkBook, ForkCombined, ForkRecap, ForkReport};
use crate::new_book;
use crate::show::{ShowLeftOut, why};

impl Draft<'_> {
    /// What is told of the fork, which gets this file and this address, and is pointed at by these edits.
    pub(super) fn report(&self, target: &VaultPath, address: &Address, edits: &[Edit]) -> ForkReport {
        let made = self.book.own().map(|own| &own.path).into_iter().chain([target]);
        let files = made.chain(edits.iter().map(|edit| &edit.target));
        ForkReport {
            operation: None,
            kind: self.spot.kind,
            chat: address.to_string(),
            parent: self.library.address(self.spot.chat).to_string(),
            at: self.spot.at,
            swipe: self.spot.request.swipe,
            moment: self.body.moment.to_string(),
            book: self.book_told(),
            running_recap: self.recap_told(),
            combined_recap: self
                .revised
                .combined
                .as_ref()
                .map(|recap| ForkCombined { message_count: recap.message_count }),
            inherited: self.revised.inherited.clone(),
            notes: self.revised.notes.clone(),
            warnings: self.warnings.clone(),
            files: files.map(|path| path.as_str().to_owned()).collect(),
            pending: Vec::new(),
        }
    }

    fn book_told(&self) -> ForkBook {
        let live = || self.found.live.as_ref().and_then(|book| book.parse().ok());
        let titles = |images: &[EntryImage]| images.iter().map(|image| image.comment.clone()).collect();
        let (name, titles): (_, Vec<Arc<str>>) = match self.book {
            BookPlan::Own(own) => (Some(own.name.clone()), titles(&own.entries)),
            BookPlan::Shared => {
                (self.found.name.clone(), live().map_or_else(Vec::new, |book| titles(&book.images())))
            }
            BookPlan::None => (None, Vec::new()),
        };
        let entries = titles.len();
        let facts = titles.iter().filter(|title| entry_role(title) == EntryRole::Fact).count();
        ForkBook {
            name,
            from: self.found.name.clone(),
            entries,
            facts,
            source: self.found.source.into(),
            shared: matches!(self.book, BookPlan::Shared),
            undated: new_book::undated(self.found).len(),
            left_out: self.left_out(),
            scenes_naming_parent: naming_parent(self.library, self.spot.chat, self.spot.at, self.book),
        }
    }

    fn recap_told(&self) -> ForkRecap {
        let Some((known, projection)) = &self.revised.running else { return ForkRecap::default() };
        ForkRecap {
            current_version: projection.current.map(|i| known.running.versions[i].version),
            versions: projection.kept.len(),
            scenes: projection.current.and_then(|i| known.scenes[i]),
            archived: projection.dropped.len(),
        }
    }

    /// What the book has and the fork's has not.
    pub(super) fn left_out(&self) -> Vec<ShowLeftOut> {
        let told = self.found.left_out.iter().map(|out| ShowLeftOut {
            uid: out.uid,
            comment: out.comment.to_string(),
            lines: out.lines,
            why: why(self.library, out.why),
        });
        told.collect()
    }
}
