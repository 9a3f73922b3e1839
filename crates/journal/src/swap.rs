//! Compare-and-swap of a file that SillyTavern may replace at any moment: [`swap`], and [`settle`] for swaps that a crash cut short.
//!
//! The new content is made beside the file and trades names with it in one instant. What comes out is looked at: if it is what
//! the new content was made from, the swap is done; if not, somebody saved in between, and their save is given back. Nothing
//! that came out is ever dropped unless it is known.
//!
//! What is known is written down before it is needed. The name of the new file tells what it was made from and which file it is
//! (`<stem>.swap.<base>.<ours>`); saves that came out are listed, oldest first, in notes beside it (`….note0`, `….note1`).
//! Every attempt has a name of its own, so a note can never be read against another attempt's file.
//!
//! Where files cannot trade names in one instant, they do so in steps (`forklore_fs::steps`), and what had the name waits beside the new
//! file (`….out`). A crash then leaves the name free: [`settle`] first puts back what waits.

use forklore_fs::{Attributes, New, OpenFile, Part, PathError, VaultPath, Vfs, aside, waits_beside};

use crate::edit::{Locate, Piece, Verdict, revise_all};
use crate::folders;
use crate::lost::park;
use crate::operation::{Edit, FileId};

/// What became of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swapped {
    /// It is made, with the file that was and the one that is; nothing if it had been made before.
    Done(Option<(FileId, FileId)>),
    /// Somebody else has changed what it was about, it is gone, or the file system cannot do it: there is nothing more to do.
    Void,
    /// Somebody saved again and again: to be tried later.
    Pending,
}

/// Somebody who saves six times in a row within microseconds of our swaps is better left alone for now.
const TRIES: usize = 6;

/// By what the temporary files of an edit are named: its operation, and its number there.
pub(crate) fn stem(id: &str, step: usize) -> String {
    format!("{id}.{step}")
}

/// Where the new content of an edit is made, the first time.
pub(crate) fn fresh_path(id: &str, step: usize) -> VaultPath {
    fresh_at(&format!("{}.0", stem(id, step)))
}

fn fresh_at(attempt: &str) -> VaultPath {
    folders::tx().join(&format!("{attempt}.fresh")).unwrap_or_default()
}

/// The new content of an edited file, before it is made.
pub(crate) struct Fresh {
    /// Stays open to the end, so that its number cannot be given to another.
    file: Box<dyn OpenFile>,
    pieces: Vec<Piece>,
    /// What it is made from
    pub(crate) base: FileId,
    /// Whose that is, and who may read it: so it stays
    pub(crate) like: Attributes,
}

/// The new content of an edited file, made and durable under [`fresh_path`], before the edit counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prepared {
    /// The number of the edit
    pub(crate) step: usize,
    /// What it was made from
    pub(crate) base: FileId,
    /// Which file it is
    pub(crate) ours: FileId,
}

impl Fresh {
    /// What an edit would make of its file as it is now; nothing if there is nothing to do, or not here.
    pub(crate) fn of(fs: &dyn Vfs, edit: &Edit, locate: &Locate<'_>) -> Result<Option<Self>, PathError> {
        if fs.is_link(&edit.target)? {
            return Ok(None);
        }
        Ok(Self::look(fs, &edit.target, &[edit], locate)?.1)
    }

    /// What becomes of each edit of a file as it is now, and the new content, if there is any.
    fn look(
        fs: &dyn Vfs,
        target: &VaultPath,
        edits: &[&Edit],
        locate: &Locate<'_>,
    ) -> Result<(Vec<Verdict>, Option<Self>), PathError> {
        let void = || (vec![Verdict::Conflict; edits.len()], None);
        let fail = |source| PathError { path: target.clone(), doing: "read", source };
        let file = match fs.open(target) {
            Ok(file) => file,
            Err(e) if e.is_missing() => return Ok(void()),
            Err(e) => return Err(e),
        };
        let base = FileId::from(file.identity().map_err(fail)?);
        let (verdicts, pieces) = revise_all(edits, &*file, locate).map_err(fail)?;
        let Some(pieces) = pieces else { return Ok((verdicts, None)) };
        Ok(match fs.attributes(target)? {
            Some(like) => (verdicts, Some(Self { file, pieces, base, like })),
            None => void(),
        })
    }

    pub(crate) fn parts(&self) -> Vec<Part<'_>> {
        let pieces = self.pieces.iter();
        pieces
            .map(|piece| match piece {
                Piece::Bytes(bytes) => Part::Bytes(bytes),
                Piece::Range(range) => Part::Range(&*self.file, range.clone()),
            })
            .collect()
    }
}

/// Makes edits of one file, all that can be made in one exchange. `stem` names their temporary files. Gives what became of each; nothing
/// of those that are about the same place as another one, and are to be made after it. New content that is made already is that of one edit.
pub(crate) fn swap(
    fs: &dyn Vfs,
    target: &VaultPath,
    edits: &[&Edit],
    stem: &str,
    locate: &Locate<'_>,
    prepared: Option<&Prepared>,
) -> Result<Vec<Option<Swapped>>, PathError> {
    let mut verdicts = vec![Verdict::Made; edits.len()];
    for attempt in 0..TRIES {
        let name = format!("{stem}.{attempt}");
        let tried = match prepared.filter(|_| attempt == 0) {
            Some(prepared) => try_prepared(fs, target, &name, prepared)?,
            None => {
                let (found, fresh) = Fresh::look(fs, target, edits, locate)?;
                verdicts = found;
                try_swap(fs, target, &verdicts, fresh, &name)?
            }
        };
        match tried {
            Attempt::Done(files) => return Ok(told(&verdicts, Swapped::Done(files))),
            // Where files cannot trade names they never will: files that SillyTavern writes, too, are left alone there.
            Attempt::Unsupported => return Ok(told(&verdicts, Swapped::Void)),
            Attempt::Disturbed => {}
        }
    }
    Ok(told(&verdicts, Swapped::Pending))
}

/// What became of each edit, if this became of those that were to be made. The files are told once.
fn told(verdicts: &[Verdict], made: Swapped) -> Vec<Option<Swapped>> {
    let mut made = std::iter::once(made).chain(std::iter::repeat(match made {
        Swapped::Done(_) => Swapped::Done(None),
        other => other,
    }));
    let of = |verdict: &Verdict| match verdict {
        Verdict::Made => made.next(),
        Verdict::Already => Some(Swapped::Done(None)),
        Verdict::Conflict => Some(Swapped::Void),
        Verdict::Later => None,
    };
    verdicts.iter().map(of).collect()
}

enum Attempt {
    Done(Option<(FileId, FileId)>),
    Disturbed,
    Unsupported,
}

fn try_swap(
    fs: &dyn Vfs,
    target: &VaultPath,
    verdicts: &[Verdict],
    fresh: Option<Fresh>,
    stem: &str,
) -> Result<Attempt, PathError> {
    let Some(fresh) = fresh else {
        if verdicts.contains(&Verdict::Already) {
            // It may be there only in memory: whoever put it there may have been killed before the sync.
            fs.sync_dir(&target.parent())?;
        }
        return Ok(Attempt::Done(None));
    };
    let path = fresh_at(stem);
    fs.assemble_durably(&[New { path: &path, parts: &fresh.parts(), like: &fresh.like }])?;
    let ours = FileId::from(fs.identity(&path)?.ok_or_else(|| missing(&path))?);
    trade(fs, target, stem, fresh.base, ours)
}

/// As [`try_swap`], with new content that is made already, if the file is still the one that it was made from.
fn try_prepared(
    fs: &dyn Vfs,
    target: &VaultPath,
    stem: &str,
    prepared: &Prepared,
) -> Result<Attempt, PathError> {
    // Open to the end, as above.
    let file = fs.open(target);
    if identity(fs, target)? != Some(prepared.base) {
        remove(fs, &fresh_at(stem))?;
        return Ok(Attempt::Disturbed);
    }
    let done = trade(fs, target, stem, prepared.base, prepared.ours);
    drop(file);
    done
}

/// Lets new content, which is durable, and the file that it was made from trade names.
fn trade(
    fs: &dyn Vfs,
    target: &VaultPath,
    stem: &str,
    base: FileId,
    ours: FileId,
) -> Result<Attempt, PathError> {
    let swap = folders::tx().join(&format!("{stem}.swap.{base}.{ours}")).unwrap_or_default();
    fs.rename_noreplace(&fresh_at(stem), &swap)?;
    // Looking again right before shrinks the race from the time of copying to microseconds.
    if identity(fs, target)? != Some(base) {
        clean(fs, &swap)?;
        return Ok(Attempt::Disturbed);
    }
    if let Err(e) = fs.exchange(&swap, target) {
        if e.is_taken() {
            return superseded(fs, &swap, target);
        }
        clean(fs, &swap)?;
        // Deleted in this instant, or no such thing on this file system.
        return match e {
            e if e.is_missing() => Ok(Attempt::Disturbed),
            e if e.is_unsupported() => Ok(Attempt::Unsupported),
            e => Err(e),
        };
    }
    let mut out = match identity(fs, &swap) {
        // Somebody put a link there in this very instant. It is not ours to follow.
        Err(_) if fs.is_link(&swap)? => {
            match fs.exchange(&swap, target) {
                Err(e) if e.is_taken() => return superseded(fs, &swap, target),
                traded => traded?,
            }
            clean(fs, &swap)?;
            return Ok(Attempt::Disturbed);
        }
        out => out?,
    };
    if out == Some(base) {
        fs.sync_dir(&target.parent())?;
        clean(fs, &swap)?;
        return Ok(Attempt::Done(Some((base, ours))));
    }
    // A save slipped in: give it back. Repeat while yet newer ones turn up.
    let mut saves: Vec<FileId> = Vec::new();
    while let Some(save) = out.filter(|out| *out != ours && !saves.contains(out)) {
        saves.push(save);
        write_note(fs, &swap, &saves)?;
        match fs.exchange(&swap, target) {
            Err(e) if e.is_taken() => return superseded(fs, &swap, target),
            traded => traded?,
        }
        out = identity(fs, &swap)?;
    }
    fs.sync_dir(&target.parent())?;
    clean(fs, &swap)?;
    Ok(Attempt::Disturbed)
}

/// Somebody saved while the name was free: what is there now is newer than everything that we hold.
fn superseded(fs: &dyn Vfs, swap: &VaultPath, target: &VaultPath) -> Result<Attempt, PathError> {
    fs.sync_dir(&target.parent())?;
    remove(fs, &aside(swap))?;
    clean(fs, swap)?;
    Ok(Attempt::Disturbed)
}

fn identity(fs: &dyn Vfs, path: &VaultPath) -> Result<Option<FileId>, PathError> {
    Ok(fs.identity(path)?.map(FileId::from))
}

fn missing(path: &VaultPath) -> PathError {
    PathError { path: path.clone(), doing: "look at", source: std::io::ErrorKind::NotFound.into() }
}

fn write_note(fs: &dyn Vfs, swap: &VaultPath, saves: &[FileId]) -> Result<(), PathError> {
    let note = note_path(swap, saves.len() - 1);
    let text = saves.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let hash = blake3::hash(text.as_bytes()).to_hex();
    fs.create(&note, format!("{text}\n{hash}").as_bytes())?;
    fs.sync_file(&note)?;
    fs.sync_dir(&folders::tx())
}

fn note_path(swap: &VaultPath, n: usize) -> VaultPath {
    swap.parent().join(&format!("{}.note{n}", swap.name())).unwrap_or_default()
}

/// The swap's own file first, its notes last: what came out never stands there without its notes.
fn clean(fs: &dyn Vfs, swap: &VaultPath) -> Result<(), PathError> {
    remove(fs, swap)?;
    for note in notes(fs, swap)? {
        remove(fs, &note)?;
    }
    Ok(())
}

/// Takes a file of ours away; it may be gone already.
pub(crate) fn remove(fs: &dyn Vfs, path: &VaultPath) -> Result<(), PathError> {
    match fs.unlink(path) {
        Err(e) if e.is_missing() => Ok(()),
        other => other,
    }
}

fn notes(fs: &dyn Vfs, swap: &VaultPath) -> Result<Vec<VaultPath>, PathError> {
    let prefix = format!("{}.note", swap.name());
    let nodes = fs.list(&swap.parent())?.into_iter();
    let nodes = nodes.filter(|node| node.name.starts_with(&prefix));
    Ok(nodes.filter_map(|node| swap.parent().join(&node.name).ok()).collect())
}

/// The saves that the newest whole note lists, oldest first.
fn read_notes(fs: &dyn Vfs, swap: &VaultPath) -> Result<Vec<FileId>, PathError> {
    let mut best = Vec::new();
    for note in notes(fs, swap)? {
        let Some(bytes) = fs.read(&note)? else { continue };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((list, hash)) = text.rsplit_once('\n') else { continue };
        if *blake3::hash(list.as_bytes()).to_hex() != *hash {
            continue;
        }
        let saves: Vec<FileId> = list.lines().filter_map(FileId::read).collect();
        if saves.len() > best.len() {
            best = saves;
        }
    }
    Ok(best)
}

/// How new a file is, as far as a swap's names and notes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// What the swap was made from, or the swap's own: one is as old as the other.
    Base,
    /// A save that came out.
    Save(usize),
    /// Nobody knows it: the newest.
    Unknown,
}

/// Settles a swap that a crash cut short: of the two files the newer stays in place, and no save is dropped.
/// `stem` is the part of the names before the attempt's number.
pub(crate) fn settle(fs: &dyn Vfs, stem: &str, target: &VaultPath) -> Result<(), PathError> {
    let tx = folders::tx();
    for node in fs.list(&tx)? {
        if let Some(swap) = waits_beside(&node.name).filter(|name| name.starts_with(&format!("{stem}.")))
            && let Ok(swap) = tx.join(swap)
        {
            put_back(fs, &swap, target)?;
        }
    }
    for node in fs.list(&tx)? {
        let Some(rest) = node.name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.')) else {
            continue;
        };
        let Ok(path) = tx.join(&node.name) else { continue };
        if rest.ends_with(".fresh") {
            remove(fs, &path)?;
        } else if !rest.contains(".note")
            && let Some((base, ours)) = swap_name(rest)
        {
            settle_one(fs, &path, target, base, ours)?;
        }
    }
    // Notes whose swap is gone.
    for node in fs.list(&tx)? {
        let rest = node.name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'));
        if rest.is_some_and(|rest| rest.contains(".note"))
            && let Ok(path) = tx.join(&node.name)
        {
            remove(fs, &path)?;
        }
    }
    Ok(())
}

/// Brings an exchange that was cut between its steps to one of its ends: not begun, or done.
fn put_back(fs: &dyn Vfs, swap: &VaultPath, target: &VaultPath) -> Result<(), PathError> {
    let waits = aside(swap);
    // A free name is given back whatever became of ours: a power cut may have taken that.
    let free = [target, swap].into_iter().map(|path| Ok((path, fs.identity(path)?.is_none())));
    let free: Vec<(&VaultPath, bool)> = free.collect::<Result<_, PathError>>()?;
    let Some((to, _)) = free.into_iter().find(|(_, free)| *free) else {
        // Somebody has saved since: theirs is newer than what waits. If nobody knows that, it is kept.
        let file = identity(fs, &waits)?;
        let known = file.is_some_and(|file| read_notes(fs, swap).is_ok_and(|saves| saves.contains(&file)));
        return if !known && is_strange(swap.name(), file) { park(fs, &waits) } else { remove(fs, &waits) };
    };
    match fs.rename_noreplace(&waits, to) {
        // In this very instant: the next start sees which.
        Err(e) if e.is_taken() => Ok(()),
        Err(e) => Err(e),
        Ok(()) => fs.sync_dir(&to.parent()),
    }
}

fn swap_name(rest: &str) -> Option<(FileId, FileId)> {
    let (_, ids) = rest.split_once(".swap.")?;
    let (base, ours) = ids.split_once('.')?;
    Some((FileId::read(base)?, FileId::read(ours)?))
}

fn settle_one(
    fs: &dyn Vfs,
    swap: &VaultPath,
    target: &VaultPath,
    base: FileId,
    ours: FileId,
) -> Result<(), PathError> {
    let saves = read_notes(fs, swap)?;
    let rank = |file: FileId| match saves.iter().position(|save| *save == file) {
        Some(n) => Rank::Save(n),
        None if file == base || file == ours => Rank::Base,
        None => Rank::Unknown,
    };
    // What cannot be looked at, on either side, waits until it can be: it must not keep everything else waiting.
    let (Ok(out), Ok(there)) = (identity(fs, swap), identity(fs, target)) else { return Ok(()) };
    let Some(out) = out else { return Ok(()) };
    match there.map(rank) {
        // The target was deleted since. What we hold is put back only if it is somebody's save; our own copy is not.
        None if rank(out) != Rank::Base => {
            if let Err(e) = fs.rename_noreplace(swap, target)
                && !e.is_taken()
            {
                return Err(e);
            }
            fs.sync_dir(&target.parent())?;
        }
        Some(there) if rank(out) > there => {
            match fs.exchange(swap, target) {
                Err(e) if e.is_taken() => return superseded(fs, swap, target).map(drop),
                traded => traded?,
            }
            fs.sync_dir(&target.parent())?;
        }
        // Unknown in both places: the one in place came later; the other is kept aside.
        Some(_) if rank(out) == Rank::Unknown => {
            park(fs, swap)?;
        }
        _ => {}
    }
    clean(fs, swap)
}

/// Whether a left-over swap holds something that is neither what it was made from nor its own.
pub(crate) fn is_strange(name: &str, file: Option<FileId>) -> bool {
    let name = waits_beside(name).unwrap_or(name);
    let ids = if name.contains(".note") { None } else { swap_name(name) };
    ids.is_some_and(|(base, ours)| file.is_some_and(|file| file != base && file != ours))
}
