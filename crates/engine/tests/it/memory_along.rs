//! What another line has learnt, brought along into a chat whose memory is kept: memory keeps it without a question, and undo takes it
//! back.

use forklore_config::Config;
use forklore_core::merge::Answer;
use forklore_engine::memory::{AnswerStore, MemoryRecord, survey, why};
use forklore_engine::merge::append::{self, AppendRequest};
use forklore_engine::merge::learn::{self, LearnReport, LearnRequest};
use forklore_engine::merge::pick::{self, PickError, PickReport, PickRequest, PickWanted};
use forklore_engine::merge::resolve::{self, ResolveRequest};
use forklore_engine::restore::When;
use forklore_engine::{check, undo};
use forklore_journal::oplog::OpLog;
use forklore_testkit::TestVault;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::memory::{Played, facts, shown_in, vault};

const ROAD: &str = "Long road";

/// Goes on in a chat.
fn say(played: &Played, chat: &str, said: &[String]) {
    let path = format!("chats/Mara/{chat}.jsonl");
    let mut text = String::from_utf8(played.vault.read(&path)).unwrap();
    for said in said {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let message = json!({"name": "Mara", "is_user": false, "mes": said, "extra": {}, "send_date": "2026-03-01T00:00:00.000Z"});
        text.push_str(&message.to_string());
    }
    played.vault.write(&path, text.as_bytes());
}

/// Scenes of twelve messages in which something is said of somebody.
fn scenes(word: &str, told: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    for (scene, told) in told.iter().enumerate() {
        for i in 0..12 {
            said.push(match i {
                0 => format!("Later, {word} {scene}."),
                3 => format!("It is said that {told}."),
                _ => format!("Nothing new. Word {word}{scene}{i}."),
            });
        }
    }
    // Where the last one ends is only seen by what follows.
    said.extend((0..30).map(|i| format!("Later nothing, {word} {i}.")));
    said
}

/// A story whose fork has learnt of Zora, and of Tolan something else.
fn parted() -> (Played, String) {
    let played = Played::new(vault(60));
    played.run(ROAD);
    let fork = played.fork(59);
    say(
        &played,
        &fork,
        &scenes(
            "there",
            &["old Zora lives in house 77", "now Tolan lives in house 78", "good Zora owes 9 coins"],
        ),
    );
    say(&played, ROAD, &scenes("here", &["the man Wim lives in house 50", "still Wim owes 5 coins"]));
    assert!(played.run(&fork) > 0 && played.run(ROAD) > 0);
    let (there, here) = (head(&played, &fork), head(&played, ROAD));
    assert!(facts(&there)["character-Zora"].contains("house 77"), "{there:#?}");
    assert!(facts(&there)["character-Tolan"].contains("house 78"), "{there:#?}");
    assert!(
        facts(&here)["character-Wim"].contains("house 50") && !here.contains_key("character-Zora"),
        "{here:#?}"
    );
    (played, fork)
}

fn head(played: &Played, chat: &str) -> std::collections::BTreeMap<String, String> {
    let library = played.library();
    let c = library.find_chat(chat).unwrap();
    played.shown(chat, library.chat(c).head())
}

fn picked(played: &Played, from: &str, what: PickWanted) -> Result<PickReport, PickError> {
    let library = played.library();
    let request = PickRequest {
        chat: ROAD.to_owned(),
        from: Some(from.to_owned()),
        when: When::Last,
        what,
        field: None,
        ignore_queue: false,
    };
    let plan = pick::plan(&library, &request, &forklore_engine::fresh_slug())?;
    pick::execute(&library, plan, played.now())
}

fn learnt(played: &Played, chat: &str, from: &str) -> LearnReport {
    let library = played.library();
    let request = LearnRequest {
        chat: chat.to_owned(),
        from: from.to_owned(),
        name: Some("Both".to_owned()),
        ..LearnRequest::default()
    };
    let slug = forklore_engine::fresh_slug();
    let plan = learn::plan(&library, &request, &Config::default(), &slug, played.now()).unwrap();
    learn::execute(&library, plan, played.now()).unwrap()
}

fn undone(played: &Played) {
    let library = played.library();
    let log = OpLog::read(&*played.fs).unwrap();
    let plan = undo::plan(&library, &log, None, false).unwrap();
    undo::execute(&library, plan, played.now()).unwrap();
}

/// All files but Forklore's own.
fn files(played: &Played) -> Vec<(String, Vec<u8>)> {
    played.vault.snapshot().into_iter().filter(|(name, _)| !name.starts_with(".forklore")).collect()
}

fn healthy(played: &Played) {
    let found = serde_json::to_value(check::check(&played.library(), None, 0)).unwrap();
    assert_eq!(found["ok"], true, "{found:#}");
}

/// The titles of a chat's book as its file has them.
fn titles(played: &Played, chat: &str) -> Vec<String> {
    let library = played.library();
    let c = library.find_chat(chat).unwrap();
    let (name, _) = library.chat(c).book().unwrap();
    let book: Value = serde_json::from_slice(&played.vault.read(&format!("worlds/{name}.json"))).unwrap();
    let mut titles: Vec<String> = book["entries"]
        .as_object()
        .unwrap()
        .values()
        .map(|e| e["comment"].as_str().unwrap().to_owned())
        .collect();
    titles.sort();
    titles
}

/// Where the lines of an entry come from.
fn sources(played: &Played, chat: &str, entry: &str) -> Vec<(String, &'static str)> {
    let library = played.library();
    let answers = AnswerStore::open(&played.fs).unwrap();
    let found = survey(&library, library.find_chat(chat).unwrap(), &answers, &Arc::default()).unwrap();
    why(&library, &found, entry).unwrap().lines.into_iter().map(|line| (line.text, line.from)).collect()
}

#[test]
fn what_is_picked_stays_without_a_question() {
    let (played, fork) = parted();
    let before = files(&played);
    let there = head(&played, &fork);
    picked(&played, &fork, PickWanted::Entry("character-Zora".to_owned())).unwrap();
    for chosen in ["character-Zora", "character-Tolan"] {
        if chosen == "character-Tolan" {
            picked(&played, &fork, PickWanted::Entry(chosen.to_owned())).unwrap();
        }
        assert_eq!(head(&played, ROAD)[chosen], there[chosen]);
        assert_eq!(played.run(ROAD), 0, "nothing is asked");
        assert_eq!(head(&played, ROAD)[chosen], there[chosen], "it is still there");
    }
    let titles = titles(&played, ROAD);
    let distinct: std::collections::BTreeSet<&String> = titles.iter().collect();
    assert_eq!(distinct.len(), titles.len(), "nothing is there twice: {titles:?}");
    healthy(&played);
    assert!(sources(&played, ROAD, "Zora").iter().all(|(_, from)| *from == "elsewhere"));
    // The story goes on: what is learnt later takes the place of what was brought along.
    say(&played, ROAD, &scenes("further", &["by now Zora lives in house 99"]));
    played.run(ROAD);
    let zora = &head(&played, ROAD)["character-Zora"];
    assert!(zora.contains("house 99") && zora.contains("9 coins") && !zora.contains("house 77"), "{zora}");
    assert_ne!(files(&played), before);
}

#[test]
fn undo_takes_a_pick_back_also_from_memory() {
    let (played, fork) = parted();
    let before = files(&played);
    for chosen in ["character-Zora", "character-Tolan", "Story so far"] {
        picked(&played, &fork, PickWanted::Entry(chosen.to_owned())).unwrap();
        undone(&played);
        assert!(files(&played) == before, "{chosen}");
    }
    assert_eq!(played.run(ROAD), 0);
    assert!(files(&played) == before, "nothing is left of it");
    // Also when memory has written since.
    picked(&played, &fork, PickWanted::Entry("character-Zora".to_owned())).unwrap();
    played.run(ROAD);
    while head(&played, ROAD).contains_key("character-Zora") {
        undone(&played);
    }
    assert_eq!(played.run(ROAD), 0);
    assert!(!head(&played, ROAD).contains_key("character-Zora"));
}

#[test]
fn the_recap_of_another_line_is_an_entry_beside_the_own_one() {
    let (played, fork) = parted();
    let own = head(&played, ROAD)["Story so far"].clone();
    let there = head(&played, &fork)["Story so far"].clone();
    picked(&played, &fork, PickWanted::Entry("Story so far".to_owned())).unwrap();
    picked(&played, &fork, PickWanted::Recap(2)).unwrap();
    assert!(matches!(picked(&played, &fork, PickWanted::Recap(2)), Err(PickError::Same(_))));
    assert_eq!(played.run(ROAD), 0);
    let here = head(&played, ROAD);
    assert_eq!(here["Story so far"], own);
    assert_eq!(here[&format!("From {fork}: Story so far")], there);
    assert!(here.contains_key(&format!("From {fork}: running recap 2")), "{:?}", here.keys());
}

#[test]
fn what_is_brought_along_stays_without_a_question() {
    let (played, fork) = parted();
    let before = files(&played);
    let (here, there) = (head(&played, ROAD), head(&played, &fork));
    let report = learnt(&played, ROAD, &fork);
    assert!(report.conflicts.is_empty(), "{:#?}", report.conflicts);
    let titles_of = |report: &LearnReport| report.taken.iter().map(|t| t.title.clone()).collect::<Vec<_>>();
    assert_eq!(titles_of(&report), ["character-Tolan", "character-Zora"]);
    for _ in 0..2 {
        let both = facts(&head(&played, "Both"));
        assert_eq!(both["character-Zora"], there["character-Zora"]);
        assert_eq!(both["character-Tolan"], there["character-Tolan"]);
        assert_eq!(both["character-Wim"], here["character-Wim"]);
        assert_eq!(head(&played, "Both")["Story so far"], here["Story so far"]);
        assert_eq!(played.run("Both"), 0, "nothing is asked");
    }
    let titles = titles(&played, "Both");
    let distinct: std::collections::BTreeSet<&String> = titles.iter().collect();
    assert_eq!(distinct.len(), titles.len(), "nothing is there twice: {titles:?}");
    healthy(&played);
    // Again there is nothing to bring along.
    let again = learnt(&played, "Both", &fork);
    assert!(again.chat.is_none() && again.conflicts.is_empty(), "{again:#?}");
    while files(&played).iter().any(|(name, _)| name.contains("Both")) {
        undone(&played);
    }
    assert!(files(&played) == before);
}

#[test]
fn an_answer_is_what_memory_says() {
    let (played, fork) = parted();
    // Both have learnt where Tolan lives; a person has deleted Ilse here, and she was met again there.
    say(&played, ROAD, &scenes("again here", &["today Tolan lives in house 51"]));
    say(&played, &fork, &scenes("again there", &["today Ilse lives in house 52"]));
    played.run(ROAD);
    played.run(&fork);
    let library = played.library();
    let c = library.find_chat(ROAD).unwrap();
    let path = format!("worlds/{}.json", library.chat(c).book().unwrap().0);
    let mut book: Value = serde_json::from_slice(&played.vault.read(&path)).unwrap();
    book["entries"].as_object_mut().unwrap().retain(|_, entry| entry["comment"] != "character-Ilse");
    played.vault.write(&path, book.to_string().as_bytes());
    played.run(ROAD);
    assert!(!head(&played, ROAD).contains_key("character-Ilse"));
    let report = learnt(&played, ROAD, &fork);
    let mut asked: Vec<&str> = report.conflicts.iter().map(|one| one.title.as_str()).collect();
    asked.sort_unstable();
    assert_eq!(asked, ["character-Ilse", "character-Tolan"], "{:#?}", report.conflicts);
    assert_eq!(played.run("Both"), 0);
    let both = head(&played, "Both");
    assert!(both["character-Ilse"].contains("house 52") && both["character-Tolan"].contains("house 51"));
    for (title, answer) in [("character-Ilse", Answer::A), ("character-Tolan", Answer::B)] {
        let library = played.library();
        let id = report.conflicts.iter().find(|one| one.title == title).unwrap().id.clone();
        let request = ResolveRequest {
            chat: "Both".to_owned(),
            id: Some(id),
            answer: Some(answer),
            ignore_queue: false,
        };
        let plan = resolve::plan(&library, &request, &forklore_engine::fresh_slug()).unwrap();
        resolve::execute(&library, plan, played.now()).unwrap();
        assert_eq!(played.run("Both"), 0);
    }
    let both = head(&played, "Both");
    assert!(!both.contains_key("character-Ilse"), "{both:#?}");
    assert!(both["character-Tolan"].contains("house 78") && !both["character-Tolan"].contains("house 51"));
    healthy(&played);
}

/// Where no memory is kept, what comes along from a chat with memory is the owner's: no list, no mark.
#[test]
fn a_chat_without_memory_gets_entries_and_nothing_else() {
    let texts: Vec<String> = (0..3).map(|i| format!("Hello {i}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let played = Played::new(vault(60).chat("Mara", "Plain", &json!({"integrity": "p"}), &texts));
    played.run(ROAD);
    let report = learnt(&played, "Plain", ROAD);
    assert!(report.chat.is_some() && report.conflicts.is_empty());
    let both = titles(&played, "Both");
    assert!(both.iter().all(|title| title.starts_with("character-")), "{both:?}");
    let library = played.library();
    let c = library.find_chat("Both").unwrap();
    let name = library.chat(c).book().unwrap().0.to_owned();
    let bytes = played.vault.read(&format!("worlds/{name}.json"));
    assert!(!String::from_utf8(bytes).unwrap().contains("forklore_memory"));
    assert!(MemoryRecord::of(library.chat(c).header()).is_none());
    // Memory can be kept of it from now on.
    let answers = AnswerStore::open(&played.fs).unwrap();
    let found = survey(&library, c, &answers, &Arc::default()).unwrap();
    forklore_engine::memory::projection::allowed(&library, &found).unwrap();
}

/// What an extension has learnt comes into a memory that is Forklore's own.
#[test]
fn what_an_extension_has_learnt_stays_too() {
    let texts: Vec<String> = (0..3).map(|i| format!("Hello {i}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vault: TestVault =
        vault(60).chat("Mara", "Recapped", &json!({"integrity": "r", "world_info": "z-AutoLB"}), &texts);
    let entries = json!({"entries": {
        "7": {"uid": 7, "comment": "character-Zora", "content": "Zora sings.", "key": ["zora", "the singer"]},
        "8": {"uid": 8, "comment": "_registry_character", "content": "[Registry: character]\n- UID=7 | name: character-Zora | aliases: — | synopsis: sings", "key": []},
    }, "name": "z-AutoLB"});
    vault.write("worlds/z-AutoLB.json", entries.to_string().as_bytes());
    let played = Played::new(vault);
    played.run(ROAD);
    picked(&played, "Recapped", PickWanted::Entry("character-Zora".to_owned())).unwrap();
    assert_eq!(played.run(ROAD), 0);
    assert_eq!(head(&played, ROAD)["character-Zora"], "Zora sings.");
    assert_eq!(titles(&played, ROAD).iter().filter(|title| *title == "character-Zora").count(), 1);
    say(&played, ROAD, &scenes("further", &["by now Zora lives in house 99"]));
    played.run(ROAD);
    let zora = &head(&played, ROAD)["character-Zora"];
    assert!(zora.starts_with("Zora sings.") && zora.contains("house 99"), "{zora}");
    healthy(&played);
}

/// Both lines' messages, one after the other.
fn appended(played: &Played, chat: &str, from: &str) {
    let library = played.library();
    let request = AppendRequest {
        chat: chat.to_owned(),
        from: from.to_owned(),
        name: Some("One story".to_owned()),
        ..AppendRequest::default()
    };
    let slug = forklore_engine::fresh_slug();
    let plan = append::plan(&library, &request, &Config::default(), &slug, played.now()).unwrap();
    append::execute(&library, plan, played.now()).unwrap();
}

/// The state at every message of a chat.
fn all(played: &Played, chat: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let library = played.library();
    let c = library.find_chat(chat).unwrap();
    (0..=library.chat(c).head()).map(|at| shown_in(&library, c, at)).collect()
}

#[test]
fn messages_that_follow_are_remembered_when_memory_goes_on() {
    let (played, fork) = parted();
    let (here, there) = (all(&played, ROAD), all(&played, &fork));
    appended(&played, ROAD, &fork);
    let knew = here.last().unwrap();
    let before = all(&played, "One story");
    assert!(before[here.len()..].iter().all(|state| facts(state) == facts(knew)));
    played.run("One story");
    let after = all(&played, "One story");
    assert_eq!(after.len(), before.len());
    for (at, (was, is)) in before.iter().zip(&after).enumerate().take(here.len() - 1) {
        assert_eq!(facts(was), facts(is), "at {at}");
    }
    let zora = |state: &&std::collections::BTreeMap<String, String>| state.contains_key("character-Zora");
    let first = after.iter().position(|state| zora(&state)).unwrap();
    assert!(first >= here.len() && first + 1 < after.len(), "known from {first} of {}", after.len());
    assert!(after[first..].iter().all(|state| zora(&state)), "what memory has written stays");
    assert_eq!(played.run("One story"), 0);
    assert_eq!((all(&played, ROAD), all(&played, &fork)), (here, there), "nobody else's past changes");
    healthy(&played);
}

/// Healing writes a record anew, with its own time. What came when stays what it was.
#[test]
fn regression_a_record_that_healing_wrote_changes_nothing_of_when_messages_came() {
    let (played, fork) = parted();
    appended(&played, ROAD, &fork);
    played.run("One story");
    let zora = || -> Vec<bool> {
        all(&played, "One story").iter().map(|state| state.contains_key("character-Zora")).collect()
    };
    let before = zora();
    let path = "chats/Mara/One story.jsonl";
    let text = String::from_utf8(played.vault.read(path)).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header["chat_metadata"]["forklore"]["created"] = json!(played.now() + 1_000_000);
    header["chat_metadata"]["forklore"]["adopted"] = json!(true);
    played.vault.write(path, format!("{header}\n{rest}").as_bytes());
    assert_eq!(zora(), before);
}
