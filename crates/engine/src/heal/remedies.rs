//! What one chat needs: a [`ChatToHeal`] is looked at, and gets a [`Remedies`].

use forklore_config::Config;
use forklore_core::adapter::{self, recap};
use forklore_core::check::{Code, Finding, Severity};
use forklore_core::fork::book::{Content, assemble};
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::format::names::chat_stem;
use forklore_core::format::record::{self, Uncertain};
use forklore_core::format::revision::Revision;
use forklore_core::story::lineage::{Kind, ParentNote};
use forklore_fs::VaultPath;
use forklore_journal::operation::Edit;
use forklore_json::Kind as JsonKind;
use forklore_vault::{Chat, ChatIx, Library};

use super::links::renamed_links;
use super::own_book::{Own, choices, has_holes, own_book, own_copy, to_copy};
use super::{Action, Choice, Decide, HealError, Quarantined, Question};
use crate::header::{Binding, Revised, revise};
use crate::memory::{MemoryRecord, put_back};

/// What one chat gets.
#[derive(Default)]
pub(super) struct Remedies {
    /// A fresh slug, if anything but its record changes
    pub(super) slug: Option<String>,
    /// A new book: file, name, content
    pub(super) book: Option<(VaultPath, String, Vec<u8>)>,
    /// Entries in that book that nothing dates
    pub(super) undated: Vec<Uncertain>,
    /// The book that it is bound to from now on, if that changes
    pub(super) binding: Option<Option<String>>,
    pub(super) actions: Vec<Action>,
    /// What is told of the entries that are put aside
    pub(super) quarantined: Vec<Quarantined>,
    /// Whether that book is also its parent's, by choice
    pub(super) shared: bool,
    pub(super) revised: Revised,
    /// What its memory is told of a book that was chosen as it is
    pub(super) memory: Option<MemoryRecord>,
    /// Whether it gets a record
    pub(super) adopt: bool,
    pub(super) main_chat: Option<String>,
    pub(super) links: Vec<Edit>,
    /// Entries that are put aside, whole
    pub(super) quarantine: Vec<Vec<u8>>,
    /// Codes of findings that are accepted as they are
    pub(super) accepted: Vec<String>,
}

impl Remedies {
    fn is_nothing(&self) -> bool {
        self.revised.revisions.is_empty()
            && self.binding.is_none()
            && !self.adopt
            && self.main_chat.is_none()
            && self.links.is_empty()
    }
}

/// Codes that mean that a chat must not go on with the book it is bound to.
const WRONG_BOOK: [Code; 5] =
    [Code::BookMissing, Code::BookForeign, Code::BookShared, Code::EntryFromFuture, Code::EntryForeign];

/// A chat, and who decides about it.
pub(super) struct ChatToHeal<'a> {
    pub(super) library: &'a Library,
    pub(super) c: ChatIx,
    pub(super) address: String,
    pub(super) findings: Vec<&'a Finding>,
    pub(super) config: &'a Config,
    pub(super) decide: &'a Decide<'a>,
    /// Names of books that others get in the same operation
    pub(super) names: &'a [String],
    /// Whether this chat was named: then it can also get what nobody is given unasked
    pub(super) named: bool,
}

/// What was decided about the book of a chat.
struct Remedy {
    choice: Choice,
    /// The book as the chat has it, or had it
    book: String,
    /// The findings that it answers
    codes: Vec<Code>,
    /// Whether nothing must be done, and a copy is one of the chat's own book
    wanted: bool,
}

/// The book that the metadata is to go with.
#[derive(Default)]
struct Bound {
    /// A book of its own: name and entries
    own: Option<(String, Vec<EntryImage>)>,
    /// No book any more
    unbound: bool,
    /// Its parent's book, by choice
    shared: Option<String>,
}

impl ChatToHeal<'_> {
    /// What the chat needs; nothing if it is well, or cannot be changed.
    pub(super) fn remedies(&self) -> Result<Option<Remedies>, HealError> {
        let header = self.chat().header();
        if self.chat().unreadable().is_some()
            || header.raw().kind() != JsonKind::Object
            || record::is_newer(header.metadata())
        {
            return Ok(None);
        }
        let mut remedies = Remedies::default();
        let bound = match self.remedy()? {
            Some(remedy) => self.bind(&remedy, &mut remedies)?,
            None => Bound::default(),
        };
        self.adopt(&mut remedies);
        self.revise(&bound, &mut remedies)?;
        self.give_identity(&mut remedies);
        self.follow_renames(&mut remedies);
        // A tab that has the chat open must not bring the old state back silently: with another slug SillyTavern asks it to reload.
        if remedies.binding.is_some() || !remedies.revised.revisions.is_empty() {
            remedies.slug.get_or_insert_with(crate::fresh_slug);
        }
        Ok((!remedies.is_nothing()).then_some(remedies))
    }

    fn chat(&self) -> &Chat {
        self.library.chat(self.c)
    }

    fn has(&self, code: Code) -> bool {
        self.findings.iter().any(|finding| finding.code == code)
    }

    /// What a finding says.
    fn text(&self, code: Code) -> String {
        let finding = self.findings.iter().find(|finding| finding.code == code);
        finding.map(|finding| finding.message.clone()).unwrap_or_default()
    }

    fn did(&self, remedies: &mut Remedies, code: Code, book: Option<&str>, did: &str) {
        let (chat, book) = (self.address.clone(), book.map(str::to_owned));
        remedies.actions.push(Action { code, chat, book, did: did.to_owned() });
    }

    fn ask(&self, code: Code, book: &str, text: String, choices: Vec<Choice>, first: bool) -> Option<Choice> {
        let (chat, book) = (self.address.clone(), book.to_owned());
        let wanted = choices.first() == Some(&Choice::Copy);
        let copied = if wanted { Some(&*book) } else { to_copy(self.library, self.c) };
        let copy_of = copied.filter(|_| choices.contains(&Choice::Copy)).map(str::to_owned);
        (self.decide)(&Question { code, chat, book, text, choices, copy_of, ask_first: first })
    }

    /// What becomes of the book, if something has to, or somebody wants it.
    fn remedy(&self) -> Result<Option<Remedy>, HealError> {
        let (library, chat) = (self.library, self.chat());
        let error =
            |code: &Code| self.findings.iter().any(|f| f.code == *code && f.severity == Severity::Error);
        let mut codes: Vec<Code> = WRONG_BOOK.into_iter().filter(error).collect();
        if has_holes(library, self.c)? {
            codes.push(Code::BookDamaged);
        }
        if let (Some(code), Some((book, stem))) = (codes.first().copied(), chat.book()) {
            // A fork that shares may get its own unasked; a chat that leaves a book which was made for it may not.
            let owner = library.owner_of(stem) == Some(self.c) || library.users_of(stem).len() < 2;
            let ask_first = owner && !matches!(code, Code::BookMissing | Code::BookForeign);
            let (mut text, mut choices) = (self.text(code), choices(library, self.c));
            if code == Code::BookMissing
                && let Some(now) = library.renamed_book(stem, self.c)?
            {
                text = format!("{text} It seems to be called \"{now}\" now.");
                choices.insert(0, Choice::Follow);
            }
            let choice = self.ask(code, book, text, choices, ask_first);
            return Ok(choice.map(|choice| Remedy { choice, book: book.to_owned(), codes, wanted: false }));
        }
        if let Some(pending) = record::Pending::read(chat.header().metadata()) {
            let (code, book) = (Code::PendingFork, pending.book.unwrap_or_default());
            let choice = self.ask(code, &book, self.text(code), choices(library, self.c), false);
            codes.push(code);
            return Ok(choice.map(|choice| Remedy { choice, book, codes, wanted: false }));
        }
        // A book that is kept by hand may be shared, and one that a chat of another story writes, too, is that one's affair as well.
        // Whoever wants his own for this chat says so.
        if let Some((book, stem)) = chat.book().filter(|_| self.named)
            && library.users_of(stem).len() > 1
            && library.books().contains_key(stem)
        {
            let by_hand = format!("Other chats use the lorebook \"{book}\", too, which is kept by hand.");
            let (code, text) = match library.is_machine_kept(stem)? {
                false => (Code::BookSharedByChoice, by_hand),
                true if self.has(Code::BookShared) => (Code::BookShared, self.text(Code::BookShared)),
                true => return Ok(None),
            };
            let choices = vec![Choice::Copy, Choice::Empty, Choice::Detach];
            let choice = self.ask(code, book, text, choices, true).filter(|choice| *choice != Choice::Accept);
            let (book, codes) = (book.to_owned(), vec![code]);
            return Ok(choice.map(|choice| Remedy { choice, book, codes, wanted: true }));
        }
        Ok(None)
    }

    /// Works out the book that was decided on.
    fn bind(&self, remedy: &Remedy, remedies: &mut Remedies) -> Result<Bound, HealError> {
        let (library, c) = (self.library, self.c);
        let mut bound = Bound::default();
        let own = match remedy.choice {
            Choice::Rebuild | Choice::Copy if remedy.wanted => own_copy(library, c, self.names)?,
            choice => own_book(library, c, choice, &remedy.book, self.config, self.names)?,
        };
        match own {
            Own::Book { name, path, bytes, quarantine, undated, how } => {
                let mut images = Book::parse(&bytes).map(|book| book.images()).unwrap_or_default();
                let bytes = match remedy.choice {
                    Choice::Copy => self.chosen(&name, bytes, &mut images, remedies),
                    _ => bytes,
                };
                let entries = match images.len() {
                    1 => "1 entry".to_owned(),
                    n => format!("{n} entries"),
                };
                for code in &remedy.codes {
                    self.did(remedies, *code, Some(&name), &format!("{how}: {entries}"));
                }
                self.put_aside(quarantine, &remedy.book, remedies);
                remedies.binding = Some(Some(name.clone()));
                remedies.book = Some((path, name.clone(), bytes));
                remedies.undated = undated;
                bound.own = Some((name, images));
            }
            Own::Rebind { name, how } => {
                let images = library.open_book(&name)?.map(|book| book.images()).unwrap_or_default();
                let code = match remedy.choice {
                    Choice::Follow => Code::BookMissing,
                    _ => Code::BookForeign,
                };
                self.did(remedies, code, Some(&name), how);
                remedies.binding = Some(Some(name.clone()));
                bound.own = Some((name, images));
            }
            Own::Shared { name } => {
                self.did(remedies, Code::PendingFork, Some(&name), "goes on using its parent's lorebook");
                remedies.binding = Some(Some(name.clone()));
                remedies.shared = true;
                bound.shared = Some(name);
            }
            Own::Detach { how } => {
                for code in &remedy.codes {
                    self.did(remedies, *code, None, how);
                }
                remedies.binding = Some(None);
                bound.unbound = true;
            }
            Own::Accept => {
                for code in &remedy.codes {
                    self.did(remedies, *code, Some(&remedy.book), "accepted as it is");
                    remedies.accepted.push(code.as_str().to_owned());
                }
            }
            Own::Impossible => {}
        }
        Ok(bound)
    }

    /// A book that somebody has chosen as it is stays so, where memory is kept: that is told, and computes nothing over it.
    fn chosen(
        &self,
        name: &str,
        bytes: Vec<u8>,
        images: &mut [EntryImage],
        remedies: &mut Remedies,
    ) -> Vec<u8> {
        let (library, c) = (self.library, self.c);
        let from = self.chat().lineage().parent.unwrap_or(c);
        remedies.memory = put_back(library, c, (from, library.chat(from).head()), &[], images);
        match Book::parse(&bytes) {
            Ok(over) if remedies.memory.is_some() => {
                assemble(Content::Entries { over: Some(&over), entries: images }, name)
            }
            _ => bytes,
        }
    }

    /// Entries that nobody can attribute stay where they are, and in the record of the chat.
    fn put_aside(&self, entries: Vec<EntryImage>, book: &str, remedies: &mut Remedies) {
        for entry in entries {
            remedies.quarantined.push(Quarantined {
                chat: self.address.clone(),
                book: book.to_owned(),
                uid: entry.uid,
                comment: entry.comment.to_string(),
            });
            // Books are laid out in many lines; the record lies in the chat's first one.
            remedies.quarantine.push(forklore_json::compact(entry.raw()));
        }
    }

    /// Whether it gets a record.
    fn adopt(&self, remedies: &mut Remedies) {
        let chat = self.chat();
        let same_book = remedies.binding.is_none();
        // A copy has no record to be wrong without; it gets one where it is given a book, so that the book is known to be its own.
        let adoptable = chat.lineage().is_fork() || (chat.lineage().kind == Kind::Copy && !same_book);
        let undecided = same_book && remedies.accepted.is_empty();
        // A fork that waits for its book goes on waiting until something is done about that.
        let waits = undecided && record::is_pending(chat.header().metadata());
        remedies.adopt = adoptable && !waits && (chat.record().is_none() || !undecided);
        if remedies.adopt && self.has(Code::UnrecordedFork) {
            self.did(remedies, Code::UnrecordedFork, None, "adopted: its lineage is recorded now");
        }
    }

    /// Metadata that goes with the book, and recaps that are the chat's own.
    fn revise(&self, bound: &Bound, remedies: &mut Remedies) -> Result<(), HealError> {
        let (library, c, chat) = (self.library, self.c, self.chat());
        let same_book = remedies.binding.is_none();
        let recap = [Code::RecapFromFuture, Code::RecapForeign, Code::RecapVersionMissing];
        let recap = recap.into_iter().any(|code| self.has(code));
        let stale = self.has(Code::RegistryIndexStale);
        if same_book && !recap && !stale && !remedies.adopt {
            return Ok(());
        }
        let binding = match &bound.own {
            Some((name, entries)) => Binding::Own { name, entries },
            None if bound.unbound => Binding::Unbound,
            None => Binding::Same,
        };
        remedies.revised = revise(library, c, chat.head(), chat.name(), &binding, false)?;
        let revisions = &mut remedies.revised.revisions;
        if let Some(name) = &bound.shared {
            let places = library.places_of_book(c);
            revisions.extend(places.into_iter().map(|place| Revision::text(place, name)));
        }
        // Extensions that make forks leave the parent's name behind; the binding is what counts.
        let metadata = chat.header().metadata();
        if let (true, Some((name, _))) = (same_book, chat.book()) {
            revisions.extend(adapter::ALL.iter().flat_map(|adapter| adapter.correct_book(metadata, name)));
        }
        if same_book && stale {
            let entries = chat.book().map(|(name, _)| library.book(name)).transpose()?.flatten();
            let entries = entries.map(|book| book.images()).unwrap_or_default();
            revisions.extend(adapter::ALL.iter().flat_map(|adapter| adapter.reindex(metadata, &entries)));
        }
        if stale && (same_book || bound.own.is_some()) {
            self.did(remedies, Code::RegistryIndexStale, None, "index made anew from its registries");
        }
        self.tell_of_recaps(remedies);
        if self.has(Code::QueueForeign) && bound.own.is_some() {
            self.did(remedies, Code::QueueForeign, None, "the new lorebook's queue is empty");
        }
        Ok(())
    }

    /// What became of versions that are not the chat's own, and of one in use that cannot be.
    fn tell_of_recaps(&self, remedies: &mut Remedies) {
        let (Some((known, projection)), Some(own)) = (&remedies.revised.running, self.chat().running())
        else {
            return self.tell_of_the_combined(remedies);
        };
        let back = known.found.as_ref().map(|from| format!("the running recap is back, {from}"));
        let dropped = match projection.dropped.len() {
            0 => None,
            1 => Some("1 version of the running recap put aside".to_owned()),
            n => Some(format!("{n} versions of the running recap put aside")),
        };
        let current = projection.current.map(|place| known.running.versions[place].version);
        let other = current.filter(|current| back.is_none() && own.current != Some(*current));
        if let Some(dropped) = dropped {
            for code in [Code::RecapFromFuture, Code::RecapForeign] {
                if self.has(code) {
                    self.did(remedies, code, None, &dropped);
                }
            }
        } else if let Some(version) = other.filter(|_| self.has(Code::RecapVersionMissing)) {
            let did =
                format!("version {version} of the running recap is in use, the last one that has a text");
            self.did(remedies, Code::RecapVersionMissing, None, &did);
        }
        if let Some(back) = back.filter(|_| self.has(Code::RecapVersionMissing)) {
            self.did(remedies, Code::RecapVersionMissing, None, &back);
        }
        self.tell_of_the_combined(remedies);
    }

    fn tell_of_the_combined(&self, remedies: &mut Remedies) {
        let archived = remedies.revised.archive.iter().any(|(key, _)| *key == "combined");
        let chat = self.library.chat(self.c);
        let has_later =
            recap::combined(chat.header().metadata()).is_some_and(|recap| !recap.fits(chat.head()));
        if archived && has_later && self.has(Code::RecapFromFuture) {
            self.did(remedies, Code::RecapFromFuture, None, "a combined recap from the future put aside");
        } else if archived && self.has(Code::RecapForeign) {
            self.did(remedies, Code::RecapForeign, None, "a combined recap of another line put aside");
        }
    }

    /// Of several chats with one identity the one that it was made for keeps it.
    fn give_identity(&self, remedies: &mut Remedies) {
        let twin = remedies.adopt && self.library.has_twin(self.c);
        if twin && self.has(Code::SlugDuplicate) {
            self.did(remedies, Code::SlugDuplicate, None, "given an identity of its own");
        }
        let nameless = remedies.adopt && self.chat().header().slug().is_none();
        if twin || nameless {
            remedies.slug = Some(crate::fresh_slug());
        }
    }

    /// Names in the header and links in messages that lead to chats which go by another name now.
    fn follow_renames(&self, remedies: &mut Remedies) {
        let chat = self.chat();
        if let Some(ParentNote::Renamed(old)) = &chat.lineage().note
            && let Some(parent) = chat.lineage().parent
        {
            let now = self.library.chat(parent).name();
            if chat.main_chat().is_some_and(|name| chat_stem(name) == *old) {
                remedies.main_chat = Some(now.to_owned());
                let did = format!("says \"{now}\" now where it said \"{old}\"");
                self.did(remedies, Code::ParentRenamed, None, &did);
            }
        }
        remedies.links = renamed_links(self.library, self.c);
        for _ in 0..remedies.links.len() {
            self.did(remedies, Code::LinkDangling, None, "a link follows the fork that was renamed");
        }
    }
}
