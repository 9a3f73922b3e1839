//! [`lost_recap`]: a running recap that an extension has wiped, from whoever still has it.

use forklore_core::adapter::recap;
use forklore_core::format::revision::Revision;
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};

/// The running recap of a chat that has none any more although its scenes were merged into one: as history saw it last, as a backup of
/// SillyTavern's has it, or as a relative tells it. With where it comes from, in words.
pub(super) fn lost_recap(library: &Library, c: ChatIx) -> Result<Option<(Vec<Revision>, String)>, PathError> {
    let chat = library.chat(c);
    // One that was begun anew goes on: two histories of one recap cannot be told apart by their numbers.
    if chat.running().is_some_and(|running| !running.versions.is_empty()) {
        return Ok(None);
    }
    let stored = |metadata: Raw<'_>| {
        let keeper = recap::keeper(metadata)?;
        let running = keeper.running(metadata)?;
        let here = |version: &_| library.scene_of(c, version);
        let projection = running.project(chat.head(), &here);
        let current = projection.current.filter(|place| running.versions[*place].is_whole())?;
        let versions = keeper.versions(metadata);
        let kept =
            projection.kept.iter().filter_map(|place| Some(versions.get(*place)?.raw.bytes().to_vec()));
        Some((kept.collect::<Vec<_>>(), running.versions[current].version, keeper))
    };
    let head = chat.head();
    let found = match library.header_then(c, head, &stored)? {
        Some((message, found)) => Some((found, format!("as history saw it at message {message}"))),
        None => match library.backup_header(c, head, &stored)? {
            Some((message, found)) => Some((found, format!("from a backup of message {message}"))),
            None => {
                let others = library.family(c).iter().copied().filter(|other| *other != c);
                let told = others.filter_map(|other| {
                    let found = stored(library.chat(other).header().metadata())?;
                    Some((found, format!("from \"{}\"", library.chat(other).name())))
                });
                told.max_by_key(|((versions, _, _), _)| versions.len())
            }
        },
    };
    let Some(((versions, current, keeper), from)) = found else { return Ok(None) };
    let revisions = keeper.put_running(chat.header().metadata(), &versions, current, chat.name());
    Ok(Some((revisions, from)))
}
