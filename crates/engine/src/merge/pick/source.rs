//! [`Source`]: the chat, the moment and, if need be, the past that something is picked from; and how it is found there.

use forklore_core::adapter::recap::{self, StoredVersion};
use forklore_core::adapter::{self, Adapter, EntryRole, entry_role};
use forklore_core::format::book::EntryImage;
use forklore_core::format::revision::apply;
use forklore_fs::VaultPath;
use forklore_journal::object_path;
use forklore_journal::operation::FileId;
use forklore_journal::oplog::OpLog;
use forklore_json::{Raw, object};
use forklore_vault::address::AddressError;
use forklore_vault::history::Past;
use forklore_vault::history::past::{address_of, stem_of};
use forklore_vault::state::at::Wanted;
use forklore_vault::{Chat, ChatIx, Library};

use super::PickError;
use crate::blame::choose;
use crate::fork::ForkError;
use crate::restore::{RestoreError, When, until};

/// Where something is picked from.
pub(super) struct Source<'a> {
    held: Held<'a>,
    pub(super) chat: ChatIx,
    /// The message whose state counts
    pub(super) at: usize,
    /// Whether a message was asked for
    asked: bool,
    /// Where in history it is, if it is not what is there now
    pub(super) past: Option<Past>,
}

enum Held<'a> {
    Now(&'a Library),
    Then(Box<Library>),
}

impl<'a> Source<'a> {
    /// The chat that a user means, also one that was deleted, at some time.
    pub(super) fn find(library: &'a Library, wanted: &str, when: When) -> Result<Self, PickError> {
        let (file, here) = match library.find_chat(wanted) {
            Ok(c) => (library.chat(c).path().clone(), Some(c)),
            Err(missing @ AddressError::NoSuchChat { .. }) => {
                if let Some((then, c)) = trashed(library, wanted)?.filter(|_| !is_past(when)) {
                    return Self {
                        held: Held::Then(Box::new(then)),
                        chat: c,
                        at: 0,
                        asked: false,
                        past: None,
                    }
                    .placed(when);
                }
                let gone = library.find_gone(wanted).map_err(RestoreError::from)?;
                (gone.ok_or(missing)?, None)
            }
            Err(e) => return Err(e.into()),
        };
        let (held, chat, past) = match (here, when) {
            (Some(c), When::Last | When::Message(_)) => (Held::Now(library), c, None),
            _ => {
                let past = library.find_past(&file, until(library, when)?).map_err(RestoreError::from)?;
                let then = library.past(&past).map_err(RestoreError::from)?;
                let unknown = || AddressError::NoSuchChat { wanted: wanted.to_owned(), like: Vec::new() };
                let c = then.chat_at(&file).map(|(c, _)| c).ok_or_else(unknown)?;
                (Held::Then(Box::new(then)), c, Some(past))
            }
        };
        Self { held, chat, at: 0, asked: false, past }.placed(when)
    }

    /// The same at the message that is meant.
    fn placed(mut self, when: When) -> Result<Self, PickError> {
        let there = self.there();
        if let Some(why) = there.unreadable() {
            let chat = there.name().to_owned();
            return Err(RestoreError::from(ForkError::CorruptChat { chat, why: why.to_owned() }).into());
        }
        let (head, messages) = (there.head(), there.transcript().len());
        self.at = match when {
            When::Message(at) if at >= messages => {
                let chat = there.name().to_owned();
                return Err(RestoreError::from(ForkError::NoSuchMessage { at, chat, messages }).into());
            }
            When::Message(at) => at,
            _ => head,
        };
        self.asked = matches!(when, When::Message(_));
        Ok(self)
    }

    pub(super) fn library(&self) -> &Library {
        match &self.held {
            Held::Now(library) => library,
            Held::Then(library) => library,
        }
    }

    pub(super) fn there(&self) -> &Chat {
        self.library().chat(self.chat)
    }

    /// Whether it is this chat, or was.
    pub(super) fn is(&self, chat: &Chat) -> bool {
        self.there().path() == chat.path()
    }

    /// Files that must not change before it happens. The past does not change while we look at it.
    pub(super) fn guards(&self) -> Vec<(VaultPath, FileId)> {
        let Held::Now(library) = &self.held else { return Vec::new() };
        let chat = self.there();
        let own = chat.identity().map(|identity| (chat.path().clone(), identity.into()));
        let book = chat.book().and_then(|(name, _)| library.book(name).ok().flatten());
        let book = book.and_then(|book| {
            Some((library.books().get(book.name())?.clone(), FileId::from(book.identity()?)))
        });
        own.into_iter().chain(book).collect()
    }

    /// An entry of the book, and all that it has.
    pub(super) fn entry(&self, wanted: &str) -> Result<(EntryImage, Vec<EntryImage>), PickError> {
        let library = self.library();
        if self.there().book().is_none() {
            return Err(RestoreError::NoBook(self.there().name().to_owned()).into());
        }
        let state = library.book_at(self.chat, self.at, Wanted::default())?;
        let images: Vec<EntryImage> = state.entries.into_iter().map(|entry| entry.image).collect();
        match self.choose(&images, wanted) {
            // What another line wrote into the book is there as well.
            Err(missing) if self.at == self.there().head() => {
                let all = library.book_as_it_is(self.chat)?.entries;
                let all: Vec<EntryImage> = all.into_iter().map(|entry| entry.image).collect();
                self.choose(&all, wanted).map(|entry| (entry, all)).map_err(|_| missing)
            }
            chosen => chosen.map(|entry| (entry, images)),
        }
    }

    fn choose(&self, images: &[EntryImage], wanted: &str) -> Result<EntryImage, PickError> {
        let facts: Vec<&EntryImage> =
            images.iter().filter(|image| entry_role(&image.comment) == EntryRole::Fact).collect();
        let titles: Vec<(Option<i64>, &str)> =
            facts.iter().map(|image| (image.uid, &*image.comment)).collect();
        Ok(facts[choose(&titles, wanted, self.at)?].clone())
    }

    /// An entry that a fork was made without, as its parent has it; or, where a message is named, one that was not there yet.
    pub(super) fn left_out(&self, wanted: &str) -> Result<(EntryImage, Vec<EntryImage>), PickError> {
        let library = self.library();
        let missing =
            || PickError::NotLeftOut { chat: self.there().name().to_owned(), wanted: wanted.to_owned() };
        let recorded = self.there().header().metadata().at(&["forklore", "book", "left_out"]);
        let recorded: Vec<(Option<i64>, String)> = recorded
            .filter(|_| !self.asked)
            .unwrap_or(Raw::NULL)
            .elements()
            .filter_map(|out| {
                let uid = out.get("uid").and_then(Raw::as_i64);
                Some((uid, out.get("comment")?.as_text()?.into_owned()))
            })
            .collect();
        let (told, holder) = match self.there().lineage().parent.filter(|_| !recorded.is_empty()) {
            Some(parent) => (recorded, parent),
            None => {
                let state = library.book_at(self.chat, self.at, Wanted::default())?;
                let out = state.left_out.iter().map(|out| (out.uid, out.comment.to_string()));
                (out.collect(), self.chat)
            }
        };
        let titles: Vec<(Option<i64>, &str)> = told.iter().map(|(uid, title)| (*uid, &**title)).collect();
        let (uid, title) = titles[choose(&titles, wanted, self.at).map_err(|_| missing())?];
        let all: Vec<EntryImage> =
            library.book_as_it_is(holder)?.entries.into_iter().map(|entry| entry.image).collect();
        let entry = all.iter().find(|entry| entry.uid == uid && *entry.comment == *title).cloned();
        entry.map(|entry| (entry, all)).ok_or_else(missing)
    }

    /// An entry that `heal` has put aside.
    pub(super) fn quarantined(&self, wanted: &str) -> Result<EntryImage, PickError> {
        let aside = self.there().header().metadata().at(&["forklore", "quarantine"]).unwrap_or(Raw::NULL);
        let image = |raw: Raw<'_>| {
            let title = raw.get("comment").and_then(Raw::as_text).unwrap_or_default();
            EntryImage::new(raw.get("uid").and_then(Raw::as_i64), &title, raw)
        };
        let images: Vec<EntryImage> = aside.elements().map(image).collect();
        let titles: Vec<(Option<i64>, &str)> =
            images.iter().map(|image| (image.uid, &*image.comment)).collect();
        let missing =
            |_| PickError::NotPutAside { chat: self.there().name().to_owned(), wanted: wanted.to_owned() };
        Ok(images[choose(&titles, wanted, self.at).map_err(missing)?].clone())
    }

    /// The metadata then, as one value.
    pub(super) fn metadata(&self) -> Result<Vec<u8>, PickError> {
        let then = self.library().metadata_at(self.chat, self.at)?;
        let members: Vec<(&str, Vec<u8>)> =
            then.members.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        Ok(object(&members))
    }

    /// A version of the running recap, and who keeps it: one that the chat has, else one that was archived when it was forked.
    pub(super) fn version(&self, number: i64) -> Result<(&'static dyn Adapter, Vec<u8>), PickError> {
        let then = self.metadata()?;
        let has = |versions: &[StoredVersion<'_>]| {
            let last = versions.iter().rev().find(|version| version.number == number);
            last.map(|version| version.raw.bytes().to_vec())
        };
        let metadata = Raw::trust(&then);
        if let Some(keeper) = recap::keeper(metadata)
            && let Some(version) = has(&keeper.versions(metadata))
        {
            return Ok((keeper, version));
        }
        // One that the chat has lost is shown, so it can be had.
        let known = self.library().running_recap(self.chat).map_err(RestoreError::from)?;
        if let Some(known) = known.filter(|known| known.found.is_some())
            && let Some(version) = known.stored_version(number)
        {
            return Ok((known.keeper, version.to_vec()));
        }
        for kept in self.archived("running") {
            let versions: Vec<Vec<u8>> =
                Raw::trust(&kept).elements().map(|one| one.bytes().to_vec()).collect();
            for keeper in adapter::ALL {
                // Only who keeps running recaps can tell the numbers.
                let put = keeper.put_running(Raw::NULL, &versions, 0, "");
                let Ok(header) = apply(None, &put) else { continue };
                let metadata = Raw::trust(&header).get("chat_metadata").unwrap_or(Raw::NULL);
                if let Some(version) = has(&keeper.versions(metadata)) {
                    return Ok((keeper, version));
                }
            }
        }
        Err(PickError::NoSuchVersion { chat: self.there().name().to_owned(), number })
    }

    /// The combined recap, and who keeps it: the chat's own, else the one that was archived when it was forked.
    pub(super) fn combined(&self) -> Result<(&'static dyn Adapter, Vec<u8>), PickError> {
        let own = self.library().combined_at(self.chat, self.at)?.map(|(_, stored)| stored);
        let stored = own.or_else(|| self.archived("combined").into_iter().next());
        let missing = || PickError::NoCombined(self.there().name().to_owned());
        let stored = stored.ok_or_else(missing)?;
        let reads = |keeper: &&dyn Adapter| {
            let put = keeper.put_combined(Raw::NULL, Some(&stored), "");
            let header = apply(None, &put).unwrap_or_default();
            let metadata = Raw::parse(&header).ok().and_then(|raw| raw.get("chat_metadata"));
            metadata.is_some_and(|metadata| keeper.combined(metadata).is_some())
        };
        let keeper = adapter::ALL.into_iter().find(|keeper| reads(keeper)).ok_or_else(missing)?;
        Ok((keeper, stored))
    }

    /// What the record keeps of what the fork was made without, the newest first.
    pub(super) fn archived(&self, key: &str) -> Vec<Vec<u8>> {
        let archive = self.there().header().metadata().at(&["forklore", "archive"]).unwrap_or(Raw::NULL);
        let earlier: Vec<Raw<'_>> = archive.get("earlier").unwrap_or(Raw::NULL).elements().collect();
        let all = [archive].into_iter().chain(earlier.into_iter().rev());
        all.filter_map(|one| one.get(key)).map(|value| value.bytes().to_vec()).collect()
    }
}

/// Whether a past is asked for that only history can tell.
fn is_past(when: When) -> bool {
    matches!(when, When::Time(_) | When::Observation(_))
}

/// The vault with a chat that is in the trash, and what was put there with it.
fn trashed(library: &Library, wanted: &str) -> Result<Option<(Library, ChatIx)>, PickError> {
    let log = OpLog::read(&**library.fs())?;
    let trash = log.trash(&**library.fs())?;
    let text = wanted.strip_suffix(".jsonl").unwrap_or(wanted);
    let meant = |path: &VaultPath| {
        path.name().ends_with(".jsonl") && (address_of(path) == text || stem_of(path) == text)
    };
    let Some((operation, chat)) = trash.iter().rev().find(|(_, retire)| meant(&retire.target)) else {
        return Ok(None);
    };
    let mut files = Vec::new();
    for (by, retire) in trash.iter().filter(|(by, _)| by.id == operation.id) {
        if let Some(bytes) = library.fs().read(&object_path(&retire.object))? {
            files.push((retire.target.clone(), bytes, by.at));
        }
    }
    let then = library.with_files(files).map_err(RestoreError::from)?;
    let place = then.chat_at(&chat.target).map(|(c, _)| c);
    Ok(place.map(|c| (then, c)))
}
