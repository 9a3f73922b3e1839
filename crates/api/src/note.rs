//! History of what Forklore itself does: [`since`] records what new operations touched.

use std::collections::HashSet;
use std::sync::Arc;

use forklore_config::Config;
use forklore_fs::Vfs;
use forklore_journal::oplog::{self, OpLog};
use forklore_vault::history;

use crate::{Failure, now};

/// So many bytes are recorded at once; more is better left to somebody else, because nobody should wait for it.
const AT_ONCE: u64 = 4 << 20;

/// The operations that there are.
pub fn operations(fs: &dyn Vfs) -> HashSet<String> {
    // A log that cannot be read is told by whoever reads it.
    oplog::ids(fs).unwrap_or_default()
}

/// Records what the operations touched that were not there `before`. Those that touched much are offered to `elsewhere` first.
pub fn since(
    fs: &Arc<dyn Vfs>,
    before: &HashSet<String>,
    elsewhere: &dyn Fn(&str) -> bool,
) -> Result<(), Failure> {
    let fresh: Vec<String> = operations(&**fs).difference(before).cloned().collect();
    if fresh.is_empty() || !Config::load(&**fs)?.history.operations {
        return Ok(());
    }
    let log = OpLog::read(&**fs)?;
    for id in fresh {
        let mut bytes = 0;
        for file in history::touched(log.find(&id)?) {
            bytes += fs.identity(&file)?.map_or(0, |identity| identity.len);
        }
        // Nobody listens to who records elsewhere: that history cannot be added to is found out here, where it is told.
        let _open = history::store_to_add(fs)?;
        if bytes <= AT_ONCE || !elsewhere(&id) {
            history::note(fs, log.find(&id)?, now())?;
        }
    }
    Ok(())
}

/// Records what one operation touched.
pub fn one(fs: &Arc<dyn Vfs>, id: &str) -> Result<(), Failure> {
    let log = OpLog::read(&**fs)?;
    history::note(fs, log.find(id)?, now())?;
    Ok(())
}
