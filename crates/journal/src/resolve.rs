//! [`resolve`]: an operation that waits for a chat which SillyTavern saves itself is settled when the chat has, or has not, come.

use forklore_fs::Vfs;

use crate::edit::Locate;
use crate::error::TxError;
use crate::folders::{self, intent_path};
use crate::recovery::{Recovered, recover_one};
use crate::seal::{Unsealed, unseal};

/// Settles a prepared operation: commits it if its chat has come, takes it back if not. `None` if there is no such operation. `known`
/// finds messages in chats.
pub fn resolve(fs: &dyn Vfs, id: &str, known: &Locate<'_>, now: i64) -> Result<Option<Recovered>, TxError> {
    let _lock = fs.lock(&folders::lock())?.ok_or(TxError::Busy)?;
    let Some(bytes) = fs.read(&intent_path(id))? else { return Ok(None) };
    match unseal(&bytes, id) {
        // Nobody saves any more: what has not come now will not come.
        Ok(operation) => {
            let now = operation.awaits.as_ref().map_or(now, |awaits| awaits.until.max(now));
            Ok(recover_one(fs, &operation, known, now)?)
        }
        Err(Unsealed::Newer(version)) => Err(TxError::Newer(version)),
        Err(Unsealed::Torn | Unsealed::Foreign) => Ok(None),
    }
}
