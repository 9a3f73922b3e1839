//! MemoryBooks: memories with their range, side prompts that are written anew, arcs that switch their sources off.

use serde_json::{Value, json};

use super::files::date;
use super::world::{Claim, Keeper, Kind, World};

impl World {
    /// The book of a chat that MemoryBooks keeps, made if there is none; nothing if it is gone.
    fn memory_book(&mut self, c: usize) -> Option<usize> {
        if self.setting.keeper != Keeper::Memory && !self.setting.both {
            return None;
        }
        match self.chats[c].book {
            // The other extension makes the book.
            None if self.setting.both => None,
            None => {
                let name = format!("LTM - {} - {}", self.card, self.chats[c].name);
                Some(self.make_book(c, &name, Keeper::Memory))
            }
            Some(b) => {
                let bound = self.books[b].alive && self.books[b].name == self.chats[c].bound;
                bound.then_some(b)
            }
        }
    }

    /// The message after the last one that is in a memory.
    fn next(&self, c: usize) -> usize {
        let highest = self.chats[c].memory.get("highestMemoryProcessed").and_then(Value::as_u64);
        highest.and_then(|n| usize::try_from(n).ok()).map_or(0, |n| n + 1)
    }

    pub(super) fn memory(&mut self, c: usize, back: usize, title: &str) -> bool {
        let Some(end) = self.at(c, back) else { return false };
        let start = self.next(c);
        if start >= end {
            return false;
        }
        let Some(b) = self.memory_book(c) else { return false };
        self.tick(5_000);
        let number = self.books[b].entries.values().filter(|e| e.marks.contains_key("STMB_end")).count() + 1;
        let title = format!("{number:03} - {title}");
        if self.uid(c, &title).is_some() {
            return false;
        }
        let line = self.line_of(&title);
        let uid = self.free_uid(b);
        self.change(c, end, Claim::Mark, uid, Kind::Make(title, vec![line]));
        let chat = self.chats[c].name.clone();
        if let Some(entry) = self.books[b].entries.get_mut(&uid) {
            entry.order = i64::try_from(number).unwrap_or(1);
            for (key, value) in [
                ("stmemorybooks", json!(true)),
                ("STMB_start", json!(start)),
                ("STMB_end", json!(end)),
                ("STMB_chatId", json!(chat)),
            ] {
                entry.marks.insert(key.to_owned(), value);
            }
        }
        let header = &mut self.chats[c].memory;
        header.insert("sceneStart".to_owned(), json!(start));
        header.insert("sceneEnd".to_owned(), json!(end));
        header.insert("highestMemoryProcessed".to_owned(), json!(end));
        true
    }

    pub(super) fn side_prompt(&mut self, c: usize, back: usize, name: &str) -> bool {
        let Some(end) = self.at(c, back) else { return false };
        let Some(b) = self.memory_book(c) else { return false };
        let clock = self.tick(5_000);
        let title = format!("{name} (STMB SidePrompt)");
        let text = vec![format!("=== {name} ==="), self.line_of(name), "=== end ===".to_owned()];
        let (uid, prior) = match self.uid(c, &title) {
            Some(uid) => {
                let prior = self.books[b].entries[&uid].lines.join("\n");
                self.change(c, end, Claim::Rewrite, uid, Kind::Write(title, text));
                (uid, prior)
            }
            None => {
                let uid = self.free_uid(b);
                self.change(c, end, Claim::Rewrite, uid, Kind::Make(title, text));
                (uid, String::new())
            }
        };
        let key = name.to_lowercase();
        let noted = format!("STMB_sp_{key}_lastMsgId");
        let last = self.books[b].entries.get(&uid).and_then(|entry| entry.marks.get(&noted)?.as_u64());
        let since = last.and_then(|n| usize::try_from(n).ok()).map_or_else(|| self.next(c), |last| last + 1);
        // After a memory it is run on the same messages; else on those since its last run, or on those that somebody asks for.
        let header = |key: &str| self.chats[c].memory.get(key).and_then(Value::as_u64);
        let with_memory = header("sceneEnd") == u64::try_from(end).ok();
        let start = match header("sceneStart").and_then(|n| usize::try_from(n).ok()).filter(|_| with_memory) {
            Some(start) => start,
            None if back == 0 && since <= end => since,
            None => end.saturating_sub(9),
        };
        let regeneration = json!({"version": 1, "templateKey": key, "priorContent": prior, "sceneStart": start,
            "sceneEnd": end, "chatId": self.chats[c].name, "runtimeMacros": {}});
        if let Some(entry) = self.books[b].entries.get_mut(&uid) {
            entry.marks.insert("STMB_sidePromptRegeneration".to_owned(), regeneration);
            if !with_memory {
                entry.marks.insert(noted, json!(end));
            }
            entry.marks.insert(format!("STMB_sp_{key}_lastRunAt"), json!(date(clock)));
        }
        true
    }

    /// One entry of the oldest memories that are on.
    pub(super) fn arc(&mut self, c: usize, sources: usize, name: &str) -> bool {
        let Some(b) = self.memory_book(c) else { return false };
        let chat = self.chats[c].name.clone();
        let ours = |marks: &serde_json::Map<String, Value>| {
            marks.get("STMB_chatId").and_then(Value::as_str) == Some(chat.as_str())
        };
        let mut found: Vec<(u64, i64)> = self.books[b]
            .entries
            .iter()
            .filter(|(_, e)| !e.off && ours(&e.marks))
            .filter_map(|(uid, e)| Some((e.marks.get("STMB_end")?.as_u64()?, *uid)))
            .collect();
        found.sort_unstable();
        found.truncate(sources);
        let Some((furthest, _)) = found.last().copied().filter(|_| found.len() > 1) else { return false };
        let furthest = usize::try_from(furthest).unwrap_or(0);
        let head = self.head(c);
        if furthest > head {
            return false;
        }
        self.tick(5_000);
        let number =
            self.books[b].entries.values().filter(|e| e.marks.contains_key("stmbSummary")).count() + 1;
        let title = format!("[ARC {number:03}] - {name}");
        if self.uid(c, &title).is_some() {
            return false;
        }
        let from = self.chats[c].messages[furthest].id;
        let sources: Vec<usize> = found.iter().map(|(_, uid)| self.books[b].entries[uid].thing).collect();
        let claim = Claim::Arc { from, sources };
        let line = self.line_of(&title);
        let uid = self.free_uid(b);
        self.change(c, head, claim.clone(), uid, Kind::Make(title, vec![line]));
        let uids: Vec<String> = found.iter().map(|(_, uid)| uid.to_string()).collect();
        if let Some(entry) = self.books[b].entries.get_mut(&uid) {
            for (key, value) in [
                ("stmemorybooks", json!(true)),
                ("stmbSummary", json!(true)),
                ("stmbSummaryTier", json!(1)),
                ("type", json!("arc")),
                ("stmbSourceEntryUids", json!(uids)),
            ] {
                entry.marks.insert(key.to_owned(), value);
            }
        }
        for (_, source) in found {
            self.change(c, head, claim.clone(), source, Kind::Switch(true));
            if let Some(entry) = self.books[b].entries.get_mut(&source) {
                entry.marks.insert("disabledBySummaryId".to_owned(), json!(uid));
            }
        }
        true
    }
}
