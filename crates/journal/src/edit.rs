//! Making [`Edit`]s on a file as it is now: [`revise_all`] gives the new content as pieces, or says why there is none.
//!
//! An edit says what it found and what it leaves, never the bytes of the file. So it fits whatever the file holds by now: a
//! value that is already as it should be is left; one that somebody else has changed since is theirs.

use std::io;
use std::ops::Range;

use forklore_core::adapter::bindings::Bindings;
use forklore_core::format::chat::{BOM, Header, Line};
use forklore_fs::{OpenFile, PathError, Vfs};
use forklore_json::{Kind, PathPart, Raw, Splice};

use crate::error::unreadable;
use crate::operation::{Edit, JsonChange, Listed, Place};

/// What an edit makes of its place in a file.
enum Revised {
    /// What is to stand there
    Changed(Vec<u8>),
    /// Everything is already as it should be.
    Already,
    /// Somebody else has changed what was to be changed, or it is gone.
    Conflict,
}

/// What becomes of one of several edits of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is made with the others.
    Made,
    /// Everything is already as it should be.
    Already,
    /// Somebody else has changed what was to be changed, or it is gone.
    Conflict,
    /// It is about a place that one before it changes: it is made when that is done.
    Later,
}

/// A piece of the new content.
#[derive(Debug)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Range(Range<u64>),
}

/// Finds a message of a chat: its line's place in the file.
pub type Locate<'a> = dyn Fn(&Edit, &dyn OpenFile) -> io::Result<Option<Range<u64>>> + 'a;

/// Below this much that follows an edited line it does not matter where it comes to lie.
const WORTH_ALIGNING: u64 = 1 << 20;
/// Blocks that file systems share between files.
const SHARED_BLOCK: u64 = 4096;

/// What becomes of each edit of one file, and the file with all of them made that can be; nothing if it stays as it is.
pub(crate) fn revise_all(
    edits: &[&Edit],
    file: &dyn OpenFile,
    locate: &Locate<'_>,
) -> io::Result<(Vec<Verdict>, Option<Vec<Piece>>)> {
    let mut changed: Vec<(Range<u64>, Vec<u8>)> = Vec::new();
    let mut verdicts = Vec::new();
    for edit in edits {
        let Some(place) = place_of(edit, file, locate)? else {
            verdicts.push(Verdict::Conflict);
            continue;
        };
        // Whether it fits is seen when the one before it has been made: it may be about what that one leaves.
        if changed.iter().any(|(there, _)| there.start < place.end && place.start < there.end) {
            verdicts.push(Verdict::Later);
            continue;
        }
        verdicts.push(match revise(edit, file, &place)? {
            Revised::Already => Verdict::Already,
            Revised::Conflict => Verdict::Conflict,
            Revised::Changed(bytes) => {
                changed.push((place, bytes));
                Verdict::Made
            }
        });
    }
    if changed.is_empty() {
        return Ok((verdicts, None));
    }
    changed.sort_by_key(|(place, _)| place.start);
    let (mut pieces, mut at) = (Vec::new(), 0);
    for (place, bytes) in changed {
        pieces.extend([Piece::Range(at..place.start), Piece::Bytes(bytes)]);
        at = place.end;
    }
    pieces.push(Piece::Range(at..file.identity()?.len));
    Ok((verdicts, Some(pieces)))
}

/// Where the value is that an edit is about, if it is there.
fn place_of(edit: &Edit, file: &dyn OpenFile, locate: &Locate<'_>) -> io::Result<Option<Range<u64>>> {
    Ok(match edit.place {
        Place::Document => Some(0..file.identity()?.len),
        Place::Header => Some(header_line(file)?),
        Place::Message { .. } => locate(edit, file)?,
    })
}

/// What an edit makes of its place.
fn revise(edit: &Edit, file: &dyn OpenFile, place: &Range<u64>) -> io::Result<Revised> {
    let len = file.identity()?.len;
    let mut bytes = file.read_range(place.clone())?;
    let mark = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let mut changed = false;
    for change in &edit.changes {
        // Each change is found in the value as the ones before it left it.
        let Ok(value) = Raw::parse(&bytes[mark..]) else { return Ok(Revised::Conflict) };
        let offset = mark + value.range_in(&bytes[mark..]).map_or(0, |range| range.start);
        match splice(value, change) {
            Found::Splice(mut splice) => {
                splice.range = splice.range.start + offset..splice.range.end + offset;
                bytes = splice.apply(&bytes);
                changed = true;
            }
            Found::Already => {}
            Found::Conflict => return Ok(Revised::Conflict),
        }
    }
    if !changed {
        return Ok(Revised::Already);
    }
    if edit.place != Place::Document {
        // A line stays one line, whatever was put into it: in valid JSON a newline is never more than a blank.
        bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    let after = len.saturating_sub(place.end);
    if edit.back && edit.place != Place::Document {
        set_blanks(&mut bytes, edit.blanks);
    } else if after > WORTH_ALIGNING {
        set_blanks(&mut bytes, 0);
        pad(&mut bytes, place.end - place.start);
    }
    Ok(Revised::Changed(bytes))
}

/// Blanks at the end of a line, so that what follows lies in its block as it did before and can be shared instead of copied.
/// SillyTavern reads over them, and drops them with its next save.
pub fn pad(line: &mut Vec<u8>, as_before: u64) {
    let len = line.len() as u64;
    let blanks = (as_before % SHARED_BLOCK + SHARED_BLOCK - len % SHARED_BLOCK) % SHARED_BLOCK;
    // The carriage return of a file from Windows stays last.
    let at = line.len() - usize::from(line.ends_with(b"\r"));
    line.splice(at..at, std::iter::repeat_n(b' ', usize::try_from(blanks).unwrap_or(0)));
}

/// How many blanks a line ends with, before the carriage return of a file from Windows.
fn blanks(line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.iter().rev().take_while(|byte| **byte == b' ').count()
}

/// The line with so many blanks at its end.
fn set_blanks(line: &mut Vec<u8>, wanted: u64) {
    let end = line.len() - usize::from(line.ends_with(b"\r"));
    let wanted = std::iter::repeat_n(b' ', usize::try_from(wanted).unwrap_or(0));
    line.splice(end - blanks(line)..end, wanted);
}

/// How many blanks the line ends with that an edit means; none if there is no such line.
pub(crate) fn blanks_of(fs: &dyn Vfs, edit: &Edit, locate: &Locate<'_>) -> Result<u64, PathError> {
    let fail = |source| unreadable(&edit.target, source);
    let file = match fs.open(&edit.target) {
        Ok(file) => file,
        Err(e) if e.is_missing() => return Ok(0),
        Err(e) => return Err(e),
    };
    let place = match edit.place {
        Place::Document => None,
        Place::Header => Some(header_line(&*file).map_err(fail)?),
        Place::Message { .. } => locate(edit, &*file).map_err(fail)?,
    };
    let Some(place) = place else { return Ok(0) };
    // More than what was ever added.
    let end = file
        .read_range(place.start.max(place.end.saturating_sub(2 * SHARED_BLOCK))..place.end)
        .map_err(fail)?;
    Ok(blanks(&end) as u64)
}

/// The first line that SillyTavern would keep, without its newline.
pub fn header_line(file: &dyn OpenFile) -> io::Result<Range<u64>> {
    let len = file.identity()?.len;
    let mut start = 0;
    loop {
        let end = line_end(file, start, len)?;
        let line = file.read_range(start..end)?;
        let kept = matches!(Line::read(line.strip_prefix(BOM).unwrap_or(&line)), Line::Element(_));
        if end >= len || kept {
            return Ok(start..end);
        }
        start = end + 1;
    }
}

fn line_end(file: &dyn OpenFile, start: u64, len: u64) -> io::Result<u64> {
    let mut buffer = vec![0; 64 << 10];
    let mut at = start;
    while at < len {
        let got = file.read_at(&mut buffer, at)?;
        if got == 0 {
            break;
        }
        if let Some(newline) = memchr::memchr(b'\n', &buffer[..got]) {
            return Ok(at + newline as u64);
        }
        at += got as u64;
    }
    Ok(len)
}

/// The slug of a chat and the names of the books that it is bound to, as its header has them.
pub(crate) fn header_of(file: &dyn OpenFile) -> io::Result<(Option<String>, Vec<String>)> {
    let line = file.read_range(header_line(file)?)?;
    let raw = Raw::parse(line.strip_prefix(BOM).unwrap_or(&line)).unwrap_or(Raw::NULL);
    let header = Header::new(raw);
    let books = Bindings::of(header).all().map(str::to_owned).collect();
    Ok((header.slug().map(std::borrow::Cow::into_owned), books))
}

/// What an edit would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Would {
    /// Change the file
    Edit,
    /// Nothing: the file is as the edit wants it, or is gone
    Nothing,
    /// Nothing: somebody else has changed what it is about
    Conflict,
}

/// What an edit would do to its file as it is now.
pub fn would_edit(fs: &dyn Vfs, edit: &Edit, known: &Locate<'_>) -> Result<Would, PathError> {
    let file = match fs.open(&edit.target) {
        Ok(file) => file,
        Err(e) if e.is_missing() => return Ok(Would::Nothing),
        Err(e) => return Err(e),
    };
    let fail = |source| unreadable(&edit.target, source);
    let Some(place) = place_of(edit, &*file, known).map_err(fail)? else { return Ok(Would::Conflict) };
    Ok(match revise(edit, &*file, &place).map_err(fail)? {
        Revised::Changed(_) => Would::Edit,
        Revised::Already => Would::Nothing,
        Revised::Conflict => Would::Conflict,
    })
}

enum Found {
    Splice(Splice),
    Already,
    Conflict,
}

fn splice(value: Raw<'_>, change: &JsonChange) -> Found {
    match change {
        JsonChange::Set { path, from, to, next, made } => {
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            let steps: Vec<PathPart<'_>> = keys.iter().map(|key| PathPart::Key(key)).collect();
            let now = value.at(&keys);
            let is = |wanted: &Option<crate::operation::Json>| match (now, wanted) {
                (None, None) => true,
                (Some(now), Some(wanted)) => now.says_the_same(Raw::trust(wanted.bytes())),
                _ => false,
            };
            if is(to) {
                return Found::Already;
            }
            if !is(from) {
                return Found::Conflict;
            }
            match to {
                Some(to) => forklore_json::set_before(value, &steps, to.bytes(), next.as_deref())
                    .map_or(Found::Conflict, Found::Splice),
                None => {
                    let steps = &steps[..steps.len() - emptied(value, &keys, *made)];
                    forklore_json::remove(value, steps).map_or(Found::Already, Found::Splice)
                }
            }
        }
        JsonChange::Include(Listed { path, text, at, .. }) => {
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            let steps: Vec<PathPart<'_>> = keys.iter().map(|key| PathPart::Key(key)).collect();
            let quoted = forklore_json::quote(text);
            let made = match value.at(&keys) {
                Some(list) if list.kind() == Kind::Array => {
                    if list.elements().any(|element| element.is_text(text)) {
                        return Found::Already;
                    }
                    forklore_json::insert(value, &steps, at.unwrap_or(usize::MAX), &quoted)
                }
                Some(other) if other.kind() != Kind::Null => return Found::Conflict,
                _ => forklore_json::set(value, &steps, &[b"[", &quoted[..], b"]"].concat()),
            };
            made.map_or(Found::Conflict, Found::Splice)
        }
        JsonChange::Exclude(Listed { path, text, alone, made, null, .. }) => {
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            let list = value.at(&keys).unwrap_or(Raw::NULL);
            let Some(n) = list.elements().position(|element| element.is_text(text)) else {
                return Found::Already;
            };
            let mut steps: Vec<PathPart<'_>> = keys.iter().map(|key| PathPart::Key(key)).collect();
            let last = list.elements().nth(1).is_none();
            if *null && last {
                return forklore_json::set(value, &steps, b"null").map_or(Found::Conflict, Found::Splice);
            }
            if *alone && last {
                steps.truncate(steps.len() - emptied(value, &keys, *made));
            } else {
                steps.push(PathPart::Index(n));
            }
            forklore_json::remove(value, &steps).map_or(Found::Already, Found::Splice)
        }
    }
}

/// How many of the objects that came with the value at a path hold nothing else, and go with it.
fn emptied(value: Raw<'_>, path: &[&str], made: usize) -> usize {
    let holds_one = |up: &usize| {
        let object = value.at(&path[..path.len() - up]);
        object.is_some_and(|object| object.kind() == Kind::Object && object.members().nth(1).is_none())
    };
    (1..path.len()).take(made).take_while(holds_one).count()
}
