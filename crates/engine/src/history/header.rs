//! What changed in a chat's header, by name.

use std::borrow::Cow;
use std::collections::HashMap;

use forklore_core::format::chat::BOM;
use forklore_json::Raw;

use super::report::{Did, Event};

/// The header in what stands before the first message.
pub(super) fn parse_header(line: &[u8]) -> Raw<'_> {
    let line = line.strip_prefix(BOM).unwrap_or(line).trim_ascii();
    Raw::parse(line).unwrap_or(Raw::NULL)
}

/// Keys that change with every save or tell chats apart, and say nothing of the story.
const QUIET: [&str; 4] = ["lastInContextMessageId", "chat_id_hash", "integrity", "world_info"];

/// What differs between two headers, by name.
pub(super) fn header_changes(old: Raw<'_>, new: Raw<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut compare = |prefix: &str, old: Raw<'_>, new: Raw<'_>, skip: &[&str]| {
        for key in differing(old, new).into_iter().filter(|key| !skip.contains(&key.as_str())) {
            let did = match (old.get(&key), new.get(&key)) {
                (None, _) => Did::Added,
                (_, None) => Did::Removed,
                _ => Did::Changed,
            };
            events.push(Event::Header { key: format!("{prefix}{key}"), did });
        }
    };
    compare("", old, new, &["chat_metadata"]);
    let (old, new) = (member(old, "chat_metadata"), member(new, "chat_metadata"));
    let split = ["variables"];
    compare("", old, new, &[&QUIET[..], &split].concat());
    for key in split {
        compare(&format!("{key}."), member(old, key), member(new, key), &[]);
    }
    events
}

fn member<'a>(object: Raw<'a>, key: &str) -> Raw<'a> {
    object.get(key).unwrap_or(Raw::NULL)
}

/// Keys whose values differ between two objects, in the order of the first, then those that only the second has. Of a key that stands
/// twice, the last one counts.
pub(crate) fn differing(old: Raw<'_>, new: Raw<'_>) -> Vec<String> {
    fn members(object: Raw<'_>) -> (Vec<String>, HashMap<String, Raw<'_>>) {
        let (mut order, mut values) = (Vec::new(), HashMap::new());
        for (key, value) in object.members() {
            let Some(key) = key.as_text().map(Cow::into_owned) else { continue };
            if values.insert(key.clone(), value).is_none() {
                order.push(key);
            }
        }
        (order, values)
    }
    let ((keys, before), (fresh, after)) = (members(old), members(new));
    let mut changed: Vec<String> = keys;
    changed.retain(|key| after.get(key).is_none_or(|after| !before[key].says_the_same(*after)));
    changed.extend(fresh.into_iter().filter(|key| !before.contains_key(key)));
    changed
}
