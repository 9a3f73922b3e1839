//! Isolation, against a model: random stories of several chats, in which an extension recaps scenes, the user edits entries by
//! hand, and Forklore forks, deletes, heals, undoes and redoes.
//!
//! After every step each chat has exactly the messages, entries and recaps that the model says, and every file that the step was
//! not about is byte for byte what it was. 100,000 steps in memory, 1,000 on a real disk; `FORKLORE_STEPS` sets another number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::check::Severity;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_engine::undo::{self, UndoError};
use forklore_engine::{check, delete, heal};
use forklore_fs::{RealFs, SimFs, Vfs};
use forklore_journal::oplog::OpLog;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use crate::explain::explain;
use crate::path;
use crate::random::Random;

const REGISTRY: &str = "_registry_fact";
const QUEUE: &str = "__operation_queue";

/// An entry by its number: title and text.
type Entries = BTreeMap<i64, (String, String)>;

/// A scene that was recapped.
#[derive(Debug, Clone, PartialEq)]
struct Scene {
    /// What the book was then
    entries: Entries,
    /// Which entries the scene wrote
    wrote: Vec<i64>,
    /// The book's name then
    book: String,
    clock: i64,
}

/// A version of the running recap: its number, the scene it goes up to, when it was made.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Version {
    number: i64,
    scene: usize,
    clock: i64,
}

/// What the model knows of one chat.
#[derive(Debug, Clone, PartialEq)]
struct Chat {
    name: String,
    slug: String,
    parent: Option<String>,
    book: String,
    messages: Vec<String>,
    /// By the message that they end with
    scenes: BTreeMap<usize, Scene>,
    entries: Entries,
    versions: Vec<Version>,
    /// Header members that this test does not write itself
    rest: Value,
    /// Whether it shares its book with its parent, because SillyTavern made it
    shares: bool,
    /// How many messages and which entries it had when it was made by Forklore
    start: Option<(usize, Entries)>,
    /// Every line of text that ever was in an entry of this line: the message that it belongs to, the entry's title, the line
    told: Vec<Told>,
    /// What the book held while each message was the last one
    truth: Vec<Entries>,
}

/// A line of text, where it belongs, and whether a hand wrote it.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    message: usize,
    by_hand: bool,
    title: String,
    line: String,
}

/// What can be undone: the fork that was made, or the chat that was deleted.
#[derive(Debug, Clone)]
enum Done {
    Forked(String),
    Deleted(Box<Chat>),
    /// Not tracked: healing and the like
    Other,
}

struct World {
    fs: Arc<dyn Vfs>,
    random: Random,
    chats: BTreeMap<String, Chat>,
    done: Vec<Done>,
    /// Every text is said once, so that no two lines can earn the same by accident.
    said: usize,
    clock: i64,
    files: BTreeMap<String, Vec<u8>>,
    trace: Vec<String>,
}

impl World {
    fn new(fs: Arc<dyn Vfs>, seed: u64) -> Self {
        for folder in ["chats/Ana", "worlds", "groups", "group chats", "characters"] {
            fs.make_dir(&path(folder)).unwrap();
        }
        let mut world = Self {
            fs,
            random: Random::new(seed),
            chats: BTreeMap::new(),
            done: Vec::new(),
            said: 0,
            clock: 1_800_000_000_000,
            files: BTreeMap::new(),
            trace: Vec::new(),
        };
        world.save("settings.json", b"{}");
        let main = Chat {
            name: "main".to_owned(),
            slug: "slug".to_owned(),
            parent: None,
            book: "B".to_owned(),
            messages: vec!["hello".to_owned()],
            scenes: BTreeMap::new(),
            entries: Entries::new(),
            versions: Vec::new(),
            rest: json!({}),
            shares: false,
            start: None,
            told: Vec::new(),
            truth: vec![Entries::new()],
        };
        world.chats.insert(main.name.clone(), main);
        world.write_chat("main");
        world.write_book("main");
        world.files = world.disk();
        world
    }

    /// Another program saves a file.
    fn save(&self, file: &str, bytes: &[u8]) {
        let (target, new) = (path(file), path(&format!("{file}.123")));
        self.fs.create(&new, bytes).unwrap();
        self.fs.replace(&new, &target).unwrap();
    }

    fn say(&mut self, what: &str) -> String {
        self.said += 1;
        format!("{what} {}", self.said)
    }

    fn tick(&mut self) -> i64 {
        self.clock += 1000;
        self.clock
    }

    fn pick(&mut self) -> String {
        let names: Vec<&String> = self.chats.keys().collect();
        names[self.random.below(names.len())].clone()
    }

    /// Writes a chat as SillyTavern would, from the model.
    fn write_chat(&self, name: &str) {
        let chat = &self.chats[name];
        let mut metadata = chat.rest.clone();
        metadata["integrity"] = json!(chat.slug);
        metadata["world_info"] = json!(chat.book);
        if let Some(parent) = &chat.parent {
            metadata["main_chat"] = json!(parent);
        }
        let versions: Vec<Value> = chat.versions.iter().map(Version::stored).collect();
        metadata["auto_recap_running_scene_recaps"] = json!({
            "chat_id": chat.name, "current_version": chat.versions.last().map_or(0, |v| v.number), "versions": versions,
        });
        let mut lines =
            vec![json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"})];
        for (i, text) in chat.messages.iter().enumerate() {
            let mut extra = json!({});
            if let Some(scene) = chat.scenes.get(&i) {
                extra["auto_recap_memory"] = scene.stored(i);
            }
            lines.push(
                json!({"name": "Ana", "is_user": i % 2 == 1, "mes": text, "send_date": text, "extra": extra}),
            );
        }
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        self.save(&format!("chats/Ana/{name}.jsonl"), lines.join("\n").as_bytes());
    }

    fn write_book(&self, name: &str) {
        let chat = &self.chats[name];
        let mut entries = serde_json::Map::new();
        for (uid, (comment, content)) in &chat.entries {
            entries.insert(
                uid.to_string(),
                json!({"uid": uid, "comment": comment, "content": content, "key": []}),
            );
        }
        let queue = json!({"queue": [], "current_operation_id": null}).to_string();
        entries.insert("900000".to_owned(), json!({"uid": 900_000, "comment": QUEUE, "content": queue}));
        let registry = registry(&chat.entries);
        entries
            .insert("800000".to_owned(), json!({"uid": 800_000, "comment": REGISTRY, "content": registry}));
        let book = json!({"entries": entries, "name": chat.book});
        self.save(&format!("worlds/{}.json", chat.book), book.to_string().as_bytes());
    }

    /// Every file that is SillyTavern's.
    fn disk(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for folder in ["chats/Ana", "worlds"] {
            for node in self.fs.list(&path(folder)).unwrap() {
                let file = format!("{folder}/{}", node.name);
                let bytes = self.fs.read(&path(&file)).unwrap().unwrap();
                found.insert(file, bytes);
            }
        }
        found
    }

    fn library(&self) -> Library {
        Library::load(self.fs.clone(), &NoProgress).unwrap()
    }

    /// One step; returns the files that it was about.
    fn step(&mut self) -> BTreeSet<String> {
        let name = self.pick();
        let roll = self.random.below(100);
        let shares = self.chats[&name].shares;
        match roll {
            0..40 if !shares => self.message(&name),
            40..62 if !shares => self.recap(&name),
            62..76 if !shares => self.edit(&name),
            76..86 => self.fork(&name),
            86..89 => self.native_fork(&name),
            89..92 => self.heal(),
            92..95 => self.delete(&name),
            95..98 => self.undo(false),
            98..100 => self.undo(true),
            _ => BTreeSet::new(),
        }
    }

    fn about(&self, name: &str) -> BTreeSet<String> {
        let chat = &self.chats[name];
        BTreeSet::from([format!("chats/Ana/{name}.jsonl"), format!("worlds/{}.json", chat.book)])
    }

    fn message(&mut self, name: &str) -> BTreeSet<String> {
        self.trace.push(format!("message in {name}"));
        let text = self.say("message");
        self.reread(name);
        let chat = self.chats.get_mut(name).unwrap();
        chat.messages.push(text);
        chat.truth.push(chat.entries.clone());
        self.write_chat(name);
        self.about(name)
    }

    /// What Forklore put into headers and messages stays: SillyTavern writes back what it read.
    fn reread(&mut self, name: &str) {
        let (header, _) = self.read_chat(name);
        let chat = self.chats.get_mut(name).unwrap();
        let mut rest = header["chat_metadata"].clone();
        for key in ["integrity", "world_info", "main_chat", "auto_recap_running_scene_recaps"] {
            rest.as_object_mut().unwrap().remove(key);
        }
        chat.rest = rest;
        header["chat_metadata"]["integrity"].as_str().unwrap().clone_into(&mut chat.slug);
    }

    fn recap(&mut self, name: &str) -> BTreeSet<String> {
        let at = self.chats[name].messages.len() - 1;
        if at == 0 || self.chats[name].scenes.contains_key(&at) {
            return self.message(name);
        }
        self.trace.push(format!("scene at {at} of {name}"));
        let clock = self.tick();
        let fresh = self.say("fact");
        let more = self.say("line");
        let roll = self.random.below(3);
        self.reread(name);
        let chat = self.chats.get_mut(name).unwrap();
        let mut wrote = Vec::new();
        // It adds an entry, and a line to one that is there.
        let uid = chat.entries.keys().next_back().map_or(0, |last| last + 1);
        let told = |title: &str, line: &str| Told {
            message: at,
            by_hand: false,
            title: title.to_owned(),
            line: line.to_owned(),
        };
        let title = format!("fact-{fresh}");
        chat.told.push(told(&title, &fresh));
        chat.entries.insert(uid, (title, fresh));
        wrote.push(uid);
        if roll > 0
            && let Some((uid, (title, content))) = chat.entries.iter_mut().next()
        {
            content.push_str(&format!("\n{more}"));
            chat.told.push(told(title, &more));
            wrote.push(*uid);
        }
        chat.truth[at] = chat.entries.clone();
        let scene = Scene { entries: chat.entries.clone(), wrote, book: chat.book.clone(), clock };
        chat.scenes.insert(at, scene);
        let number = chat.versions.iter().map(|v| v.number + 1).max().unwrap_or(0);
        chat.versions.push(Version { number, scene: at, clock });
        self.write_book(name);
        self.write_chat(name);
        self.about(name)
    }

    fn edit(&mut self, name: &str) -> BTreeSet<String> {
        let text = self.say("by hand");
        let roll = self.random.below(4);
        self.trace.push(format!("edit {roll} ({text}) in {name}"));
        let uids: Vec<i64> = self.chats[name].entries.keys().copied().collect();
        let any = if uids.is_empty() { 0 } else { uids[self.random.below(uids.len())] };
        let chat = self.chats.get_mut(name).unwrap();
        let message = chat.messages.len() - 1;
        let told = |title: &str| Told { message, by_hand: true, title: title.to_owned(), line: text.clone() };
        match roll {
            // Numbers are not used again: the highest stays.
            0 if uids.len() > 1 && Some(&any) != uids.last() => drop(chat.entries.remove(&any)),
            1 if !uids.is_empty() => {
                let (title, content) = chat.entries.get_mut(&any).unwrap();
                content.push_str(&format!("\n{text}"));
                chat.told.push(told(title));
            }
            _ => {
                let title = format!("note-{text}");
                chat.told.push(told(&title));
                chat.entries.insert(uids.last().map_or(0, |last| last + 1), (title, text));
            }
        }
        chat.truth[message] = chat.entries.clone();
        self.write_book(name);
        self.about(name)
    }

    /// Whether a fork of a chat at a message holds what it should: nothing that its line was not told until then, and everything that
    /// the last scene shows and nobody changed since. What was done by hand between two scenes may be there or not.
    fn is_fork(&self, name: &str, at: usize, made: &Entries) -> Result<(), String> {
        let chat = &self.chats[name];
        if at == chat.messages.len() - 1 {
            return (*made == chat.entries)
                .then_some(())
                .ok_or(format!("not the book as it is: {:?}", chat.entries));
        }
        let (last, _) = chat.scenes.last_key_value().unwrap();
        // Nothing dates what was added by hand since the last scene: it is carried.
        let is_told = |told: &&Told| told.message <= at || (told.by_hand && at >= *last);
        told_only(made, chat.told.iter().filter(is_told))?;
        let (_, then) = chat.scenes.range(..=at).next_back().unwrap();
        has_all(made, &then.entries, &chat.truth[at])
    }

    fn fork(&mut self, name: &str) -> BTreeSet<String> {
        if self.chats.len() > 7 || self.chats[name].shares {
            return BTreeSet::new();
        }
        let messages = self.chats[name].messages.len();
        let at = if self.random.below(2) == 0 { messages - 1 } else { self.random.below(messages) };
        let kind = if self.random.below(2) == 0 { ForkKind::Branch } else { ForkKind::Checkpoint };
        // Of a chat whose book nobody can date nothing can be told; the model does not follow there.
        if at < messages - 1 && self.chats[name].scenes.range(..=at).next().is_none() {
            return BTreeSet::new();
        }
        // Others that share the book write it, too: then only what scenes tell counts, and the model does not follow.
        if self.chats.values().any(|other| other.shares && other.book == self.chats[name].book) {
            return BTreeSet::new();
        }
        self.trace.push(format!("{} of {name} at {at}", kind.as_str()));
        let now = self.tick();
        let library = self.library();
        let chat = library.find_chat(&format!("Ana/{name}")).unwrap();
        let link = self.random.below(4) > 0;
        let request = ForkRequest {
            kind: Some(kind),
            at: Some(at),
            link,
            ..ForkRequest::of(library.address(chat).to_string())
        };
        let slug = format!("slug {now}");
        let plan = fork::plan(&library, &request, &Config::default(), &slug, now).unwrap();
        let report = fork::execute(&library, plan, now).unwrap();
        let new = report.chat.strip_prefix("Ana/").unwrap().to_owned();
        let book = report.book.name.unwrap();
        let entries = self.read_book(&book);
        if let Err(why) = self.is_fork(name, at, &entries) {
            let library = self.library();
            let c = library.find_chat(&format!("Ana/{name}")).unwrap();
            panic!("{new}, {at} of {name}: {entries:?}: {why}\n{}", explain(&library, c));
        }
        let parent = &self.chats[name];
        let mut truth = parent.truth[..=at].to_vec();
        truth[at].clone_from(&entries);
        let mut told: Vec<Told> = parent.told.clone();
        told.retain_mut(|told| {
            let here = entries
                .values()
                .any(|(title, text)| *title == told.title && text.lines().any(|l| l == told.line));
            told.message = told.message.min(if here { at } else { usize::MAX });
            told.message <= at
        });
        let fork = Chat {
            name: new.clone(),
            slug,
            parent: Some(name.to_owned()),
            book,
            messages: parent.messages[..=at].to_vec(),
            scenes: parent.scenes.range(..=at).map(|(k, v)| (*k, v.clone())).collect(),
            versions: parent.versions.iter().copied().filter(|v| v.scene <= at).collect(),
            rest: json!({}),
            shares: false,
            start: Some((at + 1, entries.clone())),
            told,
            truth,
            entries,
        };
        let mut files =
            BTreeSet::from([format!("worlds/{}.json", fork.book), format!("chats/Ana/{new}.jsonl")]);
        if link {
            files.insert(format!("chats/Ana/{name}.jsonl"));
        }
        self.chats.insert(new.clone(), fork);
        self.done.push(Done::Forked(new));
        files
    }

    /// A fork as SillyTavern makes it: everything of the parent's header, its book included.
    fn native_fork(&mut self, name: &str) -> BTreeSet<String> {
        let parent = &self.chats[name];
        // Of a chat whose book nobody can date nothing can be told afterwards; the model does not follow there.
        let last = parent.scenes.keys().next_back().copied();
        if self.chats.len() > 7 || parent.shares || last.is_none() || self.sharers(&parent.book) > 0 {
            return BTreeSet::new();
        }
        self.reread(name);
        let now = self.tick();
        let new = format!("native {now}");
        self.trace.push(format!("{new}, made by SillyTavern, of {name}"));
        let parent = self.chats[name].clone();
        let fork = Chat {
            name: new.clone(),
            slug: format!("slug {now}"),
            parent: Some(name.to_owned()),
            shares: true,
            start: None,
            ..parent
        };
        self.chats.insert(new.clone(), fork);
        self.write_chat(&new);
        BTreeSet::from([format!("chats/Ana/{new}.jsonl")])
    }

    fn sharers(&self, book: &str) -> usize {
        self.chats.values().filter(|chat| chat.shares && chat.book == book).count()
    }

    /// Healing gives the forks that SillyTavern made what their line has earned.
    fn heal(&mut self) -> BTreeSet<String> {
        self.trace.push("heal".to_owned());
        let now = self.tick();
        let library = self.library();
        let decide = |question: &heal::Question| (!question.ask_first).then_some(heal::Choice::Rebuild);
        let plan = heal::plan(&library, None, &Config::default(), &decide, now, &NoProgress).unwrap();
        if plan.is_empty() {
            return BTreeSet::new();
        }
        let report = heal::execute(&library, plan, now).unwrap();
        self.trace.push(format!("{:?}", report.actions));
        let mut files = BTreeSet::new();
        let names: Vec<String> = self.chats.values().filter(|c| c.shares).map(|c| c.name.clone()).collect();
        for name in names {
            let (header, _) = self.read_chat(&name);
            let chat = self.chats.get_mut(&name).unwrap();
            let own = header["chat_metadata"]["world_info"].as_str().unwrap();
            assert_ne!(own, chat.book, "{name} still shares its book: {report:?}");
            own.clone_into(&mut chat.book);
            chat.shares = false;
            // What its line was told, and what others did not do to it since.
            let bytes = self.fs.read(&path(&format!("worlds/{}.json", chat.book))).unwrap().unwrap();
            let made = facts(&serde_json::from_slice(&bytes).unwrap());
            let (_, latest) = chat.scenes.last_key_value().unwrap();
            let right = told_only(&made, chat.told.iter())
                .and_then(|()| has_all(&made, &latest.entries, &chat.entries));
            if let Err(why) = right {
                let library = Library::load(self.fs.clone(), &NoProgress).unwrap();
                let c = library.find_chat(&format!("Ana/{name}")).unwrap();
                panic!("{name}, healed: {made:?}: {why}\n{}", explain(&library, c));
            }
            *chat.truth.last_mut().unwrap() = made.clone();
            chat.entries = made;
            files.insert(format!("chats/Ana/{name}.jsonl"));
            files.insert(format!("worlds/{}.json", chat.book));
            self.reread(&name);
        }
        self.done.push(Done::Other);
        files
    }

    fn delete(&mut self, name: &str) -> BTreeSet<String> {
        // Whoever is left with a shared book alone has it as it is; the model does not follow there.
        let chat = &self.chats[name];
        if self.chats.len() < 4 || name == "main" || (!chat.shares && self.sharers(&chat.book) > 0) {
            return BTreeSet::new();
        }
        self.trace.push(format!("delete {name}"));
        let now = self.tick();
        let library = self.library();
        let c = library.find_chat(&format!("Ana/{name}")).unwrap();
        let plan = delete::plan(&library, c).unwrap();
        let report = delete::execute(&library, plan, now).unwrap();
        self.reread_all_but(name);
        let chat = self.chats.remove(name).unwrap();
        let mut files: BTreeSet<String> = report.files.into_iter().collect();
        files.insert(format!("chats/Ana/{name}.jsonl"));
        let goes = self.chats.values().all(|other| other.book != chat.book);
        assert_eq!(report.books.contains(&chat.book), goes, "{name}: {:?}", report.kept);
        self.done.push(Done::Deleted(Box::new(chat)));
        files
    }

    fn reread_all_but(&mut self, gone: &str) {
        let names: Vec<String> = self.chats.keys().filter(|name| *name != gone).cloned().collect();
        names.iter().for_each(|name| self.reread(name));
    }

    fn undo(&mut self, redo: bool) -> BTreeSet<String> {
        let now = self.tick();
        let library = self.library();
        let log = OpLog::read(&*self.fs).unwrap();
        if redo {
            // Redoing is undoing an undo: done at once, so that nothing lies between.
            let Some((name, files)) = self.undo_fork(&library, &log, now) else { return BTreeSet::new() };
            self.trace.push(format!("undo and redo of {name}"));
            let library = self.library();
            let log = OpLog::read(&*self.fs).unwrap();
            let plan = undo::plan(&library, &log, None, true).unwrap();
            undo::execute(&library, plan, now).unwrap();
            return files;
        }
        let Some(done) = self.done.last().cloned() else { return BTreeSet::new() };
        match done {
            Done::Other => BTreeSet::new(),
            Done::Forked(_) => {
                let Some((name, files)) = self.undo_fork(&library, &log, now) else { return BTreeSet::new() };
                self.trace.push(format!("undo of {name}"));
                self.done.pop();
                self.chats.remove(&name);
                files
            }
            Done::Deleted(chat) => {
                self.trace.push(format!("undo of deleting {}", chat.name));
                let plan = match undo::plan(&library, &log, None, false) {
                    Ok(plan) => plan,
                    // A fork of the same name has been made since.
                    Err(UndoError::Taken(_)) => return BTreeSet::new(),
                    Err(e) => panic!("{e}"),
                };
                let report = undo::execute(&library, plan, now).unwrap();
                self.done.pop();
                self.chats.insert(chat.name.clone(), *chat);
                report.restored.into_iter().chain(report.edited).collect()
            }
        }
    }

    /// Undoes the last operation if it made a fork; refused exactly if the fork has gone on.
    fn undo_fork(&mut self, library: &Library, log: &OpLog, now: i64) -> Option<(String, BTreeSet<String>)> {
        let Some(Done::Forked(name)) = self.done.last().cloned() else { return None };
        let chat = &self.chats[&name];
        let (messages, entries) = chat.start.clone().unwrap();
        let moved_on = chat.messages.len() != messages || chat.entries != entries;
        let shared = self.sharers(&chat.book) > 0;
        if shared {
            return None;
        }
        match undo::plan(library, log, None, false) {
            Ok(plan) => {
                assert!(!moved_on, "{name} has gone on, and is undone all the same");
                let files = plan.report.removed.iter().chain(&plan.report.edited).cloned().collect();
                undo::execute(library, plan, now).unwrap();
                Some((name, files))
            }
            Err(UndoError::MovedOn { .. }) => {
                // A scene that was recapped, or a header that was saved again, counts as little as the model's word.
                assert!(moved_on, "{name} has not gone on, and cannot be undone");
                None
            }
            Err(e) => panic!("{e}"),
        }
    }

    fn read_book(&self, name: &str) -> Entries {
        let bytes = self.fs.read(&path(&format!("worlds/{name}.json"))).unwrap().unwrap();
        facts(&serde_json::from_slice(&bytes).unwrap())
    }

    fn read_chat(&self, name: &str) -> (Value, Vec<Value>) {
        let bytes = self.fs.read(&path(&format!("chats/Ana/{name}.jsonl"))).unwrap().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut lines = text.split('\n').map(|line| serde_json::from_str(line).unwrap());
        (lines.next().unwrap(), lines.collect())
    }

    /// Every chat has what the model says, and what the step was not about is byte for byte what it was.
    fn verify(&mut self, about: &BTreeSet<String>) {
        let now = self.disk();
        for (file, bytes) in &now {
            let same = self.files.get(file) == Some(bytes);
            assert!(same || about.contains(file), "{file} was changed by a step that was not about it");
        }
        for file in self.files.keys() {
            assert!(now.contains_key(file) || about.contains(file), "{file} is gone");
        }
        let changed = |file: &String| self.files.get(file) != now.get(file);
        for chat in self.chats.values() {
            let (file, book) =
                (format!("chats/Ana/{}.jsonl", chat.name), format!("worlds/{}.json", chat.book));
            if changed(&file) || about.contains(&file) {
                self.verify_chat(chat);
            }
            // A book that SillyTavern lets two chats share is nobody's until it is healed.
            if self.sharers(&chat.book) == 0 && (changed(&book) || about.contains(&book)) {
                let explain = || {
                    let library = self.library();
                    let of = |name: &String| {
                        library
                            .find_chat(&format!("Ana/{name}"))
                            .map(|c| explain(&library, c))
                            .unwrap_or_default()
                    };
                    format!(
                        "{}\n{:?}:\n{}",
                        of(&chat.name),
                        chat.parent,
                        chat.parent.as_ref().map(of).unwrap_or_default()
                    )
                };
                verify_book(chat, &now[&book], &explain);
            }
        }
        let wanted: BTreeSet<String> = self
            .chats
            .values()
            .flat_map(|chat| [format!("chats/Ana/{}.jsonl", chat.name), format!("worlds/{}.json", chat.book)])
            .collect();
        let there: BTreeSet<String> = now.keys().cloned().collect();
        assert_eq!(there, wanted, "files that nobody needs, or that are missing");
        self.files = now;
    }

    fn verify_chat(&self, chat: &Chat) {
        let (header, messages) = self.read_chat(&chat.name);
        let texts: Vec<&str> = messages.iter().map(|m| m["mes"].as_str().unwrap()).collect();
        assert_eq!(texts, chat.messages, "messages of {}", chat.name);
        let metadata = &header["chat_metadata"];
        assert_eq!(metadata["world_info"], json!(chat.book), "{}", chat.name);
        let running = &metadata["auto_recap_running_scene_recaps"];
        let versions: Vec<Value> = chat.versions.iter().map(Version::stored).collect();
        assert_eq!(running["versions"], json!(versions), "running recap of {}", chat.name);
        let current = chat.versions.iter().max_by_key(|v| v.scene).map_or(0, |v| v.number);
        assert_eq!(running["current_version"], json!(current), "running recap of {}", chat.name);
        for (message, scene) in &chat.scenes {
            let stored = &messages[*message]["extra"]["auto_recap_memory"];
            assert_eq!(*stored, scene.stored(*message), "scene {message} of {}", chat.name);
        }
    }

    fn run(&mut self, steps: usize) {
        for n in 0..steps {
            let about = self.step();
            self.verify(&about);
            if n % 50 == 49 && self.chats.values().all(|chat| !chat.shares) {
                let library = self.library();
                let report = check::check(&library, None, self.clock);
                let error = report.findings.iter().find(|finding| finding.severity == Severity::Error);
                let chat = error.and_then(|error| library.find_chat(error.chat.as_deref()?).ok());
                let known = chat.map(|chat| explain(&library, chat)).unwrap_or_default();
                assert!(report.ok, "{:#?}\n{known}", report.findings);
            }
        }
    }
}

fn verify_book(chat: &Chat, bytes: &[u8], explain: &dyn Fn() -> String) {
    let book: Value = serde_json::from_slice(bytes).unwrap();
    for (key, entry) in book["entries"].as_object().unwrap() {
        assert_eq!(entry["uid"].to_string(), *key, "{}", chat.name);
        if entry["comment"] == QUEUE {
            let queue: Value = serde_json::from_str(entry["content"].as_str().unwrap()).unwrap();
            assert_eq!(queue["queue"], json!([]), "{}", chat.name);
        }
    }
    let entries = facts(&book);
    assert_eq!(entries, chat.entries, "book of {}:\n{}", chat.name, explain());
}

/// Nothing is in a book but what was told.
fn told_only<'a>(made: &Entries, told: impl Iterator<Item = &'a Told>) -> Result<(), String> {
    let told: Vec<&Told> = told.collect();
    for (title, text) in made.values() {
        for line in text.lines() {
            if !told.iter().any(|told| told.title == *title && told.line == line) {
                return Err(format!("nobody told {line:?} of {title:?} to this line"));
            }
        }
    }
    Ok(())
}

/// A book has every entry that was seen and is still true.
fn has_all(made: &Entries, seen: &Entries, truth: &Entries) -> Result<(), String> {
    for (uid, entry) in seen.iter().filter(|(uid, entry)| truth.get(uid) == Some(entry)) {
        if !made.values().any(|made| made == entry) {
            return Err(format!("{uid} {entry:?} is missing"));
        }
    }
    Ok(())
}

/// The entries of a book, without what the extension keeps there for itself.
fn facts(book: &Value) -> Entries {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entries = book["entries"].as_object().unwrap().values();
    let told = entries.filter(|entry| entry["comment"] != QUEUE && entry["comment"] != REGISTRY);
    told.map(|entry| (entry["uid"].as_i64().unwrap(), (text(&entry["comment"]), text(&entry["content"]))))
        .collect()
}

impl Version {
    fn stored(&self) -> Value {
        let Self { number, scene, clock } = self;
        json!({"version": number, "timestamp": clock, "content": format!("recap {number} to {scene}"), "scene_count": number + 1,
            "excluded_count": 1, "prev_scene_index": 0, "new_scene_index": scene, "event_keys": []})
    }
}

fn registry(entries: &Entries) -> String {
    let lines = entries
        .iter()
        .map(|(uid, (comment, _))| format!("\n- UID={uid} | name: {comment} | aliases: — | synopsis: —"));
    format!("[Registry: fact]{}", lines.collect::<String>())
}

impl Scene {
    /// As the extension stores it, its snapshot of the book included.
    fn stored(&self, message: usize) -> Value {
        let entry = |uid: i64, comment: &str, content: &str| json!({"uid": uid, "comment": comment, "content": content, "key": [], "world": self.book});
        let mut all: Vec<Value> =
            self.entries.iter().map(|(uid, (comment, content))| entry(*uid, comment, content)).collect();
        all.push(entry(800_000, REGISTRY, &registry(&self.entries)));
        let uids: Vec<String> = self.wrote.iter().map(ToString::to_string).collect();
        let clock = self.clock;
        json!({"scene_break": true, "scene_break_visible": true, "scene_break_name": format!("scene {message}"),
            "scene_recap_memory": "recap", "scene_recap_versions": ["", "recap"], "scene_recap_current_index": 1,
            "scene_recap_metadata": {"1": {"timestamp": clock, "combined_at": clock, "chatLorebookName": self.book,
                "allEntries": all, "created_entry_uids": uids}}})
    }
}

/// Runs stories of 250 steps each; a failure tells its seed and the last steps. `FORKLORE_SEED` plays one story only.
fn stories(steps: usize, seed: u64, fs: &dyn Fn() -> Arc<dyn Vfs>) {
    let stories = steps.div_ceil(250);
    let only = std::env::var("FORKLORE_SEED").ok().and_then(|seed| seed.parse().ok());
    for n in 0..only.map_or(stories, |_: u64| 1) {
        let seed = only.unwrap_or(seed + n as u64);
        let mut world = World::new(fs(), seed);
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run(250)));
        if let Err(e) = run {
            let last = world.trace.len().saturating_sub(120);
            println!(
                "seed {seed}, after {} steps:\n  {}",
                world.trace.len(),
                world.trace[last..].join("\n  ")
            );
            std::panic::resume_unwind(e);
        }
    }
}

fn steps(default: usize) -> usize {
    std::env::var("FORKLORE_STEPS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Two books tell of each other here. What was found out about one while the other was not known went together with what was found out
/// the other way round, depending on which thread came first: every fourth time a chat was told that it knew the future.
#[test]
fn regression_lives_of_books_that_tell_of_each_other_are_not_mixed() {
    for _ in 0..5 {
        World::new(Arc::new(SimFs::new()), 1_000_182).run(250);
    }
}

#[test]
fn no_chat_ever_sees_another_in_memory_1() {
    stories(steps(50_000), 1, &|| Arc::new(SimFs::new()));
}

#[test]
fn no_chat_ever_sees_another_in_memory_2() {
    stories(steps(50_000), 1_000_000, &|| Arc::new(SimFs::new()));
}

#[test]
fn no_chat_ever_sees_another_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let next = std::cell::Cell::new(0);
    stories(steps(1_000).min(20_000), 2_000_000, &|| {
        next.set(next.get() + 1);
        Arc::new(RealFs::make(&dir.path().join(next.get().to_string())).unwrap())
    });
}
