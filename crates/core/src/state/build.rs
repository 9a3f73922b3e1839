//! [`Life::of`]: how the life of a book is worked out, one sight after the other.
//!
//! A [`Builder`] holds the book as it was seen last. What differs from there to the next sight is noted in [`super::noted`].

use std::collections::{HashMap, HashSet};

use super::attribute::attribute;
use super::author::{AtWork, Author};
use super::base::{Base, Made};
use super::life::{Difference, Life, SeenBy, Settled, SightOf, everything_key, look_of};
use super::logs;
use super::mark::Marks;
use super::merge::overlay;
use super::order::in_order;
use super::roll::Roll;
use super::sight::{BookEvidence, Cast, Content, Look, Scene, Sight, Witness, apply};
use super::thing::{Kinship, Thing, pair};
use crate::adapter::{EntryRole, Mark, entry_role};
use crate::format::book::EntryImage;

impl Life {
    /// Works out what happened to a book.
    pub fn of<'a>(mut evidence: BookEvidence, base: &'a Base<'a>, cast: &dyn Cast) -> Self {
        let sights = in_order(std::mem::take(&mut evidence.sights));
        let may_ask = evidence.keepers.take_notes();
        let again = may_ask.then(|| evidence.clone());
        let life = Self::seen(evidence, &sights, base, cast);
        match again.and_then(|evidence| Some((evidence, logs::asked(&life, &sights, cast)?))) {
            Some((evidence, sights)) => Self::seen(evidence, &sights, base, cast),
            None => life,
        }
    }

    /// What happened to a book, as some sights of it tell.
    fn seen<'a>(evidence: BookEvidence, sights: &[Sight], base: &'a Base<'a>, cast: &dyn Cast) -> Self {
        let BookEvidence {
            book, keepers, by_choice, owner, lost, heir, users, made, scenes, elsewhere, ..
        } = evidence;
        let marks = Marks::of(&keepers, sights);
        let mut builder = Builder {
            life: Self {
                book,
                keepers,
                by_choice,
                owner,
                lost,
                heir,
                users,
                made,
                scenes,
                sights: Vec::with_capacity(sights.len() + 1),
                differences: Vec::new(),
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
            lacked: HashMap::new(),
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
            let missed = life.missed(source, *sight);
            if life.is_whole {
                life.base.copied = Some((source.book.clone(), *sight));
                life.base.never = life.unmet(source, *sight);
                life.base.without.extend(missed);
            } else {
                life.base.never = missed;
            }
        }
        life
    }

    /// What was made in the book that this one is a copy of after the sight that was copied, from whatever messages, and never came here.
    fn missed(&self, source: &Life, copied: usize) -> Vec<(Thing, EntryImage)> {
        let of = |thing: &Thing, entry: &EntryImage| (thing.clone(), look_of(entry));
        let differences = self
            .differences
            .iter()
            .filter_map(|difference| Some(of(&difference.thing, difference.after.as_ref()?)));
        let begun = self.base.state.iter().chain(&self.base.shown).chain(&self.base.with);
        let here: HashSet<_> = begun.map(|(thing, entry)| of(thing, entry)).chain(differences).collect();
        // What was copied as it was has all that hands had done to what it shows; what was built from something older need not.
        let things: HashSet<&Thing> = self.base.state.iter().map(|(thing, _)| thing).collect();
        let made = source.later_than(copied).filter(|difference| match &difference.author {
            Author::Mark(_) | Author::Replaced(_) => true,
            author => author.is_hand() && self.is_whole && things.contains(&difference.thing),
        });
        let made = made.filter_map(|difference| Some((&difference.thing, difference.after.as_ref()?)));
        let missed = made.filter(|(thing, entry)| !here.contains(&of(thing, entry)));
        missed.map(|(thing, entry)| (thing.clone(), entry.clone())).collect()
    }

    /// What came of entries after a sight.
    fn later_than(&self, copied: usize) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(move |difference| difference.shown > copied && !difference.line)
    }

    /// What hands made in the book that this one is a copy of, and what was never seen here. Nobody knows whether it was there when this
    /// one was made.
    fn unmet(&self, source: &Life, copied: usize) -> Vec<(Thing, EntryImage)> {
        let here: HashSet<&Thing> = self.differences.iter().map(|difference| &difference.thing).collect();
        let by_hand = source
            .later_than(copied)
            .filter(|difference| difference.before.is_none() && difference.author.is_hand());
        let made = by_hand.filter_map(|difference| Some((&difference.thing, difference.after.as_ref()?)));
        let unmet = made.filter(|(thing, _)| !here.contains(thing));
        unmet.map(|(thing, entry)| (thing.clone(), entry.clone())).collect()
    }

    /// Marks how long each difference was to be seen.
    fn close(&mut self) {
        let mut next: HashMap<(Thing, bool, Option<i64>), usize> = HashMap::new();
        let end = self.sights.len();
        for difference in self.differences.iter_mut().rev() {
            let uid = difference.entry().and_then(|entry| entry.uid).filter(|_| difference.line);
            let until = next.insert((difference.thing.clone(), difference.line, uid), difference.shown);
            difference.until = until.unwrap_or(end).max(difference.shown + 1);
        }
    }
}

/// Between which sights something happened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    /// The last one that shows it as it was before
    pub(super) since: Option<usize>,
    /// The first one that shows what it has become
    pub(super) here: usize,
    /// Whether the one before is of the book that this one is a copy of
    pub(super) copied: bool,
}

/// A life that is being worked out, sight by sight.
pub(super) struct Builder<'a> {
    pub(super) life: Life,
    /// The book as it was seen last
    pub(super) state: Vec<(Thing, EntryImage)>,
    /// The last sight that shows each thing
    pub(super) seen: HashMap<Thing, usize>,
    /// The last sight whose absences can be believed
    pub(super) complete: Option<usize>,
    /// The last log that lacks something, by its title and text
    pub(super) lacked: HashMap<u64, usize>,
    /// Whether that is, entry by entry, what the last look saw
    pub(super) aligned: bool,
    /// That look
    pub(super) looked: Option<usize>,
    /// The book as history saw it last
    pub(super) look: Vec<EntryImage>,
    /// The entries of the last snapshot as it showed them, and with all that is known of them, by their numbers
    pub(super) snapshot: HashMap<i64, (EntryImage, EntryImage)>,
    pub(super) next: u32,
    /// Differences that entries themselves tell of, by their places
    pub(super) marked: HashMap<usize, Mark>,
    /// What entries tell of themselves
    pub(super) marks: Marks,
    /// Things of the books that this one was made from, by title and text
    pub(super) known: HashMap<u64, Thing>,
    /// What scenes of other lines wrote into those books, by title and text
    pub(super) foreign: HashMap<u64, Thing>,
    /// What Forklore made the book from, until the first sight of it tells what of that is so
    pub(super) made: Option<&'a Made<'a>>,
    /// What was at work at each sight
    pub(super) works: Vec<AtWork>,
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
        let written =
            life.differences.iter().filter(|difference| !difference.line).filter(
                |difference| match difference.author {
                    Author::Scene(scene) => life.scenes[scene].carried_by(owner).is_none(),
                    _ => false,
                },
            );
        let fact = |after: &&EntryImage| entry_role(&after.comment) == EntryRole::Fact;
        let told = written
            .filter_map(|difference| Some((difference.after.as_ref().filter(fact)?, &difference.thing)));
        told.map(|(after, thing)| (everything_key(after), thing.clone())).collect()
    }

    /// What of another book an entry is that is new here. What a scene says to have made here is its own, also where another line, which has
    /// the same messages, made of them what is the same word by word.
    fn of_other_book(&self, entry: &EntryImage, key: u64, copied: bool) -> Option<Thing> {
        let own = |scene: &Scene| scene.written.has(entry) || scene.written.names(entry);
        let foreign = || self.foreign.get(&key).filter(|_| !self.life.scenes.iter().any(own));
        let made = |scene: &Scene| {
            let made = entry.uid.is_some_and(|uid| scene.written.uids.contains(&uid));
            made && scene.written.names(entry) && Some(scene.origin.chat) == self.life.owner
        };
        let copied = copied && !self.life.scenes.iter().any(made);
        self.known.get(&key).filter(|_| copied).or_else(foreign).cloned()
    }

    /// Takes in the next sight: what it shows is compared with what was known to be there ([`Builder::state`]), and every difference is
    /// noted. `next` is what the sight after it shows, if it shows everything.
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
            Witness::Log(log) => (SeenBy::Log(log.chat, log.head, log.until), AtWork::default()),
            Witness::Copy => (SeenBy::Copy, AtWork::default()),
            Witness::Now => (SeenBy::Now, AtWork::default()),
        };
        self.life.sights.push(SightOf { time, by });
        self.works.push(work);
        if let Witness::Log(log) = &sight.witness {
            self.see_log(here, log);
            return;
        }
        match &sight.content {
            Content::Changed { gone, new } if self.aligned => self.see_changes(here, gone, new, copied),
            Content::Whole(entries) => self.see_whole(here, sight, entries.to_vec(), next, copied),
            Content::Changed { gone, new } => {
                apply(&mut self.look, gone, new.iter().map(|(at, entry)| (*at, entry.clone())));
                self.see_whole(here, sight, self.look.clone(), next, copied);
            }
        }
    }

    /// A look that tells what has changed since the look before, and nothing came in between: only that is compared, for a book of
    /// thousands of entries is looked at thousands of times.
    fn see_changes(&mut self, here: usize, gone: &[usize], new: &[(usize, EntryImage)], copied: bool) {
        let went: Vec<(Thing, EntryImage)> =
            gone.iter().filter_map(|i| self.state.get(*i)).cloned().collect();
        let came: Vec<EntryImage> = new.iter().map(|(_, entry)| entry.clone()).collect();
        // What changed may tell of what did not: a summary of its sources, and they of it.
        let mut look = std::mem::take(&mut self.look);
        apply(&mut look, gone, new.iter().map(|(at, entry)| (*at, entry.clone())));
        let things = self.compare(here, &went, &came, &look, true, copied);
        self.look = look;
        self.seen.extend(things.iter().map(|thing| (thing.clone(), here)));
        let new = new.iter().zip(things).map(|((at, entry), thing)| (*at, (thing, entry.clone())));
        apply(&mut self.state, gone, new);
        // Nothing was seen to happen to the rest since the look before.
        self.complete = Some(here);
        self.looked = Some(here);
    }

    /// A sight of the whole book. Looks show all of every entry; a scene's snapshot and a copy show some of it, and may lack entries that are
    /// there: then what they do not show stays as it was known.
    fn see_whole(
        &mut self,
        here: usize,
        sight: &Sight,
        shown: Vec<EntryImage>,
        next: Option<&[EntryImage]>,
        copied: bool,
    ) {
        let is_look = matches!(sight.witness, Witness::Look(_));
        // Whether what is not shown is not there.
        let complete = match &sight.witness {
            Witness::Look(_) | Witness::Now => true,
            Witness::Copy | Witness::Log(_) => false,
            Witness::Scene(scene) => self.is_complete(*scene, &shown, next),
        };
        if let Some(made) = self.made.take() {
            self.settle(made, &shown, &sight.witness, complete);
        }
        let before = std::mem::take(&mut self.state);
        // A copy shows what was there when it was made, and looks may say other times than they were: what has gone since does not come back by it.
        let mut shown = shown;
        if matches!(sight.witness, Witness::Copy) {
            let there: HashSet<&Thing> = before.iter().map(|(thing, _)| thing).collect();
            let known = |entry: &EntryImage| self.life.everything.get(&everything_key(entry));
            shown.retain(|entry| known(entry).is_none_or(|thing| there.contains(thing)));
        }
        let entries = if is_look { shown.clone() } else { self.as_known(&shown, &before) };
        let things = self.compare(here, &before, &entries, &entries, complete, copied);
        self.seen.extend(things.iter().map(|thing| (thing.clone(), here)));
        let mut state: Vec<(Thing, EntryImage)> = things.into_iter().zip(entries).collect();
        if is_look {
            self.look = state.iter().map(|(_, entry)| entry.clone()).collect();
        } else {
            // What this sight does not show of an entry is still known from the one before.
            let known: HashMap<&Thing, &EntryImage> = before.iter().map(|(t, e)| (t, e)).collect();
            for (thing, entry) in &mut state {
                if let Some(old) = known.get(thing) {
                    *entry = overlay(old, entry);
                }
            }
            let whole = shown.into_iter().zip(state.iter().map(|(_, entry)| entry.clone()));
            self.snapshot = whole.filter_map(|(shown, entry)| Some((shown.uid?, (shown, entry)))).collect();
        }
        if complete {
            self.complete = Some(here);
        } else {
            let here: HashSet<Thing> = state.iter().map(|(thing, _)| thing.clone()).collect();
            let taken: HashSet<Option<i64>> = state.iter().map(|(_, entry)| entry.uid).collect();
            let stays =
                |(thing, entry): &&(Thing, EntryImage)| !here.contains(thing) && !taken.contains(&entry.uid);
            state.extend(before.iter().filter(stays).cloned());
        }
        self.state = state;
        self.aligned = is_look;
        self.looked = Some(here).filter(|_| is_look);
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

    /// Notes what changed; tells what each entry is now. `all` is the whole book.
    fn compare(
        &mut self,
        here: usize,
        before: &[(Thing, EntryImage)],
        after: &[EntryImage],
        all: &[EntryImage],
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
            let since = if was.is_some() { self.last_seen(&thing) } else { self.lacking(key) };
            self.note(Gap { since, here, copied }, &thing, was, Some(entry), all);
            things.push(thing);
        }
        // A number that something else has was free before: whatever had it is gone, also where nothing else would say so.
        let taken: HashSet<i64> = after.iter().filter_map(|entry| entry.uid).filter(|_| !complete).collect();
        let freed = |entry: &EntryImage| complete || entry.uid.is_some_and(|uid| taken.contains(&uid));
        let gone = before.iter().zip(&paired).filter(|((_, entry), paired)| !**paired && freed(entry));
        for ((thing, entry), _) in gone {
            let since = self.last_seen(thing);
            self.note(Gap { since, here, copied }, thing, Some(entry), None, all);
        }
        things
    }

    /// The last sight that shows a thing as it was. What was not touched by later looks was there in all of them.
    pub(super) fn last_seen(&self, thing: &Thing) -> Option<usize> {
        self.seen.get(thing).copied().max(self.looked.filter(|_| self.aligned))
    }

    pub(super) fn fresh(&mut self) -> Thing {
        self.next += 1;
        Thing::new(&self.life.book, self.next)
    }
}
