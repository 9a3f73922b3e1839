//! `learn` and `resolve`: what happened in one branch comes along into another, and what the two do not agree on waits.

use std::fs;

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;

pub(crate) fn entry(uid: i64, title: &str, text: &str) -> Value {
    json!({"uid": uid, "comment": title, "content": text, "key": [title], "order": 100, "disable": false, "depth": 4})
}

/// Two branches that parted after message 2: "Rain", and "Left", each with a book of its own and its own story since.
pub(crate) fn parted() -> TestVault {
    let vault = TestVault::new().chat(
        "Ana",
        "Rain",
        &json!({"integrity": "slug", "world_info": "Lore", "variables": {"gold": "10"}}),
        &["Hello.", "Who is there?", "The rain."],
    );
    let sea = entry(0, "The sea", "It is cold.");
    let ned = entry(1, "Ned", "Ned is a sailor.\nHe owes Ada.");
    let tern = entry(2, "Tern", "A town.");
    let book = json!({"entries": {"0": sea, "1": ned, "2": tern}, "name": "Lore"});
    vault.write("worlds/Lore.json", book.to_string().as_bytes());
    ok(&vault, &["branch", "Rain", "--name", "Left"]);
    say(&vault, "Rain", &["A one.", "A two."]);
    say(&vault, "Left", &["B one.", "B two.", "B three."]);
    change(&vault, "Lore - Left", |book| {
        book["1"]["content"] = json!("Ned is a smuggler.\nHe owes Ada.\n- hides in the mill");
        book["3"] = entry(3, "Bo", "Bo is a thief.");
        book["2"]["depth"] = json!(2);
        book["0"]["content"] = json!("It is cold.\nIt is deep.");
    });
    change(&vault, "Lore", |book| {
        book["1"]["content"] = json!("Ned is a captain.\nHe owes Ada.");
        book["3"] = entry(3, "The Heron", "A ship.");
        book["2"]["depth"] = json!(3);
    });
    vault
}

pub(crate) fn ok(vault: &TestVault, args: &[&str]) -> Value {
    let answer = vault.json(FORKLORE, args);
    assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
    answer
}

pub(crate) fn refused(vault: &TestVault, args: &[&str], code: &str) {
    let before = vault.snapshot();
    let answer = vault.json(FORKLORE, args);
    assert_eq!(answer["error"]["code"], code, "{args:?}: {answer:#}");
    assert!(vault.snapshot() == before, "{args:?} changed something");
}

pub(crate) fn say(vault: &TestVault, chat: &str, texts: &[&str]) {
    let path = format!("chats/Ana/{chat}.jsonl");
    let mut lines = String::from_utf8(vault.read(&path)).unwrap();
    for text in texts {
        let message = json!({"name": "Ana", "is_user": false, "is_system": false, "send_date": text, "mes": text, "extra": {}});
        lines = format!("{}\n{message}", lines.trim_end());
    }
    vault.write(&path, lines.as_bytes());
}

pub(crate) fn change(vault: &TestVault, book: &str, edit: impl FnOnce(&mut Value)) {
    let path = format!("worlds/{book}.json");
    let mut value: Value = serde_json::from_slice(&vault.read(&path)).unwrap();
    edit(&mut value["entries"]);
    vault.write(&path, value.to_string().as_bytes());
}

pub(crate) fn entries(vault: &TestVault, book: &str) -> Vec<String> {
    let value: Value = serde_json::from_slice(&vault.read(&format!("worlds/{book}.json"))).unwrap();
    let all = value["entries"].as_object().unwrap().values();
    all.map(|e| {
        format!(
            "{} {}: {} ({})",
            e["uid"],
            e["comment"].as_str().unwrap(),
            e["content"].as_str().unwrap().replace('\n', " / "),
            e["depth"]
        )
    })
    .collect()
}

pub(crate) fn text(vault: &TestVault, args: &[&str]) -> String {
    let run = vault.run(FORKLORE, args);
    assert!(run.stderr.is_empty(), "{}", run.stderr);
    // Ids of operations are of the time.
    run.stdout.lines().filter(|line| !line.contains("Take it back")).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_happened_there_comes_along() {
    let vault = parted();
    let before = vault.snapshot();
    insta::assert_snapshot!(text(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both", "--dry-run"]), @r#"
    Would make the branch Ana/Both
      from      Ana/Rain at message 4
      along     Ana/Left up to message 5
                what is new since the two parted at message 2
      lorebook  Lore - Both (5 entries)
      ~ The sea  text
      ~ Ned  text
      + Bo
      ? 2 questions wait for you; until then the lorebook says what Rain says:
        60ef34  Ned: the text says something else here and there
        8520ef  Tern: depth is 3 here, 2 there
    "#);
    assert!(vault.snapshot() == before, "a plan changes nothing");
    let report = ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    assert_eq!(report["chat"], "Ana/Both");
    assert_eq!(report["base"], json!({"kind": "parted", "message": 2}));
    insta::assert_snapshot!(entries(&vault, "Lore - Both").join("\n"), @r#"
    0 The sea: It is cold. / It is deep. (4)
    1 Ned: Ned is a captain. / He owes Ada. / - hides in the mill (4)
    2 Tern: A town. (3)
    3 The Heron: A ship. (4)
    4 Bo: Bo is a thief. (4)
    "#);
    // Both parents stay as they were, but for the link on the message.
    for file in ["worlds/Lore.json", "worlds/Lore - Left.json", "chats/Ana/Left.jsonl"] {
        let was = before.iter().find(|(name, _)| name == file).unwrap();
        assert_eq!(vault.read(file), was.1, "{file}");
    }
    insta::assert_snapshot!(text(&vault, &["tree"]), @r#"
    Ana  3 chats, 2 forks
    ● Rain                             5 msg                      own book
    ├───2─ ◆ Left                      6 msg                      own book
    └───4─ ◆ Both                      5 msg                      own book
             ⤷ knows what happened in Left until 5; 2 questions open
    "#);
    insta::assert_snapshot!(text(&vault, &["check"]), @r#"
    info Two branches do not agree  CONFLICT_OPEN
      Ana/Both
        "Left" was brought along, and 2 questions are still open: "Ned", "Tern". The lorebook has this
        chat's own words meanwhile.
      → Run `forklore resolve CHAT` to see both sides and to answer; nothing waits for it.
    
    Every change is whole or not at all, also if the power goes, and no save of SillyTavern's is lost.

    ✓ Checked 3 chats: no errors, no warnings (1 worth knowing).
    "#);
    insta::assert_snapshot!(text(&vault, &["resolve", "Both"]), @r#"
    Ana/Both  2 questions are open
    60ef34  Ned: the text says something else here and there
      before  Ned is a sailor.
              He owes Ada.
      ours    Ned is a captain.
              He owes Ada.
      theirs  Ned is a smuggler.
              He owes Ada.
              - hides in the mill
    8520ef  Tern: depth is 3 here, 2 there
      before  not known
      ours    3
      theirs  2
    Theirs is "Left". Answer with: forklore resolve CHAT ID --keep ours, theirs or both, or --text "…"
    "#);
    let tree = ok(&vault, &["tree"]);
    let both =
        tree["stories"][0]["chats"].as_array().unwrap().iter().find(|c| c["chat"] == "Ana/Both").unwrap();
    assert_eq!(both["learnt"], json!({"chat": "Ana/Left", "name": "Left", "message": 5, "conflicts": 2}));
    // The state of the new chat from its first message on is what was brought together; before, it is what the line had.
    say(&vault, "Both", &["C one."]);
    let titles = |at: &str| {
        let shown = ok(&vault, &["show", "Both", "--at", at]);
        let all = shown["book"]["entries"].as_array().unwrap().clone();
        all.iter().map(|e| e["comment"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles("4"), ["The sea", "Ned", "Tern", "The Heron", "Bo"]);
    assert!(!titles("3").contains(&"Bo".to_owned()));
    let undone = vault.json(FORKLORE, &["undo"]);
    assert_eq!(undone["error"]["code"], "MOVED_ON", "{undone:#}");
}

#[test]
fn undo_takes_every_byte_back() {
    let vault = parted();
    let ours = |vault: &TestVault| -> Vec<_> {
        vault.snapshot().into_iter().filter(|(name, _)| !name.starts_with(".forklore")).collect()
    };
    let before = ours(&vault);
    ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    let learnt = ours(&vault);
    let open = ok(&vault, &["resolve", "Both"]);
    let id = open["open"][0]["id"].as_str().unwrap().to_owned();
    refused(&vault, &["resolve", "Both", &id, "--keep", "both"], "NOT_CONFIRMED");
    ok(&vault, &["resolve", "Both", &id, "--keep", "both", "--yes"]);
    assert_eq!(ok(&vault, &["resolve", "Both"])["open"].as_array().unwrap().len(), 1);
    ok(&vault, &["undo"]);
    assert!(ours(&vault) == learnt);
    ok(&vault, &["undo"]);
    assert!(ours(&vault) == before);
}

#[test]
fn again_there_is_only_what_is_new() {
    let vault = parted();
    ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    let before = vault.snapshot();
    insta::assert_snapshot!(text(&vault, &["learn", "Both", "--from", "Left"]), @r#""Left" has learnt nothing that "Both" does not know."#);
    assert!(vault.snapshot() == before);
    say(&vault, "Left", &["B four."]);
    change(&vault, "Lore - Left", |book| book["3"]["content"] = json!("Bo is a thief.\nShe limps."));
    let report = ok(&vault, &["learn", "Both", "--from", "Left", "--name", "Again"]);
    assert_eq!(report["base"], json!({"kind": "merged", "message": 5}));
    assert_eq!(report["taken"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["conflicts"], json!([]));
    assert!(entries(&vault, "Lore - Again").contains(&"4 Bo: Bo is a thief. / She limps. (4)".to_owned()));
    // The other way round there is what the first one had of its own.
    let back = ok(&vault, &["learn", "Left", "--from", "Both", "--name", "Back"]);
    assert_eq!(back["base"]["kind"], "merged");
    assert!(entries(&vault, "Lore - Back").iter().any(|e| e.contains("The Heron")), "{back:#}");
}

#[test]
fn answers_change_what_they_are_about() {
    let vault = parted();
    ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    let open = ok(&vault, &["resolve", "Both"])["open"].as_array().unwrap().clone();
    let id =
        |field: &str| open.iter().find(|c| c["field"] == field).unwrap()["id"].as_str().unwrap().to_owned();
    refused(&vault, &["resolve", "Both", &id("depth"), "--keep", "both"], "USAGE");
    refused(&vault, &["resolve", "Both", "zzz", "--keep", "ours"], "CONFLICT_NOT_FOUND");
    refused(&vault, &["resolve", "Rain"], "CONFLICT_NOT_FOUND");
    ok(&vault, &["resolve", "Both", &id("depth"), "--keep", "theirs", "--yes"]);
    let book = |vault: &TestVault| ok(vault, &["show", "Both"])["book"]["name"].as_str().unwrap().to_owned();
    assert!(entries(&vault, &book(&vault)).contains(&"2 Tern: A town. (2)".to_owned()));
    // What somebody wrote since is not overwritten.
    change(&vault, &book(&vault), |book| book["1"]["content"] = json!("Ned is dead."));
    refused(&vault, &["resolve", "Both", &id("content"), "--keep", "theirs", "--yes"], "MOVED_ON");
    ok(&vault, &["resolve", "Both", &id("content"), "--keep", "ours"]);
    assert!(entries(&vault, &book(&vault)).contains(&"1 Ned: Ned is dead. (4)".to_owned()));
    let found = ok(&vault, &["check"]);
    assert!(!found.to_string().contains("CONFLICT_OPEN"), "{found:#}");
    assert!(fs::exists(vault.root().join("worlds/Lore.json")).unwrap());
}

/// Work that waits in a lorebook would be lost with it: an answer that makes a new one waits, as `restore` does.
#[test]
fn regression_an_answer_does_not_lose_work_that_waits() {
    let vault = parted();
    ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    let queue =
        json!({"queue": [{"id": "op_1", "type": "detect_scene_break", "status": "pending"}], "version": 1});
    change(&vault, "Lore - Both", |book| book["99"] = entry(99, "__operation_queue", &queue.to_string()));
    let open = ok(&vault, &["resolve", "Both"])["open"].as_array().unwrap().clone();
    let id = open.iter().find(|c| c["field"] == "depth").unwrap()["id"].as_str().unwrap();
    refused(&vault, &["resolve", "Both", id, "--keep", "theirs", "--yes"], "QUEUE_NOT_EMPTY");
    // What only closes a question leaves the lorebook where it is.
    ok(&vault, &["resolve", "Both", id, "--keep", "ours"]);
}

#[test]
fn regression_an_id_that_several_questions_begin_with_answers_none() {
    let vault = parted();
    ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    refused(&vault, &["resolve", "Both", "", "--keep", "ours"], "USAGE");
}

/// A setting that somebody changes in the parent after the fork, at the very message where they part, is none of the fork's.
#[test]
fn regression_a_setting_that_is_changed_above_later_is_not_the_forks() {
    let vault = TestVault::new().chat(
        "Ana",
        "Rain",
        &json!({"integrity": "slug", "world_info": "Lore"}),
        &["Hello.", "Who is there?", "The rain."],
    );
    let book =
        json!({"entries": {"0": entry(0, "The sea", "It is cold."), "2": entry(2, "Tern", "A town.")}});
    vault.write("worlds/Lore.json", book.to_string().as_bytes());
    ok(&vault, &["watch", "--once"]);
    ok(&vault, &["branch", "Rain", "--name", "Left"]);
    change(&vault, "Lore", |book| book["2"]["depth"] = json!(3));
    ok(&vault, &["watch", "--once"]);
    say(&vault, "Left", &["B one."]);
    ok(&vault, &["branch", "Left", "--at", "2", "--name", "Again"]);
    assert!(entries(&vault, "Lore - Again").contains(&"2 Tern: A town. (4)".to_owned()));
    // And what the parent says is the parent's.
    ok(&vault, &["branch", "Rain", "--at", "2", "--name", "Here"]);
    assert!(entries(&vault, "Lore - Here").contains(&"2 Tern: A town. (3)".to_owned()));
}
