//! [`put_back`]: what a chat's memory is told when its owner puts entries of its book back to what they were, or takes another book as it
//! is. They carry memory's own mark, and memory would write over them what it computes from the line.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::adapter::{EntryRole, OWN, entry_role};
use forklore_core::format::book::EntryImage;
use forklore_memory::{Brought, Decision, Entity, EntityId, Hold};
use forklore_vault::{ChatIx, Library};

use super::along::{as_own, give, is_story, keys, known};
use super::answers::AnswerStore;
use super::survey::survey;
use super::ways::Ways;
use crate::memory_record::MemoryRecord;

/// What the header of chat `c` says of its memory when its book has the entries `now` instead of `was`; nothing if no memory is kept, or that
/// is what it computes anyway. `known_in` is the chat, and the message of it, whose memory may have said what comes back: then it comes back
/// with what is known of it, else as words. What memory keeps from now on is marked as its own.
pub(crate) fn put_back(
    library: &Library,
    c: ChatIx,
    known_in: (ChatIx, usize),
    was: &[EntryImage],
    now: &mut [EntryImage],
) -> Option<MemoryRecord> {
    let chat = library.chat(c);
    let kept = MemoryRecord::of(chat.header())?;
    if !kept.on && kept.scenes.is_empty() {
        return None;
    }
    let answers = AnswerStore::open(library.fs()).ok()?;
    let config = Config::load(&**library.fs()).unwrap_or_default();
    let ways = Arc::new(Ways::of(&**library.fs(), &config).ok()?);
    let found = survey(library, c, &answers, &ways).ok()?;
    let head = chat.head();
    let mut record = found.record.up_to(head);
    // Whether it is on is not decided here.
    record.on = kept.on;
    let computed: HashMap<String, &Arc<Entity>> =
        found.memory.entities.iter().map(|entity| (entity.title(), entity)).collect();
    let then: HashMap<String, Arc<Entity>> =
        known(library, known_in.0, known_in.1).into_iter().map(|entity| (entity.title(), entity)).collect();
    let mut decided = Vec::new();
    for image in now.iter_mut().filter(|image| !is_story(image) && OWN.edited(image).is_some()) {
        let title = image.comment.to_string();
        let fact = entry_role(&title) == EntryRole::Fact;
        let (Some(id), Some(uid)) = (EntityId::titled(&title).filter(|_| fact), image.uid) else { continue };
        let stayed = was.iter().any(|was| was == image);
        let says = |entity: &Entity| entity.hold != Hold::Deleted && entity.text() == image.content();
        if stayed || computed.get(&title).is_some_and(|entity| says(entity)) {
            continue;
        }
        let brought = match then.get(&title).filter(|entity| entity.text() == image.content()) {
            Some(entity) => entity.brought(),
            None => Brought { text: image.content().into_owned(), ..Brought::default() },
        };
        let aliases = brought.aliases.iter().cloned().chain(keys(image)).collect();
        *image = as_own(image, uid);
        give(&mut record, &title, uid);
        record.written.insert(title);
        decided.push((id, Decision::Brought(Brought { aliases, ..brought })));
    }
    for gone in was.iter().filter(|was| !now.iter().any(|image| image.comment == was.comment)) {
        let kept = OWN.edited(gone).is_some() && record.written.remove(&*gone.comment);
        decided.extend(EntityId::titled(&gone.comment).filter(|_| kept).map(|id| (id, Decision::Deleted)));
    }
    if decided.is_empty() {
        return None;
    }
    record.inputs.entries.entry(head).or_default().extend(decided);
    Some(record)
}
