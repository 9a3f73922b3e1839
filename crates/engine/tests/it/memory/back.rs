//! What its owner puts back into the book of a chat whose memory is kept stays: memory takes it for a decision, asks nothing, and undo
//! takes it back.

use std::collections::BTreeMap;

use forklore_config::Config;
use forklore_engine::heal::{self, Choice};
use forklore_engine::restore::{self, RestoreReport, RestoreRequest, RestoreTarget, When};
use forklore_engine::undo;
use forklore_journal::oplog::OpLog;
use forklore_vault::NoProgress;
use serde_json::{Value, json};

use super::{CHAT, Played, facts, vault};

const ROAD: &str = "Long road";
const TOLAN: &str = "character-Tolan";

fn say(played: &Played, told: &str) {
    let mut text = String::from_utf8(played.vault.read(CHAT)).unwrap();
    for i in 0..42 {
        let said = match i {
            0 => "Later, once more.".to_owned(),
            3 => format!("It is said that {told}."),
            1..12 => format!("Nothing new. Word {i}."),
            // Where it ends is only seen by what follows.
            _ => format!("Later nothing, {i}."),
        };
        let message = json!({"name": "Mara", "is_user": false, "mes": said, "extra": {}, "send_date": "2026-03-01T00:00:00.000Z"});
        text.push('\n');
        text.push_str(&message.to_string());
    }
    played.vault.write(CHAT, text.as_bytes());
    assert!(played.run(ROAD) > 0);
}

fn head(played: &Played, chat: &str) -> BTreeMap<String, String> {
    let library = played.library();
    let c = library.find_chat(chat).unwrap();
    facts(&played.shown(chat, library.chat(c).head()))
}

/// What the file of a chat's book says.
fn in_book(played: &Played, chat: &str) -> BTreeMap<String, String> {
    let library = played.library();
    let c = library.find_chat(chat).unwrap();
    let path = format!("worlds/{}.json", library.chat(c).book().unwrap().0);
    let book: Value = serde_json::from_slice(&played.vault.read(&path)).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entries = book["entries"].as_object().unwrap().values();
    facts(&entries.map(|entry| (text(&entry["comment"]), text(&entry["content"]))).collect())
}

fn restored(played: &Played, what: RestoreTarget, at: usize) -> RestoreReport {
    let library = played.library();
    let request = RestoreRequest {
        chat: ROAD.to_owned(),
        what,
        when: When::Message(at),
        name: None,
        ignore_queue: false,
    };
    let slug = forklore_engine::fresh_slug();
    let plan = restore::plan(&library, &request, &Config::default(), &slug, played.now()).unwrap();
    restore::execute(&library, plan, played.now()).unwrap()
}

fn undone(played: &Played) {
    let library = played.library();
    let plan = undo::plan(&library, &OpLog::read(&*played.fs).unwrap(), None, false).unwrap();
    undo::execute(&library, plan, played.now()).unwrap();
}

fn files(played: &Played) -> Vec<(String, Vec<u8>)> {
    played.vault.snapshot().into_iter().filter(|(name, _)| !name.starts_with(".forklore")).collect()
}

/// A story in which Tolan has moved.
fn moved() -> Played {
    let played = Played::new(vault(60));
    played.run(ROAD);
    say(&played, "by now Tolan lives in house 78");
    let tolan = &head(&played, ROAD)[TOLAN];
    assert!(tolan.contains("house 78") && !tolan.contains("house 3"), "{tolan}");
    played
}

#[test]
fn regression_an_entry_that_was_put_back_is_not_written_over() {
    let played = moved();
    let then = played.shown(ROAD, 40)[TOLAN].clone();
    assert!(then.contains("house 3"), "{then}");
    restored(&played, RestoreTarget::Entry(TOLAN.to_owned()), 40);
    for _ in 0..2 {
        assert_eq!(head(&played, ROAD)[TOLAN], then);
        assert_eq!(played.run(ROAD), 0, "nothing is asked");
    }
    // What is learnt later takes the place of what is about the same.
    say(&played, "at last Tolan lives in house 99");
    let now = head(&played, ROAD)[TOLAN].clone();
    assert!(now.contains("house 99") && !now.contains("house 3") && !now.contains("house 78"), "{now}");
    assert!(now.contains("owes"), "the rest stays: {now}");
}

#[test]
fn undo_takes_it_back_byte_for_byte() {
    let played = moved();
    let before = files(&played);
    restored(&played, RestoreTarget::Entry(TOLAN.to_owned()), 40);
    undone(&played);
    assert!(files(&played) == before);
    assert_eq!(played.run(ROAD), 0);
    assert!(files(&played) == before, "nothing is left of it");
}

#[test]
fn an_entry_that_was_deleted_comes_back_for_good() {
    let played = moved();
    let library = played.library();
    let c = library.find_chat(ROAD).unwrap();
    let path = format!("worlds/{}.json", library.chat(c).book().unwrap().0);
    let mut book: Value = serde_json::from_slice(&played.vault.read(&path)).unwrap();
    book["entries"].as_object_mut().unwrap().retain(|_, entry| entry["comment"] != TOLAN);
    played.vault.write(&path, book.to_string().as_bytes());
    played.run(ROAD);
    assert!(!head(&played, ROAD).contains_key(TOLAN));
    let then = played.shown(ROAD, 40)[TOLAN].clone();
    restored(&played, RestoreTarget::Entry(TOLAN.to_owned()), 40);
    for _ in 0..2 {
        assert_eq!(head(&played, ROAD)[TOLAN], then);
        assert_eq!(played.run(ROAD), 0);
    }
}

#[test]
fn a_book_that_was_put_back_stays() {
    let played = moved();
    let then = facts(&played.shown(ROAD, 40));
    let now = head(&played, ROAD);
    assert!(now.len() > then.len(), "{now:#?}");
    restored(&played, RestoreTarget::Book, 40);
    for _ in 0..2 {
        assert_eq!(head(&played, ROAD), then);
        assert_eq!(played.run(ROAD), 0);
    }
}

/// A fork that was made without Forklore gets a copy of its parent's book, because somebody wants that: then it has what the parent knows.
#[test]
fn regression_a_book_that_was_chosen_as_it_is_stays() {
    let played = moved();
    let text = String::from_utf8(played.vault.read(CHAT)).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[0]["chat_metadata"]["main_chat"] = json!(ROAD);
    lines[0]["chat_metadata"]["integrity"] = json!("2");
    let fork: Vec<String> = lines.iter().take(50).map(Value::to_string).collect();
    played.vault.write("chats/Mara/Aside.jsonl", fork.join("\n").as_bytes());
    let there = in_book(&played, ROAD);
    assert!(there[TOLAN].contains("house 78"), "{there:#?}");
    let library = played.library();
    let c = library.find_chat("Aside").unwrap();
    let decide = |_: &heal::Question| Some(Choice::Copy);
    let plan = heal::plan(&library, Some(c), &Config::default(), &decide, played.now(), &NoProgress).unwrap();
    assert!(plan.report.actions.iter().any(|action| action.did.starts_with("a copy")), "{:#?}", plan.report);
    heal::execute(&library, plan, played.now()).unwrap();
    for _ in 0..2 {
        assert_eq!(in_book(&played, "Aside"), in_book(&played, ROAD));
        assert_eq!(played.run("Aside"), 0);
    }
    assert_eq!(in_book(&played, ROAD), there);
}
