//! A vault in memory with strange files in it, and what a user would do there.

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::check::check;
use forklore_engine::fork::{self, ForkRequest};
use forklore_engine::show::show;
use forklore_engine::stories::stories;
use forklore_engine::tree::tree;
use forklore_engine::{heal, undo};
use forklore_fs::{NodeKind, SimFs, VaultPath, Vfs};
use forklore_journal::oplog::OpLog;
use forklore_vault::{ChatIx, Library, NoProgress};

pub(crate) const NOW: i64 = 1_800_000_000_000;

pub(crate) fn path(text: &str) -> VaultPath {
    VaultPath::new(text).unwrap()
}

/// A chat with two scenes of Auto-Recap would be too large to change much of it: this one has what such a chat has, in small.
pub(crate) const CHAT: &[u8] = br#"{"chat_metadata":{"integrity":"a","world_info":"B","auto_recap_running_scene_recaps":{"chat_id":"main","current_version":0,"versions":[{"version":0,"content":"x","new_scene_index":1}]},"variables":{"n":1}},"user_name":"unused","character_name":"unused"}
{"name":"Ana","is_user":false,"is_system":false,"send_date":"2026-01-01T00:00:00.000Z","mes":"hello","extra":{}}
{"name":"Me","is_user":true,"is_system":false,"send_date":"2026-01-01T00:00:01.000Z","mes":"one","extra":{"auto_recap_memory":{"scene_break":true,"scene_break_visible":true,"scene_recap_memory":"{\"recap\":\"r\"}"}}}
{"name":"Ana","is_user":false,"is_system":false,"send_date":"2026-01-01T00:00:02.000Z","mes":"two","swipes":["two","deux"],"swipe_id":0,"extra":{}}"#;

/// A book with a registry.
pub(crate) const BOOK: &[u8] = br#"{"entries":{"0":{"uid":0,"key":["a"],"comment":"_registry_character","content":"[Registry: character]\n- UID=1 | name: Ana | aliases: A; B | synopsis: A girl"},"1":{"uid":1,"key":[],"comment":"character-Ana","content":"A girl","disable":false}}}"#;

/// A vault with one story, some of whose files are others.
pub(crate) fn vault(others: &[(&str, &[u8])]) -> Arc<SimFs> {
    let fs = SimFs::new();
    let usual: [(&str, &[u8]); 4] = [
        ("chats/Ana/main.jsonl", CHAT),
        ("worlds/B.json", BOOK),
        (
            "groups/1.json",
            br#"{"id":"1","name":"Band","members":["Ana.png"],"chat_id":"100","chats":["100"]}"#,
        ),
        ("settings.json", b"{}"),
    ];
    for (name, bytes) in usual.iter().chain(others) {
        fs.put(&path(name), bytes);
    }
    Arc::new(fs)
}

/// Every file that is not Forklore's own.
fn files(fs: &dyn Vfs) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![VaultPath::root()];
    while let Some(dir) = todo.pop() {
        for node in fs.list(&dir).unwrap() {
            let at = dir.join(&node.name).unwrap();
            match node.kind {
                NodeKind::Dir if node.name != ".forklore" => todo.push(at),
                NodeKind::File => {
                    found.insert(at.as_str().to_owned(), fs.read(&at).unwrap().unwrap());
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether the files are what they were. An object that a change had to make may stay behind, empty.
fn is_as_before(now: &BTreeMap<String, Vec<u8>>, before: &BTreeMap<String, Vec<u8>>) -> bool {
    let plain = |bytes: &Vec<u8>| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let empty = [r#","extra":{}"#, r#","chat_metadata":{}"#, r#""extra":{}"#, r#""chat_metadata":{}"#];
        empty.iter().fold(text, |text, empty| text.replace(empty, ""))
    };
    now.keys().eq(before.keys())
        && now.iter().all(|(name, bytes)| *bytes == before[name] || plain(bytes) == plain(&before[name]))
}

/// Looks at everything; forks and takes the fork back, after which every byte is as before; heals and takes that back.
pub(crate) fn play(fs: &Arc<SimFs>) {
    let shared: Arc<dyn Vfs> = fs.clone();
    let load = || Library::load(shared.clone(), &NoProgress).ok();
    let Some(library) = load() else { return };
    let findings = check(&library, None, NOW).findings;
    stories(&library, &findings);
    let _seen = tree(&library, None, &findings);
    for (c, chat) in library.chats().take(2) {
        let messages = chat.transcript().len();
        for at in [None, Some(0), Some(messages / 2), Some(messages)] {
            let _shown = show(&library, c, at);
        }
    }
    let before = files(&**fs);
    for (c, chat) in library.chats().take(2) {
        let messages = chat.transcript().len();
        for (at, swipe) in
            [(messages.saturating_sub(1), None), (messages / 2, None), (messages.saturating_sub(1), Some(1))]
        {
            if !fork_and_back(&shared, c, at, swipe) {
                return;
            }
            assert!(is_as_before(&files(&**fs), &before), "a fork of chat {c} at {at} was not taken back");
        }
    }
    let Some(library) = load() else { return };
    let choose = |_: &heal::Question| Some(heal::Choice::Rebuild);
    let Ok(plan) = heal::plan(&library, None, &Config::default(), &choose, NOW, &NoProgress) else { return };
    if let Ok(report) = heal::execute(&library, plan, NOW)
        && let Some(id) = report.operation
    {
        let undone = take_back(&shared, &id);
        assert!(!undone || is_as_before(&files(&**fs), &before), "healing was not taken back");
    }
}

/// Says whether everything should be as before.
fn fork_and_back(fs: &Arc<dyn Vfs>, chat: ChatIx, at: usize, swipe: Option<usize>) -> bool {
    let Ok(library) = Library::load(fs.clone(), &NoProgress) else { return true };
    let request = ForkRequest {
        kind: Some(ForkKind::Checkpoint),
        at: Some(at),
        name: Some("Fork".to_owned()),
        swipe,
        ignore_queue: true,
        copy_book: true,
        ..ForkRequest::of(library.address(chat).to_string())
    };
    let Ok(plan) = fork::plan(&library, &request, &Config::default(), "fresh", NOW) else { return true };
    let Ok(report) = fork::execute(&library, plan, NOW) else { return true };
    // What was made can be read.
    let made = Library::load(fs.clone(), &NoProgress).unwrap();
    let fork = made.chat_ixs().find(|c| made.address(*c).to_string() == report.chat);
    let fork = fork.unwrap_or_else(|| panic!("{} is not there", report.chat));
    assert_eq!(made.chat(fork).transcript().len(), at + 1, "it has the messages up to {at}");
    let _findings = check(&made, Some(fork), NOW);
    take_back(fs, &report.operation.unwrap())
}

/// Says whether it could be.
fn take_back(fs: &Arc<dyn Vfs>, id: &str) -> bool {
    let library = Library::load(fs.clone(), &NoProgress).unwrap();
    let log = OpLog::read(&**fs).unwrap();
    let plan = match undo::plan(&library, &log, Some(id), false) {
        Ok(plan) => plan,
        // What cannot be read may refer to anything.
        Err(e) if e.to_string().contains("cannot be read") => return false,
        Err(e) => panic!("{id} cannot be undone: {e}"),
    };
    undo::execute(&library, plan, NOW + 1).unwrap_or_else(|e| panic!("{id} was not undone: {e}"));
    true
}
