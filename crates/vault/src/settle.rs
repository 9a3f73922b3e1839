//! The journal knows files and nothing of chats: where a message is that an operation changes, [`locate`] tells it. These are its doors with
//! that in hand.

use std::sync::Arc;

use forklore_fs::Vfs;
use forklore_journal::{Recovered, Right, Tx, TxError};

use crate::Library;
use crate::read::locate::locate;

/// See [`forklore_journal::recover()`].
pub fn recover(fs: &dyn Vfs, now: i64) -> Result<Vec<Recovered>, TxError> {
    forklore_journal::recover(fs, &|edit, file| locate(fs, edit, file), now)
}

/// See [`forklore_journal::resolve()`].
pub fn resolve(fs: &dyn Vfs, id: &str, now: i64) -> Result<Option<Recovered>, TxError> {
    forklore_journal::resolve(fs, id, &|edit, file| locate(fs, edit, file), now)
}

/// See [`Right::take`].
pub fn take_right(fs: &dyn Vfs, now: i64) -> Result<Right, TxError> {
    Right::take(fs, &|edit, file| locate(fs, edit, file), now)
}

/// An operation in a vault that nobody has read.
pub fn begin(fs: &Arc<dyn Vfs>, now: i64) -> Result<Tx, TxError> {
    Tx::begin(fs, take_right(&**fs, now)?, now)
}

impl Library {
    /// An operation, with the right that the library was read under, if it was.
    pub fn begin(&self, now: i64) -> Result<Tx, TxError> {
        match &self.right {
            Some(right) => Tx::begin(&self.fs, right.clone(), now),
            None => begin(&self.fs, now),
        }
    }
}
