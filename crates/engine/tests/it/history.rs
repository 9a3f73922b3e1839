//! History, against a model: random stories on a real disk, saved as SillyTavern and a memory extension save them and watched all the
//! while. Messages are added, edited, swiped and deleted; scenes are processed while the story goes on; entries and variables are
//! changed by hand; forks are made at any message.
//!
//! Afterwards the state at every message of every chat is what the model says. `FORKLORE_POINTS` sets how many messages to ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_engine::show::show;
use forklore_fs::{RealFs, Vfs};
use forklore_vault::history::Watch;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use crate::explain::explain;
use crate::path;
use crate::random::Random;

const QUEUE: &str = "__operation_queue";
const REGISTRY: &str = "_registry_character";

/// Title, text and whether it is switched off, by number.
type Entries = BTreeMap<i64, (String, String, bool)>;

/// One change of one entry, in the order in which they were made.
#[derive(Debug, Clone)]
struct Change {
    /// The message that it belongs to
    position: usize,
    uid: i64,
    entry: Option<(String, String, bool)>,
}

/// A scene that is being processed, step by step, while the story goes on.
#[derive(Debug, Clone)]
struct Work {
    scene: usize,
    /// What is still to be written: an entry of this number, new or with one more line
    todo: Vec<(i64, bool)>,
    wrote: Vec<i64>,
    /// An entry whose line in the registry is still to be written
    registry: Option<i64>,
    announced: bool,
}

#[derive(Debug, Clone)]
struct Chat {
    name: String,
    /// The open page: header and messages as SillyTavern has them in memory
    header: Value,
    messages: Vec<Value>,
    book: Value,
    changes: Vec<Change>,
    /// The variables, by the message at which they were set
    variables: Vec<(usize, Value)>,
    work: Option<Work>,
}

struct World {
    fs: Arc<dyn Vfs>,
    _dir: tempfile::TempDir,
    watch: Watch,
    random: Random,
    chats: Vec<Chat>,
    said: usize,
    trace: Vec<String>,
}

#[allow(clippy::disallowed_methods, reason = "the files get their times from the system, too")]
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(dir.path()).unwrap());
        for folder in ["chats/Ana", "worlds", "groups", "group chats", "characters"] {
            fs.make_dir(&path(folder)).unwrap();
        }
        let watch = Watch::open(fs.clone()).unwrap();
        let mut world = Self {
            fs,
            _dir: dir,
            watch,
            random: Random::new(seed),
            chats: Vec::new(),
            said: 0,
            trace: Vec::new(),
        };
        world.save("settings.json", b"{}");
        let header = json!({"chat_metadata": {"integrity": "slug", "world_info": "B", "variables": {}},
            "user_name": "unused", "character_name": "unused"});
        let mut entries = serde_json::Map::new();
        entries.insert("800000".to_owned(), registry(""));
        entries.insert("900000".to_owned(), queue(&[]));
        let book = json!({"entries": entries, "name": "B", "kept": [1.0, "\u{fffd}"]});
        world.chats.push(Chat {
            name: "main".to_owned(),
            header,
            messages: Vec::new(),
            book,
            changes: Vec::new(),
            variables: vec![(0, json!({}))],
            work: None,
        });
        world.message(0);
        world.save_book(0);
        world
    }

    /// SillyTavern saves a file; the watcher sees it.
    fn save(&mut self, file: &str, bytes: &[u8]) {
        let (target, new) = (path(file), path(&format!("{file}.123")));
        self.fs.create(&new, bytes).unwrap();
        self.fs.replace(&new, &target).unwrap();
        let looked = self.watch.sweep(now(), &NoProgress).unwrap();
        assert!(looked.unfinished.is_empty(), "{looked:?}");
    }

    fn save_chat(&mut self, c: usize) {
        let chat = &self.chats[c];
        let lines: Vec<String> =
            std::iter::once(&chat.header).chain(&chat.messages).map(Value::to_string).collect();
        let name = format!("chats/Ana/{}.jsonl", chat.name);
        self.save(&name, lines.join("\n").as_bytes());
    }

    fn save_book(&mut self, c: usize) {
        let chat = &self.chats[c];
        let name = chat.header["chat_metadata"]["world_info"].as_str().unwrap().to_owned();
        let text = serde_json::to_vec_pretty(&chat.book).unwrap();
        self.save(&format!("worlds/{name}.json"), &text);
    }

    fn say(&mut self, what: &str) -> String {
        self.said += 1;
        format!("{what} {}", self.said)
    }

    fn head(&self, c: usize) -> usize {
        self.chats[c].messages.len() - 1
    }

    fn message(&mut self, c: usize) {
        let text = self.say("message");
        let chat = &mut self.chats[c];
        let user = chat.messages.len() % 2 == 1;
        chat.messages
            .push(json!({"name": "Ana", "is_user": user, "mes": text, "send_date": text, "extra": {}}));
        self.trace.push(format!("message {} in {}", self.head(c), self.chats[c].name));
        self.save_chat(c);
    }

    fn step(&mut self) {
        let c = self.random.below(self.chats.len());
        match self.random.below(100) {
            0..30 => self.message(c),
            30..36 => self.rewrite(c),
            36..40 => self.remove(c),
            40..44 => self.hide(c),
            44..62 => self.edit(c),
            62..70 => self.set_variable(c),
            70..92 => self.process(c),
            _ if self.chats.len() < 6 => self.fork(c),
            _ => self.message(c),
        }
    }

    /// An old message is edited, or another swipe of the last one is chosen.
    fn rewrite(&mut self, c: usize) {
        let at = self.random.below(self.chats[c].messages.len());
        let text = self.say("other words");
        self.trace.push(format!("edit of message {at} in {}", self.chats[c].name));
        self.chats[c].messages[at]["mes"] = json!(text);
        self.save_chat(c);
    }

    /// A message is deleted. What belongs to it belongs to the one before from now on.
    fn remove(&mut self, c: usize) {
        let len = self.chats[c].messages.len();
        let at = self.random.below(len);
        let works_there = self.chats[c].work.as_ref().is_some_and(|work| work.scene >= at);
        // The extension numbers messages and does not follow them: it would write its recap onto another one.
        if len < 4
            || at == 0
            || works_there
            || self.chats[c].messages[at]["extra"]["auto_recap_memory"].is_object()
        {
            return;
        }
        self.trace.push(format!("message {at} of {} is deleted", self.chats[c].name));
        let chat = &mut self.chats[c];
        chat.messages.remove(at);
        let moved = |position: &mut usize| {
            if *position >= at {
                *position -= 1;
            }
        };
        chat.changes.iter_mut().for_each(|change| moved(&mut change.position));
        chat.variables.iter_mut().for_each(|(position, _)| moved(position));
        self.save_chat(c);
    }

    fn hide(&mut self, c: usize) {
        let at = self.random.below(self.chats[c].messages.len());
        let hidden = self.chats[c].messages[at]["is_system"] == json!(true);
        self.chats[c].messages[at]["is_system"] = json!(!hidden);
        self.chats[c].messages[at]["extra"]["note"] = json!(self.said);
        self.save_chat(c);
    }

    fn set_variable(&mut self, c: usize) {
        let value = self.say("value");
        let name = format!("v{}", self.random.below(3));
        self.trace.push(format!("{name} = {value} at {} of {}", self.head(c), self.chats[c].name));
        let head = self.head(c);
        let chat = &mut self.chats[c];
        chat.header["chat_metadata"]["variables"][&name] = json!(value);
        chat.variables.push((head, chat.header["chat_metadata"]["variables"].clone()));
        self.save_chat(c);
    }

    fn facts(&self, c: usize) -> Vec<i64> {
        let entries = self.chats[c].book["entries"].as_object().unwrap();
        entries.values().map(|e| e["uid"].as_i64().unwrap()).filter(|uid| *uid < 800_000).collect()
    }

    fn note(&mut self, c: usize, position: usize, uid: i64) {
        let entry = self.chats[c].book["entries"].get(uid.to_string()).map(read_entry);
        self.chats[c].changes.push(Change { position, uid, entry });
    }

    /// The user changes the book.
    fn edit(&mut self, c: usize) {
        let text = self.say("by hand");
        let uids = self.facts(c);
        // What is being written by the extension at this moment, the user leaves alone.
        let busy =
            |uid: &i64| self.chats[c].work.as_ref().is_some_and(|w| w.todo.iter().any(|(u, _)| u == uid));
        let free: Vec<i64> = uids.iter().copied().filter(|uid| !busy(uid)).collect();
        let roll = self.random.below(5);
        let uid =
            if roll < 2 || free.is_empty() { self.said as i64 } else { free[self.random.below(free.len())] };
        self.trace.push(format!("edit {roll} of entry {uid} at {} of {}", self.head(c), self.chats[c].name));
        let entries = self.chats[c].book["entries"].as_object_mut().unwrap();
        match entries.get_mut(&uid.to_string()) {
            None => drop(entries.insert(uid.to_string(), entry(uid, &format!("note {uid}"), &text))),
            Some(_) if roll == 2 => drop(entries.remove(&uid.to_string())),
            Some(old) if roll == 3 => old["disable"] = json!(old["disable"] != json!(true)),
            Some(old) => old["content"] = json!(format!("{}\n{text}", old["content"].as_str().unwrap())),
        }
        let head = self.head(c);
        self.note(c, head, uid);
        self.save_book(c);
    }

    /// The extension goes one step further with its scene, or begins one that lies a while back.
    fn process(&mut self, c: usize) {
        let Some(mut work) = self.chats[c].work.take() else { return self.begin(c) };
        let name = self.chats[c].name.clone();
        if let Some(uid) = work.registry.take() {
            self.trace.push(format!("registry line of {uid} for scene {} of {name}", work.scene));
            let lines = self.chats[c].book["entries"]["800000"]["content"].as_str().unwrap().to_owned();
            let line = format!("- UID={uid} | name: entity{uid}");
            if !lines.lines().any(|l| l == line) {
                self.chats[c].book["entries"]["800000"]["content"] = json!(format!("{lines}\n{line}"));
            }
            self.set_queue(c, &work);
            self.note(c, work.scene, 800_000);
            self.save_book(c);
        } else if let Some((uid, fresh)) = work.todo.first().copied() {
            let text = self.say("fact");
            self.trace.push(format!(
                "entry {uid} for scene {} of {name} at head {}",
                work.scene,
                self.head(c)
            ));
            let entries = self.chats[c].book["entries"].as_object_mut().unwrap();
            match entries.get_mut(&uid.to_string()) {
                Some(old) => old["content"] = json!(format!("{}\n{text}", old["content"].as_str().unwrap())),
                None => drop(
                    entries.insert(uid.to_string(), entry(uid, &format!("character-entity{uid}"), &text)),
                ),
            }
            self.note(c, work.scene, uid);
            self.save_book(c);
            work.todo.remove(0);
            work.wrote.push(uid);
            work.registry = fresh.then_some(uid);
            self.set_queue(c, &work);
            self.save_book(c);
        } else {
            self.trace.push(format!("scene {} of {name} is finished", work.scene));
            let taken = now();
            let all: Vec<Value> = self.chats[c].book["entries"]
                .as_object()
                .unwrap()
                .values()
                .filter(|e| e["comment"] != QUEUE)
                .cloned()
                .collect();
            let uids: Vec<String> = work.wrote.iter().map(i64::to_string).collect();
            let book = self.chats[c].header["chat_metadata"]["world_info"].clone();
            let memory = json!({"scene_break": true, "scene_break_visible": true, "scene_break_name": "A scene",
                "scene_recap_memory": "It happened.", "scene_recap_versions": ["It happened."], "scene_recap_current_index": 0,
                "scene_recap_metadata": {"0": {"timestamp": taken, "combined_at": taken, "chatLorebookName": book,
                    "allEntries": all, "created_entry_uids": uids}}});
            self.chats[c].messages[work.scene]["extra"]["auto_recap_memory"] = memory;
            self.save_chat(c);
            let idle = Work { todo: Vec::new(), announced: false, ..work };
            self.set_queue(c, &idle);
            self.save_book(c);
            return;
        }
        self.chats[c].work = Some(work);
    }

    fn begin(&mut self, c: usize) {
        let recapped = |m: &Value| m["extra"]["auto_recap_memory"].is_object();
        let from = self.chats[c].messages.iter().rposition(recapped).map_or(1, |last| last + 1);
        let head = self.head(c);
        if from > head {
            return;
        }
        let scene = from + self.random.below(head - from + 1);
        let mut todo = vec![(500_000 + self.said as i64, true)];
        let uids = self.facts(c);
        if !uids.is_empty() && self.random.below(2) == 0 {
            todo.push((uids[self.random.below(uids.len())], false));
        }
        self.trace.push(format!("scene {scene} of {} begins at head {head}: {todo:?}", self.chats[c].name));
        let work = Work { scene, todo, wrote: Vec::new(), registry: None, announced: true };
        self.set_queue(c, &work);
        self.save_book(c);
        self.chats[c].work = Some(work);
    }

    fn set_queue(&mut self, c: usize, work: &Work) {
        let mut operations = Vec::new();
        let metadata = json!({"message_index": work.scene, "version_index": 0});
        for (uid, fresh) in &work.todo {
            operations.push(if *fresh {
                json!({"id": format!("op{uid}"), "type": "create_lorebook_entry", "status": "pending",
                    "params": {"entryId": "e", "action": "create"}, "metadata": metadata})
            } else {
                json!({"id": format!("op{uid}"), "type": "merge_lorebook_entry", "status": "pending",
                    "params": {"entryUid": uid.to_string()}, "metadata": metadata})
            });
        }
        if let Some(uid) = work.registry {
            operations.push(json!({"id": format!("re{uid}"), "type": "update_lorebook_registry", "status": "in_progress",
                "params": {"entryId": "e", "entityType": "character", "entityId": uid}, "metadata": metadata}));
        }
        if work.announced {
            operations.push(json!({"id": "combine", "type": "combine_scene_with_running", "status": "pending",
                "params": {"startIndex": 0, "endIndex": work.scene}, "metadata": {"scene_index": work.scene}}));
        }
        self.chats[c].book["entries"]["900000"] = queue(&operations);
    }

    /// Forklore makes a branch at any message of a chat that nothing is at work in.
    fn fork(&mut self, c: usize) {
        if self.chats[c].work.is_some() {
            return;
        }
        let at = self.random.below(self.chats[c].messages.len());
        let name = format!("fork{}", self.chats.len());
        self.trace.push(format!("{name} at {at} of {}", self.chats[c].name));
        let library = Library::load(self.fs.clone(), &NoProgress).unwrap();
        let from = library.find(|chat| chat.name() == self.chats[c].name).unwrap().0;
        let request = ForkRequest {
            kind: Some(ForkKind::Branch),
            at: Some(at),
            name: Some(name.clone()),
            ..ForkRequest::of(library.address(from).to_string())
        };
        let slug = format!("slug of {name}");
        let plan = fork::plan(&library, &request, &Config::default(), &slug, now());
        let plan = plan.unwrap_or_else(|e| panic!("{e}\n{}", self.trace.join("\n")));
        let known = explain(&library, from);
        let report = fork::execute(&library, plan, now()).unwrap();
        drop(library);
        self.watch.sweep(now(), &NoProgress).unwrap();
        // The page of the parent sees the link that was put there.
        self.chats[c].messages = self.read_chat(&self.chats[c].name).1;
        let (header, messages) = self.read_chat(&name);
        let book = report.book.name.unwrap();
        let book: Value =
            serde_json::from_slice(&self.fs.read(&path(&format!("worlds/{book}.json"))).unwrap().unwrap())
                .unwrap();
        let parent = &self.chats[c];
        let chat = Chat {
            name,
            header,
            messages,
            book,
            changes: parent.changes.iter().filter(|change| change.position <= at).cloned().collect(),
            variables: parent.variables.iter().filter(|(position, _)| *position <= at).cloned().collect(),
            work: None,
        };
        let (truth, made) = (truth(&chat.changes, at), book_facts(&chat.book));
        assert_eq!(made, truth, "the book of {} at {at}\n{}\n{known}", chat.name, self.trace.join("\n"));
        let variables = chat.header["chat_metadata"]["variables"].clone();
        assert_eq!(variables, chat.variables.last().unwrap().1, "{}\n{}", chat.name, self.trace.join("\n"));
        self.chats.push(chat);
    }

    fn read_chat(&self, name: &str) -> (Value, Vec<Value>) {
        let bytes = self.fs.read(&path(&format!("chats/Ana/{name}.jsonl"))).unwrap().unwrap();
        let mut lines =
            bytes.split(|b| *b == b'\n').map(|line| serde_json::from_slice::<Value>(line).unwrap());
        (lines.next().unwrap(), lines.collect())
    }

    /// Asks for the state at every message of every chat; how many that were.
    fn compare(&self) -> usize {
        let library = Library::load(self.fs.clone(), &NoProgress).unwrap();
        let mut points = 0;
        for chat in &self.chats {
            let c = library.find(|found| found.name() == chat.name).unwrap().0;
            for at in 0..chat.messages.len() {
                let shown = show(&library, c, Some(at)).unwrap();
                let facts: Entries = shown
                    .book
                    .entries
                    .iter()
                    .map(|e| {
                        (
                            e.uid().unwrap(),
                            (e.comment().to_owned(), e.content().into_owned(), e.is_disabled()),
                        )
                    })
                    .collect();
                let place = format!("{} at {at}", chat.name);
                let source = format!("{:?}", shown.book.source);
                let trace = || format!("{}\n{}", self.trace.join("\n"), explain(&library, c));
                assert_eq!(facts, truth(&chat.changes, at), "{place}, {source}\n{}", trace());
                let variables = shown
                    .metadata
                    .variables
                    .as_ref()
                    .map_or(json!({}), |v| serde_json::from_str(v.get()).unwrap());
                let then = chat.variables.iter().rev().find(|(position, _)| *position <= at);
                assert_eq!(variables, then.unwrap().1, "variables of {place}\n{}", self.trace.join("\n"));
                points += 1;
            }
        }
        points
    }
}

fn entry(uid: i64, comment: &str, content: &str) -> Value {
    json!({"uid": uid, "comment": comment, "content": content, "key": [], "order": 100, "disable": false, "odd": 1.0})
}

fn registry(lines: &str) -> Value {
    json!({"uid": 800_000, "comment": REGISTRY, "content": format!("[Registry: character]{lines}"), "key": [], "disable": true})
}

fn queue(operations: &[Value]) -> Value {
    let content = json!({"queue": operations, "current_operation_id": null, "paused": false}).to_string();
    json!({"uid": 900_000, "comment": QUEUE, "content": content, "key": [], "disable": true})
}

fn read_entry(entry: &Value) -> (String, String, bool) {
    let text = |key: &str| entry[key].as_str().unwrap().to_owned();
    (text("comment"), text("content"), entry["disable"] == json!(true))
}

fn book_facts(book: &Value) -> Entries {
    let entries = book["entries"].as_object().unwrap().values().filter(|e| e["comment"] != QUEUE);
    entries.map(|entry| (entry["uid"].as_i64().unwrap(), read_entry(entry))).collect()
}

/// The one rule: per entry, the last change whose position is at most `at`.
fn truth(changes: &[Change], at: usize) -> Entries {
    let mut state: Entries = BTreeMap::from([(800_000, read_entry(&registry("")))]);
    for change in changes.iter().filter(|change| change.position <= at) {
        match &change.entry {
            Some(entry) => drop(state.insert(change.uid, entry.clone())),
            None => drop(state.remove(&change.uid)),
        }
    }
    state
}

#[test]
fn the_state_at_every_message_is_what_it_was() {
    let wanted = std::env::var("FORKLORE_POINTS").ok().and_then(|n| n.parse().ok()).unwrap_or(5_000);
    let mut points = 0;
    for seed in 0.. {
        let mut world = World::new(seed);
        for _ in 0..120 {
            world.step();
        }
        points += world.compare();
        if points >= wanted {
            println!("{points} points in {} stories", seed + 1);
            break;
        }
    }
}
