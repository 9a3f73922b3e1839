//! A chat that was deleted, under its name again: [`Back`].

use std::collections::HashSet;
use std::sync::Arc;

use forklore_core::fork::book::fingerprint;
use forklore_core::fork::names;
use forklore_core::format::chat::BOM;
use forklore_core::format::revision::{Revision, apply};
use forklore_fs::{Part, PathError, VaultPath, Vfs};
use forklore_journal as journal;
use forklore_journal::layout;
use forklore_journal::operation::{Edit, JsonChange, Place};
use forklore_journal::oplog::time;
use forklore_json::Raw;
use forklore_vault::history::Past;
use forklore_vault::history::past::{address_of, stem_of};
use forklore_vault::{ChatIx, Library};

use super::book::{own_record, same_book};
use super::chat::{Work, behind, find};
use super::{Act, RestoreError, RestorePlan, RestoreReport, RestoredBook};
use crate::bring::Bring;
use crate::fork::ForkError;
use crate::header::rebind;
use crate::new_book;
use crate::warning::{Warning, WarningCode};

impl Work<'_> {
    /// A chat that was deleted, as it was last.
    pub(super) fn back(&self, past: &Past) -> Result<RestorePlan, RestoreError> {
        let (library, then) = (self.library, self.library.past(past)?);
        let t = find(&then, past)?;
        let (target, name) = self.name(&past.file)?;
        let report = RestoreReport {
            operation: None,
            what: "chat",
            chat: address_of(&target),
            of: then.address(t).to_string(),
            at: then.chat(t).head(),
            observation: Some(past.seq),
            seen: Some(time(past.clock)),
            book: RestoredBook::default(),
            entries: Vec::new(),
            media: Vec::new(),
            warnings: behind(past),
            files: Vec::new(),
            pending: Vec::new(),
        };
        let back = Back {
            fs: then.fs().clone(),
            source: past.file.clone(),
            header: None,
            target,
            book: None,
            edits: Vec::new(),
            media: Bring::with(library, &*then.fs().open(&past.file)?, None, &past.file, Some(past.until))?,
        };
        let mut returning = Returning { work: self, then: &then, t, name, report, back };
        if past.file.as_str().starts_with(layout::GROUP_CHATS) {
            returning.list_in_group();
        }
        returning.bring_book()?;
        let Returning { mut report, back, .. } = returning;
        report.media = back.media.paths().map(|path| path.as_str().to_owned()).collect();
        report.warnings.extend(back.media.warning());
        let made = back.media.paths().chain(back.book.iter().map(|(path, _)| path)).chain([&back.target]);
        let touched = made.chain(back.edits.iter().map(|edit| &edit.target));
        report.files = touched.map(|path| path.as_str().to_owned()).collect();
        Ok(RestorePlan { report, act: Act::Back(back) })
    }

    /// The name that a chat comes back under: its own, unless another one is asked for.
    fn name(&self, file: &VaultPath) -> Result<(VaultPath, String), RestoreError> {
        let dir = file.parent();
        let used: HashSet<String> =
            self.library.fs().list(&dir)?.iter().map(|node| node.name.to_lowercase()).collect();
        let taken = |name: &str| used.contains(&format!("{}.jsonl", name.to_lowercase()));
        let name = match &self.request.name {
            Some(typed) => {
                names::typed(typed).map_err(|why| ForkError::InvalidName { name: typed.clone(), why })?
            }
            None => stem_of(file).to_owned(),
        };
        match dir.join(&format!("{name}.jsonl")) {
            Ok(target) if !taken(&name) => Ok((target, name)),
            _ => Err(RestoreError::NameTaken(name)),
        }
    }

    /// The group that a chat belongs to, and the edit that lists it there again.
    fn group(&self, then: &Library, t: ChatIx) -> Option<(String, Option<Edit>)> {
        let groups = self.library.groups();
        let typed = self.request.chat.strip_prefix("group:").and_then(|rest| rest.split_once('/'));
        let told = Some(then.story(then.chat(t).story()).folder());
        let only = groups.keys().next().filter(|_| groups.len() == 1).map(String::as_str);
        let group =
            [typed.map(|(id, _)| id), told, only].into_iter().flatten().find_map(|id| groups.get(id))?;
        let name = self.request.name.as_deref().unwrap_or(then.chat(t).name());
        let target = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file)).ok()?;
        let change = JsonChange::include(&["chats"], name);
        let edit = Edit::new(target, Place::Document, vec![change]);
        Some((group.id.clone(), Some(edit).filter(|_| !group.chats.iter().any(|chat| chat == name))))
    }
}

/// A chat that is being brought back: what is told of it, and what will be done, so far.
struct Returning<'a> {
    work: &'a Work<'a>,
    /// The vault of the past, and the chat's number there
    then: &'a Library,
    t: ChatIx,
    /// The name that it comes back under
    name: String,
    report: RestoreReport,
    back: Back,
}

impl Returning<'_> {
    /// A group's chat is in its list again, if its group is still there.
    fn list_in_group(&mut self) {
        match self.work.group(self.then, self.t) {
            Some((id, edit)) => {
                self.report.chat = format!("group:{id}/{}", self.name);
                self.back.edits.extend(edit);
            }
            None => {
                let message = "No group lists the chat: SillyTavern shows it once it is in the list of chats of its group".to_owned();
                self.report.warnings.push(Warning::new(WarningCode::Unlisted, message));
            }
        }
    }

    /// The chat has its book again: as it is, as it was, or one of its own where another has its name by now.
    fn bring_book(&mut self) -> Result<(), RestoreError> {
        let Some((bound, stem)) = self.then.chat(self.t).book() else { return Ok(()) };
        let named = Some(bound.to_owned());
        self.report.book = RestoredBook { name: named.clone(), from: named, ..RestoredBook::default() };
        match Book::of(self.work.library, self.then, self.t, bound, stem)? {
            Book::Unknown => {
                let message = format!(
                    "The lorebook \"{bound}\" is not there, and history has not seen it: the chat comes back without"
                );
                self.report.warnings.push(Warning::new(WarningCode::BookMissing, message));
            }
            Book::There(entries) => self.report.book.entries = entries,
            Book::Gone { path, bytes, entries } => {
                (self.report.book.entries, self.report.book.made) = (entries, true);
                self.back.book = Some((path, bytes));
            }
            Book::Changed => {
                let message = format!(
                    "The lorebook \"{bound}\" is another by now: the chat comes back with one of its own, as it was then"
                );
                self.report.warnings.push(Warning::new(WarningCode::BookChangedSince, message));
                self.give_own_book(bound)?;
            }
        }
        Ok(())
    }

    /// A book of its own with what its old one held then; the header says so.
    fn give_own_book(&mut self, bound: &str) -> Result<(), RestoreError> {
        let (then, t, slug) = (self.then, self.t, self.work.slug);
        let chat = then.chat(t);
        let found = then.book_as_it_is(t)?;
        let own = new_book::name(then, t, &self.name, bound, &found, &[]);
        let path = layout::book(&own).map_err(|_| RestoreError::NameTaken(own.clone()))?;
        let bytes = new_book::bytes(&found, &own, chat.name());
        let read = forklore_core::format::book::Book::parse(&bytes);
        let read = read.map_err(|e| ForkError::NotVerified(e.to_string()))?;
        let mut revisions = vec![Revision::text(&["integrity"], slug)];
        revisions.extend(rebind(then, t, &own, &read.images())?);
        revisions.extend(own_record(chat, slug, &own, &fingerprint(&read)));
        self.back.header = Some(header(then, t, &revisions)?);
        self.report.book.name = Some(own);
        (self.report.book.entries, self.report.book.made) = (read.entries().len(), true);
        self.back.book = Some((path, bytes));
        Ok(())
    }
}

/// A chat that comes back.
pub(super) struct Back {
    /// Where to find it
    fs: Arc<dyn Vfs>,
    source: VaultPath,
    /// Its header line, if that changes, and where the old one ended
    header: Option<(Vec<u8>, u64)>,
    target: VaultPath,
    book: Option<(VaultPath, Vec<u8>)>,
    edits: Vec<Edit>,
    media: Bring,
}

impl Back {
    pub(super) fn execute(
        self,
        library: &Library,
        report: RestoreReport,
        now: i64,
    ) -> Result<RestoreReport, RestoreError> {
        let file = self.fs.open(&self.source)?;
        let fail = |source| PathError { path: self.source.clone(), doing: "read", source };
        let len = file.identity().map_err(fail)?.len;
        // With its last chat, SillyTavern may have removed the character's folder.
        library.fs().make_dir(&self.target.parent())?;
        let mut tx = library.begin(now)?;
        self.media.stage(library, &mut tx)?;
        if let Some((path, bytes)) = &self.book {
            tx.publish(path.clone(), &[Part::Bytes(bytes)], std::slice::from_ref(path))?;
        }
        let parts = match &self.header {
            Some((header, end)) => vec![Part::Bytes(header), Part::Range(&*file, *end..len)],
            None => vec![Part::Range(&*file, 0..len)],
        };
        tx.publish(self.target.clone(), &parts, std::slice::from_ref(&self.source))?;
        self.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
        let summary = format!("brought {} back, which had been deleted", report.of);
        report.commit(tx, library, summary)
    }
}

/// What there is of the book that a deleted chat was bound to.
enum Book {
    /// It is as it was, and nobody else's: with so many entries
    There(usize),
    /// Its file is gone, and its name is free
    Gone { path: VaultPath, bytes: Vec<u8>, entries: usize },
    /// There is another one of its name by now, or others use it
    Changed,
    /// History has never seen it
    Unknown,
}

impl Book {
    fn of(library: &Library, then: &Library, t: ChatIx, name: &str, stem: &str) -> Result<Self, PathError> {
        let (was, is) = (then.open_book(name)?, library.open_book(name)?);
        let count = |book: &forklore_vault::Book| book.parse().map_or(0, |book| book.entries().len());
        let Some(was) = was else {
            return Ok(is.map_or(Self::Unknown, |is| Self::There(count(&is))));
        };
        let entries = count(&was);
        let Some(is) = is else {
            let free = library.referring_to(stem, &[]).is_empty();
            return Ok(match layout::book(name) {
                Ok(path) if free => Self::Gone { path, bytes: was.bytes().to_vec(), entries },
                _ => Self::Changed,
            });
        };
        // What an extension keeps for one chat is not shared with its relatives; what is kept by hand is everybody's.
        let relatives = then.users_of(stem).iter().any(|user| *user != t && then.related(t, *user));
        let shared = relatives && library.is_machine_kept(stem)?;
        Ok(if same_book(&was, &is) && !shared { Self::There(entries) } else { Self::Changed })
    }
}

/// The header line with revisions made, and where the line ended in the file.
fn header(then: &Library, t: ChatIx, revisions: &[Revision]) -> Result<(Vec<u8>, u64), RestoreError> {
    let chat = then.chat(t);
    let corrupt = || RestoreError::CorruptHeader(chat.name().to_owned());
    let fail = |source| PathError { path: chat.path().clone(), doing: "read", source };
    let file = then.fs().open(chat.path())?;
    let place = journal::header_line(&*file).map_err(fail)?;
    let line = file.read_range(place.clone()).map_err(fail)?;
    let mark = if line.starts_with(BOM) { BOM } else { &[] };
    let mut bytes = mark.to_vec();
    // What stood before the header, such as an empty line, means nothing.
    let raw = Some(chat.header().raw()).filter(|raw| *raw != Raw::NULL).ok_or_else(corrupt)?;
    bytes.extend(apply(Some(raw), revisions).map_err(|_| corrupt())?);
    bytes.extend(line.last().filter(|byte| **byte == b'\r'));
    Ok((bytes, place.end))
}
