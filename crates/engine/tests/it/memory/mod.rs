//! Memory on real files, with a model that says the same to the same question: what is remembered is in the chat and its book, goes into
//! forks without a question, follows edits, and never takes a person's words.

mod back;
mod crashes;
mod owner;
mod taken;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_engine::memory::{
    AnswerStore, Choice, MemoryError, Survey, Ways, decide, projection, status, survey, told, why,
};
use forklore_engine::{check, show, undo};
use forklore_fs::{RealFs, Vfs};
use forklore_journal::oplog::OpLog;
use forklore_memory::{Answer, Provenance, Question, Reply};
use forklore_testkit::{TestVault, model};
use forklore_vault::{ChatIx, Library, NoProgress};
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000_000;
const CHAT: &str = "chats/Mara/Long road.jsonl";

/// A vault with one chat of `n` messages: every twelfth begins a scene, and somebody new comes up in each.
pub(crate) fn vault(n: usize) -> TestVault {
    let names = ["Tolan", "Ilse", "Bren", "Captain Tolan", "Sela", "Wick"];
    let texts: Vec<String> = (0..n)
        .map(|i| {
            let name = names[(i / 12) % names.len()];
            match i % 12 {
                0 if i > 0 => format!("Later they came upon {name} at the mill. Word w{i}."),
                3 => format!("It is said that {name} lives in house {i}. Word w{i}."),
                5 => format!("They say {name} owes {i} coins. Word w{i}."),
                _ => format!("Nothing new. Word w{i}."),
            }
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    TestVault::new().chat("Mara", "Long road", &json!({"integrity": "1", "kept": {"by": "somebody"}}), &texts)
}

/// The facts in the book of a chat at a message: titles and texts.
pub(crate) fn shown_in(library: &Library, chat: ChatIx, at: usize) -> BTreeMap<String, String> {
    let report = serde_json::to_value(show::show(library, chat, Some(at)).unwrap()).unwrap();
    let entries = report["book"]["entries"].as_array().cloned().unwrap_or_default();
    entries.iter().map(|entry| (text(&entry["comment"]), text(&entry["content"]))).collect()
}

pub(crate) struct Played {
    pub(crate) vault: TestVault,
    pub(crate) fs: Arc<dyn Vfs>,
    clock: Cell<i64>,
    ways: Arc<Ways>,
}

impl Played {
    pub(crate) fn new(vault: TestVault) -> Self {
        let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&vault.root()).unwrap());
        Self { vault, fs, clock: Cell::new(NOW), ways: Arc::default() }
    }

    /// A second later.
    pub(crate) fn now(&self) -> i64 {
        self.clock.set(self.clock.get() + 1000);
        self.clock.get()
    }

    pub(crate) fn library(&self) -> Library {
        Library::load(self.fs.clone(), &NoProgress).unwrap()
    }

    /// Asks and writes until nothing is left; how many questions that took.
    pub(crate) fn run(&self, chat: &str) -> usize {
        run(&self.fs, &self.ways, chat, &|| self.now())
    }

    /// Looks at a chat's memory.
    fn look<T>(&self, chat: &str, look: impl FnOnce(&Library, &Survey, &AnswerStore) -> T) -> T {
        let library = self.library();
        let answers = AnswerStore::open(&self.fs).unwrap();
        let found = survey(&library, library.find_chat(chat).unwrap(), &answers, &self.ways).unwrap();
        look(&library, &found, &answers)
    }

    /// Decides something, and asks and writes what follows from it; how many questions that took.
    fn decide(&self, chat: &str, choices: &[Choice]) -> usize {
        self.look(chat, |library, found, answers| {
            let record = decide(found, answers, choices).unwrap();
            projection::decided(library, found, &record, "decided about", self.now()).unwrap();
        });
        self.run(chat)
    }

    /// Another text in the chat's file.
    fn edit(&self, from: &str, to: &str) {
        let chat = String::from_utf8(self.vault.read(CHAT)).unwrap();
        assert!(chat.contains(from));
        self.vault.write(CHAT, chat.replace(from, to).as_bytes());
    }

    /// The facts in the book at a message: titles and texts.
    pub(crate) fn shown(&self, chat: &str, at: usize) -> BTreeMap<String, String> {
        let library = self.library();
        let c = library.find_chat(chat).unwrap();
        shown_in(&library, c, at)
    }

    /// What is remembered after every scene: its last message, and titles and texts.
    fn remembered(&self, chat: &str) -> Vec<(usize, BTreeMap<String, String>)> {
        let library = self.library();
        let c = library.find_chat(chat).unwrap();
        let answers = AnswerStore::open(&self.fs).unwrap();
        let found = survey(&library, c, &answers, &self.ways).unwrap();
        let scenes = found.memory.standing.iter().map(|standing| {
            let entities = standing.entities.iter().filter(|entity| !entity.facts.is_empty());
            (standing.scene.last(), entities.map(|entity| (entity.title(), entity.text())).collect())
        });
        scenes.collect()
    }

    pub(crate) fn fork(&self, at: usize) -> String {
        let library = self.library();
        let request = ForkRequest {
            kind: Some(ForkKind::Branch),
            at: Some(at),
            name: Some(format!("Fork {at}")),
            ..ForkRequest::of("Long road")
        };
        let slug = forklore_engine::fresh_slug();
        let plan = fork::plan(&library, &request, &Config::default(), &slug, self.now()).unwrap();
        fork::execute(&library, plan, self.now()).unwrap();
        format!("Fork {at}")
    }

    fn book(&self) -> Value {
        let library = self.library();
        let c = library.find_chat("Long road").unwrap();
        let (name, _) = library.chat(c).book().unwrap();
        serde_json::from_slice(&self.vault.read(&format!("worlds/{name}.json"))).unwrap()
    }

    fn write_book(&self, book: &Value) {
        let library = self.library();
        let c = library.find_chat("Long road").unwrap();
        let (name, _) = library.chat(c).book().unwrap();
        self.vault.write(&format!("worlds/{name}.json"), &serde_json::to_vec_pretty(book).unwrap());
    }
}

/// Asks and writes until nothing is left; how many questions that took.
fn run(fs: &Arc<dyn Vfs>, ways: &Arc<Ways>, chat: &str, now: &dyn Fn() -> i64) -> usize {
    let mut answers = AnswerStore::open(fs).unwrap();
    let (mut asked, mut written) = (0, 0);
    loop {
        let library = Library::load(fs.clone(), &NoProgress).unwrap();
        let c = library.find_chat(chat).unwrap();
        let mut found = survey(&library, c, &answers, ways).unwrap();
        let plan = projection::plan(&library, &found, now()).unwrap();
        if !plan.is_nothing() {
            let report = projection::execute(&library, &found, plan, now()).unwrap();
            assert!(report.pending.is_empty(), "{:?}", report.pending);
            written += 1;
            assert!(written < 100, "it is never done: {report:?}");
            continue;
        }
        let Some(question) = found.missing(&answers).next().cloned() else { return asked };
        answers.add(answered(&found, &question)).unwrap();
        found.compute(&answers);
        asked += 1;
    }
}

/// What the scripted model says to a question.
fn answered(found: &Survey, question: &Question) -> Answer {
    let request = question.request(&found.line, &found.ways.prompts);
    let said = model::reply(&request.schema, &request.user).to_string();
    let provenance = Provenance { model: "scripted".into(), ..Provenance::default() };
    found.answer(question, Reply::read(question, &said).unwrap(), provenance)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Those of memory's facts that a book shows.
pub(crate) fn facts(shown: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    shown
        .iter()
        .filter(|(title, _)| title.starts_with("character-"))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

#[test]
fn what_is_remembered_is_in_the_book_at_every_message() {
    let played = Played::new(vault(100));
    assert!(played.run("Long road") > 0);
    assert_eq!(played.run("Long road"), 0, "a second run asks nothing");
    let remembered = played.remembered("Long road");
    assert!(remembered.len() >= 5, "{} scenes", remembered.len());
    for at in 0..100 {
        let then = remembered
            .iter()
            .rfind(|(last, _)| *last <= at)
            .map(|(_, facts)| facts.clone())
            .unwrap_or_default();
        assert_eq!(facts(&played.shown("Long road", at)), then, "at message {at}");
    }
    let last = played.shown("Long road", 99);
    assert!(last.contains_key("Story so far"), "{:?}", last.keys());
    let findings = check::check(&played.library(), None, NOW);
    let findings = serde_json::to_value(findings).unwrap();
    assert_eq!(findings["ok"], true, "{findings:#}");
    // What others keep in the header stays.
    let chat = String::from_utf8(played.vault.read(CHAT)).unwrap();
    assert!(chat.lines().next().unwrap().contains(r#""kept":{"by":"somebody"}"#));
}

#[test]
fn a_fork_asks_nothing_and_has_what_was_remembered_there() {
    let played = Played::new(vault(100));
    played.run("Long road");
    let remembered = played.remembered("Long road");
    for at in [20, 47, 48, 70] {
        let fork = played.fork(at);
        let then = remembered
            .iter()
            .rfind(|(last, _)| *last <= at)
            .map(|(_, facts)| facts.clone())
            .unwrap_or_default();
        assert_eq!(facts(&played.shown(&fork, at)), then, "at message {at}");
        let before = played.vault.snapshot();
        assert_eq!(played.run(&fork), 0, "the fork at {at} asks");
        let files = |all: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
            all.into_iter().filter(|(name, _)| !name.starts_with(".forklore")).collect()
        };
        assert_eq!(files(before), files(played.vault.snapshot()), "nothing is left to be written");
    }
}

#[test]
fn a_persons_words_stay() {
    let played = Played::new(vault(60));
    played.run("Long road");
    let mut book = played.book();
    let entries = book["entries"].as_object_mut().unwrap();
    let uid_of = |entries: &serde_json::Map<String, Value>, title: &str| {
        entries.iter().find(|(_, entry)| entry["comment"] == title).map(|(uid, _)| uid.clone()).unwrap()
    };
    let tolan = uid_of(entries, "character-Tolan");
    entries[&tolan]["content"] = json!("He is my brother.");
    entries[&tolan]["order"] = json!(7);
    let ilse = uid_of(entries, "character-Ilse");
    entries.remove(&ilse);
    entries.insert(
        "900".into(),
        json!({"uid": 900, "comment": "Mine", "content": "My own lore", "key": ["mine"]}),
    );
    played.write_book(&book);
    // The story goes on; Tolan comes up again as "Captain Tolan", Ilse by name.
    let mut chat = String::from_utf8(played.vault.read(CHAT)).unwrap();
    for i in 60..110 {
        let said = match i {
            60 => "Later all met".to_owned(),
            62 => "We know that Tolan lives in house 99".to_owned(),
            63 => "We know that Ilse lives in house 98".to_owned(),
            80 => "Later they parted".to_owned(),
            _ => format!("Nothing new. Word w{i}."),
        };
        chat.push('\n');
        chat.push_str(&json!({"name": "Mara", "is_user": false, "mes": said, "extra": {}, "send_date": "2026-02-01T00:00:00.000Z"}).to_string());
    }
    played.vault.write(CHAT, chat.as_bytes());
    played.run("Long road");
    let shown = played.shown("Long road", 109);
    assert!(shown["character-Tolan"].starts_with("He is my brother."), "{}", shown["character-Tolan"]);
    assert!(
        shown["character-Tolan"].contains("house 99"),
        "what is learnt later is added: {}",
        shown["character-Tolan"]
    );
    assert!(!shown.contains_key("character-Ilse"), "what was deleted stays deleted");
    assert_eq!(shown["Mine"], "My own lore");
    let book = played.book();
    assert_eq!(book["entries"][&tolan]["order"], 7, "a setting of the entry is the owner's");
    assert_eq!(played.run("Long road"), 0);
}

#[test]
fn an_edit_is_followed_and_undo_takes_everything_back() {
    let played = Played::new(vault(60));
    let first = played.vault.read(CHAT);
    played.run("Long road");
    let chat = String::from_utf8(played.vault.read(CHAT)).unwrap();
    played.vault.write(CHAT, chat.replace("Tolan lives in house 3.", "Tolan lives in house 333.").as_bytes());
    let asked = played.run("Long road");
    assert!(asked > 0 && asked < 8, "{asked} questions");
    let shown = played.shown("Long road", 59);
    assert!(
        shown["character-Tolan"].contains("house 333") && !shown["character-Tolan"].contains("house 3\n")
    );
    // Everything that was written is undone, step by step.
    loop {
        let library = played.library();
        let log = OpLog::read(&*played.fs).unwrap();
        let plan = match undo::plan(&library, &log, None, false) {
            Ok(plan) => plan,
            Err(why) => {
                assert!(matches!(why, undo::UndoError::NothingToUndo), "{why}");
                break;
            }
        };
        undo::execute(&library, plan, played.now()).unwrap();
    }
    let undone = String::from_utf8(played.vault.read(CHAT)).unwrap();
    let undone = undone.replace("house 333.", "house 3.");
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(lines(&undone), lines(&String::from_utf8(first).unwrap()));
    // What was paid for is not lost.
    assert!(!AnswerStore::open(&played.fs).unwrap().known().is_empty());
}

/// Messages that end a scene, as the chat has them, and as they are remembered.
fn ends(played: &Played) -> (Vec<usize>, Vec<usize>) {
    let library = played.library();
    let c = library.find_chat("Long road").unwrap();
    let marked = library.chat(c).facts().scenes.iter().map(|(at, _)| *at).collect();
    (marked, played.remembered("Long road").iter().map(|(last, _)| *last).collect())
}

#[test]
fn what_was_deleted_is_not_remembered() {
    let played = Played::new(vault(100));
    played.run("Long road");
    for messages in [40, 5] {
        let chat = String::from_utf8(played.vault.read(CHAT)).unwrap();
        let left: Vec<&str> = chat.lines().take(messages + 1).collect();
        played.vault.write(CHAT, left.join("\n").as_bytes());
        played.run("Long road");
        let then = played.remembered("Long road").last().map(|(_, facts)| facts.clone()).unwrap_or_default();
        assert_eq!(facts(&played.shown("Long road", messages - 1)), then, "{messages} messages are left");
        assert!(!then.contains_key("character-Wick"));
        let (marked, remembered) = ends(&played);
        assert_eq!(marked, remembered);
        let found = serde_json::to_value(check::check(&played.library(), None, NOW)).unwrap();
        assert_eq!(found["ok"], true, "{found:#}");
    }
}

#[test]
fn a_scene_that_ends_elsewhere_by_now_is_marked_there() {
    let played = Played::new(vault(100));
    played.run("Long road");
    let chat = String::from_utf8(played.vault.read(CHAT)).unwrap();
    // The second scene does not begin where it did, and somebody comes up who was never there: nobody has deleted them.
    let moved =
        chat.replace("Later they came upon Ilse at the mill. Word w12.", "Now they saw Zora. Word w12.");
    played.vault.write(CHAT, moved.as_bytes());
    assert!(played.run("Long road") > 0);
    let (marked, remembered) = ends(&played);
    assert_eq!(marked, remembered);
    assert!(!marked.contains(&11), "{marked:?}");
    assert!(played.shown("Long road", 99).contains_key("character-Zora"));
    // And back again: nothing is asked, and all is as it was.
    let chat = String::from_utf8(played.vault.read(CHAT)).unwrap();
    let back =
        chat.replace("Now they saw Zora. Word w12.", "Later they came upon Ilse at the mill. Word w12.");
    played.vault.write(CHAT, back.as_bytes());
    assert_eq!(played.run("Long road"), 0);
    let (marked, remembered) = ends(&played);
    assert_eq!(marked, remembered);
    assert!(marked.contains(&11));
    assert!(!played.shown("Long road", 99).contains_key("character-Zora"));
}

#[test]
fn what_a_newer_forklore_decided_is_not_written_over() {
    for theirs in [json!({"version": 2, "on": true}), json!({"inputs": 7}), json!("x")] {
        let vault =
            TestVault::new().chat("Mara", "Long road", &json!({"forklore_memory": theirs}), &["Hello"]);
        let played = Played::new(vault);
        let library = played.library();
        let c = library.find_chat("Long road").unwrap();
        let answers = AnswerStore::open(&played.fs).unwrap();
        assert!(matches!(survey(&library, c, &answers, &Arc::default()), Err(MemoryError::Unreadable(_))));
    }
}

#[test]
fn another_extensions_book_is_left_alone() {
    let played = Played::new(TestVault::real("lantern"));
    let library = played.library();
    let answers = AnswerStore::open(&played.fs).unwrap();
    let (c, _) =
        library.chats().find(|(_, chat)| chat.book().is_some() && chat.transcript().len() > 110).unwrap();
    let mut found = survey(&library, c, &answers, &Arc::default()).unwrap();
    let told = status(&library, &found, &answers);
    assert!(told.questions > 0 && told.tokens_in > 1000, "{told:?}");
    assert!(why(&library, &found, "nobody").is_err());
    // As if something were remembered.
    let mut known = AnswerStore::open(&played.fs).unwrap();
    while found.memory.standing.is_empty() {
        let question = found.missing(&known).next().unwrap().clone();
        let request = question.request(&found.line, &found.ways.prompts);
        let said = model::reply(&request.schema, &request.user).to_string();
        let answer = found.answer(&question, Reply::read(&question, &said).unwrap(), Provenance::default());
        known.add(answer).unwrap();
        found.compute(&known);
    }
    assert!(matches!(projection::plan(&library, &found, NOW), Err(MemoryError::Kept { .. })));
}
