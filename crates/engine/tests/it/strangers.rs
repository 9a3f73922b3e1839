//! What stories taught that were played with the real extensions: who made an entry that others saw first, and what somebody who comes late
//! may conclude.

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::adapter::recap::text_hashes;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_fs::{RealFs, Vfs};
use forklore_json::Raw;
use forklore_testkit::TestVault;
use forklore_vault::history::{Watch, rescue};
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use crate::path;

/// The first of January of 2026, when the messages of these stories were sent, in milliseconds since 1970.
const DAY: i64 = 1_767_225_600_000;

fn fs(vault: &TestVault) -> Arc<dyn Vfs> {
    Arc::new(RealFs::new(&vault.root()).unwrap())
}

/// Forklore comes to a vault, as `watch --once` does.
fn look(vault: &TestVault) {
    let library = Library::load(fs(vault), &NoProgress).unwrap();
    rescue(&library, DAY + 86_400_000, &NoProgress).unwrap();
    Watch::open(fs(vault)).unwrap().sweep(DAY + 86_400_000, &NoProgress).unwrap();
}

/// The entries of a chat's lorebook at a message: title, and whether it is marked as undated.
fn at(vault: &TestVault, chat: &str, message: usize) -> BTreeMap<String, bool> {
    let library = Library::load(fs(vault), &NoProgress).unwrap();
    let c = library.find_chat(chat).unwrap();
    let entries = library.book_at(c, message, Wanted::default()).unwrap().entries;
    let told = entries.iter().filter(|e| !e.image.comment.starts_with("_registry_"));
    told.map(|e| (e.image.comment.to_string(), e.undated)).collect()
}

fn entry(uid: i64, title: &str) -> Value {
    json!({"uid": uid, "comment": title, "content": format!("{title} it is."), "key": [title]})
}

/// By this the extension's lorebooks are known.
fn registry() -> Value {
    json!({"uid": 0, "comment": "_registry_character", "content": "[Registry: character]", "key": [], "disable": true})
}

/// A lorebook file with these entries.
fn book(entries: &[Value]) -> Vec<u8> {
    let map: serde_json::Map<String, Value> =
        entries.iter().map(|entry| (entry["uid"].to_string(), entry.clone())).collect();
    json!({"entries": map}).to_string().into_bytes()
}

/// What a scene leaves in its last message.
struct Scene<'a> {
    message: usize,
    /// When its text was there, in seconds of the day
    time: i64,
    made: &'a [i64],
    /// What it tells of, by name
    tells: &'a [&'a str],
    /// The book as it was then; nothing if the scene was not combined
    seen: &'a [Value],
}

const BOOK: &str = "z-AutoLB-Ana-Main";

/// A chat of so many messages, one each minute, with scenes.
fn chat(vault: &TestVault, name: &str, metadata: &Value, own: (usize, usize), scenes: &[Scene<'_>]) {
    let mut lines = vec![json!({"chat_metadata": metadata}).to_string()];
    for n in 0..own.1 {
        let text = if n < own.0 { format!("Message {n}.") } else { format!("{name}, message {n}.") };
        let date = format!("2026-01-01T00:{n:02}:00.000Z");
        let mut message =
            json!({"name": "Ana", "is_user": n % 2 == 1, "send_date": date, "mes": text, "extra": {}});
        for scene in scenes.iter().filter(|scene| scene.message == n) {
            let entities: Vec<Value> = scene
                .tells
                .iter()
                .map(|name| json!({"type": "character", "name": name, "content": ["Told."]}))
                .collect();
            let told =
                json!({"recap": {}, "entities": entities, "stage4": {"entities": entities}}).to_string();
            let made: Vec<String> = scene.made.iter().map(i64::to_string).collect();
            let seen: Vec<Value> =
                scene.seen.iter().cloned().chain((!scene.seen.is_empty()).then(registry)).collect();
            let mut kept = json!({"timestamp": DAY + scene.time * 1000, "startIdx": 0, "endIdx": n, "chatLorebookName": BOOK,
                "allEntries": seen, "entries": [], "created_entry_uids": made});
            if !scene.seen.is_empty() {
                kept["combined_at"] = json!(DAY + scene.time * 1000 + 500);
            }
            message["extra"]["auto_recap_memory"] = json!({"scene_break": true, "scene_recap_memory": told,
                "scene_recap_versions": ["", told], "scene_recap_current_index": 1, "scene_recap_metadata": {"1": kept}});
        }
        lines.push(message.to_string());
    }
    vault.write(&format!("chats/Ana/{name}.jsonl"), lines.join("\n").as_bytes());
}

/// A backup shows where a chat stood, and no lorebook: whoever comes then knows no more of the lorebook than without it.
#[test]
fn regression_a_backup_tells_nothing_of_books() {
    for ahead in [0, 2] {
        let header = json!({"integrity": "slug", "world_info": "Lore"});
        let texts = ["Hello.", "Who is there?", "The rain.", "The wind."];
        let vault = TestVault::new()
            .chat("Ana", "Main", &header, &texts[..4 - ahead])
            .book("Lore", &[("Tern", "A town on the coast.")]);
        let then = vault.read("chats/Ana/Main.jsonl");
        let vault =
            vault.chat("Ana", "Main", &header, &texts).file("backups/chat_ana_20260101-000100.jsonl", &then);
        let before = at(&vault, "Main", 1);
        assert_eq!(before, BTreeMap::from([("Tern".to_owned(), true)]));
        look(&vault);
        assert_eq!(at(&vault, "Main", 1), before, "the backup is {ahead} messages behind");
    }
}

/// A chat that was given another name since is no new one: what its old backups show is older than what was seen of it.
#[test]
fn regression_backups_of_a_renamed_chat_do_not_come_after_what_was_seen() {
    let header = json!({"integrity": "slug", "world_info": "Lore"});
    let texts = ["Hello.", "Who is there?", "The rain.", "The wind."];
    let vault =
        TestVault::new().chat("Ana", "Main", &header, &texts[..2]).book("Lore", &[("Tern", "A town.")]);
    let then = vault.read("chats/Ana/Main.jsonl");
    let vault = vault.chat("Ana", "Main", &header, &texts);
    look(&vault);
    vault.write("backups/chat_ana_20260101-000100.jsonl", &then);
    vault.write("chats/Ana/Rain.jsonl", &vault.read("chats/Ana/Main.jsonl"));
    fs(&vault).unlink(&path("chats/Ana/Main.jsonl")).unwrap();
    let library = Library::load(fs(&vault), &NoProgress).unwrap();
    assert_eq!(rescue(&library, DAY + 90_000_000, &NoProgress).unwrap(), 0);
}

/// A chat that has had three lorebooks, one after the other: each goes on from the one before, whichever is asked for first.
#[test]
fn regression_a_third_lorebook_goes_on_from_the_second() {
    let texts = ["Hello.", "Who is there?", "The rain.", "The wind."];
    let played = |messages: usize, lore: &str| {
        let header = json!({"integrity": "slug", "world_info": lore});
        move |vault: TestVault| vault.chat("Ana", "Main", &header, &texts[..messages])
    };
    let vault = played(1, "First")(TestVault::new().book("First", &[]));
    look(&vault);
    let vault = played(1, "Second")(vault.book("Second", &[]));
    look(&vault);
    let vault = played(2, "Second")(vault);
    look(&vault);
    let vault = vault.book("Second", &[("Tern", "A town.")]);
    look(&vault);
    let vault = played(4, "Second")(vault);
    look(&vault);
    let before = at(&vault, "Main", 1);
    assert_eq!(before, BTreeMap::from([("Tern".to_owned(), false)]));
    let vault = played(4, "Third")(vault.book("Third", &[("Tern", "A town.")]));
    look(&vault);
    assert_eq!(at(&vault, "Main", 1), before);
}

/// A branch shares its parent's lorebook, and somebody adds a line there to a memory of messages that the branch does not have. The line alone
/// was never to be read anywhere.
#[test]
fn regression_a_line_that_a_hand_adds_to_anothers_memory_is_no_entry() {
    let header = |name: &str| json!({"integrity": name, "world_info": "Lore"});
    let mut branch = header("Branch");
    branch["main_chat"] = "Main".into();
    let texts = ["One", "Two", "Three", "Left four", "Left five", "Left six", "Left seven", "Left eight"];
    let memory = |text: &str| {
        book(&[json!({"uid": 0, "comment": "001 - Key", "content": text, "key": [], "stmemorybooks": true,
            "STMB_start": 0, "STMB_end": 4, "STMB_chatId": "Main"})])
    };
    let vault = TestVault::new()
        .chat("Ana", "Main", &header("Main"), &["One", "Two", "Three", "Four", "Five", "Six"])
        .chat("Ana", "Branch", &branch, &texts[..4])
        .file("worlds/Lore.json", &memory("A key."));
    look(&vault);
    let vault = vault.chat("Ana", "Branch", &branch, &texts[..6]);
    look(&vault);
    let vault = vault.file("worlds/Lore.json", &memory("A key.\nAdded by hand."));
    look(&vault);
    let vault = vault.chat("Ana", "Branch", &branch, &texts);
    look(&vault);
    for message in 3..7 {
        assert_eq!(at(&vault, "Branch", message), BTreeMap::new(), "{message}");
    }
    assert!(at(&vault, "Main", 4).contains_key("001 - Key"));
}

/// SillyTavern makes a backup with nearly every save. That one chat differs from its last backup does not mean that it was played last, and
/// wrote whatever stands in the lorebook that it shares.
#[test]
fn regression_at_the_first_look_nobody_was_played_last() {
    let header = |name: &str| json!({"integrity": name, "world_info": "Lore"});
    let mut branch = header("Branch");
    branch["main_chat"] = "Main".into();
    let memory = json!({"uid": 0, "comment": "001 - Key", "content": "A key.", "key": [], "stmemorybooks": true,
        "STMB_start": 0, "STMB_end": 1, "STMB_chatId": "Main"});
    let vault = TestVault::new()
        .chat("Ana", "Main", &header("Main"), &["One", "Two", "Three", "Four", "Five", "Six"])
        .chat("Ana", "Branch", &branch, &["One", "Two", "Three", "Left four", "Left five"])
        .file("worlds/Lore.json", &book(&[memory, entry(1, "Tern")]));
    let main = vault.read("chats/Ana/Main.jsonl");
    vault.write("backups/chat_ana_20260101-000100.jsonl", &main);
    let before: Vec<_> = (0..6).map(|n| at(&vault, "Main", n)).collect();
    assert_eq!(before[3].get("Tern"), Some(&true), "{before:#?}");
    look(&vault);
    let after: Vec<_> = (0..6).map(|n| at(&vault, "Main", n)).collect();
    assert_eq!(after[..5], before[..5]);
}

/// A branch has the lorebook of the chat above until the extension has copied it, and a backup may have been made just then. It has never
/// written into it.
#[test]
fn regression_who_had_a_lorebook_until_it_was_copied_does_not_share_it() {
    let header = |name: &str, book: &str| json!({"integrity": name, "world_info": book});
    let mut branch = header("Branch", "Lore");
    branch["main_chat"] = "Main".into();
    let prompt = |chat: &str| {
        json!({"uid": 0, "comment": "Mood (STMB SidePrompt)", "content": "Late.", "key": [], "stmemorybooks": true,
            "STMB_sidePromptRegeneration": {"chatId": chat, "sceneStart": 4, "sceneEnd": 5, "templateKey": "mood", "priorContent": "Early."}})
    };
    let vault = TestVault::new()
        .chat("Ana", "Main", &header("Main", "Lore"), &["One", "Two", "Three", "Four", "Five", "Six"])
        .chat("Ana", "Branch", &branch, &["One", "Two", "Three"]);
    vault.write("backups/chat_ana_20260101-000100.jsonl", &vault.read("chats/Ana/Branch.jsonl"));
    branch["world_info"] = "Lore Branch 1".into();
    branch["STMemoryBooks"] = json!({"branchLorebookCopies": {
        "parentChatId": "Main", "branchChatId": "Branch", "completedAt": "2026-01-01T00:00:02.500Z",
        "mappings": [{"sourceName": "Lore", "copyName": "Lore Branch 1"}]}});
    let left = ["One", "Two", "Three", "Left four", "Left five", "Left six"];
    let vault = vault
        .chat("Ana", "Branch", &branch, &left)
        .file("worlds/Lore.json", &book(&[prompt("Main"), entry(1, "Tern")]))
        .file("worlds/Lore Branch 1.json", &book(&[entry(1, "Gull")]));
    let before: Vec<_> = (0..6).map(|n| at(&vault, "Main", n)).collect();
    assert!(before[3].contains_key("Mood (STMB SidePrompt)"), "{before:#?}");
    look(&vault);
    let after: Vec<_> = (0..6).map(|n| at(&vault, "Main", n)).collect();
    assert_eq!(after[..5], before[..5]);
}

/// What nobody had dated was shown, marked, at every message. Another look must not take it away.
#[test]
fn regression_a_note_between_two_looks_is_carried() {
    let header = json!({"integrity": "slug", "world_info": "Lore"});
    let texts = ["One", "Two", "Three", "Four", "Five", "Six"];
    let vault =
        TestVault::new().chat("Ana", "Main", &header, &texts[..2]).book("Lore", &[("Tern", "A town.")]);
    look(&vault);
    let vault =
        vault.chat("Ana", "Main", &header, &texts).book("Lore", &[("Tern", "A town."), ("Gull", "A bird.")]);
    let before: Vec<_> = (0..6).map(|n| at(&vault, "Main", n)).collect();
    assert_eq!(before[3].get("Gull"), Some(&true), "{before:#?}");
    assert_eq!(before[0].get("Gull"), None);
    look(&vault);
    let after: Vec<_> = (0..6).map(|n| at(&vault, "Main", n)).collect();
    // There somebody saw the lorebook without it.
    assert_eq!(after[1].get("Gull"), None);
    assert_eq!(after[2..5], before[2..5]);
    assert_eq!(after[5].get("Gull"), Some(&false));
}

/// The extension makes the lorebook of a branch entry by entry, and the branch is bound to it in the end. Who watches sees it half made.
#[test]
fn regression_a_lorebook_that_was_watched_in_the_making_lost_nothing() {
    let vault = TestVault::new();
    let header = |name: &str, book: &str| json!({"integrity": name, "world_info": book});
    let mut branch = header("Branch", BOOK);
    branch["main_chat"] = "Main".into();
    let seen = [entry(1, "character-Tern"), entry(2, "character-Gull")];
    let scene = || Scene { message: 3, time: 300, made: &[1, 2], tells: &["Tern", "Gull"], seen: &seen };
    chat(&vault, "Main", &header("Main", BOOK), (8, 8), &[scene()]);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[&[registry()], &seen[..]].concat()));
    look(&vault);
    chat(&vault, "Branch", &branch, (8, 6), &[scene()]);
    look(&vault);
    let made = "z-AutoLB-Ana-Branch";
    let all = [&[registry()], &seen[..]].concat();
    for so_far in 0..=all.len() {
        vault.write(&format!("worlds/{made}.json"), &book(&all[..so_far]));
        look(&vault);
    }
    branch["world_info"] = made.into();
    chat(&vault, "Branch", &branch, (8, 6), &[scene()]);
    look(&vault);
    chat(&vault, "Branch", &branch, (6, 9), &[scene()]);
    look(&vault);
    for message in 3..8 {
        let library = Library::load(fs(&vault), &NoProgress).unwrap();
        let c = library.find_chat("Branch").unwrap();
        let entries = library.book_at(c, message, Wanted::default()).unwrap().entries;
        let titles: Vec<_> = entries.iter().map(|entry| entry.image.comment.to_string()).collect();
        assert_eq!(titles, ["_registry_character", "character-Tern", "character-Gull"], "{message}");
    }
}

/// What a copied lorebook got since was made after the copy. That somebody looked at it for the first time says no more.
#[test]
fn regression_the_first_look_only_meets_what_a_copy_got_since() {
    let header = |name: &str, book: &str| json!({"integrity": name, "world_info": book});
    let mut branch = header("Branch", "Lore Branch 1");
    branch["main_chat"] = "Main".into();
    branch["STMemoryBooks"] = json!({"branchLorebookCopies": {
        "parentChatId": "Main", "branchChatId": "Branch", "completedAt": "2026-01-01T00:00:02.500Z",
        "mappings": [{"sourceName": "Lore", "copyName": "Lore Branch 1"}]}});
    let memory = json!({"uid": 0, "comment": "001 - Key", "content": "A key.", "key": [], "stmemorybooks": true,
        "STMB_start": 0, "STMB_end": 1, "STMB_chatId": "Main"});
    let mut copied = memory.clone();
    copied["STMB_chatId"] = "Branch".into();
    let vault = TestVault::new()
        .chat("Ana", "Main", &header("Main", "Lore"), &["One", "Two", "Three"])
        .chat("Ana", "Branch", &branch, &["One", "Two", "Three", "Four", "Five"])
        .file("worlds/Lore.json", &book(&[memory]))
        .file("worlds/Lore Branch 1.json", &book(&[copied, entry(1, "Tern")]));
    let before: Vec<_> = (0..5).map(|n| at(&vault, "Branch", n)).collect();
    assert_eq!(before[3].get("Tern"), Some(&true), "{before:#?}");
    look(&vault);
    let after: Vec<_> = (0..5).map(|n| at(&vault, "Branch", n)).collect();
    assert_eq!(after, before);
}

/// SillyTavern renames a chat and the extension wipes its running recap, which names the events. They were made when a scene was done, after
/// it had kept the state of the book.
#[test]
fn regression_an_event_is_of_the_scene_before_though_nothing_names_it() {
    let vault = TestVault::new();
    let [kay, fall, quay] = [entry(9, "character-Kay"), entry(10, "event-Fall"), entry(11, "location-Quay")];
    let scenes = [
        Scene { message: 3, time: 190, made: &[9], tells: &["Kay"], seen: std::slice::from_ref(&kay) },
        Scene {
            message: 8,
            time: 490,
            made: &[11],
            tells: &["Quay"],
            seen: &[kay.clone(), fall.clone(), quay.clone()],
        },
    ];
    chat(&vault, "Main", &json!({"integrity": "slug", "world_info": BOOK}), (12, 12), &scenes);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[registry(), kay, fall, quay]));
    assert!(!at(&vault, "Main", 2).contains_key("event-Fall"));
    assert_eq!(at(&vault, "Main", 3).get("event-Fall"), Some(&false));
}

/// A scene that was never combined has made no event, whatever was made since.
#[test]
fn regression_an_event_is_of_the_scene_that_the_recap_names() {
    let vault = TestVault::new();
    let [kay, quay, fall] = [entry(9, "character-Kay"), entry(10, "location-Quay"), entry(11, "event-Fall")];
    let scenes = [
        Scene { message: 3, time: 190, made: &[9], tells: &["Kay"], seen: &[] },
        Scene { message: 8, time: 490, made: &[10], tells: &["Quay"], seen: &[kay.clone(), quay.clone()] },
    ];
    let hash = &text_hashes("event-Fall it is.")[0];
    let running = json!({"chat_id": "Main", "current_version": 0, "versions": [{"version": 0, "timestamp": DAY + 490_400,
        "content": "All.", "new_scene_index": 8, "event_keys": [format!("0:Fall:{hash}")]}]});
    let header = json!({"integrity": "slug", "world_info": BOOK, "auto_recap_running_scene_recaps": running});
    chat(&vault, "Main", &header, (12, 12), &scenes);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[registry(), kay, quay, fall]));
    assert_eq!(at(&vault, "Main", 5), BTreeMap::from([("character-Kay".to_owned(), false)]));
    assert_eq!(at(&vault, "Main", 8).get("event-Fall"), Some(&false));
}

/// Two lines share a lorebook. The scene of one was never combined and has kept nothing of the book; that of the other told more of what the
/// first had made, and has kept it.
#[test]
fn regression_who_says_to_have_made_an_entry_made_it_whoever_saw_it_first() {
    let vault = TestVault::new();
    let [sea, kay, quay] = [entry(9, "lore-Sea"), entry(10, "character-Kay"), entry(11, "location-Quay")];
    let first = || Scene { message: 2, time: 130, made: &[9], tells: &["Sea"], seen: &[] };
    let seen = [sea, kay, quay];
    let elsewhere = Scene { message: 8, time: 490, made: &[10], tells: &["Kay"], seen: &[] };
    let branched = Scene { message: 9, time: 560, made: &[11], tells: &["Kay", "Quay"], seen: &seen };
    let header = |slug: &str| json!({"integrity": slug, "world_info": BOOK});
    let mut forked = header("branch");
    forked["main_chat"] = "Main".into();
    chat(&vault, "Main", &header("main"), (9, 9), &[first(), elsewhere]);
    // Its name comes before: the order of names tells nothing.
    chat(&vault, "Branch", &forked, (6, 10), &[first(), branched]);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[&[registry()], &seen[..]].concat()));
    let titles = |chat: &str, n: usize| at(&vault, chat, n).into_keys().collect::<Vec<_>>();
    assert_eq!(titles("Main", 8), ["character-Kay", "lore-Sea"]);
    assert_eq!(titles("Branch", 9), ["location-Quay", "lore-Sea"]);
}

/// MemoryBooks notes in the header up to where there are memories. A backup, or a look, shows the note of a time when the memory of the last
/// messages was not made yet.
#[test]
fn regression_a_fork_notes_the_memories_that_its_own_book_has() {
    for name in ["quill", "quill-watched"] {
        let vault = TestVault::real(name);
        let library = Library::load(fs(&vault), &NoProgress).unwrap();
        let chats: Vec<_> = library.chats().map(|(_, chat)| (chat.name().to_owned(), chat.head())).collect();
        for (n, (chat, head)) in chats.iter().enumerate() {
            for at in [8, 18, 28, 36].into_iter().filter(|at| at < head) {
                let library = Library::load(fs(&vault), &NoProgress).unwrap();
                let made_as = format!("Fork {n} at {at}");
                let request = ForkRequest {
                    at: Some(at),
                    kind: Some(ForkKind::Branch),
                    name: Some(made_as.clone()),
                    ..ForkRequest::of(chat)
                };
                let slug = format!("slug {n} {at}");
                let plan = fork::plan(&library, &request, &Config::default(), &slug, DAY).unwrap();
                fork::execute(&library, plan, DAY).unwrap();
                let after = Library::load(fs(&vault), &NoProgress).unwrap();
                let made = after.chat(after.find_chat(&made_as).unwrap());
                let notes = made.header().metadata().get("STMemoryBooks");
                let noted = notes.and_then(|notes| notes.get("highestMemoryProcessed")).and_then(Raw::as_i64);
                let book = made.book().map(|(name, _)| name.to_owned()).unwrap();
                let entries = after.book(&book).unwrap().unwrap().images();
                let ends =
                    entries.iter().filter_map(|entry| entry.raw().get("STMB_end").and_then(Raw::as_i64));
                assert_eq!(noted, ends.max(), "{name}: {chat} at {at}");
            }
        }
    }
}

/// A side prompt of MemoryBooks, run up to a message of a chat.
fn run(uid: i64, title: &str, chat: &str, messages: (i64, i64)) -> Value {
    json!({"uid": uid, "comment": format!("{title} (STMB SidePrompt)"), "content": format!("{title} up to {}.", messages.1), "key": [],
        "STMB_sidePromptRegeneration": {"templateKey": title, "sceneStart": messages.0, "sceneEnd": messages.1, "chatId": chat, "priorContent": ""}})
}

/// The note of MemoryBooks that it copied a lorebook for a branch.
fn copied(parent: &str, branch: &str, books: (&str, &str), minute: i64) -> Value {
    json!({"branchLorebookCopies": {"version": 1, "status": "completed", "parentChatId": parent, "branchChatId": branch,
        "completedAt": format!("2026-01-01T00:{minute:02}:30.000Z"), "mappings": [{"sourceName": books.0, "copyName": books.1}]}})
}

/// A branch got another name, and SillyTavern gave its old name to the next one, which has a lorebook of its own.
#[test]
fn regression_a_name_that_was_given_again_is_not_the_branch_that_had_it() {
    let vault = TestVault::new();
    let header = |book: &str| json!({"integrity": book, "world_info": book});
    let main = header("Lore");
    chat(&vault, "Main", &main, (8, 8), &[]);
    let mut tale = header("Lore");
    (tale["integrity"], tale["main_chat"]) = ("tale".into(), "Main".into());
    chat(&vault, "Tale", &tale, (4, 8), &[]);
    let mut next = header("Lore Branch 1");
    next["main_chat"] = "Main".into();
    next["STMemoryBooks"] = copied("Main", "Main - Branch #1", ("Lore", "Lore Branch 1"), 40);
    chat(&vault, "Main - Branch #1", &next, (6, 9), &[]);
    let mood = run(0, "Mood", "Main - Branch #1", (2, 6));
    vault.write("worlds/Lore.json", &book(std::slice::from_ref(&mood)));
    vault.write("worlds/Lore Branch 1.json", &book(&[mood]));
    let title = "Mood (STMB SidePrompt)";
    assert!(at(&vault, "Tale", 7).contains_key(title));
    assert!(!at(&vault, "Main - Branch #1", 7).contains_key(title));
    assert!(!at(&vault, "Main", 6).contains_key(title));
}

/// The chat that a branch came from was deleted; what that one's side prompt wrote before the branch was made is the branch's.
#[test]
fn regression_what_a_lost_parent_wrote_is_its_forks() {
    let vault = TestVault::new();
    let main = json!({"integrity": "main", "world_info": "Lore"});
    chat(&vault, "Main", &main, (6, 6), &[]);
    let header = json!({"integrity": "two", "world_info": "Lore Branch 2", "main_chat": "Main - Branch #1",
        "STMemoryBooks": copied("Main - Branch #1", "Main - Branch #2", ("Lore", "Lore Branch 2"), 9)});
    chat(&vault, "Main - Branch #2", &header, (4, 12), &[]);
    let mood = run(0, "Mood", "Main - Branch #1", (2, 7));
    let memory = json!({"uid": 1, "comment": "001 - Key", "content": "A key.", "key": [], "stmemorybooks": true, "STMB_start": 0,
        "STMB_end": 3, "STMB_chatId": "Main"});
    vault.write("worlds/Lore.json", &book(&[mood.clone(), memory.clone()]));
    vault.write("worlds/Lore Branch 2.json", &book(&[mood, memory]));
    let there = at(&vault, "Main - Branch #2", 10);
    assert!(there.contains_key("Mood (STMB SidePrompt)") && there.contains_key("001 - Key"), "{there:#?}");
    let before = at(&vault, "Main - Branch #2", 5);
    assert!(
        !before.contains_key("Mood (STMB SidePrompt)") && before.contains_key("001 - Key"),
        "{before:#?}"
    );
    assert!(!at(&vault, "Main", 4).contains_key("Mood (STMB SidePrompt)"));
}

/// A memory was switched off, the lorebook copied for a branch, and the memory switched on again: it was in the branch all the time.
#[test]
fn regression_what_was_copied_while_it_was_off_is_there() {
    let vault = TestVault::new();
    let memory = |chat: &str, off: bool| {
        json!({"uid": 0, "comment": "001 - Key", "content": "A key.", "key": [], "stmemorybooks": true, "STMB_start": 0, "STMB_end": 2,
            "STMB_chatId": chat, "disable": off})
    };
    let main = json!({"integrity": "main", "world_info": "Lore"});
    chat(&vault, "Main", &main, (5, 5), &[]);
    vault.write("worlds/Lore.json", &book(&[memory("Main", false)]));
    look(&vault);
    chat(&vault, "Main", &main, (7, 7), &[]);
    vault.write("worlds/Lore.json", &book(&[memory("Main", true)]));
    look(&vault);
    let header = json!({"integrity": "one", "world_info": "Lore Branch 1", "main_chat": "Main",
        "STMemoryBooks": copied("Main", "Main - Branch #1", ("Lore", "Lore Branch 1"), 7)});
    chat(&vault, "Main - Branch #1", &header, (7, 9), &[]);
    vault.write("worlds/Lore Branch 1.json", &book(&[memory("Main - Branch #1", true)]));
    chat(&vault, "Main", &main, (12, 12), &[]);
    vault.write("worlds/Lore.json", &book(&[memory("Main", false)]));
    look(&vault);
    for message in 2..8 {
        assert!(at(&vault, "Main - Branch #1", message).contains_key("001 - Key"), "{message}");
    }
}

/// A branch whose lorebook was copied with another line's memories sums these up: it did so where it is, not at messages that it does not have.
#[test]
fn regression_a_consolidation_of_another_lines_memories_is_of_who_made_it() {
    let vault = TestVault::new();
    let main = json!({"integrity": "main", "world_info": "Lore"});
    chat(&vault, "Main", &main, (12, 12), &[]);
    let header = json!({"integrity": "one", "world_info": "Lore Branch 1", "main_chat": "Main",
        "STMemoryBooks": copied("Main", "Main - Branch #1", ("Lore", "Lore Branch 1"), 13)});
    let memory = |uid: i64, end: i64, chat: &str, off: bool| {
        json!({"uid": uid, "comment": format!("00{uid} - Key {uid}"), "content": format!("Key {uid}."), "key": [], "stmemorybooks": true,
            "STMB_start": end - 2, "STMB_end": end, "STMB_chatId": chat, "disable": off, "disabledBySummaryId": off.then_some(9)})
    };
    let both = |chat: &str, off: bool| vec![memory(1, 3, chat, off), memory(2, 10, chat, off)];
    vault.write("worlds/Lore.json", &book(&both("Main", false)));
    chat(&vault, "Main - Branch #1", &header, (5, 6), &[]);
    vault.write("worlds/Lore Branch 1.json", &book(&both("Main - Branch #1", false)));
    look(&vault);
    let arc = json!({"uid": 9, "comment": "[ARC 001] - Keys", "content": "All keys.", "key": [], "stmemorybooks": true, "stmbSummary": true,
        "stmbSourceEntryUids": ["1", "2"]});
    let mut entries = both("Main - Branch #1", true);
    entries.push(arc);
    vault.write("worlds/Lore Branch 1.json", &book(&entries));
    look(&vault);
    chat(&vault, "Main - Branch #1", &header, (5, 8), &[]);
    look(&vault);
    for message in 5..7 {
        assert!(at(&vault, "Main - Branch #1", message).contains_key("[ARC 001] - Keys"), "{message}");
    }
}

/// What had gone from a lorebook lives on in the copy that was made of it, and is one thing.
#[test]
fn regression_what_lives_on_in_a_copy_is_not_there_twice() {
    let vault = TestVault::new();
    let memory = |chat: &str| {
        json!({"uid": 0, "comment": "001 - Key", "content": "A key.", "key": [], "stmemorybooks": true, "STMB_start": 0, "STMB_end": 2,
            "STMB_chatId": chat})
    };
    let main = json!({"integrity": "main", "world_info": "Lore"});
    chat(&vault, "Main", &main, (5, 5), &[]);
    vault.write("worlds/Lore.json", &book(&[memory("Main")]));
    look(&vault);
    let header = json!({"integrity": "one", "world_info": "Lore Branch 1", "main_chat": "Main",
        "STMemoryBooks": copied("Main", "Main - Branch #1", ("Lore", "Lore Branch 1"), 7)});
    chat(&vault, "Main - Branch #1", &header, (4, 9), &[]);
    vault.write("worlds/Lore Branch 1.json", &book(&[memory("Main - Branch #1")]));
    chat(&vault, "Main", &main, (9, 9), &[]);
    vault.write("worlds/Lore.json", &book(&[entry(0, "note Gull")]));
    look(&vault);
    for message in 2..9 {
        let library = Library::load(fs(&vault), &NoProgress).unwrap();
        let c = library.find_chat("Ana/Main").unwrap();
        let entries =
            library.book_at(c, message, Wanted { head: false, ..Wanted::default() }).unwrap().entries;
        assert!(entries.iter().filter(|e| &*e.image.comment == "001 - Key").count() < 2, "{message}");
    }
}
