//! [`Library::load`]: finding everything in a vault and reading it.

use crate::{ChatIx, StoryIx};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forklore_core::adapter::bindings::CHAT_BOOK;
use forklore_core::format::card::Card;
use forklore_core::format::chat::Message;
use forklore_core::format::group::Group;
use forklore_core::format::names::{ForkName, book_stem, chat_stem, is_save_litter};
use forklore_core::format::settings::Settings;
use forklore_core::story::lineage::{self, Lineage};
use forklore_core::story::{Moment, swipe_moments};
use forklore_fs::{Identity, NodeKind, PathError, VaultPath, Vfs};
use forklore_journal as journal;
use forklore_journal::{Right, layout};
use forklore_json::Raw;
use rayon::prelude::*;

use crate::cache::{self, Recalled};
use crate::library::body::{Body, Later, LaterSnapshots};
use crate::library::{Chat, Library, Memo, Story, StoryKind};
use crate::lineage as traced;
use crate::progress::Progress;
use crate::read::facts::{Damage, Facts};
use crate::read::identities::identities;
use crate::read::outline::Outline;
use crate::read::scan::{Scan, forget_lines, is_large, scan};
use crate::read::threads::waiting;

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

/// Id of the story for group chats that no group lists any more.
const NO_GROUP: &str = "-";

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
        if settings.as_ref().is_some_and(|bytes| Raw::parse(bytes).is_err()) {
            not_read.push(layout::folder(layout::SETTINGS));
        }
        let settings = settings.map(|bytes| Settings::parse(&bytes)).unwrap_or_default();
        let cards = read_cards(&*fs, &mut not_read);
        let groups = read_groups(&*fs, &mut litter, &mut not_read);
        let worlds = layout::folder(layout::WORLDS);
        let books = files(&*fs, &worlds, ".json", &mut litter, &mut Vec::new());
        let closed_worlds = books.is_err();
        let books = or_closed(books, &worlds, &mut not_read).into_iter().collect();
        let (stories, places) = find_chats(&*fs, &cards, &groups, &mut litter, &mut not_read)?;
        let work = journal::work(&*fs)?;
        let mut library = Self {
            stories,
            chats: Vec::new(),
            groups,
            cards,
            settings,
            books,
            litter,
            not_read,
            unfinished: work.left,
            under_way: work.under_way,
            right: None,
            remembering: Mutex::default(),
            last_books: Mutex::default(),
            met_closed: AtomicBool::default(),
            memo: Memo::default(),
            until: None,
            fs,
        };
        library.read_chats(&places, progress);
        if closed_worlds {
            library.books = library.named_books();
        }
        library.trace();
        Ok(library)
    }

    /// Reads a vault under the right to change it: nobody else with that right changes it between plan and act.
    pub fn load_with(fs: Arc<dyn Vfs>, right: Right, progress: &dyn Progress) -> Result<Self, LoadError> {
        let mut library = Self::load(fs, progress)?;
        library.right = Some(right);
        Ok(library)
    }

    fn read_chats(&mut self, places: &[(StoryIx, String, VaultPath)], progress: &dyn Progress) {
        let paths: Vec<&VaultPath> = places.iter().map(|(_, _, path)| path).collect();
        let found = identities(&*self.fs, &paths);
        let sizes: Vec<u64> = found.iter().map(|id| id.map_or(0, |id| id.len)).collect();
        progress.start("Reading chats", sizes.iter().sum());
        let fs = &*self.fs;
        let stories = &self.stories;
        let mut background = Mutex::new(HashMap::new());
        let in_background = |path: &VaultPath, identity: Identity, scan: &Scan| {
            let (fs, chat, scan) = (self.fs.clone(), path.clone(), scan.clone());
            let thread = std::thread::spawn(move || cache::remember(&*fs, &chat, identity, &scan));
            background.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), thread);
        };
        // Small ones are remembered together, as long as that is not too much.
        let small: Mutex<(usize, BTreeMap<cache::Key, cache::Entry>)> = Mutex::default();
        let together = |path: &VaultPath, identity: Identity, scan: &Scan| {
            let (key, entry) = cache::small_entry(path, identity, scan);
            let mut small = small.lock().unwrap_or_else(PoisonError::into_inner);
            if small.0 + entry.len() > cache::MOST {
                drop(small);
                cache::remember(fs, path, identity, scan);
                return;
            }
            small.0 += entry.len();
            small.1.insert(key, entry);
        };
        let known_chats = cache::Known::of(&self.fs);
        let read = |(story, name, path): &(StoryIx, String, VaultPath), known: Option<Identity>| {
            let size = known.map_or(0, |id| id.len);
            let group = stories[*story].kind == StoryKind::Group;
            let large = is_large(size);
            let recall = |path: &VaultPath, identity| known_chats.recall(path, identity, group);
            let remember: &Remember<'_> = if large { &in_background } else { &together };
            let how = How { recall: &recall, group, remember, known, settings: &self.settings };
            let chat = read_chat(fs, *story, name.clone(), path.clone(), &how);
            progress.advance(size);
            chat
        };
        // Small chats side by side; large ones one after the other, each on all cores.
        let is_small = |known: &Option<Identity>| !is_large(known.map_or(0, |id| id.len));
        let read_small = || -> Vec<Option<Option<Chat>>> {
            let small = places.par_iter().zip(&found);
            small.map(|(place, known)| is_small(known).then(|| read(place, *known))).collect()
        };
        let mut chats = match known_chats.is_new().then(|| waiting(places.len())).flatten() {
            Some(threads) => threads.install(read_small),
            None => read_small(),
        };
        for (i, chat) in chats.iter_mut().enumerate() {
            if chat.is_none() {
                *chat = Some(read(&places[i], found[i]));
            }
        }
        forget_lines();
        let chats = chats.into_iter().flatten().flatten().collect();
        let (_, small) = small.into_inner().unwrap_or_else(PoisonError::into_inner);
        if small.len() < cache::MANY {
            cache::remember_small(fs, small);
        } else {
            // Nobody waits for it but whoever lets the library go.
            let (fs, there) = (self.fs.clone(), paths.into_iter().cloned().collect::<Vec<_>>());
            let write = move || cache::remember_many(&*fs, &small, &there);
            let threads = background.get_mut().unwrap_or_else(PoisonError::into_inner);
            threads.insert(cache::bundle_file(), std::thread::spawn(write));
        }
        self.remembering = background;
        self.chats = chats;
        self.read_kept_metadata();
        self.adopt_unlisted();
        for (c, chat) in ChatIx::each(&self.chats) {
            self.stories[chat.story].chats.push(c);
        }
        self.stories.retain(|story| story.folder != NO_GROUP || !story.chats.is_empty());
        progress.finish();
    }

    /// The files of all lorebooks that anything names. Of a folder that is closed to us nobody knows what is in it: what is named is
    /// taken for a lorebook that cannot be read, and not for one that is gone.
    fn named_books(&self) -> BTreeMap<String, VaultPath> {
        let of_chats = self.chats.iter().flat_map(|chat| {
            let record = chat.record.as_ref().and_then(|record| record.book.as_deref());
            let versions = chat.facts.scenes.iter().flat_map(|(_, scene)| &scene.versions);
            let scenes = versions.filter_map(|version| version.book.as_deref());
            let copies = chat.copies().iter().flat_map(|copy| [&*copy.copy, &*copy.source]);
            chat.bound().chain(record).chain(scenes).chain(copies).chain(chat.made().map(|(book, _)| book))
        });
        let settings = &self.settings;
        let lists = [&settings.global_books, &settings.persona_books, &settings.extension_books];
        let of_settings =
            lists.into_iter().flatten().chain(settings.character_books.iter().map(|(_, book)| book));
        let of_cards = self.cards.values().filter_map(|card| card.book.as_ref());
        let names = of_chats.chain(of_settings.chain(of_cards).map(String::as_str)).map(book_stem);
        names.filter_map(|stem| Some((stem.clone(), layout::book(&stem).ok()?))).collect()
    }

    /// Chats of groups of older versions have no header: what would stand there stands in the group's file.
    fn read_kept_metadata(&mut self) {
        for chat in self.chats.iter_mut().filter(|chat| !chat.outline.is_there && chat.unreadable.is_none()) {
            let story = &self.stories[chat.story];
            let group = self.groups.get(&story.folder).filter(|_| story.kind == StoryKind::Group);
            let Some((group, kept)) = group.and_then(|group| Some((group, group.metadata(&chat.name)?)))
            else {
                continue;
            };
            let Ok(file) = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file)) else {
                continue;
            };
            let metadata = kept.metadata.as_deref().unwrap_or(b"{}");
            let line = [b"{\"chat_metadata\":", metadata, b"}"].concat();
            chat.kept = Some((file, kept));
            chat.outline = Outline::of(Some(&line));
            chat.body = chat.body.behind(line);
            chat.look_at_outline(&self.settings);
        }
    }

    /// A fork of a group chat that no group lists yet belongs to the group of the chat it was forked from: a page lists it later.
    fn adopt_unlisted(&mut self) {
        let is_group = |story: StoryIx| self.stories[story].kind == StoryKind::Group;
        let listed: HashMap<String, StoryIx> = self
            .chats
            .iter()
            .filter(|c| is_group(c.story) && self.stories[c.story].folder != NO_GROUP)
            .map(|c| (c.name.clone(), c.story))
            .collect();
        for chat in &mut self.chats {
            if self.stories[chat.story].folder == NO_GROUP {
                let parent = chat.main_chat().map(chat_stem);
                if let Some(story) = parent.and_then(|name| listed.get(&name)) {
                    chat.story = *story;
                }
            }
        }
    }

    /// SillyTavern's own forks copy the record, before version 1.19 with the slug: where the owner itself is still there under its
    /// name, a record in another chat is a copy. (An owner that is not there was renamed, and this is it.)
    fn disown_copied_records(&mut self) {
        let named: HashSet<(StoryIx, String, Option<String>)> =
            self.chats.iter().map(|c| (c.story, c.name.clone(), c.outline.slug.clone())).collect();
        let unreadable: HashSet<(StoryIx, String)> = self.unreadable_chats().into_keys().collect();
        for chat in &mut self.chats {
            let owner_elsewhere = chat.record.as_ref().is_some_and(|record| {
                let owner = (chat.story, record.owner_file.clone(), Some(record.owner_slug.clone()));
                // One that cannot be read has no slug that anybody knows: by its name it is there.
                let closed = (chat.story, record.owner_file.clone());
                record.owner_file != chat.name && (named.contains(&owner) || unreadable.contains(&closed))
            });
            if owner_elsewhere {
                chat.record = None;
            }
        }
    }

    fn trace(&mut self) {
        self.disown_copied_records();
        let key = traced::is_worthwhile(&self.chats).then(|| traced::Key::of(&self.chats)).flatten();
        let known = key.as_ref().and_then(|key| traced::recall(&*self.fs, key, self.chats.len()));
        let found = known.unwrap_or_else(|| {
            let found = self.find_lineage();
            if let Some(key) = &key {
                traced::remember(&*self.fs, key, &found);
            }
            found
        });
        for (chat, lineage) in self.chats.iter_mut().zip(found) {
            chat.lineage = lineage;
        }
    }

    /// The chats that cannot be read, by story and name.
    fn unreadable_chats(&self) -> HashMap<(StoryIx, String), ChatIx> {
        let unreadable = ChatIx::each(&self.chats).filter(|(_, chat)| chat.unreadable.is_some());
        unreadable.map(|(c, chat)| ((chat.story, chat.name.clone()), c)).collect()
    }

    /// A fork of a chat that cannot be read is its fork, and nobody else's: its messages cannot be compared, and a sibling that has the
    /// same ones is not the parent under another name.
    fn keep_to_unreadable(&self, found: &mut [Lineage]) {
        let unreadable = self.unreadable_chats();
        if unreadable.is_empty() {
            return;
        }
        for ((c, chat), lineage) in ChatIx::each(&self.chats).zip(found) {
            let record = chat.record.as_ref();
            let named =
                record.map(|record| record.parent_file.clone()).or_else(|| chat.main_chat().map(chat_stem));
            let parent =
                named.and_then(|name| unreadable.get(&(chat.story, name))).filter(|parent| **parent != c);
            let Some(parent) = parent else { continue };
            let told = record.map(|record| record.message).or_else(|| ForkName::message(&chat.name));
            let fork = told.or(lineage.fork_message).map(|message| message.min(chat.head()));
            *lineage = Lineage {
                kind: if lineage.kind == lineage::Kind::Main { lineage::Kind::Branch } else { lineage.kind },
                parent: Some(*parent),
                fork_message: fork,
                basis: if record.is_some() { lineage::Basis::Recorded } else { lineage::Basis::MainChat },
                confidence: forklore_core::story::Confidence::Guess,
                note: None,
                beyond: None,
            };
        }
    }

    fn find_lineage(&self) -> Vec<Lineage> {
        let born: Vec<Option<String>> = self.chats.iter().map(Chat::born_as).collect();
        let seen: Vec<lineage::Chat<'_>> = self
            .chats
            .iter()
            .zip(&born)
            .map(|(chat, born)| lineage::Chat {
                story: chat.story.place(),
                group: self.stories[chat.story].kind == StoryKind::Group,
                name: &chat.name,
                silent: !chat.outline.has_metadata
                    || chat.kept.as_ref().is_some_and(|(_, kept)| kept.metadata.is_none()),
                slug: chat.slug(),
                main_chat: chat.main_chat().map(|name| {
                    // A name that no file can have is still a name to tell of.
                    Some(chat_stem(name)).filter(|stem| !stem.is_empty()).unwrap_or_else(|| name.to_owned())
                }),
                record: chat.record.as_ref(),
                transcript: &chat.transcript,
                undated: chat.facts.undated.is_some(),
                aliases: [
                    chat.outline.bindings.chat.as_deref(),
                    chat.running_outline().and_then(|r| r.chat_id.as_deref()),
                    born.as_deref(),
                ]
                .into_iter()
                .flatten()
                .collect(),
                links: chat.facts.links().map(|(_, link, name)| (link, chat_stem(name))).collect(),
            })
            .collect();
        let mut found =
            lineage::trace(&seen, &|chat, message, before| self.swipe_moments(chat, message, before));
        self.keep_to_unreadable(&mut found);
        found
    }

    /// The moments that a message would have, after the moment before it, with each of its swipes shown.
    pub fn swipe_moments(&self, chat: ChatIx, message: usize, before: Moment) -> Vec<Moment> {
        // A line that cannot be read any more has no swipes; its chat is reported on its own.
        let Ok(Some(line)) = self.message_line(chat, message) else { return Vec::new() };
        let Ok(raw) = Raw::parse(&line) else { return Vec::new() };
        swipe_moments(before, Message::new(raw))
    }
}

/// How a chat is read.
struct How<'a> {
    recall: &'a (dyn Fn(&VaultPath, Identity) -> Option<Recalled> + Sync),
    group: bool,
    settings: &'a Settings,
    /// Which file it was when it was found: a file that is remembered is not even opened
    known: Option<Identity>,
    remember: &'a Remember<'a>,
}

/// What is done with a scan that is worth remembering.
type Remember<'a> = dyn Fn(&VaultPath, Identity, &Scan) + Sync + 'a;

/// Reads a chat; `None` if it is gone since it was listed.
fn read_chat(fs: &dyn Vfs, story: StoryIx, name: String, path: VaultPath, how: &How<'_>) -> Option<Chat> {
    let read = || -> Result<(Recalled, Identity), PathError> {
        let fail = |source| PathError { path: path.clone(), doing: "read", source };
        let is_worthwhile = |identity: &Identity| identity.len >= cache::WORTHWHILE;
        let recalled = |identity: Identity| Some(((how.recall)(&path, identity)?, identity));
        let known = how.known.filter(is_worthwhile);
        if let Some(recalled) = known.and_then(recalled) {
            return Ok(recalled);
        }
        let file = fs.open(&path)?;
        let identity = file.identity().map_err(fail)?;
        if is_worthwhile(&identity) {
            // It may be another one by now, which is remembered, too.
            if let Some(recalled) = Some(identity).filter(|now| known != Some(*now)).and_then(recalled) {
                return Ok(recalled);
            }
            let scan = scan(&*file, how.group).map_err(fail)?;
            (how.remember)(&path, identity, &scan);
            return Ok((scan.into(), identity));
        }
        Ok((scan(&*file, how.group).map_err(fail)?.into(), identity))
    };
    let (known, identity, unreadable) = match read() {
        Ok((known, identity)) => (known, Some(identity), None),
        Err(e) if e.is_missing() => return None,
        Err(e) => {
            let facts = Facts { damage: vec![Damage::Empty], ..Facts::default() };
            (Scan { facts, ..Scan::default() }.into(), None, Some(e.to_string()))
        }
    };
    let mut chat = Chat {
        story,
        name,
        path,
        bytes: identity.map_or(0, |id| id.len),
        modified: identity.map_or(0, |id| id.modified),
        identity,
        outline: known.outline,
        kept: None,
        transcript: known.body.transcript(known.rows),
        facts: known.facts,
        snapshots: LaterSnapshots(known.body.clone()),
        body: known.body,
        view: known.view.map_or_else(OnceLock::new, OnceLock::from),
        book: None,
        place: CHAT_BOOK,
        bound: BTreeSet::new(),
        record: None,
        running: OnceLock::new(),
        lineage: Lineage {
            kind: lineage::Kind::Main,
            parent: None,
            fork_message: None,
            basis: lineage::Basis::None,
            confidence: forklore_core::story::Confidence::Guess,
            note: None,
            beyond: None,
        },
        unreadable,
    };
    chat.look_at_outline(how.settings);
    Some(chat)
}

impl From<Scan> for Recalled {
    fn from(mut scan: Scan) -> Self {
        let (outline, facts) = (std::mem::take(&mut scan.outline), std::mem::take(&mut scan.facts));
        let (rows, view) = (scan.transcript.len(), scan.view.take());
        Self { outline, facts, rows, body: Later::here(Body::of(scan)), view }
    }
}

/// Files of a folder with an extension, as (stem, path); litter and links that lead nowhere we may go are set aside.
fn files(
    fs: &dyn Vfs,
    dir: &VaultPath,
    extension: &str,
    litter: &mut Vec<VaultPath>,
    links: &mut Vec<VaultPath>,
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
            NodeKind::Other if node.name.ends_with(extension) => links.push(path),
            NodeKind::Dir | NodeKind::Other => {}
        }
    }
    Ok(found)
}

/// What is in a folder; a folder that is closed to us is told of, and keeps nobody from reading the others.
fn or_closed<T: Default>(found: Result<T, PathError>, dir: &VaultPath, not_read: &mut Vec<VaultPath>) -> T {
    found.unwrap_or_else(|_| {
        not_read.push(dir.clone());
        T::default()
    })
}

fn read_cards(fs: &dyn Vfs, not_read: &mut Vec<VaultPath>) -> BTreeMap<String, Card> {
    let dir = layout::folder(layout::CHARACTERS);
    let paths = or_closed(files(fs, &dir, ".png", &mut Vec::new(), &mut Vec::new()), &dir, not_read);
    let read = |(stem, path): (String, VaultPath)| {
        // One that cannot be read may name any lorebook.
        let (bytes, closed) = match fs.read(&path) {
            Ok(bytes) => (bytes, None),
            Err(e) => (None, Some(e.path)),
        };
        // A picture without a character in it is no card, but its folder of chats has a name all the same.
        let card = bytes.and_then(|png| Card::parse(&png));
        let card = card.unwrap_or_else(|| Card { name: stem.clone(), ..Card::default() });
        (stem, card, closed)
    };
    let read: Vec<_> = paths.into_par_iter().map(read).collect();
    not_read.extend(read.iter().filter_map(|(.., closed)| closed.clone()));
    read.into_iter().map(|(stem, card, _)| (stem, card)).collect()
}

fn read_groups(
    fs: &dyn Vfs,
    litter: &mut Vec<VaultPath>,
    not_read: &mut Vec<VaultPath>,
) -> BTreeMap<String, Group> {
    let mut groups = BTreeMap::new();
    let dir = layout::folder(layout::GROUPS);
    let found = files(fs, &dir, ".json", litter, not_read);
    for (stem, path) in or_closed(found, &dir, not_read) {
        match fs.read(&path) {
            Ok(bytes) => match bytes.and_then(|bytes| Group::parse(&bytes, &stem)) {
                Some(group) => drop(groups.insert(group.id.clone(), group)),
                None => not_read.push(path),
            },
            Err(_) => not_read.push(path),
        }
    }
    groups
}

type Places = Vec<(StoryIx, String, VaultPath)>;

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
        let found = files(fs, &dir, ".jsonl", litter, not_read);
        // A story whose folder is closed to us is one all the same.
        let closed = found.is_err();
        let found = or_closed(found, &dir, not_read);
        if found.is_empty() && !closed && !cards.contains_key(&node.name) {
            continue;
        }
        let name = cards.get(&node.name).map(|card| card.name.clone()).filter(|name| !name.is_empty());
        let story = StoryIx::new(stories.len());
        stories.push(Story {
            kind: StoryKind::Character,
            name: name.unwrap_or_else(|| node.name.clone()),
            folder: node.name,
            chats: Vec::new(),
        });
        places.extend(found.into_iter().map(|(stem, path)| (story, stem, path)));
    }
    let dir = layout::folder(layout::GROUP_CHATS);
    let in_groups = files(fs, &dir, ".jsonl", litter, not_read);
    let in_groups = or_closed(in_groups, &dir, not_read);
    let mut left: BTreeMap<String, VaultPath> = in_groups.into_iter().collect();
    for group in groups.values() {
        let story = StoryIx::new(stories.len());
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
        let story = StoryIx::new(stories.len());
        let name = "Chats of no group".to_owned();
        stories.push(Story { kind: StoryKind::Group, folder: NO_GROUP.to_owned(), name, chats: Vec::new() });
        places.extend(left.into_iter().map(|(stem, path)| (story, stem, path)));
    }
    Ok((stories, places))
}
