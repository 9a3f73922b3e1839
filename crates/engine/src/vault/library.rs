//! [`Library`]: everything that was read of a vault, with the lineage of every chat.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::adapter::auto_recap::running::{RecapVersion, RunningRecap};
use forklore_core::adapter::{self, Adapter};
use forklore_core::format::book::{Book as ParsedBook, BookError, BookMap};
use forklore_core::format::card::Card;
use forklore_core::format::chat::{Header, Message};
use forklore_core::format::group::Group;
use forklore_core::format::names::{book_stem, chat_stem, is_save_litter};
use forklore_core::format::record::ForkRecord;
use forklore_core::format::settings::Settings;
use forklore_core::story::lineage::{self, Lineage};
use forklore_core::story::{Moment, Transcript, align, common_prefix, swipe_moments};
use forklore_fs::{NodeKind, OpenFile, PathError, VaultPath, Vfs};
use forklore_json::Raw;
use rayon::prelude::*;
use serde::Serialize;

use super::scan::{Damage, Facts, Scan, Snapshots, is_large, scan, scan_large};
use super::{cache, layout};
use crate::address::Address;
use crate::progress::Progress;

/// What kind of story it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StoryKind {
    /// The chats of one character
    Character,
    /// The chats of one group
    Group,
}

/// Everything of one character or one group.
#[derive(Debug, Clone)]
pub struct Story {
    /// Character or group
    pub kind: StoryKind,
    /// The card's file stem, or the group's id
    pub folder: String,
    /// The name shown to the user
    pub name: String,
    /// Its chats, sorted by name
    pub chats: Vec<usize>,
}

impl Story {
    /// Whether a user can mean this story by `name`.
    pub fn is_called(&self, name: &str) -> bool {
        let id =
            if self.kind == StoryKind::Group { name.strip_prefix("group:").unwrap_or(name) } else { name };
        self.folder == id || self.name == name
    }
}

/// One chat.
#[derive(Debug)]
pub struct Chat {
    /// Number of its story
    pub story: usize,
    /// File stem
    pub name: String,
    /// Its file
    pub path: VaultPath,
    /// Length of the file in bytes
    pub bytes: u64,
    /// When the file was last changed, in nanoseconds since 1970
    pub modified: i64,
    header: Vec<u8>,
    /// The book bound to the chat: name as the header has it, and file stem
    pub book: Option<(String, String)>,
    /// The messages
    pub transcript: Transcript,
    /// Facts about some messages
    pub facts: Facts,
    /// States of the book that its scenes have kept
    pub snapshots: Snapshots,
    /// The record that Forklore wrote for this very chat
    pub record: Option<ForkRecord>,
    /// The running recap as stored
    pub running: Option<RunningRecap>,
    /// Where it comes from
    pub lineage: Lineage,
    /// Why the file could not be read
    pub unreadable: Option<String>,
}

impl Chat {
    /// The header.
    pub fn header(&self) -> Header<'_> {
        // The scan took the header out of a line that it had parsed.
        if self.header.is_empty() { Header::NONE } else { Header::new(Raw::trust(&self.header)) }
    }

    /// File stem of the book bound to the chat.
    pub fn book_stem(&self) -> Option<&str> {
        self.book.as_ref().map(|(_, stem)| stem.as_str())
    }

    /// Number of the last message; 0 for a chat without any.
    pub fn head(&self) -> usize {
        self.transcript.len().saturating_sub(1)
    }
}

/// A lorebook's file.
pub struct Book {
    /// File stem
    pub name: String,
    bytes: Vec<u8>,
    map: Result<BookMap, BookError>,
    /// What keeps it, if it is not kept by hand
    pub keeper: Option<&'static dyn Adapter>,
}

impl Book {
    fn new(name: String, bytes: Vec<u8>) -> Self {
        let parsed = ParsedBook::parse(&bytes);
        let keeper = parsed.as_ref().ok().and_then(adapter::keeper);
        let map = parsed.map(|book| book.map(&bytes));
        Self { name, bytes, map, keeper }
    }

    /// The book, read by spans.
    pub fn parse(&self) -> Result<ParsedBook<'_>, BookError> {
        self.map.as_ref().map(|map| map.book(&self.bytes)).map_err(Clone::clone)
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Why a vault cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The folder does not look like a SillyTavern user folder.
    #[error("This folder holds no SillyTavern chats")]
    NotAVault,
}

/// Everything that was read of a vault.
pub struct Library {
    pub(crate) fs: Arc<dyn Vfs>,
    /// Stories, characters first, sorted by name.
    pub stories: Vec<Story>,
    /// All chats.
    pub chats: Vec<Chat>,
    /// Groups by id.
    pub groups: BTreeMap<String, Group>,
    /// Cards by file stem.
    pub cards: BTreeMap<String, Card>,
    /// The user's settings.
    pub settings: Settings,
    /// Files of lorebooks, by stem.
    pub books: BTreeMap<String, VaultPath>,
    /// What interrupted saves left behind.
    pub litter: Vec<VaultPath>,
    /// What could not be read: folders and files that are links out of the vault, or closed to us.
    pub not_read: Vec<VaultPath>,
    /// Files that Forklore's own unfinished work left behind.
    pub unfinished: Vec<VaultPath>,
    kin: Kin,
    /// How the messages of two chats correspond, for pairs that were asked for.
    alignments: Mutex<Alignments>,
    last_book: Mutex<Option<(String, Arc<Book>)>>,
}

/// Pairs of messages, by the numbers of the two chats.
type Alignments = HashMap<(usize, usize), Arc<[(usize, usize)]>>;

/// Who is related to whom, and who shares a book with whom.
#[derive(Debug, Default)]
struct Kin {
    /// For each chat the number of its family.
    family_of: Vec<usize>,
    /// The members of each family.
    families: Vec<Vec<usize>>,
    /// The chats bound to each book, by its stem, and the one that it was made for.
    users: HashMap<String, (Vec<usize>, Option<usize>)>,
    /// The chats that have a version of a running recap, by its number and time.
    versions: HashMap<(i64, i64), Vec<usize>>,
}

impl Library {
    /// Reads a vault.
    pub fn load(fs: Arc<dyn Vfs>, progress: &dyn Progress) -> Result<Self, LoadError> {
        let root: Vec<String> = fs.list(&VaultPath::root())?.into_iter().map(|node| node.name).collect();
        if !layout::is_vault(&root.iter().map(String::as_str).collect::<Vec<_>>()) {
            return Err(LoadError::NotAVault);
        }
        let (mut litter, mut not_read) = (Vec::new(), Vec::new());
        // What cannot be read is told by `check`; it is no reason to tell nothing of the rest.
        let settings = fs.read(&layout::folder(layout::SETTINGS)).unwrap_or_else(|e| {
            not_read.push(e.path);
            None
        });
        let settings = settings.map(|bytes| Settings::parse(&bytes)).unwrap_or_default();
        let cards = read_cards(&*fs)?;
        let groups = read_groups(&*fs, &mut litter, &mut not_read)?;
        let books = files(&*fs, &layout::folder(layout::WORLDS), ".json", &mut litter)?.into_iter().collect();
        let (stories, places) = find_chats(&*fs, &cards, &groups, &mut litter, &mut not_read)?;
        let unfinished = fs.list(&layout::folder(&format!("{}/tx", layout::FORKLORE)))?;
        let unfinished = unfinished
            .iter()
            .filter_map(|n| layout::folder(&format!("{}/tx", layout::FORKLORE)).join(&n.name).ok());
        let mut library = Self {
            stories,
            chats: Vec::new(),
            groups,
            cards,
            settings,
            books,
            litter,
            not_read,
            unfinished: unfinished.collect(),
            kin: Kin::default(),
            alignments: Mutex::default(),
            last_book: Mutex::default(),
            fs,
        };
        library.read_chats(&places, progress);
        library.trace();
        Ok(library)
    }

    fn read_chats(&mut self, places: &[(usize, String, VaultPath)], progress: &dyn Progress) {
        let sizes: Vec<u64> = places
            .iter()
            .map(|(_, _, path)| self.fs.identity(path).ok().flatten().map_or(0, |id| id.len))
            .collect();
        progress.start("Reading chats", sizes.iter().sum());
        let fs = &*self.fs;
        let stories = &self.stories;
        let read = |(story, name, path): &(usize, String, VaultPath), size: u64| {
            let group = stories[*story].kind == StoryKind::Group;
            let scanner = if is_large(size) { scan_large } else { scan };
            let chat = read_chat(fs, *story, name.clone(), path.clone(), &|file| scanner(file, group));
            progress.advance(size);
            chat
        };
        // Small chats side by side; large ones one after the other, each on all cores.
        let mut chats: Vec<Option<Chat>> = places
            .par_iter()
            .zip(&sizes)
            .map(|(place, size)| (!is_large(*size)).then(|| read(place, *size)))
            .collect();
        for (i, chat) in chats.iter_mut().enumerate() {
            if chat.is_none() {
                *chat = Some(read(&places[i], sizes[i]));
            }
        }
        self.chats = chats.into_iter().flatten().collect();
        self.adopt_unlisted();
        for (c, chat) in self.chats.iter().enumerate() {
            self.stories[chat.story].chats.push(c);
        }
        self.stories.retain(|story| story.folder != NO_GROUP || !story.chats.is_empty());
        progress.finish();
    }

    /// A fork of a group chat that no group lists yet belongs to the group of the chat it was forked from: a page lists it later.
    fn adopt_unlisted(&mut self) {
        let is_group = |story: usize| self.stories[story].kind == StoryKind::Group;
        let listed: HashMap<String, usize> = self
            .chats
            .iter()
            .filter(|c| is_group(c.story) && self.stories[c.story].folder != NO_GROUP)
            .map(|c| (c.name.clone(), c.story))
            .collect();
        for chat in &mut self.chats {
            if self.stories[chat.story].folder == NO_GROUP {
                let parent = chat.header().main_chat().map(|name| chat_stem(&name));
                if let Some(story) = parent.and_then(|name| listed.get(&name)) {
                    chat.story = *story;
                }
            }
        }
    }

    /// SillyTavern's own forks copy the record, before version 1.19 with the slug: where the owner itself is still there under its
    /// name, a record in another chat is a copy. (An owner that is not there was renamed, and this is it.)
    fn disown_copied_records(&mut self) {
        let named: Vec<(usize, String, Option<String>)> = self
            .chats
            .iter()
            .map(|c| (c.story, c.name.clone(), c.header().slug().map(std::borrow::Cow::into_owned)))
            .collect();
        for chat in &mut self.chats {
            let owner_elsewhere = chat.record.as_ref().is_some_and(|record| {
                let is_owner = |(story, name, slug): &(usize, String, Option<String>)| {
                    *story == chat.story
                        && *name == record.owner_file
                        && slug.as_ref() == Some(&record.owner_slug)
                };
                record.owner_file != chat.name && named.iter().any(is_owner)
            });
            if owner_elsewhere {
                chat.record = None;
            }
        }
    }

    fn trace(&mut self) {
        self.disown_copied_records();
        let slugs: Vec<Option<String>> =
            self.chats.iter().map(|c| c.header().slug().map(std::borrow::Cow::into_owned)).collect();
        let seen: Vec<lineage::Chat<'_>> = self
            .chats
            .iter()
            .enumerate()
            .map(|(c, chat)| lineage::Chat {
                story: chat.story,
                group: self.stories[chat.story].kind == StoryKind::Group,
                name: &chat.name,
                slug: slugs[c].as_deref(),
                main_chat: chat.header().main_chat().map(|name| {
                    // A name that no file can have is still a name to tell of.
                    Some(chat_stem(&name))
                        .filter(|stem| !stem.is_empty())
                        .unwrap_or_else(|| name.into_owned())
                }),
                record: chat.record.as_ref(),
                transcript: &chat.transcript,
                aliases: [
                    chat.book.as_ref().map(|(name, _)| name.as_str()),
                    chat.running.as_ref().and_then(|r| r.chat_id.as_deref()),
                ]
                .into_iter()
                .flatten()
                .collect(),
                links: chat.facts.links().map(|(_, link, name)| (link, chat_stem(name))).collect(),
            })
            .collect();
        let traced = lineage::trace(&seen, &|chat, message| self.swipe_moments(chat, message));
        for (chat, lineage) in self.chats.iter_mut().zip(traced) {
            chat.lineage = lineage;
        }
        self.kin = self.find_kin();
    }

    /// The moments that a message would have with each of its swipes shown.
    fn swipe_moments(&self, chat: usize, message: usize) -> Vec<Moment> {
        let transcript = &self.chats[chat].transcript;
        // A line that cannot be read any more has no swipes; its chat is reported on its own.
        let Ok(Some(line)) = self.message_line(chat, message) else { return Vec::new() };
        let Ok(raw) = Raw::parse(&line) else { return Vec::new() };
        swipe_moments(transcript.moment_before(message), Message::new(raw))
    }

    /// The bytes of one message; `None` if there is no such message.
    pub fn message_line(&self, chat: usize, message: usize) -> Result<Option<Vec<u8>>, PathError> {
        let chat = &self.chats[chat];
        let Some(row) = chat.transcript.rows.get(message) else { return Ok(None) };
        let file = self.fs.open(&chat.path)?;
        let line = file.read_range(row.start..row.start + u64::from(row.len));
        line.map(Some).map_err(|source| PathError { path: chat.path.clone(), doing: "read", source })
    }

    /// The address of a chat.
    pub fn address(&self, chat: usize) -> Address {
        let chat = &self.chats[chat];
        let story = &self.stories[chat.story];
        Address { kind: story.kind, folder: story.folder.clone(), chat: chat.name.clone() }
    }

    /// The book that a header's name leads to; `None` if there is no such file.
    pub fn book(&self, name: &str) -> Result<Option<Arc<Book>>, PathError> {
        let stem = book_stem(name);
        let Some(path) = self.books.get(&stem) else { return Ok(None) };
        let mut last = self.last_book.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, book)) = last.as_ref().filter(|(name, _)| *name == stem) {
            return Ok(Some(book.clone()));
        }
        let Some(bytes) = self.fs.read(path)? else { return Ok(None) };
        let book = Arc::new(Book::new(stem.clone(), bytes));
        *last = Some((stem, book.clone()));
        Ok(Some(book))
    }

    /// Chats that are bound to a book, by its stem.
    pub fn users_of(&self, stem: &str) -> &[usize] {
        self.kin.users.get(stem).map_or(&[], |(users, _)| users)
    }

    /// Of the chats bound to one book, the one that the book was made for.
    pub fn owner_of(&self, stem: &str) -> Option<usize> {
        self.kin.users.get(stem).and_then(|(_, owner)| *owner)
    }

    /// The message of chat `other` that is message `message` of chat `chat`: at the same place if all before it is the same, else by
    /// the identity of the message itself, because old messages get edited and deleted. Chats that are not related share none.
    pub fn counterpart(&self, chat: usize, message: usize, other: usize) -> Option<usize> {
        let (here, there) = (&self.chats[chat].transcript, &self.chats[other].transcript);
        let moment = here.moment(message)?;
        if chat == other || there.moment(message) == Some(moment) {
            return Some(message);
        }
        let shared = common_prefix(here, there);
        if shared == here.len().min(there.len()) || !self.related(chat, other) {
            // One is the beginning of the other: what comes after it is nobody else's.
            return None;
        }
        let mut known = self.alignments.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs =
            known.entry((chat, other)).or_insert_with(|| Arc::from(align(here, there, shared).pairs)).clone();
        drop(known);
        pairs.binary_search_by_key(&message, |pair| pair.0).ok().map(|i| pairs[i].1)
    }

    /// Relatives of a chat that have the same version of the running recap.
    pub fn relatives_with(&self, chat: usize, version: &RecapVersion) -> impl Iterator<Item = usize> {
        let all = self.kin.versions.get(&(version.version, version.clock));
        all.into_iter().flatten().copied().filter(move |c| *c != chat && self.related(*c, chat))
    }

    /// Whether two chats are of one family.
    pub fn related(&self, a: usize, b: usize) -> bool {
        self.kin.family_of[a] == self.kin.family_of[b]
    }

    /// The chats that are related to this one: ancestors, descendants, siblings, also under a parent that is gone.
    pub fn family(&self, chat: usize) -> &[usize] {
        &self.kin.families[self.kin.family_of[chat]]
    }

    /// Whether `ancestor` is above `chat` in the fork tree.
    pub fn is_ancestor(&self, ancestor: usize, chat: usize) -> bool {
        self.ancestors(chat).any(|c| c == ancestor)
    }

    /// The chats above this one in the fork tree, nearest first.
    fn ancestors(&self, chat: usize) -> impl Iterator<Item = usize> {
        let parents =
            std::iter::successors(self.chats[chat].lineage.parent, |c| self.chats[*c].lineage.parent);
        // A ring of parents cannot come from files that SillyTavern wrote, but files can hold anything.
        parents.take(self.chats.len())
    }

    /// Works out who is related to whom, and who shares a book with whom.
    fn find_kin(&self) -> Kin {
        let family_of = families(&self.chats);
        let mut kin = Kin { families: vec![Vec::new(); self.chats.len()], family_of, ..Kin::default() };
        for (c, chat) in self.chats.iter().enumerate() {
            kin.families[kin.family_of[c]].push(c);
            if let Some(stem) = chat.book_stem() {
                kin.users.entry(stem.to_owned()).or_default().0.push(c);
            }
            for version in chat.running.iter().flat_map(|r| &r.versions) {
                kin.versions.entry((version.version, version.clock)).or_default().push(c);
            }
        }
        for (stem, (users, owner)) in &mut kin.users {
            *owner = self.find_owner(stem, users);
        }
        kin
    }

    /// The one whose record names the book; else the one above all others in the fork tree; where there is none, the one whose
    /// name the book carries.
    fn find_owner(&self, stem: &str, users: &[usize]) -> Option<usize> {
        let recorded = users.iter().find(|c| {
            let book = self.chats[**c].record.as_ref().and_then(|r| r.book.as_deref());
            book.is_some_and(|book| book_stem(book) == stem)
        });
        let top = users.iter().min_by_key(|c| self.ancestors(**c).count());
        let above_others = |c: &&usize| users.iter().all(|d| d == *c || self.is_ancestor(**c, *d));
        let named = |c: &&usize| stem.ends_with(self.chats[**c].name.as_str());
        recorded
            .or_else(|| top.filter(above_others))
            .or_else(|| users.iter().filter(named).max_by_key(|c| self.chats[**c].name.len()))
            .copied()
    }

    /// Slugs that several chats have, with those chats.
    pub fn duplicate_slugs(&self) -> Vec<Vec<usize>> {
        let mut by_slug: HashMap<String, Vec<usize>> = HashMap::new();
        for (c, chat) in self.chats.iter().enumerate() {
            if let Some(slug) = chat.header().slug() {
                by_slug.entry(slug.into_owned()).or_default().push(c);
            }
        }
        let mut several: Vec<Vec<usize>> = by_slug.into_values().filter(|chats| chats.len() > 1).collect();
        several.sort();
        several
    }
}

/// How a file is scanned.
type Scanner<'a> = dyn Fn(&dyn OpenFile) -> io::Result<Scan> + Sync + 'a;

fn read_chat(fs: &dyn Vfs, story: usize, name: String, path: VaultPath, scan: &Scanner<'_>) -> Chat {
    let read = || -> Result<(Scan, forklore_fs::Identity), PathError> {
        let fail = |source| PathError { path: path.clone(), doing: "read", source };
        let file = fs.open(&path)?;
        let identity = file.identity().map_err(fail)?;
        if identity.len >= cache::WORTHWHILE {
            if let Some(known) = cache::recall(fs, &path, identity) {
                return Ok((known, identity));
            }
            let scan = scan(&*file).map_err(fail)?;
            cache::remember(fs, &path, identity, &scan);
            return Ok((scan, identity));
        }
        Ok((scan(&*file).map_err(fail)?, identity))
    };
    let (scan, identity, unreadable) = match read() {
        Ok((scan, identity)) => (scan, Some(identity), None),
        Err(e) => (
            Scan { facts: Facts { damage: vec![Damage::Empty], ..Facts::default() }, ..Scan::default() },
            None,
            Some(e.to_string()),
        ),
    };
    let mut chat = Chat {
        story,
        name,
        path,
        bytes: identity.map_or(0, |id| id.len),
        modified: identity.map_or(0, |id| id.modified),
        header: scan.header.unwrap_or_default(),
        transcript: scan.transcript,
        facts: scan.facts,
        snapshots: scan.snapshots,
        book: None,
        record: None,
        running: None,
        lineage: Lineage {
            kind: lineage::Kind::Main,
            parent: None,
            fork_message: None,
            basis: lineage::Basis::None,
            confidence: forklore_core::story::Confidence::Guess,
            note: None,
        },
        unreadable,
    };
    let header = chat.header();
    let slug = header.slug();
    chat.record = ForkRecord::read(header.metadata()).filter(|record| record.belongs_to(slug.as_deref()));
    chat.running = RunningRecap::read(chat.header().metadata());
    chat.book = chat.header().book().map(|name| (name.to_string(), book_stem(&name)));
    chat
}

/// For each chat the number of its family: chats that are linked by parents, or by the same parent that is gone.
fn families(chats: &[Chat]) -> Vec<usize> {
    let mut family: Vec<usize> = (0..chats.len()).collect();
    fn root(family: &mut [usize], mut c: usize) -> usize {
        while family[c] != c {
            family[c] = family[family[c]];
            c = family[c];
        }
        c
    }
    let mut ghosts: HashMap<(usize, &str), usize> = HashMap::new();
    for (c, chat) in chats.iter().enumerate() {
        let kin = match (chat.lineage.parent, &chat.lineage.note) {
            (Some(parent), _) => parent,
            (None, Some(lineage::ParentNote::Missing(name))) => {
                *ghosts.entry((chat.story, name)).or_insert(c)
            }
            (None, _) => c,
        };
        let (a, b) = (root(&mut family, c), root(&mut family, kin));
        family[a] = b;
    }
    (0..chats.len()).map(|c| root(&mut family, c)).collect()
}

/// Files of a folder with an extension, as (stem, path); litter is set aside.
fn files(
    fs: &dyn Vfs,
    dir: &VaultPath,
    extension: &str,
    litter: &mut Vec<VaultPath>,
) -> Result<Vec<(String, VaultPath)>, PathError> {
    let mut found = Vec::new();
    for node in fs.list(dir)? {
        let Ok(path) = dir.join(&node.name) else { continue };
        match node.kind {
            NodeKind::File if is_save_litter(&node.name) => litter.push(path),
            NodeKind::File => {
                if let Some(stem) = node.name.strip_suffix(extension) {
                    found.push((stem.to_owned(), path));
                }
            }
            NodeKind::Dir | NodeKind::Other => {}
        }
    }
    Ok(found)
}

fn read_cards(fs: &dyn Vfs) -> Result<BTreeMap<String, Card>, PathError> {
    let paths = files(fs, &layout::folder(layout::CHARACTERS), ".png", &mut Vec::new())?;
    let read = |(stem, path): (String, VaultPath)| {
        let card = fs.read(&path).ok().flatten().and_then(|png| Card::parse(&png));
        // A picture without a character in it is no card, but its folder of chats has a name all the same.
        let card = card.unwrap_or_else(|| Card { name: stem.clone(), ..Card::default() });
        (stem, card)
    };
    Ok(paths.into_par_iter().map(read).collect())
}

fn read_groups(
    fs: &dyn Vfs,
    litter: &mut Vec<VaultPath>,
    not_read: &mut Vec<VaultPath>,
) -> Result<BTreeMap<String, Group>, PathError> {
    let mut groups = BTreeMap::new();
    for (stem, path) in files(fs, &layout::folder(layout::GROUPS), ".json", litter)? {
        match fs.read(&path) {
            Ok(bytes) => {
                if let Some(group) = bytes.and_then(|bytes| Group::parse(&bytes, &stem)) {
                    groups.insert(group.id.clone(), group);
                }
            }
            Err(_) => not_read.push(path),
        }
    }
    Ok(groups)
}

/// Id of the story for group chats that no group lists any more.
const NO_GROUP: &str = "-";

type Places = Vec<(usize, String, VaultPath)>;

/// The stories, still without chats, and where the chats are.
fn find_chats(
    fs: &dyn Vfs,
    cards: &BTreeMap<String, Card>,
    groups: &BTreeMap<String, Group>,
    litter: &mut Vec<VaultPath>,
    not_read: &mut Vec<VaultPath>,
) -> Result<(Vec<Story>, Places), PathError> {
    let mut stories: Vec<Story> = Vec::new();
    let mut places = Vec::new();
    let chats = layout::folder(layout::CHATS);
    for node in fs.list(&chats)? {
        let Ok(dir) = chats.join(&node.name) else { continue };
        match node.kind {
            NodeKind::Dir => {}
            NodeKind::Other => {
                not_read.push(dir);
                continue;
            }
            NodeKind::File => continue,
        }
        let Ok(found) = files(fs, &dir, ".jsonl", litter) else {
            not_read.push(dir);
            continue;
        };
        if found.is_empty() && !cards.contains_key(&node.name) {
            continue;
        }
        let name = cards.get(&node.name).map(|card| card.name.clone()).filter(|name| !name.is_empty());
        let story = stories.len();
        stories.push(Story {
            kind: StoryKind::Character,
            name: name.unwrap_or_else(|| node.name.clone()),
            folder: node.name,
            chats: Vec::new(),
        });
        places.extend(found.into_iter().map(|(stem, path)| (story, stem, path)));
    }
    let in_groups = files(fs, &layout::folder(layout::GROUP_CHATS), ".jsonl", litter)?;
    let mut left: BTreeMap<String, VaultPath> = in_groups.into_iter().collect();
    for group in groups.values() {
        let story = stories.len();
        let name = if group.name.is_empty() { group.id.clone() } else { group.name.clone() };
        stories.push(Story { kind: StoryKind::Group, folder: group.id.clone(), name, chats: Vec::new() });
        let mut listed: Vec<String> =
            group.chats.iter().chain(&group.current_chat).map(|c| chat_stem(c)).collect();
        listed.sort();
        listed.dedup();
        places.extend(
            listed
                .into_iter()
                .filter_map(|stem| left.remove_entry(&stem))
                .map(|(stem, path)| (story, stem, path)),
        );
    }
    if !left.is_empty() {
        let story = stories.len();
        let name = "Chats of no group".to_owned();
        stories.push(Story { kind: StoryKind::Group, folder: NO_GROUP.to_owned(), name, chats: Vec::new() });
        places.extend(left.into_iter().map(|(stem, path)| (story, stem, path)));
    }
    Ok((stories, places))
}
