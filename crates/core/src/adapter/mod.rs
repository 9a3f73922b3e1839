//! [`Adapter`]: what knows one memory extension. Auto-Recap is the first, MemoryBooks the second; none is the generic rule.
//!
//! An adapter is pure: it reads what an extension left in messages, headers, books and settings and puts it into Forklore's own words,
//! and it knows what of that has to change with a fork, a new name or a deletion. It decides nothing; [`crate::state`] and
//! [`crate::check`] do. The words, which belong to no extension:
//!
//! * [`Scene`], [`SceneSighting`], [`Written`]; [`EntryRole`], [`Mark`], [`BookCopy`]; [`Operation`], [`Work`];
//! * [`recap`]: running and combined recaps; [`registry`]: entries that list entries;
//! * [`bindings`]: the books that a header binds a chat to;
//! * [`own`]: what Forklore's own memory writes; [`notes`]: what a header says of a fork; [`places`]: where chats and books are named; [`settings`]: what is kept by chat.
//!
//! Names, keys and syntax of an extension stand in its adapter and nowhere else; the others ask [`ALL`] or a book's [`Keepers`].

pub mod auto_recap;
pub mod bindings;
mod entry;
pub mod memory_books;
pub mod notes;
pub mod own;
pub mod places;
mod queue;
pub mod recap;
pub mod registry;
mod scene;
pub mod settings;

pub use entry::{BookCopy, EntryRole, Mark};
pub use queue::{Operation, Requeued, Status, Work};
pub use scene::{Noted, Scene, SceneSighting, SceneVersion, Written};

use forklore_json::Raw;

use self::notes::{BoundBook, CheckpointState, Waiting};
use self::own::OwnFormat;
use self::places::{Path, Places};
use self::recap::{CombinedRecap, Projection, RunningRecap, StoredVersion};
use self::registry::{IndexRecord, RegistryLine};
use crate::format::book::{Book, EntryImage};
use crate::format::chat::{Header, Message};
use crate::format::revision::Revision;

/// All adapters, in the order in which they are asked.
pub const ALL: [&dyn Adapter; 2] = [&auto_recap::AutoRecap, &memory_books::MemoryBooks];

/// The one in whose formats Forklore's own memory is written.
pub const OWN: &dyn OwnFormat = &auto_recap::AutoRecap;

/// What Forklore asks of a memory extension's data. Every answer but the first two has a default: an extension that keeps no queue has
/// none.
pub trait Adapter: Sync {
    /// The extension's name, as its users know it.
    fn name(&self) -> &'static str;

    // Books and their entries.

    /// Whether only this extension can have written an entry.
    fn wrote(&self, comment: &str, entry: Raw<'_>) -> bool;

    /// Whether there is anything about an entry that this extension has put there.
    fn touched(&self, comment: &str, entry: Raw<'_>) -> bool {
        self.wrote(comment, entry)
    }

    /// Whether the extension keeps this book, so that sharing it between forks corrupts it.
    fn keeps(&self, book: &Book<'_>) -> bool {
        book.entries().iter().any(|entry| self.wrote(&entry.comment(), entry.raw))
    }

    /// Whether the extension keeps a book with these entries.
    fn kept(&self, entries: &[EntryImage]) -> bool {
        entries.iter().any(|entry| self.wrote(&entry.comment, entry.raw()))
    }

    /// What an entry with this title is to the extension.
    fn entry_role(&self, _comment: &str) -> EntryRole {
        EntryRole::Fact
    }

    /// What an entry of a book with these entries went through, as far as it tells itself, the oldest first: its states, each with where
    /// in the story it was made. The last one is the entry as it stands.
    fn layers(&self, entry: &EntryImage, _all: &[EntryImage]) -> Vec<(Option<Mark>, EntryImage)> {
        vec![(None, entry.clone())]
    }

    /// What an entry is about, where that never changes: two entries that are about different things are not the same one, whatever their
    /// numbers and titles.
    fn subject(&self, _entry: &EntryImage) -> Option<(i64, i64)> {
        None
    }

    /// What an entry is made by again and again, where that tells it from all others: what is made by something else is another one.
    fn template(&self, _entry: &EntryImage) -> Option<String> {
        None
    }

    /// Whether the title of an entry looks as the extension makes titles.
    fn titled(&self, _entry: &EntryImage) -> bool {
        false
    }

    /// The number that the extension gave an entry in its title. A book has no two of a number.
    fn number(&self, _entry: &EntryImage) -> Option<u64> {
        None
    }

    /// The number of the entry that sums this one up, and has switched it off for that.
    fn summed_up_by(&self, _entry: &EntryImage) -> Option<i64> {
        None
    }

    /// The chat that an entry says it belongs to.
    fn chat_of(&self, _entry: &EntryImage) -> Option<String> {
        None
    }

    /// An entry as it is to be in the book of another chat: if it says whose it is, it says that it is that chat's.
    fn hand_over(&self, entry: &EntryImage, _chat: &str) -> EntryImage {
        entry.clone()
    }

    /// An entry without what tells from which messages its text was written.
    fn without_mark(&self, entry: &EntryImage) -> EntryImage {
        entry.clone()
    }

    /// An entry as another line takes it over: it does not say any more which messages it is about, for those are not that line's.
    fn taken_over(&self, entry: &EntryImage) -> EntryImage {
        self.without_mark(entry)
    }

    /// The text of an entry of the book `world` as SillyTavern sees it while the extension is installed, if it puts anything around it.
    fn wrapped(&self, _content: &[u16], _entry: Raw<'_>, _world: &str) -> Option<Vec<u16>> {
        None
    }

    /// The template by which the extension names a chat's book, with `{{char}}` and `{{chat}}`, if it has one.
    fn book_template(&self) -> Option<&'static str> {
        None
    }

    /// The book that the extension made for a chat, as a header's metadata tell, and when, in milliseconds since 1970.
    fn made(&self, _metadata: Raw<'_>) -> Option<(String, i64)> {
        None
    }

    /// The books that a chat's book was copied from when the chat was made.
    fn copies(&self, _header: Header<'_>) -> Vec<BookCopy> {
        Vec::new()
    }

    // Scenes and recaps.

    /// The scene that ends with this message, and the states of the whole book that it has kept.
    fn scene(&self, _message: Message<'_>) -> Option<(Scene, Vec<SceneSighting>)> {
        None
    }

    /// Whether it notes with messages what is in lorebooks.
    fn takes_notes(&self) -> bool {
        false
    }

    /// What was noted of lorebooks with a message, when it was answered.
    fn noted(&self, _message: Message<'_>) -> Vec<Noted> {
        Vec::new()
    }

    /// The recap of that scene in its chosen version, as people read it.
    fn recap_text(&self, _message: Message<'_>) -> Option<String> {
        None
    }

    /// The same as it is stored, a JSON text.
    fn stored_recap<'a>(&self, _message: Message<'a>) -> Option<Raw<'a>> {
        None
    }

    /// What the extension notes of a text to know it again, as in [`recap::RecapVersion::events`].
    fn text_hash(&self, _text: &str) -> Option<String> {
        None
    }

    /// Whether an entry with this title is one that the extension makes when a scene is done, after it has kept the state of the book.
    fn made_afterwards(&self, _comment: &str) -> bool {
        false
    }

    /// The last message of a chat that is in a memory, as the extension notes it; also if that memory was deleted since.
    fn reached(&self, _header: Header<'_>) -> Option<i64> {
        None
    }

    /// The keys of `chat_metadata` under which a running recap is, by all of its names: [`Adapter::running`] looks nowhere else.
    fn running_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// The running recap in `chat_metadata`.
    fn running(&self, _metadata: Raw<'_>) -> Option<RunningRecap> {
        None
    }

    /// The same without its texts, which take longer to read than all the rest.
    fn running_outline(&self, metadata: Raw<'_>) -> Option<RunningRecap> {
        self.running(metadata).map(RunningRecap::without_texts)
    }

    /// Its versions where they stand, in the same order.
    fn versions<'a>(&self, _metadata: Raw<'a>) -> Vec<StoredVersion<'a>> {
        Vec::new()
    }

    /// What of it becomes a chat's of this name that has a part of its versions; and the others as they stood, to be archived.
    fn project_running(
        &self,
        _metadata: Raw<'_>,
        _projection: &Projection,
        _chat: &str,
    ) -> (Vec<Revision>, Vec<Vec<u8>>) {
        (Vec::new(), Vec::new())
    }

    /// A running recap for a chat that has lost its own: these versions, of which the one with this number is in use.
    fn put_running(
        &self,
        _metadata: Raw<'_>,
        _versions: &[Vec<u8>],
        _current: i64,
        _chat: &str,
    ) -> Vec<Revision> {
        Vec::new()
    }

    /// A version of a running recap under another number, as one that goes up to the scene that ends with another message.
    fn move_version(&self, _version: Raw<'_>, _number: i64, _scene: Option<usize>) -> Option<Vec<u8>> {
        None
    }

    /// The combined recap in `chat_metadata`.
    fn combined(&self, _metadata: Raw<'_>) -> Option<CombinedRecap> {
        None
    }

    /// The same where it stands, also if it cannot be read.
    fn stored_combined<'a>(&self, _metadata: Raw<'a>) -> Option<Raw<'a>> {
        None
    }

    /// The combined recap of a chat of this name: `fitting` is the one that fits, as it was stored.
    fn put_combined(&self, _metadata: Raw<'_>, _fitting: Option<&[u8]>, _chat: &str) -> Vec<Revision> {
        Vec::new()
    }

    // Registries.

    /// The type that a registry lists, from its text.
    fn registry_kind<'a>(&self, _content: &'a str) -> Option<&'a str> {
        None
    }

    /// The type that a registry lists, from its title.
    fn registry_title<'a>(&self, _comment: &'a str) -> Option<&'a str> {
        None
    }

    /// One line of a registry.
    fn registry_line(&self, _text: &str) -> Option<RegistryLine> {
        None
    }

    /// The same line for an entry that has another number now.
    fn renumber_line(&self, _text: &str, _uid: i64) -> Option<String> {
        None
    }

    /// The working index of the registries in `chat_metadata`.
    fn index(&self, _metadata: Raw<'_>) -> Vec<IndexRecord> {
        Vec::new()
    }

    /// That index as the registries among these entries tell it, if there is one.
    fn reindex(&self, _metadata: Raw<'_>, _entries: &[EntryImage]) -> Vec<Revision> {
        Vec::new()
    }

    // The queue.

    /// What the extension's queue, an entry of the book itself, says is being written.
    fn work(&self, _queue: &EntryImage) -> Vec<Work> {
        Vec::new()
    }

    /// Work that waits or runs for this chat.
    fn operations(&self, _header: Header<'_>, _book: Option<&Book<'_>>) -> Vec<Operation> {
        Vec::new()
    }

    /// The text of a queue entry, in WTF-8, with no operations in it; `None` if it has none already.
    fn emptied(&self, _queue: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// A queue's text with archived work put back into it, for a chat that ends with message `head` and has this book; nothing of it
    /// runs before somebody says so. `archived` is the text of a queue entry, or what the record keeps instead of one.
    fn requeued(&self, _queue: &[u8], _archived: Raw<'_>, _head: usize, _book: &str) -> Option<Requeued> {
        None
    }

    /// What puts archived work back into a chat's metadata, if that is where it was; `name` is what the record keeps it under.
    fn put_waiting(&self, _metadata: Raw<'_>, _name: &str, _archived: Raw<'_>) -> Vec<Revision> {
        Vec::new()
    }

    // What a fork, a new name and a deletion change.

    /// Keys of `chat_metadata` that other answers of this adapter take care of one by one.
    fn handled(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the extension's notes in a chat's metadata become for a chat that ends with message `at` and has a book with these entries.
    fn revisions(&self, _metadata: Raw<'_>, _entries: &[EntryImage], _at: usize) -> Vec<Revision> {
        Vec::new()
    }

    /// Work that waits in a chat's metadata.
    fn waiting(&self, _metadata: Raw<'_>) -> Waiting {
        Waiting::default()
    }

    /// What its notes become for a chat that is bound to another book, or to none.
    fn bind(&self, _metadata: Raw<'_>, _book: Option<BoundBook<'_>>) -> Vec<Revision> {
        Vec::new()
    }

    /// What corrects its notes if they name another book than the one that the chat is bound to.
    fn correct_book(&self, _metadata: Raw<'_>, _book: &str) -> Vec<Revision> {
        Vec::new()
    }

    /// What is noted in a fork's metadata, which is `metadata` so far, for the extension to find when it is entered.
    fn checkpoint(&self, _state: &CheckpointState<'_>, _metadata: Raw<'_>) -> Vec<Revision> {
        Vec::new()
    }

    /// The title of the scene that a fork was made at, as that note has it.
    fn checkpoint_scene(&self, _metadata: Raw<'_>) -> Option<String> {
        None
    }

    /// Where its data names chats and books.
    fn places(&self) -> Places {
        Places::default()
    }

    /// Where, below `extension_settings`, the extension keeps objects whose keys are names of chats.
    fn chat_settings(&self) -> &'static [Path] {
        &[]
    }

    /// Where, below `extension_settings`, users have a template of their own for the names of books.
    fn template_setting(&self) -> Option<Path> {
        None
    }

    // Words for people.

    /// Where its users choose another version of the running recap.
    fn selector(&self) -> String {
        self.name().to_owned()
    }

    /// How it comes to lose a running recap, as a sentence, if it is known to.
    fn loses_recaps(&self) -> Option<String> {
        None
    }
}

/// The extensions that write into one book, in the order in which they are asked: each tells of its own entries.
#[derive(Clone, Default)]
pub struct Keepers(Vec<&'static dyn Adapter>);

impl Keepers {
    /// Those of all adapters that `keep` it.
    pub fn new(keep: impl Fn(&dyn Adapter) -> bool) -> Self {
        Self(ALL.into_iter().filter(|adapter| keep(*adapter)).collect())
    }

    /// These, whoever they are.
    pub fn of(adapters: Vec<&'static dyn Adapter>) -> Self {
        Self(adapters)
    }

    /// Whether nobody but people writes into it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether several write into it: what one keeps of it has nothing of what the other marks.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// See [`Adapter::takes_notes`].
    pub fn take_notes(&self) -> bool {
        self.0.iter().any(|adapter| adapter.takes_notes())
    }

    /// See [`Adapter::layers`].
    pub fn layers(&self, entry: &EntryImage, all: &[EntryImage]) -> Vec<(Option<Mark>, EntryImage)> {
        let tells = |layers: &Vec<(Option<Mark>, EntryImage)>| layers.iter().any(|(mark, _)| mark.is_some());
        let told = self.0.iter().map(|adapter| adapter.layers(entry, all)).find(tells);
        told.unwrap_or_else(|| vec![(None, entry.clone())])
    }

    /// See [`Adapter::subject`].
    pub fn subject(&self, entry: &EntryImage) -> Option<(i64, i64)> {
        self.0.iter().find_map(|adapter| adapter.subject(entry))
    }

    /// See [`Adapter::made_afterwards`].
    pub fn made_afterwards(&self, comment: &str) -> bool {
        self.0.iter().any(|adapter| adapter.made_afterwards(comment))
    }

    /// See [`Adapter::titled`].
    pub fn titled(&self, entry: &EntryImage) -> bool {
        self.0.iter().any(|adapter| adapter.titled(entry))
    }

    /// See [`Adapter::number`].
    pub fn number(&self, entry: &EntryImage) -> Option<u64> {
        self.0.iter().find_map(|adapter| adapter.number(entry))
    }

    /// See [`Adapter::summed_up_by`].
    pub fn summed_up_by(&self, entry: &EntryImage) -> Option<i64> {
        self.0.iter().find_map(|adapter| adapter.summed_up_by(entry))
    }

    /// See [`Adapter::chat_of`].
    pub fn chat_of(&self, entry: &EntryImage) -> Option<String> {
        self.0.iter().find_map(|adapter| adapter.chat_of(entry))
    }

    /// See [`Adapter::hand_over`].
    #[must_use]
    pub fn hand_over(&self, entry: &EntryImage, chat: &str) -> EntryImage {
        self.0.iter().fold(entry.clone(), |entry, adapter| adapter.hand_over(&entry, chat))
    }

    /// See [`Adapter::taken_over`].
    #[must_use]
    pub fn taken_over(&self, entry: &EntryImage) -> EntryImage {
        self.0.iter().fold(entry.clone(), |entry, adapter| adapter.taken_over(&entry))
    }

    /// See [`Adapter::without_mark`].
    #[must_use]
    pub fn without_mark(&self, entry: &EntryImage) -> EntryImage {
        self.0.iter().fold(entry.clone(), |entry, adapter| adapter.without_mark(&entry))
    }

    /// See [`Adapter::reached`].
    pub fn reached(&self, header: Header<'_>) -> Option<i64> {
        self.0.iter().find_map(|adapter| adapter.reached(header))
    }
}

/// The adapter that keeps a book, if any does.
pub fn keeper(book: &Book<'_>) -> Option<&'static dyn Adapter> {
    ALL.into_iter().find(|adapter| adapter.keeps(book))
}

/// The adapter of the extension that made the scene which ends with a message.
pub fn scene_keeper(message: Message<'_>) -> Option<&'static dyn Adapter> {
    ALL.into_iter().find(|adapter| adapter.scene(message).is_some())
}

/// The scene that ends with a message, and the states of the whole book that it has kept, for whichever extension made it.
pub fn scene(message: Message<'_>) -> Option<(Scene, Vec<SceneSighting>)> {
    ALL.iter().find_map(|adapter| adapter.scene(message))
}

/// What any extension noted of lorebooks with a message, when it was answered.
pub fn noted(message: Message<'_>) -> Vec<Noted> {
    ALL.iter().flat_map(|adapter| adapter.noted(message)).collect()
}

/// What an entry with this title is to any extension.
pub fn entry_role(comment: &str) -> EntryRole {
    ALL.iter()
        .map(|adapter| adapter.entry_role(comment))
        .find(|role| *role != EntryRole::Fact)
        .unwrap_or_default()
}

/// What an entry is made by again and again, see [`Adapter::template`].
pub fn template(entry: &EntryImage) -> Option<String> {
    ALL.iter().find_map(|adapter| adapter.template(entry))
}

/// The adapter of the extension whose queue an entry with this title is.
pub fn queue_keeper(comment: &str) -> Option<&'static dyn Adapter> {
    ALL.into_iter().find(|adapter| adapter.entry_role(comment) == EntryRole::Queue)
}

/// The books that extensions made for a chat, as a header's metadata tell, and when, in milliseconds since 1970.
pub fn made(metadata: Raw<'_>) -> impl Iterator<Item = (String, i64)> {
    ALL.iter().filter_map(move |adapter| adapter.made(metadata))
}

/// The books that a chat's book was copied from when the chat was made, for whichever extension did it.
pub fn copies(header: Header<'_>) -> Vec<BookCopy> {
    ALL.iter().flat_map(|adapter| adapter.copies(header)).collect()
}

/// What a queue that is kept as an entry of the book says is being written, for whichever extension keeps it.
pub fn work(queue: &EntryImage) -> Vec<Work> {
    ALL.iter().flat_map(|adapter| adapter.work(queue)).collect()
}
