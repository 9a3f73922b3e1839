//! A large lorebook is worked out from the few of its entries that ever changed: what is told so is what working out all of them tells.

use std::sync::Arc;

use forklore_fs::{SimFs, Vfs};
use forklore_vault::history::Watch;
use forklore_vault::state::at::{BookAt, Wanted};
use forklore_vault::{Library, NoProgress};
use serde_json::{Map, Value, json};

use crate::path;
use crate::random::Random;

const TITLES: [&str; 5] = ["Mara", "character-Mara", "The quay", "", "__index_1"];

/// A chat with a lorebook, both of which change.
struct Played {
    fs: Arc<SimFs>,
    random: Random,
    /// Whether an extension keeps the book
    kept: bool,
    /// Whether another one has written in it
    memories: bool,
    /// Whether entries lack what others have
    odd: bool,
    book: Vec<(String, Value)>,
    messages: usize,
    looks: i64,
}

impl Played {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let kept = random.below(2) == 0;
        let (memories, odd) = (random.below(3) == 0, random.below(8) == 0);
        let mut book = Vec::new();
        if kept {
            let list = "[Registry: character]\n- uid: 3 | name: A | aliases: — | synopsis: s";
            book.push(("40".to_owned(), entry(40, "_registry_character", list)));
            book.push(("41".to_owned(), entry(41, "__operation_queue", "{\"queue\":[]}")));
        }
        for uid in 0..8 + random.below(6) {
            let title = *random.pick(&TITLES).unwrap();
            book.push((uid.to_string(), entry(uid, title, &format!("Text {}.", random.below(4)))));
        }
        let fs = Arc::new(SimFs::new());
        fs.put(&path("settings.json"), b"{}");
        let mut played = Self { fs, random, kept, memories, odd, book, messages: 3, looks: 0 };
        for place in 0..played.book.len() {
            played.tell(place);
        }
        played
    }

    /// Sometimes an entry says where it comes from, in one of the ways that MemoryBooks has for it; or it lacks its number.
    fn tell(&mut self, place: usize) {
        let (message, entry) = (self.random.below(6), &mut self.book[place].1);
        if self.odd && self.random.below(4) == 0 {
            entry.as_object_mut().unwrap().remove("uid");
        }
        if !self.memories || entry["comment"].as_str().is_some_and(|title| title.starts_with('_')) {
            return;
        }
        let of_clip =
            json!({"extensions": {"aikobots": {"topical_clip": {"last_message_source": {"end": message}}}}});
        let more = match self.random.below(9) {
            0 => json!({"stmemorybooks": true, "STMB_start": 0, "STMB_end": message}),
            1 => json!({"stmemorybooks": true}),
            2 => json!({"STMB_sp_mood_lastMsgId": message}),
            3 => json!({"data": of_clip}),
            4 => json!({"STMB_clipReview": {"sceneEnd": message}}),
            5 => json!({"disabledBySummaryId": message, "disable": true}),
            _ => return,
        };
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }

    /// What somebody does next.
    fn act(&mut self) {
        let place = self.random.below(self.book.len().max(1));
        let text = format!("Text {}.", self.random.below(6));
        match self.random.below(12) {
            0..=2 => self.messages += 1 + self.random.below(3),
            3 if place < self.book.len() => drop(self.book.remove(place)),
            4 => {
                // Sometimes under a number that another one had, or has.
                let uid = self.random.below(16);
                let key = if self.random.below(8) == 0 { format!("k{uid}") } else { uid.to_string() };
                self.book.retain(|(other, _)| *other != key);
                self.book.push((key, entry(uid, self.random.pick(&TITLES).unwrap(), &text)));
                self.tell(self.book.len() - 1);
            }
            5 if place < self.book.len() => {
                self.book[place].1["disable"] = json!(self.random.below(2) == 0);
            }
            6 if place < self.book.len() => self.book[place].1["comment"] = json!(format!("Title {place}")),
            7 => self.book.rotate_left(place),
            8 if self.kept => {
                let work = self.random.below(2) == 0;
                let queue = if work {
                    r#"{"queue":[{"id":"1","type":"update_lorebook_entry","status":"in_progress","metadata":{"entry_uid":2}}]}"#
                } else {
                    "{\"queue\":[]}"
                };
                let place = self.book.iter().position(|(key, _)| key == "41");
                place.into_iter().for_each(|place| self.book[place].1["content"] = json!(queue));
            }
            9 if self.kept => {
                let place = self.book.iter().position(|(key, _)| key == "40");
                let list = format!(
                    "[Registry: character]\n- uid: {} | name: A | aliases: — | synopsis: s",
                    self.random.below(5)
                );
                place.into_iter().for_each(|place| self.book[place].1["content"] = json!(list));
            }
            _ if place < self.book.len() => self.book[place].1["content"] = json!(text),
            _ => {}
        }
    }

    fn save(&self) {
        let entries: Map<String, Value> = self.book.iter().cloned().collect();
        // Nothing but its length tells that a book is large.
        let book = json!({"entries": entries, "padding": "x".repeat(1 << 20)});
        self.fs.put(&path("worlds/Lore.json"), book.to_string().as_bytes());
        self.chat("Main", &json!({}), self.messages, "said");
    }

    fn chat(&self, name: &str, more: &Value, messages: usize, said: &str) {
        let mut metadata = json!({"integrity": name, "world_info": "Lore"});
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut text =
            json!({"chat_metadata": metadata, "user_name": "U", "character_name": "Ana"}).to_string();
        for n in 0..messages {
            let said = if n < 2 { "said" } else { said };
            let line = json!({"name": "Ana", "is_user": false, "mes": format!("{said} {n}"), "send_date": format!("2026-01-01T00:{:02}:{:02}.000Z", n / 60, n % 60)});
            text.push('\n');
            text.push_str(&line.to_string());
        }
        self.fs.put(&path(&format!("chats/Ana/{name}.jsonl")), text.as_bytes());
    }

    fn look(&mut self) {
        self.save();
        self.looks += 1;
        let fs: Arc<dyn Vfs> = self.fs.clone();
        let now = 1_780_000_000_000 + self.looks * 60_000;
        Watch::open(fs).unwrap().sweep(now, &NoProgress).unwrap();
    }
}

fn entry(uid: usize, title: &str, content: &str) -> Value {
    json!({"uid": uid, "comment": title, "content": content, "key": ["a"], "disable": false})
}

fn told(book: &BookAt) -> String {
    let entries: Vec<_> = { book.entries.iter() }
        .map(|e| (e.image.uid, &e.image, e.message, e.undated, &e.inferred, e.observed))
        .collect();
    format!("{:?} {:?} {entries:#?} {:?}", book.name, book.source, book.left_out)
}

#[test]
fn few_entries_of_a_large_book_tell_what_all_of_them_would() {
    let mut by_few = 0;
    for seed in 0..160 {
        let mut played = Played::new(seed);
        for _ in 0..played.random.below(7) {
            for _ in 0..played.random.below(4) {
                played.act();
            }
            played.look();
        }
        for _ in 0..played.random.below(3) {
            played.act();
        }
        played.save();
        if played.random.below(4) == 0 {
            let book = ["Lore", "Other"][played.random.below(2)];
            played.chat("Fork", &json!({"main_chat": "Main", "world_info": book}), 5, "else");
        }
        let fs: Arc<dyn Vfs> = played.fs.clone();
        let library = Library::load(fs, &NoProgress).unwrap();
        for (c, chat) in library.chats() {
            for at in 0..=chat.head() {
                for undated in [true, false] {
                    let wanted = Wanted { head: false, undated, ..Wanted::default() };
                    let quick = library.book_at(c, at, wanted).unwrap();
                    // Who asks for what is missing gets everything worked out; nothing is missing here.
                    let slow = library.book_at(c, at, Wanted { fill: true, ..wanted }).unwrap();
                    assert_eq!(told(&quick), told(&slow), "seed {seed}, {} at {at}", chat.name());
                    by_few += usize::from(quick.entries.iter().any(|entry| entry.thing.is_none()));
                }
            }
        }
    }
    assert!(by_few > 500, "{by_few}");
}
