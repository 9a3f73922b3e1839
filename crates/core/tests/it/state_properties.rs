//! The state at N against a model: several lines of one story, each with its own book or sharing another's, scenes that create
//! entries and add lines, snapshots with the hole that real ones have. Whatever was shared, the state of a line at N is what
//! that line earned up to N.

use forklore_core::story::ChatIx;
use std::collections::{BTreeMap, BTreeSet};

use forklore_core::adapter::auto_recap::{AutoRecap, text_hash};
use forklore_core::adapter::{Adapter as _, Keepers};
use forklore_core::adapter::{Mark, Written};
use forklore_core::format::book::EntryImage;
use forklore_core::state::{
    Ancestor, Base, BookEvidence, Carry, Cast, Content, Known, Life, Line as Seen, Made, Origin, Place,
    Scene as Told, Sight, Thing, Witness, contamination, fold,
};
use forklore_json::{Raw, quote};
use proptest::prelude::*;

/// Title to lines.
type Lore = BTreeMap<String, BTreeSet<String>>;

#[derive(Debug, Clone)]
struct Book {
    /// uid, title, lines
    entries: Vec<(i64, String, Vec<String>)>,
}

impl Book {
    /// Adds an entry under the lowest free number, as SillyTavern does.
    fn add(&mut self, title: String, fact: String) -> i64 {
        let taken = |uid: &i64| self.entries.iter().any(|(used, _, _)| used == uid);
        let uid = (10..).find(|uid| !taken(uid)).unwrap();
        self.entries.push((uid, title, vec![fact]));
        uid
    }

    fn images(&self) -> Vec<EntryImage> {
        let image = |(uid, title, lines): &(i64, String, Vec<String>)| {
            let content = String::from_utf8(quote(&lines.join("\n"))).unwrap();
            // `order` is rewritten by every scene, like the real extension does.
            let order = 1000 - self.entries.len() as i64 + uid;
            let raw = format!(r#"{{"uid":{uid},"content":{content},"order":{order}}}"#);
            EntryImage::new(Some(*uid), title, Raw::parse(raw.as_bytes()).unwrap())
        };
        self.entries.iter().map(image).collect()
    }
}

/// One chat of the model.
#[derive(Debug, Clone)]
struct Line {
    parent: Option<usize>,
    fork: usize,
    book: usize,
    head: usize,
    /// What it earned, by message.
    earned: Vec<(usize, Lore)>,
}

/// A scene that was processed: by whom, where, and what was seen.
#[derive(Debug, Clone)]
struct Scene {
    line: usize,
    message: usize,
    clock: i64,
    book: usize,
    snapshot: Vec<EntryImage>,
    written: Written,
    events: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
enum Step {
    /// A line goes on to a scene; which entries it creates and extends, and whether it makes an event.
    Scene { line: usize, create: usize, extend: Vec<usize>, event: bool },
    /// A line is forked; at which of its messages, and whether the fork shares the book.
    Fork { line: usize, at: usize, share: bool },
}

#[derive(Debug, Clone)]
struct World {
    lines: Vec<Line>,
    books: Vec<Book>,
    scenes: Vec<Scene>,
}

impl World {
    fn play(steps: &[Step]) -> Self {
        let root = Line { parent: None, fork: 0, book: 0, head: 0, earned: vec![(0, Lore::new())] };
        let mut world = Self { lines: vec![root], books: vec![Book { entries: vec![] }], scenes: vec![] };
        for step in steps {
            match step {
                Step::Scene { line, create, extend, event } => {
                    world.scene(line % world.lines.len(), *create, extend, *event);
                }
                Step::Fork { line, at, share } => world.fork(line % world.lines.len(), *at, *share),
            }
        }
        world
    }

    fn state(&self, line: usize, at: usize) -> Lore {
        let found = self.lines[line].earned.iter().rfind(|(message, _)| *message <= at);
        found.map(|(_, lore)| lore.clone()).unwrap_or_default()
    }

    fn scene(&mut self, l: usize, create: usize, extend: &[usize], event: bool) {
        let n = self.scenes.len();
        let line = &mut self.lines[l];
        line.head += 3;
        let (message, book) = (line.head, line.book);
        let mut lore = line.earned.last().unwrap().1.clone();
        let mut written = Written::default();
        let book_entries = &mut self.books[book].entries;
        for k in extend {
            // A line's processing can only tell more of what it knows.
            let known: Vec<&String> = lore.keys().collect();
            if known.is_empty() {
                break;
            }
            let title = known[k % known.len()].clone();
            let fact = format!("fact {n}.{k}");
            if let Some((_, _, lines)) = book_entries.iter_mut().find(|(_, t, _)| *t == title) {
                lines.push(fact.clone());
                // The recap names the entities it tells of, also those that it only adds to.
                written.names.push(title.to_lowercase());
                lore.get_mut(&title).unwrap().insert(fact);
            }
        }
        for k in 0..create {
            let (title, fact) = (format!("character-New {n}.{k}"), format!("made in {n}"));
            written.uids.push(self.books[book].add(title.clone(), fact.clone()));
            lore.insert(title, BTreeSet::from([fact]));
        }
        let snapshot = self.books[book].images();
        let mut events = Vec::new();
        if event {
            let (name, fact) = (format!("Event {n}"), format!("happened in {n}"));
            self.books[book].add(format!("event-{name}"), fact.clone());
            lore.insert(format!("event-{name}"), BTreeSet::from([fact.clone()]));
            events.push((name, text_hash(&fact)));
        }
        self.lines[l].earned.push((message, lore));
        self.scenes.push(Scene {
            line: l,
            message,
            clock: (n as i64 + 1) * 10,
            book,
            snapshot,
            written,
            events,
        });
    }

    fn fork(&mut self, l: usize, at: usize, share: bool) {
        let at = at % (self.lines[l].head + 1);
        let lore = self.state(l, at);
        let book = if share {
            self.lines[l].book
        } else {
            // A fork's own book starts as exactly what its line had earned, under the same numbers.
            let source = &self.books[self.lines[l].book].entries;
            let entries = source
                .iter()
                .filter(|(_, title, _)| lore.contains_key(title))
                .map(|(uid, title, lines)| {
                    let own = lines.iter().filter(|line| lore[title].contains(*line)).cloned().collect();
                    (*uid, title.clone(), own)
                })
                .collect();
            self.books.push(Book { entries });
            self.books.len() - 1
        };
        let earned: Vec<(usize, Lore)> =
            self.lines[l].earned.iter().filter(|(message, _)| *message <= at).cloned().collect();
        self.lines.push(Line { parent: Some(l), fork: at, book, head: at, earned });
    }

    /// The message of `line` that has this scene, if it has it.
    fn carried(&self, line: usize, scene: &Scene) -> Option<usize> {
        let mut here = line;
        let mut limit = usize::MAX;
        loop {
            if here == scene.line {
                return (scene.message <= limit).then_some(scene.message);
            }
            limit = limit.min(self.lines[here].fork);
            here = self.lines[here].parent?;
        }
    }

    /// What is known of a book: the snapshots of all scenes that were written into it, and the book as it is.
    fn evidence(&self, book: usize) -> BookEvidence {
        let lines = || self.lines.iter().enumerate().filter(|(_, line)| line.book == book).map(|(l, _)| l);
        let mut evidence = BookEvidence {
            book: format!("book {book}").into(),
            keepers: Keepers::new(|adapter| adapter.name() == AutoRecap.name()),
            by_choice: false,
            owner: lines().next().map(ChatIx::new),
            lost: false,
            heir: None,
            users: lines().map(ChatIx::new).collect(),
            made: None,
            scenes: Vec::new(),
            sights: Vec::new(),
            elsewhere: Vec::new(),
        };
        for scene in self.scenes.iter().filter(|scene| scene.book == book) {
            let carriers =
                (0..self.lines.len()).filter_map(|l| Some((ChatIx::new(l), self.carried(l, scene)?)));
            evidence.scenes.push(Told {
                started: scene.clock - 5,
                finished: scene.clock,
                written: scene.written.clone(),
                events: scene.events.clone(),
                carriers: carriers.collect(),
                origin: Origin { chat: ChatIx::new(scene.line), message: scene.message },
            });
            let witness = Witness::Scene(evidence.scenes.len() - 1);
            let content = Content::Whole(scene.snapshot.clone().into());
            evidence.sights.push(Sight { time: scene.clock, witness, content });
        }
        let content = Content::Whole(self.books[book].images().into());
        evidence.sights.push(Sight { time: i64::MAX, witness: Witness::Now, content });
        let others = (0..self.books.len()).filter(|other| *other != book);
        evidence.elsewhere = others.flat_map(|other| self.books[other].images()).collect();
        evidence
    }

    fn known(&self, line: usize, lives: &[Life]) -> Known {
        let (mut ancestors, mut here, mut limit) = (Vec::new(), line, usize::MAX);
        while let Some(parent) = self.lines[here].parent {
            limit = limit.min(self.lines[here].fork);
            ancestors.push(Ancestor {
                chat: ChatIx::new(parent),
                limit,
                left: i64::MAX,
                forked: None,
                looked: None,
            });
            here = parent;
        }
        let lives: Vec<&Life> = lives.iter().collect();
        Known::of(
            &lives,
            &Seen {
                chat: ChatIx::new(line),
                ancestors,
                ours: &|_, message| Some(message),
                left: &|_, _| None,
                cast: self,
            },
        )
    }

    /// The lives of all books. A fork's own book starts as what its line had earned.
    fn lives(&self) -> Vec<Life> {
        let mut lives: Vec<Life> = Vec::new();
        for book in 0..self.books.len() {
            let evidence = self.evidence(book);
            let owner = evidence.owner.unwrap().place();
            let life = match self.lines[owner].parent {
                Some(_) => {
                    let at = self.lines[owner].fork;
                    let known = self.known(owner, &lives);
                    let state = fold(
                        &known,
                        at,
                        usize::MAX,
                        Carry { undated: true, since: true, perhaps: true },
                        None,
                    );
                    let things: Vec<_> =
                        state.entries.into_iter().filter_map(|e| Some((e.thing?, e.image))).collect();
                    let (certain, sources) = (things.clone(), lives.iter().collect());
                    let made = Made { things, certain, sources, at, time: i64::MIN };
                    Life::of(evidence, &Base::Made(made), self)
                }
                None => Life::of(evidence, &Base::Nothing, self),
            };
            lives.push(life);
        }
        lives
    }
}

impl Cast for World {
    fn head(&self, chat: ChatIx) -> usize {
        self.lines[chat].head
    }

    fn head_at(&self, _: ChatIx, _: i64) -> Option<usize> {
        None
    }

    fn played(&self, _: ChatIx, _: i64, _: i64) -> bool {
        false
    }

    fn related(&self, _: ChatIx, _: ChatIx) -> bool {
        true
    }

    fn place_of(&self, mark: &Mark, owner: Option<ChatIx>, _users: &[ChatIx]) -> Option<Origin> {
        Some(Origin { chat: owner?, message: mark.message })
    }
}

fn lore(known: &Known, at: usize, head: usize) -> Lore {
    let state = fold(known, at, head, Carry { undated: true, since: true, perhaps: true }, None);
    let entry = |e: &forklore_core::state::StateEntry| {
        (e.image.comment.to_string(), e.image.content().lines().map(str::to_owned).collect())
    };
    state.entries.iter().map(entry).collect()
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let scene = (any::<usize>(), 0..3usize, prop::collection::vec(0..9usize, 0..3), any::<bool>())
        .prop_map(|(line, create, extend, event)| Step::Scene { line, create, extend, event });
    let fork = (any::<usize>(), any::<usize>(), any::<bool>()).prop_map(|(line, at, share)| Step::Fork {
        line,
        at,
        share,
    });
    prop::collection::vec(prop_oneof![3 => scene, 1 => fork], 1..14)
}

proptest! {
    #[test]
    fn the_state_at_n_is_what_the_line_earned_up_to_n(steps in steps()) {
        let world = World::play(&steps);
        let lives = world.lives();
        for (l, line) in world.lines.iter().enumerate() {
            let changes = world.known(l, &lives);
            for at in 0..=line.head {
                prop_assert_eq!(lore(&changes, at, line.head), world.state(l, at), "line {} at {} of {}", l, at, line.head);
            }
        }
    }

    #[test]
    fn projecting_to_n_and_then_to_m_is_projecting_to_m(steps in steps()) {
        let world = World::play(&steps);
        let lives = world.lives();
        for (l, line) in world.lines.iter().enumerate() {
            let changes = world.known(l, &lives);
            for n in 0..=line.head {
                let ours = changes.changes.iter().filter(|c| !matches!(c.place, Place::Ours(p) if p > n));
                let until_n = changes.with(ours.cloned().collect());
                for m in 0..=n {
                    prop_assert_eq!(lore(&until_n, m, line.head), lore(&changes, m, line.head));
                }
            }
        }
    }

    #[test]
    fn a_book_is_clean_exactly_when_no_other_line_wrote_into_it(steps in steps()) {
        let world = World::play(&steps);
        let lives = world.lives();
        for l in 0..world.lines.len() {
            let life = &lives[world.lines[l].book];
            let present: Vec<(Thing, EntryImage)> = life.state_after(life.sights.len());
            let found: BTreeSet<String> =
                contamination(&world.known(l, &lives).changes, &present).into_iter().map(|s| s.comment.to_string()).collect();
            let earned = world.state(l, usize::MAX);
            let book = &world.books[world.lines[l].book];
            let foreign: BTreeSet<String> = book
                .entries
                .iter()
                .filter(|(_, title, lines)| !earned.get(title).is_some_and(|own| lines.iter().all(|line| own.contains(line))))
                .map(|(_, title, _)| title.clone())
                .collect();
            prop_assert_eq!(found, foreign, "line {}", l);
        }
    }
}
