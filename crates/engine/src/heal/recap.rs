//! [`lost_recap`]: a running recap that an extension has wiped, from whoever still has it.

use forklore_core::adapter::auto_recap::running::{KEYS, RunningRecap};
use forklore_core::fork::header::{self as core_header, Revision};
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::Library;

/// The running recap of a chat that has none any more although its scenes were merged into one: as history saw it last, as a backup of
/// SillyTavern's has it, or as a relative tells it. With where it comes from, in words.
pub(super) fn lost_recap(library: &Library, c: usize) -> Result<Option<(Vec<Revision>, String)>, PathError> {
    let chat = &library.chats[c];
    // One that was begun anew goes on: two histories of one recap cannot be told apart by their numbers.
    if chat.running.as_ref().is_some_and(|running| !running.versions.is_empty()) {
        return Ok(None);
    }
    let stored = |metadata: Raw<'_>| {
        let running = RunningRecap::read(metadata)?;
        let here = |version: &_| library.scene_of(c, version);
        let projection = running.project(chat.head(), &here);
        let current = projection.current.filter(|place| running.versions[*place].is_whole())?;
        let versions = KEYS.iter().find_map(|key| metadata.get(key))?.get("versions")?.elements();
        // As they were read: those that have a number.
        let numbered = versions.filter(|version| version.get("version").and_then(Raw::as_i64).is_some());
        let versions: Vec<Vec<u8>> = numbered.map(|version| version.bytes().to_vec()).collect();
        let kept: Vec<Vec<u8>> =
            projection.kept.iter().filter_map(|place| versions.get(*place).cloned()).collect();
        Some((kept, running.versions[current].version))
    };
    let head = chat.head();
    let found = match library.header_then(c, head, &stored)? {
        Some((message, found)) => Some((found, format!("as history saw it at message {message}"))),
        None => match library.backup_header(c, head, &stored)? {
            Some((message, found)) => Some((found, format!("from a backup of message {message}"))),
            None => {
                let others = library.family(c).iter().copied().filter(|other| *other != c);
                let told = others.filter_map(|other| {
                    let found = stored(library.chats[other].header().metadata())?;
                    Some((found, format!("from \"{}\"", library.chats[other].name)))
                });
                told.max_by_key(|((versions, _), _)| versions.len())
            }
        },
    };
    let Some(((versions, current), from)) = found else { return Ok(None) };
    let key = KEYS.into_iter().find(|key| chat.header().metadata().get(key).is_some()).unwrap_or(KEYS[0]);
    let mut revisions = vec![
        Revision::set(&[key, "versions"], core_header::list(&versions)),
        Revision::set(&[key, "current_version"], current.to_string().into_bytes()),
    ];
    if key == KEYS[0] {
        revisions.push(Revision::text(&[key, "chat_id"], &chat.name));
    }
    Ok(Some((revisions, from)))
}
