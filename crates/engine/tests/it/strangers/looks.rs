//! Who made an entry that others saw first, and what somebody who comes late may conclude.

use std::collections::BTreeMap;

use forklore_core::adapter::recap::text_hashes;
use forklore_testkit::TestVault;
use forklore_vault::history::{Watch, rescue};
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use super::{BOOK, DAY, Scene, at, book, chat, entry, fs, look, registry};
use crate::path;

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

/// An imported chat has the slug of the one that was exported, and the same parent: a backup is of the one that has its messages.
#[test]
fn regression_a_backup_of_a_chat_is_none_of_its_import() {
    let header = json!({"integrity": "slug"});
    let texts = ["Hello.", "Who is there?", "The rain.", "The wind."];
    for import in ["An import", "The import"] {
        let vault = TestVault::new().chat("Ana", "Main", &header, &texts);
        let then = vault.read("chats/Ana/Main.jsonl");
        let vault = vault
            .chat("Ana", import, &header, &["Hello.", "Who is there?", "Somebody else."])
            .file("backups/chat_ana_20260101-000100.jsonl", &then);
        look(&vault);
        let library = Library::load(fs(&vault), &NoProgress).unwrap();
        let seen = |name: &str| {
            let chat = library.find_chat(name).unwrap();
            library.history().unwrap().unwrap().track(library.chat(chat).path()).len()
        };
        assert_eq!(seen(import), 1, "it was looked at once");
        assert!(seen("Main") >= 1);
    }
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
    assert_eq!(after[..5], before[..5]);
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

/// Somebody doubles a registry in World Info and takes the second one out again: the first one is still there.
#[test]
fn regression_a_doubled_registry_takes_the_first_one_not_along() {
    let vault = TestVault::new();
    let header = json!({"integrity": "slug", "world_info": BOOK});
    let seen = [entry(1, "character-Tern")];
    let scene = || Scene { message: 3, time: 300, made: &[1], tells: &["Tern"], seen: &seen };
    let double = json!({"uid": 9, "comment": "_registry_character", "content": "[Registry: character]", "key": [], "disable": true});
    let there = [registry(), seen[0].clone()];
    chat(&vault, "Main", &header, (6, 6), &[scene()]);
    for doubled in [false, true, false] {
        let entries = there.iter().cloned().chain(doubled.then(|| double.clone())).collect::<Vec<_>>();
        vault.write(&format!("worlds/{BOOK}.json"), &book(&entries));
        look(&vault);
    }
    chat(&vault, "Main", &header, (12, 12), &[scene()]);
    look(&vault);
    let library = Library::load(fs(&vault), &NoProgress).unwrap();
    let c = library.find_chat("Main").unwrap();
    let entries = library.book_at(c, 8, Wanted::default()).unwrap().entries;
    let titles: Vec<_> = entries.iter().map(|entry| entry.image.comment.to_string()).collect();
    assert_eq!(titles, ["_registry_character", "character-Tern"]);
}

/// Who goes on after a look was not at the lorebook before it.
#[test]
fn regression_to_go_on_later_makes_nobody_the_author_of_what_was_seen() {
    let vault = TestVault::new();
    let header = json!({"integrity": "main", "world_info": BOOK});
    let branch = json!({"integrity": "branch", "world_info": BOOK, "main_chat": "Main"});
    let seen = [entry(1, "character-Tern")];
    let scene = || Scene { message: 3, time: 300, made: &[1], tells: &["Tern"], seen: &seen };
    chat(&vault, "Main", &header, (5, 5), &[scene()]);
    chat(&vault, "Branch", &branch, (5, 12), &[scene()]);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[registry(), seen[0].clone(), entry(2, "note Gull")]));
    look(&vault);
    let before = [at(&vault, "Branch", 11), at(&vault, "Main", 4)];
    assert!(before[0].contains_key("note Gull"), "{before:#?}");
    assert!(!before[1].contains_key("note Gull"), "{before:#?}");
    chat(&vault, "Main", &header, (5, 20), &[scene()]);
    assert_eq!([at(&vault, "Branch", 11), at(&vault, "Main", 4)], before);
}

/// Who deletes a branch and makes another gets one of the same name. Where nobody looked in between, that is still another chat: what it says
/// tells nothing of when somebody looked who saw the first one.
#[test]
fn regression_a_name_that_is_given_again_is_another_chat() {
    let [mara, orrin, tolan] =
        [(2, "Mara"), (3, "Orrin"), (4, "Tolan")].map(|(uid, name)| entry(uid, &format!("character-{name}")));
    let header = |slug: &str, parent: Option<&str>| match parent {
        Some(parent) => json!({"integrity": slug, "main_chat": parent, "world_info": BOOK}),
        None => json!({"integrity": slug, "world_info": BOOK}),
    };
    let write = |vault: &TestVault, entries: &[&Value]| {
        let entries: Vec<Value> = entries.iter().copied().cloned().chain([registry()]).collect();
        vault.write(&format!("worlds/{BOOK}.json"), &book(&entries));
    };
    let (first, second) = ([mara.clone()], [mara.clone(), orrin.clone()]);
    let third = [mara.clone(), orrin.clone(), tolan.clone()];
    let scene = |message, minute: i64, uid: &'static [i64], name: &'static [&'static str], seen| Scene {
        message,
        time: minute * 60,
        made: uid,
        tells: name,
        seen,
    };
    let main = |vault: &TestVault, messages: usize| {
        let begun = scene(10, 13, &[2], &["Mara"], &first);
        let then = scene(20, 27, &[4], &["Tolan"], &third);
        chat(vault, "Main", &header("m", None), (usize::MAX, messages), &[begun, then]);
    };
    let other = |vault: &TestVault, messages: usize| {
        let scene = scene(16, 25, &[3], &["Orrin"], &second);
        chat(vault, "Other", &header("o", Some("Main")), (5, messages), &[scene]);
    };
    let branch = |vault: &TestVault, slug: &str, messages: usize| {
        chat(vault, "Main - Branch #1", &header(slug, Some("Main")), (6, messages), &[]);
    };
    let states = |looked: bool| -> Vec<BTreeMap<String, bool>> {
        let vault = TestVault::new();
        main(&vault, 15);
        other(&vault, 15);
        branch(&vault, "first", 14);
        write(&vault, &[&mara]);
        if looked {
            Watch::open(fs(&vault)).unwrap().sweep(DAY + 15 * 60_000, &NoProgress).unwrap();
        }
        branch(&vault, "second", 8);
        let path = "chats/Ana/Main - Branch #1.jsonl";
        let later = String::from_utf8(vault.read(path)).unwrap();
        let later = later.replace("T00:06:", "T00:40:").replace("T00:07:", "T00:41:");
        vault.write(path, later.replace("Main - Branch #1, message", "Again, message").as_bytes());
        main(&vault, 25);
        other(&vault, 20);
        write(&vault, &[&mara, &orrin, &tolan]);
        look(&vault);
        (0..25).map(|message| at(&vault, "Main", message)).collect()
    };
    let expected = states(false);
    assert!(!expected[22].contains_key("character-Orrin"));
    assert_eq!(states(true), expected);
}
