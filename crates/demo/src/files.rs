//! [`lay_out`]: the files that SillyTavern and Auto-Recap would have written.

use base64::Engine as _;
use forklore_core::adapter::auto_recap::text_hash;
use serde_json::{Map, Value, json};

use crate::chronicle::{BEGIN, Book, Chronicle, Processed, TYPES, scenes_on_line};
use crate::story::{Message, Scene, Story};
use crate::{DemoError, portrait};

/// All files of the vault: path and content.
pub(crate) fn lay_out(story: &Story, chronicle: &Chronicle) -> Result<Vec<(String, Vec<u8>)>, DemoError> {
    let writer = Writer { story, chronicle };
    let mut files = Vec::new();
    for c in 0..story.chats.len() {
        files.push((format!("chats/{}/{}.jsonl", story.character, story.chats[c].name), writer.chat(c)));
        if let Some(book) = chronicle.books.get(&c) {
            files.push((format!("worlds/{}.json", writer.book_name(c)), pretty(&writer.book(c, book))));
        }
    }
    files.push((format!("characters/{}.png", story.character), writer.card()?));
    files.push(("settings.json".to_owned(), pretty(&writer.settings())));
    Ok(files)
}

struct Writer<'a> {
    story: &'a Story,
    chronicle: &'a Chronicle,
}

impl Writer<'_> {
    /// Auto-Recap's name for the book of a chat.
    fn book_name(&self, chat: usize) -> String {
        format!("z-AutoLB-{}-{}", self.story.character, self.story.chats[chat].name)
    }

    fn chat(&self, c: usize) -> Vec<u8> {
        let mut lines = vec![self.header(c).to_string()];
        lines.extend(
            self.messages(c)
                .iter()
                .enumerate()
                .map(|(i, (by, message))| self.message(c, i, *by, message).to_string()),
        );
        lines.join("\n").into_bytes()
    }

    /// The messages of a chat with the chat that each was written in.
    fn messages(&self, c: usize) -> Vec<(usize, Message)> {
        let chat = &self.story.chats[c];
        let parent = chat.parent.as_deref().and_then(|name| self.story.find(name));
        let mut messages = parent.map(|p| self.messages(p)).unwrap_or_default();
        if let Some(at) = chat.at {
            messages.truncate(at + 1);
            if let (Some(swipe), Some((_, last))) = (chat.swipe, messages.last_mut()) {
                // The fork goes on from another answer: it is the one shown there.
                std::mem::swap(&mut last.text, &mut last.swipes[swipe]);
            }
        }
        messages.extend(chat.messages.iter().map(|m| (c, m.clone())));
        messages
    }

    fn header(&self, c: usize) -> Value {
        let chat = &self.story.chats[c];
        let owner = Chronicle::owner(self.story, c);
        let book = self.book_name(owner);
        let mut metadata = Map::new();
        metadata.insert("integrity".into(), json!(uuid(&chat.name)));
        metadata.insert("world_info".into(), json!(book));
        metadata.insert("tainted".into(), json!(true));
        if let Some(parent) = &chat.parent {
            metadata.insert("main_chat".into(), json!(parent));
        }
        let index: Map<String, Value> = self.chronicle.books[&owner]
            .entries
            .iter()
            .map(|(uid, e)| {
                let name = format!("{}-{}", e.kind, e.name);
                let record = json!({"uid": uid, "id": uid.to_string(), "type": e.kind, "name": name, "comment": name,
                    "synopsis": e.synopsis, "aliases": e.keys});
                (uid.to_string(), record)
            })
            .collect();
        metadata.insert(
            "auto_lorebooks".into(),
            json!({"lorebookName": book, "attachedAt": BEGIN, "registry": {"index": index}}),
        );
        metadata.insert("auto_recap_running_scene_recaps".into(), self.running(c));
        json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"})
    }

    /// The running recap. A fork that shares its parent's book was made as SillyTavern makes them, with all of the parent's versions.
    fn running(&self, c: usize) -> Value {
        let chat = &self.story.chats[c];
        let mut scenes = scenes_on_line(self.story, c);
        if chat.shares_book {
            let owner = Chronicle::owner(self.story, c);
            scenes.extend(scenes_on_line(self.story, owner));
            scenes.sort_by_key(|key| self.chronicle.scenes[key].clock);
            scenes.dedup();
        }
        let mut versions: Vec<Value> = Vec::new();
        for key in &scenes {
            let (scene, done) = (self.scene(*key), &self.chronicle.scenes[key]);
            let version = versions.len();
            let prev = versions.last().map_or(0, |v| v["new_scene_index"].as_u64().unwrap_or(0));
            let events: Vec<String> = done
                .events
                .iter()
                .map(|(name, text)| format!("{version}:{name}:{}", text_hash(text)))
                .collect();
            versions.push(json!({"version": version, "timestamp": done.clock - 240, "content": running_text(scene),
                "scene_count": version + 1, "excluded_count": 1, "prev_scene_index": prev, "new_scene_index": scene.ends,
                "event_keys": events}));
        }
        json!({"chat_id": chat.name, "current_version": versions.len().saturating_sub(1), "versions": versions})
    }

    fn scene(&self, key: (usize, usize)) -> &Scene {
        // Keys come from the same lists that this looks through.
        let found = self.story.chats[key.0].scenes.iter().find(|s| s.ends == key.1);
        found.unwrap_or(&self.story.chats[0].scenes[0])
    }

    fn message(&self, c: usize, i: usize, by: usize, message: &Message) -> Value {
        let user = message.by == "user";
        let minutes = i64::try_from(i).unwrap_or(0) * 4 + i64::try_from(by).unwrap_or(0) * 600;
        let date = iso(BEGIN + minutes * 60_000);
        let name = if user { &self.story.user } else { &self.story.character };
        let mut extra = Map::new();
        if let Some(key) = scenes_on_line(self.story, c).into_iter().find(|(_, ends)| *ends == i) {
            extra.insert("auto_recap_memory".into(), self.scene_data(key));
        }
        let forks = self.story.chats.iter().filter(|f| f.kind == "checkpoint" && f.at == Some(i));
        let mut ours = forks.filter(|f| f.parent.as_deref() == Some(&self.story.chats[c].name));
        if let Some(checkpoint) = ours.next() {
            extra.insert("bookmark_link".into(), json!(checkpoint.name));
        }
        let mut line = json!({"name": name, "is_user": user, "is_system": false, "send_date": date, "mes": message.text, "extra": extra});
        if !user {
            let swipes: Vec<&String> = std::iter::once(&message.text).chain(&message.swipes).collect();
            let info: Vec<Value> = swipes.iter().map(|_| json!({"send_date": date, "extra": {}})).collect();
            line["swipes"] = json!(swipes);
            line["swipe_id"] = json!(0);
            line["swipe_info"] = json!(info);
        }
        line
    }

    fn scene_data(&self, key: (usize, usize)) -> Value {
        let (scene, done) = (self.scene(key), &self.chronicle.scenes[&key]);
        let start = scenes_on_line(self.story, key.0)
            .iter()
            .map(|(_, ends)| ends + 1)
            .filter(|s| *s <= scene.ends)
            .max()
            .unwrap_or(0);
        let entities: Vec<Value> = scene
            .entries
            .iter()
            .filter(|e| e.kind != "event")
            .map(|e| json!({"type": e.kind, "name": e.name, "keywords": e.keys, "content": e.content}))
            .collect();
        let recap = json!({"scene_name": scene.name, "stage2": {"sn": scene.name, "recap": {"outcomes": scene.recap}},
            "stage4": {"entities": entities}})
        .to_string();
        let owner = Chronicle::owner(self.story, key.0);
        let book = self.book_name(owner);
        json!({"scene_break": true, "scene_break_visible": true, "scene_break_name": format!("{} {start}-{}", scene.name, scene.ends),
            "scene_recap_memory": recap, "scene_recap_versions": ["", recap], "scene_recap_current_index": 1,
            "scene_recap_hash": text_hash(&recap),
            "scene_recap_metadata": {"1": {"timestamp": done.clock - 3000, "startIdx": start, "endIdx": scene.ends,
                "sceneMessageCount": scene.ends + 1 - start, "totalActivatedEntries": done.created.len(),
                "chatLorebookName": book, "suppressOtherLorebooks": true, "allEntries": snapshot(done, &book), "entries": [],
                "created_entry_uids": done.created.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "combined_at": done.clock}}})
    }

    fn book(&self, c: usize, book: &Book) -> Value {
        let mut entries = Map::new();
        for entry in all_entries(book) {
            entries.insert(entry["uid"].to_string(), with_template(entry));
        }
        let uid = BEGIN + i64::try_from(c).unwrap_or(0);
        let queue = json!({"queue": [], "current_operation_id": null, "paused": false, "version": 1, "queueVersion": 0});
        let text = String::from_utf8_lossy(&pretty(&queue)).into_owned();
        let queue = json!({"uid": uid, "key": [], "keysecondary": [], "comment": "__operation_queue", "content": text,
            "constant": false, "disable": true, "excludeRecursion": true, "order": 1000, "position": 0, "depth": 4,
            "displayIndex": uid});
        entries.insert(uid.to_string(), with_template(queue));
        json!({"entries": entries})
    }

    fn card(&self) -> Result<Vec<u8>, DemoError> {
        let story = self.story;
        let greeting = &story.chats[0].messages[0].text;
        let data = json!({"name": story.character, "description": story.description, "personality": "", "scenario": "",
            "first_mes": greeting, "mes_example": "", "creator_notes": "The demo story of Forklore.", "system_prompt": "",
            "post_history_instructions": "", "alternate_greetings": [], "tags": ["mystery"], "creator": "Forklore",
            "character_version": "1", "extensions": {"world": ""}});
        let card = json!({"name": story.character, "description": story.description, "first_mes": greeting,
            "chat": story.chats[0].name, "create_date": iso(BEGIN), "spec": "chara_card_v2", "spec_version": "2.0", "data": data});
        let text = base64::engine::general_purpose::STANDARD.encode(card.to_string());
        portrait::png(&text).map_err(|e| DemoError::Story(e.to_string()))
    }

    fn settings(&self) -> Value {
        let types: Vec<Value> = TYPES.iter().map(|t| json!({"name": t, "constant": *t == "rule"})).collect();
        json!({"username": self.story.user, "world_info_settings": {"world_info": {"globalSelect": []}},
            "power_user": {"personas": {"user-default.png": self.story.user}, "persona_description_lorebook": ""},
            "extension_settings": {"autoLorebooks": {"nameTemplate": "z-AutoLB-{{char}}-{{chat}}", "entity_types": types},
                "auto_recap_memory": {"chats_enabled": {}, "chat_profiles": {}}}})
    }
}

/// The book as a scene's snapshot has it.
fn snapshot(done: &Processed, book: &str) -> Vec<Value> {
    let add = |mut entry: Value| {
        entry["world"] = json!(book);
        entry["strategy"] = json!("normal");
        entry
    };
    all_entries(&done.snapshot).into_iter().map(add).collect()
}

/// Registries first, then the entities.
fn all_entries(book: &Book) -> Vec<Value> {
    let mut entries = Vec::new();
    for (uid, kind) in TYPES.iter().enumerate() {
        let mut lines: Vec<String> = book
            .entries
            .iter()
            .filter(|(_, e)| e.kind == *kind)
            .map(|(uid, e)| {
                format!(
                    "- UID={uid} | name: {}-{} | aliases: {} | synopsis: {}",
                    e.kind,
                    e.name,
                    e.keys.join("; "),
                    e.synopsis
                )
            })
            .collect();
        lines.sort_by_key(|line| line.split("name: ").nth(1).unwrap_or_default().to_owned());
        let content =
            std::iter::once(format!("[Registry: {kind}]")).chain(lines).collect::<Vec<_>>().join("\n");
        entries.push(entry(uid, &format!("_registry_{kind}"), &[], &content, true));
    }
    for (uid, e) in &book.entries {
        entries.push(entry(*uid, &format!("{}-{}", e.kind, e.name), &e.keys, &e.content.join("\n"), false));
    }
    entries
}

fn entry(uid: usize, comment: &str, keys: &[String], content: &str, registry: bool) -> Value {
    let tags: &[&str] = if registry { &["auto_lorebooks_registry"] } else { &[] };
    json!({"comment": comment, "uid": uid, "key": keys, "keysecondary": [], "content": content, "position": 0, "depth": 4,
        "order": 1000 - uid, "role": 0, "constant": false, "vectorized": false, "selective": true, "selectiveLogic": 0,
        "sticky": if registry { Value::Null } else { json!(4) }, "disable": registry, "addMemo": false, "excludeRecursion": false,
        "preventRecursion": registry, "ignoreBudget": true, "probability": 100, "useProbability": true, "group": "",
        "groupOverride": false, "groupWeight": 100, "tags": tags})
}

/// With the fields of a lorebook entry that a snapshot does not have.
fn with_template(mut entry: Value) -> Value {
    let template = json!({"matchPersonaDescription": false, "matchCharacterDescription": false, "matchScenario": false,
        "delayUntilRecursion": 0, "outletName": "", "scanDepth": null, "caseSensitive": null, "matchWholeWords": null,
        "useGroupScoring": null, "automationId": "", "cooldown": null, "delay": null, "triggers": []});
    if let (Value::Object(entry), Value::Object(template)) = (&mut entry, template) {
        if !entry.contains_key("displayIndex") {
            entry.insert("displayIndex".into(), entry["uid"].clone());
        }
        for (key, value) in template {
            entry.entry(key).or_insert(value);
        }
    }
    entry
}

fn running_text(scene: &Scene) -> String {
    let parts = [("DEVELOPMENTS", &scene.developments), ("OPEN", &scene.open), ("STATE", &scene.state)];
    let parts = parts.iter().filter(|(_, lines)| !lines.is_empty());
    parts.map(|(title, lines)| format!("{title}:\n{}", lines.join("\n"))).collect::<Vec<_>>().join("\n\n")
}

/// A slug that is the same on every run.
fn uuid(name: &str) -> String {
    let hex = blake3::hash(name.as_bytes()).to_hex();
    format!("{}-{}-4{}-a{}-{}", &hex[0..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// A time as JavaScript writes it. The story plays within one month, so days need no calendar.
fn iso(millis: i64) -> String {
    let seconds = millis / 1000;
    // 1 October 2026, 00:00.
    let since_october = seconds - 1_790_812_800;
    let (day, rest) = (since_october / 86_400 + 1, since_october % 86_400);
    format!(
        "2026-10-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
        millis % 1000
    )
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    // Writing a value that was just built into memory cannot fail.
    let _done = serde::Serialize::serialize(value, &mut serializer);
    out
}
