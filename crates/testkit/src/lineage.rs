//! [`World`]: plays random stories of chats as the versions of SillyTavern did from 1.12 to 1.19, and keeps who was forked from whom and
//! where, by construction.
//!
//! Alone and in groups (whose older versions keep metadata in the group's file), with forks by button, by slash command and from other
//! swipes, of forks, with the parent's slug (before 1.19) or their own; parents that are renamed, deleted, played on, edited, trimmed;
//! imports and copies by hand; messages with and without times. A [`Truth`] says for each chat what was played, and what of it the
//! files still tell.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::generate::Random;

/// One message as it was played.
#[derive(Debug, Clone, PartialEq)]
struct Message {
    /// Who it is, whatever becomes of its text
    uid: usize,
    user: bool,
    text: String,
    date: Option<String>,
    swipes: Vec<String>,
    bookmark: Option<String>,
    branches: Vec<String>,
    /// Whether it came with the fork
    inherited: bool,
}

/// How a chat came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Begun anew
    New,
    /// Forked from the chat with this number
    Fork(usize),
    /// Imported or copied from the chat with this number
    Copy(usize),
}

#[derive(Debug, Clone)]
struct Chat {
    id: usize,
    story: usize,
    name: String,
    slug: Option<String>,
    main_chat: Option<String>,
    origin: Origin,
    messages: Vec<Message>,
    /// Names that it had before
    former: Vec<String>,
}

/// Whose chats they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoryKind {
    Solo,
    Group,
    /// Metadata in the group's file
    OldGroup,
}

/// What was played in one chat.
#[derive(Debug, Clone)]
pub struct Truth {
    /// Address as Forklore gives it
    pub address: String,
    /// How it came to be
    pub origin: Origin,
    /// Address of the chat that it was forked or copied from, if that is still there
    pub parent: Option<String>,
    /// Whether that goes by the name that the fork knows it by
    pub named: bool,
    /// Whether the files still tell which chat it was forked from
    pub told: bool,
    /// The last message that it has from there, and whether both still have it
    pub fork: Option<(usize, bool)>,
    /// Whether another chat was copied from it, or it is a copy
    pub copied: bool,
    /// Whether its messages have times
    pub dated: bool,
    /// Whether it has another name than it was made with
    pub renamed: bool,
}

/// A vault in the playing.
#[derive(Debug)]
pub struct World {
    random: Random,
    stories: Vec<StoryKind>,
    chats: BTreeMap<usize, Chat>,
    ids: usize,
    clock: usize,
    /// What was done, for whoever has to understand a failure
    pub steps: Vec<String>,
}

impl World {
    /// Plays so many steps from a seed.
    pub fn play(seed: u64, steps: usize) -> Self {
        let mut random = Random::new(seed);
        let kinds = [StoryKind::Solo, StoryKind::Solo, StoryKind::Group, StoryKind::OldGroup];
        let stories = (0..=random.below(2)).map(|_| kinds[random.below(4)]).collect();
        let mut world = Self { random, stories, chats: BTreeMap::new(), ids: 0, clock: 0, steps: Vec::new() };
        for story in 0..world.stories.len() {
            world.begin(story);
        }
        for _ in 0..steps {
            world.step();
        }
        world
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.random.below(all.len())].clone()
    }

    fn id(&mut self) -> usize {
        self.ids += 1;
        self.ids
    }

    /// A time, as names have it; no two are the same.
    fn stamp(&mut self) -> String {
        self.clock += 1 + self.random.below(600);
        let (s, m, h) = (self.clock % 60, self.clock / 60 % 60, self.clock / 3600 % 24);
        let (day, month) = (self.clock / 86_400 % 28 + 1, self.clock / 2_419_200 % 12 + 1);
        if self.random.below(2) == 0 {
            format!("2025-{month}-{day} @{h:02}h {m:02}m {s:02}s {:03}ms", self.random.below(1000))
        } else {
            format!("2025-{month:02}-{day:02}@{h:02}h{m:02}m{s:02}s")
        }
    }

    fn message(&mut self, user: bool, dated: bool) -> Message {
        let uid = self.id();
        self.clock += 1 + self.random.below(90);
        // Short answers are given again and again.
        let text = if user && self.random.below(4) == 0 {
            "Yes.".to_owned()
        } else {
            format!("{uid} {}", self.random.words(4))
        };
        let date = dated.then(|| format!("2025-01-01T00:00:00.{:09}Z", self.clock));
        let swipes = if user { Vec::new() } else { vec![text.clone()] };
        Message { uid, user, text, date, swipes, bookmark: None, branches: Vec::new(), inherited: false }
    }

    fn begin(&mut self, story: usize) {
        let id = self.id();
        let name = match self.stories[story] {
            StoryKind::Solo => format!("Ann{story} - {}", self.stamp()),
            _ => format!("17{id:011}"),
        };
        let slug = (self.random.below(4) > 0).then(|| format!("slug-{id}"));
        let dated = self.random.below(6) > 0;
        // A greeting is the same in all chats of a character.
        let mut greeting = self.message(false, dated);
        greeting.text = format!("Hello from {story}.");
        greeting.swipes = vec![greeting.text.clone(), format!("Another hello from {story}.")];
        let mut messages = vec![greeting];
        for i in 1..4 + self.random.below(6) {
            messages.push(self.message(i % 2 == 1, dated));
        }
        self.steps.push(format!("begins {name:?} with {} messages", messages.len()));
        let (main_chat, origin, former) = (None, Origin::New, Vec::new());
        self.chats.insert(id, Chat { id, story, name, slug, main_chat, origin, messages, former });
    }

    fn step(&mut self) {
        let ids: Vec<usize> = self.chats.keys().copied().collect();
        let Some(c) = (!ids.is_empty()).then(|| self.one_of(&ids)) else { return };
        match self.random.below(20) {
            0 => {
                let story = self.chats[&c].story;
                self.begin(story);
            }
            1..=7 => self.fork(c),
            8..=12 => self.play_on(c),
            13 => self.rename(c),
            14 if ids.len() > 2 => self.delete(c),
            15 => self.edit(c),
            16 => self.delete_message(c),
            17 => self.trim(c),
            18 => self.swipe(c),
            _ => self.copy(c),
        }
    }

    fn fork(&mut self, c: usize) {
        let parent = self.chats[&c].clone();
        if parent.messages.is_empty() {
            return;
        }
        let at = self.random.below(parent.messages.len());
        let id = self.id();
        let modern = self.random.below(2) == 0;
        let checkpoint = self.random.below(3) == 0;
        let counted = |word: &str, world: &Self| {
            let free = |n: &usize| !world.taken(parent.story, &format!("{} - {word} #{n}", parent.name));
            format!("{} - {word} #{}", parent.name, (1..).find(free).unwrap_or(0))
        };
        let name = match (modern, checkpoint) {
            (true, false) => counted("Branch", self),
            (true, true) if self.random.below(2) == 0 => counted("Checkpoint", self),
            (_, true) => format!("save {id}"),
            (false, false) => format!("Branch #{at} - {}", self.stamp()),
        };
        if self.taken(parent.story, &name) || name.len() > 200 {
            return;
        }
        let mut messages: Vec<Message> = parent.messages[..=at].to_vec();
        messages.iter_mut().for_each(|message| message.inherited = true);
        // From the swipe picker: the last message shows another swipe.
        if let Some(last) = messages.last_mut().filter(|last| last.swipes.len() > 1)
            && modern
            && !checkpoint
            && at > 0
            && self.random.below(2) == 0
        {
            let shown = self.random.below(last.swipes.len());
            last.text.clone_from(&last.swipes[shown]);
        }
        // SillyTavern keeps the link to a checkpoint, and before 1.19 now and then the one to a branch.
        let linked = self.chats.get_mut(&c).and_then(|chat| chat.messages.get_mut(at));
        if let Some(message) = linked {
            if checkpoint {
                message.bookmark = Some(name.clone());
            } else if !modern {
                message.branches.push(name.clone());
            }
        }
        let slug = if modern { Some(format!("slug-{id}")) } else { parent.slug.clone() };
        self.steps.push(format!("forks {name:?} from {:?} at {at}", parent.name));
        let main_chat = Some(parent.name.clone());
        let (story, origin, former) = (parent.story, Origin::Fork(c), Vec::new());
        self.chats.insert(id, Chat { id, story, name, slug, main_chat, origin, messages, former });
        if self.random.below(3) > 0 {
            self.play_on(id);
        }
    }

    fn taken(&self, story: usize, name: &str) -> bool {
        let group = self.stories[story] != StoryKind::Solo;
        let beside = |other: usize| other == story || (group && self.stories[other] != StoryKind::Solo);
        let has = |chat: &Chat| {
            beside(chat.story) && (chat.name == name || chat.former.iter().any(|old| old == name))
        };
        // Nor is the name of a chat that is gone given again while forks still know it.
        self.chats.values().any(|chat| has(chat) || chat.main_chat.as_deref() == Some(name))
    }

    fn play_on(&mut self, c: usize) {
        let dated = self.chats[&c].messages.iter().all(|message| message.date.is_some());
        for _ in 0..1 + self.random.below(6) {
            let user = self.chats[&c].messages.last().is_none_or(|last| !last.user);
            let message = self.message(user, dated);
            if let Some(chat) = self.chats.get_mut(&c) {
                chat.messages.push(message);
            }
        }
        self.steps.push(format!(
            "plays on in {:?}: {} messages",
            self.chats[&c].name,
            self.chats[&c].messages.len()
        ));
    }

    fn rename(&mut self, c: usize) {
        let id = self.id();
        let name = format!("Renamed {id}");
        if let Some(chat) = self.chats.get_mut(&c) {
            let old = std::mem::replace(&mut chat.name, name.clone());
            self.steps.push(format!("renames {old:?} to {name:?}"));
            chat.former.push(old);
        }
    }

    fn delete(&mut self, c: usize) {
        if let Some(chat) = self.chats.remove(&c) {
            self.steps.push(format!("deletes {:?}", chat.name));
        }
    }

    fn edit(&mut self, c: usize) {
        let (id, len) = (self.id(), self.chats[&c].messages.len());
        let at = self.random.below(len);
        if let Some(message) = self.chats.get_mut(&c).and_then(|chat| chat.messages.get_mut(at)) {
            let edited = format!("edited {id}");
            if let Some(shown) = message.swipes.iter_mut().find(|swipe| **swipe == message.text) {
                shown.clone_from(&edited);
            }
            message.text = edited;
            self.steps.push(format!("edits message {at} of {:?}", self.chats[&c].name));
        }
    }

    fn delete_message(&mut self, c: usize) {
        let len = self.chats[&c].messages.len();
        let at = self.random.below(len);
        if let Some(chat) = self.chats.get_mut(&c).filter(|_| len > 3 && at > 0) {
            chat.messages.remove(at);
            self.steps.push(format!("deletes message {at} of {:?}", chat.name));
        }
    }

    fn trim(&mut self, c: usize) {
        let len = self.chats[&c].messages.len();
        let keep = len - self.random.below(3).min(len.saturating_sub(2));
        if let Some(chat) = self.chats.get_mut(&c) {
            chat.messages.truncate(keep);
            self.steps.push(format!("cuts {:?} to {keep} messages", chat.name));
        }
    }

    fn swipe(&mut self, c: usize) {
        let id = self.id();
        if let Some(last) =
            self.chats.get_mut(&c).and_then(|chat| chat.messages.last_mut()).filter(|last| !last.user)
        {
            last.text = format!("swiped {id}");
            last.swipes.push(last.text.clone());
            self.steps.push(format!("swipes the last message of {:?}", self.chats[&c].name));
        }
    }

    fn copy(&mut self, c: usize) {
        let original = self.chats[&c].clone();
        let id = self.id();
        let solo = self.stories[original.story] == StoryKind::Solo;
        let name = if solo {
            format!("Ann{} - {} imported", original.story, self.stamp())
        } else {
            format!("copy {id}")
        };
        self.steps.push(format!("copies {:?} as {name:?}", original.name));
        let mut copy = Chat { id, name, origin: Origin::Copy(c), former: Vec::new(), ..original };
        // What is kept in the group's file does not come along with a file.
        if self.stories[copy.story] == StoryKind::OldGroup {
            (copy.slug, copy.main_chat) = (None, None);
        }
        self.chats.insert(id, copy);
    }

    /// The files of the vault.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = vec![("settings.json".to_owned(), b"{}".to_vec())];
        for chat in self.chats.values() {
            let kind = self.stories[chat.story];
            let mut lines: Vec<String> =
                chat.messages.iter().map(|message| line(message).to_string()).collect();
            if kind != StoryKind::OldGroup {
                let header = json!({"chat_metadata": metadata(chat), "user_name": "unused", "character_name": "unused"});
                lines.insert(0, header.to_string());
            }
            let path = match kind {
                StoryKind::Solo => format!("chats/Ann{}/{}.jsonl", chat.story, chat.name),
                _ => format!("group chats/{}.jsonl", chat.name),
            };
            files.push((path, lines.join("\n").into_bytes()));
        }
        for (story, kind) in self.stories.iter().enumerate().filter(|(_, kind)| **kind != StoryKind::Solo) {
            let chats: Vec<&Chat> = self.chats.values().filter(|chat| chat.story == story).collect();
            let names: Vec<&str> = chats.iter().map(|chat| chat.name.as_str()).collect();
            let mut group = json!({"id": format!("{story}"), "name": "Party", "members": ["Ann.png"], "chat_id": names.first(), "chats": names});
            if *kind == StoryKind::OldGroup {
                group["chat_metadata"] = chats.first().map_or(json!({}), |open| metadata(open));
                let known = chats.iter().skip(1).filter(|chat| !matches!(chat.origin, Origin::Copy(_)));
                let past: serde_json::Map<String, Value> =
                    known.map(|chat| (chat.name.clone(), metadata(chat))).collect();
                group["past_metadata"] = past.into();
            }
            files.push((
                format!("groups/{story}.json"),
                serde_json::to_vec_pretty(&group).unwrap_or_default(),
            ));
        }
        files
    }

    /// What was played.
    pub fn truth(&self) -> Vec<Truth> {
        self.chats.values().map(|chat| self.truth_of(chat)).collect()
    }

    fn address(&self, chat: &Chat) -> String {
        match self.stories[chat.story] {
            StoryKind::Solo => format!("Ann{}/{}", chat.story, chat.name),
            _ => format!("group:{}/{}", chat.story, chat.name),
        }
    }

    fn truth_of(&self, chat: &Chat) -> Truth {
        let (Origin::Fork(p) | Origin::Copy(p)) = chat.origin else { return self.told(chat, None) };
        self.told(chat, self.chats.get(&p))
    }

    fn told(&self, chat: &Chat, parent: Option<&Chat>) -> Truth {
        let named = parent.is_some_and(|parent| chat.main_chat.as_deref() == Some(&parent.name));
        let last = chat.messages.iter().rposition(|message| message.inherited);
        let fork = last.map(|at| {
            let here = &chat.messages[at];
            let same = |there: &Message| {
                let shown = there.text == here.text
                    || there.swipes.contains(&here.text)
                    || here.swipes.contains(&there.text);
                there.uid == here.uid && there.date == here.date && shown
            };
            // What has no time may be said twice, and then nothing tells which was which.
            let dated = chat.messages.iter().all(|message| message.date.is_some());
            (at, dated && parent.is_some_and(|parent| parent.messages.iter().any(same)))
        });
        let copied = |other: &Chat| matches!(other.origin, Origin::Copy(of) if of == chat.id);
        Truth {
            address: self.address(chat),
            origin: chat.origin,
            parent: parent.map(|parent| self.address(parent)),
            named,
            told: self.is_told(chat, parent),
            fork: fork.filter(|_| matches!(chat.origin, Origin::Fork(_))),
            copied: matches!(chat.origin, Origin::Copy(_)) || self.chats.values().any(copied),
            dated: chat.messages.iter().all(|message| message.date.is_some()),
            renamed: !chat.former.is_empty(),
        }
    }

    /// Whether the files still tell the parent: it goes by its name, or no other chat shares as much with the fork.
    fn is_told(&self, chat: &Chat, parent: Option<&Chat>) -> bool {
        let (Origin::Fork(_), Some(parent)) = (chat.origin, parent) else { return false };
        let shared = |other: &Chat| {
            let there: HashSet<(usize, &str, Option<&str>)> =
                other.messages.iter().map(|m| (m.uid, m.text.as_str(), m.date.as_deref())).collect();
            let has = |m: &&Message| there.contains(&(m.uid, m.text.as_str(), m.date.as_deref()));
            chat.messages.iter().skip(1).filter(has).count()
        };
        let ours = shared(parent);
        let beside =
            |other: &&Chat| other.story == chat.story && other.id != chat.id && other.id != parent.id;
        let named = chat.main_chat.as_deref() == Some(&parent.name);
        // By the name, if the lines still have something in common; by the lines, if nobody else is as near.
        let dated = chat.messages.iter().chain(&parent.messages).all(|message| message.date.is_some());
        let lines = ours > 0 && dated && self.chats.values().filter(beside).all(|other| shared(other) < ours);
        (named && ours > 0) || lines
    }
}

fn metadata(chat: &Chat) -> Value {
    let mut metadata = json!({"tainted": true});
    if let Some(slug) = &chat.slug {
        metadata["integrity"] = json!(slug);
    }
    if let Some(main_chat) = &chat.main_chat {
        metadata["main_chat"] = json!(main_chat);
    }
    metadata
}

fn line(message: &Message) -> Value {
    let mut extra = json!({});
    if let Some(name) = &message.bookmark {
        extra["bookmark_link"] = json!(name);
    }
    if !message.branches.is_empty() {
        extra["branches"] = json!(message.branches);
    }
    let name = if message.user { "You" } else { "Ann" };
    let mut line = json!({"name": name, "is_user": message.user, "is_system": false, "mes": message.text, "extra": extra});
    if let Some(date) = &message.date {
        line["send_date"] = json!(date);
    }
    if message.swipes.len() > 1 {
        line["swipe_id"] = json!(message.swipes.iter().position(|swipe| *swipe == message.text).unwrap_or(0));
        line["swipes"] = json!(message.swipes);
    }
    line
}
