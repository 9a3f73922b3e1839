//! Auto-Recap: scenes, their snapshots, registries, events, the running recap.
//!
//! The order in time is the extension's: the recap's text (`timestamp`), entries and registries, the new version of the running recap,
//! the snapshot (`combined_at`), and only then the events that the running recap has found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::files;
use super::world::{Carrier, Claim, Entry, Keeper, Kind, Row, Scene, Snapshot, Version, World};

/// The types of entries, in the order in which their registries are made.
const TYPES: [&str; 9] =
    ["recap", "character", "location", "item", "faction", "lore", "event", "document", "rule"];

impl Version {
    pub(super) fn content(&self) -> String {
        format!("DEVELOPMENTS:\nup to {}, at {}", self.scene, self.clock)
    }
}

/// What a scene does.
pub(super) struct Work<'a> {
    pub(super) makes: &'a [String],
    pub(super) adds: &'a [String],
    pub(super) finds: &'a [String],
    pub(super) merges: &'a [String],
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
        self.process(
            c,
            at,
            from,
            &Work { makes: &[], adds: &[], finds, merges: &[], renames: None, event: None },
        )
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
        let name = format!("z-AutoLB-{}-{}", self.card, self.chats[c].name);
        let b = self.make_book(c, &name, Keeper::Recap);
        for (uid, kind) in (0..).zip(TYPES) {
            let line = format!("[Registry: {kind}]");
            self.change(c, 0, Claim::Start, uid, Kind::Make(format!("_registry_{kind}"), vec![line]));
        }
        self.books[b].queue = Some(self.clock);
        // What is in the user's other books is copied, and nothing tells later where it came from.
        for title in if self.setting.others { &["old town", "house rules"][..] } else { &[] } {
            let (line, uid, head) = (self.line_of(title), self.free_uid(b), self.head(c));
            self.change(c, head, Claim::Hand, uid, Kind::Make((*title).to_owned(), vec![line]));
        }
        b
    }

    fn process(&mut self, c: usize, at: usize, from: usize, work: &Work<'_>) -> bool {
        let b = self.recap_book(c);
        self.saved();
        let timestamp = self.tick(3_000);
        let message = self.chats[c].messages[at].id;
        // The snapshot's time is the scene's name in claims.
        let combined = timestamp + 120_000;
        let claim = Claim::Scene(combined);
        let steps = self.steps(c, b, at, work);
        let snapshot = Snapshot {
            timestamp,
            combined: 0,
            from,
            to: at,
            book: self.books[b].name.clone(),
            entries: Vec::new(),
            created: Vec::new(),
            whole: BTreeMap::new(),
        };
        self.recapped(c, at, snapshot, &steps);
        let mut created = Vec::new();
        for n in 0..steps.len() {
            self.queue(b, at, &steps[n..], true);
            self.write(c, at, &claim, &steps[n], &mut created);
        }
        let number = self.combine(c, at, work.event);
        self.reorder(b);
        self.queue(b, at, &[], true);
        self.saved();
        self.clock = combined - 20;
        let clock = self.see(b, Carrier::Scene { message, combined });
        debug_assert_eq!(clock, combined, "the snapshot is taken when the scene is combined");
        self.snapshot(c, b, at, combined, created);
        self.saved();
        if let Some(name) = work.event {
            let (title, line) = (format!("event-{name}"), event_text(name));
            self.queue(b, at, &[SceneWrite { title, line, does: Does::Make }], false);
            self.event(c, b, at, number, name);
            self.saved();
        }
        self.books[b].work.clear();
        self.tick(1_000);
        true
    }

    /// What there is to do for a scene, and the lines that it will write.
    fn steps(&mut self, c: usize, b: usize, at: usize, work: &Work<'_>) -> Vec<SceneWrite> {
        let mut steps = Vec::new();
        let (known, new): (Vec<String>, Vec<String>) =
            work.makes.iter().cloned().partition(|title| self.uid(c, title).is_some());
        for title in new {
            let line = self.line_of(&title);
            steps.push(SceneWrite { title, line, does: Does::Make });
        }
        let known = if self.setting.crossed { known } else { Vec::new() };
        // What another line told is not part of this story: nobody speaks of it here.
        let on_line: BTreeSet<usize> = self.chats[c].line.iter().map(|n| self.changes[*n].thing).collect();
        let on_line = |world: &Self, uid: i64| on_line.contains(&world.books[b].entries[&uid].thing);
        let ours = |world: &Self, title: &str| {
            let uid = world.uid(c, title).filter(|_| !title.starts_with('_'));
            uid.is_some_and(|uid| on_line(world, uid))
        };
        let named = |world: &Self, title: &str| {
            ours(world, title) || (world.setting.crossed && world.uid(c, title).is_some())
        };
        let renamed = work.renames.map(|(old, _)| old);
        let adds = work.adds.iter().map(|title| (title, Does::Add));
        let finds = work.finds.iter().chain(&known).map(|title| (title, Does::Find));
        let merges = work.merges.iter().filter(|title| self.is_own(c, at, title));
        let merges: Vec<String> = merges.cloned().collect();
        let merges = merges.iter().map(|title| (title, Does::Merge));
        let mut done = BTreeSet::new();
        for (title, does) in adds.chain(finds).chain(merges).filter(|(title, _)| Some(*title) != renamed) {
            if named(self, title) && done.insert(title) {
                let line = self.line_of(title);
                steps.push(SceneWrite { title: title.clone(), line, does });
            }
        }
        if let Some((old, title)) = work.renames
            && ours(self, old)
            && self.uid(c, title).is_none()
            && kind_of(old).is_some()
        {
            let line = self.line_of(title);
            steps.push(SceneWrite { title: old.clone(), line, does: Does::Rename(title.clone()) });
        }
        steps
    }

    /// Whether an entry is what our own line made of it up to a message, and nobody else wrote in it.
    fn is_own(&self, c: usize, at: usize, title: &str) -> bool {
        let (Some(b), Some(uid)) = (self.chats[c].book, self.uid(c, title)) else { return false };
        let thing = self.books[b].entries[&uid].thing;
        let mut changes = self.changes.iter().enumerate().filter(|(_, change)| change.thing == thing);
        !title.starts_with('_')
            && changes.all(|(n, change)| {
                self.chats[c].line.contains(&n)
                    && self.place(c, change.message).is_some_and(|place| place <= at)
            })
    }

    /// One entry is written, and its line in the registry.
    fn write(&mut self, c: usize, at: usize, claim: &Claim, step: &SceneWrite, created: &mut Vec<String>) {
        let Some(b) = self.chats[c].book else { return };
        let lines = vec![step.line.clone()];
        let uid = match (&step.does, self.uid(c, &step.title)) {
            (Does::Make, _) => {
                let uid = self.free_uid(b);
                self.change(c, at, claim.clone(), uid, Kind::Make(step.title.clone(), lines));
                uid
            }
            (_, None) => return,
            (Does::Merge, Some(uid)) => {
                let entry = &self.books[b].entries[&uid];
                let old =
                    entry.lines.iter().map(|line| line.replace(" saw", " has seen").replace(" the", " that"));
                let (title, text) = (entry.title.clone(), old.chain(lines).collect());
                self.change(c, at, claim.clone(), uid, Kind::Write(title, text));
                uid
            }
            (does, Some(uid)) => {
                let title = self.books[b].entries[&uid].title.clone();
                let onto = if self.setting.crossed { Kind::Join(title, lines) } else { Kind::Append(lines) };
                self.change(c, at, claim.clone(), uid, onto);
                if let Does::Rename(title) = does {
                    self.change(c, at, claim.clone(), uid, Kind::Title(title.clone()));
                }
                uid
            }
        };
        self.saved();
        if step.does != Does::Add && kind_of(&self.books[b].entries[&uid].title).is_some() {
            created.push(uid.to_string());
            self.register(c, at, claim, uid, &step.line);
            self.saved();
        }
    }

    /// The queue while a scene is processed: the first step runs, the others wait, and then the scene is combined if it is not yet.
    fn queue(&mut self, b: usize, at: usize, steps: &[SceneWrite], combine: bool) {
        let clock = self.clock;
        let operation = |n: usize, kind: &str, params: Value, metadata: Value, status: &str| {
            json!({"id": format!("op_{clock}_{n}"), "type": kind, "params": params, "status": status, "created_at": clock,
                "started_at": null, "completed_at": null, "error": null, "retries": 0, "priority": 14, "dependencies": [],
                "metadata": metadata, "queueVersion": 0, "pauseBeforeExecution": false, "abortController": {}})
        };
        let mut work = Vec::new();
        for (n, step) in steps.iter().enumerate() {
            let status = if n == 0 { "in_progress" } else { "pending" };
            let entry = format!("entry_{clock}_{n}");
            let uid = self.books[b].entries.iter().find(|(_, e)| e.title == step.title).map(|(uid, _)| *uid);
            let name = step.title.split_once('-').map_or(step.title.as_str(), |(_, name)| name);
            let metadata = json!({"message_index": at, "version_index": 1, "entry_name": name});
            work.push(match (&step.does, n, uid) {
                (Does::Make, 0, _) => {
                    let params = json!({"entryId": entry, "action": "create"});
                    operation(
                        n,
                        "create_lorebook_entry",
                        params,
                        json!({"message_index": at, "version_index": 1}),
                        status,
                    )
                }
                (Does::Make, ..) | (_, _, None) => {
                    operation(n, "lorebook_entry_lookup", json!({"entryId": entry}), metadata, status)
                }
                (_, _, Some(uid)) => {
                    let params = json!({"lorebookName": self.books[b].name, "entryUid": uid});
                    operation(n, "merge_lorebook_entry", params, json!({"message_index": at}), status)
                }
            });
        }
        if combine {
            let status = if steps.is_empty() { "in_progress" } else { "pending" };
            let params = json!({"startIndex": 0, "endIndex": at});
            work.push(operation(
                steps.len(),
                "combine_scene_with_running",
                params,
                json!({"scene_index": at}),
                status,
            ));
        }
        self.books[b].work = work;
    }

    /// A new version of the running recap; its number.
    fn combine(&mut self, c: usize, at: usize, event: Option<&String>) -> usize {
        let clock = self.tick(1_000);
        let running = &mut self.chats[c].running;
        let number = running.versions.iter().map(|v| v.number + 1).max().unwrap_or(0);
        let from = running.versions.iter().rev().find(|v| v.scene < at).map_or(0, |v| v.scene);
        let events = event.iter().map(|name| event_key(number, name)).collect();
        running.versions.push(Version { number, author: c, clock, from, scene: at, events });
        number
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

    /// The working registry gets a row, and the registry of its type is written anew.
    fn register(&mut self, c: usize, at: usize, claim: &Claim, uid: i64, synopsis: &str) {
        let Some(b) = self.chats[c].book else { return };
        let title = self.books[b].entries[&uid].title.clone();
        let Some(kind) = kind_of(&title) else { return };
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

    /// The recap of a scene is there; the book is not written yet, and its snapshot is empty.
    fn recapped(&mut self, c: usize, at: usize, snapshot: Snapshot, steps: &[SceneWrite]) {
        let entities: Vec<Value> = steps.iter().map(|step| self.entity(c, step)).collect();
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
        self.saved();
    }

    /// The scene is combined: its snapshot is taken, and what it covers is hidden.
    fn snapshot(&mut self, c: usize, b: usize, at: usize, combined: i64, created: Vec<String>) {
        let book = &self.books[b];
        let whole: BTreeMap<i64, Entry> = book.entries.clone();
        let entries = whole.iter().map(|(uid, e)| files::snapshot_entry(*uid, e, &book.name)).collect();
        let Some(scene) = &mut self.chats[c].messages[at].scene else { return };
        if let Some((_, last)) = scene.metadata.last_mut() {
            let Snapshot { timestamp, from, to, .. } = **last;
            let book = last.book.clone();
            *last = Arc::new(Snapshot { timestamp, combined, from, to, book, entries, created, whole });
        }
        self.chats[c].messages[..=at].iter_mut().for_each(|m| m.hidden = true);
    }

    fn entity(&self, c: usize, step: &SceneWrite) -> Value {
        let title = if let Does::Rename(title) = &step.does { title } else { &step.title };
        let (kind, name) = title.split_once('-').unwrap_or(("lore", title));
        let mut entity =
            json!({"type": kind, "name": name, "keywords": [name.to_lowercase()], "content": [step.line]});
        if let Some(uid) = self.uid(c, title).filter(|_| step.does == Does::Add) {
            entity["uid"] = json!(uid.to_string());
        }
        entity
    }
}

/// One thing that a scene does to the book.
struct SceneWrite {
    title: String,
    line: String,
    does: Does,
}

#[derive(Debug, PartialEq, Eq)]
enum Does {
    /// Makes it
    Make,
    /// Adds a line, by number: that is tracked nowhere
    Add,
    /// Adds a line, by name
    Find,
    /// Finds it by name, and writes its whole text anew
    Merge,
    /// Finds out that it is called otherwise
    Rename(String),
}

fn kind_of(title: &str) -> Option<String> {
    let kind = title.split_once('-')?.0;
    TYPES.contains(&kind).then(|| kind.to_owned())
}

fn event_text(name: &str) -> String {
    format!("{name} came to pass")
}

fn event_key(number: usize, name: &str) -> String {
    format!("{number}:{name}:{}", files::text_hash(&event_text(name)))
}
