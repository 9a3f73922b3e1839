//! SillyTavern and the person in front of it: messages, swipes, entries by hand, forks, names.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::act::{Hand, Way};
use super::files;
use super::world::{
    Book, Born, Carrier, Change, Chat, Claim, Entry, Keeper, Kind, MAIN, Message, Parent, World,
};

impl World {
    pub(super) fn say(&mut self, c: usize, messages: usize) {
        for _ in 0..messages {
            let date = self.tick(30_000);
            let id = self.fresh();
            let user = self.chats[c].messages.len() % 2 == 1;
            let text = format!("{}words {id}", self.prefix());
            let log = self.log(c).filter(|_| user);
            self.chats[c].messages.push(Message {
                id,
                user,
                swipes: vec![(text.clone(), date)],
                text,
                date,
                swipe: 0,
                scene: None,
                link: None,
                hidden: false,
                log,
            });
        }
    }

    /// What Auto-Recap notes of the book on a user's message: what is active, in a wrapper, and the rest, also the queue.
    fn log(&self, c: usize) -> Option<(Value, Value)> {
        let book =
            self.chats[c].book.map(|b| &self.books[b]).filter(|b| b.keeper == Keeper::Recap && b.alive)?;
        let of = |uid: i64, title: &str, content: &str| {
            json!({"comment": title, "uid": uid, "world": book.name, "key": [], "position": 0, "depth": 4, "order": 100,
                "role": 0, "constant": false, "vectorized": false, "sticky": 0, "strategy": "normal", "content": content})
        };
        let queue = book
            .queue
            .map(|uid| of(uid, "__operation_queue", r#"{"queue":[{"id":"op_1","status":"pending"}]}"#));
        let (active, rest): (Vec<_>, Vec<_>) =
            book.entries.iter().partition(|(uid, e)| **uid % 3 == 0 && !e.title.starts_with('_') && !e.off);
        let active = active.into_iter().map(|(uid, e)| {
            let text = e.lines.join("\n");
            of(*uid, &e.title, &format!("<setting_lore name=\"{}\">\n{text}\n</setting_lore>", e.title))
        });
        let rest = rest.into_iter().map(|(uid, e)| of(*uid, &e.title, &e.lines.join("\n")));
        Some((active.collect(), queue.into_iter().chain(rest).collect()))
    }

    pub(super) fn swipe(&mut self, c: usize) -> bool {
        let date = self.tick(20_000);
        let (id, prefix) = (self.fresh(), self.prefix());
        let Some(last) = self.chats[c].messages.last_mut() else { return false };
        if last.user || last.scene.is_some() {
            return false;
        }
        last.text = format!("{prefix}words {id}");
        last.date = date;
        last.swipe = last.swipes.len();
        last.swipes.push((last.text.clone(), date));
        true
    }

    pub(super) fn edit_message(&mut self, c: usize, back: usize) -> bool {
        let Some(at) = self.at(c, back) else { return false };
        self.tick(10_000);
        let id = self.fresh();
        let message = &mut self.chats[c].messages[at];
        message.text = format!("other words {id}");
        let swipe = message.swipe;
        message.swipes[swipe].0 = message.text.clone();
        true
    }

    /// A message goes. What belongs to it belongs to the one before from now on.
    pub(super) fn delete_message(&mut self, c: usize, back: usize) -> bool {
        let Some(at) = self.at(c, back).filter(|at| *at > 0) else { return false };
        // The extensions number messages: a hole before what they have done would date all of it wrongly, and nobody could tell.
        let chat = &self.chats[c];
        let busy = chat.messages[at..].iter().any(|m| m.scene.is_some());
        let marked =
            self.books.iter().flat_map(|b| b.entries.values()).any(|e| e.marks.contains_key("STMB_end"));
        if busy || marked || chat.running.versions.iter().any(|v| v.scene >= at) {
            return false;
        }
        self.tick(10_000);
        let chat = &mut self.chats[c];
        let gone = chat.messages.remove(at);
        chat.gone.insert(gone.id, chat.messages[at - 1].id);
        true
    }

    /// The last messages go, if nothing but words was made of them.
    pub(super) fn go_back(&mut self, c: usize, messages: usize) -> bool {
        let at = self.chats[c].messages.len().saturating_sub(messages);
        let fork = self.chats[c].parent.as_ref().and_then(|parent| self.place(c, parent.last));
        if messages == 0 || at <= fork.unwrap_or(0) {
            return false;
        }
        let made = |change: &Change| {
            change.author == c
                && !matches!(change.claim, Claim::Hand | Claim::Start)
                && self.place(c, change.message).is_some_and(|place| place >= at)
        };
        let chat = &self.chats[c];
        let busy = chat.messages[at..].iter().any(|m| m.scene.is_some())
            || chat.running.versions.iter().any(|v| v.scene >= at)
            || self.changes.iter().any(made);
        // Where a fork was made that is there no more in the chat above, only what is left of it tells.
        let forked = |other: &Chat| {
            let parent = other.parent.as_ref().filter(|parent| parent.chat == c);
            parent.is_some_and(|parent| self.place(c, parent.last).is_none_or(|last| last >= at))
        };
        if busy || self.chats.iter().any(forked) {
            return false;
        }
        self.tick(10_000);
        let chat = &mut self.chats[c];
        for gone in chat.messages.split_off(at) {
            chat.gone.insert(gone.id, chat.messages[at - 1].id);
        }
        true
    }

    /// Somebody goes into a chat. Auto-Recap wipes a running recap that names another chat, unless the header names a parent.
    pub(super) fn open(&mut self, c: usize) {
        let chat = &mut self.chats[c];
        if self.setting.keeper != Keeper::Recap || chat.running.chat == chat.name {
            return;
        }
        if chat.main_chat.is_none() && !chat.running.versions.is_empty() {
            chat.wiped = true;
            chat.running.versions.clear();
        }
        chat.running.chat = chat.name.clone();
    }

    pub(super) fn hand(&mut self, c: usize, does: &Hand) -> bool {
        self.tick(15_000);
        if self.chats[c].book.is_none() {
            if self.setting.keeper == Keeper::Recap || !matches!(does, Hand::Add(_)) {
                return false;
            }
            let name = format!("{}Notes of {}", self.prefix(), self.chats[c].label);
            self.make_book(c, &name, self.setting.keeper);
        }
        let (Some(b), head) = (self.chats[c].book, self.head(c)) else { return false };
        let (title, kind) = match does {
            Hand::Add(title) => {
                if self.uid(c, title).is_some() {
                    return false;
                }
                let line = self.line_of(title);
                let uid = self.free_uid(b);
                self.change(c, head, Claim::Hand, uid, Kind::Make(title.clone(), vec![line]));
                return true;
            }
            Hand::Extend(title) => (title, Kind::Append(vec![self.line_of(title)])),
            Hand::Reword(title) => {
                let Some(uid) = self.uid(c, title) else { return false };
                let old = self.books[b].entries[&uid].lines[0].clone();
                (title, Kind::Swap(old, self.line_of(title)))
            }
            Hand::Rename(from, to) => {
                if self.uid(c, to).is_some() {
                    return false;
                }
                (from, Kind::Title(to.clone()))
            }
            Hand::Switch(title) => {
                let Some(uid) = self.uid(c, title) else { return false };
                (title, Kind::Switch(!self.books[b].entries[&uid].off))
            }
            Hand::Order(title) => {
                let Some(uid) = self.uid(c, title) else { return false };
                let order = i64::try_from(self.fresh()).unwrap_or(0);
                if let Some(entry) = self.books[b].entries.get_mut(&uid) {
                    entry.order = 1_000 + order;
                }
                return true;
            }
            Hand::Delete(title) => (title, Kind::Delete),
        };
        let Some(uid) = self.uid(c, title) else { return false };
        self.change(c, head, Claim::Hand, uid, kind);
        true
    }

    /// A line that nobody has written before.
    pub(super) fn line_of(&mut self, title: &str) -> String {
        let id = self.fresh();
        // Two lines have no words in common but those of a title: as two facts have.
        format!("{title} saw{id} the{id} sea{id} burn{id}")
    }

    /// A new book, bound to a chat.
    pub(super) fn make_book(&mut self, c: usize, name: &str, keeper: Keeper) -> usize {
        self.books.push(Book {
            name: name.to_owned(),
            keeper,
            entries: BTreeMap::new(),
            queue: None,
            work: Vec::new(),
            born: None,
            maker: c,
            alive: true,
        });
        let b = self.books.len() - 1;
        self.bind(c, b);
        b
    }

    fn bind(&mut self, c: usize, book: usize) {
        self.chats[c].book = Some(book);
        self.chats[c].bound = self.books[book].name.clone();
    }

    pub(super) fn fork(&mut self, c: usize, new: char, back: usize, by: Way) -> bool {
        let Some(at) = self.at(c, back).filter(|at| *at > 0) else { return false };
        if self.chats.iter().any(|chat| chat.label == new) {
            return false;
        }
        let last = &self.chats[c].messages[at];
        if by == Way::Import && back > 0 {
            return false;
        }
        if by == Way::Swipe && (last.swipes.len() < 2 || last.scene.is_some()) {
            return false;
        }
        let clock = self.tick(10_000);
        let parent = self.chats[c].clone();
        let mut fork = parent.clone();
        let id = if by == Way::Import || by == Way::Checkpoint { self.fresh() } else { 0 };
        fork.label = new;
        fork.stays = matches!(by, Way::Checkpoint | Way::Import);
        (fork.name, fork.main_chat) = match by {
            Way::Import => (format!("{} - 2026{:010} imported", self.card, id), parent.main_chat.clone()),
            Way::Checkpoint => (format!("Stop {id}"), Some(parent.name.clone())),
            Way::Button | Way::Slash | Way::Swipe => (self.free_name(), Some(parent.name.clone())),
        };
        if !self.setting.old_slugs && by != Way::Import {
            fork.slug = format!("slug of {new}");
        }
        fork.messages.truncate(at + 1);
        fork.made = clock;
        fork.line = parent
            .line
            .iter()
            .copied()
            .filter(|n| self.place(c, self.changes[*n].message).is_some_and(|place| place <= at))
            .collect();
        if by == Way::Swipe {
            let id = self.fresh();
            let message = &mut fork.messages[at];
            let old = message.id;
            message.id = id;
            message.swipe = if message.swipe == 0 { 1 } else { 0 };
            (message.text, message.date) = message.swipes[message.swipe].clone();
            message.link = None;
            fork.gone.insert(old, id);
            // What was done while the other answer was on the screen may belong to either.
            fork.doubt.extend(fork.line.iter().filter(|n| self.changes[**n].message == old));
        }
        let times = |m: &Message| {
            let scenes = m.scene.iter().flat_map(|s| s.metadata.iter().map(|(_, s)| s.combined));
            scenes.chain([m.date]).max().unwrap_or(0)
        };
        let newest = fork.messages.iter().map(times).chain(fork.running.versions.iter().map(|v| v.clock));
        let newest = newest.max().unwrap_or(0);
        let last = fork.messages[at].id;
        fork.parent = Some(Parent { chat: c, at, last, clock, name: parent.name, newest, noted: false });
        if by != Way::Import {
            fork.running.chat.clone_from(&fork.name);
        }
        let link = fork.name.clone();
        self.chats.push(fork);
        let x = self.chats.len() - 1;
        if matches!(by, Way::Slash | Way::Checkpoint) {
            // SillyTavern saves the fork, and then the link to it.
            self.saved();
            self.chats[c].messages[at].link = Some(link);
        }
        if by == Way::Button {
            match self.setting.keeper {
                // In groups it fails half way: the fork is there, with the parent's book.
                Keeper::Recap if self.setting.group => {}
                Keeper::Recap => self.rebuild_book(x, at),
                Keeper::Memory => self.copy_book(x, at),
                Keeper::Hand => {}
            }
        }
        true
    }

    /// What names of books begin with that only this story's have, where there is another one.
    fn prefix(&self) -> &'static str {
        if self.card == MAIN { "" } else { "Other " }
    }

    /// The name that SillyTavern gives to the next branch: the first one that no chat has. One that was deleted has none.
    fn free_name(&self) -> String {
        let is_free = |name: &String| !self.chats.iter().any(|chat| chat.alive && chat.name == *name);
        let mut names = (1..).map(|number| format!("{} - Branch #{number}", self.chats[0].name));
        names.find(is_free).unwrap_or_default()
    }

    /// Auto-Recap builds a book for a fork from the last snapshot on its line, numbered from 0.
    fn rebuild_book(&mut self, x: usize, at: usize) {
        let scene = self.chats[x].messages.iter().rev().find_map(|m| m.scene.clone());
        let Some((_, snapshot)) = scene.and_then(|scene| scene.metadata.last().cloned()) else { return };
        // A book that was left behind by a chat of that name keeps it.
        let name = format!("z-AutoLB-{}-{}", self.card, self.chats[x].name);
        let is_free = |name: &String| !self.books.iter().any(|book| book.alive && book.name == *name);
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name} ({n})")));
        let name = names.find(is_free).unwrap_or_default();
        let clock = self.tick(2_000);
        // It knows the fields that it copies; what another extension has marked is not among them.
        let plain = snapshot.whole.values().map(|e| Entry { marks: serde_json::Map::new(), ..e.clone() });
        let entries: BTreeMap<i64, Entry> = (0..).zip(plain).collect();
        let seen =
            entries.values().map(|e| (e.thing, (e.title.clone(), e.lines.join("\n"), e.off))).collect();
        self.books.push(Book {
            name,
            keeper: Keeper::Recap,
            entries,
            queue: Some(clock),
            work: Vec::new(),
            born: Some(Born { chat: x, at, clock, seen, copy_of: None }),
            maker: x,
            alive: true,
        });
        self.bind(x, self.books.len() - 1);
    }

    /// MemoryBooks copies the whole present book for a fork, and writes the fork's name into the memories.
    fn copy_book(&mut self, x: usize, at: usize) {
        let Some(source) = self.chats[x].book else { return };
        let clock = self.see(source, Carrier::Copy(self.books.len()));
        let mut book = self.books[source].clone();
        let number = self.books.iter().filter(|b| b.born.is_some()).count() + 1;
        let root = self.books[0].name.clone();
        let (from, parent) = (book.name.clone(), self.chats[x].parent.clone());
        book.name = format!("{root} Branch {number}");
        book.born = Some(Born { chat: x, at, clock, seen: self.seen(source), copy_of: Some(source) });
        book.maker = x;
        let chat = self.chats[x].name.clone();
        for entry in book.entries.values_mut() {
            // Only memories of the parent are taken over; what other chats wrote keeps their names.
            let parents = parent.as_ref().is_some_and(|parent| {
                entry.marks.get("STMB_chatId").and_then(|id| id.as_str()) == Some(parent.name.as_str())
            });
            if parents {
                entry.marks.insert("STMB_chatId".to_owned(), json!(chat));
            }
        }
        let copies = json!({"version": 1, "status": "completed", "parentChatId": parent.as_ref().map(|p| &p.name),
            "branchChatId": chat, "branchNumber": number, "completedAt": files::date(clock),
            "mappings": [{"sourceName": from, "rootName": root, "copyName": book.name}]});
        self.chats[x].memory.insert("branchLorebookCopies".to_owned(), copies);
        if let Some(parent) = &mut self.chats[x].parent {
            parent.noted = true;
        }
        self.books.push(book);
        self.bind(x, self.books.len() - 1);
    }

    pub(super) fn rename_chat(&mut self, c: usize) -> bool {
        self.tick(5_000);
        let id = self.fresh();
        let chat = &mut self.chats[c];
        chat.name = format!("The road {id}");
        // Auto-Recap takes the recap of a chat that is no fork for somebody else's, and wipes it.
        if chat.main_chat.is_none() {
            chat.wiped |= !chat.running.versions.is_empty();
            chat.running.versions.clear();
        }
        chat.running.chat = chat.name.clone();
        true
    }

    /// The panel repairs the open chat only.
    pub(super) fn rename_book(&mut self, c: usize) -> bool {
        let Some(b) = self.chats[c].book else { return false };
        if self.chats[c].bound != self.books[b].name || !self.books[b].alive {
            return false;
        }
        self.tick(5_000);
        let id = self.fresh();
        self.books[b].name = format!("{}Book {id}", self.prefix());
        self.bind(c, b);
        true
    }

    pub(super) fn delete_chat(&mut self, c: usize, book: bool) -> bool {
        if self.chats.iter().filter(|chat| chat.alive).count() < 2 {
            return false;
        }
        self.tick(5_000);
        self.chats[c].alive = false;
        if let Some(b) = self.chats[c].book.filter(|b| book && self.books[*b].maker == c) {
            self.books[b].alive = false;
        }
        true
    }
}
