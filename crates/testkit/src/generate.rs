//! Large vaults, made from a seed: the same on every machine.
//!
//! [`Size`] says how large; [`chat`] writes one chat of about that many bytes, with swipes, scenes with snapshots of a growing
//! book and forty versions of the running recap, in SillyTavern's own layout.

use std::io::{self, Write};

use serde_json::{Value, json};

pub use crate::random::Random;

/// What to make.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Bytes of the chat, roughly.
    pub bytes: u64,
    /// Entries of the book in the end.
    pub entries: usize,
    /// Scenes.
    pub scenes: usize,
    /// Where the random numbers start.
    pub seed: u64,
}

impl Random {
    /// Some words.
    pub fn words(&mut self, count: usize) -> String {
        const WORDS: [&str; 48] = [
            "rain",
            "slate",
            "the",
            "harbour",
            "lamp",
            "and",
            "she",
            "said",
            "nothing",
            "while",
            "tide",
            "turned",
            "a",
            "bell",
            "somewhere",
            "below",
            "his",
            "hands",
            "were",
            "cold",
            "letter",
            "unopened",
            "on",
            "table",
            "between",
            "them",
            "\"why",
            "now?\"",
            "night",
            "of",
            "fall",
            "remembered",
            "every",
            "word",
            "that",
            "had",
            "been",
            "kept",
            "back",
            "Zoë",
            "—",
            "door",
            "closed",
            "behind",
            "quietly",
            "before",
            "dawn",
            "\n\nThen",
        ];
        let mut text = String::new();
        for i in 0..count {
            if i > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[self.below(WORDS.len())]);
        }
        text
    }
}

/// Name of the generated book.
pub const BOOK: &str = "z-AutoLB-Gen-Long";

fn entry(uid: usize, random: &mut Random) -> Value {
    json!({"comment": format!("character-Person {uid}"), "uid": uid, "key": [format!("person {uid}")], "keysecondary": [],
        "content": random.words(60), "position": 0, "depth": 4, "order": 100, "role": 0, "constant": false, "vectorized": false,
        "selective": true, "selectiveLogic": 0, "sticky": 4, "disable": false, "addMemo": false, "excludeRecursion": false,
        "preventRecursion": false, "ignoreBudget": true, "probability": 100, "useProbability": true, "group": "",
        "groupOverride": false, "groupWeight": 100, "tags": []})
}

/// Writes a chat of about `size.bytes` bytes and returns its book.
pub fn chat(out: &mut impl Write, size: Size, integrity: &str) -> io::Result<Value> {
    let mut random = Random::new(size.seed);
    // Every scene holds the whole book as it was: on average half of its entries, of about 900 bytes.
    let snapshots = (size.scenes * size.entries / 2 * 900) as u64;
    let messages =
        usize::try_from(size.bytes.saturating_sub(snapshots) / 2_100).unwrap_or(1).max(size.scenes * 2 + 2);
    let ends: Vec<usize> = (1..=size.scenes).map(|s| s * (messages - 2) / size.scenes).collect();
    let versions: Vec<Value> = ends
        .iter()
        .enumerate()
        .map(|(v, end)| {
            json!({"version": v, "timestamp": 1_700_000_000_000u64 + v as u64 * 1000, "content": random.words(200),
                "scene_count": v + 1, "excluded_count": 1, "prev_scene_index": if v == 0 { 0 } else { ends[v - 1] },
                "new_scene_index": end, "event_keys": []})
        })
        .collect();
    let header = json!({"chat_metadata": {"integrity": integrity, "world_info": BOOK,
        "auto_recap_running_scene_recaps": {"chat_id": "Long", "current_version": versions.len().saturating_sub(1), "versions": versions}},
        "user_name": "unused", "character_name": "unused"});
    write!(out, "{header}")?;
    let mut entries: Vec<Value> = vec![
        json!({"comment": "_registry_character", "uid": 0, "key": [], "content": "[Registry: character]", "disable": true}),
    ];
    for i in 0..messages {
        let user = i % 2 == 1;
        let text = random.words(if user { 60 } else { 230 });
        let mut extra = json!({"api": "custom", "model": "generated", "reasoning": ""});
        if let Some(scene) = ends.iter().position(|end| *end == i) {
            let first = entries.len();
            let until = 1 + (scene + 1) * size.entries / size.scenes;
            while entries.len() < until {
                let uid = entries.len();
                entries.push(entry(uid, &mut random));
            }
            let created: Vec<String> = (first..entries.len()).map(|uid| uid.to_string()).collect();
            let clock = 1_700_000_000_500u64 + scene as u64 * 1000;
            extra["auto_recap_memory"] = json!({"scene_break": true, "scene_break_visible": true,
                "scene_break_name": format!("Scene {scene}"), "scene_recap_memory": random.words(80),
                "scene_recap_versions": ["", "text"], "scene_recap_current_index": 1,
                "scene_recap_metadata": {"1": {"timestamp": clock - 100, "chatLorebookName": BOOK, "allEntries": entries,
                    "entries": [], "created_entry_uids": created, "combined_at": clock}}});
        }
        let mut line = json!({"name": if user { "Ana" } else { "Gen" }, "is_user": user, "is_system": false,
            "send_date": format!("2026-01-{:02}T{:02}:{:02}:{:02}.000Z", i / 86_400 % 28 + 1, i / 3600 % 24, i / 60 % 60, i % 60),
            "mes": text, "extra": extra});
        if !user {
            line["swipes"] = json!([text, random.words(120)]);
            line["swipe_id"] = json!(0);
            line["swipe_info"] = json!([{"extra": {}}, {"extra": {}}]);
        }
        write!(out, "\n{line}")?;
    }
    let map: serde_json::Map<String, Value> =
        entries.into_iter().map(|entry| (entry["uid"].to_string(), entry)).collect();
    Ok(json!({"entries": map}))
}
