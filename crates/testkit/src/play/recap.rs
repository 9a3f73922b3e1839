//! Auto-Recap: scenes, their snapshots, registries, events, the running recap.
//!
//! The order in time is the extension's: the recap's text (`timestamp`), entries and registries, the new version of the running recap,
//! the snapshot (`combined_at`), and only then the events that the running recap has found.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::files;
use super::world::{Carrier, Claim, Entry, Keeper, Kind, Row, Scene, Snapshot, Version, World};

/// The types of entries, in the order in which their registries are made.
const TYPES: [&str; 9] =
    ["recap", "character", "location", "item", "faction", "lore", "event", "document", "rule"];

/// What a scene does.
pub(super) struct Work<'a> {
    pub(super) makes: &'a [String],
    pub(super) adds: &'a [String],
    pub(super) finds: &'a [String],
    pub(super) renames: Option<&'a (String, String)>,
    pub(super) event: Option<&'a String>,
}

impl World {
    /// The scene that ends so many messages before the last one.
    pub(super) fn scene(&mut self, c: usize, back: usize, work: &Work<'_>) -> bool {
        if self.setting.keeper != Keeper::Recap {
            return false;
        }
        let Some(at) = self.at(c, back) else { return false };
        let last = self.last_scene(c);
        if at == 0 || last.is_some_and(|last| last >= at) || self.is_unbound(c) {
            return false;
        }
        self.process(c, at, last.map_or(0, |last| last + 1), work)
    }

    /// The last scene once more.
    pub(super) fn again(&mut self, c: usize, finds: &[String]) -> bool {
        let Some(at) = self.last_scene(c).filter(|_| !self.is_unbound(c)) else { return false };
        let from = self.chats[c].messages[..at].iter().rposition(|m| m.scene.is_some()).map_or(0, |n| n + 1);
        self.process(c, at, from, &Work { makes: &[], adds: &[], finds, renames: None, event: None })
    }

    /// A chat whose book is gone: the extension would make a new one. That is another story.
    fn is_unbound(&self, c: usize) -> bool {
        self.chats[c].book.is_some_and(|b| !self.books[b].alive || self.books[b].name != self.chats[c].bound)
    }

    fn last_scene(&self, c: usize) -> Option<usize> {
        self.chats[c].messages.iter().rposition(|m| m.scene.is_some())
    }

    fn recap_book(&mut self, c: usize) -> usize {
        if let Some(b) = self.chats[c].book {
            return b;
        }
        let name = format!("z-AutoLB-Ana-{}", self.chats[c].name);
        let b = self.make_book(c, &name, Keeper::Recap);
        for (uid, kind) in (0..).zip(TYPES) {
            let line = format!("[Registry: {kind}]");
            self.change(c, 0, Claim::Start, uid, Kind::Make(format!("_registry_{kind}"), vec![line]));
        }
        self.books[b].queue = Some(self.clock);
        b
    }

    fn process(&mut self, c: usize, at: usize, from: usize, work: &Work<'_>) -> bool {
        let b = self.recap_book(c);
        let timestamp = self.tick(3_000);
        let message = self.chats[c].messages[at].id;
        // The snapshot's time is the scene's name in claims; nothing else happens until then.
        let combined = timestamp + 60_000;
        let claim = Claim::Scene(combined);
        let (mut created, mut entities) = (Vec::new(), Vec::new());
        let on_line: Vec<usize> = self.chats[c].line.iter().map(|n| self.changes[*n].thing).collect();
        for title in work.makes {
            if self.uid(c, title).is_some() {
                continue;
            }
            let line = self.line_of(title);
            let uid = self.free_uid(b);
            self.change(c, at, claim.clone(), uid, Kind::Make(title.clone(), vec![line.clone()]));
            created.push(uid.to_string());
            entities.push(entity(title, &line, None));
            self.register(c, at, &claim, uid, &line);
        }
        let (adds, finds) = (work.adds.iter().map(|t| (t, false)), work.finds.iter().map(|t| (t, true)));
        for (title, finds) in adds.chain(finds) {
            let Some(uid) = self.uid(c, title) else { continue };
            // What another line told is not part of this story: nobody speaks of it here.
            if title.starts_with('_') || !on_line.contains(&self.books[b].entries[&uid].thing) {
                continue;
            }
            let line = self.line_of(title);
            self.change(c, at, claim.clone(), uid, Kind::Append(vec![line.clone()]));
            entities.push(entity(title, &line, (!finds).then_some(uid)));
            if finds && self.kind_of(title).is_some() {
                created.push(uid.to_string());
                self.register(c, at, &claim, uid, &line);
            }
        }
        if let Some((old, title)) = work.renames
            && let Some(uid) = self.uid(c, old)
            && self.uid(c, title).is_none()
            && self.kind_of(old).is_some()
            && on_line.contains(&self.books[b].entries[&uid].thing)
        {
            let line = self.line_of(title);
            self.change(c, at, claim.clone(), uid, Kind::Append(vec![line.clone()]));
            self.change(c, at, claim.clone(), uid, Kind::Title(title.clone()));
            created.push(uid.to_string());
            entities.push(entity(title, &line, None));
            self.register(c, at, &claim, uid, &line);
        }
        let number = self.combine(c, at, work.event);
        self.reorder(b);
        self.clock = combined - 20;
        let clock = self.see(b, Carrier::Scene { message, combined });
        debug_assert_eq!(clock, combined, "the snapshot is taken when the scene is combined");
        self.snapshot(c, b, at, from, timestamp, combined, created, &entities);
        if let Some((number, name)) = number.zip(work.event) {
            self.event(c, b, at, number, name);
        }
        self.tick(1_000);
        true
    }

    /// A new version of the running recap; its number.
    fn combine(&mut self, c: usize, at: usize, event: Option<&String>) -> Option<usize> {
        let clock = self.tick(1_000);
        let running = &mut self.chats[c].running;
        let number = running.versions.iter().map(|v| v.number + 1).max().unwrap_or(0);
        let from = running.versions.iter().rev().find(|v| v.scene < at).map_or(0, |v| v.scene);
        let events = event.iter().map(|name| event_key(number, name)).collect();
        running.versions.push(Version { number, clock, from, scene: at, events });
        Some(number)
    }

    /// After the snapshot: the event's entry and its line in the registry.
    fn event(&mut self, c: usize, b: usize, at: usize, number: usize, name: &str) {
        let title = format!("event-{name}");
        if self.uid(c, &title).is_some() {
            return;
        }
        let claim = Claim::Event(event_key(number, name));
        let uid = self.free_uid(b);
        let line = event_text(name);
        self.change(c, at, claim.clone(), uid, Kind::Make(title, vec![line.clone()]));
        self.register(c, at, &claim, uid, &line);
    }

    fn kind_of(&self, title: &str) -> Option<String> {
        let kind = title.split_once('-')?.0;
        TYPES.contains(&kind).then(|| kind.to_owned())
    }

    /// The working registry gets a row, and the registry of its type is written anew.
    fn register(&mut self, c: usize, at: usize, claim: &Claim, uid: i64, synopsis: &str) {
        let Some(b) = self.chats[c].book else { return };
        let title = self.books[b].entries[&uid].title.clone();
        let Some(kind) = self.kind_of(&title) else { return };
        let row = Row { kind: kind.clone(), title, synopsis: synopsis.to_owned() };
        let old = self.chats[c].index.insert(uid, row).map(|row| row.kind);
        for kind in old.into_iter().filter(|old| *old != kind).chain([kind.clone()]) {
            let title = format!("_registry_{kind}");
            let Some(registry) = self.uid(c, &title) else { continue };
            let mut rows: Vec<(&i64, &Row)> =
                self.chats[c].index.iter().filter(|(_, row)| row.kind == kind).collect();
            rows.sort_by(|a, b| a.1.title.cmp(&b.1.title));
            let line = |(uid, row): (&i64, &Row)| {
                format!("- UID={uid} | name: {} | aliases: — | synopsis: {}", row.title, row.synopsis)
            };
            let lines = std::iter::once(format!("[Registry: {kind}]")).chain(rows.into_iter().map(line));
            let lines = lines.collect();
            self.change(c, at, claim.clone(), registry, Kind::Write(title, lines));
        }
    }

    /// All entries in the order of the alphabet.
    fn reorder(&mut self, b: usize) {
        let mut titles: Vec<(String, i64)> =
            self.books[b].entries.iter().map(|(uid, e)| (e.title.to_lowercase(), *uid)).collect();
        titles.sort();
        for (order, (_, uid)) in (0..).zip(titles) {
            if let Some(entry) = self.books[b].entries.get_mut(&uid) {
                entry.order = 999 - order;
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "it is what the extension stores")]
    fn snapshot(
        &mut self,
        c: usize,
        b: usize,
        at: usize,
        from: usize,
        timestamp: i64,
        combined: i64,
        created: Vec<String>,
        entities: &[Value],
    ) {
        let book = &self.books[b];
        let whole: BTreeMap<i64, Entry> = book.entries.clone();
        let entries = whole.iter().map(|(uid, e)| files::snapshot_entry(*uid, e, &book.name)).collect();
        let snapshot =
            Snapshot { timestamp, combined, from, to: at, book: book.name.clone(), entries, created, whole };
        let name = format!("Scene to {at}");
        let recap = json!({"scene_name": name, "stage1": {"sn": name, "extracted": []},
            "stage2": {"sn": name, "recap": {"outcomes": "", "threads": "", "state": ""}, "entities": entities},
            "stage3": {"developments": [name], "open": [], "state": [], "resolved": []}, "stage4": {"entities": entities}})
        .to_string();
        let first = json!({"stage1": {"sn": name, "extracted": []}}).to_string();
        let scene = self.chats[c].messages[at].scene.get_or_insert_with(|| Scene {
            name,
            recaps: vec![first],
            metadata: Vec::new(),
        });
        scene.metadata.push((scene.recaps.len(), Arc::new(snapshot)));
        scene.recaps.push(recap);
    }
}

fn entity(title: &str, line: &str, uid: Option<i64>) -> Value {
    let (kind, name) = title.split_once('-').unwrap_or(("lore", title));
    let mut entity =
        json!({"type": kind, "name": name, "keywords": [name.to_lowercase()], "content": [line]});
    if let Some(uid) = uid {
        entity["uid"] = json!(uid.to_string());
    }
    entity
}

fn event_text(name: &str) -> String {
    format!("{name} came to pass")
}

fn event_key(number: usize, name: &str) -> String {
    format!("{number}:{name}:{}", files::text_hash(&event_text(name)))
}
