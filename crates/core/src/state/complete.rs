//! [`complete`]: an entry with every field a lorebook needs, and the names of those that were inferred.

use crate::format::book::EntryImage;
use forklore_json::Raw;

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

/// Fills the fields that `image` lacks: from the first donor with the same uid and title, else from SillyTavern's template.
///
/// Returns the whole entry and the names of the fields that came from elsewhere.
pub fn complete(image: &EntryImage, donors: &[&[EntryImage]]) -> (EntryImage, Vec<String>) {
    let has = |entry: &EntryImage, field: &str| entry.raw().get(field).is_some();
    let same = |donor: &&EntryImage| donor.uid == image.uid && donor.comment == image.comment;
    let donor = donors.iter().find_map(|book| book.iter().find(same));
    let template_donor = || {
        let mut object = String::from("{");
        if let Some(uid) = image.uid {
            object.push_str(&format!("\"uid\":{uid}"));
        }
        for (field, value) in TEMPLATE {
            let comma = if object.len() > 1 { "," } else { "" };
            object.push_str(&format!("{comma}\"{field}\":{value}"));
        }
        object.push('}');
        EntryImage::new(image.uid, image.comment.clone(), Raw::trust(object.as_bytes()))
    };
    let base = donor.cloned().unwrap_or_else(template_donor);
    let inferred: Vec<String> = base
        .raw()
        .members()
        .filter_map(|(key, _)| key.as_text())
        .filter(|field| !has(image, field))
        .map(std::borrow::Cow::into_owned)
        .collect();
    if inferred.is_empty() {
        return (image.clone(), inferred);
    }
    let mut whole = base;
    for (key, value) in image.raw().members() {
        let Some(field) = key.as_text() else { continue };
        if whole.raw().get(&field) != Some(value) {
            whole = whole.with_field(&field, value);
        }
    }
    let comment = forklore_json::quote(&image.comment);
    let comment = Raw::trust(&comment);
    if whole.raw().get("comment") != Some(comment) {
        whole = whole.with_field("comment", comment);
    }
    (EntryImage::new(image.uid, image.comment.clone(), whole.raw()), inferred)
}
