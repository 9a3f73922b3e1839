//! [`Truth`]: what the story was at a message of a chat, and how much of it the files tell.
//!
//! What was is simple: the changes of the chat's line that belong to messages up to there, in the order in which they were made. Which of
//! them can be known is another question (see `told`); what cannot is not asked for.

use std::collections::{BTreeMap, BTreeSet};

use super::gap::{Gap, Told};
use super::world::{Change, Claim, Keeper, Kind, Version, World};

/// What the story was, and what the files tell of it.
#[derive(Debug)]
pub struct Truth {
    pub(super) world: World,
    /// For each chat and change, the message of the chat that it belongs to there
    pub(super) places: Vec<Vec<Option<usize>>>,
    /// For each chat, which changes are on its line
    pub(super) lines: Vec<BTreeSet<usize>>,
    /// The changes of each thing, in the order in which they were made
    pub(super) things: BTreeMap<usize, Vec<usize>>,
    pub(super) gaps: Vec<Gap>,
}

/// What should be found at a message.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Entries that must be there, by title, text and whether they are off, if that is known
    pub entries: Vec<Entry>,
    /// Titles about which nothing is known
    pub free: BTreeSet<String>,
    /// The book as it is, where that is an answer, too
    pub live: Option<Vec<Entry>>,
}

/// An entry that must be there.
pub(super) type Entry = (String, String, Option<bool>);

/// An entry that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its title
    pub title: String,
    /// Its text
    pub text: String,
    /// Whether it is switched off
    pub off: bool,
    /// Whether it is marked as undated
    pub undated: bool,
}

impl Found {
    fn is(&self, (title, text, off): &Entry) -> bool {
        self.title == *title && self.text == *text && off.is_none_or(|off| off == self.off)
    }
}

impl Expected {
    /// What is missing and what is too much; nothing if all is right.
    pub fn judge(&self, found: &[Found]) -> Option<(Vec<String>, Vec<String>)> {
        let of = |entries: &[Entry]| {
            let missing: Vec<String> = entries
                .iter()
                .filter(|entry| !found.iter().any(|f| f.is(entry)))
                .map(|(title, text, off)| format!("{title}: {text:?}{}", word(*off)))
                .collect();
            let extra: Vec<String> = found
                .iter()
                .filter(|f| !f.undated && !self.is_free(&f.title) && !entries.iter().any(|entry| f.is(entry)))
                .map(|f| format!("{}: {:?}{}", f.title, f.text, word(Some(f.off))))
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
        let story = if self.world.setting.group { "group:1" } else { self.world.card };
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

    /// Whether another chat has the name by now that a fork has for its parent, or it names none: then it does not say whose it is.
    pub fn is_mistaken(&self, c: usize) -> bool {
        let Some(parent) = self.world.chats[c].parent.as_ref() else { return false };
        if self.world.chats[c].main_chat.as_ref() != Some(&parent.name) {
            return true;
        }
        let mut others = self.world.chats.iter().enumerate().filter(|(other, _)| *other != parent.chat);
        others.any(|(_, other)| other.alive && other.name == parent.name)
    }

    /// The number of the chat that a chat was forked from, and the message there that it was forked at, if that is still there.
    pub fn forked_above(&self, c: usize) -> Option<(usize, usize)> {
        let parent = self.world.chats[c].parent.as_ref()?;
        Some((parent.chat, self.world.place(parent.chat, parent.last)?))
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
        for (thing, changes) in self.things_in(&books) {
            let told: Vec<Told> = changes.iter().map(|n| self.told(*n, c, at)).collect();
            let known = self.is_known(&changes, &told)
                && !books.is_odd(self, c, *thing)
                && !self.is_entangled(c, at, &changes);
            let registry = self.world.things[*thing].starts_with("_registry_");
            if !known || (registry && !self.is_simple(c, at)) {
                expected.free.extend(self.titles_of(*thing));
                continue;
            }
            let (was, along) = self.was(c, at, *thing);
            if books.born.is_none() && !along && !told.contains(&Told::Unknown) {
                let yes = changes.iter().zip(&told).filter(|(_, told)| **told == Told::Yes);
                let says = fold(yes.map(|(n, _)| &self.world.changes[*n]));
                if was != says {
                    self.contradiction(c, at, &changes, &told);
                }
            }
            // A switch can be unknown where the text is not: the text was written anew since.
            let switched = |n: &usize| matches!(self.world.changes[*n].kind, Kind::Switch(_));
            let vague = changes.iter().zip(&told).any(|(n, told)| *told == Told::Unknown && switched(n));
            if let Some((title, text, off)) = was {
                expected.entries.push((title, text, (!vague).then_some(off || registry)));
            }
        }
        let chat = &self.world.chats[c];
        if at + 1 == chat.messages.len() {
            expected.live = self.live(c);
        }
        expected
    }

    /// What was there at a message, whether or not the files tell: what whoever saw every save must know. Not asked for are registries, books
    /// that an extension built with something else than the line had, and entries that our line wrote in when they held what is not ours.
    pub fn was_at(&self, c: usize, at: usize) -> Expected {
        let mut expected = Expected::default();
        let Some(books) = self.books(c, at) else {
            expected.free.extend(self.titles());
            return expected;
        };
        for (thing, changes) in self.things_in(&books) {
            let (was, along) = self.was(c, at, *thing);
            let registry = self.world.things[*thing].starts_with("_registry_");
            let open = changes.iter().any(|n| self.is_open(*n, c, at)) || self.is_onto_others(c, at, *thing);
            if registry
                || along
                || open
                || books.is_odd(self, c, *thing)
                || self.is_entangled(c, at, &changes)
            {
                expected.free.extend(self.titles_of(*thing));
            } else if let Some((title, text, _)) = was {
                expected.entries.push((title, text, None));
            }
        }
        expected
    }

    /// The things that are in some books, each with its changes there.
    fn things_in<'a>(&'a self, books: &'a Books) -> impl Iterator<Item = (&'a usize, Vec<usize>)> {
        let there = |n: &usize| books.has(&self.world.changes[*n]);
        self.things
            .iter()
            .map(move |(thing, changes)| (thing, changes.iter().copied().filter(there).collect()))
    }

    /// Whether it is a question of taste that a change counts at a message of a chat: whoever writes into a book that is kept by hand writes for
    /// everybody who has it; what another chat made of messages that this one has, too, is as much derived from them; a consolidation
    /// belongs to its sources, or to the message that it was made at; and a late scene brings the text along that it wrote onto.
    fn is_open(&self, n: usize, c: usize, at: usize) -> bool {
        let change = &self.world.changes[n];
        // Nobody can tell yet that an extension keeps it.
        let is_kept = |other: &Change| other.book == change.book && !matches!(other.claim, Claim::Hand);
        let by_hand = !self.world.changes.iter().any(is_kept);
        let reached = self.places[c][n].is_some_and(|place| place <= at);
        match change.claim {
            Claim::Mark | Claim::Rewrite => !self.lines[c].contains(&n) && reached,
            Claim::Arc { from, .. } => self.world.place(c, from).is_some_and(|from| from <= at),
            _ if by_hand && change.author != c && !(reached && self.lines[c].contains(&n)) => true,
            _ => reached && self.lines[c].contains(&n) && self.came_along(n, c),
        }
    }

    /// Whether a change was made onto one of the same chat that is not on our line.
    fn came_along(&self, n: usize, c: usize) -> bool {
        let change = &self.world.changes[n];
        let onto = matches!(change.kind, Kind::Append(_) | Kind::Join(..) | Kind::Swap(..));
        let mut before = self.things[&change.thing].iter().filter(|m| **m < n && !self.lines[c].contains(m));
        onto && before.any(|m| self.world.changes[*m].author == change.author)
    }

    /// Whether our line wrote onto what it does not have, in a book that it shares: then it is one text for whoever reads it.
    fn is_onto_others(&self, c: usize, at: usize, thing: usize) -> bool {
        let mut has = false;
        self.line(c, at).map(|n| &self.world.changes[n]).filter(|change| change.thing == thing).any(
            |change| {
                let onto = !has && !matches!(change.kind, Kind::Make(..) | Kind::Write(..) | Kind::Delete);
                has = match change.kind {
                    Kind::Make(..) | Kind::Join(..) | Kind::Write(..) => true,
                    Kind::Delete => false,
                    _ => has,
                };
                onto
            },
        )
    }

    /// Title and text of all that was there at a message, whether or not the files tell; without registries.
    pub fn there(&self, c: usize, at: usize) -> Vec<(String, String)> {
        let facts = self.things.keys().filter(|thing| !self.world.things[**thing].starts_with("_registry_"));
        facts.filter_map(|thing| self.was(c, at, *thing).0).map(|(title, text, _)| (title, text)).collect()
    }

    /// What a thing was at a message of a chat, and whether a late scene has brought something of a later message along: the last change of
    /// an entry counts whole, with the title and the switch that the entry had then.
    fn was(&self, c: usize, at: usize, thing: usize) -> (Was, bool) {
        let (mut counted, mut later, mut along) = (Vec::new(), Vec::new(), false);
        for n in self.world.chats[c].line.iter().filter(|n| self.world.changes[**n].thing == thing) {
            let change = &self.world.changes[*n];
            let counts = self.places[c][*n].is_some_and(|place| place <= at);
            match &change.kind {
                Kind::Title(_) | Kind::Switch(_) if !counts => later.push(change),
                Kind::Make(..) | Kind::Delete => {
                    later.clear();
                    counted.extend(counts.then_some(change));
                }
                _ if counts => {
                    along |= !later.is_empty();
                    counted.append(&mut later);
                    counted.push(change);
                }
                _ => {}
            }
        }
        (fold(counted.into_iter()), along)
    }

    /// Whether our line went on with a text that has something of a later message in it, or with an entry in which another line has put
    /// other words, or which it has renamed or switched: then it is one entry, and nobody can tell what it would have been without.
    fn is_entangled(&self, c: usize, at: usize, changes: &[usize]) -> bool {
        // Words of others, and what else they did to it.
        let (mut text, mut rest) = (false, false);
        changes.iter().any(|n| {
            let kind = &self.world.changes[*n].kind;
            if !self.lines[c].contains(n) {
                text |= matches!(kind, Kind::Swap(..) | Kind::Write(..));
                rest |= matches!(kind, Kind::Title(_) | Kind::Switch(_));
                return false;
            }
            let counts = self.places[c][*n].is_some_and(|place| place <= at);
            let found =
                (text || rest) && counts && matches!(kind, Kind::Append(_) | Kind::Join(..) | Kind::Swap(..));
            match kind {
                Kind::Make(..) | Kind::Delete => (text, rest) = (!counts, false),
                Kind::Write(..) => text = !counts,
                Kind::Append(_) | Kind::Join(..) | Kind::Swap(..) => text |= !counts,
                Kind::Title(_) | Kind::Switch(_) => {}
            }
            found
        })
    }

    /// The text of the running recap at a message, if there is one then; nothing if that cannot be known.
    pub fn recap(&self, c: usize, at: usize) -> Option<Option<String>> {
        let chat = &self.world.chats[c];
        let mut lost = chat.wiped;
        // How much of a chat is on the line, from the fork up.
        let (mut line, mut z, mut least) = (vec![(c, usize::MAX)], c, usize::MAX);
        while let Some(parent) = &self.world.chats[z].parent {
            least = least.min(parent.at);
            line.push((parent.chat, least));
            z = parent.chat;
            lost |= self.world.chats[z].wiped;
        }
        let ours = |version: &&Version| {
            line.iter().any(|(chat, last)| version.author == *chat && version.scene <= *last)
        };
        let last = chat.running.versions.iter().filter(ours).rfind(|version| version.scene <= at);
        (!lost).then(|| last.map(Version::content))
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
            Kind::Make(title, _) | Kind::Join(title, _) | Kind::Title(title) => Some(title.clone()),
            _ => None,
        });
        titles.collect()
    }

    /// The book as it is, where a chat is alone with it or it is kept by hand.
    fn live(&self, c: usize) -> Option<Vec<Entry>> {
        let chat = &self.world.chats[c];
        let book = &self.world.books[chat.book?];
        let others = self.world.chats.iter().enumerate();
        let shared = others.filter(|(o, other)| *o != c && other.alive && other.bound == chat.bound).count();
        if !book.alive || book.name != chat.bound || (shared > 0 && book.keeper != Keeper::Hand) {
            return None;
        }
        let off = |e: &super::world::Entry| e.off || e.title.starts_with("_registry_");
        Some(book.entries.values().map(|e| (e.title.clone(), e.lines.join("\n"), Some(off(e)))).collect())
    }

    /// The books that the state of a chat at a message was in: its own, and those of its ancestors as far as they matter there.
    fn books(&self, c: usize, at: usize) -> Option<Books> {
        let mut book = self.world.chats[c].book?;
        let mut books = Books { all: vec![(book, i64::MAX)], born: None };
        while let Some(born) = &self.world.books[book].born {
            // Who left before it was made and has it all the same has had it from the fork on.
            let left = self.child_towards(born.chat, c).map_or(born.at, |(_, last)| last.min(born.at));
            let began = at > left;
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
}

fn word(off: Option<bool>) -> &'static str {
    match off {
        Some(true) => " (off)",
        Some(false) => "",
        None => " (on or off)",
    }
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

/// What a thing is: title, text and whether it is off.
type Was = Option<(String, String, bool)>;

/// What becomes of a thing.
fn fold<'a>(changes: impl Iterator<Item = &'a Change>) -> Was {
    let mut state: Option<(String, Vec<String>, bool)> = None;
    for change in changes {
        match (&change.kind, &mut state) {
            (Kind::Make(title, lines), _) | (Kind::Write(title, lines), None) => {
                state = Some((title.clone(), lines.clone(), false));
            }
            (Kind::Delete, _) => state = None,
            (Kind::Join(title, lines), None) => state = Some((title.clone(), lines.clone(), false)),
            (_, None) => {}
            (Kind::Append(more) | Kind::Join(_, more), Some((_, lines, _))) => {
                lines.extend(more.iter().cloned());
            }
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
