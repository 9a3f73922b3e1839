//! Lorebooks that MemoryBooks copied for branches, the forks that have them, and the memories in them.

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_json::Raw;
use forklore_testkit::TestVault;
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use super::{DAY, at, book, chat, entry, fs, look};

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

/// The texts of a chat's lorebook at a message, with their titles.
fn texts(vault: &TestVault, chat: &str, message: usize) -> Vec<(String, String)> {
    let library = Library::load(fs(vault), &NoProgress).unwrap();
    let chat = library.find_chat(chat).unwrap();
    let entries = library.book_at(chat, message, Wanted::default()).unwrap().entries;
    entries.iter().map(|e| (e.image.comment.to_string(), e.image.content().into_owned())).collect()
}

/// A chat and its lorebook got other names after a branch was made with a copy. The branch's header has the old names of both, and the copy tells
/// what the lorebook held.
#[test]
fn regression_a_copy_tells_of_its_original_though_chat_and_lorebook_have_other_names() {
    let mood = |chat: &str, messages: (i64, i64), text: &str, prior: &str| {
        json!({"uid": 0, "comment": "Mood (STMB SidePrompt)", "content": text, "key": [], "STMB_sidePromptRegeneration":
            {"templateKey": "mood", "sceneStart": messages.0, "sceneEnd": messages.1, "chatId": chat, "priorContent": prior}})
    };
    // `heal` writes the new name of its parent into the branch's header.
    for main in ["Main", "Harbour"] {
        let vault = TestVault::new();
        chat(&vault, "Harbour", &json!({"integrity": "slug", "world_info": "Kept"}), (5, 9), &[]);
        let header = json!({"integrity": "other", "world_info": "Notes Branch 1", "main_chat": main,
            "STMemoryBooks": copied("Main", "Branch", ("Notes", "Notes Branch 1"), 4)});
        chat(&vault, "Branch", &header, (5, 7), &[]);
        vault.write("worlds/Kept.json", &book(&[mood("Harbour", (5, 7), "Seven.", "Four.")]));
        vault.write("worlds/Notes Branch 1.json", &book(&[mood("Main", (3, 4), "Four.", "Two.")]));
        for looked in [false, true] {
            if looked {
                look(&vault);
            }
            let mood =
                |message: usize| texts(&vault, "Harbour", message).pop().map(|(_, text)| text).unwrap();
            assert_eq!([mood(3), mood(5), mood(7)], ["Two.", "Four.", "Seven."], "{main}, {looked}");
        }
    }
}

/// Somebody comes by, and afterwards a branch goes on in the lorebook and another one is made with a copy of it. Nobody has seen that one, so he came
/// before, whatever his clock says; what the copy shows is what was made since.
#[test]
fn regression_who_has_not_seen_a_copy_came_before_it() {
    let memory = |uid: i64, messages: (i64, i64), chat: &str| {
        json!({"uid": uid, "comment": format!("00{} - Salt", uid + 1), "content": format!("Up to {}.", messages.1), "key": [],
            "stmemorybooks": true, "STMB_start": messages.0, "STMB_end": messages.1, "STMB_chatId": chat})
    };
    let vault = TestVault::new();
    let header = |slug: &str, lore: &str, main: &str| json!({"integrity": slug, "world_info": lore, "main_chat": main});
    chat(&vault, "Main", &json!({"integrity": "slug", "world_info": "Notes"}), (6, 6), &[]);
    vault.write("worlds/Notes.json", &book(&[memory(0, (0, 3), "Main")]));
    look(&vault);
    chat(&vault, "Other", &header("other", "Notes", "Main"), (6, 14), &[]);
    let now = [memory(0, (0, 3), "Main"), memory(1, (4, 9), "Other")];
    vault.write("worlds/Notes.json", &book(&now));
    let mut third = header("third", "Notes Branch 1", "Other");
    third["STMemoryBooks"] = copied("Other", "Third", ("Notes", "Notes Branch 1"), 13);
    let other = String::from_utf8(vault.read("chats/Ana/Other.jsonl")).unwrap();
    let lines: Vec<&str> = other.lines().skip(1).take(11).collect();
    let third = [json!({"chat_metadata": third}).to_string(), lines.join("\n")].join("\n");
    vault.write("chats/Ana/Third.jsonl", third.as_bytes());
    let copy = [memory(0, (0, 3), "Main"), memory(1, (4, 9), "Third")];
    vault.write("worlds/Notes Branch 1.json", &book(&copy));
    look(&vault);
    let titles: Vec<String> = texts(&vault, "Other", 11).into_iter().map(|(title, _)| title).collect();
    assert_eq!(titles, ["001 - Salt", "002 - Salt"]);
}

/// The one note of a lorebook was taken out of its copy before anybody looked: the copy, as far as it tells, held nothing, and was there all the same
/// before the look.
#[test]
fn regression_a_copy_that_nothing_is_left_of_is_as_old_as_it_says() {
    let vault = TestVault::new();
    let memory = json!({"uid": 1, "comment": "001 - Salt", "content": "Salt.", "key": [], "stmemorybooks": true, "STMB_start": 0,
        "STMB_end": 5, "STMB_chatId": "Main"});
    chat(&vault, "Main", &json!({"integrity": "slug", "world_info": "Notes"}), (4, 6), &[]);
    let header = json!({"integrity": "other", "world_info": "Notes Branch 1", "main_chat": "Main",
        "STMemoryBooks": copied("Main", "Branch", ("Notes", "Notes Branch 1"), 3)});
    chat(&vault, "Branch", &header, (4, 5), &[]);
    vault.write("worlds/Notes.json", &book(&[entry(0, "Lamp"), memory]));
    vault.write("worlds/Notes Branch 1.json", &book(&[]));
    let before = at(&vault, "Branch", 0);
    assert_eq!(before.keys().collect::<Vec<_>>(), ["Lamp"]);
    look(&vault);
    assert_eq!(at(&vault, "Branch", 0), before);
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

/// A memory of MemoryBooks, of the messages from one to another.
fn memory(uid: i64, number: i64, chat: &str, messages: (i64, i64)) -> Value {
    json!({"uid": uid, "comment": format!("{number:03} - Key of {chat}"), "content": format!("What {chat} summed up as {number}."), "key": [],
        "stmemorybooks": true, "STMB_start": messages.0, "STMB_end": messages.1, "STMB_chatId": chat})
}

/// A chat with a memory of messages that another one has summed up for itself later never had the other's.
#[test]
fn regression_what_each_line_summed_up_for_itself_is_not_the_others() {
    let vault = TestVault::new();
    let mut main = json!({"integrity": "main", "world_info": "Lore"});
    main["STMemoryBooks"] = json!({"highestMemoryProcessed": 9});
    chat(&vault, "Main", &main, (12, 12), &[]);
    let first = |chat: &str| {
        json!({"uid": 0, "comment": "001 - Gate", "content": "A gate.", "key": [], "stmemorybooks": true,
        "STMB_start": 0, "STMB_end": 3, "STMB_chatId": chat})
    };
    let both = |chat: &str| vec![first(chat), entry(5, "note Gull")];
    let mut lore = both("Main");
    lore.extend([memory(1, 2, "Main", (4, 6)), memory(2, 3, "Main", (7, 9))]);
    vault.write("worlds/Lore.json", &book(&lore));
    let branch = "Main - Branch #1";
    let mut header = json!({"integrity": "one", "world_info": "Lore Branch 1", "main_chat": "Main",
        "STMemoryBooks": copied("Main", branch, ("Lore", "Lore Branch 1"), 12)});
    header["STMemoryBooks"]["highestMemoryProcessed"] = json!(9);
    chat(&vault, branch, &header, (10, 13), &[]);
    let mut lore = both(branch);
    lore.push(memory(1, 2, branch, (4, 9)));
    vault.write("worlds/Lore Branch 1.json", &book(&lore));
    for message in 6..10 {
        let told =
            |chat: &str, other: &str| at(&vault, chat, message).keys().any(|title| title.ends_with(other));
        assert!(!told("Main", "Branch #1"), "Main at {message}");
        assert!(!told(branch, "Key of Main"), "{branch} at {message}");
    }
}

/// Memories are numbered as they are made: one that a branch makes late, of old messages, comes after its first of new ones.
#[test]
fn regression_a_memory_of_old_messages_that_a_branch_makes_is_not_its_parents() {
    let vault = TestVault::new();
    let mut main = json!({"integrity": "main", "world_info": "Lore"});
    main["STMemoryBooks"] = json!({"highestMemoryProcessed": 7});
    chat(&vault, "Main", &main, (10, 10), &[]);
    let first = |chat: &str| {
        json!({"uid": 0, "comment": "001 - Gate", "content": "A gate.", "key": [], "stmemorybooks": true,
        "STMB_start": 5, "STMB_end": 7, "STMB_chatId": chat})
    };
    vault.write("worlds/Lore.json", &book(&[first("Main")]));
    let branch = "Main - Branch #1";
    let mut header = json!({"integrity": "one", "world_info": "Lore Branch 1", "main_chat": "Main",
        "STMemoryBooks": copied("Main", branch, ("Lore", "Lore Branch 1"), 10)});
    header["STMemoryBooks"]["highestMemoryProcessed"] = json!(12);
    chat(&vault, branch, &header, (10, 14), &[]);
    let own = [first(branch), memory(1, 2, branch, (8, 12)), memory(2, 3, branch, (2, 4))];
    vault.write("worlds/Lore Branch 1.json", &book(&own));
    for message in 4..10 {
        assert_eq!(
            at(&vault, "Main", message).keys().filter(|title| title.ends_with("Branch #1")).count(),
            0,
            "{message}"
        );
    }
}
