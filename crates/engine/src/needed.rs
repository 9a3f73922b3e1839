//! [`needed`]: the images and files that no chat of the vault may link to any more, and that must stay all the same, because a chat that
//! links to them can still come back. Whoever clears up loose files, as SillyTavern's Data Maid does, is to leave them.
//!
//! A chat in the trash needs what it links to for as long as it is there. One that SillyTavern deleted itself is in no trash; history
//! can bring it back, and for `trash.days` it is treated alike.

use std::collections::{BTreeSet, HashMap};

use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_journal::object_path;
use forklore_journal::operation::Operation;
use forklore_journal::oplog::OpLog;
use forklore_vault::history::watch::is_chat;
use forklore_vault::history::{HistoryError, Observed, Timeline};
use forklore_vault::read::media::{self, Linked, Links};
use schemars::JsonSchema;
use serde::Serialize;

/// Files that must stay.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NeededReport {
    /// Their names in the vault
    pub files: Vec<String>,
}

const DAY: i64 = 24 * 60 * 60 * 1000;

/// What chats need that can come back. `days` is how long the trash keeps things, 0 for ever; `now` is in milliseconds since 1970.
pub fn needed(
    fs: &dyn Vfs,
    log: &OpLog,
    history: Option<&Timeline>,
    days: u32,
    now: i64,
) -> Result<NeededReport, HistoryError> {
    let mut links = Links::new();
    for (_, retire) in log.trash(fs)?.into_iter().filter(|(_, retire)| is_chat(&retire.target)) {
        let object = object_path(&retire.object);
        let fail = |source| PathError { path: object.clone(), doing: "read", source };
        links.extend(media::of_file(&*fs.open(&object)?, None).map_err(fail)?);
    }
    if let Some(history) = history {
        links.extend(deleted(fs, log, history, days, now)?);
    }
    let files: BTreeSet<&VaultPath> = links.iter().flat_map(Linked::places).collect();
    Ok(NeededReport { files: files.into_iter().map(|file| file.as_str().to_owned()).collect() })
}

/// What chats link to that are not there any more, and that history can bring back.
fn deleted(
    fs: &dyn Vfs,
    log: &OpLog,
    history: &Timeline,
    days: u32,
    now: i64,
) -> Result<Links, HistoryError> {
    // Of what Forklore deleted itself, the trash decides: what has left it is not wanted any more.
    let counts = |operation: &&Operation| log.undone_by(&operation.id).is_none();
    let retired =
        log.operations.iter().filter(counts).flat_map(|op| op.retires().map(|retire| (retire, op.at)));
    let retired: HashMap<&VaultPath, i64> = retired.map(|(retire, at)| (&retire.target, at)).collect();
    let limit = if days == 0 { i64::MIN } else { now.saturating_sub(i64::from(days) * DAY) };
    let mut links = Links::new();
    for chat in history.chats() {
        let track = || history.track(chat).iter().rev().map(|i| &history.seen[*i]);
        // One that nobody has missed yet went just now.
        let went = track().next().filter(|last| last.observation.what == Observed::Gone);
        if went.is_some_and(|went| went.observation.clock < limit) || fs.identity(chat)?.is_some() {
            continue;
        }
        let last = track().find_map(|seen| Some((seen, history.content(seen)?)));
        let Some((seen, content)) = last else { continue };
        if retired.get(chat).is_some_and(|at| *at >= seen.observation.clock) {
            continue;
        }
        let fail = |source| PathError { path: chat.clone(), doing: "read from history", source };
        links.extend(media::of_file(&*history.open(&content)?, None).map_err(fail)?);
    }
    Ok(links)
}
