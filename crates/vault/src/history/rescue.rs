//! [`rescue`]: on first contact, SillyTavern's own backups are read in, so that the past of a vault is there from the first minute.

use std::collections::{BTreeMap, HashSet};

use forklore_core::format::chat::Header;
use forklore_core::story::MessageId;
use forklore_fs::VaultPath;
use forklore_json::Raw;

use super::look::Depth;
use super::recorder::{Recorder, Sight};
use super::{By, HistoryError};
use crate::progress::Progress;
use crate::{ChatIx, Library};

/// Records the backups of chats that history has never seen, oldest first, and says how many told something new.
///
/// Whose backup it is, its slug and its messages tell: SillyTavern names them after the character.
pub fn rescue(library: &Library, now: i64, progress: &dyn Progress) -> Result<usize, HistoryError> {
    let mut recorder = Recorder::open(library.fs.clone())?;
    let known: HashSet<VaultPath> = recorder.files().cloned().collect();
    let mut backups: BTreeMap<VaultPath, Vec<ChatIx>> = BTreeMap::new();
    // Of one that was only given another name there is more than backups tell, which would come after it.
    let history = library.history()?;
    let seen = |chat: &crate::Chat| {
        known.contains(&chat.path) || history.is_some_and(|history| !history.track(&chat.path).is_empty())
    };
    for (c, _) in ChatIx::each(&library.chats).filter(|(_, chat)| !seen(chat)) {
        for backup in library.backups_of(c) {
            backups.entry(backup).or_default().push(c);
        }
    }
    let mut found: Vec<(String, u64, Sight)> = Vec::new();
    for (backup, chats) in backups {
        // One that cannot be read tells nothing; `check` names it.
        let Ok(Some(identity)) = library.fs.identity(&backup) else { continue };
        if let Some(c) = owner(library, &backup, &chats) {
            let name = backup.as_str().rsplit('/').next().unwrap_or_default().to_owned();
            let file = library.chats[c].path.clone();
            let sight = Sight { file, copy: Some(backup), by: By::Backup(name.clone()) };
            found.push((stamp(&name).to_owned(), identity.len, sight));
        }
    }
    // Their names say when they were made. When a file was changed says nothing: a vault may have been copied.
    found.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    progress.start("Reading SillyTavern's backups", found.iter().map(|(_, len, _)| len).sum());
    let mut told = 0;
    for (_, len, sight) in found {
        told += recorder.look_at(&[sight], Depth::Whole, now)?.recorded.len();
        progress.advance(len);
    }
    progress.finish();
    Ok(told)
}

/// The time that the name of a backup ends with, "20261118-110613"; nothing if it does not.
fn stamp(name: &str) -> &str {
    let stem = name.strip_suffix(".jsonl").unwrap_or(name);
    let end = stem.len().checked_sub("20261118-110613".len()).and_then(|at| stem.get(at..));
    end.filter(|end| end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')).unwrap_or_default()
}

/// The chat that a backup is of: with its slug, the same parent, and its last message on the line; of several, the one that has most of its
/// messages, for an imported chat has the slug of the one that was exported; of those the one that went beyond its fork by then.
fn owner(library: &Library, backup: &VaultPath, chats: &[ChatIx]) -> Option<ChatIx> {
    let kind = library.stories[library.chats[chats[0]].story].kind;
    let scan = library.scan_backup(backup, kind).ok().flatten()?;
    let last = scan.transcript.len().checked_sub(1)?;
    let header = scan.header.as_deref().map_or(Header::NONE, |header| Header::new(Raw::trust(header)));
    let is_of = |c: &&ChatIx| {
        let chat = &library.chats[**c];
        // Before version 1.19 a fork has the slug of its parent, but only the fork names a parent.
        let same = chat.header().slug() == header.slug() && chat.header().main_chat() == header.main_chat();
        same && chat.lineage.fork_message.is_none_or(|fork| fork <= last)
    };
    let candidates: Vec<ChatIx> = chats.iter().filter(is_of).copied().collect();
    let said: HashSet<MessageId> = scan.transcript.rows_from(0).map(|row| row.id).collect();
    let has =
        |c: ChatIx| library.chats[c].transcript.rows_from(0).filter(|row| said.contains(&row.id)).count();
    let likely = match candidates[..] {
        [only] => only,
        _ => candidates.into_iter().max_by_key(|c| (has(*c), library.chats[*c].lineage.fork_message))?,
    };
    let on_line = |n: &usize| {
        let moment = scan.transcript.moment(*n);
        moment.is_some() && moment == library.chats[likely].transcript.moment(*n)
    };
    (0..=last).rev().take(REACH).find(on_line).map(|_| likely)
}

/// So many of the last messages of a backup may have been deleted or rewritten since.
const REACH: usize = 20;
