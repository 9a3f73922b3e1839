//! [`play`]: what the extension would have written, scene by scene, in the order in which scenes were processed.

use std::collections::HashMap;

use crate::story::{Entry, Story};

/// Types of entities, in the order of their registries.
pub(crate) const TYPES: [&str; 9] =
    ["recap", "character", "location", "item", "faction", "lore", "event", "document", "rule"];

/// When the first message was sent, in milliseconds since 1970: 9 October 2026, 19:30.
pub(crate) const BEGIN: i64 = 1_791_574_200_000;

/// A lorebook at some time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Book {
    /// Entities by uid; registries come before them.
    pub(crate) entries: Vec<(usize, Entry)>,
}

/// What processing a scene left behind.
#[derive(Debug, Clone)]
pub(crate) struct Processed {
    pub(crate) clock: i64,
    /// The book without the events of this scene, which are written a moment too late for the snapshot.
    pub(crate) snapshot: Book,
    /// The book with them.
    pub(crate) after: Book,
    pub(crate) created: Vec<usize>,
    pub(crate) events: Vec<(String, String)>,
}

/// The whole course of events.
#[derive(Debug, Default)]
pub(crate) struct Chronicle {
    /// By chat and by the message that the scene ends with.
    pub(crate) scenes: HashMap<(usize, usize), Processed>,
    /// The books as they are in the end, by the chat they were made for.
    pub(crate) books: HashMap<usize, Book>,
}

impl Chronicle {
    /// The chat whose book a chat uses.
    pub(crate) fn owner(story: &Story, chat: usize) -> usize {
        let parent = story.chats[chat].parent.as_deref().and_then(|name| story.find(name));
        match parent {
            Some(parent) if story.chats[chat].shares_book => Self::owner(story, parent),
            _ => chat,
        }
    }

    /// The book at message `at` of a chat's line.
    fn state(&self, story: &Story, chat: usize, at: usize) -> Book {
        let last = scenes_on_line(story, chat)
            .into_iter()
            .filter(|(_, ends)| *ends <= at)
            .max_by_key(|(_, ends)| *ends);
        last.and_then(|key| self.scenes.get(&key)).map(|done| done.after.clone()).unwrap_or_default()
    }
}

/// The scenes that a chat has, its own and those copied with its messages: (chat they were made in, last message).
pub(crate) fn scenes_on_line(story: &Story, chat: usize) -> Vec<(usize, usize)> {
    let line = story.line(chat);
    let mut scenes = Vec::new();
    for (i, c) in line.iter().enumerate() {
        // What a chat passes on ends where the next one in line was forked from it.
        let until = line.get(i + 1).and_then(|next| story.chats[*next].at).unwrap_or(usize::MAX);
        scenes.extend(story.chats[*c].scenes.iter().map(|s| (*c, s.ends)).filter(|(_, ends)| *ends <= until));
    }
    scenes
}

/// Plays the story through.
pub(crate) fn play(story: &Story) -> Chronicle {
    let mut chronicle = Chronicle::default();
    let mut all: Vec<(usize, usize, usize)> = Vec::new();
    for (c, chat) in story.chats.iter().enumerate() {
        all.extend(chat.scenes.iter().enumerate().map(|(s, scene)| (scene.order, c, s)));
    }
    all.sort_unstable();
    for (order, c, s) in all {
        let scene = &story.chats[c].scenes[s];
        let owner = Chronicle::owner(story, c);
        let mut book = match chronicle.books.get(&owner) {
            Some(book) => book.clone(),
            None => chronicle.state(story, owner, story.chats[owner].at.unwrap_or(0)),
        };
        let (late, now): (Vec<&Entry>, Vec<&Entry>) = scene.entries.iter().partition(|e| e.kind == "event");
        let created = now.iter().map(|entry| book.put(entry)).collect();
        let snapshot = book.clone();
        let events = late.iter().map(|entry| (entry.name.clone(), entry.content.join("\n"))).collect();
        late.iter().for_each(|entry| {
            book.put(entry);
        });
        let clock = BEGIN + i64::try_from(order).unwrap_or(0) * 3_600_000;
        chronicle.books.insert(owner, book.clone());
        chronicle.scenes.insert((c, scene.ends), Processed { clock, snapshot, after: book, created, events });
    }
    for (c, chat) in story.chats.iter().enumerate() {
        if Chronicle::owner(story, c) == c && !chronicle.books.contains_key(&c) {
            let book = chronicle.state(story, c, chat.at.unwrap_or(0));
            chronicle.books.insert(c, book);
        }
    }
    chronicle
}

impl Book {
    /// Creates an entry or replaces its content, and returns its uid: the lowest free one, as SillyTavern gives them.
    fn put(&mut self, entry: &Entry) -> usize {
        if let Some((uid, known)) =
            self.entries.iter_mut().find(|(_, e)| e.name == entry.name && e.kind == entry.kind)
        {
            *known = entry.clone();
            return *uid;
        }
        let uid = TYPES.len() + self.entries.len();
        self.entries.push((uid, entry.clone()));
        uid
    }
}
