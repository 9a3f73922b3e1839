//! [`Story`]: how stories are made up, played and made shorter.

use std::fmt;
use std::sync::Arc;

use forklore_fs::SimFs;

use super::act::{Act, Hand, Way};
use super::world::{Keeper, MAIN, Observer, START, Setting, World};
use super::{Random, Truth};

/// A list of acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// What it is played with
    pub setting: Setting,
    /// What happens
    pub acts: Vec<Act>,
}

const NAMES: [&str; 20] = [
    "Mara", "Tolan", "Quay", "Lamp", "Oath", "Ferry", "Orrin", "Salt", "Key", "Bell", "Rook", "Haru", "Knot",
    "Fox", "Mirror", "Gate", "Warden", "Ledger", "Tide", "Abbey",
];
const TYPES: [&str; 6] = ["character", "location", "item", "lore", "document", "rule"];

impl Story {
    /// A story of so many acts, with or without Forklore looking now and then.
    pub fn random(seed: u64, setting: Setting, acts: usize, looks: bool) -> Self {
        let mut writer = Writer {
            random: Random::new(seed),
            world: World::new(setting, 0, |_, _| {}),
            acts: Vec::new(),
            names: 0,
            labels: 1,
            looks,
        };
        writer.random.below(2);
        let mut tries = 0;
        while writer.acts.len() < acts && tries < acts * 4 {
            tries += 1;
            if let Some(act) = writer.propose()
                && writer.world.act(&act)
            {
                writer.acts.push(act);
            }
        }
        Self { setting, acts: writer.acts }
    }

    /// Plays it: the files at the end, and the truth.
    pub fn play(&self, times: u64, observer: Observer) -> (Arc<SimFs>, Truth) {
        let mut world = World::new(self.setting, times, observer);
        for act in &self.acts {
            world.act(act);
        }
        world.finish()
    }

    /// Plays it in a vault in which another story has been played a month before, of another card and with chats of the same names, with the
    /// truth of both.
    pub fn play_beside(&self, other: &Story, observer: Observer) -> (Arc<SimFs>, Truth, Truth) {
        const MONTH: i64 = 30 * 24 * 3600 * 1000;
        let fs = World::new(other.setting, 1, observer).fs;
        let mut first = World::among(fs.clone(), ("Bo", START - MONTH), other.setting, 1, observer);
        let mut second = World::among(fs.clone(), (MAIN, START), self.setting, 1, observer);
        for act in other.acts.iter().filter(|act| !matches!(act, Act::Look | Act::Watch)) {
            first.act(act);
        }
        let (_, others) = first.finish();
        for act in &self.acts {
            second.act(act);
        }
        let (_, truth) = second.finish();
        (fs, truth, others)
    }

    /// The shortest story that can be found by leaving acts out, and still `fails`.
    #[must_use]
    pub fn shrink(&self, fails: &mut dyn FnMut(&Story) -> bool) -> Self {
        let mut story = self.clone();
        let mut size = story.acts.len() / 2;
        while size > 0 {
            let mut at = story.acts.len();
            let mut shorter = false;
            while at > 0 {
                let from = at.saturating_sub(size);
                let mut less = story.clone();
                less.acts.drain(from..at);
                if fails(&less) {
                    story = less;
                    shorter = true;
                }
                at = from;
            }
            if !shorter || size > 1 {
                size /= 2;
            }
        }
        story
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.setting)?;
        for act in &self.acts {
            writeln!(f, "  {act}")?;
        }
        Ok(())
    }
}

/// Makes up acts that fit to where the story is.
struct Writer {
    random: Random,
    world: World,
    acts: Vec<Act>,
    names: usize,
    labels: u8,
    looks: bool,
}

impl Writer {
    fn name(&mut self) -> String {
        if self.world.setting.crossed {
            return NAMES[self.random.below(8)].to_owned();
        }
        let name = NAMES[self.names % NAMES.len()];
        let round = self.names / NAMES.len();
        self.names += 1;
        if round == 0 { name.to_owned() } else { format!("{name} {}", round + 1) }
    }

    fn title(&mut self) -> String {
        let kind = TYPES[self.random.below(TYPES.len())];
        format!("{kind}-{}", self.name())
    }

    /// A title in the book of a chat.
    fn known(&mut self, chat: usize) -> Option<String> {
        let book = self.world.chats[chat].book?;
        let titles: Vec<String> = self.world.books[book]
            .entries
            .values()
            .map(|e| e.title.clone())
            .filter(|t| !t.starts_with('_'))
            .collect();
        self.random.pick(&titles).cloned()
    }

    fn several(&mut self, chat: usize, most: usize) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for _ in 0..self.random.below(most + 1) {
            found.extend(self.known(chat));
        }
        found.sort();
        found.dedup();
        found
    }

    fn propose(&mut self) -> Option<Act> {
        let alive: Vec<usize> = (0..self.world.chats.len()).filter(|c| self.world.chats[*c].alive).collect();
        // The chat that was open last is mostly still open.
        let c = match self.random.below(3) {
            0 => alive[self.random.below(alive.len())],
            _ => *alive.iter().rev().find(|c| !self.world.chats[**c].stays)?,
        };
        let chat = self.world.chats[c].label;
        let keeper = self.world.setting.keeper;
        Some(match self.random.below(100) {
            0..34 => Act::Say { chat, messages: 1 + self.random.below(6) },
            34..36 => Act::Swipe { chat },
            36..42 if self.world.setting.both => self.memory(chat),
            36..56 => match keeper {
                Keeper::Recap => self.scene(chat, c),
                Keeper::Memory => self.memory(chat),
                Keeper::Hand => self.hand(chat, c)?,
            },
            56..76 => self.hand(chat, c)?,
            76..86 if self.labels < 7 => {
                let new = char::from(b'A' + self.labels);
                self.labels += 1;
                let crossed = [Way::Checkpoint, Way::Import];
                let ways = [Way::Slash, Way::Button, Way::Slash, Way::Button, Way::Swipe];
                let ways = ways.iter().chain(crossed.iter().filter(|_| self.world.setting.crossed));
                let ways: Vec<Way> = ways.copied().collect();
                let by = ways[self.random.below(ways.len())];
                let back =
                    if by == Way::Import || self.random.below(3) == 0 { 0 } else { self.random.below(25) };
                Act::Fork { chat, new, back, by }
            }
            86..88 => match self.random.below(6) {
                0 => Act::RenameChat { chat },
                1 => Act::RenameBook { chat },
                2 => Act::DeleteChat { chat, book: self.random.below(2) == 0 },
                3 => Act::EditMessage { chat, back: self.random.below(20) },
                4 => Act::DeleteMessage { chat, back: self.random.below(20) },
                _ if self.random.below(3) == 0 => Act::Prune { chat },
                _ => Act::Backup { chat },
            },
            94..98 if self.world.setting.crossed => match self.random.below(4) {
                0 if self.looks => Act::Unwatch,
                1 => Act::Prune { chat },
                _ => Act::GoBack { chat, messages: 1 + self.random.below(6) },
            },
            88..94 if self.looks => match self.random.below(8) {
                0 => Act::Watch,
                _ => Act::Look,
            },
            _ => Act::Say { chat, messages: 1 + self.random.below(3) },
        })
    }

    fn scene(&mut self, chat: char, c: usize) -> Act {
        if self.random.below(12) == 0 {
            return Act::Again { chat, finds: self.several(c, 2) };
        }
        let makes = (0..self.random.below(3)).map(|_| self.title()).collect();
        let (adds, finds) = (self.several(c, 2), self.several(c, 1));
        let merges = if self.world.setting.crossed { self.several(c, 1) } else { Vec::new() };
        let renames = (self.random.below(8) == 0).then(|| self.known(c).zip(Some(self.name()))).flatten();
        let renames = renames.and_then(|(old, name)| {
            let kind = old.split_once('-')?.0.to_owned();
            Some((old, format!("{kind}-{name}")))
        });
        let event = (self.random.below(3) == 0).then(|| self.name());
        Act::Scene { chat, back: self.random.below(9), makes, adds, finds, merges, renames, event }
    }

    fn memory(&mut self, chat: char) -> Act {
        match self.random.below(10) {
            0..5 => Act::Memory { chat, back: self.random.below(4), title: self.name() },
            5..9 => {
                let title = ["Plotpoints", "Mood"][self.random.below(2)].to_owned();
                Act::SidePrompt { chat, back: self.random.below(3), title }
            }
            _ => Act::Arc { chat, sources: 2 + self.random.below(2), title: self.name() },
        }
    }

    fn hand(&mut self, chat: char, c: usize) -> Option<Act> {
        let does = match self.random.below(13) {
            0..4 => Hand::Add(format!("note {}", self.name())),
            4..6 => Hand::Extend(self.known(c)?),
            6..7 => Hand::Reword(self.known(c)?),
            7..8 => Hand::Rename(self.known(c)?, format!("note {}", self.name())),
            8..9 => Hand::Switch(self.known(c)?),
            10..11 => Hand::Order(self.known(c)?),
            // A title that was there before comes back now and then.
            9..10 if !self.world.things.is_empty() => {
                let titles = self.world.things.clone();
                Hand::Add(self.random.pick(&titles).filter(|t| t.starts_with("note"))?.clone())
            }
            _ => Hand::Delete(self.known(c)?),
        };
        Some(Act::Hand { chat, does })
    }
}
