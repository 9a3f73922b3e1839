//! Work that waited in a memory extension's queue when a chat was forked: it is the parent's, and was archived with the fork. Whoever wants
//! it done in the fork takes it back; it waits there, paused, until somebody has looked at it.

use forklore_core::adapter::{self, Adapter, EntryRole, entry_role};
use forklore_core::format::book::{Book, EntryImage};
use forklore_json::{Raw, Splice, quote};

use super::{PickError, PickPlan, Picking};
use crate::history::Did;
use crate::restore::book::refuse_work;
use crate::warning::{Warning, WarningCode};

/// Names that a record keeps such work under: in the queue, and where the first versions of the extension had it.
const QUEUES: [&str; 2] = ["queue", "old_queue"];

impl Picking<'_> {
    pub(super) fn work(mut self, ignore_queue: bool) -> Result<PickPlan, PickError> {
        let chat = self.library.chat(self.c);
        refuse_work(self.library, self.c, ignore_queue)?;
        let missing = || PickError::NoWork {
            chat: chat.name().to_owned(),
            from: self.source.there().name().to_owned(),
        };
        let mut images = self.live()?.map(|live| live.images()).unwrap_or_default();
        let place = images.iter().position(|entry| entry_role(&entry.comment) == EntryRole::Queue);
        let place = place.ok_or_else(missing)?;
        let keeper = adapter::queue_keeper(&images[place].comment).ok_or_else(missing)?;
        let book = self.names()?.1;
        let (mut taken, mut left) = (Vec::new(), 0);
        for kept in QUEUES.iter().flat_map(|name| self.source.archived(name)) {
            let text =
                Raw::trust(&kept).as_text().map_or_else(|| kept.clone(), |text| text.as_bytes().to_vec());
            let Ok(archived) = Raw::parse(&text) else { continue };
            let now = images[place].content().into_owned();
            let Some(queue) = keeper.requeued(now.as_bytes(), archived, chat.head(), &book) else { continue };
            left += queue.left.len();
            if !queue.taken.is_empty() {
                images[place] = with_text(&images[place], &queue.text);
                taken.extend(queue.taken);
            }
        }
        if taken.is_empty() {
            return Err(missing());
        }
        let notes = self.notes(keeper);
        let count = |n: usize| if n == 1 { "1 operation".to_owned() } else { format!("{n} operations") };
        self.report.what = "queue";
        self.report.name = count(taken.len());
        self.report.did = Did::Changed;
        self.report.uid = images[place].uid;
        self.report.after = taken.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>().join(", ");
        let paused = format!("The queue of \"{}\" is paused", chat.name());
        self.report.warnings.push(Warning::new(WarningCode::QueuePaused, paused));
        if left > 0 {
            let are = if left == 1 { "is" } else { "are" };
            let message = format!("{} {are} about messages that this chat does not have", count(left));
            self.report.warnings.push(Warning::new(WarningCode::QueueIgnored, message));
        }
        let queue = images[place].clone();
        self.bind(&images, notes, None, Some(&queue))
    }

    /// What the extension had noted for that work beside its queue.
    fn notes(&self, keeper: &dyn Adapter) -> Vec<forklore_core::format::revision::Revision> {
        let metadata = self.library.chat(self.c).header().metadata();
        let kept = self.source.archived("pending");
        kept.iter().flat_map(|kept| keeper.put_waiting(metadata, "pending", Raw::trust(kept))).collect()
    }
}

fn with_text(entry: &EntryImage, text: &[u8]) -> EntryImage {
    entry.with_field("content", Raw::trust(&quote(&String::from_utf8_lossy(text))))
}

/// The bytes of a book with the text of a queue in its queue's entry.
pub(super) fn with_queue(book: &[u8], queue: &EntryImage) -> Option<Vec<u8>> {
    let parsed = Book::parse(book).ok()?;
    let entry = parsed.entries().iter().find(|entry| entry.comment() == *queue.comment)?;
    let range = entry.raw.get("content")?.range_in(book)?;
    Some(Splice { range, with: queue.raw().get("content")?.bytes().to_vec() }.apply(book))
}
