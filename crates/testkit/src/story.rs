//! [`Story`]: a chat that is played with Auto-Recap, as far as its files tell. New, or one from disk that goes on.
//!
//! What it writes has the form that the real extension gives it: scenes with snapshots of the whole book, versions of the running
//! recap, registries and the working index, a queue entry.

use serde_json::{Map, Value, json};

use crate::TestVault;

/// A chat and its book in memory, to be changed and [saved](Story::save).
#[derive(Debug, Clone)]
pub struct Story {
    /// Folder of the character
    pub folder: String,
    /// Name of the chat
    pub name: String,
    /// First line of the chat
    pub header: Value,
    /// The other lines
    pub messages: Vec<Value>,
    /// The whole book
    pub book: Value,
    /// Entries that were written since the last scene
    written: Vec<i64>,
}

/// When these stories take place, in milliseconds.
const START: i64 = 1_763_632_000_000;

impl Story {
    /// A chat without messages; its book has three empty registries and a queue.
    pub fn new(folder: &str, name: &str) -> Self {
        let book = format!("z-AutoLB-{folder}-{name}");
        let mut entries = Map::new();
        for (uid, kind) in ["character", "location", "item"].into_iter().enumerate() {
            let uid = uid as i64;
            entries.insert(uid.to_string(), registry_entry(uid, kind, &format!("[Registry: {kind}]")));
        }
        entries.insert(START.to_string(), queue_entry(START));
        let metadata = json!({"integrity": format!("slug of {name}"), "world_info": book, "variables": {"gold": "9"},
            "auto_lorebooks": {"lorebookName": book, "attachedAt": START, "registry": {"index": {}}},
            "autoLorebooks": {"pendingOps": {}},
            "auto_recap_running_scene_recaps": {"chat_id": name, "current_version": 0, "versions": []}});
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
            header: json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}),
            messages: Vec::new(),
            book: json!({"entries": entries, "name": book}),
            written: Vec::new(),
        }
    }

    /// A chat that is on disk, with the book that it names.
    pub fn open(vault: &TestVault, address: &str) -> Self {
        let (folder, name) = address.split_once('/').unwrap();
        let text = vault.read(&format!("chats/{folder}/{name}.jsonl"));
        let mut lines =
            text.split(|c| *c == b'\n').map(|line| serde_json::from_slice::<Value>(line).unwrap());
        let header = lines.next().unwrap();
        let book = header["chat_metadata"]["world_info"].as_str().unwrap();
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
            book: serde_json::from_slice(&vault.read(&format!("worlds/{book}.json"))).unwrap(),
            messages: lines.collect(),
            header,
            written: Vec::new(),
        }
    }

    /// How one names the chat on the command line.
    pub fn address(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }

    /// Name of the book that the chat is bound to.
    pub fn book_name(&self) -> String {
        self.metadata()["world_info"].as_str().unwrap().to_owned()
    }

    /// The chat's metadata.
    pub fn metadata(&self) -> &Value {
        &self.header["chat_metadata"]
    }

    /// The chat's metadata, to be changed.
    pub fn metadata_mut(&mut self) -> &mut Value {
        &mut self.header["chat_metadata"]
    }

    /// The entries of the book, by key.
    pub fn entries(&mut self) -> &mut Map<String, Value> {
        self.book["entries"].as_object_mut().unwrap()
    }

    /// A time in the story that is later than everything so far, and in no other chat the same.
    fn now(&self) -> i64 {
        let own = self.name.bytes().map(i64::from).sum::<i64>() % 900;
        let versions = self.metadata()["auto_recap_running_scene_recaps"]["versions"].as_array();
        START + 1000 * (self.messages.len() + versions.map_or(0, Vec::len)) as i64 + own
    }

    /// More messages, until there are `n`.
    pub fn until(&mut self, n: usize) -> &mut Self {
        for i in self.messages.len()..n {
            let user = i % 2 == 1;
            let name = if user { "Mira" } else { &self.folder };
            let date = format!("2025-11-20T{:02}:{:02}:00.000Z", 10 + i / 60, i % 60);
            let text = format!("Message {i} of {}", self.name);
            self.messages.push(json!({"name": name, "is_user": user, "is_system": false, "send_date": date, "mes": text, "extra": {}}));
        }
        self
    }

    /// An entry comes into the book, or changes there; its registry and the working index hear of it.
    pub fn learn(&mut self, uid: i64, comment: &str, content: &str) -> &mut Self {
        let key = uid.to_string();
        match self.entries().get_mut(&key) {
            Some(old) => {
                old["content"] = json!(content);
                old["comment"] = json!(comment);
            }
            None => {
                self.entries().insert(key, entry(uid, comment, content));
            }
        }
        self.written.push(uid);
        self.register();
        self
    }

    /// An entry as it stands, which no registry lists.
    pub fn put(&mut self, key: &str, entry: Value) -> &mut Self {
        self.entries().insert(key.to_owned(), entry);
        self
    }

    /// An entry goes.
    pub fn forget(&mut self, uid: i64) -> &mut Self {
        self.entries().remove(&uid.to_string());
        self.register();
        self
    }

    /// Writes registries and index anew, as the extension does after every change.
    fn register(&mut self) {
        let mut index = Map::new();
        let facts: Vec<(i64, String)> = self
            .entries()
            .values()
            .filter_map(|e| Some((e["uid"].as_i64()?, e["comment"].as_str()?.to_owned())))
            .collect();
        for registry in self.entries().values_mut() {
            let Some(kind) = registry["comment"].as_str().and_then(|c| c.strip_prefix("_registry_")) else {
                continue;
            };
            let kind = kind.to_owned();
            let mut text = format!("[Registry: {kind}]");
            for (uid, name) in facts.iter().filter(|(_, name)| name.starts_with(&format!("{kind}-"))) {
                let alias = name[kind.len() + 1..].to_lowercase();
                text += &format!("\n- UID={uid} | name: {name} | aliases: {alias} | synopsis: About {name}");
                index.insert(
                    uid.to_string(),
                    json!({"uid": uid, "id": uid.to_string(), "type": kind, "name": name,
                    "comment": name, "aliases": [alias], "synopsis": format!("About {name}")}),
                );
            }
            registry["content"] = json!(text);
        }
        self.metadata_mut()["auto_lorebooks"]["registry"]["index"] = Value::Object(index);
    }

    /// The last message ends a scene, which is recapped and merged into the running recap.
    pub fn scene(&mut self, title: &str) -> &mut Self {
        let (at, clock) = (self.messages.len() - 1, self.now());
        let world = self.book_name();
        let written = std::mem::take(&mut self.written);
        let names: Vec<Value> = self
            .entries()
            .values()
            .filter(|e| written.contains(&e["uid"].as_i64().unwrap_or(-1)))
            .filter_map(|e| Some(json!({"name": e["comment"].as_str()?.split_once('-')?.1})))
            .collect();
        let recap = json!({"stage3": {"developments": [title]}, "stage4": {"entities": names}}).to_string();
        let snapshot: Vec<Value> = self
            .entries()
            .values()
            .filter(|e| e["comment"] != "__operation_queue")
            .map(|e| snapshot_entry(e, &world))
            .collect();
        let uids: Vec<String> = written.iter().map(i64::to_string).collect();
        let metadata = json!({"timestamp": clock, "startIdx": 0, "endIdx": at, "sceneMessageCount": at + 1,
            "totalActivatedEntries": snapshot.len(), "chatLorebookName": world, "suppressOtherLorebooks": false,
            "allEntries": snapshot, "entries": [], "created_entry_uids": uids, "combined_at": clock + 1});
        self.messages[at]["extra"]["auto_recap_memory"] = json!({"scene_break": true, "scene_break_visible": true,
            "scene_break_name": title, "scene_recap_memory": recap, "scene_recap_versions": ["", recap],
            "scene_recap_current_index": 1, "scene_recap_metadata": {"1": metadata}});
        let running = &mut self.metadata_mut()["auto_recap_running_scene_recaps"];
        let versions = running["versions"].as_array_mut().unwrap();
        let number = versions.iter().filter_map(|v| v["version"].as_i64()).max().map_or(0, |n| n + 1);
        let before = versions.last().map_or(json!(0), |v| v["new_scene_index"].clone());
        versions.push(json!({"version": number, "timestamp": clock + 2, "content": format!("So far, up to {title}"),
            "scene_count": versions.len() + 1, "excluded_count": 1, "prev_scene_index": before, "new_scene_index": at,
            "event_keys": []}));
        running["current_version"] = json!(number);
        self
    }

    /// What waits in the queue: (type, status).
    pub fn queue(&mut self, operations: &[(&str, &str)]) -> &mut Self {
        let operations: Vec<Value> = operations
            .iter()
            .enumerate()
            .map(|(i, (kind, status))| {
                json!({"id": format!("op_{i}"), "type": kind, "params": {"index": 1}, "status": status,
                "created_at": START, "retries": 0, "priority": 9, "dependencies": [], "metadata": {}})
            })
            .collect();
        let text = serde_json::to_string_pretty(
            &json!({"queue": operations, "current_operation_id": null, "paused": false,
            "version": 1, "queueVersion": 0}),
        )
        .unwrap();
        let queue = self.entries().values_mut().find(|e| e["comment"] == "__operation_queue").unwrap();
        queue["content"] = json!(text);
        self
    }

    /// Writes chat and book.
    pub fn save(&self, vault: &TestVault) {
        self.save_chat(vault);
        self.save_book(vault);
    }

    /// Writes the chat, as SillyTavern does: all of it anew.
    pub fn save_chat(&self, vault: &TestVault) {
        let lines: Vec<String> =
            std::iter::once(&self.header).chain(&self.messages).map(Value::to_string).collect();
        vault.write(&format!("chats/{}/{}.jsonl", self.folder, self.name), lines.join("\n").as_bytes());
    }

    /// Writes the book.
    pub fn save_book(&self, vault: &TestVault) {
        let mut text = Vec::new();
        let layout = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut writer = serde_json::Serializer::with_formatter(&mut text, layout);
        serde::Serialize::serialize(&self.book, &mut writer).unwrap();
        vault.write(&format!("worlds/{}.json", self.book_name()), &text);
    }
}

/// What SillyTavern gives a new entry.
const TEMPLATE: &str = r#"{"uid":0,"key":[],"keysecondary":[],"comment":"","content":"","constant":false,"vectorized":false,
    "selective":true,"selectiveLogic":0,"addMemo":false,"order":100,"position":0,"disable":false,"ignoreBudget":true,
    "excludeRecursion":false,"preventRecursion":false,"matchPersonaDescription":false,"matchCharacterDescription":false,
    "matchCharacterPersonality":false,"matchCharacterDepthPrompt":false,"matchScenario":false,"matchCreatorNotes":false,
    "delayUntilRecursion":0,"probability":100,"useProbability":true,"depth":4,"outletName":"","group":"","groupOverride":false,
    "groupWeight":100,"scanDepth":null,"caseSensitive":null,"matchWholeWords":null,"useGroupScoring":null,"automationId":"",
    "role":0,"sticky":4,"cooldown":null,"delay":null,"triggers":[],"displayIndex":0,
    "characterFilter":{"isExclude":false,"names":[],"tags":[]}}"#;

/// An entry with every field that SillyTavern gives it.
pub fn entry(uid: i64, comment: &str, content: &str) -> Value {
    let mut entry: Value = serde_json::from_str(TEMPLATE).unwrap();
    for (field, value) in [
        ("uid", json!(uid)),
        ("displayIndex", json!(uid)),
        ("key", json!([comment])),
        ("comment", json!(comment)),
        ("content", json!(content)),
    ] {
        entry[field] = value;
    }
    entry
}

/// A registry, which the extension switches off.
pub fn registry_entry(uid: i64, kind: &str, content: &str) -> Value {
    let mut registry = entry(uid, &format!("_registry_{kind}"), content);
    registry["key"] = json!([]);
    registry["disable"] = json!(true);
    registry["preventRecursion"] = json!(true);
    registry["tags"] = json!(["auto_lorebooks_registry"]);
    registry
}

fn queue_entry(uid: i64) -> Value {
    let text = "{\n  \"queue\": [],\n  \"current_operation_id\": null,\n  \"paused\": false,\n  \"version\": 1,\n  \"queueVersion\": 0\n}";
    let mut queue = entry(uid, "__operation_queue", text);
    queue["key"] = json!([]);
    queue["disable"] = json!(true);
    queue["order"] = json!(9999);
    queue
}

/// The fields of an entry that a scene keeps as they are.
pub const CAPTURED: [&str; 23] = [
    "comment",
    "uid",
    "key",
    "content",
    "position",
    "depth",
    "order",
    "role",
    "constant",
    "vectorized",
    "selective",
    "selectiveLogic",
    "sticky",
    "disable",
    "addMemo",
    "excludeRecursion",
    "preventRecursion",
    "ignoreBudget",
    "probability",
    "useProbability",
    "group",
    "groupOverride",
    "groupWeight",
];

/// An entry as a scene keeps it: 27 fields, two of them made up, one always empty.
fn snapshot_entry(entry: &Value, world: &str) -> Value {
    let mut image: Map<String, Value> =
        CAPTURED.iter().filter_map(|field| Some(((*field).to_owned(), entry.get(*field)?.clone()))).collect();
    image.insert("world".to_owned(), json!(world));
    image.insert("keysecondary".to_owned(), json!([]));
    image.insert("tags".to_owned(), entry.get("tags").cloned().unwrap_or_else(|| json!([])));
    image.insert("strategy".to_owned(), json!("normal"));
    Value::Object(image)
}
