//! [`project`]: the imported book that SillyTavern keeps in `originalData`, brought in line with the entries.
//!
//! It is what an export of the book into a character card writes, so what does not belong into the fork must go there too.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use forklore_json::{Kind, PathPart, Raw, Splice, apply_all, set};

use super::layout::{Indent, Part, Style, lay_out, members, take_apart};
use super::pairs::Live;
use super::{Document, Placed};

/// Fields that are mirrored: name in the entry, name in the imported one.
const MIRRORED: [(&str, &str); 3] = [("content", "content"), ("comment", "comment"), ("key", "keys")];

/// The splice in the document that projects `originalData.entries`; `None` if there is nothing to do.
pub(super) fn project(doc: &Document<'_>, live: &[Live<'_>], placed: &[Placed<'_>]) -> Option<Splice> {
    let list = doc.get("originalData")?.get("entries").filter(|list| list.kind() == Kind::Array)?;
    let range = list.range_in(doc.raw.bytes())?;
    let uids: HashSet<i64> = placed.iter().filter_map(|entry| entry.uid).collect();
    // Where nothing leaves the book, what was left over here before is not ours to clean up.
    let leaves = live.iter().filter_map(|live| live.uid).any(|uid| !uids.contains(&uid));
    let mut parts = take_apart(list, list.elements().map(|element| (None, element)));
    let style = Style::of(list, &parts)?;
    let stays = |part: &Part<'_>| !leaves || number(&part.value).is_none_or(|n| uids.contains(&n));
    parts.retain(stays);
    let changed = changed(placed);
    for part in &mut parts {
        let entry = number(&part.value).and_then(|n| changed.get(&n));
        if let Some(with) = entry.and_then(|entry| mirror(&part.value, entry, live, doc.gap())) {
            part.value = Cow::Owned(with);
        }
    }
    Some(Splice { range, with: style.join(list, parts.iter()) })
}

/// The number that ties an imported entry to its entry.
fn number(element: &[u8]) -> Option<i64> {
    let [uid, id] = Raw::trust(element).pick(["uid", "id"]);
    uid.or(id).and_then(Raw::as_i64)
}

/// The entries that are not as they are in the live book, by number. A queue does not count: nobody reads it here.
fn changed<'p, 'a>(placed: &'p [Placed<'a>]) -> HashMap<i64, &'p Placed<'a>> {
    let mut changed = HashMap::new();
    for entry in placed {
        if let (Some(uid), Cow::Owned(_), false) = (entry.uid, &entry.part.value, entry.is_queue) {
            changed.entry(uid).or_insert(entry);
        }
    }
    changed
}

/// An imported entry with those texts of the entry that differ from the live one's.
fn mirror(element: &[u8], entry: &Placed<'_>, live: &[Live<'_>], first: &[u8]) -> Option<Vec<u8>> {
    let element = Raw::trust(element);
    let now = Raw::trust(&entry.part.value);
    let before = entry.live.map(|i| live[i].raw);
    let lead = members(element).first().map_or(&[][..], |part| part.lead);
    let edit = |(ours, theirs): (&str, &str)| {
        let value = now.get(ours)?;
        let same = |other: Option<Raw<'_>>| other.is_some_and(|other| other.says_the_same(value));
        if same(before.and_then(|before| before.get(ours))) || same(element.get(theirs)) {
            return None;
        }
        let laid_out = lay_out(value.bytes(), Indent::of(lead, first));
        set(element, &[PathPart::key(theirs)], &laid_out).ok()
    };
    let edits: Vec<Splice> = MIRRORED.into_iter().filter_map(edit).collect();
    (!edits.is_empty()).then(|| apply_all(element.bytes(), &edits))
}
