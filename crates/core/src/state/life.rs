//! [`Life`]: the timeline of one book. All sights of it in clock order, and what changed from each to the next.
//!
//! A new sight can only split an interval or confirm one: that is why knowing more never makes an answer worse. Who made a change is
//! decided in [`super::author`]; this module only finds changes, whose they may be.

use crate::story::ChatIx;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::author::{AtWork, Author, attribute};
use super::base::{Base, Made, Settled, look_of};
use super::mark::Marks;
use super::merge::overlay;
use super::order::in_order;
use super::roll::Roll;
use super::sight::{BookEvidence, Cast, Content, Head, Look, Scene, Sight, Witness};
use super::thing::{Kinship, Thing, pair};
use crate::adapter::recap::text_hashes;
use crate::adapter::{EntryRole, Keepers, Mark, entry_role};
use crate::format::book::EntryImage;

/// The timeline of one book.
pub struct Life {
    /// The book's file stem.
    pub book: Arc<str>,
    /// What keeps it; nobody, if it is kept by hand.
    pub keepers: Keepers,
    /// Whether all who use it share it by choice.
    pub by_choice: bool,
    /// The chat that it was made for.
    pub owner: Option<ChatIx>,
    /// Whether that chat is gone: then [`Life::owner`] is only one that has its scenes.
    pub lost: bool,
    /// The chats that are or were bound to it.
    pub users: Vec<ChatIx>,
    /// When it was made, in milliseconds since 1970, if anything tells.
    pub made: Option<i64>,
    /// Scenes whose processing may have written into it.
    pub scenes: Vec<Scene>,
    /// The sights in clock order.
    pub sights: Vec<SightOf>,
    /// What changed from one to the next, in clock order.
    pub deeds: Vec<Deed>,
    /// The books that it was made from, and those that they were made from.
    pub sources: Vec<Arc<str>>,
    /// The book as it is now, if it is there, with everything that it holds.
    pub present: Vec<(Thing, EntryImage)>,
    /// What it was made from.
    pub(super) base: Settled,
    /// Whether that was copied as it was: what is missing here was taken out, or came there later.
    pub(super) is_whole: bool,
    /// The book that this one was built from, and the sight of it, where that is all that it was built from.
    pub(super) built_from: Option<(Arc<str>, usize)>,
    /// Titles and texts that were ever seen in it, and what they are.
    everything: HashMap<u64, Thing>,
    /// The order in which registries list their lines.
    pub(super) roll: Roll,
}

/// A sight, without what was seen.
#[derive(Debug, Clone)]
pub struct SightOf {
    /// When.
    pub time: i64,
    /// Who saw it.
    pub by: SeenBy,
}

/// Who saw a book.
#[derive(Debug, Clone)]
pub enum SeenBy {
    /// What the book was made from, when its chat had this message last: nobody saw that it was so.
    Base(usize),
    /// A scene, by its place.
    Scene(usize),
    /// History: number of the observation, and where the chats stood.
    Look(u64, Vec<(ChatIx, Head)>),
    /// A copy that was made then.
    Copy,
    /// Whoever asks, now.
    Now,
}

/// A change of one thing, from one sight to the next.
#[derive(Debug, Clone)]
pub struct Deed {
    /// What was changed.
    pub thing: Thing,
    /// The entry before; `None` if it was new.
    pub before: Option<EntryImage>,
    /// The entry after; `None` if it went.
    pub after: Option<EntryImage>,
    /// The line, if it is a line of a registry that was changed: then `before` and `after` hold nothing but that line.
    pub line: bool,
    /// The last sight that does not show it; `None` if there is none.
    pub since: Option<usize>,
    /// The first sight that shows it.
    pub shown: usize,
    /// The first sight that shows it no more.
    pub until: usize,
    /// Who made it.
    pub author: Author,
}

impl Deed {
    /// The entry that this is about.
    pub fn entry(&self) -> Option<&EntryImage> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

impl SeenBy {
    /// Whether it is this scene.
    pub(super) fn is_scene(&self, scene: usize) -> bool {
        matches!(self, Self::Scene(n) if *n == scene)
    }
}

impl Life {
    /// Works out what happened to a book.
    pub fn of<'a>(evidence: BookEvidence, base: &'a Base<'a>, cast: &dyn Cast) -> Self {
        let BookEvidence { book, keepers, by_choice, owner, lost, users, made, scenes, sights, elsewhere } =
            evidence;
        let sights = in_order(sights);
        let marks = Marks::of(&keepers, &sights);
        let mut builder = Builder {
            life: Self {
                book,
                keepers,
                by_choice,
                owner,
                lost,
                users,
                made,
                scenes,
                sights: Vec::with_capacity(sights.len() + 1),
                deeds: Vec::new(),
                sources: Vec::new(),
                present: Vec::new(),
                base: Settled::default(),
                is_whole: matches!(base, Base::Present(..)),
                built_from: match base {
                    Base::Copy(source, sight, _) => Some((source.book.clone(), *sight)),
                    _ => None,
                },
                everything: HashMap::new(),
                roll: Roll::default(),
            },
            state: Vec::new(),
            seen: HashMap::new(),
            complete: None,
            aligned: false,
            looked: None,
            look: Vec::new(),
            snapshot: HashMap::new(),
            next: 0,
            marked: HashMap::new(),
            marks,
            known: HashMap::new(),
            foreign: HashMap::new(),
            made: None,
            works: Vec::new(),
        };
        builder.begin(base);
        for (n, sight) in sights.iter().enumerate() {
            let next = sights[n + 1..].iter().find_map(|sight| match &sight.content {
                Content::Whole(entries) => Some(&**entries),
                Content::Changed { .. } => None,
            });
            builder.see(sight, next);
        }
        builder.remember_events(&elsewhere);
        let Builder { mut life, marked, works, state, .. } = builder;
        if life.sights.last().is_some_and(|last| matches!(last.by, SeenBy::Now)) {
            life.present = state;
        }
        life.close();
        attribute(&mut life, &marked, &works, cast);
        if let Base::Copy(source, sight, _) | Base::Present(source, sight, _) = base {
            let later = life.missed(source, *sight);
            life.base.without.extend(later);
        }
        life
    }

    /// What was made in the book that this one is a copy of when it had been copied already, from whatever messages, and never came here.
    fn missed(&self, source: &Life, copied: usize) -> Vec<(Thing, EntryImage)> {
        let of = |thing: &Thing, entry: &EntryImage| (thing.clone(), look_of(entry));
        let deeds = self.deeds.iter().filter_map(|deed| Some(of(&deed.thing, deed.after.as_ref()?)));
        let begun = self.base.state.iter().chain(&self.base.shown).chain(&self.base.with);
        let here: HashSet<_> = begun.map(|(thing, entry)| of(thing, entry)).chain(deeds).collect();
        let later = source.deeds.iter().filter(|deed| deed.shown > copied && !deed.line);
        // What was copied as it was has all that hands had done to what it shows; what was built from something older need not.
        let things: HashSet<&Thing> = self.base.state.iter().map(|(thing, _)| thing).collect();
        let made = later.filter(|deed| match deed.author {
            Author::Mark(_) => true,
            Author::Hand(_) | Author::Anybody | Author::Unknown => {
                self.is_whole && things.contains(&deed.thing)
            }
            _ => false,
        });
        let made = made.filter_map(|deed| Some((&deed.thing, deed.after.as_ref()?)));
        let missed = made.filter(|(thing, entry)| !here.contains(&of(thing, entry)));
        missed.map(|(thing, entry)| (thing.clone(), entry.clone())).collect()
    }

    /// The things in the book after a sight.
    pub fn state_after(&self, sight: usize) -> Vec<(Thing, EntryImage)> {
        let mut state: Vec<(Thing, EntryImage)> = self.base.state.clone();
        let mut place: HashMap<&Thing, usize> = HashMap::new();
        place.extend(self.base.state.iter().enumerate().map(|(i, (thing, _))| (thing, i)));
        for deed in self.deeds.iter().filter(|deed| deed.shown <= sight && !deed.line) {
            match (place.get(&deed.thing), &deed.after) {
                (Some(i), Some(after)) => state[*i].1 = after.clone(),
                (None, Some(after)) => {
                    place.insert(&deed.thing, state.len());
                    state.push((deed.thing.clone(), after.clone()));
                }
                (_, None) => drop(place.remove(&deed.thing)),
            }
        }
        let kept: HashSet<usize> = place.into_values().collect();
        let mut i = 0..;
        state.retain(|_| i.next().is_some_and(|i| kept.contains(&i)));
        state
    }

    /// Marks how long each deed was to be seen.
    fn close(&mut self) {
        let mut next: HashMap<(Thing, bool, Option<i64>), usize> = HashMap::new();
        let end = self.sights.len();
        for deed in self.deeds.iter_mut().rev() {
            let uid = deed.entry().and_then(|entry| entry.uid).filter(|_| deed.line);
            let until = next.insert((deed.thing.clone(), deed.line, uid), deed.shown);
            deed.until = until.unwrap_or(end).max(deed.shown + 1);
        }
    }
}

struct Builder<'a> {
    life: Life,
    /// The book as it was seen last
    state: Vec<(Thing, EntryImage)>,
    /// The last sight that shows each thing
    seen: HashMap<Thing, usize>,
    /// The last sight whose absences can be believed
    complete: Option<usize>,
    /// Whether that is, entry by entry, what the last look saw
    aligned: bool,
    /// That look
    looked: Option<usize>,
    /// The book as history saw it last
    look: Vec<EntryImage>,
    /// The entries of the last snapshot as it showed them, and with all that is known of them, by their numbers
    snapshot: HashMap<i64, (EntryImage, EntryImage)>,
    next: u32,
    /// Deeds that entries themselves tell of, by their places
    marked: HashMap<usize, Mark>,
    /// What entries tell of themselves
    marks: Marks,
    /// Things of the books that this one was made from, by title and text
    known: HashMap<u64, Thing>,
    /// What scenes of other lines wrote into those books, by title and text
    foreign: HashMap<u64, Thing>,
    /// What Forklore made the book from, until the first sight of it tells what of that is so
    made: Option<&'a Made<'a>>,
    /// What was at work at each sight
    works: Vec<AtWork>,
}

impl<'a> Builder<'a> {
    fn begin(&mut self, base: &'a Base<'a>) {
        let (state, sources, time, at): (_, Vec<&Life>, _, _) = match base {
            Base::Nothing => return,
            Base::Copy(life, sight, at) | Base::Present(life, sight, at) => {
                let time = life.sights.get(*sight).map_or(i64::MIN, |s| s.time);
                (life.state_after(*sight), vec![life], time, *at)
            }
            Base::Made(made) => {
                self.made = Some(made);
                (made.things.clone(), made.sources.clone(), made.time, made.at)
            }
        };
        for life in sources {
            // What Forklore made a book with is its chat's own, whoever else is seen with it later. Only what another line's scene
            // wrote there, word by word, can have come here in no other way.
            match base {
                Base::Copy(..) | Base::Present(..) => {
                    self.known.extend(life.everything.iter().map(|(key, thing)| (*key, thing.clone())));
                }
                _ => self.foreign.extend(self.written_elsewhere(life)),
            }
            self.life.roll.learn_from(&life.roll);
            self.life.sources.extend(life.sources.iter().chain([&life.book]).cloned());
        }
        self.seen.extend(state.iter().map(|(thing, _)| (thing.clone(), 0)));
        self.complete = Some(0);
        self.remember(&state);
        self.life.base.state.clone_from(&state);
        self.state = state;
        self.life.sights.push(SightOf { time, by: SeenBy::Base(at) });
        self.works.push(AtWork::default());
    }

    /// Whatever is seen in the book can be found by title and text.
    fn remember(&mut self, state: &[(Thing, EntryImage)]) {
        for (thing, entry) in state {
            self.life.everything.entry(everything_key(entry)).or_insert_with(|| thing.clone());
        }
    }

    /// What scenes wrote into another book that the chat of this one does not have.
    fn written_elsewhere(&self, life: &Life) -> Vec<(u64, Thing)> {
        let Some(owner) = self.life.owner else { return Vec::new() };
        let written = life.deeds.iter().filter(|deed| !deed.line).filter(|deed| match deed.author {
            Author::Scene(scene) => life.scenes[scene].carried_by(owner).is_none(),
            _ => false,
        });
        let fact = |after: &&EntryImage| entry_role(&after.comment) == EntryRole::Fact;
        let told = written.filter_map(|deed| Some((deed.after.as_ref().filter(fact)?, &deed.thing)));
        told.map(|(after, thing)| (everything_key(after), thing.clone())).collect()
    }

    /// What of another book an entry is that is new here.
    fn of_other_book(&self, entry: &EntryImage, key: u64, copied: bool) -> Option<Thing> {
        let own = |scene: &Scene| scene.written.has(entry) || scene.written.names(entry);
        let foreign = || self.foreign.get(&key).filter(|_| !self.life.scenes.iter().any(own));
        self.known.get(&key).filter(|_| copied).or_else(foreign).cloned()
    }

    fn see(&mut self, sight: &Sight, next: Option<&[EntryImage]>) {
        let here = self.life.sights.len();
        let copied = self.life.sights.last().is_some_and(|last| matches!(last.by, SeenBy::Base(_)));
        let time = self.life.sights.last().map_or(sight.time, |last| last.time.max(sight.time));
        let (by, work) = match &sight.witness {
            Witness::Scene(scene) => (SeenBy::Scene(*scene), AtWork::default()),
            Witness::Look(Look { seq, heads, player, work, live, .. }) => {
                let work = AtWork { work: work.clone(), live: *live, player: *player };
                (SeenBy::Look(*seq, heads.clone()), work)
            }
            Witness::Copy => (SeenBy::Copy, AtWork::default()),
            Witness::Now => (SeenBy::Now, AtWork::default()),
        };
        self.life.sights.push(SightOf { time, by });
        self.works.push(work);
        let is_look = matches!(sight.witness, Witness::Look(_));
        match &sight.content {
            Content::Changed { gone, new } if self.aligned => {
                let went: Vec<(Thing, EntryImage)> =
                    gone.iter().filter_map(|i| self.state.get(*i)).cloned().collect();
                let came: Vec<EntryImage> = new.iter().map(|(_, entry)| entry.clone()).collect();
                let things = self.compare(here, &went, &came, true, copied);
                self.seen.extend(things.iter().map(|thing| (thing.clone(), here)));
                apply(&mut self.look, gone, new.iter().map(|(at, entry)| (*at, entry.clone())));
                let new = new.iter().zip(things).map(|((at, entry), thing)| (*at, (thing, entry.clone())));
                apply(&mut self.state, gone, new);
                // Nothing was seen to happen to the rest since the look before.
                self.complete = Some(here);
                self.looked = Some(here);
            }
            content => {
                let entries: Vec<EntryImage> = match content {
                    Content::Whole(entries) => entries.to_vec(),
                    Content::Changed { gone, new } => {
                        apply(&mut self.look, gone, new.iter().map(|(at, entry)| (*at, entry.clone())));
                        self.look.clone()
                    }
                };
                let complete = match &sight.witness {
                    Witness::Look(_) | Witness::Now => true,
                    Witness::Copy => false,
                    Witness::Scene(scene) => self.is_complete(*scene, &entries, next),
                };
                if let Some(made) = self.made.take() {
                    self.settle(made, &entries, &sight.witness, complete);
                }
                let before = std::mem::take(&mut self.state);
                let shown = entries;
                let entries = if is_look { shown.clone() } else { self.as_known(&shown, &before) };
                let things = self.compare(here, &before, &entries, complete, copied);
                self.seen.extend(things.iter().map(|thing| (thing.clone(), here)));
                let mut state: Vec<(Thing, EntryImage)> = things.into_iter().zip(entries).collect();
                if is_look {
                    self.look = state.iter().map(|(_, entry)| entry.clone()).collect();
                }
                let known: HashMap<&Thing, &EntryImage> = before.iter().map(|(t, e)| (t, e)).collect();
                if !is_look {
                    // What this sight does not show of an entry is still known from the one before.
                    for (thing, entry) in &mut state {
                        if let Some(old) = known.get(thing) {
                            *entry = overlay(old, entry);
                        }
                    }
                    let whole = shown.into_iter().zip(state.iter().map(|(_, entry)| entry.clone()));
                    self.snapshot =
                        whole.filter_map(|(shown, entry)| Some((shown.uid?, (shown, entry)))).collect();
                }
                if complete {
                    self.complete = Some(here);
                } else {
                    let here: HashSet<Thing> = state.iter().map(|(thing, _)| thing.clone()).collect();
                    let taken: HashSet<Option<i64>> = state.iter().map(|(_, entry)| entry.uid).collect();
                    let stays = |(thing, entry): &&(Thing, EntryImage)| {
                        !here.contains(thing) && !taken.contains(&entry.uid)
                    };
                    state.extend(before.iter().filter(stays).cloned());
                }
                self.state = state;
                self.aligned = is_look;
                self.looked = Some(here).filter(|_| is_look);
            }
        }
    }

    /// A snapshot shows some fields of each entry. Of one that it shows as the last snapshot did, and to which nothing has happened since,
    /// all that is known still holds: most entries are such.
    fn as_known(&self, shown: &[EntryImage], before: &[(Thing, EntryImage)]) -> Vec<EntryImage> {
        let now: HashMap<i64, &EntryImage> =
            before.iter().filter_map(|(_, entry)| Some((entry.uid?, entry))).collect();
        let known = |entry: &EntryImage| {
            let uid = entry.uid?;
            let (last, whole) = self.snapshot.get(&uid).filter(|(last, _)| last == entry)?;
            now.get(&uid)
                .is_some_and(|now| *now == whole && now.comment == last.comment)
                .then(|| whole.clone())
        };
        shown.iter().map(|entry| known(entry).unwrap_or_else(|| entry.clone())).collect()
    }

    /// The first sight of a book that Forklore made tells what it was made from.
    fn settle(&mut self, made: &Made<'_>, first: &[EntryImage], witness: &Witness, complete: bool) {
        let claimed = |entry: &EntryImage| match witness {
            Witness::Scene(scene) => {
                let written = &self.life.scenes[*scene].written;
                written.has(entry) || written.names(entry)
            }
            _ => false,
        };
        let base = made.settle(first, &self.life.keepers, &claimed, complete);
        self.seen = base.state.iter().map(|(thing, _)| (thing.clone(), 0)).collect();
        self.state.clone_from(&base.state);
        self.remember(&base.state);
        self.life.base = base;
    }

    /// Whether absences from a scene's snapshot can be believed: it must hold what the scene says it made, and the registries that
    /// were there before and are there afterwards.
    fn is_complete(&self, scene: usize, entries: &[EntryImage], next: Option<&[EntryImage]>) -> bool {
        let written = &self.life.scenes[scene].written;
        let has = |uid: &i64| entries.iter().any(|entry| entry.uid == Some(*uid));
        let registry = |entry: &&EntryImage| entry_role(&entry.comment) == EntryRole::Registry;
        let listed = |title: &str| entries.iter().any(|entry| *entry.comment == *title);
        let later = |title: &str| next.is_none_or(|next| next.iter().any(|entry| *entry.comment == *title));
        let mut before = self.state.iter().map(|(_, entry)| entry).filter(registry);
        !entries.is_empty()
            && written.uids.iter().all(has)
            && before.all(|entry| listed(&entry.comment) || !later(&entry.comment))
    }

    /// Notes what changed; tells what each entry is now.
    fn compare(
        &mut self,
        here: usize,
        before: &[(Thing, EntryImage)],
        after: &[EntryImage],
        complete: bool,
        copied: bool,
    ) -> Vec<Thing> {
        let old: Vec<&EntryImage> = before.iter().map(|(_, entry)| entry).collect();
        let new: Vec<&EntryImage> = after.iter().collect();
        let pairs = pair(&old, &new, Kinship { keepers: &self.life.keepers, copied });
        let mut paired = vec![false; before.len()];
        pairs.iter().flatten().for_each(|i| paired[*i] = true);
        let mut things = Vec::with_capacity(after.len());
        for (j, entry) in after.iter().enumerate() {
            // Mostly nothing has happened to it.
            if let Some((thing, _)) = pairs[j].and_then(|i| before.get(i)).filter(|(_, was)| was == entry) {
                things.push(thing.clone());
                continue;
            }
            let key = everything_key(entry);
            let (thing, was) = match pairs[j] {
                Some(i) => (before[i].0.clone(), Some(&before[i].1)),
                // It may hold what the book that it is a copy of got later, or from others.
                None => match self.of_other_book(entry, key, copied) {
                    Some(thing) if !things.contains(&thing) && !before.iter().any(|(t, _)| *t == thing) => {
                        self.life.base.shown.push((thing.clone(), entry.clone()));
                        (thing, Some(entry))
                    }
                    _ => (self.fresh(), None),
                },
            };
            self.life.everything.entry(key).or_insert_with(|| thing.clone());
            let since = if was.is_some() { self.last_seen(&thing) } else { self.complete };
            self.note(here, since, &thing, was, Some(entry), copied, after);
            things.push(thing);
        }
        // A number that something else has was free before: whatever had it is gone, also where nothing else would say so.
        let taken: HashSet<i64> = after.iter().filter_map(|entry| entry.uid).filter(|_| !complete).collect();
        let freed = |entry: &EntryImage| complete || entry.uid.is_some_and(|uid| taken.contains(&uid));
        let gone = before.iter().zip(&paired).filter(|((_, entry), paired)| !**paired && freed(entry));
        for ((thing, entry), _) in gone {
            let since = self.last_seen(thing);
            self.note(here, since, thing, Some(entry), None, copied, after);
        }
        things
    }

    /// The last sight that shows a thing as it was. What was not touched by later looks was there in all of them.
    fn last_seen(&self, thing: &Thing) -> Option<usize> {
        self.seen.get(thing).copied().max(self.looked.filter(|_| self.aligned))
    }

    fn fresh(&mut self) -> Thing {
        self.next += 1;
        Thing::new(&self.life.book, self.next)
    }

    /// Notes a change of one entry.
    #[expect(clippy::too_many_arguments, reason = "one sight's view of one entry")]
    fn note(
        &mut self,
        here: usize,
        since: Option<usize>,
        thing: &Thing,
        before: Option<&EntryImage>,
        after: Option<&EntryImage>,
        copied: bool,
        all: &[EntryImage],
    ) {
        let title = after.or(before).map_or("", |entry| &entry.comment);
        match entry_role(title) {
            EntryRole::Queue => return,
            EntryRole::Registry => {
                self.note_registry(here, since, thing, before, after);
                return;
            }
            EntryRole::Fact | EntryRole::Index => {}
        }
        let Some(after) = after else {
            self.push(here, since, thing, before.cloned(), None, false, None);
            return;
        };
        if before.is_some_and(|before| agrees(before, after, copied)) {
            return;
        }
        let mut was = before.cloned();
        for (mark, image) in self.layers(before, after, all, copied) {
            if was.as_ref().is_some_and(|was| was.agrees_with(&image)) {
                continue;
            }
            self.push(here, since, thing, was, Some(image.clone()), false, mark);
            was = Some(image);
        }
    }

    /// What an entry went through since it was seen last, as it tells itself: each step with its mark.
    fn layers(
        &self,
        before: Option<&EntryImage>,
        after: &EntryImage,
        all: &[EntryImage],
        copied: bool,
    ) -> Vec<(Option<Step>, EntryImage)> {
        if before.is_none()
            && let Some((scene, text)) = self.event(after)
        {
            let image = after.with_content(&text);
            let first = (Some(Step::Event(scene)), image.clone());
            return if image.agrees_with(after) { vec![first] } else { vec![first, (None, after.clone())] };
        }
        let layers = self.marks.layers(&self.life.keepers, after, all);
        let says = |image: &EntryImage, other: &EntryImage| {
            image.content() == other.content() && image.is_disabled() == other.is_disabled()
        };
        let known = before.and_then(|before| layers.iter().rposition(|(_, image)| says(image, before)));
        // A copy says of everything in it that it is its own chat's.
        let same = |a: &Mark, b: &Mark| a.message == b.message && (copied || a.chat == b.chat);
        let same_mark = |mark: &Option<Mark>| {
            let (Some(before), Some(mark)) = (before.filter(|_| known.is_none()), mark) else { return false };
            let had = self.marks.layers(&self.life.keepers, before, all);
            had.iter().any(|(had, _)| had.as_ref().is_some_and(|had| same(had, mark)))
        };
        // What it was before it got that mark is as old as the mark.
        let marked = || layers.iter().rposition(|(mark, _)| same_mark(mark));
        let from = known.map(|known| known + 1).or_else(marked).unwrap_or(0);
        let mut steps: Vec<(Option<Step>, EntryImage)> = layers
            .into_iter()
            .skip(from)
            // A mark tells of the making. What has it already and changes all the same was changed by somebody else, unless it tells
            // itself what it was before.
            .map(|(mark, image)| (if same_mark(&mark) { None } else { mark }, image))
            .map(|(mark, image)| (mark.map(Step::Mark), image))
            .collect();
        if steps.is_empty() {
            steps.push((None, after.clone()));
        }
        steps
    }

    /// The event that an entry is, and the text that it had as such: all of it, or its first lines if more was added since.
    fn event(&self, entry: &EntryImage) -> Option<(usize, String)> {
        let named: Vec<(usize, &str)> = self
            .life
            .scenes
            .iter()
            .enumerate()
            .flat_map(|(n, scene)| scene.events.iter().map(move |(name, hash)| (n, name, hash)))
            .filter(|(_, name, _)| is_titled(&entry.comment, name))
            .map(|(n, _, hash)| (n, hash.as_str()))
            .collect();
        if named.is_empty() {
            return None;
        }
        let content = entry.content().into_owned();
        let lines: Vec<&str> = content.lines().collect();
        let shorter = (1..lines.len()).rev().map(|n| lines[..n].join("\n"));
        std::iter::once(content.clone()).chain(shorter).find_map(|text| {
            let hashes = text_hashes(&text);
            named
                .iter()
                .find(|(_, known)| hashes.iter().any(|hash| hash == known))
                .map(|(scene, _)| (*scene, text.clone()))
        })
    }

    /// A registry changes line by line: a line belongs where the entry belongs that it lists.
    fn note_registry(
        &mut self,
        here: usize,
        since: Option<usize>,
        thing: &Thing,
        before: Option<&EntryImage>,
        after: Option<&EntryImage>,
    ) {
        let Some(after) = after else {
            self.push(here, since, thing, before.cloned(), None, false, None);
            return;
        };
        let Some((head, lines)) = super::roll::split(after) else {
            if before.is_none_or(|before| !before.agrees_with(after)) {
                self.push(here, since, thing, before.cloned(), Some(after.clone()), false, None);
            }
            return;
        };
        self.life.roll.learn(&after.comment, lines.iter().map(|line| &*line.comment));
        let (was, had) = match before.map(super::roll::split) {
            Some(Some((head, lines))) => (Some(head), lines),
            // It was not a list before: as far as is known, it was made anew.
            Some(None) => {
                self.push(here, since, thing, before.cloned(), None, false, None);
                (None, Vec::new())
            }
            None => (None, Vec::new()),
        };
        if was.as_ref().is_none_or(|was| !was.agrees_with(&head)) {
            let step = was.is_none().then_some(Step::Start);
            self.push(here, since, thing, was, Some(head), false, step);
        }
        let same = |a: &EntryImage, b: &EntryImage| a.uid == b.uid && a.comment == b.comment;
        for line in &lines {
            let old = had.iter().find(|old| same(old, line));
            if old.is_none_or(|old| old.content() != line.content()) {
                self.push(here, since, thing, old.cloned(), Some(line.clone()), true, None);
            }
        }
        for old in had.iter().filter(|old| !lines.iter().any(|line| same(old, line))) {
            self.push(here, since, thing, Some(old.clone()), None, true, None);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a deed")]
    fn push(
        &mut self,
        here: usize,
        since: Option<usize>,
        thing: &Thing,
        before: Option<EntryImage>,
        after: Option<EntryImage>,
        line: bool,
        step: Option<Step>,
    ) {
        let place = self.life.deeds.len();
        let author = match step {
            Some(Step::Start) => Author::Start,
            Some(Step::Event(scene)) => Author::Scene(scene),
            Some(Step::Mark(mark)) => {
                self.marked.insert(place, mark);
                Author::Unknown
            }
            None => Author::Unknown,
        };
        self.life.deeds.push(Deed {
            thing: thing.clone(),
            before,
            after,
            line,
            since,
            shown: here,
            until: here + 1,
            author,
        });
    }

    /// Events that only another book of the family still has.
    fn remember_events(&mut self, elsewhere: &[EntryImage]) {
        let Some(here) = self.life.sights.len().checked_sub(1) else { return };
        for entry in elsewhere {
            let Some((scene, text)) = self.event(entry) else { continue };
            let known = |deed: &Deed| {
                matches!(deed.author, Author::Scene(_))
                    && deed.before.is_none()
                    && deed.after.as_ref().is_some_and(|after| after.comment == entry.comment)
            };
            if !self.life.deeds.iter().any(known) {
                let thing = self.fresh();
                let image = entry.with_content(&text);
                self.push(here, None, &thing, None, Some(image), false, Some(Step::Event(scene)));
            }
        }
    }
}

/// What tells who made a change before anybody is asked.
enum Step {
    /// It is part of an empty book.
    Start,
    /// It is an event of this scene.
    Event(usize),
    /// It says so itself.
    Mark(Mark),
}

/// Whether two sights of a thing tell the same. Whoever copies a book may number its entries anew and say whose they are now: that is no
/// change of what they tell.
fn agrees(before: &EntryImage, after: &EntryImage, copied: bool) -> bool {
    if before.agrees_with(after) {
        return true;
    }
    if !copied {
        return false;
    }
    let told = |entry: &EntryImage| entry.raw().get("disable").is_none();
    let same_switch = before.is_disabled() == after.is_disabled() || told(before) || told(after);
    let order = |entry: &EntryImage| entry.raw().get("order").map(|order| order.bytes().to_vec());
    let same_order = order(before).zip(order(after)).is_none_or(|(before, after)| before == after);
    same_switch && same_order && before.comment == after.comment && before.content() == after.content()
}

/// Whether a title is of this name: "event-The fall" is "The fall".
pub(super) fn is_titled(title: &str, name: &str) -> bool {
    title.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
}

pub(super) fn everything_key(entry: &EntryImage) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.comment.hash(&mut hasher);
    entry.content().hash(&mut hasher);
    hasher.finish()
}

/// Plays what changed in a list: places that went, places with what came.
pub(super) fn apply<T>(list: &mut Vec<T>, gone: &[usize], new: impl Iterator<Item = (usize, T)>) {
    let (mut gone, mut place) = (gone.iter().copied().peekable(), 0);
    list.retain(|_| {
        let keep = gone.next_if_eq(&place).is_none();
        place += 1;
        keep
    });
    for (at, entry) in new {
        list.insert(at.min(list.len()), entry);
    }
}
