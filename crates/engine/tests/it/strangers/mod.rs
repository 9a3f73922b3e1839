//! What stories taught that were played with the real extensions: who made an entry that others saw first, and what somebody who comes late
//! may conclude ([`looks`]); what lorebooks have in common that MemoryBooks copied ([`copies`]); what `heal` must not make wrong ([`healed`]); what
//! was noted with messages ([`logs`]); what chats had done that are gone ([`gone`]).

mod copies;
mod gone;
mod healed;
mod logs;
mod looks;

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_fs::{RealFs, Vfs};
use forklore_testkit::TestVault;
use forklore_vault::history::{Watch, rescue};
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

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
