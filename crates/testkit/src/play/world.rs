//! [`World`]: the chats and books of a story while it is played, and every [`Change`] and [`Sight`] of it.
//!
//! The truth is kept by construction: each chat has its `line`, the changes that belong to it. A change is noted when it is made, with
//! the message that it belongs to; a fork takes those along that belong to messages it has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use forklore_fs::SimFs;
use serde_json::{Map, Value};

use super::Random;

/// A person's or an extension's chat.
#[derive(Debug, Clone)]
pub struct Chat {
    /// The letter that acts know it by
    pub label: char,
    /// Name of its file
    pub name: String,
    pub(super) slug: String,
    pub(super) parent: Option<Parent>,
    /// What its header says to be its parent
    pub(super) main_chat: Option<String>,
    /// Whether nobody went into it when it was made
    pub(super) stays: bool,
    /// Number of the book that it is bound to
    pub(super) book: Option<usize>,
    /// The name that its header has for the book: it stays when somebody else renames the book
    pub(super) bound: String,
    pub(super) messages: Vec<Message>,
    pub(super) running: Running,
    /// The working registry of Auto-Recap, by uid
    pub(super) index: BTreeMap<i64, Row>,
    /// `STMemoryBooks` of the header
    pub(super) memory: Map<String, Value>,
    /// The changes that belong to this chat, in the order in which they were made
    pub(super) line: Vec<usize>,
    /// Changes of which nobody could tell whether they belong here
    pub(super) doubt: BTreeSet<usize>,
    /// Messages that were deleted, with the one before
    pub(super) gone: HashMap<usize, usize>,
    /// Whether the running recap was lost
    pub(super) wiped: bool,
    pub(super) alive: bool,
    pub(super) made: i64,
}

/// Where a fork comes from.
#[derive(Debug, Clone)]
pub(super) struct Parent {
    pub(super) chat: usize,
    /// The last message that was copied
    pub(super) at: usize,
    /// The same by its identity: the number changes when messages are deleted
    pub(super) last: usize,
    pub(super) clock: i64,
    /// Its name then
    pub(super) name: String,
    /// The newest time that the fork's own file tells of what was before it
    pub(super) newest: i64,
    /// Whether the fork's header tells when it was made
    pub(super) noted: bool,
}

/// A message.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: usize,
    pub(super) user: bool,
    pub(super) text: String,
    pub(super) date: i64,
    pub(super) swipes: Vec<(String, i64)>,
    pub(super) swipe: usize,
    pub(super) scene: Option<Scene>,
    pub(super) link: Option<String>,
    /// Auto-hide has been here
    pub(super) hidden: bool,
    /// What Auto-Recap noted of the book when the message was sent: what was active, and the rest
    pub(super) log: Option<(Value, Value)>,
}

/// A scene that ends with a message: the versions of its recap, each with what is stored beside it.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) name: String,
    pub(super) recaps: Vec<String>,
    pub(super) metadata: Vec<(usize, Arc<Snapshot>)>,
}

/// What Auto-Recap stores with a version of a recap.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) timestamp: i64,
    pub(super) combined: i64,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) book: String,
    pub(super) entries: Vec<Value>,
    pub(super) created: Vec<String>,
    /// The entries as they were, for a book that is built from this
    pub(super) whole: BTreeMap<i64, Entry>,
}

/// The running recap.
#[derive(Debug, Clone, Default)]
pub(super) struct Running {
    pub(super) chat: String,
    pub(super) versions: Vec<Version>,
}

/// One version of it.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) number: usize,
    /// The chat that it was made in
    pub(super) author: usize,
    pub(super) clock: i64,
    pub(super) from: usize,
    pub(super) scene: usize,
    pub(super) events: Vec<String>,
}

/// A row of the working registry.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) synopsis: String,
}

/// Who keeps a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// Auto-Recap
    Recap,
    /// MemoryBooks
    Memory,
    /// A person
    Hand,
}

/// A lorebook.
#[derive(Debug, Clone)]
pub(super) struct Book {
    pub(super) name: String,
    pub(super) keeper: Keeper,
    pub(super) entries: BTreeMap<i64, Entry>,
    /// Uid of the queue entry
    pub(super) queue: Option<i64>,
    /// Operations in the queue
    pub(super) work: Vec<Value>,
    /// What it was made from, if it was made for a fork
    pub(super) born: Option<Born>,
    pub(super) maker: usize,
    pub(super) alive: bool,
}

/// The beginning of a book that was made for a fork.
#[derive(Debug, Clone)]
pub(super) struct Born {
    pub(super) chat: usize,
    pub(super) at: usize,
    pub(super) clock: i64,
    pub(super) seen: Seen,
    /// The book that it is a complete copy of
    pub(super) copy_of: Option<usize>,
}

/// An entry of a book.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Which thing of the story it is, whatever its uid
    pub(super) thing: usize,
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    pub(super) off: bool,
    pub(super) order: i64,
    /// Fields that an extension adds
    pub(super) marks: Map<String, Value>,
}

/// Title, text and whether it is switched off, of each thing in a book.
pub(super) type Seen = BTreeMap<usize, (String, String, bool)>;

/// One change of one thing.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) clock: i64,
    pub(super) book: usize,
    pub(super) thing: usize,
    pub(super) author: usize,
    /// The message that it belongs to
    pub(super) message: usize,
    pub(super) claim: Claim,
    pub(super) kind: Kind,
}

/// What tells later who made a change and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing: it was made by hand
    Hand,
    /// It is part of an empty book
    Start,
    /// The version of a scene with this `combined_at`
    Scene(i64),
    /// An event key of the running recap
    Event(String),
    /// A mark in the entry itself
    Mark,
    /// The entry says so until it is written anew, and keeps the text before that
    Rewrite,
    /// An arc: it lies between the end of its furthest source and the message at which it was made
    Arc {
        /// The message that its furthest source ends with
        from: usize,
        /// The things that it is made of
        sources: Vec<usize>,
    },
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Make(String, Vec<String>),
    Append(Vec<String>),
    /// The same, by somebody who knows of the entry from his own line alone: where it is not ours, this is all that we have of it
    Join(String, Vec<String>),
    Swap(String, String),
    /// The whole text anew; with the title that the entry has, because there may be none to begin with
    Write(String, Vec<String>),
    Title(String),
    Switch(bool),
    Delete,
}

/// A whole book, seen at some time.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    pub(super) clock: i64,
    pub(super) book: usize,
    pub(super) carrier: Carrier,
    pub(super) seen: Seen,
}

/// Where a sight is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// With a scene of this message, in the version with this `combined_at`
    Scene { message: usize, combined: i64 },
    /// In Forklore's history
    Look,
    /// It is the file itself
    Live,
    /// In the copy that was made of it
    Copy(usize),
}

/// Which versions and habits the software of a story has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// What keeps the book
    pub keeper: Keeper,
    /// Before 1.19 a fork has the slug of its parent
    pub old_slugs: bool,
    /// Whether the story is a group's
    pub group: bool,
    /// Whether the user has other books, which Auto-Recap copies into a new one
    pub others: bool,
    /// Whether the chats of a group are from before they had a first line of their own: what they keep is in the group's file
    pub headerless: bool,
    /// Whether MemoryBooks is there beside Auto-Recap, and writes into the book that a chat is bound to
    pub both: bool,
    /// Whether all lines speak of the same people and places, and people do whatever else people do: go back, make checkpoints, bring
    /// chats in again, close Forklore for a while
    pub crossed: bool,
}

impl Setting {
    /// Nothing out of the ordinary.
    pub fn plain(keeper: Keeper) -> Self {
        Self {
            keeper,
            old_slugs: false,
            group: false,
            others: false,
            headerless: false,
            both: false,
            crossed: false,
        }
    }
}

/// Who looks at the vault in [`super::Act::Look`] and, once it is watched, at every save: gets the files and the time.
pub type Observer = fn(&Arc<SimFs>, i64);

/// A story while it is played.
#[derive(Debug)]
pub struct World {
    pub(super) setting: Setting,
    /// Whose story it is
    pub(super) card: &'static str,
    pub(super) chats: Vec<Chat>,
    pub(super) books: Vec<Book>,
    pub(super) changes: Vec<Change>,
    pub(super) sights: Vec<Sight>,
    /// When Forklore looked
    pub(super) looks: Vec<i64>,
    /// Scenes (by `combined_at`) and event keys that history has
    pub(super) recorded: (BTreeSet<i64>, BTreeSet<String>),
    /// Things by title at birth
    pub(super) things: Vec<String>,
    pub(super) clock: i64,
    pub(super) ids: usize,
    pub(super) fs: Arc<SimFs>,
    pub(super) written: BTreeMap<String, Vec<u8>>,
    pub(super) times: Random,
    pub(super) observer: Observer,
    /// Whether every save is observed
    pub(super) watched: bool,
}

/// When these stories take place, in milliseconds.
pub(super) const START: i64 = 1_794_000_000_000;

/// Whose story is told.
pub(super) const MAIN: &str = "Ana";

impl World {
    /// Time goes by.
    pub(super) fn tick(&mut self, milliseconds: i64) -> i64 {
        self.clock += milliseconds;
        self.clock
    }

    pub(super) fn fresh(&mut self) -> usize {
        self.ids += 1;
        self.ids
    }

    /// The living chat with this letter.
    pub(super) fn find(&self, label: char) -> Option<usize> {
        self.chats.iter().position(|chat| chat.label == label && chat.alive)
    }

    pub(super) fn head(&self, c: usize) -> usize {
        self.chats[c].messages.len() - 1
    }

    /// The message so many before the last one.
    pub(super) fn at(&self, c: usize, back: usize) -> Option<usize> {
        self.head(c).checked_sub(back)
    }

    /// The message of a chat that a change belongs to there: itself, or the one before if it was deleted.
    pub(super) fn place(&self, c: usize, message: usize) -> Option<usize> {
        let chat = &self.chats[c];
        let mut id = message;
        while let Some(before) = chat.gone.get(&id) {
            id = *before;
        }
        chat.messages.iter().position(|m| m.id == id)
    }

    /// The thing that is born under a title; the same one if the title comes back after it was deleted.
    fn thing(&mut self, book: usize, title: &str) -> usize {
        let there = |thing: usize| self.books[book].entries.values().any(|e| e.thing == thing);
        let known = self.things.iter().enumerate().find(|(n, t)| *t == title && !there(*n));
        if let Some((thing, _)) = known {
            return thing;
        }
        self.things.push(title.to_owned());
        self.things.len() - 1
    }

    /// The uid of the entry with this title in the book of a chat.
    pub(super) fn uid(&self, c: usize, title: &str) -> Option<i64> {
        let book = &self.books[self.chats[c].book?];
        book.entries.iter().find(|(_, entry)| entry.title == title).map(|(uid, _)| *uid)
    }

    /// The lowest number that is free, as SillyTavern gives them.
    pub(super) fn free_uid(&self, book: usize) -> i64 {
        (0..).find(|uid| !self.books[book].entries.contains_key(uid)).unwrap_or(0)
    }

    /// Makes a change of the entry `uid` in the book of a chat, at a message of that chat, and notes it.
    pub(super) fn change(&mut self, c: usize, at: usize, claim: Claim, uid: i64, kind: Kind) {
        let Some(b) = self.chats[c].book else { return };
        if let Kind::Make(title, lines) = &kind {
            let thing = self.thing(b, title);
            let entry = Entry {
                thing,
                title: title.clone(),
                lines: lines.clone(),
                off: false,
                order: 100,
                marks: Map::new(),
            };
            self.books[b].entries.insert(uid, entry);
        }
        let Some(entry) = self.books[b].entries.get_mut(&uid) else { return };
        let thing = entry.thing;
        match &kind {
            Kind::Make(..) => {}
            Kind::Append(lines) | Kind::Join(_, lines) => entry.lines.extend(lines.iter().cloned()),
            Kind::Swap(old, new) => {
                entry.lines.iter_mut().filter(|line| *line == old).for_each(|line| line.clone_from(new));
            }
            Kind::Write(_, lines) => entry.lines.clone_from(lines),
            Kind::Title(title) => entry.title.clone_from(title),
            Kind::Switch(off) => entry.off = *off,
            Kind::Delete => drop(self.books[b].entries.remove(&uid)),
        }
        let clock = self.tick(40);
        let message = self.chats[c].messages[at].id;
        self.chats[c].line.push(self.changes.len());
        self.changes.push(Change { clock, book: b, thing, author: c, message, claim, kind });
    }

    /// What is in a book.
    pub(super) fn seen(&self, book: usize) -> Seen {
        let entries = self.books[book].entries.values();
        entries.map(|e| (e.thing, (e.title.clone(), e.lines.join("\n"), e.off))).collect()
    }

    /// Notes what is in a book now.
    pub(super) fn see(&mut self, book: usize, carrier: Carrier) -> i64 {
        let clock = self.tick(20);
        let seen = self.seen(book);
        self.sights.push(Sight { clock, book, carrier, seen });
        clock
    }
}
