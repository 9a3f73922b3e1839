//! [`resolve`]: an operation that waits for a chat which SillyTavern saves itself is settled when the chat has, or has not, come.

use forklore_core::format::names::book_stem;
use forklore_fs::{PathError, Vfs};

use crate::edit::{self, Locate};
use crate::folders::{self, in_tx, intent_path};
use crate::operation::{self, Awaits, Operation, Unsealed};
use crate::recovery::{Recovered, recover_one};
use crate::transaction::{TxError, unreadable};

/// Settles a prepared operation: commits it if its chat has come, takes it back if not. `None` if there is no such operation. `known`
/// finds messages in chats.
pub fn resolve(fs: &dyn Vfs, id: &str, known: &Locate<'_>, now: i64) -> Result<Option<Recovered>, TxError> {
    let _lock = fs.lock(&folders::lock())?.ok_or(TxError::Busy)?;
    let Some(bytes) = fs.read(&intent_path(id))? else { return Ok(None) };
    match operation::unseal(&bytes, id) {
        // Nobody saves any more: what has not come now will not come.
        Ok(operation) => {
            let now = operation.awaits.as_ref().map_or(now, |awaits| awaits.until.max(now));
            Ok(recover_one(fs, &operation, known, now)?)
        }
        Err(Unsealed::Newer(version)) => Err(TxError::Newer(version)),
        Err(Unsealed::Torn | Unsealed::Foreign) => Ok(None),
    }
}

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
    let (slug, book) = edit::header_of(&*file).map_err(|source| unreadable(&awaits.target, source))?;
    let book = book.map(|name| format!("{}.json", book_stem(&name)));
    let bound = operation.publishes().all(|publish| book.as_deref() == Some(publish.target.name()));
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
