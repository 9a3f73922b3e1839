//! [`Truth`]: what the story was at a message of a chat, and how much of it the files tell.
//!
//! What was is simple: the changes of the chat's line that belong to messages up to there, in the order in which they were made. What can
//! be known of it is worked out from the sights that are still there, change by change ([`Told`]):
//!
//! - A change that somebody claims (a scene, an event key, a mark) belongs where the claim says.
//! - One by hand lies between two sights: not before the last that lacks it, at the latest at the first that shows it. In between nobody
//!   knows. Whose it is, is known if only one chat that is bound to the book went on in that time.
//! - Several changes of one thing between two sights are one to whoever looks: if only some of them count, nobody knows the text.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Carrier, Change, Claim, Keeper, Kind, World};

/// What the story was, and what the files tell of it.
#[derive(Debug)]
pub struct Truth {
    world: World,
    /// For each chat and change, the message of the chat that it belongs to there
    places: Vec<Vec<Option<usize>>>,
    /// For each chat, which changes are on its line
    lines: Vec<BTreeSet<usize>>,
    /// The changes of each thing, in the order in which they were made
    things: BTreeMap<usize, Vec<usize>>,
    gaps: Vec<Gap>,
}

/// The time between two sights in which a change was made.
#[derive(Debug, Clone, Default)]
struct Gap {
    /// The last sight before
    from: Option<i64>,
    /// The first sight after
    to: Option<i64>,
    /// Messages of the scenes that keep these sights
    scenes: Vec<usize>,
    /// Whether the first sight after is only the text that the next run has kept
    prior: bool,
}

/// Whether a change counts somewhere, as far as the files tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    No,
    Unknown,
}

/// What should be found at a message.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Entries that must be there, by title and text
    pub entries: Vec<(String, String)>,
    /// Titles about which nothing is known
    pub free: BTreeSet<String>,
    /// The book as it is, where that is an answer, too
    pub live: Option<Vec<(String, String)>>,
}

/// An entry that was found: title, text, and whether it is marked as undated.
pub type Found<'a> = (&'a str, &'a str, bool);

impl Expected {
    /// What is missing and what is too much; nothing if all is right.
    pub fn judge(&self, found: &[Found<'_>]) -> Option<(Vec<String>, Vec<String>)> {
        let of = |entries: &[(String, String)]| {
            let has = |title: &str, text: &str| entries.iter().any(|(t, x)| t == title && x == text);
            let missing: Vec<String> = entries
                .iter()
                .filter(|(title, text)| !found.iter().any(|(t, x, _)| t == title && x == text))
                .map(|(title, text)| format!("{title}: {text:?}"))
                .collect();
            let extra: Vec<String> = found
                .iter()
                .filter(|(title, text, undated)| !undated && !self.is_free(title) && !has(title, text))
                .map(|(title, text, _)| format!("{title}: {text:?}"))
                .collect();
            (missing, extra)
        };
        let right = |(missing, extra): &(Vec<String>, Vec<String>)| missing.is_empty() && extra.is_empty();
        let wrong = of(&self.entries);
        let live = self.live.as_ref().is_some_and(|live| right(&of(live)));
        (!right(&wrong) && !live).then_some(wrong)
    }

    fn is_free(&self, title: &str) -> bool {
        title == "__operation_queue" || self.free.contains(title)
    }
}

impl Truth {
    pub(super) fn new(world: World) -> Self {
        let places = (0..world.chats.len())
            .map(|c| world.changes.iter().map(|change| world.place(c, change.message)).collect())
            .collect();
        let lines = world.chats.iter().map(|chat| chat.line.iter().copied().collect()).collect();
        let mut things: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (n, change) in world.changes.iter().enumerate() {
            things.entry(change.thing).or_default().push(n);
        }
        let mut truth = Self { world, places, lines, things, gaps: Vec::new() };
        truth.gaps = (0..truth.world.changes.len()).map(|n| truth.gap(n)).collect();
        truth
    }

    /// The chats that are still there: number, letter, address, number of messages.
    pub fn chats(&self) -> Vec<(usize, char, String, usize)> {
        let story = if self.world.setting.group { "group:1" } else { "Ana" };
        let alive = self.world.chats.iter().enumerate().filter(|(_, chat)| chat.alive);
        alive
            .map(|(c, chat)| (c, chat.label, format!("{story}/{}", chat.name), chat.messages.len()))
            .collect()
    }

    /// When the story ends, in milliseconds since 1970.
    pub fn clock(&self) -> i64 {
        self.world.clock
    }

    /// The number of the chat that a chat was forked from, and the last message that it has from there.
    pub fn parent(&self, c: usize) -> Option<(usize, usize)> {
        let parent = self.world.chats[c].parent.as_ref()?;
        Some((parent.chat, self.world.place(c, parent.last)?))
    }

    /// How many things there are of which something must be known at this message, and how many of which nothing is.
    pub fn weight(&self, c: usize, at: usize) -> (usize, usize) {
        let expected = self.at(c, at);
        (expected.entries.len(), expected.free.len())
    }

    /// What should be found at a message.
    pub fn at(&self, c: usize, at: usize) -> Expected {
        let mut expected = Expected::default();
        let Some(books) = self.books(c, at) else {
            expected.free.extend(self.titles());
            return expected;
        };
        for (thing, changes) in &self.things {
            let changes: Vec<usize> =
                changes.iter().copied().filter(|n| books.has(&self.world.changes[*n])).collect();
            let told: Vec<Told> = changes.iter().map(|n| self.told(*n, c, at)).collect();
            let known = self.is_known(&changes, &told) && !books.is_odd(self, c, *thing);
            let registry = self.world.things[*thing].starts_with("_registry_");
            if !known || (registry && !self.is_simple(c, at)) {
                expected.free.extend(self.titles_of(*thing));
                continue;
            }
            let counted = self.line(c, at).filter(|n| self.world.changes[*n].thing == *thing);
            let was = fold(counted.map(|n| &self.world.changes[n]));
            if books.born.is_none() && !told.contains(&Told::Unknown) {
                let yes = changes.iter().zip(&told).filter(|(_, told)| **told == Told::Yes);
                let says = fold(yes.map(|(n, _)| &self.world.changes[*n]));
                if was != says {
                    self.contradiction(c, at, &changes, &told);
                }
            }
            if let Some((title, text, _)) = was {
                expected.entries.push((title, text));
            }
        }
        let chat = &self.world.chats[c];
        if at + 1 == chat.messages.len() {
            expected.live = self.live(c);
        }
        expected
    }

    /// What the machine says about a thing contradicts itself: nothing that it says can be trusted.
    fn contradiction(&self, c: usize, at: usize, changes: &[usize], told: &[Told]) -> ! {
        let chat = &self.world.chats[c];
        let line = |n: &usize| (self.lines[c].contains(n), self.places[c][*n]);
        let all: Vec<String> = changes
            .iter()
            .zip(told)
            .map(|(n, told)| {
                format!("{told:?} {:?} {:?} {:?}", line(n), self.world.changes[*n], self.gaps[*n])
            })
            .collect();
        panic!("{} at {at}, {:?}:\n{}", chat.label, chat.parent, all.join("\n"));
    }

    /// The changes that count at a message of a chat.
    fn line(&self, c: usize, at: usize) -> impl Iterator<Item = usize> {
        let counts = move |n: &usize| self.places[c][*n].is_some_and(|place| place <= at);
        self.world.chats[c].line.iter().copied().filter(counts)
    }

    fn titles(&self) -> BTreeSet<String> {
        self.things.keys().flat_map(|thing| self.titles_of(*thing)).collect()
    }

    fn titles_of(&self, thing: usize) -> BTreeSet<String> {
        let kinds = self.things.get(&thing).into_iter().flatten().map(|n| &self.world.changes[*n].kind);
        let titles = kinds.filter_map(|kind| match kind {
            Kind::Make(title, _) | Kind::Title(title) => Some(title.clone()),
            _ => None,
        });
        titles.collect()
    }

    /// The book as it is, where a chat is alone with it or it is kept by hand.
    fn live(&self, c: usize) -> Option<Vec<(String, String)>> {
        let chat = &self.world.chats[c];
        let book = &self.world.books[chat.book?];
        let others = self.world.chats.iter().enumerate();
        let shared = others.filter(|(o, other)| *o != c && other.alive && other.book == chat.book).count();
        if !book.alive || book.name != chat.bound || (shared > 0 && book.keeper != Keeper::Hand) {
            return None;
        }
        Some(book.entries.values().map(|e| (e.title.clone(), e.lines.join("\n"))).collect())
    }

    /// The books that the state of a chat at a message was in: its own, and those of its ancestors as far as they matter there.
    fn books(&self, c: usize, at: usize) -> Option<Books> {
        let mut book = self.world.chats[c].book?;
        let mut books = Books { all: vec![(book, i64::MAX)], born: None };
        while let Some(born) = &self.world.books[book].born {
            let began = at > born.at;
            let rebuilt = born.copy_of.is_none();
            let worked = self.line(c, at).any(|n| self.world.changes[n].book == book);
            if rebuilt && (began || worked) {
                // Whatever it was built from, this is what the fork had.
                books.born = books.born.or(Some(book));
            }
            if rebuilt && began {
                break;
            }
            let parent = self.world.chats[born.chat].parent.as_ref()?.chat;
            book = born.copy_of.or(self.world.chats[parent].book)?;
            books.all.push((book, if began { born.clock } else { i64::MAX }));
        }
        Some(books)
    }

    /// Whether nobody but a chat itself ever had its book, so that its registries are its own.
    fn is_simple(&self, c: usize, at: usize) -> bool {
        let chat = &self.world.chats[c];
        let first = chat.messages.iter().position(|m| m.scene.is_some());
        let scenes = |change: &&Change| matches!(change.claim, Claim::Scene(_) | Claim::Event(_));
        let foreign = self
            .world
            .changes
            .iter()
            .filter(scenes)
            .any(|change| change.author != c && Some(change.book) == chat.book);
        chat.parent.is_none() && !foreign && first.is_some_and(|first| first <= at)
    }

    /// The sights around a change that are still there.
    fn gap(&self, n: usize) -> Gap {
        let change = &self.world.changes[n];
        let mut gap =
            Gap { from: self.world.books[change.book].born.as_ref().map(|b| b.clock), ..Gap::default() };
        let (mut before, mut after) = (None, None);
        for sight in self
            .world
            .sights
            .iter()
            .filter(|s| s.book == change.book && self.is_there(s.carrier, change.thing))
        {
            if sight.clock < change.clock {
                gap.from = Some(sight.clock);
                before = Some(sight.carrier);
            } else if gap.to.is_none() {
                gap.to = Some(sight.clock);
                after = Some(sight.carrier);
            }
        }
        let scene = |carrier: Option<Carrier>| match carrier {
            Some(Carrier::Scene { message, .. }) => Some(message),
            _ => None,
        };
        gap.scenes = scene(before).into_iter().chain(scene(after)).collect();
        // A side prompt keeps the text that it was run on.
        let next = self.things[&change.thing].iter().map(|m| &self.world.changes[*m]).find(|next| {
            next.book == change.book && next.clock > change.clock && matches!(next.kind, Kind::Write(..))
        });
        if let Some(next) = next.filter(|next| next.claim == Claim::Rewrite && self.shows(next))
            && gap.to.is_none_or(|to| to > next.clock)
        {
            (gap.to, gap.prior) = (Some(next.clock), true);
        }
        gap
    }

    /// Whether a sight is still there that shows the entry right as a change left it, as far as its text goes.
    fn shows(&self, change: &Change) -> bool {
        let text = match &change.kind {
            Kind::Make(_, lines) | Kind::Write(_, lines) => lines.join("\n"),
            _ => return false,
        };
        self.world.sights.iter().any(|sight| {
            sight.book == change.book
                && sight.clock > change.clock
                && self.is_there(sight.carrier, change.thing)
                && sight.seen.get(&change.thing).is_some_and(|(_, seen, _)| *seen == text)
        })
    }

    fn is_there(&self, carrier: Carrier, thing: usize) -> bool {
        match carrier {
            Carrier::Look | Carrier::Live => true,
            Carrier::Scene { message, combined } => {
                self.world.recorded.0.contains(&combined)
                    || self
                        .world
                        .chats
                        .iter()
                        .filter(|c| c.alive)
                        .any(|c| has_scene(&c.messages, Some(message), combined))
            }
            Carrier::Copy(k) => {
                let book = &self.world.books[k];
                let owner = book.born.as_ref().is_some_and(|born| self.world.chats[born.chat].alive);
                let touched = self.world.changes.iter().any(|c| c.book == k && c.thing == thing);
                book.alive && owner && !touched
            }
        }
    }

    /// Whether somebody tells of a change that it is theirs, and that can be seen from a chat.
    fn is_claimed(&self, change: &Change, c: usize, ours: bool) -> bool {
        let alive = || self.world.chats.iter().filter(|chat| chat.alive);
        let chat = &self.world.chats[c];
        let named = || {
            // Marks name the chat: a name that has changed since leads nowhere.
            let author = &self.world.chats[change.author];
            author.alive && !author.name.starts_with("The road")
        };
        match &change.claim {
            Claim::Hand => false,
            Claim::Start => true,
            Claim::Scene(combined) => {
                self.world.recorded.0.contains(combined)
                    || if ours {
                        has_scene(&chat.messages, None, *combined)
                    } else {
                        alive().any(|chat| has_scene(&chat.messages, None, *combined))
                    }
            }
            Claim::Event(key) => {
                let has =
                    |chat: &super::world::Chat| chat.running.versions.iter().any(|v| v.events.contains(key));
                self.world.recorded.1.contains(key) || if ours { has(chat) } else { alive().any(has) }
            }
            Claim::Mark => named() && self.gaps_to(change),
            Claim::Rewrite => named() && self.shows(change),
            Claim::Arc { .. } => named(),
        }
    }

    fn gaps_to(&self, change: &Change) -> bool {
        let title = match &change.kind {
            Kind::Make(title, _) => title,
            _ => return true,
        };
        self.world.sights.iter().any(|sight| {
            sight.book == change.book
                && sight.clock > change.clock
                && self.is_there(sight.carrier, change.thing)
                && sight.seen.get(&change.thing).is_some_and(|(seen, ..)| seen == title)
        })
    }

    /// Whether a change counts at a message of a chat, as far as the files tell.
    fn told(&self, n: usize, c: usize, at: usize) -> Told {
        let change = &self.world.changes[n];
        let ours = self.lines[c].contains(&n);
        let place = self.places[c][n];
        let counts = ours && place.is_some_and(|place| place <= at);
        let yes_no = if counts { Told::Yes } else { Told::No };
        if self.world.chats[c].doubt.contains(&n) {
            return Told::Unknown;
        }
        let gap = &self.gaps[n];
        if self.is_claimed(change, c, ours) {
            return match &change.claim {
                Claim::Arc { from, sources } => {
                    let there = |thing: &usize| self.world.seen(change.book).contains_key(thing);
                    match self.world.place(c, *from) {
                        Some(from) if at < from && sources.iter().all(there) => Told::No,
                        _ if counts => Told::Yes,
                        _ => Told::Unknown,
                    }
                }
                // Made elsewhere of messages that this chat has as well: it is as much derived from them as anything.
                Claim::Mark | Claim::Rewrite if !ours && place.is_some_and(|place| place <= at) => {
                    Told::Unknown
                }
                // It is known to have happened, but nothing shows it.
                Claim::Event(_) if gap.to.is_none() && counts => Told::Unknown,
                _ => yes_no,
            };
        }
        if change.claim == Claim::Rewrite && gap.prior && counts {
            return Told::Yes;
        }
        // Who made it may have worked on any message.
        if change.claim != Claim::Hand {
            return Told::Unknown;
        }
        let seen = gap.scenes.iter().filter_map(|message| self.world.place(c, *message));
        let low = seen.chain([self.head(c, gap.from)]).min().unwrap_or(0);
        if at < low {
            return Told::No;
        }
        if !self.is_author_known(change, gap) {
            return Told::Unknown;
        }
        let to = match gap.to {
            Some(to) => to,
            None => return Told::Unknown,
        };
        if change.author == c {
            // A swipe dates its message anew: then the head of that time seems to be lower than it was.
            return if counts && at >= self.head(c, Some(to)) { Told::Yes } else { Told::Unknown };
        }
        // The fork on the way from its author to here.
        let Some((z, fork)) = self.child_towards(change.author, c) else { return Told::No };
        let Some((early, late)) = self.fork_time(z) else { return Told::Unknown };
        if ours {
            let high = self.head(change.author, Some(to));
            let before = high <= fork && to <= early;
            return if before && counts && at >= high { Told::Yes } else { Told::Unknown };
        }
        let after = gap.from.is_some_and(|from| from >= late) || self.head(change.author, gap.from) > fork;
        if after { Told::No } else { Told::Unknown }
    }

    /// The last message of a chat at a time, by the dates of its messages.
    fn head(&self, c: usize, clock: Option<i64>) -> usize {
        let Some(clock) = clock else { return 0 };
        self.world.chats[c].messages.iter().rposition(|m| m.date <= clock).unwrap_or(0)
    }

    /// The fork of an ancestor on the way down to a chat, and the last message that every fork on that way has taken along.
    fn child_towards(&self, ancestor: usize, c: usize) -> Option<(usize, usize)> {
        let (mut z, mut least) = (c, usize::MAX);
        loop {
            let parent = self.world.chats[z].parent.as_ref()?;
            least = least.min(parent.at);
            if parent.chat == ancestor {
                return Some((z, least));
            }
            z = parent.chat;
        }
    }

    /// When a fork was made, at the earliest and at the latest.
    fn fork_time(&self, c: usize) -> Option<(i64, i64)> {
        let chat = &self.world.chats[c];
        let parent = chat.parent.as_ref()?;
        if parent.noted {
            return Some((parent.clock, parent.clock));
        }
        let own = chat.messages.get(parent.at + 1).map_or(i64::MAX, |m| m.date);
        let before = self.world.looks.iter().copied().filter(|look| *look < parent.clock).max();
        let after = self.world.looks.iter().copied().filter(|look| *look > parent.clock).min();
        let early = before.unwrap_or(i64::MIN).max(parent.newest);
        Some((early, after.unwrap_or(i64::MAX).min(own)))
    }

    /// Whether it can only have been its author who made a change by hand.
    fn is_author_known(&self, change: &Change, gap: &Gap) -> bool {
        let (from, to) = (gap.from.unwrap_or(i64::MIN), gap.to.unwrap_or(i64::MAX));
        let within = |clock: i64| clock > from && clock <= to;
        let bound: Vec<usize> = (0..self.world.chats.len())
            .filter(|c| self.world.chats[*c].alive && self.world.chats[*c].book == Some(change.book))
            .collect();
        if bound == [change.author] {
            return true;
        }
        let moved = |c: &usize| {
            let chat = &self.world.chats[*c];
            let messages = chat.messages.iter().any(|m| within(m.date) && m.date > chat.made);
            let scenes = chat.messages.iter().filter_map(|m| m.scene.as_ref());
            let worked =
                scenes.flat_map(|s| &s.metadata).any(|(_, s)| within(s.combined) && s.combined > chat.made);
            messages || worked
        };
        // A fork that was made in the meantime leaves no other trace of what was done in it.
        let fresh = |c: &usize| *c != change.author && within(self.world.chats[*c].made);
        let (fresh, moved) = (bound.iter().any(fresh), bound.iter().copied().filter(moved));
        !fresh && moved.collect::<Vec<usize>>() == [change.author]
    }

    /// Whether what becomes of a thing can be told from what is told of its changes.
    fn is_known(&self, changes: &[usize], told: &[Told]) -> bool {
        let absolute = |kind: &Kind| matches!(kind, Kind::Make(..) | Kind::Write(..) | Kind::Delete);
        let kind = |i: usize| &self.world.changes[changes[i]].kind;
        let cut = (0..changes.len()).rev().find(|i| told[*i] == Told::Yes && absolute(kind(*i)));
        let from = cut.unwrap_or(0);
        if told[from..].contains(&Told::Unknown) {
            return false;
        }
        // What came before a text that was written anew can still decide about the title.
        let titled = |i: usize| told[i] == Told::Unknown && matches!(kind(i), Kind::Title(_));
        if cut.is_some_and(|cut| matches!(kind(cut), Kind::Write(..)) && (0..cut).any(titled)) {
            return false;
        }
        // Nothing that counts, or something added to what does not.
        let Some(cut) = cut else { return !told.contains(&Told::Yes) };
        let mut i = cut;
        while i < changes.len() {
            let gap = |i: usize| (self.world.changes[changes[i]].book, self.gaps[changes[i]].from);
            let end = (i..changes.len()).find(|j| gap(*j) != gap(i)).unwrap_or(changes.len());
            let counted = (i..end).filter(|j| told[*j] == Told::Yes).count();
            let last = told[end - 1] == Told::Yes;
            if counted > 0 && !(last && (absolute(kind(end - 1)) || counted == end - i)) {
                return false;
            }
            i = end;
        }
        true
    }
}

fn has_scene(messages: &[super::world::Message], message: Option<usize>, combined: i64) -> bool {
    let here = |m: &&super::world::Message| message.is_none_or(|id| m.id == id);
    let scenes = messages.iter().filter(here).filter_map(|m| m.scene.as_ref());
    scenes.flat_map(|scene| &scene.metadata).any(|(_, s)| s.combined == combined)
}

/// Books that a state can be in, each with the time until which it was.
struct Books {
    all: Vec<(usize, i64)>,
    /// The book, if an extension has built it from what it had
    born: Option<usize>,
}

impl Books {
    fn has(&self, change: &Change) -> bool {
        self.all.iter().any(|(book, until)| change.book == *book && change.clock < *until)
    }

    /// Whether an extension built the book with something else than the line had.
    fn is_odd(&self, truth: &Truth, c: usize, thing: usize) -> bool {
        let Some(born) = self.born.and_then(|b| truth.world.books[b].born.as_ref()) else { return false };
        let then = truth.line(c, born.at).filter(|n| truth.world.changes[*n].thing == thing);
        // What the fork itself did at its first message came after.
        let then = then.map(|n| &truth.world.changes[n]).filter(|change| change.clock < born.clock);
        fold(then) != born.seen.get(&thing).cloned()
    }
}

/// What becomes of a thing: title, text and whether it is off.
fn fold<'a>(changes: impl Iterator<Item = &'a Change>) -> Option<(String, String, bool)> {
    let mut state: Option<(String, Vec<String>, bool)> = None;
    for change in changes {
        match (&change.kind, &mut state) {
            (Kind::Make(title, lines), _) => state = Some((title.clone(), lines.clone(), false)),
            (Kind::Delete, _) => state = None,
            (Kind::Write(title, lines), None) => state = Some((title.clone(), lines.clone(), false)),
            (_, None) => {}
            (Kind::Append(more), Some((_, lines, _))) => lines.extend(more.iter().cloned()),
            (Kind::Swap(old, new), Some((_, lines, _))) => {
                lines.iter_mut().filter(|line| *line == old).for_each(|line| line.clone_from(new));
            }
            (Kind::Write(_, text), Some((_, lines, _))) => lines.clone_from(text),
            (Kind::Title(new), Some((title, ..))) => title.clone_from(new),
            (Kind::Switch(to), Some((.., off))) => *off = *to,
        }
    }
    state.map(|(title, lines, off)| (title, lines.join("\n"), off))
}
