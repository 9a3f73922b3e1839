//! [`Along`]: what a chat's memory is told when something of another line comes into its book, so that it goes on saying what the book
//! says. What the other line's memory has learnt becomes an input of this one: no model is asked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::adapter::own::{OwnEntry, Role};
use forklore_core::adapter::{EntryRole, OWN, entry_role, registry};
use forklore_core::format::book::EntryImage;
use forklore_core::state::StateEntry;
use forklore_json::Raw;
use forklore_memory::{Brought, Decision, Entity, EntityId};
use forklore_vault::{Chat, ChatIx, Library};

use super::answers::AnswerStore;
use super::shape::STORY;
use super::survey::survey;
use super::ways::Ways;
use crate::memory_record::MemoryRecord;

/// A chat that something of another line comes into.
pub(crate) struct Along {
    /// What its header says of its memory as of the message; nothing if none is kept
    record: Option<MemoryRecord>,
    /// The message
    at: usize,
    /// What the other line's memory knows, by title
    known: HashMap<String, Arc<Entity>>,
}

impl Along {
    /// Of `chat`, as of its message `at`; the other line is chat `c` up to message `upto`.
    pub(crate) fn of(chat: &Chat, at: usize, (library, c, upto): (&Library, ChatIx, usize)) -> Self {
        let record = MemoryRecord::of(chat.header()).map(|record| record.up_to(at));
        let record = record.filter(|record| record.on || !record.scenes.is_empty());
        let known = record.as_ref().map(|_| known(library, c, upto)).unwrap_or_default();
        let known = known.into_iter().map(|entity| (entity.title(), entity)).collect();
        Self { record, at, known }
    }

    /// Whether memory is kept of the chat.
    pub(crate) fn keeps(&self) -> bool {
        self.record.is_some()
    }

    /// The three states of a book as they are merged: whose recap stands in an entry is not asked, nor what memory wrote last. Where nobody
    /// lists entries, lists that memory has made of them are not brought along.
    pub(crate) fn before(
        &self,
        base: &mut Vec<StateEntry>,
        ours: &mut [StateEntry],
        theirs: &mut Vec<StateEntry>,
    ) {
        let is_list = |entry: &StateEntry| entry_role(&entry.image.comment) == EntryRole::Registry;
        let lists = self.keeps() || ours.iter().any(is_list);
        let comes = |entry: &StateEntry| {
            !is_story(&entry.image) && (lists || !is_list(entry) || OWN.edited(&entry.image).is_none())
        };
        base.retain(comes);
        theirs.retain(comes);
        for entry in base.iter_mut().chain(ours).chain(theirs) {
            if OWN.edited(&entry.image).is_some() {
                entry.image = OWN.disowned(&entry.image);
            }
        }
    }

    /// What the chat's header says of its memory when its book has the entries `now` instead of `was`, with what the other line's has in
    /// `theirs`; nothing if that is nothing new. What memory keeps from now on is marked as its own.
    pub(crate) fn after(
        self,
        was: &[EntryImage],
        theirs: &[EntryImage],
        now: &mut [EntryImage],
    ) -> Option<MemoryRecord> {
        let mut record = self.record?;
        let before = record.clone();
        let key = |entry: &EntryImage| (entry.uid, entry.comment.to_string());
        let held: HashMap<_, &EntryImage> = was.iter().map(|entry| (key(entry), entry)).collect();
        let own = theirs.iter().filter(|entry| OWN.edited(entry).is_some());
        let own: HashSet<&str> = own.map(|entry| &*entry.comment).collect();
        let listed: HashSet<i64> = registry::listed(now).iter().filter_map(|(_, line)| line.uid).collect();
        let mut decided = Vec::new();
        for image in now.iter_mut().filter(|image| !is_story(image)) {
            let (title, Some(uid)) = (image.comment.to_string(), image.uid) else { continue };
            let old = held.get(&key(image)).copied();
            if let Some(old) = old {
                *image = OWN.owned_as(image, old);
            }
            let kept = old.is_some_and(|old| OWN.edited(old).is_some());
            let role = entry_role(&title);
            if role == EntryRole::Registry && old.is_none() && own.contains(&*title) {
                *image = as_written(image, uid, Role::Registry);
                give(&mut record, &title, uid);
            }
            let id = EntityId::titled(&title).filter(|_| role == EntryRole::Fact);
            let Some(id) = id.filter(|_| kept || own.contains(&*title) || listed.contains(&uid)) else {
                continue;
            };
            let says = |old: &EntryImage| old.content() == image.content();
            let brought = match old.filter(|old| says(old)) {
                Some(old) if keys(old) == keys(image) || !kept => continue,
                Some(_) => Brought::default(),
                None => self.known.get(&title).filter(|there| there.text() == image.content()).map_or_else(
                    || Brought { text: image.content().into_owned(), ..Brought::default() },
                    |there| there.brought(),
                ),
            };
            let aliases = brought.aliases.iter().cloned().chain(keys(image)).collect();
            if !says_nothing(&brought) {
                *image = as_own(image, uid);
            }
            give(&mut record, &title, uid);
            record.written.insert(title);
            decided.push((id, Decision::Brought(Brought { aliases, ..brought })));
        }
        for gone in was.iter().filter(|entry| !now.iter().any(|here| here.comment == entry.comment)) {
            let kept = OWN.edited(gone).is_some() && record.written.remove(&*gone.comment);
            let id = EntityId::titled(&gone.comment).filter(|_| kept);
            decided.extend(id.map(|id| (id, Decision::Deleted)));
        }
        if !decided.is_empty() {
            record.inputs.entries.entry(self.at).or_default().extend(decided);
        }
        (record != before).then_some(record)
    }
}

/// Whether an entry has the recap of a line whose memory is kept.
pub(crate) fn is_story(entry: &EntryImage) -> bool {
    *entry.comment == *STORY && OWN.edited(entry).is_some()
}

/// What the memory of a chat knows at a message. What cannot be computed is not known: then it is only words that come along.
pub(super) fn known(library: &Library, c: ChatIx, at: usize) -> Vec<Arc<Entity>> {
    if MemoryRecord::of(library.chat(c).header()).is_none() {
        return Vec::new();
    }
    let Ok(answers) = AnswerStore::open(library.fs()) else { return Vec::new() };
    let config = Config::load(&**library.fs()).unwrap_or_default();
    let Ok(ways) = Ways::of(&**library.fs(), &config) else { return Vec::new() };
    let Ok(found) = survey(library, c, &answers, &Arc::new(ways)) else { return Vec::new() };
    if at >= library.chat(c).head() {
        return found.memory.entities;
    }
    let last = found.memory.standing.into_iter().rfind(|standing| standing.scene.last() <= at);
    last.map(|standing| standing.entities).unwrap_or_default()
}

/// From now on the entry of this title has this number, and no other one of memory's.
pub(super) fn give(record: &mut MemoryRecord, title: &str, uid: i64) {
    record.uids.retain(|_, given| *given != uid);
    record.uids.insert(title.to_owned(), uid);
}

/// An entry of what is known of somebody, as memory would have written it.
pub(super) fn as_own(image: &EntryImage, uid: i64) -> EntryImage {
    as_written(image, uid, Role::Fact)
}

fn as_written(image: &EntryImage, uid: i64, role: Role) -> EntryImage {
    let content = image.content().into_owned();
    let own = OwnEntry { uid, title: image.comment.to_string(), content, keys: keys(image), role };
    OWN.own_entry(&own, Some(image))
}

/// The words that bring an entry up.
pub(super) fn keys(image: &EntryImage) -> Vec<String> {
    let keys = image.raw().get("key").unwrap_or(Raw::NULL);
    keys.elements().filter_map(|key| Some(key.as_text()?.into_owned())).collect()
}

fn says_nothing(brought: &Brought) -> bool {
    brought.text.is_empty() && brought.facts.is_empty()
}
