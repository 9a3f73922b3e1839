//! `pick`: one thing is taken over into a chat: an entry, a field of it, a recap, a variable, the author's note, work that waited; from
//! any chat, any moment of it, from what a fork was made without, from what `heal` has put aside, or from a chat that was deleted.
//! [`PickReport`] tells of it, [`PickError`] why not.
//!
//! What goes into a lorebook makes a new one that the chat is bound to, because pages keep books in memory and write them back whole.
//! Everything else is an edit of the chat's header under a fresh identity: a page that still has the old one does not write over it.

mod recaps;
mod report;
mod source;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_core::adapter::{Keepers, OWN};
use forklore_core::fork::book::{Content, assemble, fingerprint};
use forklore_core::format::book::{Book as Parsed, EntryImage};
use forklore_core::format::revision::Revision;
use forklore_core::merge::{counterpart, pick, pick_field};
use forklore_fs::VaultPath;
use forklore_journal::operation::{Edit, FileId, Kind};
use forklore_journal::oplog::time;
use forklore_journal::{About, layout};
use forklore_json::{Raw, quote};
use forklore_vault::{Book, ChatIx, Library};

pub use self::report::{PickError, PickReport};
use self::source::Source;
use crate::finder::finder;
use crate::fork::ForkError;
use crate::header::{edit_of, rebind};
use crate::heal::unneeded;
use crate::history::{Did, differing};
use crate::memory::{Along, MemoryRecord, is_story};
use crate::new_book;
use crate::restore::book::{Bind, identified, own_record, refuse_work, warnings};
use crate::restore::{RestoreError, When};

/// What is to be taken over, and where from.
#[derive(Debug, Clone)]
pub struct PickRequest {
    /// Address of the chat that gets it
    pub chat: String,
    /// Address of the chat that has it, also one that was deleted; the same chat if left out
    pub from: Option<String>,
    /// As of when
    pub when: When,
    /// What
    pub what: PickWanted,
    /// Only this field of an entry
    pub field: Option<String>,
    /// Whether work that waits in the queue is no reason to refuse
    pub ignore_queue: bool,
}

/// What can be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickWanted {
    /// An entry of the lorebook, by number or title
    Entry(String),
    /// An entry that a fork was made without, by number or title
    LeftOut(String),
    /// An entry that `heal` has put aside, by number or title
    Quarantined(String),
    /// A variable
    Variable(String),
    /// The author's note
    Note,
    /// A version of the running recap, also one that was archived when the chat was forked
    Recap(i64),
    /// The combined recap, also one that was archived when the chat was forked
    Combined,
    /// Work that waited in the queue when the chat was forked
    Queue,
}

/// What is worked out and not yet done.
pub struct PickPlan {
    /// What is told of it
    pub report: PickReport,
    act: Act,
}

enum Act {
    /// The chat gets a new book
    Bind(Box<Bind>),
    /// Only its header changes
    Header(Box<Edit>, Vec<(VaultPath, FileId)>),
}

impl PickPlan {
    /// Whether the chat is bound to another book by it: that is asked first.
    pub fn asks(&self) -> bool {
        matches!(self.act, Act::Bind(_))
    }
}

/// Works out how something is taken over. `slug` is a fresh identity.
pub fn plan(library: &Library, request: &PickRequest, slug: &str) -> Result<PickPlan, PickError> {
    let c = library.find_chat(&request.chat)?;
    let chat = library.chat(c);
    if let Some(why) = chat.unreadable() {
        let chat = chat.name().to_owned();
        return Err(RestoreError::from(ForkError::CorruptChat { chat, why: why.to_owned() }).into());
    }
    let own = library.address(c).to_string();
    let source = Source::find(library, request.from.as_deref().unwrap_or(&own), request.when)?;
    let report = PickReport {
        operation: None,
        chat: own,
        from: source.library().address(source.chat).to_string(),
        at: source.at,
        observation: source.past.as_ref().map(|past| past.seq),
        seen: source.past.as_ref().map(|past| time(past.clock)),
        what: "entry",
        name: String::new(),
        uid: None,
        did: Did::Changed,
        fields: Vec::new(),
        before: None,
        after: String::new(),
        book: None,
        warnings: Vec::new(),
        files: Vec::new(),
        pending: Vec::new(),
    };
    let picking = Picking { library, c, source: &source, slug, report };
    match &request.what {
        PickWanted::Entry(wanted) => picking.entry(request, source.entry(wanted)?),
        PickWanted::LeftOut(wanted) => picking.entry(request, source.left_out(wanted)?),
        PickWanted::Quarantined(wanted) => picking.entry(request, (source.quarantined(wanted)?, Vec::new())),
        PickWanted::Variable(name) => picking.variable(name),
        PickWanted::Note => picking.note(),
        PickWanted::Recap(number) => picking.recap(*number),
        PickWanted::Combined => picking.combined(),
        PickWanted::Queue => picking.work(request.ignore_queue),
    }
}

/// Lets it happen.
pub fn execute(library: &Library, plan: PickPlan, now: i64) -> Result<PickReport, PickError> {
    let PickPlan { mut report, act } = plan;
    let what = match report.what {
        "entry" => format!("the entry \"{}\"", report.name),
        "variable" => format!("the variable \"{}\"", report.name),
        "note" => "the author's note".to_owned(),
        "recap" => format!("version {} of the running recap", report.name),
        "queue" => format!("{} that waited", report.name),
        _ => "the combined recap".to_owned(),
    };
    let about = About {
        kind: Kind::Pick,
        chat: Some(report.chat.clone()),
        summary: format!("took {what} of {} at message {} over into {}", report.from, report.at, report.chat),
        undoes: None,
    };
    match act {
        Act::Bind(bind) => {
            let (operation, pending) = bind.commit(library, about, now)?;
            (report.operation, report.pending) = (Some(operation), pending);
        }
        Act::Header(edit, guards) => {
            let mut tx = library.begin(now)?;
            if !tx.can_edit()? {
                return Err(RestoreError::NoExchange.into());
            }
            guards.into_iter().for_each(|(path, file)| tx.guard(path, file));
            tx.edit(*edit)?;
            report.operation = Some(tx.id().to_owned());
            let outcome = tx.commit(about, &finder(library))?;
            let open = outcome.pending.iter().chain(&outcome.void);
            report.pending = open.map(|path| path.as_str().to_owned()).collect();
        }
    }
    Ok(report)
}

struct Picking<'a> {
    library: &'a Library,
    /// The chat that gets it
    c: ChatIx,
    source: &'a Source<'a>,
    slug: &'a str,
    report: PickReport,
}

impl Picking<'_> {
    /// An entry, or a field of it, in a new book.
    fn entry(
        mut self,
        request: &PickRequest,
        (entry, there): (EntryImage, Vec<EntryImage>),
    ) -> Result<PickPlan, PickError> {
        let (library, c) = (self.library, self.c);
        let chat = library.chat(c);
        refuse_work(library, c, request.ignore_queue)?;
        let live = self.live()?;
        let here = live.as_ref().map(|live| live.images()).unwrap_or_default();
        let along = self.along();
        let entry = if along.keeps() && is_story(&entry) { self.as_told(&entry) } else { entry };
        let place = counterpart(&here, &entry);
        let (mut images, picked) = match &request.field {
            Some(field) => {
                let missing =
                    || PickError::NotHere { chat: chat.name().to_owned(), title: entry.comment.to_string() };
                let place = place.ok_or_else(missing)?;
                let mut images = here.clone();
                images[place] = pick_field(&here[place], &entry, field);
                let picked = images[place].clone();
                (images, picked)
            }
            None => pick(&here, &there, &self.handed_over(&entry, &there, along.keeps()), place),
        };
        let memory = along.after(&here, &[&there[..], std::slice::from_ref(&entry)].concat(), &mut images);
        let was = place.map(|place| &here[place]);
        if images == here {
            return Err(PickError::Same(format!("The entry \"{}\"", entry.comment)));
        }
        self.report.name = picked.comment.to_string();
        self.report.uid = picked.uid;
        self.report.did = if was.is_some() { Did::Changed } else { Did::Added };
        self.report.fields = was.map(|was| differing(was.raw(), picked.raw())).unwrap_or_default();
        let shown = |image: &EntryImage| match request.field.as_deref().filter(|field| *field != "content") {
            Some(field) => image.raw().get(field).map_or_else(|| "not set".to_owned(), |value| shown(value)),
            None => image.content().into_owned(),
        };
        (self.report.before, self.report.after) = (was.map(shown), shown(&picked));
        self.bind(&images, Vec::new(), memory, None)
    }

    /// What the chat's memory is to be told of it.
    fn along(&self) -> Along {
        let chat = self.library.chat(self.c);
        Along::of(chat, chat.head(), (self.source.library(), self.source.chat, self.source.at))
    }

    /// The recap of a line as an entry of a chat that has one of its own: that is computed from its own messages.
    fn as_told(&self, story: &EntryImage) -> EntryImage {
        let title = format!("From {}: {}", self.source.there().name(), story.comment);
        OWN.disowned(&story.with_field("comment", Raw::trust(&quote(&title))))
    }

    /// A new book with these entries, and the chat bound to it. A new book begins with an empty queue, unless this is one.
    fn bind(
        mut self,
        images: &[EntryImage],
        more: Vec<Revision>,
        memory: Option<MemoryRecord>,
        queue: Option<&EntryImage>,
    ) -> Result<PickPlan, PickError> {
        let (library, c) = (self.library, self.c);
        let chat = library.chat(c);
        let corrupt = || RestoreError::CorruptHeader(chat.name().to_owned());
        let live = self.live()?;
        let (old, new) = self.names()?;
        let found = library.book_as_it_is(c)?;
        let path = layout::book(&new).map_err(|_| RestoreError::NameTaken(new.clone()))?;
        let over = live.as_ref().and_then(|live| live.parse().ok());
        let bytes = assemble(Content::Entries { over: over.as_ref(), entries: images }, &new);
        let bytes = queue.map_or_else(|| Some(bytes.clone()), |queue| work::with_queue(&bytes, queue));
        let bytes = bytes.ok_or_else(corrupt)?;
        // Read as SillyTavern will: what is wrong with it is found before anything is written.
        let read = Parsed::parse(&bytes).map_err(|_| corrupt())?;
        let mut revisions = vec![Revision::text(&["integrity"], self.slug)];
        revisions.extend(rebind(library, c, &new, &read.images())?);
        let print = fingerprint(&read);
        revisions.extend(own_record(chat, self.slug, &new, &print));
        revisions.extend(more);
        // Whoever takes it back can tell whether anybody has written into the book since.
        revisions.extend(memory.map(|memory| MemoryRecord { made: Some(print), ..memory }.revision()));
        let edit = edit_of(chat, revisions, true).ok_or_else(corrupt)?;
        let retire = unneeded(library, &BTreeMap::from([(c, Some(new.clone()))]))?;
        let files = [&path, &edit.target].into_iter().chain(&retire);
        self.report.files = files.map(|path| path.as_str().to_owned()).collect();
        self.report.book = Some(new);
        self.report.warnings.extend(warnings(library, c, &old, &found, chat.head()));
        let mut guards = self.guards();
        guards.extend(live.and_then(|live| {
            Some((library.books().get(live.name())?.clone(), FileId::from(live.identity()?)))
        }));
        let bind = Bind { book: (path, bytes), edit, retire, guards };
        Ok(PickPlan { report: self.report, act: Act::Bind(Box::new(bind)) })
    }

    /// The book of the chat as it is now.
    fn live(&self) -> Result<Option<Arc<Book>>, PickError> {
        let chat = self.library.chat(self.c);
        Ok(chat.book().map(|(name, _)| self.library.book(name)).transpose()?.flatten())
    }

    /// The name of the book that the new one is called after, and that of the new one: the chat's line's, or, if it has had none, the
    /// other's.
    fn names(&self) -> Result<(String, String), PickError> {
        let chat = self.library.chat(self.c);
        let found = self.library.book_as_it_is(self.c)?;
        let other = || self.source.there().book().map(|(name, _)| name.to_owned());
        let old = chat.book().map(|(name, _)| name.to_owned()).or_else(other);
        let old = old.unwrap_or_else(|| chat.name().to_owned());
        let new = new_book::name(self.library, self.c, chat.name(), &old, &found, &[]);
        Ok((old, new))
    }

    /// An entry as it is to be in this chat's book: it does not say any more from which messages of another chat it was written.
    /// Nor is it memory's, if none is kept here.
    fn handed_over(&self, entry: &EntryImage, there: &[EntryImage], kept: bool) -> EntryImage {
        let chat = self.library.chat(self.c);
        if self.source.is(chat) {
            return entry.clone();
        }
        let one = [entry.clone()];
        let keepers = Keepers::new(|adapter| adapter.kept(there) || adapter.kept(&one));
        let entry = keepers.taken_over(&keepers.hand_over(entry, chat.name()));
        if kept { entry } else { OWN.disowned(&entry) }
    }

    fn variable(mut self, name: &str) -> Result<PickPlan, PickError> {
        let then = self.source.metadata()?;
        let value = Raw::trust(&then).at(&["variables", name]);
        let value = value.ok_or_else(|| PickError::NoVariable {
            chat: self.source.there().name().to_owned(),
            name: name.to_owned(),
            at: self.source.at,
        })?;
        let now = self.library.chat(self.c).header().metadata().at(&["variables", name]);
        self.report.what = "variable";
        name.clone_into(&mut self.report.name);
        if now.is_some_and(|now| now.says_the_same(value)) {
            return Err(PickError::Same(format!("The variable \"{name}\"")));
        }
        self.told(now, value);
        self.header(vec![Revision::set(&["variables", name], value.bytes().to_vec())])
    }

    fn note(mut self) -> Result<PickPlan, PickError> {
        let then = self.source.metadata()?;
        let then = Raw::trust(&then);
        let filled = then.get("note_prompt").filter(|note| note.is_truthy());
        let text = filled.ok_or_else(|| PickError::NoNote(self.source.there().name().to_owned()))?;
        let now = self.library.chat(self.c).header().metadata();
        let keys = then.members().filter_map(|(key, value)| Some((key.as_text()?, value)));
        let changed = keys.filter(|(key, value)| {
            key.starts_with("note_") && now.get(key).is_none_or(|now| !now.says_the_same(*value))
        });
        let revisions: Vec<Revision> =
            changed.map(|(key, value)| Revision::set(&[&key], value.bytes().to_vec())).collect();
        self.report.what = "note";
        if revisions.is_empty() {
            return Err(PickError::Same("The author's note".to_owned()));
        }
        self.told(now.get("note_prompt").filter(|note| note.is_truthy()), text);
        self.header(revisions)
    }

    fn told(&mut self, before: Option<Raw<'_>>, after: Raw<'_>) {
        self.report.did = if before.is_some() { Did::Changed } else { Did::Added };
        (self.report.before, self.report.after) = (before.map(shown), shown(after));
    }

    /// An edit of the header under a fresh identity.
    fn header(mut self, mut revisions: Vec<Revision>) -> Result<PickPlan, PickError> {
        let chat = self.library.chat(self.c);
        revisions.push(Revision::text(&["integrity"], self.slug));
        revisions.extend(identified(chat, self.slug));
        let edit = edit_of(chat, revisions, true);
        let edit = edit.ok_or_else(|| RestoreError::CorruptHeader(chat.name().to_owned()))?;
        self.report.files.push(edit.target.as_str().to_owned());
        let guards = self.guards();
        Ok(PickPlan { report: self.report, act: Act::Header(Box::new(edit), guards) })
    }

    /// What was looked at must be what is there when it happens.
    fn guards(&self) -> Vec<(VaultPath, FileId)> {
        let chat = self.library.chat(self.c);
        let own = chat.identity().map(|identity| (chat.path().clone(), identity.into()));
        let theirs = self.source.guards().into_iter().filter(|(path, _)| path != chat.path());
        own.into_iter().chain(theirs).collect()
    }
}

/// A value as people read it: a text without its quotes.
fn shown(value: Raw<'_>) -> String {
    let json = || String::from_utf8_lossy(value.bytes()).into_owned();
    value.as_text().map_or_else(json, std::borrow::Cow::into_owned)
}
