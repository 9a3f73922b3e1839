//! A past state of a chat as a new branch; a chat that was deleted, under its name again.

use std::collections::HashSet;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::book::fingerprint;
use forklore_core::fork::{ForkKind, header as core_header, names};
use forklore_core::format::chat::BOM;
use forklore_core::story::common_prefix;
use forklore_fs::{Part, PathError, VaultPath, Vfs};
use forklore_journal as journal;
use forklore_journal::operation::{Edit, JsonChange, Kind, Place};
use forklore_journal::oplog::time;
use forklore_journal::{About, layout};
use forklore_json::Raw;
use forklore_vault::history::past::{address_of, stem_of};
use forklore_vault::history::{Past, PastError};
use forklore_vault::{Address, Library};

use super::book::{own_record, same_book};
use super::{Act, Request, RestoreError, RestorePlan, RestoreReport, RestoredBook, When, until};
use crate::bring::Bring;
use crate::fork::header::rebind;
use crate::fork::plan::{Restored, book_bytes, book_name, link_edit, plan_of};
use crate::fork::{self, ForkError, ForkReport, ForkRequest};
use crate::undo::finder;
use crate::warning::{Warning, WarningCode};

/// Warnings about where a branch is made; what comes back as it was is made nowhere.
const OF_BRANCHES: [WarningCode; 3] =
    [WarningCode::NoSceneBreak, WarningCode::NoSceneRecap, WarningCode::NoRunningRecap];

pub(super) fn plan(
    library: &Library,
    request: &Request,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<RestorePlan, RestoreError> {
    let missing = match library.find_chat(&request.chat) {
        Ok(c) => return there(library, c, request, config, slug, now),
        Err(e) => e,
    };
    match library.find_gone(&request.chat)? {
        Some(file) => gone(library, &file, request, config, slug, now),
        None => Err(missing.into()),
    }
}

/// A past state of a chat that is there.
fn there(
    library: &Library,
    c: usize,
    request: &Request,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<RestorePlan, RestoreError> {
    let chat = &library.chats[c];
    let work = Work { library, request, config, slug, now };
    match request.when {
        When::Last => Err(RestoreError::WhichState(chat.name.clone())),
        When::Message(at) if at < chat.transcript.len() => {
            let request = work.branch(&library.address(c), at, request.ignore_queue, true);
            let mut plan = fork::plan(library, &request, config, slug, now)?;
            plan.bring(library, &chat.path, None)?;
            Ok(planned(plan, None))
        }
        // The story was there once, and has lost those messages since.
        When::Message(at) => {
            let history = library.history()?;
            let had = history.and_then(|history| {
                let mut track = history.track(&chat.path).iter().rev().map(|i| &history.seen[*i]);
                track.find(|seen| {
                    seen.chat().is_some_and(|chat| chat.messages > at) && history.content(seen).is_some()
                })
            });
            let Some(had) = had else {
                let messages = chat.transcript.len();
                return Err(ForkError::NoSuchMessage { at, chat: chat.name.clone(), messages }.into());
            };
            let past = library.find_past(&chat.path, Some(had.seq))?;
            work.past(Some(c), &past, Some(at))
        }
        When::Time(_) | When::Observation(_) => {
            let past = library.find_past(&chat.path, until(library, request.when)?)?;
            work.past(Some(c), &past, None)
        }
    }
}

/// A chat that is not there any more.
fn gone(
    library: &Library,
    file: &VaultPath,
    request: &Request,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<RestorePlan, RestoreError> {
    let work = Work { library, request, config, slug, now };
    let last = library.find_past(file, None)?;
    match request.when {
        When::Last => work.back(&last),
        When::Message(at) => work.past(None, &last, Some(at)),
        When::Time(_) | When::Observation(_) => {
            let past = library.find_past(file, until(library, request.when)?)?;
            if past.seq == last.seq { work.back(&last) } else { work.past(None, &past, None) }
        }
    }
}

struct Work<'a> {
    library: &'a Library,
    request: &'a Request,
    config: &'a Config,
    slug: &'a str,
    now: i64,
}

impl Work<'_> {
    fn branch(&self, chat: &Address, at: usize, ignore_queue: bool, link: bool) -> ForkRequest {
        ForkRequest {
            kind: Some(ForkKind::Branch),
            at: Some(at),
            name: self.request.name.clone(),
            strict: Some(false),
            ignore_queue,
            link,
            copy_book: !link,
            ..ForkRequest::of(chat.to_string())
        }
    }

    /// A branch with what a chat was, up to message `at` of it; without one, all of it, exactly as it was. `c` is the chat as it is.
    fn past(&self, c: Option<usize>, past: &Past, at: Option<usize>) -> Result<RestorePlan, RestoreError> {
        let then = self.library.past(past)?;
        let t = find(&then, past)?;
        let chat = &then.chats[t];
        let last = at.unwrap_or(chat.head());
        let mut restored = Restored {
            seq: past.seq,
            message: last,
            moment: String::new(),
            parent_slug: chat.header().slug().unwrap_or_default().into_owned(),
            as_it_was: at.is_none(),
        };
        let mut common = 0;
        if let Some(now) = c.map(|c| &self.library.chats[c]) {
            common = common_prefix(&chat.transcript, &now.transcript);
            restored.message = common.saturating_sub(1).min(last);
            restored.parent_slug = now.header().slug().unwrap_or_default().into_owned();
        }
        restored.moment = chat.transcript.moment(restored.message).unwrap_or_default().to_string();
        let message = restored.message;
        // What is only asked of new branches is not asked of the past.
        let mut config = self.config.clone();
        (config.fork.strict, config.checkpoint.require_scene_break) = (false, false);
        let request = self.branch(&then.address(t), last, true, false);
        let mut plan = plan_of(&then, &request, &config, self.slug, self.now, Some(restored))?;
        if let Some(c) = c.filter(|_| common > 0 && self.config.fork.link_parent) {
            let link = link_edit(self.library, c, message, ForkKind::Branch, plan.name())?;
            plan.report.files.extend(link.iter().map(|edit| edit.target.as_str().to_owned()));
            plan.edits.extend(link);
        }
        if at.is_none() {
            plan.report.warnings.retain(|warning| !OF_BRANCHES.contains(&warning.code));
        }
        plan.bring(self.library, &past.file, Some(past.until))?;
        Ok(planned(plan, Some((past, at.is_none()))))
    }

    /// A chat that was deleted, as it was last.
    fn back(&self, past: &Past) -> Result<RestorePlan, RestoreError> {
        let (library, then) = (self.library, self.library.past(past)?);
        let t = find(&then, past)?;
        let chat = &then.chats[t];
        let (target, name) = self.name(&past.file)?;
        let mut report = RestoreReport {
            operation: None,
            what: "chat",
            chat: String::new(),
            of: then.address(t).to_string(),
            at: chat.head(),
            observation: Some(past.seq),
            seen: Some(time(past.clock)),
            book: RestoredBook::default(),
            entries: Vec::new(),
            media: Vec::new(),
            warnings: behind(past),
            files: Vec::new(),
            pending: Vec::new(),
        };
        let mut back = Back {
            fs: then.fs.clone(),
            source: past.file.clone(),
            header: None,
            target: target.clone(),
            book: None,
            edits: Vec::new(),
            media: Bring::with(library, &*then.fs.open(&past.file)?, None, &past.file, Some(past.until))?,
        };
        report.chat = address_of(&target);
        if past.file.as_str().starts_with(layout::GROUP_CHATS) {
            match self.group(&then, t) {
                Some((id, edit)) => {
                    report.chat = format!("group:{id}/{name}");
                    back.edits.extend(edit);
                }
                None => {
                    let message = "No group lists the chat: SillyTavern shows it once it is in the list of chats of its group".to_owned();
                    report.warnings.push(Warning { code: WarningCode::Unlisted, message });
                }
            }
        }
        if let Some((bound, stem)) = &chat.book {
            report.book = RestoredBook {
                name: Some(bound.clone()),
                from: Some(bound.clone()),
                ..RestoredBook::default()
            };
            match Book::of(library, &then, t, bound, stem)? {
                Book::Unknown => {
                    let message = format!(
                        "The lorebook \"{bound}\" is not there, and history has not seen it: the chat comes back without"
                    );
                    report.warnings.push(Warning { code: WarningCode::BookMissing, message });
                }
                Book::There(entries) => report.book.entries = entries,
                Book::Gone { path, bytes, entries } => {
                    (report.book.entries, report.book.made) = (entries, true);
                    back.book = Some((path, bytes));
                }
                Book::Changed => {
                    let found = then.book_as_it_is(t)?;
                    let own = book_name(&then, t, &name, bound, &found, &[]);
                    let path = layout::book(&own).map_err(|_| RestoreError::NameTaken(own.clone()))?;
                    let bytes = book_bytes(&found, &own, &chat.name);
                    let read = forklore_core::format::book::Book::parse(&bytes);
                    let read = read.map_err(|e| ForkError::NotVerified(e.to_string()))?;
                    let mut revisions = vec![core_header::Revision::text(&["integrity"], self.slug)];
                    revisions.extend(rebind(&then, t, &own, &read.images())?);
                    let print = fingerprint(&read);
                    revisions.extend(own_record(chat, self.slug, &own, &print));
                    back.header = Some(header(&then, t, &revisions)?);
                    let message = format!(
                        "The lorebook \"{bound}\" is another by now: the chat comes back with one of its own, as it was then"
                    );
                    report.warnings.push(Warning { code: WarningCode::BookChangedSince, message });
                    report.book.name = Some(own);
                    (report.book.entries, report.book.made) = (read.entries().len(), true);
                    back.book = Some((path, bytes));
                }
            }
        }
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
            self.library.fs.list(&dir)?.iter().map(|node| node.name.to_lowercase()).collect();
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
    fn group(&self, then: &Library, t: usize) -> Option<(String, Option<Edit>)> {
        let groups = &self.library.groups;
        let typed = self.request.chat.strip_prefix("group:").and_then(|rest| rest.split_once('/'));
        let told = Some(then.stories[then.chats[t].story].folder.as_str());
        let only = groups.keys().next().filter(|_| groups.len() == 1).map(String::as_str);
        let group =
            [typed.map(|(id, _)| id), told, only].into_iter().flatten().find_map(|id| groups.get(id))?;
        let name = self.request.name.as_deref().unwrap_or(&then.chats[t].name);
        let target = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file)).ok()?;
        let change = JsonChange::include(&["chats"], name);
        let edit = Edit::new(target, Place::Document, vec![change]);
        Some((group.id.clone(), Some(edit).filter(|_| !group.chats.iter().any(|chat| chat == name))))
    }
}

/// The chat in the library of the past.
fn find(then: &Library, past: &Past) -> Result<usize, RestoreError> {
    let found = then.chats.iter().position(|chat| chat.path == past.file);
    let chat = || stem_of(&past.file).to_owned();
    let t = found.ok_or_else(|| PastError::NeverSeen(chat()))?;
    match &then.chats[t].unreadable {
        None => Ok(t),
        Some(why) => Err(ForkError::CorruptChat { chat: chat(), why: why.clone() }.into()),
    }
}

fn behind(past: &Past) -> Vec<Warning> {
    let message = format!(
        "What was saved after that is not stored, because it is large or was forgotten: this is the chat as it was at {}",
        time(past.clock)
    );
    if past.behind { vec![Warning { code: WarningCode::NotTheLast, message }] } else { Vec::new() }
}

/// A branch, told as what comes back.
fn planned(plan: fork::ForkPlan, past: Option<(&Past, bool)>) -> RestorePlan {
    let ForkReport { chat, parent, at, book, warnings, files, .. } = plan.report.clone();
    let exact = past.filter(|(_, whole)| *whole);
    let mut all = past.map(|(past, _)| behind(past)).unwrap_or_default();
    all.extend(warnings);
    let report = RestoreReport {
        operation: None,
        what: "branch",
        chat,
        of: parent,
        at,
        observation: exact.map(|(past, _)| past.seq),
        seen: exact.map(|(past, _)| time(past.clock)),
        book: RestoredBook {
            made: book.name.is_some() && !book.shared,
            name: book.name,
            from: book.from,
            entries: book.entries,
        },
        entries: Vec::new(),
        media: plan.media.paths().map(|path| path.as_str().to_owned()).collect(),
        warnings: all,
        files,
        pending: Vec::new(),
    };
    RestorePlan { report, act: Act::Branch(Box::new(plan)) }
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
    fn of(library: &Library, then: &Library, t: usize, name: &str, stem: &str) -> Result<Self, PathError> {
        let (was, is) = (then.book(name)?, library.book(name)?);
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
fn header(
    then: &Library,
    t: usize,
    revisions: &[core_header::Revision],
) -> Result<(Vec<u8>, u64), RestoreError> {
    let chat = &then.chats[t];
    let corrupt = || RestoreError::CorruptHeader(chat.name.clone());
    let fail = |source| PathError { path: chat.path.clone(), doing: "read", source };
    let file = then.fs.open(&chat.path)?;
    let place = journal::header_line(&*file).map_err(fail)?;
    let line = file.read_range(place.clone()).map_err(fail)?;
    let mark = if line.starts_with(BOM) { BOM } else { &[] };
    let mut bytes = mark.to_vec();
    // What stood before the header, such as an empty line, means nothing.
    let raw = Some(chat.header().raw()).filter(|raw| *raw != Raw::NULL).ok_or_else(corrupt)?;
    bytes.extend(core_header::apply(Some(raw), revisions).map_err(|_| corrupt())?);
    bytes.extend(line.last().filter(|byte| **byte == b'\r'));
    Ok((bytes, place.end))
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
        mut report: RestoreReport,
        now: i64,
    ) -> Result<RestoreReport, RestoreError> {
        let file = self.fs.open(&self.source)?;
        let fail = |source| PathError { path: self.source.clone(), doing: "read", source };
        let len = file.identity().map_err(fail)?.len;
        // With its last chat, SillyTavern may have removed the character's folder.
        library.fs.make_dir(&self.target.parent())?;
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
        report.operation = Some(tx.id().to_owned());
        let about = About {
            kind: Kind::Restore,
            chat: Some(report.chat.clone()),
            summary: format!("brought {} back, which had been deleted", report.of),
            undoes: None,
        };
        let outcome = tx.commit(about, &finder(library))?;
        report.pending = outcome.pending.iter().chain(&outcome.void).map(|p| p.as_str().to_owned()).collect();
        Ok(report)
    }
}
