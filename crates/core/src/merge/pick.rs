//! [`pick`] puts one entry of another book into this one, [`pick_field`] one field of it. [`counterpart`] tells which entry that is here.

use std::collections::HashMap;

use forklore_json::Raw;

use super::registries::Registries;
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;

/// The entry of a book that another book's entry is, if it has it: the same number and title, else the only one of that title.
pub fn counterpart(here: &[EntryImage], entry: &EntryImage) -> Option<usize> {
    let exact = |other: &EntryImage| other.uid == entry.uid && other.comment == entry.comment;
    here.iter().position(exact).or_else(|| {
        let mut titled = (0..here.len()).filter(|i| here[*i].comment == entry.comment);
        titled.next().filter(|_| !entry.comment.is_empty() && titled.next().is_none())
    })
}

/// The entries `here` with `entry` of a book that has the entries `there`: in `place`, or as a new one; and the entry as it is here.
///
/// It keeps the number of the one whose place it takes; a new one gets a number that is free. Registries list it as theirs do.
pub fn pick(
    here: &[EntryImage],
    there: &[EntryImage],
    entry: &EntryImage,
    place: Option<usize>,
) -> (Vec<EntryImage>, EntryImage) {
    let mut entries = here.to_vec();
    let is_free = |uid: i64| !here.iter().any(|other| other.uid == Some(uid));
    let number = match place {
        Some(place) => here[place].uid,
        None => entry.uid.filter(|uid| is_free(*uid)).or_else(|| (0..).find(|uid| is_free(*uid))),
    };
    let picked = match number {
        Some(number) if entry.uid != Some(number) => entry.renumbered(number),
        _ => entry.clone(),
    };
    match place {
        Some(place) => entries[place] = picked.clone(),
        None => entries.push(picked.clone()),
    }
    if let (Some(was), Some(is)) = (entry.uid, picked.uid) {
        list(&mut entries, there, was, is);
    }
    (entries, picked)
}

/// Lets registries list an entry as those of another book do, where it has the number `was`.
fn list(entries: &mut Vec<EntryImage>, there: &[EntryImage], was: i64, is: i64) {
    let is_registry = |entry: &&EntryImage| entry_role(&entry.comment) == EntryRole::Registry;
    if !entries.iter().any(|entry| is_registry(&entry)) {
        return;
    }
    let lines = Registries {
        base: HashMap::from([(is, Some(is))]),
        a: HashMap::new(),
        b: HashMap::from([(was, Some(is))]),
    };
    for theirs in there.iter().filter(is_registry) {
        if let Some(ours) = entries.iter_mut().find(|ours| ours.comment == theirs.comment) {
            *ours = lines.merged(Some(ours), ours, theirs);
            continue;
        }
        let alone = lines.alone(theirs, true);
        if crate::adapter::registry::lines(&alone.content()).is_empty() {
            continue;
        }
        let free = (0..).find(|uid| !entries.iter().any(|other| other.uid == Some(*uid)));
        entries.push(free.map_or_else(|| alone.clone(), |uid| alone.renumbered(uid)));
    }
}

/// The entry `here` with a field as another has it; without it, if that one has none.
#[must_use]
pub fn pick_field(here: &EntryImage, there: &EntryImage, field: &str) -> EntryImage {
    match there.raw().get(field) {
        Some(value) => {
            let changed = here.with_field(field, value);
            let title = changed.raw().get("comment").and_then(Raw::as_text).unwrap_or_default();
            EntryImage::new(here.uid, &title, changed.raw())
        }
        None => here.without_field(field),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(uid: i64, title: &str, text: &str) -> EntryImage {
        let json = serde_json::json!({"uid": uid, "comment": title, "content": text, "depth": uid});
        EntryImage::new(Some(uid), title, Raw::trust(json.to_string().as_bytes()))
    }

    fn told(entries: &[EntryImage]) -> Vec<String> {
        entries
            .iter()
            .map(|e| format!("{} {}: {}", e.uid.unwrap_or(-1), e.comment, e.content().replace('\n', " / ")))
            .collect()
    }

    #[test]
    fn an_entry_takes_the_place_of_its_own_kind_and_number() {
        let here = [entry(0, "The sea", "Cold."), entry(4, "Ned", "A sailor.")];
        let there = [entry(1, "Ned", "A thief.")];
        let place = counterpart(&here, &there[0]);
        assert_eq!(place, Some(1));
        let (entries, picked) = pick(&here, &there, &there[0], place);
        assert_eq!(told(&entries), ["0 The sea: Cold.", "4 Ned: A thief."]);
        assert_eq!(picked.uid, Some(4));
    }

    #[test]
    fn a_new_entry_gets_a_number_that_is_free_and_registries_list_it() {
        let here = [
            entry(0, "character-Ada", "Ada."),
            entry(1, "_registry_character", "[Registry: character]\n- uid: 0 | name: Ada"),
        ];
        let there = [
            entry(0, "character-Bo", "Bo."),
            entry(1, "character-Cy", "Cy."),
            entry(
                2,
                "_registry_character",
                "[Registry: character]\n- uid: 0 | name: Bo\n- uid: 1 | name: Cy",
            ),
        ];
        let (entries, _) = pick(&here, &there, &there[0], counterpart(&here, &there[0]));
        let listed: Vec<_> = crate::adapter::registry::listed(&entries);
        let names: Vec<_> = listed.iter().map(|(_, line)| (line.uid, line.name.as_str())).collect();
        assert_eq!(entries[2].uid, Some(2));
        assert_eq!(names, [(Some(0), "Ada"), (Some(2), "Bo")]);
        // Once more it is the same.
        let (again, _) = pick(&entries, &there, &there[0], counterpart(&entries, &there[0]));
        assert_eq!(told(&again), told(&entries));
    }

    #[test]
    fn entries_of_one_title_are_nobodys_counterpart() {
        let here = [entry(0, "Ned", "One."), entry(1, "Ned", "Two."), entry(2, "", "Three.")];
        assert_eq!(counterpart(&here, &entry(7, "Ned", "x")), None);
        assert_eq!(counterpart(&here, &entry(1, "Ned", "x")), Some(1));
        assert_eq!(counterpart(&here, &entry(7, "", "Three.")), None);
    }

    #[test]
    fn a_field_comes_alone_and_what_is_not_there_goes() {
        let (here, there) = (entry(0, "Ned", "A sailor."), entry(3, "Nedda", "A thief."));
        let titled = pick_field(&here, &there, "comment");
        assert_eq!(told(&[titled]), ["0 Nedda: A sailor."]);
        let without = pick_field(&here, &there.without_field("depth"), "depth");
        assert!(without.raw().get("depth").is_none());
    }
}
