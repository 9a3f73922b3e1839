//! [`has_come`]: what became of the chat that an operation waits for, which SillyTavern saves itself.

use forklore_core::format::names::book_stem;
use forklore_fs::{PathError, Vfs};

use crate::edit;
use crate::error::unreadable;
use crate::folders::in_tx;
use crate::operation::{Awaits, Operation};

/// What became of the chat that an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Come {
    /// It is not there, or another one is
    No,
    /// It is there, bound to the book that was made for it
    Bound,
    /// It is there and goes without that book: whoever saved it did not hear of the book any more
    Without,
}

pub(crate) fn has_come(fs: &dyn Vfs, operation: &Operation, awaits: &Awaits) -> Result<Come, PathError> {
    let file = match fs.open(&awaits.target) {
        Ok(file) => file,
        Err(e) if e.is_missing() => return Ok(Come::No),
        Err(e) => return Err(e),
    };
    let (slug, books) = edit::header_of(&*file).map_err(|source| unreadable(&awaits.target, source))?;
    let books: Vec<String> = books.iter().map(|name| format!("{}.json", book_stem(name))).collect();
    let bound = operation.publishes().all(|publish| books.iter().any(|book| book == publish.target.name()));
    Ok(match slug.as_deref() == Some(&*awaits.slug) {
        false => Come::No,
        true if bound => Come::Bound,
        true => Come::Without,
    })
}

/// Whether every new file of an operation is under its name.
pub(crate) fn is_published(fs: &dyn Vfs, operation: &Operation) -> Result<bool, PathError> {
    for publish in operation.publishes() {
        if fs.identity(&in_tx(&publish.staged))?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}
