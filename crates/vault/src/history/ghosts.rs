//! [`Library::with_ghosts`]: the vault with the chats that are gone and that history has seen.
//!
//! What was done in a chat that is gone was done by nobody else: who was played, who was forked from whom and whose scene wrote what is the same
//! whether or not it is there still. So states are worked out where it is there still, and deleting a chat makes no answer wrong in the others.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

use forklore_core::format::chat::Header;
use forklore_core::format::names::chat_stem;
use forklore_core::story::lineage::{Basis, Kind, Lineage};
use forklore_core::story::{Confidence, common_prefix};
use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_json::Raw;
use forklore_store::Id;

use super::observation::Observed;
use super::past::{PastFs, stem_of};
use super::timeline::Timeline;
use crate::library::{Memo, StoryKind};
use crate::{Chat, ChatIx, Library, StoryIx};

/// A chat that is gone.
struct Ghost {
    /// A name that no other chat has: names are given again
    file: VaultPath,
    /// Its observations
    track: Vec<usize>,
    /// The place of the observation that found it gone; nothing if it went since the last look
    went: Option<usize>,
    name: String,
    story: StoryIx,
    /// What it was when it was stored last
    content: Id,
    /// When that was saved
    clock: i64,
}

/// The vault with those that are gone; nothing if nobody is, or if it is that one.
#[derive(Default)]
struct WithGhosts(OnceLock<Option<Box<Library>>>);

/// Those that are gone.
#[derive(Default)]
struct Ghosts(OnceLock<Vec<Ghost>>);

impl Library {
    /// The vault with the chats that are gone, put last: all others are asked for by the same [`ChatIx`] as before.
    pub(crate) fn with_ghosts(&self) -> &Self {
        let slot = &self.memo.slot::<WithGhosts>().0;
        // Chats are read by several threads, and one that waits for the others takes up what else there is to do, which may ask for this, too: nobody
        // waits for it here. Whoever lets many ask at once asks first himself ([`Library::get_ready`]).
        let known = slot.get().unwrap_or_else(|| {
            let raised = self.raise().map(Box::new);
            slot.get_or_init(|| raised)
        });
        known.as_deref().unwrap_or(self)
    }

    /// Finds out what many threads will ask for, before each of them does.
    pub fn get_ready(&self) {
        self.with_ghosts();
    }

    /// The books that those had who are gone from a story.
    pub(crate) fn books_of_ghosts(&self, story: StoryIx) -> BTreeSet<&str> {
        let Some(history) = self.history().ok().flatten() else { return BTreeSet::new() };
        let ghosts = self.ghosts(history).iter().filter(|ghost| ghost.story == story);
        let seen = ghosts.flat_map(|ghost| &ghost.track).filter_map(|i| history.seen[*i].chat());
        seen.filter_map(|chat| chat.book.as_deref()).collect()
    }

    /// Whether a chat was seen under a name.
    pub(crate) fn was_called(&self, chat: ChatIx, name: &str) -> bool {
        let Some(history) = self.history().ok().flatten() else { return false };
        let life = history.life(&self.chats[chat].path, usize::MAX);
        life.iter().any(|i| stem_of(&history.seen[*i].observation.file) == name)
    }

    fn raise(&self) -> Option<Self> {
        let history = self.history().ok().flatten()?;
        let ghosts = self.ghosts(history);
        if ghosts.is_empty() {
            return None;
        }
        let files = ghosts.iter().map(|ghost| (ghost.file.clone(), ghost.content, ghost.clock));
        let fs = PastFs::showing(self.fs.clone(), history.store.clone(), files);
        let mut library = Self {
            stories: self.stories.clone(),
            chats: self.chats.clone(),
            groups: self.groups.clone(),
            cards: self.cards.clone(),
            settings: self.settings.clone(),
            books: self.books.clone(),
            litter: Vec::new(),
            not_read: self.not_read.clone(),
            unfinished: Vec::new(),
            under_way: Vec::new(),
            right: None,
            remembering: Mutex::default(),
            last_books: self.last_books.clone(),
            met_closed: self.met_closed.clone(),
            memo: Memo::default(),
            until: self.until,
            fs: Arc::new(fs),
        };
        let places = ghosts.iter().map(|ghost| (ghost.story, ghost.name.clone(), ghost.file.clone()));
        library.add_chats(&places.collect::<Vec<_>>(), &*self.fs);
        library.trace_as("ghosts", &*self.fs);
        let history = history.with_ghosts(ghosts);
        self.keep_known(&mut library, &history);
        library.set_history(history);
        // It has them already.
        library.memo.slot::<WithGhosts>().0.get_or_init(|| None);
        Some(library)
    }

    /// Of those who are there only whose parent is gone, or seemed to be another one because of that, comes from somebody else than is known; and
    /// nobody comes from a chat that went before he came. Who had an earlier lorebook of a name has nothing to do with this one.
    fn keep_known(&self, library: &mut Self, history: &Timeline) {
        let (there, ghosts) = library.chats.split_at_mut(self.chats.len());
        let parent = |chat: &Chat| chat.lineage.parent.and_then(|c| c.place().checked_sub(there.len()));
        let is_ghosts = |chat: &Chat| parent(chat).map(|n| may_come_from(chat, &ghosts[n], history));
        let lineage = |(chat, known): (&Chat, &Chat)| {
            let of_then = || named_then(known, ghosts, history);
            match is_ghosts(chat) {
                Some(true) => chat.lineage.clone(),
                found => match of_then() {
                    Some((n, lineage)) => Lineage { parent: Some(ChatIx::new(there.len() + n)), ..lineage },
                    None if found.is_none() && known.lineage.parent.is_none() => chat.lineage.clone(),
                    None => known.lineage.clone(),
                },
            }
        };
        let lineages: Vec<Lineage> = there.iter().zip(&self.chats).map(lineage).collect();
        let of_ghost = |chat: &Chat| match is_ghosts(chat) {
            Some(true) => chat.lineage.clone(),
            found => match named_then(chat, ghosts, history) {
                Some((n, lineage)) => Lineage { parent: Some(ChatIx::new(there.len() + n)), ..lineage },
                None if found.is_none() => chat.lineage.clone(),
                None => Lineage::NONE,
            },
        };
        let of_ghosts: Vec<Lineage> = ghosts.iter().map(of_ghost).collect();
        for ((chat, known), lineage) in there.iter_mut().zip(&self.chats).zip(lineages) {
            chat.record.clone_from(&known.record);
            chat.lineage = lineage;
        }
        for (chat, lineage) in ghosts.iter_mut().zip(of_ghosts) {
            chat.lineage = lineage;
            chat.book = chat.book.take().filter(|(_, stem)| !history.is_earlier(&chat.path, stem));
            chat.bound.retain(|stem| !history.is_earlier(&chat.path, stem));
        }
    }

    fn ghosts(&self, history: &Timeline) -> &[Ghost] {
        self.memo.slot::<Ghosts>().0.get_or_init(|| self.find_ghosts(history))
    }

    fn find_ghosts(&self, history: &Timeline) -> Vec<Ghost> {
        let folders: HashMap<VaultPath, StoryIx> =
            self.chats.iter().map(|chat| (chat.path.parent(), chat.story)).collect();
        let mut taken: HashSet<VaultPath> = self.chats.iter().map(|chat| chat.path.clone()).collect();
        let mut ghosts = Vec::new();
        for (file, life) in self.lives_gone(history) {
            let is_chat = |i: &usize| history.seen[*i].chat().is_some();
            let track = &life[..life.iter().rposition(is_chat).map_or(0, |last| last + 1)];
            let stored = track.iter().rev().find_map(|i| Some((*i, history.content(&history.seen[*i])?)));
            let Some((last, content)) = stored else { continue };
            let seen = &history.seen[last].observation;
            let Some(story) = self.story_of_gone(history, last, &folders) else { continue };
            let end = track.last().copied();
            let called = end.map_or(&seen.file, |end| &history.seen[end].observation.file);
            let name = stem_of(called).to_owned();
            let alias = |n: usize| if n == 0 { name.clone() } else { format!("{name} ~ {n}") };
            let aliases =
                (0..=taken.len()).filter_map(|n| called.parent().join(&format!("{}.jsonl", alias(n))).ok());
            let Some(free) = { aliases }.find(|file| !taken.contains(file)) else { continue };
            taken.insert(free.clone());
            let went = history.track(&file).iter().copied().find(|i| Some(*i) > end);
            ghosts.push(Ghost {
                file: free,
                track: track.to_vec(),
                went,
                name,
                story,
                content,
                clock: seen.clock,
            });
        }
        ghosts
    }

    /// The lives of the chats that are gone, with the file under whose name each is found.
    fn lives_gone<'a>(&self, history: &'a Timeline) -> Vec<(VaultPath, &'a [usize])> {
        let there: HashMap<&VaultPath, Option<&str>> =
            self.chats.iter().map(|chat| (&chat.path, chat.slug())).collect();
        // One of those who had its slug may be what a chat was before that nobody has seen yet: somebody gave it another name.
        let unseen = self.chats.iter().filter(|chat| history.track(&chat.path).is_empty());
        let slugs: HashSet<&str> = unseen.filter_map(Chat::slug).collect();
        let mut files: Vec<&VaultPath> = history.chats().filter(|file| !self.is_in_closed(file)).collect();
        files.sort_unstable();
        let mut gone = Vec::new();
        for file in files {
            let (mut lives, is_last_gone) = history.lives(file);
            let last = lives.last().and_then(|life| life.iter().rev().find_map(|i| history.seen[*i].chat()));
            let may_be_there =
                last.and_then(|chat| chat.slug.as_deref()).is_some_and(|slug| slugs.contains(slug));
            // What came under its name since nobody looked is another one, unless it has its slug.
            let is_there = there
                .get(file)
                .is_some_and(|slug| !is_last_gone || last.is_none_or(|last| last.slug.as_deref() == *slug));
            if is_there || may_be_there {
                lives.pop();
            }
            gone.extend(lives.into_iter().map(|life| (file.clone(), life)));
        }
        gone
    }

    /// The story of a chat that is gone, as it was seen last: that of its folder, or of those who have its book; nothing if nobody is left. A group chat is of
    /// the story of those that it came from, or that came from it.
    fn story_of_gone(
        &self,
        history: &Timeline,
        last: usize,
        folders: &HashMap<VaultPath, StoryIx>,
    ) -> Option<StoryIx> {
        let file = &history.seen[last].observation.file;
        let seen = history.seen[last].chat()?;
        let is_group = file.parent() == layout::folder(layout::GROUP_CHATS);
        let has_book = |chat: &&Chat| seen.book.is_some() && chat.book_stem() == seen.book.as_deref();
        if !is_group {
            let with_book = || self.chats.iter().find(has_book).map(|chat| chat.story);
            return folders.get(&file.parent()).copied().or_else(with_book);
        }
        let line = history.store.get(&seen.header).ok()?;
        let parent =
            Header::new(Raw::parse(line.trim_ascii()).ok()?).main_chat().map(|name| chat_stem(&name));
        let is_parent = |chat: &&Chat| parent.as_deref() == Some(&*chat.name);
        let is_fork = |chat: &&Chat| chat.main_chat().map(chat_stem).as_deref() == Some(stem_of(file));
        let of_group = || self.chats.iter().filter(|chat| self.stories[chat.story].kind == StoryKind::Group);
        let near = of_group().find(is_parent).or_else(|| of_group().find(is_fork));
        near.or_else(|| of_group().find(has_book)).map(|chat| chat.story)
    }
}

impl Timeline {
    /// The same with chats that are gone, each under a name of its own.
    fn with_ghosts(&self, ghosts: &[Ghost]) -> Self {
        let mut timeline = self.clone();
        let raised: HashSet<usize> = ghosts.iter().flat_map(|ghost| ghost.track.iter().copied()).collect();
        let went: HashSet<usize> = ghosts.iter().filter_map(|ghost| ghost.went).collect();
        let is_gone = |i: usize| went.contains(&i) && self.seen[i].observation.what == Observed::Gone;
        for track in timeline.tracks.values_mut() {
            track.retain(|i| !raised.contains(i) && !is_gone(*i));
        }
        timeline.tracks.retain(|_, track| !track.is_empty());
        for ghost in ghosts {
            timeline.tracks.insert(ghost.file.clone(), ghost.track.clone());
            timeline.went.extend(ghost.went.map(|went| (ghost.file.clone(), went)));
            let books = ghost.track.iter().filter_map(|i| self.seen[*i].chat()?.book.as_ref());
            for book in books {
                let is_earlier = timeline.is_earlier(&ghost.file, book);
                let bound = timeline.bound.entry(book.clone()).or_default();
                if is_earlier {
                    bound.remove(&ghost.file);
                } else {
                    bound.insert(ghost.file.clone());
                }
            }
        }
        timeline
    }
}

/// Whether a chat may come from one that is gone: that was there when it came.
fn may_come_from(chat: &Chat, ghost: &Chat, history: &Timeline) -> bool {
    let first = history.life(&chat.path, usize::MAX).first().copied().unwrap_or(usize::MAX);
    history.went(&ghost.path).is_none_or(|went| !history.is_before(went, first))
}

/// The chat that had the name of a fork's parent when the fork was seen first, if it is gone, by its place among those; and what the fork has from it. Whoever has
/// that name by now came later.
fn named_then(chat: &Chat, ghosts: &[Chat], history: &Timeline) -> Option<(usize, Lineage)> {
    let name = chat_stem(chat.main_chat().filter(|_| chat.record.is_none())?);
    let first = *history.life(&chat.path, usize::MAX).first()?;
    let was_there = |ghost: &Chat| {
        let begun = history.life(&ghost.path, usize::MAX).first().copied();
        begun.is_some_and(|begun| !history.is_before(first, begun)) && may_come_from(chat, ghost, history)
    };
    let mut named =
        ghosts.iter().enumerate().filter(|(_, ghost)| ghost.story == chat.story && ghost.name == name);
    let (n, ghost) = named.find(|(_, ghost)| was_there(ghost))?;
    // What it is a copy of it has whole.
    let shared = common_prefix(&chat.transcript, &ghost.transcript).checked_sub(1)?;
    let lineage = &chat.lineage;
    let kind = if lineage.is_fork() { lineage.kind } else { Kind::Branch };
    let (basis, confidence) = (Basis::MainChat, Confidence::Certain);
    let lineage = Lineage {
        kind,
        parent: None,
        fork_message: Some(shared),
        basis,
        confidence,
        note: None,
        beyond: None,
    };
    Some((n, lineage))
}
