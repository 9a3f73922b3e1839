//! A truth machine: [`Story`] is a list of [`Act`]s that SillyTavern, Auto-Recap, MemoryBooks and a person perform in a [`World`], which
//! writes the vault's files in their formats; [`Truth`] is what the story was at every message of every chat, and which of it the files
//! tell.
//!
//! ```
//! use forklore_testkit::play::{Keeper, Setting, Story};
//!
//! let story = Story::random(7, Setting::plain(Keeper::Recap), 40, false);
//! let (files, truth) = story.play(1, |_, _| {});
//! assert!(!truth.chats().is_empty(), "{story}");
//! drop(files);
//! ```
//!
//! Everything comes from the seed and the acts. The clock is advanced by acts; times of change of files come from another source, because
//! copying a vault must change no answer.

mod act;
mod files;
mod gap;
mod hand;
mod memories;
mod recap;
mod script;
mod told;
mod truth;
mod world;

pub use crate::random::Random;
pub use act::{Act, Hand, Way};
pub use script::Story;
pub use truth::{Expected, Found, Truth};
pub use world::{Chat, Keeper, Observer, Setting, World};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use forklore_fs::{SimFs, Vfs};

use world::{Carrier, MAIN, START};

impl World {
    /// A vault with one chat that has its greeting. `times` is where times of change of files come from.
    pub fn new(setting: Setting, times: u64, observer: Observer) -> Self {
        let fs = Arc::new(SimFs::new());
        for folder in ["chats", "worlds", "groups", "group chats", "characters", "backups"] {
            fs.make_dir(&files::path(folder)).expect("a folder can be made in memory");
        }
        fs.put(&files::path("settings.json"), b"{}");
        Self::among(fs, (MAIN, START), setting, times, observer)
    }

    /// A story in a vault that is there already: whose it is, and when it begins.
    pub(super) fn among(
        fs: Arc<SimFs>,
        (card, start): (&'static str, i64),
        setting: Setting,
        times: u64,
        observer: Observer,
    ) -> Self {
        let folder = files::path("chats").join(card).expect("names of the story are names of files");
        fs.make_dir(&folder).expect("a folder can be made in memory");
        let name = if setting.group { "1794000000000" } else { "Ana - 2026-11-06@20h00m00s000ms" };
        let mut world = Self {
            setting,
            card,
            chats: Vec::new(),
            books: Vec::new(),
            changes: Vec::new(),
            sights: Vec::new(),
            looks: Vec::new(),
            recorded: (BTreeSet::new(), BTreeSet::new()),
            things: Vec::new(),
            clock: start,
            ids: 0,
            fs,
            written: BTreeMap::new(),
            times: Random::new(times),
            observer,
            watched: false,
        };
        world.chats.push(Chat {
            label: 'A',
            name: name.to_owned(),
            slug: "slug of A".to_owned(),
            parent: None,
            main_chat: None,
            stays: false,
            book: None,
            bound: String::new(),
            messages: Vec::new(),
            running: world::Running { chat: name.to_owned(), versions: Vec::new() },
            index: BTreeMap::new(),
            memory: serde_json::Map::new(),
            line: Vec::new(),
            doubt: BTreeSet::new(),
            gone: HashMap::new(),
            wiped: false,
            alive: true,
            made: start,
        });
        world.say(0, 1);
        world
    }

    /// Lets something happen. Tells whether anything did.
    pub fn act(&mut self, act: &Act) -> bool {
        let Some(chat) = act.chat() else {
            if *act == Act::Unwatch {
                return std::mem::take(&mut self.watched);
            }
            self.watched |= *act == Act::Watch;
            return self.look();
        };
        let Some(c) = self.find(chat) else { return false };
        let happened = self.perform(c, act);
        if happened {
            self.saved();
        }
        happened
    }

    fn perform(&mut self, c: usize, act: &Act) -> bool {
        // Whose book got another name in another chat is bound to nothing: SillyTavern tells only the open one.
        if !matches!(act, Act::Backup { .. } | Act::Prune { .. } | Act::DeleteChat { .. }) {
            self.open(c);
        }
        let lost = self.chats[c].book.is_some_and(|b| {
            let gone = self.setting.crossed && !self.books[b].alive;
            gone || self.chats[c].bound != self.books[b].name
        });
        match act {
            Act::Scene { .. }
            | Act::Again { .. }
            | Act::Memory { .. }
            | Act::SidePrompt { .. }
            | Act::Arc { .. }
            | Act::Hand { .. }
                if lost =>
            {
                false
            }
            Act::Say { messages, .. } => {
                self.say(c, *messages);
                true
            }
            Act::Swipe { .. } => self.swipe(c),
            Act::Scene { back, makes, adds, finds, merges, renames, event, .. } => {
                let (renames, event) = (renames.as_ref(), event.as_ref());
                self.scene(c, *back, &recap::Work { makes, adds, finds, merges, renames, event })
            }
            Act::Again { finds, .. } => self.again(c, finds),
            Act::Memory { back, title, .. } => self.memory(c, *back, title),
            Act::SidePrompt { back, title, .. } => self.side_prompt(c, *back, title),
            Act::Arc { sources, title, .. } => self.arc(c, *sources, title),
            Act::Hand { does, .. } => self.hand(c, does),
            Act::Fork { new, back, by, .. } => self.fork(c, *new, *back, *by),
            Act::RenameChat { .. } => self.rename_chat(c),
            Act::RenameBook { .. } => self.rename_book(c),
            Act::DeleteChat { book, .. } => self.delete_chat(c, *book),
            Act::EditMessage { back, .. } => self.edit_message(c, *back),
            Act::DeleteMessage { back, .. } => self.delete_message(c, *back),
            Act::GoBack { messages, .. } => self.go_back(c, *messages),
            Act::Backup { .. } => self.backup(c),
            Act::Prune { .. } => self.prune(),
            Act::Look | Act::Watch | Act::Unwatch => false,
        }
    }

    /// What was changed is saved; whoever watches sees it.
    pub(super) fn saved(&mut self) {
        if self.watched {
            self.look();
        }
    }

    fn look(&mut self) -> bool {
        self.tick(1_000);
        self.flush();
        let clock = self.clock;
        (self.observer)(&self.fs, clock);
        let books: Vec<usize> = (0..self.books.len()).filter(|b| self.books[*b].alive).collect();
        for b in books {
            self.see(b, Carrier::Look);
        }
        for chat in self.chats.iter().filter(|chat| chat.alive) {
            let scenes = chat.messages.iter().filter_map(|m| m.scene.as_ref());
            self.recorded.0.extend(scenes.flat_map(|s| s.metadata.iter().map(|(_, s)| s.combined)));
            self.recorded.1.extend(chat.running.versions.iter().flat_map(|v| v.events.iter().cloned()));
        }
        self.looks.push(clock);
        true
    }

    /// The end: everything is on disk, and the truth can be told.
    pub fn finish(mut self) -> (Arc<SimFs>, Truth) {
        self.tick(1_000);
        self.flush();
        let books: Vec<usize> = (0..self.books.len()).filter(|b| self.books[*b].alive).collect();
        for b in books {
            self.see(b, Carrier::Live);
        }
        (self.fs.clone(), Truth::new(self))
    }
}
