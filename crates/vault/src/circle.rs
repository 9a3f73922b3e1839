//! [`Circle`]: chats and lorebooks that can tell something of each other.
//!
//! Whatever is found out about one of them rests on the files of its circle, on what counts for the whole vault, and on nothing else. A
//! circle has a key of all that: as long as that is the same, so is what was found out. A circle is drawn rather too wide than too
//! narrow: stories are never taken apart, and who mentions the same lorebook, wherever, is in one circle.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use forklore_core::format::names::book_stem;
use forklore_fs::{Identity, VaultPath};
use forklore_journal::layout;
use rayon::prelude::*;

use crate::library::{Chat, ChatIx, Library, StoryIx};
use crate::read::identities::identities;

/// Raised whenever something else decides what is found out.
const VERSION: u32 = 6;

/// Chats and lorebooks that can tell something of each other.
#[derive(Debug, Clone)]
pub struct Circle {
    /// The chats, ascending
    pub chats: Vec<ChatIx>,
    /// Stems of the lorebooks that are mentioned, whether they are there or not
    pub books: BTreeSet<String>,
    /// Of everything that decides what is found out about them; `None` if something cannot be read or is not what was read, because
    /// nothing tells whether it is the same the next time
    pub key: Option<[u8; 32]>,
    /// When the last of their files was changed, in nanoseconds since 1970
    pub changed: i64,
}

impl Library {
    /// The circles of the vault, with every chat and every lorebook in one of them.
    pub fn circles(&self) -> Vec<Circle> {
        let drawn = self.memo.slot::<OnceLock<Drawn>>().get_or_init(|| self.draw_circles());
        let chats: Vec<&VaultPath> = self.chats.iter().map(|chat| &chat.path).collect();
        let books: Vec<&VaultPath> = self.books.values().collect();
        let chats = identities(&*self.fs, &chats);
        let books = self.books.keys().map(String::as_str).zip(identities(&*self.fs, &books)).collect();
        let now = Now { chats, books };
        let vault = self.of_the_vault(&drawn.circles);
        let circle = |(n, chats, books): &(usize, Vec<ChatIx>, BTreeSet<String>)| {
            let mut key = Hasher::default();
            let whole = vault.as_ref().and_then(|vault| {
                key.add(&(vault.all.end(), vault.tracks.get(n).map(Hasher::end)));
                self.add_files(&mut key, chats, books, &now)?;
                self.add_backups_of(&mut key, chats, &vault.backups)
            });
            let (chats, books) = (chats.clone(), books.clone());
            Circle { chats, books, key: whole.map(|()| key.end()), changed: key.changed }
        };
        drawn.found.par_iter().map(circle).collect()
    }

    /// Who is in a circle with whom. That is the same as long as the library is; what its files have become since is not.
    fn draw_circles(&self) -> Drawn {
        let mut circles = Circles::default();
        let mentioned: Vec<Vec<String>> = self
            .chat_ixs()
            .collect::<Vec<_>>()
            .par_iter()
            .map(|c| self.mentioned(*c, &self.chats[*c]))
            .collect();
        for ((c, chat), mentioned) in ChatIx::each(&self.chats).zip(mentioned) {
            let mine = circles.node(Node::Chat(c));
            circles.join(mine, Node::Story(chat.story));
            for relative in self.family(c).first().copied().into_iter().chain(chat.lineage.above()) {
                circles.join(mine, Node::Chat(relative));
            }
            for book in mentioned {
                circles.join(mine, Node::Book(self.known_as(&book).to_owned()));
                circles.join(mine, Node::Book(book));
            }
        }
        for (story, _) in self.stories() {
            let mine = circles.node(Node::Story(story));
            for book in self.books_of_ghosts(story) {
                circles.join(mine, Node::Book(book.to_owned()));
            }
        }
        for book in self.books.keys() {
            circles.node(Node::Book(book.clone()));
        }
        let mut found: BTreeMap<usize, (Vec<ChatIx>, BTreeSet<String>)> = BTreeMap::new();
        for (node, n) in circles.sorted() {
            let (chats, books) = found.entry(n).or_default();
            match node {
                Node::Chat(c) => chats.push(c),
                Node::Book(book) => drop(books.insert(book)),
                Node::Story(_) => {}
            }
        }
        Drawn { circles, found: found.into_iter().map(|(n, (chats, books))| (n, chats, books)).collect() }
    }

    /// Every lorebook that a chat, its scenes, its record, notes of extensions or history name.
    fn mentioned(&self, c: ChatIx, chat: &Chat) -> Vec<String> {
        let record = chat.record.as_ref().and_then(|record| record.book.as_deref());
        let versions = chat.facts.scenes.iter().flat_map(|(_, scene)| &scene.versions);
        let scenes = versions.filter_map(|version| version.book.as_deref());
        let sightings = chat.snapshots.sightings.iter().filter_map(|sighting| sighting.book.as_deref());
        let mut books: Vec<String> =
            record.into_iter().chain(scenes).chain(sightings).map(book_stem).collect();
        books.extend(chat.bound().map(str::to_owned));
        books.extend(chat.made().map(|(book, _)| book_stem(book)));
        for copy in chat.copies() {
            books.extend([book_stem(&copy.copy), book_stem(&copy.source)]);
        }
        if let Some(history) = self.history().ok().flatten() {
            books.extend(history.bindings_of(&chat.path).into_iter().map(|(book, ..)| book.to_owned()));
            books.extend(history.restored(self, c).into_iter().flat_map(|(_, books)| books));
        }
        books.sort();
        books.dedup();
        books
    }

    /// What counts beside the files of a circle.
    fn of_the_vault(&self, circles: &Circles) -> Option<OfTheVault> {
        let mut all = Hasher::default();
        all.add(&(VERSION, env!("CARGO_PKG_VERSION"), self.until));
        all.add(&(&self.settings, &self.cards, &self.groups));
        all.add(&self.all_names());
        let mut tracks: HashMap<usize, Hasher> = HashMap::new();
        if let Some(history) = self.history().ok()? {
            all.add(&history.forgotten());
            let mut files: Vec<_> = history.tracks().collect();
            files.sort();
            for (file, track) in files {
                // What is not there any more may be told of anybody.
                let hasher = match self.node_of(file).and_then(|node| circles.find(&node)) {
                    Some(n) => tracks.entry(n).or_default(),
                    None => &mut all,
                };
                hasher.add(&(file, track.len(), track.last().map(|last| &history.seen[*last])));
                // Neither is what was there before under the same name.
                let (lives, is_gone) = history.lives(file);
                if lives.len() > usize::from(!is_gone) {
                    all.add(&(file, lives.len(), is_gone));
                }
            }
        }
        let backups = self.fs.list(&layout::folder(layout::BACKUPS)).ok()?;
        let backups = backups.into_iter().map(|node| node.name).collect();
        Some(OfTheVault { all, tracks, backups })
    }

    fn node_of(&self, file: &VaultPath) -> Option<Node> {
        if file.parent() == layout::folder(layout::WORLDS) {
            return file.name().strip_suffix(".json").map(|stem| Node::Book(stem.to_owned()));
        }
        let paths = self.memo.slot::<OnceLock<Paths>>().get_or_init(|| {
            Paths(ChatIx::each(&self.chats).map(|(c, chat)| (chat.path.clone(), c)).collect())
        });
        paths.0.get(file).copied().map(Node::Chat)
    }

    fn add_files(
        &self,
        key: &mut Hasher,
        chats: &[ChatIx],
        books: &BTreeSet<String>,
        now: &Now<'_>,
    ) -> Option<()> {
        for c in chats {
            let chat = &self.chats[*c];
            let (story, lineage) = (&self.stories[chat.story], &chat.lineage);
            key.add(&(&chat.path, &chat.name, &story.kind, &story.folder, &story.name));
            let is = now.chats[c.place()];
            key.add_identity(is.filter(|_| is == chat.identity)?);
            key.add(&lineage.above().map(|above| &self.chats[above].path));
            key.add(&(lineage.parent.is_some(), lineage.beyond.map(|beyond| beyond.message)));
            key.add(&(lineage.kind, lineage.fork_message, lineage.basis, lineage.confidence, &lineage.note));
            // What is kept elsewhere does not show in the chat's own file.
            key.add(&chat.kept.as_ref().map(|(_, kept)| &kept.metadata));
        }
        for stem in books {
            let path = self.books.get(stem);
            key.add(&(stem, path));
            if path.is_some() {
                key.add_identity((*now.books.get(stem.as_str())?)?);
            }
        }
        Some(())
    }

    /// `backups` are the names of all backups.
    fn add_backups_of(&self, key: &mut Hasher, chats: &[ChatIx], backups: &[String]) -> Option<()> {
        let prefixes: BTreeSet<String> = chats.iter().map(|c| self.backup_prefix_of(*c)).collect();
        let mut told = false;
        for name in backups.iter().filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))) {
            let path = layout::folder(layout::BACKUPS).join(name).ok()?;
            key.add(&path);
            key.add_identity(self.fs.identity(&path).ok()??);
            told = true;
        }
        if told {
            // Whose backup it is, is told from the identities of all chats.
            key.add(&self.chats.iter().map(|chat| chat.slug()).collect::<BTreeSet<_>>());
        }
        Some(())
    }
}

/// The circles of a library, whatever has become of its files.
#[derive(Default)]
struct Drawn {
    circles: Circles,
    /// For each its number, its chats and its lorebooks
    found: Vec<(usize, Vec<ChatIx>, BTreeSet<String>)>,
}

/// Which files are there now.
struct Now<'a> {
    chats: Vec<Option<Identity>>,
    /// By their stems
    books: HashMap<&'a str, Option<Identity>>,
}

/// What counts beside the files of a circle.
struct OfTheVault {
    /// What counts in all circles
    all: Hasher,
    /// What history saw of the files of a circle, which counts in that one, by its number
    tracks: HashMap<usize, Hasher>,
    /// Names of all backups
    backups: Vec<String>,
}

/// Chats by their files.
#[derive(Default)]
struct Paths(HashMap<VaultPath, ChatIx>);

/// What is in a circle.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Node {
    Chat(ChatIx),
    Story(StoryIx),
    Book(String),
}

/// What is in a circle with what.
#[derive(Default)]
struct Circles {
    numbers: HashMap<Node, usize>,
    /// For each node another one of its circle; itself, if it stands for the circle
    above: Vec<usize>,
}

impl Circles {
    fn node(&mut self, node: Node) -> usize {
        let next = self.above.len();
        let n = *self.numbers.entry(node).or_insert(next);
        if n == next {
            self.above.push(n);
        }
        n
    }

    fn join(&mut self, n: usize, node: Node) {
        let other = self.node(node);
        let (a, b) = (self.root(n), self.root(other));
        let root = a.min(b);
        // The way there is short for whoever asks next.
        for n in [n, other, a, b] {
            self.above[n] = root;
        }
    }

    fn root(&self, mut n: usize) -> usize {
        while self.above[n] != n {
            n = self.above[n];
        }
        n
    }

    /// The number of the circle that a node is in.
    fn find(&self, node: &Node) -> Option<usize> {
        self.numbers.get(node).map(|n| self.root(*n))
    }

    /// All nodes in order, each with the number of its circle.
    fn sorted(&self) -> Vec<(Node, usize)> {
        let mut all: Vec<(Node, usize)> =
            self.numbers.iter().map(|(node, n)| (node.clone(), self.root(*n))).collect();
        all.sort();
        all
    }
}

/// A hash over things as they are printed for programmers, which tells all of their parts apart.
#[derive(Default)]
struct Hasher {
    hasher: blake3::Hasher,
    changed: i64,
}

impl Hasher {
    fn add(&mut self, what: &impl std::fmt::Debug) {
        self.hasher.update(format!("{what:?}\0").as_bytes());
    }

    fn add_identity(&mut self, id: Identity) {
        for number in [id.file, id.len, id.modified.cast_unsigned(), id.changed.cast_unsigned()] {
            self.hasher.update(&number.to_le_bytes());
        }
        self.changed = self.changed.max(id.changed);
    }

    fn end(&self) -> [u8; 32] {
        *self.hasher.finalize().as_bytes()
    }
}
