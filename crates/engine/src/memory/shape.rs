//! What memory's entries look like in a book after a scene, and what people have done to them since.

use std::collections::{BTreeMap, HashMap, HashSet};

use forklore_core::adapter::OWN;
use forklore_core::adapter::own::{OwnEntry, OwnLine, Role};
use forklore_core::format::book::EntryImage;
use forklore_fs::PathError;
use forklore_memory::{Decision, Entity, EntityId, Hold, Memory, Standing};
use forklore_vault::{ChatIx, Library};

use crate::memory_record::MemoryRecord;

/// The title of the entry that has the recap.
pub(super) const STORY: &str = "Story so far";
/// How much of an entry its list tells.
const SYNOPSIS: usize = 100;

/// Numbers for entries: the same title has the same number for ever.
pub(super) struct Numbers<'a> {
    uids: &'a mut BTreeMap<String, i64>,
    /// Numbers that cannot be given any more: those of memory's entries, and those that others have
    used: HashSet<i64>,
    /// All below are used.
    next: i64,
}

impl<'a> Numbers<'a> {
    /// Numbers beside those that were given, and those of entries that are not memory's.
    pub(super) fn new(uids: &'a mut BTreeMap<String, i64>, others: &[EntryImage]) -> Self {
        let used = uids.values().copied().chain(others.iter().filter_map(|entry| entry.uid)).collect();
        Self { uids, used, next: 0 }
    }

    fn of(&mut self, title: &str) -> i64 {
        if let Some(uid) = self.uids.get(title) {
            return *uid;
        }
        while !self.used.insert(self.next) {
            self.next += 1;
        }
        let uid = self.next;
        self.uids.insert(title.to_owned(), uid);
        uid
    }
}

/// The entries that memory has in the book after a scene.
pub(super) fn entries(standing: &Standing, numbers: &mut Numbers<'_>) -> Vec<OwnEntry> {
    let mut entries = vec![OwnEntry {
        uid: numbers.of(STORY),
        title: STORY.to_owned(),
        content: standing.recap.text(),
        keys: Vec::new(),
        role: Role::Story,
    }];
    let mut listed: BTreeMap<&str, Vec<OwnLine>> = BTreeMap::new();
    for entity in standing.entities.iter().filter(|entity| is_there(entity)) {
        let (title, content) = (entity.title(), entity.text());
        let uid = numbers.of(&title);
        let synopsis = entity.facts.first().map(|fact| fact.text.chars().take(SYNOPSIS).collect());
        listed.entry(&entity.id.kind).or_default().push(OwnLine {
            title: title.clone(),
            uid,
            aliases: entity.aliases.clone(),
            synopsis: synopsis.unwrap_or_default(),
        });
        entries.push(OwnEntry { uid, title, content, keys: entity.keywords(), role: Role::Fact });
    }
    for (kind, lines) in listed {
        let title = OWN.list_title(kind);
        let content = OWN.list_text(kind, &lines);
        entries.push(OwnEntry {
            uid: numbers.of(&title),
            title,
            content,
            keys: Vec::new(),
            role: Role::Registry,
        });
    }
    entries
}

/// Whether an entity has an entry.
fn is_there(entity: &Entity) -> bool {
    entity.hold != Hold::Deleted && !entity.facts.is_empty()
}

/// What people have done to memory's entries since they were written: other words, or gone. That is decided from now on.
pub(super) fn noticed(
    library: &Library,
    c: ChatIx,
    record: &MemoryRecord,
    memory: &Memory,
) -> Result<Vec<(EntityId, Decision)>, PathError> {
    let written = record.scenes.len();
    // What was written last tells what was there; as long as that is not remembered any more, nothing is missing.
    let last = written.checked_sub(1).and_then(|last| memory.standing.get(last));
    let Some((name, standing)) = library.chat(c).book().map(|(name, _)| name).zip(last) else {
        return Ok(Vec::new());
    };
    // One that cannot be read has lost nothing that anybody knows of.
    let Some(book) = library.open_book(name)?.filter(|book| book.parse().is_ok()) else {
        return Ok(Vec::new());
    };
    let live = book.images();
    let live: HashMap<&str, &EntryImage> = live.iter().map(|image| (&*image.comment, image)).collect();
    let mut decisions = Vec::new();
    for entity in standing.entities.iter().filter(|entity| is_there(entity)) {
        // What was decided since the scene is no news.
        let now = memory.entities.iter().find(|now| now.id == entity.id).unwrap_or(entity);
        match live.get(&*entity.title()) {
            None if now.hold != Hold::Deleted && record.written.contains(&entity.title()) => {
                decisions.push((entity.id.clone(), Decision::Deleted));
            }
            Some(image) if OWN.edited(image) == Some(true) && image.content() != now.text() => {
                decisions.push((entity.id.clone(), Decision::Text(image.content().into_owned())));
            }
            _ => {}
        }
    }
    Ok(decisions)
}
