//! `append`, `pick` and `adopt`: messages, single things and the mark of the story, from one branch to another.

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::merge::{change, entries, entry, ok, parted, refused, say, text};

fn ours(vault: &TestVault) -> Vec<(String, Vec<u8>)> {
    vault.snapshot().into_iter().filter(|(name, _)| !name.starts_with(".forklore")).collect()
}

fn header(vault: &TestVault, chat: &str) -> Value {
    let bytes = vault.read(&format!("chats/Ana/{chat}.jsonl"));
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap();
    serde_json::from_slice::<Value>(line).unwrap()["chat_metadata"].clone()
}

fn set(vault: &TestVault, chat: &str, edit: impl FnOnce(&mut Value)) {
    let path = format!("chats/Ana/{chat}.jsonl");
    let all = String::from_utf8(vault.read(&path)).unwrap();
    let (first, rest) = all.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(first).unwrap();
    edit(&mut header["chat_metadata"]);
    vault.write(&path, format!("{header}\n{rest}").as_bytes());
}

fn messages(vault: &TestVault, chat: &str) -> Vec<String> {
    let all = String::from_utf8(vault.read(&format!("chats/Ana/{chat}.jsonl"))).unwrap();
    let lines = all.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|message| message["mes"].as_str().unwrap().to_owned()).collect()
}

fn bound(vault: &TestVault, chat: &str) -> String {
    header(vault, chat)["world_info"].as_str().unwrap().to_owned()
}

#[test]
fn messages_of_another_branch_follow() {
    let vault = parted();
    let before = ours(&vault);
    insta::assert_snapshot!(text(&vault, &["append", "Rain", "--from", "Left", "--name", "Both", "--dry-run"]), @r#"
    Would make the branch Ana/Both
      from      Ana/Rain at message 4
      then      messages 3 to 5 of Ana/Left
      lorebook  Lore - Both (4 entries)
      ! Message 3 of "Left" answers message 2 there, which this chat does not have: the seam may not
        read well.
    "#);
    assert!(ours(&vault) == before, "a plan changes nothing");
    let report = ok(&vault, &["append", "Rain", "--from", "Left", "--name", "Both"]);
    assert_eq!(report["messages"], 8);
    assert_eq!(report["warnings"][0]["code"], "ANSWERS_ELSE");
    let said = ["Hello.", "Who is there?", "The rain.", "A one.", "A two.", "B one.", "B two.", "B three."];
    assert_eq!(messages(&vault, "Both"), said);
    assert_ne!(header(&vault, "Both")["integrity"], header(&vault, "Rain")["integrity"]);
    // Its lorebook is that of the chat that goes on.
    assert!(!entries(&vault, "Lore - Both").iter().any(|entry| entry.contains("Bo is a thief")));
    insta::assert_snapshot!(text(&vault, &["tree"]), @r#"
    Ana  3 chats, 2 forks
    ● Rain                             5 msg                      own book
    ├───2─ ◆ Left                      6 msg                      own book
    └───4─ ◆ Both                      8 msg                      own book
             ⤷ goes on with messages 3 to 5 of Left
    "#);
    assert_eq!(ok(&vault, &["check"])["findings"], json!([]));
    ok(&vault, &["undo"]);
    assert!(ours(&vault) == before);
}

#[test]
fn only_what_is_new_follows() {
    let vault = parted();
    let to_two =
        ok(&vault, &["append", "Rain", "--from", "Left", "--upto", "3", "--at", "2", "--name", "Short"]);
    assert_eq!(messages(&vault, "Short"), ["Hello.", "Who is there?", "The rain.", "B one."]);
    // There is no seam where the other one simply goes on.
    assert_eq!(to_two["warnings"], json!([]));
    refused(&vault, &["append", "Rain", "--from", "Rain"], "NOTHING_NEW");
    refused(&vault, &["append", "Left", "--from", "Rain", "--upto", "2"], "NOTHING_NEW");
}

#[test]
fn an_entry_is_taken_over_in_a_new_lorebook() {
    let vault = parted();
    let before = ours(&vault);
    let pick = ["pick", "Rain", "--from", "Left", "--entry", "Bo"];
    refused(&vault, &pick, "NOT_CONFIRMED");
    insta::assert_snapshot!(text(&vault, &["pick", "Rain", "--from", "Left", "--entry", "Ned", "--dry-run"]), @r#"
    Would take over the entry "Ned" into Ana/Rain
      from      Ana/Left at message 5
      lorebook  Lore - Rain
      changes   text
      before  Ned is a captain.
              He owes Ada.
      now     Ned is a smuggler.
              He owes Ada.
              - hides in the mill
    "#);
    assert!(ours(&vault) == before, "a plan changes nothing");
    let report = ok(&vault, &[&pick[..], &["--yes"]].concat());
    assert_eq!(report["did"], "added");
    let book = bound(&vault, "Rain");
    assert_ne!(book, "Lore");
    // The number was another entry's already.
    insta::assert_snapshot!(entries(&vault, &book).join("\n"), @r#"
    0 The sea: It is cold. (4)
    1 Ned: Ned is a captain. / He owes Ada. (4)
    2 Tern: A town. (3)
    3 The Heron: A ship. (4)
    4 Bo: Bo is a thief. (4)
    "#);
    refused(&vault, &[&pick[..], &["--yes"]].concat(), "NOTHING_NEW");
    ok(&vault, &["undo"]);
    assert!(ours(&vault) == before);
}

#[test]
fn a_field_is_taken_over_alone() {
    let vault = parted();
    ok(&vault, &["pick", "Rain", "--from", "Left", "--entry", "Tern", "--field", "depth", "--yes"]);
    let all = entries(&vault, &bound(&vault, "Rain"));
    assert!(all.contains(&"2 Tern: A town. (2)".to_owned()), "{all:?}");
    assert!(all.iter().any(|entry| entry.contains("Ned is a captain.")), "{all:?}");
    refused(
        &vault,
        &["pick", "Rain", "--from", "Left", "--entry", "Bo", "--field", "depth", "--yes"],
        "PICK_NOT_FOUND",
    );
    refused(&vault, &["pick", "Rain", "--from", "Left", "--entry", "Nobody", "--yes"], "ENTRY_NOT_FOUND");
}

#[test]
fn a_variable_and_the_note_are_taken_over() {
    let vault = parted();
    set(&vault, "Left", |metadata| {
        metadata["variables"]["gold"] = json!("3");
        metadata["note_prompt"] = json!("It rains.");
        metadata["note_depth"] = json!(2);
    });
    let before = ours(&vault);
    let report = ok(&vault, &["pick", "Rain", "--from", "Left", "--variable", "gold"]);
    assert_eq!((&report["before"], &report["after"]), (&json!("10"), &json!("3")));
    ok(&vault, &["pick", "Rain", "--from", "Left", "--note"]);
    let now = header(&vault, "Rain");
    assert_eq!(now["variables"], json!({"gold": "3"}));
    assert_eq!((&now["note_prompt"], &now["note_depth"]), (&json!("It rains."), &json!(2)));
    // An open page that has the old state does not write over it.
    assert_ne!(now["integrity"], "slug");
    assert_eq!(bound(&vault, "Rain"), "Lore");
    refused(&vault, &["pick", "Rain", "--from", "Left", "--note"], "NOTHING_NEW");
    refused(&vault, &["pick", "Rain", "--from", "Left", "--variable", "silver"], "PICK_NOT_FOUND");
    refused(&vault, &["pick", "Left", "--from", "Left", "--recap", "1"], "PICK_NOT_FOUND");
    refused(&vault, &["pick", "Left", "--combined-recap"], "PICK_NOT_FOUND");
    ok(&vault, &["undo"]);
    ok(&vault, &["undo"]);
    assert!(ours(&vault) == before);
}

#[test]
fn what_a_deleted_chat_had_is_taken_over() {
    let vault = parted();
    ok(&vault, &["delete", "Left"]);
    let report = ok(&vault, &["pick", "Rain", "--from", "Ana/Left", "--entry", "Bo", "--yes"]);
    assert_eq!((&report["from"], &report["at"]), (&json!("Ana/Left"), &json!(5)), "{report:#}");
    let all = entries(&vault, &bound(&vault, "Rain"));
    assert!(all.iter().any(|entry| entry.contains("Bo is a thief.")), "{all:?}");
}

#[test]
fn what_was_put_aside_is_taken_back() {
    let vault = parted();
    set(&vault, "Left", |metadata| {
        metadata["forklore"]["quarantine"] = json!([entry(9, "Mill", "A mill.")]);
    });
    ok(&vault, &["pick", "Left", "--quarantined", "mill", "--yes"]);
    let all = entries(&vault, &bound(&vault, "Left"));
    assert!(all.contains(&"9 Mill: A mill. (4)".to_owned()), "{all:?}");
    refused(&vault, &["pick", "Rain", "--quarantined", "mill", "--yes"], "PICK_NOT_FOUND");
}

#[test]
fn a_recap_is_taken_over_and_taken_back() {
    let vault = parted();
    let version = |number: i64, text: &str| json!({"version": number, "timestamp": number, "content": text, "new_scene_index": 1});
    let recaps = |current: i64, versions: Value| json!({"chat_id": "x", "current_version": current, "versions": versions});
    let key = "auto_recap_running_scene_recaps";
    set(&vault, "Rain", |metadata| metadata[key] = recaps(0, json!([version(0, "It rained.")])));
    set(&vault, "Left", |metadata| {
        metadata[key] = recaps(1, json!([version(0, "It rained."), version(1, "It poured.")]));
        metadata["forklore"]["archive"] = json!({"running": [version(5, "It snowed.")]});
    });
    let report = ok(&vault, &["pick", "Rain", "--from", "Left", "--recap", "1"]);
    assert_eq!((&report["before"], &report["after"]), (&json!("It rained."), &json!("It poured.")));
    assert_eq!(header(&vault, "Rain")[key]["current_version"], 1);
    // What was archived when the chat was forked comes back, too.
    ok(&vault, &["pick", "Left", "--recap", "5"]);
    assert_eq!(header(&vault, "Left")[key]["versions"][2]["content"], "It snowed.");
    // One that is there already is only chosen.
    ok(&vault, &["pick", "Rain", "--recap", "0"]);
    let now = header(&vault, "Rain");
    assert_eq!(
        (&now[key]["current_version"], now[key]["versions"].as_array().unwrap().len()),
        (&json!(0), 2)
    );
}

#[test]
fn one_line_is_the_story() {
    let vault = parted();
    let before = ours(&vault);
    ok(&vault, &["adopt", "Rain"]);
    let report = ok(&vault, &["adopt", "Left"]);
    assert_eq!(report["before"], json!(["Ana/Rain"]));
    insta::assert_snapshot!(text(&vault, &["tree"]), @r#"
    Ana  2 chats, 1 fork
    ● Rain                             5 msg                      own book
    └───2─ ◆ Left                      6 msg                      own book
             ★ the story goes on here
    "#);
    // A fork of the story is another line.
    ok(&vault, &["branch", "Left", "--name", "Further"]);
    ok(&vault, &["branch", "Rain", "--name", "Beside"]);
    insta::assert_snapshot!(text(&vault, &["tree"]), @r#"
    Ana  4 chats, 3 forks
    ● Rain                             5 msg                      own book
    ├───2─ ◆ Left                      6 msg                      own book
    │     │  ★ the story goes on here
    │     └───5─ ◆ Further             6 msg                      own book
    └───4─ ◆ Beside                    5 msg                      own book
    "#);
    ok(&vault, &["undo"]);
    let tree = ok(&vault, &["tree"]);
    let marked: Vec<&Value> =
        tree["stories"][0]["chats"].as_array().unwrap().iter().filter(|chat| chat["story"] == true).collect();
    assert_eq!(marked.len(), 1);
    assert_eq!(marked[0]["chat"], "Ana/Left");
    // What gives the chat another identity does not take the mark away.
    ok(&vault, &["pick", "Left", "--from", "Rain", "--entry", "The Heron", "--yes"]);
    assert_eq!(ok(&vault, &["adopt", "Left"])["files"], json!([]));
    for _ in 0..4 {
        ok(&vault, &["undo"]);
    }
    assert!(ours(&vault) == before);
}

#[test]
fn what_a_fork_was_made_without_is_taken_back() {
    let vault = parted();
    change(&vault, "Lore", |book| book["5"] = entry(5, "Fog", "Thick."));
    set(&vault, "Left", |metadata| {
        metadata["forklore"]["book"]["left_out"] =
            json!([{"uid": 5, "comment": "Fog", "lines": null, "why": "later"}]);
    });
    ok(&vault, &["pick", "Left", "--left-out", "fog", "--yes"]);
    let all = entries(&vault, &bound(&vault, "Left"));
    assert!(all.iter().any(|entry| entry.contains("Fog: Thick.")), "{all:?}");
    refused(&vault, &["pick", "Left", "--left-out", "sun", "--yes"], "PICK_NOT_FOUND");
}

#[test]
fn blame_and_history_go_through_the_second_parent() {
    let vault = parted();
    set(&vault, "Left", |metadata| {
        metadata["timedWorldInfo"] = json!({"sticky": {"Lore - Left.1": {"hash": 1, "start": 1, "end": 9}}});
    });
    let report = ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    let left = report["left"].as_array().unwrap();
    assert!(left.iter().any(|text| text.as_str().unwrap().contains("1 timed effect stays")), "{left:?}");
    let from =
        |chat: &str, entry: &str| ok(&vault, &["blame", chat, entry])["entries"][0]["from"]["chat"].clone();
    assert_eq!(from("Both", "Bo"), "Ana/Left");
    assert_eq!(from("Both", "The Heron"), Value::Null);
    // A fork of it has it from there, too.
    say(&vault, "Both", &["C one."]);
    ok(&vault, &["branch", "Both", "--name", "Further"]);
    assert_eq!(from("Further", "Bo"), "Ana/Left");
    let history = ok(&vault, &["history", "Further"]);
    assert_eq!(history["along"][0]["chat"], "Ana/Left");
    assert_eq!(history["along"][0]["message"], 5);
    // What had happened to the lore there is told among what happened here; what was only said there is not.
    let lines = |history: &Value, file: &str| -> Vec<String> {
        let lines = history["lines"].as_array().unwrap().clone();
        let there = lines.into_iter().filter(|line| line["chat"] == "Ana/Left" && line["file"] == file);
        there.map(|line| line["events"].to_string()).collect()
    };
    let told = lines(&history, "book");
    assert!(told.iter().any(|events| events.contains("\"Bo\"")), "{told:?}");
    assert!(lines(&history, "chat").is_empty(), "{history:#}");
    // Where messages follow, it is the other way round.
    ok(&vault, &["append", "Rain", "--from", "Left", "--name", "After"]);
    let after = ok(&vault, &["history", "After"]);
    assert!(lines(&after, "book").is_empty(), "{after:#}");
    assert!(!lines(&after, "chat").is_empty(), "{after:#}");
}

/// What is sticky there, and only known there, is sticky here for as many messages as are left.
#[test]
fn timed_effects_of_what_comes_along_go_on() {
    let vault = parted();
    set(&vault, "Left", |metadata| {
        let effect =
            |start: i64, end: i64| json!({"hash": 1, "start": start, "end": end, "protected": false});
        metadata["timedWorldInfo"] = json!({
            "sticky": {"Lore - Left.3": effect(4, 9), "Lore - Left.1": effect(4, 9)},
            "cooldown": {"Lore - Left.3": effect(2, 5)},
        });
    });
    let report = ok(&vault, &["learn", "Rain", "--from", "Left", "--name", "Both"]);
    let timers = header(&vault, "Both")["timedWorldInfo"].clone();
    // Bo is number 4 here; three of six messages are left of the effect, and here are five messages.
    let sticky = &timers["sticky"]["Lore - Both.4"];
    assert_eq!((&sticky["start"], &sticky["end"]), (&json!(3), &json!(8)), "{timers:#}");
    assert_ne!(sticky["hash"], 1);
    assert_eq!(timers["sticky"].as_object().unwrap().len(), 1, "{timers:#}");
    assert!(timers["cooldown"].as_object().is_none_or(serde_json::Map::is_empty), "{timers:#}");
    let left = report["left"].as_array().unwrap();
    assert!(left.iter().any(|text| text.as_str().unwrap().contains("1 timed effect stays")), "{left:?}");
}

/// Work that waited when a chat was forked is the parent's. Who wants it done here as well takes it back; it waits until somebody lets it run.
#[test]
fn work_that_was_archived_is_taken_back() {
    let vault = parted();
    let empty =
        json!({"queue": [], "current_operation_id": null, "paused": false, "version": 1, "queueVersion": 2});
    change(&vault, "Lore - Left", |book| book["99"] = entry(99, "__operation_queue", &empty.to_string()));
    let waited = json!({"queue": [
        {"id": "op_1", "type": "generate_scene_recap", "status": "in_progress", "params": {"index": 2, "lorebookName": "Lore"}},
        {"id": "op_2", "type": "generate_scene_recap", "status": "pending", "params": {"index": 40}},
    ]});
    set(&vault, "Left", |metadata| {
        metadata["forklore"]["archive"] =
            json!({"queue": waited.to_string(), "pending": {"entry_1": {"stage": "lookup"}}});
        metadata["autoLorebooks"] = json!({"pendingOps": {}});
    });
    let before = ours(&vault);
    let report = ok(&vault, &["pick", "Left", "--queue", "--yes"]);
    assert_eq!((&report["what"], &report["name"]), (&json!("queue"), &json!("1 operation")), "{report:#}");
    let codes: Vec<&Value> = report["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
    assert_eq!(codes, ["QUEUE_PAUSED", "QUEUE_IGNORED"], "{report:#}");
    let book = bound(&vault, "Left");
    let value: Value = serde_json::from_slice(&vault.read(&format!("worlds/{book}.json"))).unwrap();
    let queue: Value = serde_json::from_str(value["entries"]["99"]["content"].as_str().unwrap()).unwrap();
    assert_eq!(queue["paused"], true);
    assert_eq!(queue["queue"].as_array().unwrap().len(), 1);
    assert_eq!(queue["queue"][0]["status"], "pending");
    assert_eq!(queue["queue"][0]["params"]["lorebookName"], json!(book));
    assert_eq!(header(&vault, "Left")["autoLorebooks"]["pendingOps"]["entry_1"]["stage"], "lookup");
    ok(&vault, &["undo"]);
    assert!(ours(&vault) == before);
    refused(&vault, &["pick", "Rain", "--queue", "--yes"], "PICK_NOT_FOUND");
}

/// What no file can be called is taken off names, as SillyTavern does it; but not without a word.
#[test]
fn regression_names_are_not_cleaned_silently() {
    let vault = parted();
    let said = |args: &[&str]| {
        let report = ok(&vault, args);
        let all = report["warnings"].as_array().unwrap().clone();
        let warning = all.into_iter().find(|warning| warning["code"] == "NAME_CLEANED");
        (report["chat"].clone(), warning.map(|warning| warning["message"].as_str().unwrap().to_owned()))
    };
    let message = "It is called \"ab\": no file can be called \"a/b\"".to_owned();
    for args in [
        &["learn", "Rain", "--from", "Left", "--name", "a/b", "--dry-run"][..],
        &["append", "Rain", "--from", "Left", "--name", "a/b", "--dry-run"],
        &["branch", "Rain", "--name", "a/b", "--dry-run"],
        &["rename", "Left", "a/b", "--dry-run"],
    ] {
        assert_eq!(said(args), (json!("Ana/ab"), Some(message.clone())), "{args:?}");
    }
    assert_eq!(said(&["branch", "Rain", "--name", "ab", "--dry-run"]).1, None);
}

#[test]
fn the_past_of_a_chat_is_taken_back() {
    let vault = parted();
    ok(&vault, &["watch", "--once"]);
    change(&vault, "Lore", |book| book["0"]["content"] = json!("It is warm."));
    say(&vault, "Rain", &["A three."]);
    ok(&vault, &["watch", "--once"]);
    let report = ok(&vault, &["pick", "Rain", "--entry", "The sea", "--at", "4", "--yes"]);
    assert_eq!((&report["before"], &report["after"]), (&json!("It is warm."), &json!("It is cold.")));
    let answer = vault.json(FORKLORE, &["pick", "Rain", "--entry", "The sea", "--at", "40", "--yes"]);
    assert_eq!(answer["error"]["code"], "MESSAGE_NOT_FOUND");
}
