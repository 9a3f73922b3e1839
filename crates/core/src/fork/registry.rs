//! Auto-Recap's registries in a fork: [`index`] makes the working index anew from the book, [`dangling`] finds lines that lead
//! nowhere.
//!
//! A fork's header has the parent's index, with entries that the fork's book does not have. The registries' own text was put
//! back to the fork's message with the rest of the book, so it tells what the index should hold.

use std::collections::{BTreeMap, HashMap};

use forklore_json::quote;

use crate::adapter::auto_recap::registry::{PREFIX, RegistryLine, kind_of, lines};
use crate::format::book::EntryImage;

/// `auto_lorebooks.registry.index` as the registries in a book tell it, as the bytes of a JSON object.
///
/// Keys ascend. Where two registries list the same entry, the later one counts.
pub fn index(entries: &[EntryImage]) -> Vec<u8> {
    let titles: HashMap<i64, &str> = entries.iter().filter_map(|e| Some((e.uid?, &*e.comment))).collect();
    let mut records = BTreeMap::new();
    for (kind, line) in listed(entries) {
        let Some(uid) = line.uid else { continue };
        let comment = titles.get(&uid).copied().unwrap_or(&line.name);
        records.insert(uid, record(uid, &kind, &line, comment));
    }
    let members: Vec<Vec<u8>> = records.into_values().collect();
    [b"{", &members.join(&b","[..])[..], b"}"].concat()
}

/// Lines that name entries which are not in the book.
pub fn dangling(entries: &[EntryImage]) -> Vec<RegistryLine> {
    let is_there = |uid| entries.iter().any(|entry| entry.uid == Some(uid));
    let lines = listed(entries).into_iter().map(|(_, line)| line);
    lines.filter(|line| line.uid.is_some_and(|uid| !is_there(uid))).collect()
}

/// Every line of every registry, with the type that the registry lists.
fn listed(entries: &[EntryImage]) -> Vec<(String, RegistryLine)> {
    let mut found = Vec::new();
    for entry in entries.iter().filter(|entry| entry.comment.starts_with(PREFIX)) {
        let content = entry.content();
        // Without its first line it is no registry for the extension either.
        let Some(kind) = kind_of(&content) else { continue };
        found.extend(lines(&content).into_iter().map(|line| (kind.to_owned(), line)));
    }
    found
}

/// One member of the index.
fn record(uid: i64, kind: &str, line: &RegistryLine, comment: &str) -> Vec<u8> {
    let aliases: Vec<Vec<u8>> = line.aliases.iter().map(|alias| quote(alias)).collect();
    let number = uid.to_string();
    [
        &quote(&number)[..],
        br#":{"uid":"#,
        number.as_bytes(),
        br#","type":"#,
        &quote(kind),
        br#","name":"#,
        &quote(&line.name),
        br#","comment":"#,
        &quote(comment),
        br#","aliases":["#,
        &aliases.join(&b","[..]),
        br#"],"synopsis":"#,
        &quote(&line.synopsis),
        b"}",
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use forklore_json::Raw;

    use super::*;

    fn entry(uid: i64, comment: &str, content: &str) -> EntryImage {
        EntryImage::new(Some(uid), comment, Raw::trust(b"{}")).with_content(content)
    }

    fn book() -> Vec<EntryImage> {
        let people = "[Registry: character]\n\
            - UID=12 | name: character-Tolan | aliases: — | synopsis: —\n\
            - UID=9 | name: character-Mara | aliases: mara; captain | synopsis: Says \"a | b\"\n\
            - id: char_0001 | name: character-Old";
        vec![
            entry(0, "_registry_character", people),
            entry(1, "_registry_item", "[Registry: item]\n- uid: 30 | name: item-Key | aliases: key"),
            entry(2, "_registry_lore", "no registry\n- UID=9 | name: lore-Mara"),
            entry(3, "fact", "[Registry: item]\n- UID=40 | name: item-Lamp"),
            entry(9, "character-Mara the Bold", "x"),
            entry(12, "character-Tolan", "x"),
        ]
    }

    #[test]
    fn the_index_is_what_the_registries_say() {
        let expected = concat!(
            r#"{"9":{"uid":9,"type":"character","name":"character-Mara","comment":"character-Mara the Bold","#,
            r#""aliases":["mara","captain"],"synopsis":"Says \"a | b\""},"#,
            r#""12":{"uid":12,"type":"character","name":"character-Tolan","comment":"character-Tolan","#,
            r#""aliases":[],"synopsis":""},"#,
            r#""30":{"uid":30,"type":"item","name":"item-Key","comment":"item-Key","aliases":["key"],"synopsis":""}}"#,
        );
        assert_eq!(String::from_utf8(index(&book())).unwrap(), expected);
        assert_eq!(index(&[]), b"{}");
    }

    #[test]
    fn a_line_without_its_entry_dangles() {
        let found: Vec<_> = dangling(&book()).into_iter().map(|line| line.name).collect();
        assert_eq!(found, ["item-Key"]);
    }
}
