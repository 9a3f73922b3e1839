//! [`Few`]: a large lorebook, worked out from those of its entries that ever changed.
//!
//! A book can have a million entries, and what is known of one takes many times the room of the entry. But most of them always were as they are,
//! under a number of their own. Nothing that happens to another entry is anything to them, so all of them have one fate: one stands for all, and
//! comes into its state together with them.

use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::adapter::{Keepers, template};
use forklore_core::format::book::EntryImage;
use forklore_core::state::{Base, BookEvidence, Content, Life, StateEntry, Witness};
use forklore_fs::PathError;

use super::at::{Told, Wanted, from_evidence};
use super::evidence::VaultCast;
use super::lore::Lore;
use crate::history::{Steady, history_error};
use crate::library::Book;
use crate::{ChatIx, Library};

/// What a chat's line knows of its book, for few of its entries.
struct Few {
    lore: Lore,
    /// The entries that are left aside
    aside: Steady,
    /// The one that stands for them
    one: EntryImage,
}

/// What was found out last; nothing about a chat whose book cannot be told so.
#[derive(Default)]
struct LastFew(Mutex<Option<(ChatIx, Option<Arc<Few>>)>>);

impl Library {
    /// The book of a chat at a message, if few of its entries tell of all.
    pub(super) fn told_by_few(
        &self,
        c: ChatIx,
        at: usize,
        wanted: Wanted,
        live: &Arc<Book>,
    ) -> Result<Option<Told>, PathError> {
        let last = || self.memo.slot::<LastFew>().0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last().as_ref().filter(|(chat, _)| *chat == c).map(|(_, few)| few.clone());
        let few = match known {
            Some(few) => few,
            None => {
                let few = self.few(c, live)?.map(Arc::new);
                *last() = Some((c, few.clone()));
                few
            }
        };
        let told = few.and_then(|few| {
            let (source, entries, left_out) = from_evidence(&few.lore, at, self.chats[c].head(), wanted);
            Some((source, few.with_all(entries)?, left_out))
        });
        Ok(told)
    }

    fn few(&self, c: ChatIx, live: &Arc<Book>) -> Result<Option<Few>, PathError> {
        let Some(stem) = self.chats[c].book_stem() else { return Ok(None) };
        if !self.is_apart(c, stem) {
            return Ok(None);
        }
        let Some(mut aside) = Steady::of(live.clone()) else { return Ok(None) };
        // Of what an extension keeps most tells of each other: nothing is gained there.
        let others = aside.others();
        if !are_plain(&Keepers::new(|adapter| adapter.kept(&others)), &others) {
            return Ok(None);
        }
        if let Some(history) = self.history()?
            && let Ok(file) = forklore_journal::layout::book(stem)
        {
            history.compare(history.track(&file), &mut aside).map_err(history_error)?;
        }
        let Some((number, one)) = aside.entries().next() else { return Ok(None) };
        aside.leave(Some(number));
        let evidence = self.evidence_without(Some(&aside), stem)?;
        if !tells_of_each(&evidence) {
            return Ok(None);
        }
        let life = Arc::new(Life::of(evidence, &Base::Nothing, &VaultCast(self)));
        Ok(Some(Few { lore: self.lore_of(c, Some(life.clone()), vec![life]), aside, one }))
    }

    /// Whether a chat comes from nowhere and has always had this book, which was made from no other one and is nobody else's.
    fn is_apart(&self, c: ChatIx, stem: &str) -> bool {
        let lineage = &self.chats[c].lineage;
        lineage.parent.is_none()
            && lineage.beyond.is_none()
            && self.chats[c].record.is_none()
            && self.users_of(stem) == [c]
            && self.known_as(stem) == stem
            && self.names_of(stem).count() == 1
            && self.books_of_line(c) == [stem]
            && self.told_books(c).is_empty()
            && !self.copies().iter().any(|copy| copy.stem == stem || copy.source == stem || copy.chat == c)
    }
}

/// Whether nothing that is known of a book tells of one entry by another: no scene was processed in it, no work was under way when it was seen
/// first, and no entry says where it comes from.
fn tells_of_each(evidence: &BookEvidence) -> bool {
    let is_plain = |entries: &[EntryImage]| are_plain(&evidence.keepers, entries);
    let mut sights = evidence.sights.iter().enumerate();
    evidence.scenes.is_empty()
        && evidence.elsewhere.is_empty()
        && sights.all(|(n, sight)| {
            let is_plain = match &sight.content {
                Content::Whole(entries) => is_plain(entries),
                Content::Changed { new, .. } => new.iter().all(|(_, e)| is_plain(std::slice::from_ref(e))),
            };
            is_plain
                && match &sight.witness {
                    Witness::Look(look) => n > 0 || look.work.is_empty(),
                    Witness::Now => true,
                    Witness::Scene(_) | Witness::Log(_) | Witness::Copy => false,
                }
        })
}

/// Whether no entry says where it comes from.
fn are_plain(keepers: &Keepers, entries: &[EntryImage]) -> bool {
    entries.iter().all(|entry| {
        keepers.layers(entry, entries).iter().all(|(mark, _)| mark.is_none())
            && keepers.subject(entry).is_none()
            && template(entry).is_none()
    })
}

impl Few {
    /// A state with what was left aside; `None` if it does not tell what became of that.
    fn with_all(&self, few: Vec<StateEntry>) -> Option<Vec<StateEntry>> {
        let one = few.iter().find(|entry| entry.image == self.one)?.clone();
        // A number that was given anew must not be one of theirs.
        if !one.inferred.is_empty() || few.iter().any(|entry| self.aside.has(entry.image.uid)) {
            return None;
        }
        let mut few = few.into_iter().peekable();
        let mut all = Vec::new();
        for (number, image) in self.aside.entries() {
            while let Some(entry) = few.next_if(|entry| entry.image.uid < Some(number)) {
                all.push(entry);
            }
            let mut entry = one.clone();
            entry.image = image;
            all.push(entry);
        }
        all.extend(few);
        all.iter_mut().for_each(|entry| entry.thing = None);
        Some(all)
    }
}
