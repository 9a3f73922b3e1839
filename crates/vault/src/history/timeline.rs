//! [`Timeline`]: all observations of a vault, and how the messages of then are numbered now.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use forklore_core::adapter::bindings::Bindings;
use forklore_core::format::chat::Header;
use forklore_core::format::names::book_stem;
use forklore_core::story::Shift;
use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_json::Raw;
use forklore_store::{Id, Store};

use super::delta::Delta;
use super::observation::{ChatSeen, Observation, Observed};
use super::{By, HistoryError, history_error, media, parse, store};
use crate::{Chat, ChatIx, Library};

/// All observations of a vault.
#[derive(Clone)]
pub struct Timeline {
    pub(super) store: Arc<Store>,
    /// In the order in which they were made.
    pub seen: Arc<Vec<Seen>>,
    /// By file, ascending; a file that was renamed has the observations under its former names first.
    pub(super) tracks: HashMap<VaultPath, Vec<usize>>,
    /// Numbers of observations whose whole content is not wanted any more
    forgotten: HashSet<u64>,
    /// For each observation of a book, that of the chat which was being played: the last one seen of those bound to it.
    players: HashMap<usize, usize>,
    /// The chats that were ever seen bound to a book, by the book's stem
    pub(super) bound: HashMap<String, BTreeSet<VaultPath>>,
    /// The observations that found chats gone which are shown all the same
    pub(super) went: HashMap<VaultPath, usize>,
}

/// An observation and its place in the sequence.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its number in the store. Numbers ascend; there can be gaps.
    pub seq: u64,
    /// What was seen
    pub observation: Observation,
}

impl Seen {
    /// The chat, if it is one.
    pub fn chat(&self) -> Option<&ChatSeen> {
        match &self.observation.what {
            Observed::Chat(chat) => Some(chat),
            _ => None,
        }
    }
}

/// A stretch of a chat's life that belongs to the line of another, or of its own.
#[derive(Debug, Clone)]
pub struct Period {
    /// The chat's file
    pub file: VaultPath,
    /// Its number in the library; `None` if it is not there any more
    pub chat: Option<ChatIx>,
    /// Its observations, as places in [`Timeline::seen`]
    pub track: Vec<usize>,
    /// The last message of it that belongs to the line; `None` if all do
    pub limit: Option<usize>,
    /// The first place in [`Timeline::seen`] that is beyond it
    pub end: usize,
}

impl Library {
    /// What history knows of this vault; `None` if it has none. It is read when a question needs it.
    pub fn history(&self) -> Result<Option<&Timeline>, PathError> {
        let read = || {
            let mut timeline = Timeline::load_until(&self.fs, self.until).map_err(Arc::new)?;
            if let Some(timeline) = &mut timeline {
                timeline.follow_notes(self)?;
                timeline.follow_names(self);
            }
            Ok(timeline)
        };
        match self.memo.slot::<OnceLock<Result<Option<Timeline>, Arc<HistoryError>>>>().get_or_init(read) {
            Ok(timeline) => Ok(timeline.as_ref()),
            Err(why) => Err(history_error(why.clone())),
        }
    }
}

impl Library {
    /// History is this.
    pub(super) fn set_history(&self, timeline: Timeline) {
        let slot = self.memo.slot::<OnceLock<Result<Option<Timeline>, Arc<HistoryError>>>>();
        let _set = slot.set(Ok(Some(timeline)));
    }
}

impl Timeline {
    /// Reads the history of a vault; `None` if there is none.
    pub fn load(fs: &Arc<dyn Vfs>) -> Result<Option<Self>, HistoryError> {
        Self::load_until(fs, None)
    }

    /// Reads the history of a vault as it was after an observation, if one is named.
    pub fn load_until(fs: &Arc<dyn Vfs>, until: Option<u64>) -> Result<Option<Self>, HistoryError> {
        let store = store(fs)?;
        let mut seen = Vec::new();
        for record in store.records().take_while(|record| until.is_none_or(|until| record.seq <= until)) {
            seen.push(Seen { seq: record.seq, observation: parse(record.payload)? });
        }
        if seen.is_empty() {
            return Ok(None);
        }
        let mut timeline = Self {
            store: Arc::new(store),
            seen: Arc::new(seen),
            tracks: HashMap::new(),
            forgotten: HashSet::new(),
            players: HashMap::new(),
            bound: HashMap::new(),
            went: HashMap::new(),
        };
        timeline.index();
        Ok(Some(timeline))
    }

    /// The observations whose contents were forgotten, in order.
    pub(crate) fn forgotten(&self) -> BTreeSet<u64> {
        self.forgotten.iter().copied().collect()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn index(&mut self) {
        // The chats that are bound to a book, by the observation that says so.
        let mut bound: HashMap<String, HashMap<VaultPath, usize>> = HashMap::new();
        let mut books: HashMap<VaultPath, String> = HashMap::new();
        let mut waiting: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, Seen { observation, .. }) in self.seen.iter().enumerate() {
            let file = &observation.file;
            match &observation.what {
                Observed::Chat(chat) => {
                    let former = chat.was.as_ref().and_then(|was| self.tracks.remove(was));
                    let track = self.tracks.entry(file.clone()).or_default();
                    if let Some(former) = former {
                        *track = former;
                    }
                    track.push(i);
                    for name in chat.was.iter().chain([file]) {
                        if let Some(book) = books.remove(name) {
                            bound.entry(book).or_default().remove(name);
                        }
                    }
                    if let Some(book) = &chat.book {
                        self.bound.entry(book.clone()).or_default().insert(file.clone());
                        books.insert(file.clone(), book.clone());
                        bound.entry(book.clone()).or_default().insert(file.clone(), i);
                        for early in waiting.remove(book).unwrap_or_default() {
                            self.players.insert(early, i);
                        }
                    }
                }
                Observed::Book(_) => {
                    self.tracks.entry(file.clone()).or_default().push(i);
                    let stem = stem(file);
                    match bound.get(stem).and_then(|chats| chats.values().max()) {
                        Some(chat) => drop(self.players.insert(i, *chat)),
                        None => waiting.entry(stem.to_owned()).or_default().push(i),
                    }
                }
                Observed::Forget { contents } => {
                    self.forgotten.extend(contents.iter().flat_map(|(from, to)| *from..=*to));
                }
                Observed::Gone => {
                    self.tracks.entry(file.clone()).or_default().push(i);
                    if let Some(book) = books.remove(file) {
                        bound.entry(book).or_default().remove(file);
                    }
                }
            }
        }
    }

    /// Which book was the story's, for chats in which extensions note one: earlier Forklores did not know of such notes, and the settings may
    /// have changed since. What the header said was kept.
    fn follow_notes(&mut self, library: &Library) -> Result<(), Arc<HistoryError>> {
        let noted = || library.chats.iter().filter(|chat| chat.outline.bindings.memory.is_some());
        let files: HashSet<&VaultPath> = noted().map(|chat| &chat.path).collect();
        let slugs: HashSet<&str> = noted().filter_map(Chat::slug).collect();
        let mut changed = false;
        for Seen { observation, .. } in Arc::make_mut(&mut self.seen) {
            let Observed::Chat(chat) = &mut observation.what else { continue };
            let known = chat.slug.as_deref().is_some_and(|slug| slugs.contains(slug));
            if !known && !files.contains(&observation.file) {
                continue;
            }
            let line = self.store.get(&chat.header).map_err(|e| Arc::new(HistoryError::from(e)))?;
            let Ok(header) = Raw::parse(line.trim_ascii()) else { continue };
            let bindings = Bindings::of(Header::new(header));
            let book = bindings.story(&library.settings).map(|(name, _)| book_stem(name));
            changed |= chat.book != book;
            chat.book = book;
        }
        if changed {
            (self.tracks, self.players, self.bound) = Default::default();
            self.index();
        }
        Ok(())
    }

    /// What was seen of chats that were given other names since the last look is theirs, as the next look would note.
    fn follow_names(&mut self, library: &Library) {
        let there: HashMap<&VaultPath, Option<&str>> =
            library.chats.iter().map(|chat| (&chat.path, chat.slug())).collect();
        let mut gone: HashMap<&str, Vec<&VaultPath>> = HashMap::new();
        for (file, track) in self.tracks.iter().filter(|(file, _)| !library.is_in_closed(file)) {
            let last = track.last().and_then(|last| self.seen[*last].chat());
            let Some(slug) = last.and_then(|chat| chat.slug.as_deref()) else { continue };
            // Its name may be another chat's by now.
            if there.get(file).is_none_or(|now| *now != Some(slug)) {
                gone.entry(slug).or_default().push(file);
            }
        }
        let mut unseen: HashMap<&str, Vec<&VaultPath>> = HashMap::new();
        for chat in library.chats.iter().filter(|chat| !self.tracks.contains_key(&chat.path)) {
            if let Some(slug) = chat.slug() {
                unseen.entry(slug).or_default().push(&chat.path);
            }
        }
        // Where several have the slug, nobody knows which is which.
        let renamed: Vec<(VaultPath, VaultPath)> = unseen
            .iter()
            .filter_map(|(slug, files)| match (gone.get(slug).map(Vec::as_slice), files.as_slice()) {
                (Some([was]), [file]) => Some(((*was).clone(), (*file).clone())),
                _ => None,
            })
            .collect();
        for (was, file) in renamed {
            if let Some(track) = self.tracks.remove(&was) {
                self.tracks.insert(file.clone(), track);
            }
            for chats in self.bound.values_mut().filter(|chats| chats.contains(&was)) {
                chats.insert(file.clone());
            }
        }
    }

    /// The number of the first observation after the look that found a chat gone, if it is gone.
    pub(crate) fn without(&self, chat: &VaultPath) -> Option<u64> {
        let went = self.went(chat)?;
        let looked = |i: usize| self.seen[i].observation.looked;
        let later = (went + 1..self.seen.len()).find(|i| looked(*i).is_none() || looked(*i) != looked(went));
        Some(later.map_or(u64::MAX, |later| self.seen[later].seq))
    }

    /// Whether one observation was made before another one, and not in one look with it.
    pub(super) fn is_before(&self, i: usize, other: usize) -> bool {
        let looked = |i: usize| self.seen.get(i).and_then(|seen| seen.observation.looked);
        i < other && (looked(i).is_none() || looked(i) != looked(other))
    }

    /// Whether a chat that is gone had an earlier book of a name, if it had one: it went before this one was there. Names are given again.
    pub(crate) fn is_earlier(&self, chat: &VaultPath, book: &str) -> bool {
        let Some((went, file)) = self.went(chat).zip(layout::book(book).ok()) else { return false };
        let is_gone = |i: &usize| self.seen[*i].observation.what == Observed::Gone;
        let track = self.track(&file);
        let last = track.iter().rposition(|i| !is_gone(i)).unwrap_or_default();
        let again = track[..last].iter().rposition(is_gone).and_then(|gone| track.get(gone + 1));
        again.is_some_and(|again| self.is_before(went, *again))
    }

    /// The place of the observation that found a chat gone.
    pub(super) fn went(&self, chat: &VaultPath) -> Option<usize> {
        self.went.get(chat).copied()
    }

    /// The whole file as an observation saw it, unless that was forgotten.
    pub fn content(&self, seen: &Seen) -> Option<Id> {
        seen.observation.content().filter(|_| !self.forgotten.contains(&seen.seq))
    }

    /// A change of a book from one observation to the next.
    pub(super) fn delta(&self, id: &Id) -> Result<Delta, HistoryError> {
        let unreadable = || HistoryError::Unreadable(format!("the change {id}"));
        Delta::read(&self.store.get(id)?).ok_or_else(unreadable)
    }

    /// What of the store a record needs; `None` if this Forklore cannot read it.
    /// `store` is the store as it is by now: it may have got what this timeline has not seen.
    pub fn roots(&self, store: &Store, seq: u64, payload: &[u8]) -> Option<Vec<Id>> {
        self.needs(store, seq, &parse(payload).ok()?).ok()
    }

    /// What of the store an observation needs: what it says, and, unless that was forgotten, the whole file with the images and files
    /// that were kept with it.
    pub fn needs(&self, store: &Store, seq: u64, observation: &Observation) -> Result<Vec<Id>, HistoryError> {
        let mut needed: Vec<Id> = observation.notes().into_iter().collect();
        if self.forgotten.contains(&seq) {
            return Ok(needed);
        }
        needed.extend(observation.content());
        if let Observed::Chat(ChatSeen { media: Some(list), .. }) = &observation.what {
            needed.push(*list);
            needed.extend(media::read(store, list)?.into_iter().map(|kept| kept.content));
        }
        Ok(needed)
    }

    /// The images and files that were kept with a chat, as they were last, up to observation `until`. Of one that was not kept by then, what
    /// was kept first: what is linked to hardly ever changes, and is mostly older than the wish to keep it.
    pub fn kept_files(
        &self,
        chat: &VaultPath,
        until: Option<u64>,
    ) -> Result<BTreeMap<VaultPath, Id>, HistoryError> {
        let mut files = BTreeMap::new();
        for seen in self.track(chat).iter().map(|i| &self.seen[*i]) {
            let list = seen.chat().and_then(|chat| chat.media.as_ref());
            let Some(list) = list.filter(|_| self.content(seen).is_some()) else { continue };
            for kept in media::read(&self.store, list)? {
                if until.is_none_or(|until| seen.seq <= until) {
                    files.insert(kept.file, kept.content);
                } else {
                    files.entry(kept.file).or_insert(kept.content);
                }
            }
        }
        files.retain(|_, content| self.store.contains(content));
        Ok(files)
    }

    /// All files that were seen, with their observations.
    pub fn tracks(&self) -> impl Iterator<Item = (&VaultPath, &[usize])> {
        self.tracks.iter().map(|(file, track)| (file, track.as_slice()))
    }

    /// The observations of a file, as places in [`Timeline::seen`].
    pub fn track(&self, file: &VaultPath) -> &[usize] {
        self.tracks.get(file).map_or(&[], Vec::as_slice)
    }

    /// The observation of the chat that was being played when a book was seen.
    pub fn player(&self, book: usize) -> Option<usize> {
        self.players.get(&book).copied()
    }

    /// The chats that were ever seen bound to a book, under the names that they had then.
    pub fn bound_to(&self, book: &str) -> impl Iterator<Item = &VaultPath> {
        self.bound.get(book).into_iter().flatten()
    }

    /// The files that were ever seen, by the names that they had last.
    pub fn files(&self) -> impl Iterator<Item = &VaultPath> {
        self.tracks.keys()
    }

    /// The periods that the line of a chat consists of, the oldest first.
    pub fn periods(&self, library: &Library, chat: ChatIx) -> Vec<Period> {
        let mut periods: Vec<Period> = Vec::new();
        let (mut at, mut end, mut limit) = (chat, usize::MAX, None);
        loop {
            let here = &library.chats[at];
            let mut track = self.life(&here.path, end);
            let first = track.first().copied();
            track.retain(|i| *i < end);
            periods.push(Period { file: here.path.clone(), chat: Some(at), track, limit, end });
            let parent = here.lineage.parent;
            if let Some((file, seen)) = self.restored_from(library, at) {
                // It begins as the other was at that observation, whatever became of that one since.
                let last = here.record.as_ref().and_then(|record| record.baseline.as_ref());
                limit = last.map(|baseline| baseline.messages.saturating_sub(1));
                end = seen + 1;
                if parent.is_none_or(|parent| library.chats[parent].path != file) {
                    let track = self.life(&file, end).into_iter().filter(|i| *i < end).collect();
                    periods.push(Period { file, chat: None, track, limit, end });
                    break;
                }
            } else {
                let recorded = here.record.as_ref().map(|record| record.message);
                limit = recorded.or(here.lineage.fork_message);
                end = first.unwrap_or(end);
            }
            match parent {
                Some(parent)
                    if limit.is_some() && !periods.iter().any(|period| period.chat == Some(parent)) =>
                {
                    at = parent;
                }
                _ => break,
            }
        }
        periods.reverse();
        periods
    }

    /// The chat that a restored one is a past state of, and the observation that it is from.
    pub(super) fn restored_from(&self, library: &Library, chat: ChatIx) -> Option<(VaultPath, usize)> {
        let here = &library.chats[chat];
        let record = here.record.as_ref()?;
        let seen = self.seen.binary_search_by_key(&record.restored?, |seen| seen.seq).ok()?;
        let parent = here.lineage.parent.map(|parent| library.chats[parent].path.clone());
        let named = || here.path.parent().join(&format!("{}.jsonl", record.parent_file)).ok();
        let file = parent.or_else(named)?;
        // A history that was begun anew counts from 1 again.
        self.track(&file).contains(&seen).then_some((file, seen))
    }

    /// The observations of a chat since it was there without a break, as of place `end` of the sequence: what was there under its name
    /// before and was deleted is another, unless it came back as it was; also if nobody looked in between.
    pub(super) fn life(&self, file: &VaultPath, end: usize) -> Vec<usize> {
        let track = self.track(file);
        let track = &track[..track.partition_point(|i| *i < end)];
        let (begun, gone) = self.begun(track);
        if gone { Vec::new() } else { track[begun.last().copied().unwrap_or_default()..].to_vec() }
    }

    /// The chats that had a name one after the other, each with its observations; whether the last one was seen to go, too.
    pub(crate) fn lives(&self, file: &VaultPath) -> (Vec<&[usize]>, bool) {
        let track = self.track(file);
        let (begun, gone) = self.begun(track);
        let ends = begun.iter().skip(1).copied().chain([track.len()]);
        (begun.iter().zip(ends).map(|(from, to)| &track[*from..to]).collect(), gone)
    }

    /// Where in a track another chat begins, the first one included; and whether the last one is gone.
    fn begun(&self, track: &[usize]) -> (Vec<usize>, bool) {
        let mut begun = Vec::new();
        let (mut last, mut gone): (Option<&ChatSeen>, bool) = (None, false);
        for (n, i) in track.iter().enumerate() {
            let Some(chat) = self.seen[*i].chat() else {
                gone = true;
                continue;
            };
            // What Forklore itself wrote there has another slug, too.
            let watched = matches!(self.seen[*i].observation.by, By::Watch | By::Plugin(_));
            let is_other = match last {
                Some(last) if gone => !last.is_same_story(chat),
                Some(last) => watched && chat.replaces(last),
                None => true,
            };
            begun.extend(is_other.then_some(n));
            (last, gone) = (Some(chat), false);
        }
        (begun, gone)
    }

    /// The number that a message has at the end of a period's track, if it had `message` at observation `from` of it.
    fn forward(&self, track: &[usize], from: usize, message: usize, step: Renumber) -> Option<usize> {
        let after = track.partition_point(|i| *i <= from);
        track[after..].iter().try_fold(message, |message, i| {
            match self.seen[*i].chat().and_then(|chat| chat.shift.as_ref()) {
                Some(shift) => step(shift, message),
                None => Some(message),
            }
        })
    }

    /// The number that a message has now on the line of a chat, if it had `message` in period `p` at observation `from`. One that was
    /// deleted is succeeded by the one before. `None` if it is not on the line.
    pub fn now(&self, periods: &[Period], p: usize, from: usize, message: usize) -> Option<usize> {
        self.along(periods, p, from, message, Shift::apply)
    }

    /// As [`Timeline::now`], of the message itself: `None` if it was deleted since.
    pub fn follow(&self, periods: &[Period], p: usize, from: usize, message: usize) -> Option<usize> {
        self.along(periods, p, from, message, Shift::follow)
    }

    fn along(
        &self,
        periods: &[Period],
        p: usize,
        from: usize,
        message: usize,
        step: Renumber,
    ) -> Option<usize> {
        let mut message = self.forward(&periods[p].track, from, message, step)?;
        for (i, period) in periods.iter().enumerate().skip(p) {
            // A fork begins as its parent was: with its own first observation.
            if let Some(first) = period.track.first().filter(|_| i > p) {
                message = self.forward(&period.track, *first, message, step)?;
            }
            if period.limit.is_some_and(|limit| message > limit) {
                return None;
            }
        }
        Some(message)
    }
}

/// How a message is followed through a shift.
type Renumber = fn(&Shift, usize) -> Option<usize>;

/// File stem of a book.
pub fn stem(file: &VaultPath) -> &str {
    let name = file.as_str().rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".json").unwrap_or(name)
}
