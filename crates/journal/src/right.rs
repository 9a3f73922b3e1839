//! [`Right`]: one Forklore changes a vault at a time. [`hold`]: and none, while somebody looks who was disturbed too often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forklore_fs::{Lock, PathError, VaultPath, Vfs};

use crate::edit::Locate;
use crate::error::TxError;
use crate::folders;
use crate::recovery::{Recovered, recover_locked};

/// The right to change a vault: one Forklore has it at a time. Who plans and acts under the same right plans from what is there.
#[derive(Debug, Clone)]
pub struct Right {
    _lock: Arc<Lock>,
    /// What had been cut off before, and is finished or taken back now.
    pub recovered: Vec<Recovered>,
}

impl Right {
    /// Takes the right, and finishes what was cut off before. `known` finds messages in chats, `now` is in milliseconds since 1970.
    pub fn take(fs: &dyn Vfs, known: &Locate<'_>, now: i64) -> Result<Self, TxError> {
        make_folders(fs)?;
        // Whoever looks is waited for; whoever changes something is not.
        let _turn = wait_for(fs, &folders::turn(), PATIENCE)?;
        let lock = fs.lock(&folders::lock())?.ok_or(TxError::Busy)?;
        let recovered = recover_locked(fs, known, now)?;
        Ok(Self { _lock: Arc::new(lock), recovered })
    }
}

/// So long one who looks is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

fn wait_for(fs: &dyn Vfs, lock: &VaultPath, patience: Duration) -> Result<Option<Lock>, PathError> {
    let begun = Instant::now();
    loop {
        match fs.lock(lock)? {
            None if begun.elapsed() < patience => std::thread::sleep(Duration::from_millis(10)),
            lock => return Ok(lock),
        }
    }
}

/// Lets nobody change a vault while somebody looks who was disturbed too often. Nothing, if others do not let go within `patience`, or the
/// vault cannot be locked at all.
pub fn hold(fs: &dyn Vfs, patience: Duration) -> Option<(Lock, Lock)> {
    // First the turn: whoever comes now waits for it, and only the one who is at work already has to finish.
    let turn = wait_for(fs, &folders::turn(), patience).ok()??;
    let lock = wait_for(fs, &folders::lock(), patience).ok()??;
    Some((turn, lock))
}

/// Folders that a power cut takes away would take the intent with them: they are made durable before anything is in them.
fn make_folders(fs: &dyn Vfs) -> Result<(), PathError> {
    let own = folders::tx().parent();
    // What Forklore keeps are parts of chats: nobody else is to read them, also where an older Forklore let them.
    fs.make_private_dir(&own)?;
    let there = fs.list(&own)?;
    let wanted = [folders::tx(), folders::ops(), folders::objects()];
    if wanted.iter().all(|folder| there.iter().any(|node| node.name == folder.name())) {
        return Ok(());
    }
    wanted.iter().try_for_each(|folder| fs.make_dir(folder))?;
    fs.sync_dir(&own)?;
    fs.sync_dir(&own.parent())
}
