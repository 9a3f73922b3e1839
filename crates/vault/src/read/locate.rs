//! [`locate`]: where the message is that an edit means.

use std::io;
use std::ops::Range;

use forklore_core::story::{Row, Transcript};
use forklore_fs::{OpenFile, Vfs};
use forklore_journal::layout;
use forklore_journal::operation::{Edit, Place};

use super::scan::scan;
use crate::cache;

/// Where the message that an edit means is in a chat of which nothing else is known: the line of the message with that identity
/// that is nearest to where it stood.
pub fn locate(fs: &dyn Vfs, edit: &Edit, file: &dyn OpenFile) -> io::Result<Option<Range<u64>>> {
    let group = edit.target.as_str().starts_with(layout::GROUP_CHATS);
    let identity = file.identity()?;
    let known = cache::recall(fs, &edit.target, identity);
    let transcript = match known {
        Some(scan) => scan.transcript,
        None => scan(file, group)?.transcript,
    };
    Ok(locate_in(&transcript, edit))
}

/// As [`locate`], in a transcript that is known.
pub fn locate_in(transcript: &Transcript, edit: &Edit) -> Option<Range<u64>> {
    let Place::Message { index, id } = edit.place else { return None };
    let line = |row: Row| row.start..row.start + u64::from(row.len);
    let here = transcript.row(index).filter(|row| row.id.0 == id);
    here.map(line).or_else(|| {
        let others = transcript.rows_from(0).enumerate().filter(|(_, row)| row.id.0 == id);
        others.min_by_key(|(i, _)| i.abs_diff(index)).map(|(_, row)| line(row))
    })
}
