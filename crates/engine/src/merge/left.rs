//! [`left`]: what stays behind when another line's lore comes along; [`timers`]: what goes on of its timed effects.

use forklore_core::format::book::EntryImage;
use forklore_core::merge::{Merged, Took};
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};

use super::base::Base;
use crate::fork::Timers;

/// Effects of entries that only the other line has go on here, with as many messages left as there are left there. Of what both lines have,
/// this one has its own.
pub(super) fn timers(
    library: &Library,
    (b, upto): (ChatIx, usize),
    merged: &Merged,
) -> Result<Option<Timers>, PathError> {
    let then = library.metadata_at(b, upto)?.members;
    let timers = then.into_iter().find(|(key, _)| key == "timedWorldInfo").map(|(_, timers)| timers);
    Ok(timers.map(|timers| Timers { from: (b, upto), timers, entries: added(merged) }))
}

/// Entries that only the other line has, by the numbers that they have there.
fn added(merged: &Merged) -> Vec<(i64, EntryImage)> {
    let added = merged.taken.iter().filter(|taken| taken.what == Took::Added);
    let found = added.filter_map(|taken| {
        let entry = merged.entries.iter().find(|e| e.uid == taken.uid && *e.comment == *taken.title)?;
        let here = entry.uid?;
        let there = merged.numbers.iter().find(|(_, now)| *now == here).map_or(here, |(there, _)| *there);
        Some((there, entry.clone()))
    });
    found.collect()
}

/// What stays behind: recaps, variables and the author's note are the chat's own that goes on.
pub(super) fn left(
    library: &Library,
    (a, at): (ChatIx, usize),
    (b, upto): (ChatIx, usize),
    base: &Base,
    merged: &Merged,
) -> Result<Vec<String>, PathError> {
    let (ours, theirs) = (library.metadata_at(a, at)?.members, library.metadata_at(b, upto)?.members);
    let get = |members: &[(String, Vec<u8>)], key: &str| {
        let value = members.iter().find(|(name, _)| name == key);
        value.map_or_else(|| b"null".to_vec(), |(_, value)| value.clone())
    };
    let mut left = Vec::new();
    let (here, there) = (get(&ours, "variables"), get(&theirs, "variables"));
    for (key, value) in Raw::trust(&there).members() {
        let Some(name) = key.as_text() else { continue };
        let now = Raw::trust(&here).get(&name);
        if now.is_none_or(|now| !now.says_the_same(value)) {
            let shown = |value: Raw<'_>| String::from_utf8_lossy(value.bytes()).into_owned();
            let stays = now.map_or("is not set".to_owned(), |now| format!("stays {}", shown(now)));
            left.push(format!("The variable {name} {stays}; there it is {}.", shown(value)));
        }
    }
    let (here, there) = (get(&ours, "note_prompt"), get(&theirs, "note_prompt"));
    if let Some(note) =
        Raw::trust(&there).as_text().filter(|note| !note.is_empty() && !Raw::trust(&here).is_text(note))
    {
        left.push(format!("The author's note stays as it is; there it says: {note}"));
    }
    let parted = base.common.map(|(_, last)| last);
    let running = library.chat(b).running().into_iter().flat_map(|running| &running.versions);
    let versions = running.filter(|version| Some(version.scene) > parted && version.scene <= upto).count();
    if versions > 0 {
        let are = if versions == 1 {
            "1 version of the running recap stays".to_owned()
        } else {
            format!("{versions} versions of the running recap stay")
        };
        left.push(format!("{are} with \"{}\": it tells that line's story.", library.chat(b).name()));
    }
    let effects = get(&theirs, "timedWorldInfo");
    let added = added(merged);
    let old = library.chat(b).book().map_or("", |(name, _)| name);
    let comes = |key: Raw<'_>| {
        let uid = key.as_text().and_then(|key| key.strip_prefix(old)?.strip_prefix('.')?.parse().ok());
        uid.is_some_and(|uid: i64| added.iter().any(|(there, _)| *there == uid))
    };
    let all = Raw::trust(&effects).members().flat_map(|(_, list)| list.members().collect::<Vec<_>>());
    let effects = all.filter(|(key, _)| !comes(*key)).count();
    if effects > 0 {
        let are = if effects == 1 {
            "1 timed effect stays".to_owned()
        } else {
            format!("{effects} timed effects stay")
        };
        left.push(format!(
            "{are} with \"{}\": this line has its own of these entries.",
            library.chat(b).name()
        ));
    }
    // Where entries stand, and how they were written down, is nothing that anybody misses.
    for odd in merged.left.iter().filter(|one| one.fields.iter().any(String::is_empty)) {
        left.push(format!("\"{}\" stays as it is: it cannot be read there.", odd.title));
    }
    Ok(left)
}
