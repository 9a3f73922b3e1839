//! [`execute()`]: everything is staged, history arrives, and the files appear, all at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use forklore_archive::{ArchiveError, MemberKind, Reader};
use forklore_core::fork::rename::{FindEntry, Renames};
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::format::group::Group;
use forklore_core::format::names::chat_stem;
use forklore_fs::{OpenFile, VaultPath, Vfs};
use forklore_journal::operation::{Edit, JsonChange, Kind, Place};
use forklore_journal::{About, Tx, TxError};
use forklore_json::{PathPart, Raw, list, quote};
use forklore_vault::Library;
use forklore_vault::history::store_to_add;
use forklore_vault::history::transfer::{Arrival, LONGEST_OBJECT, ObservationInTransit};
use forklore_vault::progress::Progress;
use forklore_vault::read::lines::Lines;

use super::found::content;
use super::plan::{ImportPlan, Joined};
use super::source::open;
use super::{ImportError, ImportReport};
use crate::finder::finder;

/// Lets it happen: everything is there afterwards, or nothing. `now` is in milliseconds since 1970.
pub fn execute(
    library: &Library,
    file: &dyn OpenFile,
    plan: ImportPlan,
    now: i64,
    progress: &dyn Progress,
) -> Result<ImportReport, ImportError> {
    let mut tx = library.begin(now)?;
    let mut reader = open(file)?;
    if *reader.manifest() != plan.manifest {
        return Err(ImportError::Changed);
    }
    progress.start("Importing", plan.manifest.members.iter().map(|member| member.bytes).sum());
    let mut next = reader.next_member()?;
    // From here on nobody else adds to history: what arrives has its numbers in it.
    let mut history = store_to_add(library.fs())?;
    let mut arrival = match next.filter(|n| is_history(plan.manifest.members[*n].kind)) {
        Some(_) => Some(Arrival::begin(&mut history, plan.landing.clone(), now)?),
        None => None,
    };
    while let (Some(n), Some(arriving)) =
        (next.filter(|n| is_history(plan.manifest.members[*n].kind)), &mut arrival)
    {
        match plan.manifest.members[n].kind {
            MemberKind::Observations => read_observations(&mut reader, arriving)?,
            _ => read_objects(&mut reader, arriving, progress)?,
        }
        next = reader.next_member()?;
    }
    let renames = arrival.as_ref().map_or(&plan.landing.renames, Arrival::renames).clone();
    // Chats need the entries of their books, which come before them.
    let books = StagedBooks::new(library);
    while let Some(n) = next {
        let member = &plan.manifest.members[n];
        if let Some(target) = plan.targets[n].clone() {
            stage(&mut tx, &mut reader, &plan, n, target.clone(), &renames, &books)?;
            if let (MemberKind::Book, Some(staged)) = (member.kind, tx.staged_path(&target)) {
                books.add(&member.name, staged);
            }
        }
        progress.advance(member.bytes);
        next = reader.next_member()?;
    }
    if reader.finish()? != plan.seal {
        return Err(ImportError::Changed);
    }
    if let Some(Joined::Known(target)) = &plan.group {
        let names = plan.chat_names();
        let mut joining: Vec<&String> = names.values().collect();
        joining.sort();
        let changes = joining.into_iter().map(|name| JsonChange::include(&["chats"], name)).collect();
        tx.edit(Edit::new(target.clone(), Place::Document, changes))?;
    }
    let mut report = plan.report;
    report.operation = Some(tx.id().to_owned());
    let n = report.chats.len();
    let chats = if n == 1 { "1 chat".to_owned() } else { format!("{n} chats") };
    let about = About {
        kind: Kind::Import,
        chat: report.chats.first().filter(|_| n == 1).map(|chat| chat.name.clone()),
        summary: format!("import of {chats} into {}", report.story),
        undoes: None,
    };
    // History first, and nobody adds to it until the files are there: a file that history knows and that is not there yet would be
    // taken for one that is gone. If this is cut off in between, it is one that is gone.
    if let Some(arriving) = &mut arrival {
        arriving.land()?;
    }
    match tx.commit(about, &finder(library)) {
        Ok(_) => {}
        Err(e) => {
            let unfinished = matches!(e, TxError::Unfinished { .. });
            if let Some(arriving) = arrival.as_mut().filter(|_| !unfinished) {
                arriving.revoke()?;
            }
            return Err(e.into());
        }
    }
    progress.finish();
    Ok(report)
}

fn is_history(kind: MemberKind) -> bool {
    matches!(kind, MemberKind::Objects | MemberKind::Observations)
}

fn read_observations<R: Read>(reader: &mut Reader<R>, arriving: &mut Arrival<'_>) -> Result<(), ImportError> {
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line().map_err(ArchiveError::from)? {
        let seen = ObservationInTransit::read(line.bytes).map_err(ImportError::of_arrival)?;
        arriving.observe(seen).map_err(ImportError::of_arrival)?;
    }
    Ok(())
}

fn read_objects<R: Read>(
    reader: &mut Reader<R>,
    arriving: &mut Arrival<'_>,
    progress: &dyn Progress,
) -> Result<(), ImportError> {
    let mut input = io::BufReader::with_capacity(128 << 10, reader);
    let mut bytes = Vec::new();
    loop {
        let mut head = [0; 8];
        let got = input.read(&mut head).map_err(ArchiveError::from)?;
        if got == 0 {
            return Ok(());
        }
        input.read_exact(&mut head[got..]).map_err(ArchiveError::from)?;
        let [a, b, c, d, e, f, g, h] = head;
        let len = u32::from_le_bytes([a, b, c, d]);
        if len > LONGEST_OBJECT {
            return Err(ArchiveError::Bomb(format!("{len} bytes in one object of its history")).into());
        }
        bytes.clear();
        (&mut input).take(u64::from(len)).read_to_end(&mut bytes).map_err(ArchiveError::from)?;
        if bytes.len() != len as usize {
            return Err(ImportError::damaged("its history is not whole"));
        }
        arriving.object(&bytes, u32::from_le_bytes([e, f, g, h]))?;
        progress.advance(u64::from(len));
    }
}

/// Makes the file of a member, with the names that things have here.
fn stage<R: Read>(
    tx: &mut Tx,
    reader: &mut Reader<R>,
    plan: &ImportPlan,
    n: usize,
    target: VaultPath,
    renames: &Renames,
    books: &StagedBooks<'_>,
) -> Result<(), ImportError> {
    let member = &plan.manifest.members[n];
    let changed = match (member.kind, &plan.group) {
        (MemberKind::Book, _) if !(renames.books.is_empty() && renames.chats.is_empty()) => {
            let bytes = content(reader)?;
            Some(renames.in_book(&bytes, &member.name).unwrap_or(bytes))
        }
        (MemberKind::Group, Some(Joined::New(id))) => {
            let group = grouped(&content(reader)?, id, &plan.chat_names());
            Some(group.ok_or_else(|| ImportError::damaged("its group is none"))?)
        }
        _ => None,
    };
    if let Some(bytes) = changed {
        return Ok(tx.publish(target, &[forklore_fs::Part::Bytes(&bytes)], &[])?);
    }
    let entry = |book: &str, uid: i64| books.entry(book, uid);
    let mut failed = None;
    let staged = tx.publish_with(target, &mut |out| {
        let copied = if member.kind == MemberKind::Chat {
            copy_chat(&mut *reader, out, renames, &entry)
        } else {
            io::copy(reader, out).map(drop)
        };
        copied.map_err(|e| match e.raw_os_error() {
            // What the disk says is told as that; everything else is what is wrong with the file.
            Some(_) => e,
            None => {
                failed = Some(e.to_string());
                e
            }
        })
    });
    match failed {
        Some(why) => Err(ImportError::damaged(&why)),
        None => Ok(staged?),
    }
}

/// Copies a chat line by line. A line that names nothing keeps every byte.
fn copy_chat(
    input: &mut dyn Read,
    out: &mut dyn Write,
    renames: &Renames,
    entry: &FindEntry<'_>,
) -> io::Result<()> {
    let mut lines = Lines::new(input);
    let mut first = true;
    while let Some(line) = lines.next_line()? {
        if !line.whole {
            let renamed = [&renames.chats, &renames.books, &renames.slugs].iter().any(|map| !map.is_empty());
            if first && renamed {
                return Err(io::Error::other("the first line of a chat is too long"));
            }
            first = false;
            out.write_all(line.bytes)?;
            continue;
        }
        let text = line.bytes.trim_ascii_end();
        let changed = match first {
            true => renames.in_header(text, entry).or_else(|| renames.in_message(text)),
            false => renames.in_message(text),
        };
        let changed = renames.in_links(changed.as_deref().unwrap_or(text)).or(changed);
        first &= text.is_empty();
        match changed {
            Some(new) => {
                out.write_all(&new)?;
                out.write_all(&line.bytes[text.len()..])?;
            }
            None => out.write_all(line.bytes)?,
        }
    }
    Ok(())
}

/// A group with the chats that arrive and no others.
fn grouped(bytes: &[u8], id: &str, names: &HashMap<String, String>) -> Option<Vec<u8>> {
    let group = Group::parse(bytes, id).unwrap_or_default();
    let listed = group.chats.iter().map(|name| chat_stem(name));
    let mut order: Vec<String> = listed.filter(|name| names.contains_key(name)).collect();
    let mut rest: Vec<&String> = names.keys().filter(|name| !order.contains(name)).collect();
    rest.sort();
    order.extend(rest.into_iter().cloned());
    order.dedup();
    let new: Vec<&String> = order.iter().filter_map(|name| names.get(name)).collect();
    let open = group.current_chat.and_then(|name| names.get(&chat_stem(&name)).cloned());
    let open = open.or_else(|| new.last().map(|name| (*name).clone())).unwrap_or_default();
    // It came from elsewhere: blanks around it stay, and what is no JSON is no group.
    let doc = Raw::parse(bytes).ok()?;
    let around = doc.range_in(bytes)?;
    let mut body = doc.bytes().to_vec();
    let chats = list(&new.iter().map(|name| quote(name)).collect::<Vec<_>>());
    for (key, value) in [("id", quote(id)), ("chats", chats), ("chat_id", quote(&open))] {
        let doc = Raw::trust(&body);
        // What says the same already keeps its bytes.
        if doc.get(key).is_some_and(|now| now.says_the_same(Raw::trust(&value))) {
            continue;
        }
        body = forklore_json::set(doc, &[PathPart::Key(key)], &value).ok()?.apply(&body);
    }
    Some([&bytes[..around.start], &body, &bytes[around.end..]].concat())
}

/// The books that were staged, to look up entries in.
struct StagedBooks<'a> {
    fs: &'a Arc<dyn Vfs>,
    paths: RefCell<HashMap<String, VaultPath>>,
    last: RefCell<Option<(String, Vec<EntryImage>)>>,
}

impl<'a> StagedBooks<'a> {
    fn new(library: &'a Library) -> Self {
        Self { fs: library.fs(), paths: RefCell::default(), last: RefCell::default() }
    }

    fn add(&self, name: &str, staged: VaultPath) {
        self.paths.borrow_mut().insert(name.to_owned(), staged);
    }

    fn entry(&self, book: &str, uid: i64) -> Option<EntryImage> {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(name, _)| name != book) {
            let bytes = self.fs.read(self.paths.borrow().get(book)?).ok()??;
            *last = Some((book.to_owned(), Book::parse(&bytes).ok()?.images()));
        }
        last.as_ref()?.1.iter().find(|entry| entry.uid == Some(uid)).cloned()
    }
}
