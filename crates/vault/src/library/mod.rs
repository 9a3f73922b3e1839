//! [`Library`]: everything that was read of a vault, with the lineage of every chat; its [`Story`]s, [`Chat`]s and [`Book`]s.

pub(crate) mod body;
mod book;
mod chat;
mod memo;
mod story;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::format::card::Card;
use forklore_core::format::group::Group;
use forklore_core::format::names::book_stem;
use forklore_core::format::settings::Settings;
use forklore_core::story::Row;
use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_journal::Right;

use crate::cache::View;

pub use self::book::{Book, Unread};
pub use self::chat::Chat;
pub(crate) use self::memo::Memo;
pub use self::story::{Story, StoryIx, StoryKind};
pub use forklore_core::story::ChatIx;

/// Everything that was read of a vault.
pub struct Library {
    /// The disk that the vault is on
    pub(crate) fs: Arc<dyn Vfs>,
    /// Stories, characters first, sorted by name.
    pub(crate) stories: Vec<Story>,
    /// All chats.
    pub(crate) chats: Vec<Chat>,
    /// Groups by id.
    pub(crate) groups: BTreeMap<String, Group>,
    /// Cards by file stem.
    pub(crate) cards: BTreeMap<String, Card>,
    /// The user's settings.
    pub(crate) settings: Settings,
    /// Files of lorebooks, by stem.
    pub(crate) books: BTreeMap<String, VaultPath>,
    /// What interrupted saves left behind.
    pub(crate) litter: Vec<VaultPath>,
    /// What could not be read: folders and files that are links out of the vault, or closed to us.
    pub(crate) not_read: Vec<VaultPath>,
    /// Files that Forklore's own unfinished work left behind.
    pub(crate) unfinished: Vec<VaultPath>,
    /// What other Forklores are about to do: files that they are making, changing or taking away.
    pub(crate) under_way: Vec<VaultPath>,
    /// The right to change the vault, if it was read to be changed.
    pub(crate) right: Option<Right>,
    /// Scans of large chats that are being written to the cache, by the chat's file.
    pub(crate) remembering: Mutex<HashMap<VaultPath, Remembering>>,
    /// The books that were asked for last, the newest first; also by the same vault with those who are gone.
    pub(crate) last_books: Arc<Mutex<VecDeque<Arc<Book>>>>,
    /// Whether a lorebook was asked for whose file could not be read.
    pub(crate) met_closed: Arc<AtomicBool>,
    /// What was found out about all this so far.
    pub(crate) memo: Memo,
    /// The observation that history ends with, for a library of the past.
    pub(crate) until: Option<u64>,
}

/// A scan that is being written to the cache; tells where it can be found.
pub(crate) type Remembering = std::thread::JoinHandle<Option<View>>;

/// So many books are kept, if all of them are not larger than this together: chats that are looked at one after the other share them. A large one
/// is kept alone.
const BOOKS: usize = 16;
const BYTES_OF_BOOKS: usize = 4 << 20;

impl Drop for Library {
    fn drop(&mut self) {
        let remembering = std::mem::take(self.remembering.get_mut().unwrap_or_else(PoisonError::into_inner));
        for thread in remembering.into_values() {
            // One that failed leaves no cache, which only costs time.
            let _failed = thread.join();
        }
    }
}

impl Library {
    /// The disk that the vault is on.
    pub fn fs(&self) -> &Arc<dyn Vfs> {
        &self.fs
    }

    /// One of the chats, or of those that are gone, which a state can tell of.
    pub fn chat(&self, chat: ChatIx) -> &Chat {
        if self.chats.len() <= chat.place() { &self.with_ghosts().chats[chat] } else { &self.chats[chat] }
    }

    /// All chats, each with what it is asked for by.
    pub fn chats(&self) -> impl DoubleEndedIterator<Item = (ChatIx, &Chat)> + ExactSizeIterator + Clone {
        ChatIx::each(&self.chats)
    }

    /// What all chats are asked for by.
    pub fn chat_ixs(&self) -> impl DoubleEndedIterator<Item = ChatIx> + ExactSizeIterator + Clone {
        ChatIx::all(self.chats.len())
    }

    /// The first chat that is so.
    pub fn find(&self, is: impl Fn(&Chat) -> bool) -> Option<(ChatIx, &Chat)> {
        self.chats().find(|(_, chat)| is(chat))
    }

    /// The chat that a file is.
    pub fn chat_at(&self, path: &VaultPath) -> Option<(ChatIx, &Chat)> {
        self.find(|chat| chat.path == *path)
    }

    /// One of the stories.
    pub fn story(&self, story: StoryIx) -> &Story {
        &self.stories[story]
    }

    /// Stories, characters first, sorted by name.
    pub fn stories(&self) -> impl ExactSizeIterator<Item = (StoryIx, &Story)> + Clone {
        self.stories.iter().enumerate().map(|(place, story)| (StoryIx::new(place), story))
    }

    /// Groups by id.
    pub fn groups(&self) -> &BTreeMap<String, Group> {
        &self.groups
    }

    /// Cards by file stem.
    pub fn cards(&self) -> &BTreeMap<String, Card> {
        &self.cards
    }

    /// The user's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Files of lorebooks, by stem.
    pub fn books(&self) -> &BTreeMap<String, VaultPath> {
        &self.books
    }

    /// What interrupted saves left behind.
    pub fn litter(&self) -> &[VaultPath] {
        &self.litter
    }

    /// What could not be read: folders and files that are links out of the vault, or closed to us.
    pub fn not_read(&self) -> &[VaultPath] {
        &self.not_read
    }

    /// Whether a chat or a lorebook could not be read: what was found out then is not kept, because a disk that works again makes no
    /// other file of it.
    pub fn met_closed(&self) -> bool {
        self.met_closed.load(Ordering::Relaxed) || self.chats.iter().any(|chat| chat.unreadable.is_some())
    }

    /// Whether a file is in a folder that cannot be read: nobody knows whether it is there.
    pub(crate) fn is_in_closed(&self, file: &VaultPath) -> bool {
        self.not_read.iter().any(|closed| file.parent() == *closed)
    }

    /// Files that Forklore's own unfinished work left behind.
    pub fn unfinished(&self) -> &[VaultPath] {
        &self.unfinished
    }

    /// What other Forklores are about to do: files that they are making, changing or taking away.
    pub fn under_way(&self) -> &[VaultPath] {
        &self.under_way
    }

    /// The observation that history ends with, for a library of the past.
    pub fn until(&self) -> Option<u64> {
        self.until
    }

    /// Files that tell whose a new book for a chat is, and who may read it: the chat's book, and the chat.
    pub fn models_of_book(&self, chat: ChatIx) -> Vec<VaultPath> {
        let chat = &self.chats[chat];
        let book = chat.book_stem().and_then(|stem| self.books.get(stem));
        book.into_iter().chain([&chat.path]).cloned().collect()
    }

    /// The bytes of one message; `None` if there is no such message.
    pub fn message_line(&self, chat: ChatIx, message: usize) -> Result<Option<Vec<u8>>, PathError> {
        let chat = &self.chats[chat];
        let Some(row) = chat.transcript.row(message) else { return Ok(None) };
        let file = self.fs.open(&chat.path)?;
        let line = file.read_range(row.start..row.start + u64::from(row.len));
        line.map(Some).map_err(|source| PathError { path: chat.path.clone(), doing: "read", source })
    }

    /// Looks at all messages of a chat from the `first` on, as they stand in its file. A chat can be larger than the memory: it is read in
    /// pieces.
    pub fn each_message(
        &self,
        chat: ChatIx,
        first: usize,
        mut look: impl FnMut(usize, &[u8]),
    ) -> Result<(), PathError> {
        /// How much is read at once, unless a message is longer
        const PIECE: u64 = 1 << 20;
        let chat = &self.chats[chat];
        // One that cannot be read has none.
        if chat.transcript.row(first).is_none() {
            return Ok(());
        }
        let file = self.fs.open(&chat.path)?;
        let end = |row: &Row| row.start + u64::from(row.len);
        let mut at = first;
        while let Some(start) = chat.transcript.row(at).map(|row| row.start) {
            let rows = (at..).map_while(|at| chat.transcript.row(at));
            let near = |row: &Row| start <= row.start && (row.start == start || end(row) <= start + PIECE);
            let rows: Vec<Row> = rows.take_while(near).collect();
            let last = rows.last().map_or(start, end);
            let failed = |source| PathError { path: chat.path.clone(), doing: "read", source };
            let bytes = file.read_range(start..last).map_err(failed)?;
            for row in rows {
                let place = |offset: u64| usize::try_from(offset - start).unwrap_or(usize::MAX);
                look(at, bytes.get(place(row.start)..place(end(&row))).unwrap_or_default());
                at += 1;
            }
        }
        Ok(())
    }

    /// The book that a header's name leads to; `None` if there is no such file. One that the system does not let us read is one that is
    /// damaged, so that it keeps nobody from looking at the rest.
    pub fn book(&self, name: &str) -> Result<Option<Arc<Book>>, PathError> {
        let closed = |why: &PathError| {
            self.met_closed.store(true, Ordering::Relaxed);
            let identity = self.fs.identity(&why.path).ok().flatten();
            Some(Arc::new(Book::closed(book_stem(name), identity, why)))
        };
        Ok(self.open_book(name).unwrap_or_else(|why| closed(&why)))
    }

    /// As [`Library::book`], for those who make something of its entries: one that the system does not let us read is an error, because
    /// what would be made of it is not what it holds.
    pub fn open_book(&self, name: &str) -> Result<Option<Arc<Book>>, PathError> {
        let stem = book_stem(name);
        let Some(path) = self.books.get(&stem) else { return Ok(None) };
        let last = || self.last_books.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = last().iter().find(|book| book.name() == stem) {
            return Ok(Some(book.clone()));
        }
        // Before the content: if the file changes in between, it is not taken for the one that was read.
        let identity = self.fs.identity(path)?;
        let Some(bytes) = self.fs.read(path)? else { return Ok(None) };
        let same = last().iter().find(|book| *book.bytes() == *bytes).cloned();
        let book = Arc::new(match same {
            Some(same) => same.same(stem.clone(), identity),
            None => Book::new(stem.clone(), bytes, identity),
        });
        let mut last = last();
        // Two at once read the same file: all get the one that came first.
        if let Some(book) = last.iter().find(|book| book.name() == stem) {
            return Ok(Some(book.clone()));
        }
        last.push_front(book.clone());
        last.truncate(BOOKS);
        while last.len() > 1 && last.iter().map(|book| book.bytes().len()).sum::<usize>() > BYTES_OF_BOOKS {
            last.pop_back();
        }
        Ok(Some(book))
    }

    /// Whether another chat has the same slug.
    pub fn has_twin(&self, chat: ChatIx) -> bool {
        let slug = self.chats[chat].slug();
        let others = ChatIx::each(&self.chats).filter(|(c, _)| *c != chat);
        slug.is_some() && { others }.any(|(_, other)| other.slug() == slug)
    }

    /// Slugs that several chats have, with those chats.
    pub fn duplicate_slugs(&self) -> Vec<Vec<ChatIx>> {
        let mut by_slug: HashMap<&str, Vec<ChatIx>> = HashMap::new();
        for (c, chat) in ChatIx::each(&self.chats) {
            if let Some(slug) = chat.slug() {
                by_slug.entry(slug).or_default().push(c);
            }
        }
        let mut several: Vec<Vec<ChatIx>> = by_slug.into_values().filter(|chats| chats.len() > 1).collect();
        several.sort();
        several
    }
}
