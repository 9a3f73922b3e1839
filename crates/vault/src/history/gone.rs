//! [`Gone`]: the chats that are gone and that history has seen. What was done in one after everybody who came from it had left it is nobody's;
//! [`GonePlayer`]s are those who had a book, [`GoneScenes`] what was played in them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forklore_core::adapter::Scene as SceneFacts;
use forklore_core::adapter::recap::{self, RunningRecap};
use forklore_core::format::chat::Header;
use forklore_core::format::names::{ForkName, chat_stem};
use forklore_core::format::record::ForkRecord;
use forklore_core::state::Head;
use forklore_core::story::lineage::Link;
use forklore_core::story::{MessageId, Shift, Transcript};
use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_json::Raw;

use super::HistoryError;
use super::document::scan_stored;
use super::observation::Observed;
use super::stood::{Stood, number_now, stood};
use super::timeline::Timeline;
use crate::read::scan::Scan;
use crate::read::snapshots::Snapshots;
use crate::{Chat, ChatIx, Library};

/// The chats that are gone and that history has seen.
#[derive(Default)]
pub(crate) struct Gone {
    chats: Vec<GoneChat>,
    /// By each name that they had, in the order in which they were there
    named: HashMap<VaultPath, Vec<usize>>,
    /// Which of them a chat was forked from
    above: HashMap<ChatIx, usize>,
}

/// A chat that is gone.
struct GoneChat {
    /// Its observations
    track: Vec<usize>,
    /// The first observation of the last one who came from it, directly or over others that are gone; nothing if nobody did
    left: Option<usize>,
    /// Whether somebody came from one that is gone, too, and was forked from this one
    is_chained: bool,
}

impl Timeline {
    /// The chats that used a book and are gone.
    pub(super) fn gone_players(&self, book: &str, library: &Library) -> Vec<GonePlayer> {
        let gone = library.chats_gone(self);
        let began = self.began(book);
        let player = |number: usize| {
            let chat = &gone.chats[number];
            let stood = |i: &usize| {
                let seen = self.seen[*i].chat()?;
                let bound = *i >= began && seen.book.as_deref() == Some(book);
                Some((*i, seen.messages.saturating_sub(1), bound))
            };
            let heads: Vec<Stood> = chat.track.iter().filter_map(stood).collect();
            let is_still = heads.windows(2).all(|two| two[0].1 == two[1].1);
            let (_, _, is_bound) = heads.last()?;
            // It only had the book of the chat that it was forked from until it got its own.
            if !heads.iter().any(|(.., bound)| *bound) || (is_still && !is_bound) {
                return None;
            }
            let is_checkpoint = self.is_checkpoint(chat, library);
            let forks = gone.above.iter().filter(|(_, above)| **above == number);
            let forks = forks.map(|(fork, _)| library.forked_from_gone(*fork).unwrap_or(usize::MAX));
            let last = forks.max().filter(|_| !chat.is_chained).unwrap_or(usize::MAX);
            Some(GonePlayer { number, heads, is_checkpoint, left: chat.left, last })
        };
        gone.bound_to(book, self).into_iter().filter_map(player).collect()
    }

    /// Whether a chat that is gone was a checkpoint: as it said itself, as its name tells, or as the chat says that it was made in.
    fn is_checkpoint(&self, chat: &GoneChat, library: &Library) -> bool {
        let Some(file) = chat.track.last().map(|last| &self.seen[*last].observation.file) else {
            return false;
        };
        let name = name_of(file);
        let record = self.header_of(chat, |header| ForkRecord::read(header.metadata()));
        if let Some(record) = record.flatten() {
            return record.kind == "checkpoint";
        }
        match ForkName::read(name) {
            ForkName::Branch(_) => false,
            ForkName::Checkpoint(_) => true,
            ForkName::Plain => {
                let beside = library.chats.iter().filter(|chat| chat.path.parent() == file.parent());
                let mut links = beside.flat_map(|chat| chat.facts.links());
                links.any(|(_, link, linked)| link == Link::Bookmark && chat_stem(linked) == name)
            }
        }
    }

    /// What the header of a chat that is gone says, as it was seen last.
    fn header_of<T>(&self, chat: &GoneChat, read: impl Fn(Header<'_>) -> T) -> Option<T> {
        let last = chat.track.iter().rev().find_map(|i| self.seen[*i].chat())?;
        let line = self.store().get(&last.header).ok()?;
        Some(read(Header::new(Raw::parse(line.trim_ascii()).ok()?)))
    }

    /// The folders that a chat was in: those of one story, whatever its card was called.
    fn folders<'a>(&'a self, track: &'a [usize]) -> impl Iterator<Item = VaultPath> + 'a {
        let folders: BTreeSet<VaultPath> =
            track.iter().map(|i| self.seen[*i].observation.file.parent()).collect();
        folders.into_iter()
    }
}

/// What the scenes of a chat that is gone tell, as it was seen last.
pub(crate) struct GoneScenes {
    pub(crate) scenes: Vec<(usize, SceneFacts)>,
    pub(crate) snapshots: Snapshots,
    pub(crate) recap: Option<RunningRecap>,
}

/// The last messages that chats have from parents that are gone.
#[derive(Default)]
struct Forked(HashMap<ChatIx, usize>);

/// By number.
#[derive(Default)]
struct KnownScenes(Mutex<HashMap<usize, Option<Arc<GoneScenes>>>>);

impl Timeline {
    /// What those tell that had a book once and are gone. Each is read once, and only if somebody asks for a book that it had, and its running
    /// recap says that there is more than is known: a version of it is made whenever a scene is merged, and extensions wipe all of them.
    pub(crate) fn scenes_of_gone(
        &self,
        book: &str,
        library: &Library,
        is_known: &dyn Fn(i64) -> bool,
    ) -> Result<Vec<Arc<GoneScenes>>, HistoryError> {
        let gone = library.chats_gone(self);
        let mut told = Vec::new();
        let began = self.began(book);
        let had = |i: &usize| {
            *i >= began && self.seen[*i].chat().is_some_and(|chat| chat.book.as_deref() == Some(book))
        };
        for number in gone.bound_to(book, self) {
            if !gone.chats[number].track.iter().any(had) {
                continue;
            }
            let recap =
                self.header_of(&gone.chats[number], |header| recap::running_outline(header.metadata()));
            let Some(RunningRecap { versions, .. }) = recap.flatten() else { continue };
            if versions.is_empty() || versions.iter().any(|version| !is_known(version.clock)) {
                told.extend(self.scenes_of(number, library)?);
            }
        }
        Ok(told)
    }

    /// The first place after a book was seen to be gone last, and came again. Names are given again: who was bound to an earlier book of this
    /// name did nothing in this one.
    fn began(&self, book: &str) -> usize {
        let Ok(file) = layout::book(book) else { return 0 };
        let is_gone = |i: &usize| matches!(self.seen[*i].observation.what, Observed::Gone);
        let track = self.track(&file);
        let last = track.iter().rposition(|i| !is_gone(i)).unwrap_or_default();
        let gone = track[..last].iter().rposition(is_gone);
        gone.map_or(0, |n| track[n] + 1)
    }

    fn scenes_of(&self, number: usize, library: &Library) -> Result<Option<Arc<GoneScenes>>, HistoryError> {
        let known = || library.memo.slot::<KnownScenes>().0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scenes) = known().get(&number).cloned() {
            return Ok(scenes);
        }
        let scenes = self.read_scenes(&library.chats_gone(self).chats[number])?.map(Arc::new);
        known().insert(number, scenes.clone());
        Ok(scenes)
    }

    fn read_scenes(&self, chat: &GoneChat) -> Result<Option<GoneScenes>, HistoryError> {
        let recap = self.header_of(chat, |header| recap::running_outline(header.metadata()));
        let Some(Scan { facts, snapshots, .. }) = self.stored(chat)? else { return Ok(None) };
        Ok(Some(GoneScenes { scenes: facts.scenes, snapshots, recap: recap.flatten() }))
    }

    /// What was stored last of a chat that is gone.
    fn stored(&self, chat: &GoneChat) -> Result<Option<Scan>, HistoryError> {
        let mut track = chat.track.iter().rev().map(|i| &self.seen[*i]);
        let Some((seen, content)) = track.find_map(|seen| Some((seen, self.content(seen)?))) else {
            return Ok(None);
        };
        let group = seen.observation.file.as_str().starts_with(layout::GROUP_CHATS);
        scan_stored(self.store(), &content, group).map(Some)
    }
}

impl Gone {
    /// Those that were ever seen bound to a book.
    fn bound_to(&self, book: &str, history: &Timeline) -> BTreeSet<usize> {
        history.bound_to(book).flat_map(|file| self.named.get(file).into_iter().flatten().copied()).collect()
    }

    /// The chats that are gone, as they were seen before.
    fn of(library: &Library, history: &Timeline) -> Self {
        let there: HashMap<&VaultPath, Option<&str>> =
            library.chats.iter().map(|chat| (&chat.path, chat.slug())).collect();
        // One of those who had its slug may be what a chat was before that nobody has seen yet: somebody gave it another name.
        let unseen = library.chats.iter().filter(|chat| history.track(&chat.path).is_empty());
        let slugs: HashSet<&str> = unseen.filter_map(Chat::slug).collect();
        let mut gone = Self::default();
        let mut files: Vec<&VaultPath> = history.chats().filter(|file| !library.is_in_closed(file)).collect();
        files.sort_unstable();
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
            for life in lives {
                let names: BTreeSet<&VaultPath> =
                    life.iter().map(|i| &history.seen[*i].observation.file).chain([file]).collect();
                for name in names {
                    gone.named.entry(name.clone()).or_default().push(gone.chats.len());
                }
                gone.chats.push(GoneChat { track: life.to_vec(), left: None, is_chained: false });
            }
        }
        for numbers in gone.named.values_mut() {
            numbers.sort_unstable_by_key(|number| gone.chats[*number].track.first().copied());
        }
        gone.follow(library, history);
        gone
    }

    /// Finds out who came from them.
    fn follow(&mut self, library: &Library, history: &Timeline) {
        if self.chats.is_empty() {
            return;
        }
        let names: HashSet<&str> = self.named.keys().map(name_of).collect();
        let mut parents: HashMap<usize, Option<usize>> = HashMap::new();
        for (c, chat) in ChatIx::each(&library.chats) {
            let Some(name) = chat.main_chat().map(chat_stem).filter(|name| names.contains(name.as_str()))
            else {
                continue;
            };
            let track = history.life(&chat.path, usize::MAX);
            let folders: BTreeSet<VaultPath> =
                history.folders(history.track(&chat.path)).chain([chat.path.parent()]).collect();
            let mut left = track.first().copied().unwrap_or(usize::MAX);
            let mut above = self.find(folders, &name, left, history);
            self.above.extend(above.map(|number| (c, number)));
            let mut passed: HashSet<usize> = HashSet::new();
            while let Some(number) = above.filter(|number| passed.insert(*number)) {
                let gone = &mut self.chats[number];
                gone.left = gone.left.max(Some(left));
                gone.is_chained |= passed.len() > 1;
                left = gone.track.first().copied().unwrap_or(left);
                let gone = &self.chats[number];
                above = *parents.entry(number).or_insert_with(|| {
                    let name =
                        history.header_of(gone, |header| header.main_chat().map(|name| chat_stem(&name)));
                    self.find(history.folders(&gone.track), &name.flatten()?, left, history)
                });
            }
        }
    }

    /// The one that had a name when a fork of it was seen first.
    fn find(
        &self,
        folders: impl IntoIterator<Item = VaultPath>,
        name: &str,
        first: usize,
        history: &Timeline,
    ) -> Option<usize> {
        let file = |folder: VaultPath| folder.join(&format!("{name}.jsonl")).ok();
        let begun = |number: usize| self.chats[number].track.first().copied().unwrap_or_default();
        folders.into_iter().filter_map(file).find_map(|file| {
            let numbers = self.named.get(&file)?;
            // What was looked at together was there together.
            let looked = |i: usize| history.seen.get(i).and_then(|seen| seen.observation.looked);
            let together = |i: usize| looked(i).is_some() && looked(i) == looked(first);
            let was_there = |number: &usize| begun(*number) <= first || together(begun(*number));
            let number = *numbers.iter().rev().find(|number| was_there(number))?;
            // Another chat has the name by now, and was there before the fork.
            let now = history.life(&file, usize::MAX).first().copied().filter(|now| *now > begun(number));
            now.is_none_or(|now| now > first || self.chats[number].track.contains(&now)).then_some(number)
        })
    }
}

/// The name of a chat.
fn name_of(file: &VaultPath) -> &str {
    let name = file.as_str().rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".jsonl").unwrap_or(name)
}

/// A chat that used a book, and that is gone.
pub(super) struct GonePlayer {
    /// Its number among all that are gone
    pub(super) number: usize,
    pub(super) heads: Vec<Stood>,
    pub(super) is_checkpoint: bool,
    /// The first observation of the last one who came from it
    left: Option<usize>,
    /// The last message that anybody has from it
    last: usize,
}

impl GonePlayer {
    /// Whether what was done in it by the look that an observation belongs to is nobody's. What was looked at together had not left by then.
    pub(super) fn is_nobodys(&self, i: usize, together: &dyn Fn(usize) -> bool) -> bool {
        let (_, then) = stood(&self.heads, i, together);
        self.left.is_none_or(|left| left < i && !together(left))
            || then.is_some_and(|(_, at, _)| at > self.last)
    }
}

/// Where a chat stood that is gone, as long as it was the line of one that was forked from it later.
pub(super) struct Above {
    number: usize,
    heads: Vec<Stood>,
    /// The last message that was forked
    last: usize,
}

impl Above {
    pub(super) fn of(library: &Library, history: &Timeline, chat: ChatIx, book: &str) -> Option<Self> {
        let gone = library.chats_gone(history);
        let number = *gone.above.get(&chat)?;
        let track = &gone.chats[number].track;
        let is_bound =
            |i: &usize| history.seen[*i].chat().is_some_and(|seen| seen.book.as_deref() == Some(book));
        if !track.iter().any(is_bound) {
            return None;
        }
        let here = &library.chats[chat];
        let told = || {
            let forks = library.forks_of_lost(here.story, &chat_stem(here.main_chat()?));
            forks.iter().find(|(fork, _)| *fork == chat).map(|(_, last)| *last)
        };
        let last = library.forked_from_gone(chat).or_else(told)?;
        let shifts: Vec<(usize, &Shift)> =
            track.iter().filter_map(|i| Some((*i, history.seen[*i].chat()?.shift.as_ref()?))).collect();
        let stood = |i: &usize| {
            let seen = history.seen[*i].chat()?;
            let head = number_now(&shifts, *i, seen.messages.saturating_sub(1));
            Some((*i, head, is_bound(i)))
        };
        let heads: Vec<Stood> = track.iter().filter_map(stood).collect();
        // Who left before it had the book never had it.
        let had = heads.iter().any(|(_, to, bound)| *bound && *to <= last);
        had.then_some(Self { number, heads, last })
    }

    /// Where it stood when a book was looked at, if that was on the line of the fork.
    pub(super) fn head(&self, i: usize, together: &dyn Fn(usize) -> bool) -> Option<Head> {
        let (known, then) = stood(&self.heads, i, together);
        let (_, to, bound) = then.filter(|(_, to, _)| *to <= self.last)?;
        let from = known.map(|(_, from, _)| from.min(to));
        (bound || known.is_some_and(|known| known.2)).then_some(Head {
            from,
            to,
            later: false,
            stands_for: Some(self.number),
        })
    }
}

impl Library {
    /// Whether history has seen a chat of this name beside another one, and it is gone.
    pub(crate) fn is_gone(&self, beside: &Chat, name: &str) -> bool {
        !self.gone_of_name(beside, name).is_empty()
    }

    /// Whether a chat was seen under a name.
    pub(crate) fn was_called(&self, chat: ChatIx, name: &str) -> bool {
        let Some(history) = self.history().ok().flatten() else { return false };
        let track = history.track(&self.chats[chat].path);
        track.iter().any(|i| name_of(&history.seen[*i].observation.file) == name)
    }

    /// Whether, besides, nobody comes from any of that name.
    pub(crate) fn is_gone_for_good(&self, beside: &Chat, name: &str) -> bool {
        let had = self.gone_of_name(beside, name);
        let is_there = || self.chats.iter().any(|chat| chat.name == name && chat.story == beside.story);
        !had.is_empty() && had.iter().all(|chat| chat.left.is_none()) && !is_there()
    }

    /// The last message that a chat has from its parent, also if that is gone and history has seen it.
    pub(crate) fn forked_after(&self, chat: ChatIx) -> Option<usize> {
        let lineage = &self.chats[chat].lineage;
        lineage
            .fork_message
            .or_else(|| lineage.parent.is_none().then(|| self.forked_from_gone(chat)).flatten())
    }

    /// The same of one whose parent is gone, as far as the messages tell that were stored of that one last.
    pub(crate) fn forked_from_gone(&self, chat: ChatIx) -> Option<usize> {
        let history = self.history().ok().flatten()?;
        let forked = self.memo.slot::<OnceLock<Forked>>().get_or_init(|| {
            let gone = self.chats_gone(history);
            let mut children: HashMap<usize, Vec<ChatIx>> = HashMap::new();
            for (chat, number) in &gone.above {
                children.entry(*number).or_default().push(*chat);
            }
            let mut forked = Forked::default();
            for (number, chats) in children {
                // One after the other: together they can be large.
                let Some(parent) = history.stored(&gone.chats[number]).ok().flatten() else { continue };
                let last = |chat: &ChatIx| Some((*chat, self.last_from(*chat, &parent.transcript)?));
                forked.0.extend(chats.iter().filter_map(last));
            }
            forked
        });
        forked.0.get(&chat).copied()
    }

    /// The last message that a chat has from another one. Messages can have been edited since, or deleted, in either.
    fn last_from(&self, chat: ChatIx, parent: &Transcript) -> Option<usize> {
        let here = &self.chats[chat];
        let last = here.transcript.len().min(parent.len());
        // Without times of their own, messages that were written twice are not to be told apart.
        if here.facts.undated.is_some() {
            let same = |n: &usize| here.transcript.moment(*n) == parent.moment(*n);
            return (0..last).rev().find(same);
        }
        let theirs: HashSet<MessageId> = parent.rows_from(0).map(|row| row.id).collect();
        let ours: Vec<MessageId> = here.transcript.rows_from(0).map(|row| row.id).collect();
        ours.iter().rposition(|id| theirs.contains(id))
    }

    /// The books that the chat had which a chat was forked from, if that is gone.
    pub(crate) fn books_of_gone(&self, chat: ChatIx) -> Vec<String> {
        let Some(history) = self.history().ok().flatten() else { return Vec::new() };
        let gone = self.chats_gone(history);
        let track = gone.above.get(&chat).map_or(&[][..], |number| &gone.chats[*number].track);
        track.iter().filter_map(|i| history.seen[*i].chat()?.book.clone()).collect()
    }

    fn gone_of_name(&self, beside: &Chat, name: &str) -> Vec<&GoneChat> {
        let history = self.history().ok().flatten();
        let Some((history, file)) = history.zip(beside.path.parent().join(&format!("{name}.jsonl")).ok())
        else {
            return Vec::new();
        };
        let gone = self.chats_gone(history);
        gone.named.get(&file).into_iter().flatten().map(|number| &gone.chats[*number]).collect()
    }

    fn chats_gone(&self, history: &Timeline) -> &Gone {
        self.memo.slot::<OnceLock<Gone>>().get_or_init(|| Gone::of(self, history))
    }
}
