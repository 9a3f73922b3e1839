//! The files of a story, in the forms that SillyTavern and the extensions give them.

use forklore_fs::{VaultPath, Vfs};
use serde_json::{Map, Value, json};

use super::world::{Book, Chat, Entry, Keeper, Message, World};

/// A time as SillyTavern 1.19 writes it.
pub(super) fn date(clock: i64) -> String {
    let (days, rest) = (clock.div_euclid(86_400_000), clock.rem_euclid(86_400_000));
    // Days since 1970 to a date, by years of the era that begin in March.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (h, m, s, ms) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{ms:03}Z")
}

/// The hash that Auto-Recap puts into event keys.
pub(super) fn text_hash(text: &str) -> String {
    let hash =
        text.trim().encode_utf16().fold(0i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)));
    let mut rest = hash.unsigned_abs();
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(rest % 36, 36).unwrap_or('0'));
        rest /= 36;
        if rest == 0 {
            return digits.iter().rev().collect();
        }
    }
}

fn is_registry(entry: &Entry) -> bool {
    entry.title.starts_with("_registry_")
}

/// One element of `allEntries`.
pub(super) fn snapshot_entry(uid: i64, entry: &Entry, book: &str) -> Value {
    let registry = is_registry(entry);
    let tags = if registry { json!(["auto_lorebooks_registry"]) } else { json!([]) };
    json!({"comment": entry.title, "uid": uid, "world": book, "key": keys(entry), "keysecondary": [],
        "content": entry.lines.join("\n"), "position": 0, "depth": 4, "order": entry.order, "role": 0, "constant": false,
        "vectorized": false, "selective": true, "selectiveLogic": 0, "sticky": if registry { Value::Null } else { json!(4) },
        "disable": entry.off || registry, "addMemo": false, "excludeRecursion": false, "preventRecursion": registry,
        "ignoreBudget": true, "probability": 100, "useProbability": !registry, "group": "", "groupOverride": false,
        "groupWeight": 100, "tags": tags, "strategy": "normal"})
}

fn keys(entry: &Entry) -> Vec<String> {
    if is_registry(entry) { Vec::new() } else { vec![entry.title.to_lowercase()] }
}

fn entry(uid: i64, entry: &Entry, keeper: Keeper) -> Value {
    let registry = is_registry(entry);
    let recap = keeper == Keeper::Recap;
    let mut value = json!({"uid": uid, "key": keys(entry), "keysecondary": [], "comment": entry.title,
        "content": entry.lines.join("\n"), "constant": false, "vectorized": keeper == Keeper::Memory, "selective": true,
        "selectiveLogic": 0, "addMemo": !recap, "order": entry.order, "position": 0, "disable": entry.off || registry,
        "ignoreBudget": recap, "excludeRecursion": false, "preventRecursion": registry, "delayUntilRecursion": 0,
        "probability": 100, "useProbability": !registry, "depth": 4, "outletName": "", "group": "", "groupOverride": false,
        "groupWeight": 100, "scanDepth": null, "caseSensitive": null, "matchWholeWords": null, "useGroupScoring": null,
        "automationId": "", "role": null, "sticky": if recap && !registry { json!(4) } else { Value::Null }, "cooldown": null,
        "delay": null, "triggers": [], "displayIndex": uid});
    if registry {
        value["tags"] = json!(["auto_lorebooks_registry"]);
    }
    for (key, mark) in &entry.marks {
        value[key] = mark.clone();
    }
    value
}

fn queue(uid: i64, work: &[Value]) -> Value {
    let queue = json!({"queue": work, "current_operation_id": work.first().map(|op| &op["id"]), "paused": false, "version": 1,
        "queueVersion": 0});
    let content = serde_json::to_string_pretty(&queue).unwrap_or_default();
    json!({"uid": uid, "key": [], "keysecondary": [], "content": content, "comment": "__operation_queue", "constant": false,
        "disable": true, "excludeRecursion": true, "order": 1000, "position": 0, "depth": 4, "displayIndex": uid,
        "probability": 100, "useProbability": true})
}

pub(super) fn book_bytes(book: &Book) -> Vec<u8> {
    let mut rows: Vec<(i64, Value)> =
        book.entries.iter().map(|(uid, e)| (*uid, entry(*uid, e, book.keeper))).collect();
    rows.extend(book.queue.map(|uid| (uid, queue(uid, &book.work))));
    let rows: Vec<String> = rows.iter().map(|(uid, value)| format!("        \"{uid}\": {value}")).collect();
    format!("{{\n    \"entries\": {{\n{}\n    }}\n}}", rows.join(",\n")).into_bytes()
}

fn extra(message: &Message) -> Value {
    let mut extra = Map::new();
    if let Some(scene) = &message.scene {
        let metadata: Map<String, Value> = scene
            .metadata
            .iter()
            .map(|(version, s)| {
                let mut value = json!({"timestamp": s.timestamp, "startIdx": s.from, "endIdx": s.to,
                    "sceneMessageCount": s.to + 1 - s.from, "totalActivatedEntries": s.entries.len(),
                    "totalBeforeFiltering": 0, "chatLorebookName": s.book, "suppressOtherLorebooks": true,
                    "allEntries": s.entries, "entries": [], "created_entry_uids": s.created});
                if s.combined > 0 {
                    value["combined_at"] = json!(s.combined);
                }
                (version.to_string(), value)
            })
            .collect();
        let current = scene.recaps.len() - 1;
        let recap = &scene.recaps[current];
        let module = json!({"auto_scene_break_checked": true, "scene_break": true, "scene_break_visible": true,
            "scene_recap_versions": scene.recaps, "scene_recap_current_index": current, "scene_recap_memory": recap,
            "scene_recap_hash": text_hash(recap), "scene_break_recap": recap, "scene_break_name": scene.name,
            "scene_recap_metadata": metadata});
        extra.insert("auto_recap_memory".to_owned(), module);
    }
    if let Some((active, rest)) = &message.log {
        extra.insert("activeLorebookEntries".to_owned(), active.clone());
        extra.insert("inactiveLorebookEntries".to_owned(), rest.clone());
    }
    if let Some(link) = &message.link {
        extra.insert("bookmark_link".to_owned(), json!(link));
    }
    Value::Object(extra)
}

fn message(m: &Message, card: &str) -> Value {
    let name = if m.user { "Ash" } else { card };
    let mut value = json!({"name": name, "is_user": m.user, "is_system": m.hidden, "send_date": date(m.date), "mes": m.text,
        "extra": extra(m)});
    if !m.user {
        let texts: Vec<&String> = m.swipes.iter().map(|(text, _)| text).collect();
        let info: Vec<Value> =
            m.swipes.iter().map(|(_, clock)| json!({"send_date": date(*clock), "extra": {}})).collect();
        value["swipes"] = json!(texts);
        value["swipe_id"] = json!(m.swipe);
        value["swipe_info"] = json!(info);
    }
    value
}

impl World {
    fn metadata(&self, chat: &Chat) -> Value {
        let mut metadata = Map::new();
        let mut set = |key: &str, value: Value| metadata.insert(key.to_owned(), value);
        set("integrity", json!(chat.slug));
        if let Some(main_chat) = &chat.main_chat {
            set("main_chat", json!(main_chat));
        }
        if chat.book.is_some() {
            set("world_info", json!(chat.bound));
        }
        if self.setting.keeper == Keeper::Recap && chat.book.is_some() {
            let versions: Vec<Value> = chat
                .running
                .versions
                .iter()
                .enumerate()
                .map(|(n, v)| {
                    json!({"version": v.number, "timestamp": v.clock, "content": v.content(),
                        "scene_count": n + 1, "excluded_count": 1, "prev_scene_index": v.from, "new_scene_index": v.scene,
                        "event_keys": v.events})
                })
                .collect();
            let current = chat.running.versions.last().map_or(0, |v| v.number);
            set(
                "auto_recap_running_scene_recaps",
                json!({"chat_id": chat.running.chat, "current_version": current, "versions": versions}),
            );
            let index: Map<String, Value> = chat
                .index
                .iter()
                .map(|(uid, row)| {
                    let value = json!({"uid": uid, "id": uid.to_string(), "type": row.kind, "name": row.title,
                        "comment": row.title, "aliases": [], "synopsis": row.synopsis});
                    (uid.to_string(), value)
                })
                .collect();
            // A fork keeps the name of its parent's book here.
            let named = self.chats[self.root_of(chat)].bound.clone();
            set(
                "auto_lorebooks",
                json!({"lorebookName": named, "attachedAt": chat.made, "registry": {"index": index}}),
            );
            set("autoLorebooks", json!({"pendingOps": {}}));
        }
        if !chat.memory.is_empty() {
            set("STMemoryBooks", Value::Object(chat.memory.clone()));
        }
        Value::Object(metadata)
    }

    fn root_of(&self, chat: &Chat) -> usize {
        let mut root = chat.parent.as_ref().map(|parent| parent.chat);
        while let Some(next) = root.and_then(|c| self.chats[c].parent.as_ref()) {
            root = Some(next.chat);
        }
        root.or_else(|| self.chats.iter().position(|c| c.label == chat.label)).unwrap_or(0)
    }

    pub(super) fn chat_bytes(&self, chat: &Chat) -> Vec<u8> {
        let header =
            json!({"chat_metadata": self.metadata(chat), "user_name": "unused", "character_name": "unused"});
        let header = (!self.setting.headerless).then_some(header);
        let lines: Vec<String> = header
            .into_iter()
            .chain(chat.messages.iter().map(|m| message(m, self.card)))
            .map(|v| v.to_string())
            .collect();
        lines.join("\n").into_bytes()
    }

    pub(super) fn chat_file(&self, chat: &Chat) -> String {
        if self.setting.group {
            format!("group chats/{}.jsonl", chat.name)
        } else {
            format!("chats/{}/{}.jsonl", self.card, chat.name)
        }
    }

    /// Brings the vault's files to where the story is. Times of change are anybody's guess.
    pub(super) fn flush(&mut self) {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for chat in self.chats.iter().filter(|chat| chat.alive) {
            files.push((self.chat_file(chat), self.chat_bytes(chat)));
        }
        for book in self.books.iter().filter(|book| book.alive) {
            files.push((format!("worlds/{}.json", book.name), book_bytes(book)));
        }
        if self.setting.group {
            files.push(("groups/1.json".to_owned(), self.group_bytes()));
        }
        let gone: Vec<String> = self
            .written
            .keys()
            .filter(|name| !files.iter().any(|(file, _)| file == *name))
            .cloned()
            .collect();
        for file in gone {
            // Backups stay.
            if !file.starts_with("backups/") {
                self.written.remove(&file);
                self.fs.unlink(&path(&file)).expect("a file of the story can be removed");
            }
        }
        for (file, bytes) in files {
            self.put(&file, bytes);
        }
    }

    /// Saves a file as SillyTavern does, if it is not that already.
    pub(super) fn put(&mut self, file: &str, bytes: Vec<u8>) {
        if self.written.get(file) == Some(&bytes) {
            return;
        }
        let (target, new) = (path(file), path(&format!("{file}.123")));
        self.fs.create(&new, &bytes).expect("a file of the story can be made");
        self.fs.replace(&new, &target).expect("a file of the story can be put in place");
        let spread = i64::try_from(self.times.below(100_000_000)).unwrap_or(0);
        self.fs.touch(&target, (super::world::START - spread) * 1_000_000);
        self.written.insert(file.to_owned(), bytes);
    }

    fn group_bytes(&self) -> Vec<u8> {
        let alive: Vec<&Chat> = self.chats.iter().filter(|c| c.alive).collect();
        let names: Vec<&String> = alive.iter().map(|c| &c.name).collect();
        let mut group = json!({"id": "1", "name": "Watch", "members": ["Ana.png", "Bo.png"], "chat_id": names.first(), "chats": names});
        if self.setting.headerless {
            let past: Map<String, Value> =
                alive.iter().skip(1).map(|c| (c.name.clone(), self.metadata(c))).collect();
            group["chat_metadata"] = alive.first().map_or(Value::Null, |c| self.metadata(c));
            group["past_metadata"] = Value::Object(past);
        }
        serde_json::to_vec_pretty(&group).unwrap_or_default()
    }

    /// The oldest backup goes.
    pub(super) fn prune(&mut self) -> bool {
        let Some(oldest) = self.written.keys().find(|file| file.starts_with("backups/")).cloned() else {
            return false;
        };
        self.written.remove(&oldest);
        self.fs.unlink(&path(&oldest)).expect("a backup can be removed");
        true
    }

    /// SillyTavern's backup of a chat as it is.
    pub(super) fn backup(&mut self, c: usize) -> bool {
        let chat = self.chats[c].clone();
        let clock = self.tick(1_000);
        let stamp: String = date(clock).chars().filter(char::is_ascii_digit).take(14).collect();
        let key = if self.setting.group {
            chat.name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
        } else {
            self.card.to_lowercase()
        };
        let file = format!("backups/chat_{key}_{}-{}.jsonl", &stamp[..8], &stamp[8..]);
        let bytes = self.chat_bytes(&chat);
        self.put(&file, bytes);
        true
    }
}

pub(super) fn path(text: &str) -> VaultPath {
    VaultPath::new(text).expect("names of the story are names of files")
}
