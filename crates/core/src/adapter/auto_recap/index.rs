//! The working index of the registries in `chat_metadata`: [`read`], and [`made_from`] a book anew.
//!
//! A fork's header has the parent's index, with entries that the fork's book does not have. The registries' own text was put
//! back to the fork's message with the rest of the book, so it tells what the index should hold.

use std::collections::{BTreeMap, HashMap};

use forklore_json::{Raw, quote};

use super::BINDING;
use crate::adapter::registry::{IndexRecord, RegistryLine, listed};
use crate::format::book::EntryImage;

/// Where it is in `chat_metadata`.
pub(super) const PATH: [&str; 3] = [BINDING, "registry", "index"];

/// The index in `chat_metadata`.
pub(super) fn read(metadata: Raw<'_>) -> Vec<IndexRecord> {
    let records = metadata.at(&PATH).unwrap_or(Raw::NULL).members();
    let read = |(key, record): (Raw<'_>, Raw<'_>)| {
        let uid = record.get("uid").and_then(Raw::as_i64).or_else(|| key.as_text()?.parse().ok())?;
        let name = record.get("name").or_else(|| record.get("comment")).and_then(Raw::as_text);
        Some(IndexRecord { uid, name: name.unwrap_or_default().into_owned() })
    };
    records.filter_map(read).collect()
}

/// The index as the registries in a book tell it, as the bytes of a JSON object.
///
/// Keys ascend. Where two registries list the same entry, the later one counts.
pub(super) fn made_from(entries: &[EntryImage]) -> Vec<u8> {
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
    use super::*;
    use crate::adapter::registry::dangling;

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
        assert_eq!(String::from_utf8(made_from(&book())).unwrap(), expected);
        assert_eq!(made_from(&[]), b"{}");
    }

    #[test]
    fn a_line_without_its_entry_dangles() {
        let found: Vec<_> = dangling(&book()).into_iter().map(|line| line.name).collect();
        assert_eq!(found, ["item-Key"]);
    }
}
