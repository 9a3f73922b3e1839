//! What MemoryBooks' entries tell of their own past: the text that a run replaced, what a summary switched off, what has a number now.

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_fs::{RealFs, Vfs};
use forklore_testkit::TestVault;
use forklore_vault::history::Watch;
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000_000;

/// A chat with messages up to `head`; those up to `shared` are the same in all chats.
fn chat(vault: TestVault, name: &str, metadata: &Value, shared: usize, head: usize) -> TestVault {
    let own = |i: usize| if i <= shared { format!("Message {i}") } else { format!("{name} {i}") };
    let texts: Vec<String> = (0..=head).map(own).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    vault.chat("Ana", name, metadata, &texts)
}

/// A side prompt after a run on some messages of a chat, which replaced another text.
fn run(uid: i64, name: &str, (chat, from, to): (&str, usize, usize), text: &str, prior: &str) -> Value {
    let key = name.to_lowercase();
    let mut entry = json!({"uid": uid, "comment": format!("{name} (STMB SidePrompt)"), "content": text, "key": [], "disable": false});
    entry["STMB_sidePromptRegeneration"] = json!({"version": 1, "templateKey": key, "priorContent": prior,
        "sceneStart": from, "sceneEnd": to, "chatId": chat, "runtimeMacros": {}});
    entry[format!("STMB_sp_{key}_lastMsgId")] = json!(to);
    entry
}

fn write(vault: &TestVault, name: &str, entries: &[Value]) {
    let entries: serde_json::Map<String, Value> =
        entries.iter().map(|entry| (entry["uid"].to_string(), entry.clone())).collect();
    vault.write(&format!("worlds/{name}.json"), json!({"entries": entries}).to_string().as_bytes());
}

fn look(vault: &TestVault, number: i64) {
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&vault.root()).unwrap());
    Watch::open(fs).unwrap().sweep(NOW + number * 60_000, &NoProgress).unwrap();
}

/// Texts and switches by title, at every message of a chat.
fn states(vault: &TestVault, name: &str) -> Vec<BTreeMap<String, (String, bool)>> {
    let library = Library::load(Arc::new(RealFs::new(&vault.root()).unwrap()), &NoProgress).unwrap();
    let c = library.find_chat(name).unwrap();
    let at = |message: usize| library.book_at(c, message, Wanted::default()).unwrap().entries;
    let state = |message: usize| {
        let entries = at(message);
        let told =
            entries.iter().map(|e| (&e.image, (e.image.content().into_owned(), e.image.is_disabled())));
        told.map(|(image, told)| (image.comment.to_string(), told)).collect()
    };
    (0..=library.chat(c).head()).map(state).collect()
}

fn text<'a>(state: &'a BTreeMap<String, (String, bool)>, name: &str) -> Option<&'a str> {
    state.get(&format!("{name} (STMB SidePrompt)")).map(|(text, _)| text.as_str())
}

/// Both sides of a copy have run the same side prompt twice since: each keeps one text of its own.
#[test]
fn regression_a_replaced_text_is_of_the_line_that_replaced_it() {
    let branch = "Main - Branch #1";
    let note = json!({"parentChatId": "Main", "branchChatId": branch, "completedAt": "2026-01-01T00:00:04.500Z",
        "mappings": [{"sourceName": "Lore", "copyName": "Lore Branch 1"}]});
    let copied = json!({"integrity": "b", "main_chat": "Main", "world_info": "Lore Branch 1",
        "STMemoryBooks": {"branchLorebookCopies": note}});
    let vault =
        chat(TestVault::new(), "Main", &json!({"integrity": "m", "world_info": "Lore"}), usize::MAX, 12);
    let vault = chat(vault, branch, &copied, 4, 12);
    write(&vault, "Lore", &[run(0, "Mood", ("Main", 7, 11), "Main at 11", "Main at 6")]);
    write(&vault, "Lore Branch 1", &[run(0, "Mood", (branch, 9, 11), "Branch at 11", "Branch at 8")]);
    let (main, branch) = (states(&vault, "Main"), states(&vault, branch));
    for (at, state) in main.iter().enumerate() {
        assert!(text(state, "Mood").is_none_or(|text| text.starts_with("Main")), "{at} {state:?}");
    }
    for (at, state) in branch.iter().enumerate() {
        assert!(text(state, "Mood").is_none_or(|text| text.starts_with("Branch")), "{at} {state:?}");
    }
    (6..11).for_each(|at| assert_eq!(text(&main[at], "Mood"), Some("Main at 6"), "{at}"));
    (8..11).for_each(|at| assert_eq!(text(&branch[at], "Mood"), Some("Branch at 8"), "{at}"));
    assert_eq!(text(&main[11], "Mood"), Some("Main at 11"));
    assert_eq!(text(&branch[11], "Mood"), Some("Branch at 11"));
}

/// A fork that shares the lorebook replaces what was written before it was forked: that is still the other's.
#[test]
fn regression_a_text_of_before_a_fork_that_the_fork_replaced_is_of_both() {
    let vault =
        chat(TestVault::new(), "Main", &json!({"integrity": "m", "world_info": "Lore"}), usize::MAX, 12);
    let vault =
        chat(vault, "Left", &json!({"integrity": "l", "main_chat": "Main", "world_info": "Lore"}), 8, 12);
    write(&vault, "Lore", &[run(0, "Mood", ("Left", 7, 11), "Left at 11", "Main at 6")]);
    let (main, left) = (states(&vault, "Main"), states(&vault, "Left"));
    (6..12).for_each(|at| assert_eq!(text(&main[at], "Mood"), Some("Main at 6"), "{at}"));
    (6..11).for_each(|at| assert_eq!(text(&left[at], "Mood"), Some("Main at 6"), "{at}"));
    assert_eq!(text(&left[11], "Mood"), Some("Left at 11"));
}

/// Two runs between two looks: the second keeps what the first has written.
#[test]
fn regression_a_replaced_text_is_known_between_looks() {
    let main = json!({"integrity": "m", "world_info": "Lore"});
    let vault = chat(TestVault::new(), "Main", &main, usize::MAX, 5);
    write(&vault, "Lore", &[run(0, "Mood", ("Main", 1, 4), "At 4", "")]);
    look(&vault, 0);
    let vault = chat(vault, "Main", &main, usize::MAX, 13);
    write(&vault, "Lore", &[run(0, "Mood", ("Main", 9, 12), "At 12", "At 8")]);
    look(&vault, 1);
    let states = states(&vault, "Main");
    let texts: Vec<Option<&str>> = (4..14).map(|at| text(&states[at], "Mood")).collect();
    let expected = ["At 4"; 4].into_iter().chain(["At 8"; 4]).chain(["At 12"; 2]).map(Some);
    assert_eq!(texts, expected.collect::<Vec<_>>());
}

/// A side prompt that was deleted between two looks, with its number given to another one that says much the same.
#[test]
fn regression_another_side_prompt_with_a_freed_number_is_another_thing() {
    let main = json!({"integrity": "m", "world_info": "Lore"});
    let vault = chat(TestVault::new(), "Main", &main, usize::MAX, 5);
    write(&vault, "Lore", &[run(2, "Cast", ("Main", 1, 4), "Report: the lamp is out, the door is shut", "")]);
    look(&vault, 0);
    let vault = chat(vault, "Main", &main, usize::MAX, 13);
    write(&vault, "Lore", &[run(2, "Plot", ("Main", 5, 8), "Report: the lamp is out, the door is open", "")]);
    look(&vault, 1);
    let states = states(&vault, "Main");
    assert_eq!((text(&states[4], "Cast").is_some(), text(&states[4], "Plot")), (true, None));
    (8..14).for_each(|at| assert!(text(&states[at], "Plot").is_some(), "{at} {:?}", states[at]));
    assert_eq!(text(&states[13], "Cast"), None);
}

/// MemoryBooks saves a summary, and then once more with its sources switched off: looked at in between, both belong to one message.
#[test]
fn regression_a_summary_and_its_switches_are_one_in_two_saves() {
    let main = json!({"integrity": "m", "world_info": "Lore"});
    let vault = chat(TestVault::new(), "Main", &main, usize::MAX, 9);
    let memory = |uid: usize, end: usize| {
        json!({"uid": uid, "comment": format!("{:03} - Memory", uid + 1), "content": format!("Until {end}."), "key": [],
            "disable": false, "stmemorybooks": true, "STMB_start": end - 2, "STMB_end": end, "STMB_chatId": "Main"})
    };
    let arc = json!({"uid": 2, "comment": "[ARC 001] - Both", "content": "All of it.", "key": [], "disable": false,
        "stmemorybooks": true, "stmbSummary": true, "stmbSourceEntryUids": ["0", "1"]});
    let switched = |mut entry: Value| {
        entry["disable"] = json!(true);
        entry["disabledBySummaryId"] = json!(2);
        entry
    };
    write(&vault, "Lore", &[memory(0, 2), memory(1, 6)]);
    look(&vault, 0);
    write(&vault, "Lore", &[memory(0, 2), memory(1, 6), arc.clone()]);
    look(&vault, 1);
    write(&vault, "Lore", &[switched(memory(0, 2)), switched(memory(1, 6)), arc]);
    look(&vault, 2);
    let states = states(&vault, "Main");
    for (at, state) in states.iter().enumerate() {
        let summed_up = state.contains_key("[ARC 001] - Both");
        let sources = state.iter().filter(|(title, _)| title.ends_with("Memory"));
        sources.for_each(|(title, (_, off))| assert_eq!(*off, summed_up, "{title} at {at}: {state:?}"));
    }
    assert!(states[6].contains_key("[ARC 001] - Both"), "{:?}", states[6]);
}
