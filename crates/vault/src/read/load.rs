//! [`Library::load`]: reading everything that [`places`](super::places) finds in a vault.

use crate::{ChatIx, StoryIx};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forklore_core::adapter::bindings::CHAT_BOOK;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_core::format::settings::Settings;
use forklore_core::story::lineage::Lineage;
use forklore_fs::{Identity, PathError, VaultPath, Vfs};
use forklore_journal as journal;
use forklore_journal::{Right, layout};
use forklore_json::Raw;
use rayon::prelude::*;

use crate::cache::{self, Recalled};
use crate::library::body::{Body, Later, LaterSnapshots};
use crate::library::{Chat, Library, Memo, StoryKind};
use crate::progress::Progress;
use crate::read::facts::{Damage, Facts};
use crate::read::identities::identities;
use crate::read::outline::Outline;
use crate::read::places::{NO_GROUP, files, find_chats, or_closed, read_cards, read_groups};
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
            last_books: Arc::default(),
            met_closed: Arc::default(),
            memo: Memo::default(),
            until: None,
            fs,
        };
        library.read_chats(&places, progress);
        if closed_worlds {
            library.books = library.named_books();
        }
        let fs = library.fs.clone();
        library.trace_as("lineage", &*fs);
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
}

impl Library {
    /// Reads chats that are to be found on the disk of this library and puts them behind the others. What is found out is remembered on the disk
    /// of the vault itself.
    pub(crate) fn add_chats(&mut self, places: &[(StoryIx, String, VaultPath)], kept: &dyn Vfs) {
        let known_chats = cache::Known::of(&self.fs);
        let paths: Vec<&VaultPath> = places.iter().map(|(.., path)| path).collect();
        let found = identities(&*self.fs, &paths);
        let read = |((story, name, path), known): (&(StoryIx, String, VaultPath), &Option<Identity>)| {
            let group = self.stories[*story].kind == StoryKind::Group;
            let recall = |path: &VaultPath, identity| known_chats.recall(path, identity, group);
            let remember = |path: &VaultPath, identity: Identity, scan: &Scan| {
                drop(cache::remember(kept, path, identity, scan));
            };
            let how =
                How { recall: &recall, group, remember: &remember, known: *known, settings: &self.settings };
            read_chat(&*self.fs, *story, name.clone(), path.clone(), &how)
        };
        let chats: Vec<Option<Chat>> = places.par_iter().zip(&found).map(read).collect();
        self.chats.extend(chats.into_iter().flatten());
        // Whoever works beside others does not wait for them here.
        if rayon::current_thread_index().is_none() {
            forget_lines();
        }
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
        at_scenes: known.at_scenes,
        snapshots: LaterSnapshots(known.body.clone()),
        body: known.body,
        view: known.view.map_or_else(OnceLock::new, OnceLock::from),
        book: None,
        place: CHAT_BOOK,
        bound: BTreeSet::new(),
        record: None,
        running: OnceLock::new(),
        lineage: Lineage::NONE,
        unreadable,
    };
    chat.look_at_outline(how.settings);
    Some(chat)
}

impl From<Scan> for Recalled {
    fn from(mut scan: Scan) -> Self {
        let (outline, facts) = (std::mem::take(&mut scan.outline), std::mem::take(&mut scan.facts));
        let (rows, view) = (scan.transcript.len(), scan.view.take());
        Self { outline, facts, at_scenes: Vec::new(), rows, body: Later::here(Body::of(scan)), view }
    }
}
