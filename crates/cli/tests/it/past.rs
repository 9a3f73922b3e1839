//! `history`, `blame` and `restore`, on a vault that is watched between saves.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;

use forklore_fs::{RealFs, Vfs};
use forklore_testkit::TestVault;
use forklore_vault::NoProgress;
use forklore_vault::history::Watch;
use serde_json::{Value, json};

use crate::FORKLORE;

/// A chat as SillyTavern has it open, its book, and somebody who watches.
struct Play {
    vault: TestVault,
    watch: Watch,
    name: String,
    header: Value,
    messages: Vec<Value>,
    book: Value,
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

impl Play {
    /// A story of a few messages with a book that the user keeps.
    fn new() -> Self {
        let vault = TestVault::new();
        fs::create_dir_all(vault.root().join("chats/Ana")).unwrap();
        let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&vault.root()).unwrap());
        let watch = Watch::open(fs).unwrap();
        let header = json!({"chat_metadata": {"integrity": "slug", "world_info": "Lore", "variables": {}},
            "user_name": "unused", "character_name": "unused"});
        let book = json!({"entries": {}, "name": "Lore", "kept": [1.0, "odd"]});
        let mut play = Self { vault, watch, name: "Rain".to_owned(), header, messages: Vec::new(), book };
        play.entry(0, "The sea", "It is cold.");
        play.save_book();
        for text in ["Hello.", "Who is there?", "The rain."] {
            play.say(text);
        }
        play
    }

    fn write(&mut self, file: &str, bytes: &[u8]) {
        let target = self.vault.root().join(file);
        let new = self.vault.root().join(format!("{file}.4711"));
        fs::write(&new, bytes).unwrap();
        fs::rename(new, target).unwrap();
        self.look();
    }

    /// The watcher looks.
    fn look(&mut self) {
        let looked = self.watch.sweep(now(), &NoProgress).unwrap();
        assert!(looked.unfinished.is_empty(), "{looked:?}");
    }

    fn save(&mut self) {
        let lines: Vec<String> =
            std::iter::once(&self.header).chain(&self.messages).map(Value::to_string).collect();
        self.write(&format!("chats/Ana/{}.jsonl", self.name), lines.join("\n").as_bytes());
    }

    fn save_book(&mut self) {
        let name = self.header["chat_metadata"]["world_info"].as_str().unwrap().to_owned();
        let text = serde_json::to_vec_pretty(&self.book).unwrap();
        self.write(&format!("worlds/{name}.json"), &text);
    }

    fn say(&mut self, text: &str) {
        let n = self.messages.len();
        self.messages.push(json!({"name": "Ana", "is_user": n % 2 == 1, "is_system": false,
            "send_date": format!("day {n} {text}"), "mes": text, "extra": {}}));
        self.save();
    }

    fn entry(&mut self, uid: i64, comment: &str, content: &str) {
        self.book["entries"][uid.to_string()] = json!({"uid": uid, "comment": comment, "content": content, "key": [comment], "disable": false, "odd": 1.0});
    }

    fn chat_file(&self) -> String {
        format!("chats/Ana/{}.jsonl", self.name)
    }

    fn json(&self, args: &[&str]) -> Value {
        self.vault.json(FORKLORE, args)
    }

    fn ok(&self, args: &[&str]) -> Value {
        let answer = self.json(args);
        assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
        answer
    }

    /// Refused with this code, and nothing changed.
    fn refused(&self, args: &[&str], code: &str) -> Value {
        let before = self.vault.snapshot();
        let answer = self.json(args);
        assert_eq!(answer["error"]["code"], code, "{args:?}: {answer:#}");
        assert!(self.vault.snapshot() == before, "{args:?} changed something");
        answer
    }

    fn history(&self) -> Vec<Value> {
        self.ok(&["history", &self.name])["lines"].as_array().unwrap().clone()
    }

    /// The number of the last observation that tells of this.
    fn observation(&self, what: &str, key: &str, value: &Value) -> String {
        let lines = self.ok(&["history", &self.name, "--all"])["lines"].as_array().unwrap().clone();
        let tells = |line: &&Value| {
            line["events"]
                .as_array()
                .unwrap()
                .iter()
                .any(|event| event["what"] == what && event[key] == *value)
        };
        lines.iter().rev().find(tells).unwrap_or_else(|| panic!("{lines:#?}"))["observation"].to_string()
    }
}

/// What a line tells, in short: kinds of events with what was done.
fn told(line: &Value) -> Vec<String> {
    let part = |event: &Value| {
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match &*text("what") {
            "messages" => {
                let spans = event["messages"].as_array().unwrap().iter();
                let spans: Vec<String> = spans.map(|s| format!("{}-{}", s["from"], s["to"])).collect();
                format!("{} {}", text("did"), spans.join(" "))
            }
            "entry" => format!("{} {} {}", text("did"), text("title"), text("cause")),
            "header" => format!("{} {}", text("key"), text("did")),
            other => other.to_owned(),
        }
    };
    line["events"].as_array().unwrap().iter().map(part).collect()
}

#[test]
fn history_tells_what_happened_to_messages_header_and_book() {
    let mut play = Play::new();
    play.say("Four.");
    play.messages[1]["mes"] = json!("Who goes there?");
    play.save();
    play.messages[3]["swipes"] = json!(["Four.", "Another four."]);
    play.messages[3]["swipe_id"] = json!(1);
    play.messages[3]["mes"] = json!("Another four.");
    play.save();
    play.messages[0]["is_system"] = json!(true);
    play.save();
    play.messages.remove(2);
    play.save();
    play.header["chat_metadata"]["variables"]["mood"] = json!("low");
    play.header["chat_metadata"]["lastInContextMessageId"] = json!(2);
    play.save();
    play.entry(1, "The cat", "It is wet.");
    play.save_book();
    play.entry(0, "The sea", "It is cold.\nIt is deep.");
    play.save_book();
    play.book["entries"].as_object_mut().unwrap().remove("1");
    play.save_book();
    let lines = play.history();
    let all: Vec<Vec<String>> = lines.iter().map(told).collect();
    let expected: [&[&str]; 9] = [
        &["first_seen"],
        &["first_seen"],
        &["added 1-1 2-2 3-3"],
        &["edited 1-1"],
        &["swiped 3-3"],
        &["hidden 0-0"],
        &["deleted 2-2"],
        &["variables.mood added"],
        // Three saves of the book at one message, by one hand.
        &["removed The cat hand", "changed The sea hand"],
    ];
    assert_eq!(all, expected.iter().map(|line| line.to_vec()).collect::<Vec<_>>(), "{lines:#?}");
    // Three saves added messages; the last message of then is where the story was.
    assert_eq!((&lines[2]["saves"], &lines[2]["then"], &lines[2]["now"]), (&json!(3), &json!(3), &json!(2)));
    // What was message 3 is message 2 now.
    assert_eq!(lines[4]["events"][0]["messages"][0], json!({"from": 3, "to": 3, "now": 2}));
    assert_eq!(lines[8]["saves"], 3);
    assert_eq!(lines[8]["events"][1]["fields"], json!(["content"]));
    assert_eq!(lines[0]["by"]["kind"], "watch");

    let all = play.ok(&["history", "Rain", "--all"]);
    assert_eq!(all["lines"].as_array().unwrap().len(), 13, "{all:#}");
    let limited = play.ok(&["history", "Rain", "--limit", "2"]);
    assert_eq!(limited["lines"].as_array().unwrap()[..], lines[7..], "{limited:#}");
    assert_eq!(limited["earlier"], 9);
    let books = play.ok(&["history", "Rain", "--book"]);
    assert!(books["lines"].as_array().unwrap().iter().all(|line| line["file"] == "book"), "{books:#}");
    assert_eq!(play.ok(&["history", "Rain", "--since", "1 hour"])["lines"].as_array().unwrap().len(), 9);
    assert_eq!(play.ok(&["history", "Rain", "--since", "2999-01-01"])["lines"], json!([]));
    play.refused(&["history", "Rain", "--since", "soon"], "USAGE");

    let text = play.vault.run(FORKLORE, &["history", "Rain"]);
    for part in [
        "+ messages 1 to 3 (now 1, gone, 2), in 3 saves",
        "message 1 edited",
        "message 3 (now 2) swiped",
        "message 2 deleted",
        "variables.mood set",
        "Lore: \u{2212} The cat",
        "by hand",
    ] {
        assert!(text.stdout.contains(part), "{part:?} in\n{text}");
    }
    assert!(!text.stdout.contains("changed since"), "{text}");
    // Nobody has seen this.
    play.messages.push(json!({"name": "Ana", "mes": "unseen"}));
    let lines: Vec<String> =
        std::iter::once(&play.header).chain(&play.messages).map(Value::to_string).collect();
    play.vault.write(&play.chat_file(), lines.join("\n").as_bytes());
    assert_eq!(play.ok(&["history", "Rain"])["unseen"], true);
}

#[test]
fn history_of_a_chat_that_nobody_watched() {
    let vault = TestVault::new().chat("Ana", "Rain", &json!({"integrity": "a"}), &["hello", "one"]);
    let report = vault.json(FORKLORE, &["history", "Rain"]);
    assert_eq!((&report["lines"], &report["unseen"]), (&json!([]), &json!(true)));
    let text = vault.run(FORKLORE, &["history", "Rain"]);
    assert!(text.stdout.contains("forklore watch"), "{text}");
    for args in [&["restore", "Rain", "--when", "1d"][..], &["restore", "Rain", "--observation", "1"]] {
        assert_eq!(vault.json(FORKLORE, args)["error"]["code"], "NO_HISTORY");
    }
}

#[test]
fn history_of_a_fork_begins_in_its_parent_and_of_a_renamed_chat_with_its_old_name() {
    let mut play = Play::new();
    play.say("Four.");
    play.ok(&["branch", "Rain", "--at", "1", "--name", "Fork"]);
    play.look();
    play.say("Five.");
    let report = play.ok(&["history", "Fork"]);
    let lines = report["lines"].as_array().unwrap();
    let fork = lines.iter().position(|line| told(line) == ["forked"]).unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(
        lines[fork]["events"][0],
        json!({"what": "forked", "from": "Ana/Rain", "message": 1, "restored": null})
    );
    assert!(lines[..fork].iter().all(|line| line["chat"] == "Ana/Rain"), "{report:#}");
    // What was said in the parent after the fork, or beyond its message, is not the fork's.
    assert_eq!(told(&lines[2]), ["added 1-1"], "{report:#}");
    assert!(lines[fork..].iter().all(|line| line["chat"] == "Ana/Fork"), "{report:#}");
    let own = lines[fork + 1..].iter().find(|line| line["file"] == "chat").unwrap();
    assert_eq!((&own["by"]["kind"], &own["by"]["operation"]), (&json!("operation"), &json!("branch")));

    let chats = play.vault.root().join("chats/Ana");
    fs::rename(chats.join("Rain.jsonl"), chats.join("Drizzle.jsonl")).unwrap();
    play.name = "Drizzle".to_owned();
    play.look();
    let lines = play.history();
    assert_eq!(told(lines.last().unwrap()), ["renamed"], "{lines:#?}");
    assert_eq!(told(&lines[0]), ["first_seen"]);
}

#[test]
fn hostile_text_is_shown_harmlessly() {
    let mut play = Play::new();
    play.entry(1, "bad\u{1b}[31m\u{202e}title", "a\u{7}b\nc");
    play.save_book();
    play.header["chat_metadata"]["variables"]["x\u{1b}[2J"] = json!(1);
    play.save();
    for args in [&["history", "Rain"][..], &["blame", "Rain"], &["blame", "Rain", "1"]] {
        let text = play.vault.run(FORKLORE, args);
        assert_eq!(text.code, Some(0), "{text}");
        assert!(!text.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        assert!(text.stdout.contains('\u{fffd}'), "{text}");
    }
}

#[test]
fn blame_names_the_message_of_each_field_and_line() {
    let mut play = Play::new();
    play.entry(0, "The sea", "It is cold.\nIt is deep.");
    play.save_book();
    play.say("Four.");
    play.entry(0, "The sea", "It is cold.\nIt is salt.\nIt is deep.");
    play.book["entries"]["0"]["disable"] = json!(true);
    play.entry(7, "The cat", "It is wet.");
    play.save_book();
    play.say("Five.");
    play.entry(8, "The catfish", "It is odd.");
    play.save_book();
    let report = play.ok(&["blame", "Rain"]);
    let last: Vec<(Value, Value)> = report["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["comment"].clone(), e["last"]["message"].clone()))
        .collect();
    assert_eq!(
        last,
        [(json!("The sea"), json!(3)), (json!("The cat"), json!(3)), (json!("The catfish"), json!(4))]
    );
    assert_eq!(report["entries"][0]["fields"], Value::Null);

    let sea = play.ok(&["blame", "Rain", "0"])["entries"][0].clone();
    let lines: Vec<(String, Value, Value)> = sea["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| (l["text"].as_str().unwrap().to_owned(), l["message"].clone(), l["cause"].clone()))
        .collect();
    assert_eq!(
        lines,
        [
            ("It is cold.".to_owned(), json!(0), json!("seen")),
            ("It is salt.".to_owned(), json!(3), json!("hand")),
            ("It is deep.".to_owned(), json!(2), json!("hand")),
        ]
    );
    let field = |name: &str| {
        let fields = sea["fields"].as_array().unwrap();
        fields.iter().find(|f| f["field"] == name).unwrap()["message"].clone()
    };
    assert_eq!(
        [field("comment"), field("disable"), field("content"), field("key")].map(|m| m.as_i64()),
        [Some(0), Some(3), Some(3), Some(0)]
    );
    let then = play.ok(&["blame", "Rain", "the se", "--at", "2"])["entries"][0].clone();
    assert_eq!(then["lines"].as_array().unwrap().len(), 2);
    assert_eq!(play.ok(&["blame", "Rain", "The cat"])["entries"][0]["uid"], 7);
    play.refused(&["blame", "Rain", "the c"], "ENTRY_AMBIGUOUS");
    play.refused(&["blame", "Rain", "dog"], "ENTRY_NOT_FOUND");
    play.refused(&["blame", "Rain", "--at", "99"], "MESSAGE_NOT_FOUND");
    play.book["entries"].as_object_mut().unwrap().remove("7");
    play.save_book();
    let gone = play.refused(&["blame", "Rain", "7"], "ENTRY_NOT_FOUND");
    assert_eq!(gone["error"]["details"]["removed"], 4);
    let text = play.vault.run(FORKLORE, &["blame", "Rain", "sea"]);
    assert_eq!(text.code, Some(1), "{text}");
    let text = play.vault.run(FORKLORE, &["blame", "Rain", "The sea"]);
    assert!(text.stdout.contains("by hand") && text.stdout.contains("It is salt."), "{text}");
}

#[test]
fn a_scene_is_named_where_its_processing_wrote() {
    let mut play = Play::new();
    play.say("Four.");
    let queue = |operations: Value| {
        let content = json!({"queue": operations, "current_operation_id": null, "paused": false}).to_string();
        json!({"uid": 900_000, "comment": "__operation_queue", "content": content, "key": [], "disable": true})
    };
    let metadata = json!({"message_index": 1, "version_index": 0});
    play.book["entries"]["900000"] =
        queue(json!([{"id": "op", "type": "create_lorebook_entry", "status": "pending",
        "params": {"entryId": "e", "action": "create"}, "metadata": metadata}]));
    play.save_book();
    play.say("Five.");
    play.entry(5, "character-Mara", "She waits.");
    play.save_book();
    play.book["entries"]["900000"] = queue(json!([]));
    play.save_book();
    let memory = json!({"scene_break": true, "scene_break_visible": true, "scene_break_name": "The door",
        "scene_recap_memory": "It happened.", "scene_recap_versions": ["It happened."], "scene_recap_current_index": 0,
        "scene_recap_metadata": {}});
    play.messages[1]["extra"]["auto_recap_memory"] = memory;
    play.save();
    let report = play.ok(&["history", "Rain"]);
    let lines = report["lines"].as_array().unwrap();
    let mara =
        lines.iter().flat_map(|l| l["events"].as_array().unwrap()).find(|e| e["title"] == "character-Mara");
    let mara = mara.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(
        (&mara["cause"], &mara["message"], &mara["scene"]),
        (&json!("scene"), &json!(1), &json!("The door"))
    );
    let text = play.vault.run(FORKLORE, &["history", "Rain"]);
    assert!(text.stdout.contains("+ character-Mara, by the scene \"The door\""), "{text}");
    assert!(text.stdout.contains("message 1 recapped as \"The door\""), "{text}");
    let blame = play.ok(&["blame", "Rain", "mara"]);
    assert_eq!(blame["entries"][0]["made"]["scene"], "The door", "{blame:#}");
    // It belongs to message 1, so an entry that is put back to then has it.
    play.entry(5, "character-Mara", "She left.");
    play.save_book();
    let back = play.ok(&["restore", "Rain", "--entry", "5", "--at", "2", "--yes"]);
    let book: Value = serde_json::from_slice(
        &play.vault.read(&format!("worlds/{}.json", back["book"]["name"].as_str().unwrap())),
    )
    .unwrap();
    assert_eq!(book["entries"]["5"]["content"], "She waits.");
}

/// The lines of a chat file after its header.
fn body(vault: &TestVault, file: &str) -> Vec<u8> {
    let bytes = vault.read(file);
    let newline = bytes.iter().position(|b| *b == b'\n').unwrap();
    bytes[newline..].to_vec()
}

fn entries(vault: &TestVault, book: &str) -> Value {
    let book: Value = serde_json::from_slice(&vault.read(&format!("worlds/{book}.json"))).unwrap();
    book["entries"].clone()
}

/// Undoes the last operation: everything is byte for byte as it was.
fn undo(play: &Play, before: &[(String, Vec<u8>)]) {
    play.ok(&["undo"]);
    let after = play.vault.snapshot();
    let names = |list: &[(String, Vec<u8>)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&after), names(before));
    for (old, new) in before.iter().zip(&after) {
        assert!(old == new, "{} is not what it was", old.0);
    }
}

#[test]
fn a_chat_deleted_in_sillytavern_comes_back_as_it_was() {
    let mut play = Play::new();
    play.say("Four.");
    let (chat, book) = (play.vault.read(&play.chat_file()), play.vault.read("worlds/Lore.json"));
    fs::remove_file(play.vault.root().join(play.chat_file())).unwrap();
    let gone = play.vault.snapshot();
    // Also if nobody has seen yet that it is gone.
    let planned = play.ok(&["restore", "Ana/Rain", "--dry-run"]);
    assert_eq!((&planned["operation"], &planned["what"]), (&Value::Null, &json!("chat")));
    assert!(play.vault.snapshot() == gone);
    play.look();
    let history = play.ok(&["history", "Rain"]);
    assert!(history["deleted"].is_string(), "{history:#}");
    assert_eq!(told(history["lines"].as_array().unwrap().last().unwrap()), ["deleted"]);
    assert_eq!(play.ok(&["blame", "Rain"])["entries"][0]["comment"], "The sea");

    let report = play.ok(&["restore", "Rain"]);
    assert_eq!(
        (&report["chat"], &report["what"], &report["book"]["made"]),
        (&json!("Ana/Rain"), &json!("chat"), &json!(false))
    );
    assert!(play.vault.read(&play.chat_file()) == chat);
    assert!(play.vault.read("worlds/Lore.json") == book);
    // What was known of it is known again.
    play.look();
    let shown = play.ok(&["show", "Rain", "--at", "1"]);
    assert_eq!(shown["book"]["source"]["kind"], "unchanged", "{shown:#}");
    undo(&play, &gone);

    // Its book is gone, too.
    fs::remove_file(play.vault.root().join("worlds/Lore.json")).unwrap();
    play.look();
    let gone = play.vault.snapshot();
    let report = play.ok(&["restore", "Rain", "--as", "Drizzle"]);
    assert_eq!((&report["chat"], &report["book"]["made"]), (&json!("Ana/Drizzle"), &json!(true)));
    assert!(play.vault.read("chats/Ana/Drizzle.jsonl") == chat);
    assert!(play.vault.read("worlds/Lore.json") == book);
    assert_eq!(play.ok(&["check"])["ok"], true);
    undo(&play, &gone);

    // There is another book of that name by now.
    play.vault
        .write("worlds/Lore.json", br#"{"entries": {"0": {"uid": 0, "comment": "Other", "content": "x"}}}"#);
    play.look();
    let gone = play.vault.snapshot();
    let report = play.ok(&["restore", "Rain"]);
    let own = report["book"]["name"].as_str().unwrap();
    assert_ne!(own, "Lore", "{report:#}");
    assert_eq!(entries(&play.vault, own), play.book["entries"]);
    assert_eq!(body(&play.vault, &play.chat_file()), body_of(&chat));
    assert_eq!(play.ok(&["show", "Rain"])["book"]["entries"][0]["comment"], "The sea");
    undo(&play, &gone);
    // There is a chat of that name by now.
    play.vault.write("chats/Ana/rain.jsonl", &chat[..]);
    play.refused(&["restore", "Ana/Rain", "--as", "RAIN"], "NAME_TAKEN");
}

fn body_of(chat: &[u8]) -> Vec<u8> {
    chat[chat.iter().position(|b| *b == b'\n').unwrap()..].to_vec()
}

#[test]
fn a_chat_that_forklore_deleted_is_found_by_history_and_by_undo() {
    let mut play = Play::new();
    let made = play.ok(&["branch", "Rain", "--name", "Fork"]);
    play.look();
    let before = play.vault.snapshot();
    play.ok(&["delete", "Fork"]);
    let after = play.vault.snapshot();
    play.ok(&["restore", "Fork"]);
    let book = made["book"]["name"].as_str().unwrap();
    for file in ["chats/Ana/Fork.jsonl".to_owned(), format!("worlds/{book}.json")] {
        let was = &before.iter().find(|(name, _)| *name == file).unwrap().1;
        assert!(play.vault.read(&file) == *was, "{file}");
    }
    assert_eq!(play.ok(&["check"])["ok"], true);
    undo(&play, &after);
}

#[test]
fn a_past_state_comes_back_as_a_branch_with_the_book_of_then() {
    let mut play = Play::new();
    play.say("Four.");
    play.entry(1, "The cat", "It is wet.");
    play.save_book();
    play.header["chat_metadata"]["variables"]["mood"] = json!("low");
    play.save();
    let then = play.vault.read(&play.chat_file());
    let (book, seq) =
        (play.book["entries"].clone(), play.observation("header", "key", &json!("variables.mood")));
    // The story loses two messages, the book an entry, and both go on.
    play.messages.truncate(2);
    play.header["chat_metadata"]["variables"]["mood"] = json!("high");
    play.save();
    play.book["entries"].as_object_mut().unwrap().remove("1");
    play.entry(0, "The sea", "It is gone.");
    play.save_book();
    play.say("Other three.");
    let before = play.vault.snapshot();
    let planned = play.ok(&["restore", "Rain", "--observation", &seq, "--as", "Then", "--dry-run"]);
    assert_eq!(planned["operation"], Value::Null);
    assert!(play.vault.snapshot() == before);

    let report = play.ok(&["restore", "Rain", "--observation", &seq, "--as", "Then"]);
    assert_eq!(
        (&report["what"], &report["chat"], &report["of"], &report["at"]),
        (&json!("branch"), &json!("Ana/Then"), &json!("Ana/Rain"), &json!(3))
    );
    assert_eq!(body(&play.vault, "chats/Ana/Then.jsonl"), body_of(&then));
    let own = report["book"]["name"].as_str().unwrap();
    assert_eq!(entries(&play.vault, own), book);
    // The present is as it was, but for the link on the message that both have.
    let rain = String::from_utf8(play.vault.read(&play.chat_file())).unwrap();
    assert_eq!(
        rain.replacen("{\"branches\":[\"Then\"]}", "{}", 1).as_bytes(),
        before_of(&before, &play.chat_file())
    );
    assert!(play.vault.read("worlds/Lore.json") == before_of(&before, "worlds/Lore.json"));
    let shown = play.ok(&["show", "Then"]);
    assert_eq!(shown["metadata"]["variables"], json!({"mood": "low"}));
    let tree = play.ok(&["tree"]);
    let chats = tree["stories"][0]["chats"].as_array().unwrap();
    let fork = chats.iter().find(|chat| chat["chat"] == "Ana/Then").unwrap();
    assert_eq!(
        (&fork["parent"], &fork["fork_message"], &fork["lineage"]),
        (&json!("Ana/Rain"), &json!(1), &json!("recorded"))
    );
    assert_eq!(play.ok(&["check"])["ok"], true, "{:#}", play.ok(&["check"]));

    // The past of the branch is what it was before that observation, in the numbers of then.
    play.look();
    let shown = play.ok(&["show", "Then", "--at", "1"]);
    assert_eq!(crate::titles(&shown), ["The sea"], "{shown:#}");
    assert_eq!(shown["book"]["entries"][0]["content"], "It is cold.");
    assert_eq!(crate::titles(&play.ok(&["show", "Then", "--at", "3"])), ["The sea", "The cat"]);
    let blame = play.ok(&["blame", "Then", "The cat"]);
    assert_eq!(blame["entries"][0]["made"]["message"], 3, "{blame:#}");
    let lines = play.ok(&["history", "Then"])["lines"].as_array().unwrap().clone();
    let fork = lines.iter().find(|line| told(line) == ["forked"]).unwrap_or_else(|| panic!("{lines:#?}"));
    assert_eq!(fork["events"][0]["restored"].to_string(), seq);
    let log = play.ok(&["log"]);
    assert_eq!(log["operations"][0]["kind"], "restore", "{log:#}");
    undo(&play, &before);

    // By time.
    let by_time = play.ok(&["restore", "Rain", "--when", report["seen"].as_str().unwrap()]);
    assert_eq!(by_time["what"], "branch");
    undo(&play, &before);
    // By message: one that is there, and one that is not there any more.
    let branch = play.ok(&["restore", "Rain", "--at", "1"]);
    assert_eq!((&branch["what"], &branch["chat"]), (&json!("branch"), &json!("Ana/Rain - Branch #1")));
    undo(&play, &before);
    let lost = play.ok(&["restore", "Rain", "--at", "3"]);
    let name = lost["chat"].as_str().unwrap().strip_prefix("Ana/").unwrap();
    assert_eq!(body(&play.vault, &format!("chats/Ana/{name}.jsonl")), body_of(&then));
    assert_eq!(entries(&play.vault, lost["book"]["name"].as_str().unwrap()), book);
    undo(&play, &before);
    play.refused(&["restore", "Rain", "--at", "4"], "MESSAGE_NOT_FOUND");
    play.refused(&["restore", "Rain"], "USAGE");
    play.refused(&["restore", "Rain", "--when", "1999-01-01"], "NOT_SEEN");
    play.refused(&["restore", "Rain", "--observation", "4711"], "OBSERVATION_NOT_FOUND");
    play.refused(&["restore", "Rein"], "CHAT_NOT_FOUND");
}

fn before_of<'a>(snapshot: &'a [(String, Vec<u8>)], file: &str) -> &'a [u8] {
    &snapshot.iter().find(|(name, _)| name == file).unwrap().1
}

#[test]
fn an_older_state_of_a_deleted_chat_comes_back_as_a_branch() {
    let mut play = Play::new();
    let then = play.vault.read(&play.chat_file());
    play.say("Four.");
    let seq = play.observation("messages", "did", &json!("added"));
    play.messages[1]["mes"] = json!("Nobody is there.");
    play.save();
    fs::remove_file(play.vault.root().join(play.chat_file())).unwrap();
    play.look();
    let before = play.vault.snapshot();
    let report = play.ok(&["restore", "Rain", "--at", "2"]);
    assert_eq!((&report["what"], &report["chat"]), (&json!("branch"), &json!("Ana/Rain - Branch #1")));
    undo(&play, &before);
    let report = play.ok(&["restore", "Rain", "--observation", &seq, "--as", "Then"]);
    assert_eq!(report["what"], "branch", "{report:#}");
    let text = String::from_utf8(body(&play.vault, "chats/Ana/Then.jsonl")).unwrap();
    assert!(text.contains("Four.") && text.starts_with(&*String::from_utf8(body_of(&then)).unwrap()));
    assert_eq!(play.ok(&["check"])["ok"], true);
    play.look();
    assert_eq!(crate::titles(&play.ok(&["show", "Then", "--at", "1"])), ["The sea"]);
    undo(&play, &before);
}

#[test]
fn an_entry_and_a_book_are_put_back_in_a_new_book() {
    let mut play = Play::new();
    play.entry(1, "The cat", "It is wet.");
    play.save_book();
    let then = play.book["entries"].clone();
    play.say("Four.");
    play.entry(0, "The sea", "It is gone.");
    play.book["entries"].as_object_mut().unwrap().remove("1");
    play.entry(2, "The dog", "It barks.");
    play.save_book();
    let before = play.vault.snapshot();
    let now = play.book["entries"].clone();
    play.refused(&["restore", "Rain", "--entry", "The sea", "--at", "2"], "NOT_CONFIRMED");
    play.refused(&["restore", "Rain", "--entry", "The dog", "--at", "2", "--yes"], "ENTRY_NOT_FOUND");
    play.refused(&["restore", "Rain", "--entry", "The dog", "--at", "3", "--yes"], "NOTHING_TO_RESTORE");
    play.refused(&["restore", "Rain", "--entry", "0", "--yes"], "USAGE");
    play.refused(&["restore", "Rain", "--book", "--entry", "0", "--at", "2"], "USAGE");
    let planned = play.ok(&["restore", "Rain", "--entry", "The sea", "--at", "2", "--dry-run"]);
    assert_eq!(
        planned["entries"],
        json!([{"uid": 0, "comment": "The sea", "did": "changed", "fields": ["content"]}])
    );
    assert!(play.vault.snapshot() == before);

    let report = play.ok(&["restore", "Rain", "--entry", "The sea", "--at", "2", "--yes"]);
    assert_eq!(
        (&report["what"], &report["chat"], &report["book"]["from"]),
        (&json!("entry"), &json!("Ana/Rain"), &json!("Lore"))
    );
    let own = report["book"]["name"].as_str().unwrap().to_owned();
    let mut wanted = now.clone();
    wanted["0"] = then["0"].clone();
    assert_eq!(entries(&play.vault, &own), wanted);
    // The old book is as it was: it is kept by hand. The chat is bound to the new one, with a fresh identity.
    assert!(play.vault.read("worlds/Lore.json") == before_of(&before, "worlds/Lore.json"));
    let header: Value = first_line(&play.vault.read(&play.chat_file()));
    assert_eq!(header["chat_metadata"]["world_info"], json!(own));
    assert_ne!(header["chat_metadata"]["integrity"], "slug");
    assert_eq!(body(&play.vault, &play.chat_file()), body_of(before_of(&before, &play.chat_file())));
    assert_eq!(play.ok(&["check"])["ok"], true);
    play.look();
    assert_eq!(play.ok(&["show", "Rain"])["book"]["entries"][0]["content"], "It is cold.");
    undo(&play, &before);
    play.look();

    // An entry that was deleted since.
    let report = play.ok(&["restore", "Rain", "--entry", "1", "--at", "2", "--yes"]);
    assert_eq!(report["entries"][0]["did"], "added");
    let mut wanted = now;
    wanted["1"] = then["1"].clone();
    assert_eq!(entries(&play.vault, report["book"]["name"].as_str().unwrap()), wanted);
    undo(&play, &before);
    play.look();

    for args in [["--at", "2"], ["--observation", "5"]] {
        let report = play.ok(&[&["restore", "Rain", "--book", "--yes"][..], &args].concat());
        assert_eq!(
            (&report["what"], report["entries"].as_array().unwrap().len()),
            (&json!("book"), 3),
            "{report:#}"
        );
        assert_eq!(entries(&play.vault, report["book"]["name"].as_str().unwrap()), then);
        undo(&play, &before);
        play.look();
    }
}

fn first_line(chat: &[u8]) -> Value {
    serde_json::from_slice(&chat[..chat.iter().position(|b| *b == b'\n').unwrap()]).unwrap()
}

#[test]
fn a_number_that_another_entry_has_by_now_is_not_taken_away_from_it() {
    let mut play = Play::new();
    play.entry(1, "The cat", "It is wet.");
    play.save_book();
    play.say("Four.");
    play.book["entries"].as_object_mut().unwrap().remove("1");
    play.save_book();
    play.entry(1, "The dog", "It barks.");
    play.save_book();
    let report = play.ok(&["restore", "Rain", "--entry", "The cat", "--at", "2", "--yes"]);
    let entries = entries(&play.vault, report["book"]["name"].as_str().unwrap());
    assert_eq!((&entries["1"]["comment"], &entries["2"]["comment"]), (&json!("The dog"), &json!("The cat")));
    assert_eq!(entries["2"]["uid"], 2);
}

#[test]
fn a_fork_keeps_its_record_when_its_book_is_put_back() {
    let mut play = Play::new();
    let made = play.ok(&["branch", "Rain", "--name", "Fork"]);
    play.look();
    let book = made["book"]["name"].as_str().unwrap().to_owned();
    let file = format!("worlds/{book}.json");
    let text = String::from_utf8(play.vault.read(&file)).unwrap();
    play.write(&file, text.replace("It is cold.", "It is warm.").as_bytes());
    let before = play.vault.snapshot();
    let lines = play.ok(&["history", "Fork"])["lines"].as_array().unwrap().clone();
    let first =
        |line: &&Value| told(line) == ["first_seen"] && line["file"] == "chat" && line["chat"] == "Ana/Fork";
    let seen = lines.iter().find(first).unwrap_or_else(|| panic!("{lines:#?}"))["observation"].to_string();
    let report = play.ok(&["restore", "Fork", "--entry", "0", "--observation", &seen, "--yes"]);
    let own = report["book"]["name"].as_str().unwrap();
    assert_eq!(entries(&play.vault, own)["0"]["content"], "It is cold.");
    assert_eq!(play.ok(&["check", "Fork"])["ok"], true, "{:#}", play.ok(&["check", "Fork"]));
    let tree = play.ok(&["tree"]);
    let chats = tree["stories"][0]["chats"].as_array().unwrap();
    let fork = chats.iter().find(|chat| chat["chat"] == "Ana/Fork").unwrap();
    assert_eq!((&fork["lineage"], &fork["book"]["state"]), (&json!("recorded"), &json!("own")));
    undo(&play, &before);
}

fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) * 1024
}

#[test]
fn a_large_chat_comes_back_without_being_held_in_memory() {
    const BYTES: usize = 96 << 20;
    let mut play = Play::new();
    let words = "The rain went on and nobody in the harbour spoke of the boat. ".repeat(60);
    let mut text = play.header.to_string();
    let mut n = 0;
    while text.len() < BYTES {
        n += 1;
        let message = json!({"name": "Ana", "is_user": n % 2 == 1, "send_date": n, "mes": format!("{n} {words}"), "extra": {}});
        text.push('\n');
        text.push_str(&message.to_string());
    }
    play.write("chats/Ana/Rain.jsonl", text.as_bytes());
    fs::remove_file(play.vault.root().join("chats/Ana/Rain.jsonl")).unwrap();
    play.look();
    let mut command = play.vault.command(FORKLORE);
    let mut child = command.args(["restore", "Rain", "--json"]).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak_memory(child.id()).max(peak);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    assert!(play.vault.read("chats/Ana/Rain.jsonl") == text.as_bytes());
    println!("restored {} MB with at most {} MB of memory", BYTES >> 20, peak >> 20);
    assert!(peak < BYTES as u64, "{peak}");
}
