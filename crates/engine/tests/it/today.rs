//! A lorebook of which only the file tells: what is known of it without working anything out is what would be worked out.

use std::sync::Arc;

use forklore_fs::{SimFs, Vfs};
use forklore_vault::state::at::{BookAt, Wanted};
use forklore_vault::{Library, NoProgress};
use serde_json::{Map, Value, json};

use crate::path;
use crate::random::Random;

const TITLES: [&str; 6] =
    ["Mara", "character-Mara", "The quay", "", "_registry_character", "__operation_queue"];

/// A vault with a chat of ten messages and a lorebook that somebody keeps, sometimes one that is odd, or not alone.
fn vault(random: &mut Random) -> Arc<SimFs> {
    let fs = SimFs::new();
    fs.put(&path("settings.json"), b"{}");
    let odd = random.below(3) == 0;
    let mut entries = Map::new();
    for n in 0..random.below(8) {
        let uid = if odd { random.below(6) } else { 20 - n };
        let title = if odd { random.pick(&TITLES).unwrap() } else { TITLES[random.below(4)] };
        let mut entry = json!({"uid": uid, "comment": title, "content": format!("Text {}.", random.below(4)), "key": ["a"], "disable": n % 2 == 0});
        if odd && random.below(4) == 0 {
            entry.as_object_mut().unwrap().remove("uid");
        }
        entries.insert(if odd && random.below(3) == 0 { format!("k{n}") } else { uid.to_string() }, entry);
    }
    fs.put(&path("worlds/Lore.json"), json!({"entries": entries}).to_string().as_bytes());
    let header = |name: &str, more: &Value| {
        let mut metadata = json!({"integrity": name, "world_info": "Lore"});
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"chat_metadata": metadata, "user_name": "U", "character_name": "Ana"}).to_string()
    };
    let lines = |from: usize, to: usize, of: &str| -> String {
        let line = |n: usize| json!({"name": "Ana", "is_user": false, "mes": format!("{of} {n}"), "send_date": format!("2026-01-01T00:00:{n:02}.000Z")});
        (from..to).map(|n| format!("\n{}", line(n))).collect()
    };
    let main = header("main", &json!({})) + &lines(0, 10, "said");
    fs.put(&path("chats/Ana/Main.jsonl"), main.as_bytes());
    if random.below(3) == 0 {
        let fork =
            header("fork", &json!({"main_chat": "Main"})) + &lines(0, 5, "said") + &lines(5, 8, "else");
        fs.put(&path("chats/Ana/Fork.jsonl"), fork.as_bytes());
    }
    Arc::new(fs)
}

fn told(book: &BookAt) -> String {
    let entries: Vec<_> = book
        .entries
        .iter()
        .map(|e| (&e.thing, e.image.uid, &e.image, e.message, e.undated, &e.inferred, e.observed))
        .collect();
    format!("{:?} {:?} {entries:#?} {:?}", book.name, book.source, book.left_out)
}

#[test]
fn what_nobody_saw_before_is_as_it_is_whoever_works_it_out() {
    for seed in 0..400 {
        let fs: Arc<dyn Vfs> = vault(&mut Random::new(seed));
        let library = Library::load(fs, &NoProgress).unwrap();
        for (c, chat) in library.chats() {
            for at in 0..=chat.head() {
                // Who asks for what is missing gets everything worked out; nothing is missing here.
                let wanted = Wanted { head: false, ..Wanted::default() };
                let quick = library.book_at(c, at, wanted).unwrap();
                let slow = library.book_at(c, at, Wanted { fill: true, ..wanted }).unwrap();
                assert_eq!(told(&quick), told(&slow), "seed {seed}, {} at {at}", chat.name());
            }
        }
    }
}
