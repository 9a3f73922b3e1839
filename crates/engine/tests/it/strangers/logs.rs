//! What Auto-Recap notes of a lorebook with messages of the user: for showing it, and so it tells when something was there.

use forklore_core::adapter::recap::text_hashes;
use forklore_testkit::TestVault;
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use super::{BOOK, DAY, Scene, at, book, chat, entry, fs, look, registry};

/// The extension notes with a message what is in a lorebook.
fn note(vault: &TestVault, name: &str, message: usize, entries: &[Value]) {
    let file = format!("chats/Ana/{name}.jsonl");
    let text = String::from_utf8(vault.read(&file)).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut line: Value = serde_json::from_str(&lines[message + 1]).unwrap();
    let noted = entries.iter().cloned().chain([registry()]).map(|mut entry| {
        entry["world"] = BOOK.into();
        entry
    });
    line["extra"]["inactiveLorebookEntries"] = noted.collect();
    lines[message + 1] = line.to_string();
    vault.write(&file, lines.join("\n").as_bytes());
}

fn told(uid: i64, title: &str, text: &str) -> Value {
    json!({"uid": uid, "comment": title, "content": text, "key": [title]})
}

/// The text of an entry at a message, and whether it is marked as undated.
fn text(vault: &TestVault, chat: &str, message: usize, title: &str) -> Option<(String, bool)> {
    let library = Library::load(fs(vault), &NoProgress).unwrap();
    let c = library.find_chat(chat).unwrap();
    let entries = library.book_at(c, message, Wanted::default()).unwrap().entries;
    let entry = entries.iter().find(|entry| &*entry.image.comment == title)?;
    Some((entry.image.content().into_owned(), entry.undated))
}

fn header() -> Value {
    json!({"integrity": "slug", "world_info": BOOK})
}

/// Somebody adds a line to an entry, and a while later a scene adds another one to it. The scene's snapshot shows both.
#[test]
fn regression_what_a_hand_wrote_before_a_scene_did_is_the_hands() {
    let [first, second, third] = ["The town.", "The town.\nIts wall.", "The town.\nIts wall.\nIts gate."];
    let of = |text: &str| told(9, "location-Tern", text);
    let vault = TestVault::new();
    let (one, two) = ([of(first)], [of(third)]);
    let scenes = [
        Scene { message: 3, time: 190, made: &[9], tells: &["Tern"], seen: &one },
        Scene { message: 11, time: 690, made: &[], tells: &["Tern"], seen: &two },
    ];
    chat(&vault, "Main", &header(), (14, 14), &scenes);
    for (message, seen) in [(5, first), (7, second), (9, second)] {
        note(&vault, "Main", message, &[of(seen)]);
    }
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[registry(), of(third)]));
    let at = |message: usize| text(&vault, "Main", message, "location-Tern").unwrap().0;
    assert_eq!([at(4), at(6), at(10), at(11)], [first, second, second, third]);
}

/// An event is made when the snapshot of its scene is taken already, and somebody writes it anew before the next one is.
#[test]
fn regression_an_event_was_as_it_was_noted_and_not_as_the_next_scene_saw_it() {
    let of = |text: &str| told(10, "event-Fall", text);
    let vault = TestVault::new();
    let kay = [entry(9, "character-Kay")];
    let later = [kay[0].clone(), of("Everybody lived.")];
    let scenes = [
        Scene { message: 3, time: 190, made: &[9], tells: &["Kay"], seen: &kay },
        Scene { message: 11, time: 690, made: &[], tells: &["Kay"], seen: &later },
    ];
    chat(&vault, "Main", &header(), (14, 14), &scenes);
    for (message, seen) in [(5, "They fell."), (7, "They fell."), (9, "Everybody lived.")] {
        note(&vault, "Main", message, &[kay[0].clone(), of(seen)]);
    }
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[&[registry()], &later[..]].concat()));
    let at = |message: usize| text(&vault, "Main", message, "event-Fall").map(|(text, _)| text);
    assert_eq!(at(2), None);
    assert_eq!([at(3), at(6)], [Some("They fell.".to_owned()), Some("They fell.".to_owned())]);
    assert_eq!(at(10), Some("Everybody lived.".to_owned()));
}

/// An event is deleted, and somebody makes another entry of that title under the number that is free again: the scene has made the first one.
#[test]
fn regression_what_is_made_again_under_the_title_of_an_event_is_no_event() {
    let of = |text: &str| told(10, "event-Fall", text);
    let vault = TestVault::new();
    let kay = [entry(9, "character-Kay")];
    let before = [kay[0].clone(), of("They fell.")];
    let scenes = [
        Scene { message: 3, time: 190, made: &[9], tells: &["Kay"], seen: &kay },
        Scene { message: 6, time: 390, made: &[], tells: &["Kay"], seen: &before },
        Scene { message: 9, time: 570, made: &[], tells: &["Kay"], seen: &kay },
    ];
    let hash = &text_hashes("They fell.")[0];
    let running = json!({"chat_id": "Main", "current_version": 0, "versions": [{"version": 0, "timestamp": DAY + 190_400,
        "content": "All.", "new_scene_index": 3, "event_keys": [format!("0:Fall:{hash}")]}]});
    let mut header = header();
    header["auto_recap_running_scene_recaps"] = running;
    chat(&vault, "Main", &header, (12, 12), &scenes);
    note(&vault, "Main", 7, &before);
    note(&vault, "Main", 9, &kay);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[registry(), kay[0].clone(), of("Nobody came.")]));
    for looked in [false, true] {
        if looked {
            look(&vault);
        }
        let at = |message: usize| text(&vault, "Main", message, "event-Fall").map(|(text, _)| text);
        assert_eq!(
            [at(3), at(6)],
            [Some("They fell.".to_owned()), Some("They fell.".to_owned())],
            "{looked}"
        );
    }
}

/// A scene is processed eight messages after its last one: what a hand did in between is in its snapshot, and may be as young as that.
#[test]
fn regression_what_a_late_scene_shows_first_may_be_as_young_as_its_processing() {
    let vault = TestVault::new();
    let note = told(10, "note-Gate", "It is shut.");
    let (one, two) =
        ([entry(9, "character-Kay")], [entry(9, "character-Kay"), note, entry(11, "location-Quay")]);
    let scenes = [
        Scene { message: 2, time: 130, made: &[9], tells: &["Kay"], seen: &one },
        Scene { message: 5, time: 790, made: &[11], tells: &["Quay"], seen: &two },
    ];
    chat(&vault, "Main", &header(), (16, 16), &scenes);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[&[registry()], &two[..]].concat()));
    let marks = |message: usize| at(&vault, "Main", message).get("note-Gate").copied();
    assert_eq!([marks(2), marks(5), marks(12), marks(14)], [None, Some(true), Some(true), Some(false)]);
}

/// Another line has made an entry in a lorebook that both use, and in this one somebody writes all of it anew: nothing tells whether it is a new
/// one, so it is there, and marked.
#[test]
fn regression_words_that_a_hand_put_in_the_place_of_anothers_are_not_lost() {
    let vault = TestVault::new();
    let kay = entry(9, "character-Kay");
    let theirs = [kay.clone(), told(10, "note-Wim", "He lies.")];
    let ours = [kay.clone(), told(10, "note-Wim", "Nobody knows him.")];
    let first =
        || Scene { message: 2, time: 130, made: &[9], tells: &["Kay"], seen: std::slice::from_ref(&kay) };
    let left = Scene { message: 6, time: 370, made: &[10], tells: &["Wim"], seen: &theirs };
    let went = Scene { message: 9, time: 560, made: &[], tells: &["Kay"], seen: &ours };
    let mut forked = json!({"integrity": "branch", "world_info": BOOK});
    forked["main_chat"] = "Main".into();
    chat(&vault, "Main", &header(), (4, 10), &[first(), went]);
    chat(&vault, "Branch", &forked, (4, 7), &[first(), left]);
    vault.write(&format!("worlds/{BOOK}.json"), &book(&[&[registry()], &ours[..]].concat()));
    assert_eq!(text(&vault, "Branch", 6, "note-Wim"), Some(("He lies.".to_owned(), false)));
    assert_eq!(text(&vault, "Main", 9, "note-Wim"), Some(("Nobody knows him.".to_owned(), true)));
    assert_eq!(text(&vault, "Main", 3, "note-Wim"), None);
}
