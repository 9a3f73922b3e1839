//! [`complete`]: an entry with every field a lorebook needs, and the names of those that were inferred; [`default_of`]: what
//! SillyTavern takes a field for that is not there.

use forklore_json::{Raw, quote};

use crate::format::book::EntryImage;
use crate::format::fields::Fields;

/// SillyTavern's fields of a new entry and their defaults, in the order in which it writes them.
const TEMPLATE: &[(&str, &str)] = &[
    ("key", "[]"),
    ("keysecondary", "[]"),
    ("comment", "\"\""),
    ("content", "\"\""),
    ("constant", "false"),
    ("vectorized", "false"),
    ("selective", "true"),
    ("selectiveLogic", "0"),
    ("addMemo", "false"),
    ("order", "100"),
    ("position", "0"),
    ("disable", "false"),
    ("ignoreBudget", "false"),
    ("excludeRecursion", "false"),
    ("preventRecursion", "false"),
    ("matchPersonaDescription", "false"),
    ("matchCharacterDescription", "false"),
    ("matchCharacterPersonality", "false"),
    ("matchCharacterDepthPrompt", "false"),
    ("matchScenario", "false"),
    ("matchCreatorNotes", "false"),
    ("delayUntilRecursion", "0"),
    ("probability", "100"),
    ("useProbability", "true"),
    ("depth", "4"),
    ("outletName", "\"\""),
    ("group", "\"\""),
    ("groupOverride", "false"),
    ("groupWeight", "100"),
    ("scanDepth", "null"),
    ("caseSensitive", "null"),
    ("matchWholeWords", "null"),
    ("useGroupScoring", "null"),
    ("automationId", "\"\""),
    ("role", "0"),
    ("sticky", "null"),
    ("cooldown", "null"),
    ("delay", "null"),
    ("triggers", "[]"),
];

/// Fills the fields that `image` lacks: from a donor with the same uid and title, else from SillyTavern's template.
///
/// Returns the whole entry and the names of the fields that came from elsewhere.
pub fn complete(image: &EntryImage, donor: Option<&EntryImage>) -> (EntryImage, Vec<String>) {
    let base = donor.cloned().unwrap_or_else(|| template(image));
    let (known, offered) = (Fields::of(image.raw()), Fields::of(base.raw()));
    let mut inferred: Vec<String> = Vec::new();
    // Whether the donor says all that we know: then it is the entry, byte for byte.
    let mut says_all = donor.is_some_and(|donor| donor.uid == image.uid && donor.comment == image.comment);
    for (key, value) in offered.iter() {
        match known.get(key) {
            None => inferred.extend(key.as_text().map(std::borrow::Cow::into_owned)),
            Some(ours) => says_all = says_all && ours.says_the_same(value),
        }
    }
    if inferred.is_empty() {
        return (image.clone(), inferred);
    }
    if says_all && known.iter().all(|(key, _)| offered.get(key).is_some()) {
        return (base, inferred);
    }
    // The donor's layout with our values; fields that only we know come last.
    let comment = quote(&image.comment);
    let mut object = vec![b'{'];
    let mut put = |key: Raw<'_>, value: Raw<'_>| {
        if object.len() > 1 {
            object.push(b',');
        }
        object.extend_from_slice(key.bytes());
        object.push(b':');
        object.extend_from_slice(value.bytes());
    };
    for (key, value) in offered.iter() {
        let titled = if key.is_text("comment") { Some(Raw::trust(&comment)) } else { None };
        put(key, titled.or_else(|| known.get(key)).unwrap_or(value));
    }
    known.iter().filter(|(key, _)| offered.get(*key).is_none()).for_each(|(key, value)| put(key, value));
    object.push(b'}');
    (EntryImage::new(image.uid, &image.comment, Raw::trust(&object)), inferred)
}

/// The value that SillyTavern gives a field of a new entry, as JSON.
pub fn default_of(field: &str) -> Option<&'static str> {
    place_of(field).map(|place| TEMPLATE[place].1)
}

/// The place of a field in a new entry.
pub fn place_of(field: &str) -> Option<usize> {
    TEMPLATE.iter().position(|(name, _)| *name == field)
}

/// A new entry as SillyTavern would make it, with the number of `image`.
fn template(image: &EntryImage) -> EntryImage {
    let mut object = String::from("{");
    if let Some(uid) = image.uid {
        object.push_str(&format!("\"uid\":{uid}"));
    }
    for (field, value) in TEMPLATE {
        let comma = if object.len() > 1 { "," } else { "" };
        object.push_str(&format!("{comma}\"{field}\":{value}"));
    }
    object.push('}');
    EntryImage::new(image.uid, &image.comment, Raw::trust(object.as_bytes()))
}
