//! Scenes: the module's data on a message, with every version of the recap and the book as each version left it.

use std::borrow::Cow;

use forklore_json::{Kind, Raw};

use super::MODULES;
use crate::adapter::{Scene, SceneSighting, SceneVersion, Written};
use crate::format::book::EntryImage;
use crate::format::chat::Message;

/// The key of a version's metadata that names the book that its snapshot was taken of.
pub(super) const BOOK: &str = "chatLorebookName";

/// The module's data on a message, and the word it uses: "recap", earlier "summary".
fn module<'a>(message: Message<'a>) -> Option<(Raw<'a>, &'static str)> {
    let [new, old] = message.extra().pick(MODULES);
    new.map(|data| (data, "recap")).or_else(|| old.map(|data| (data, "summary")))
}

/// The scene that ends with this message, and the books that it has snapshots of.
///
/// A version whose snapshot was never taken has an empty list.
pub(super) fn scene(message: Message<'_>) -> Option<(Scene, Vec<SceneSighting>)> {
    let (data, word) = module(message)?;
    let [scene_break, name, visible, memory, current, recaps, metadata] = data.pick([
        "scene_break",
        "scene_break_name",
        "scene_break_visible",
        &format!("scene_{word}_memory"),
        &format!("scene_{word}_current_index"),
        &format!("scene_{word}_versions"),
        &format!("scene_{word}_metadata"),
    ]);
    if !scene_break.is_some_and(Raw::is_truthy) {
        return None;
    }
    let filled = |value: Option<Raw<'_>>| {
        value.and_then(Raw::as_text).filter(|t| !t.trim().is_empty()).map(Cow::into_owned)
    };
    let recaps: Vec<Raw<'_>> = recaps.unwrap_or(Raw::NULL).elements().collect();
    let (mut versions, mut sightings) = (Vec::new(), Vec::new());
    for (number, meta) in metadata.unwrap_or(Raw::NULL).members() {
        let Some(number) = number.as_text().and_then(|n| n.parse().ok()) else { continue };
        let (version, sighting) = version(number, meta, &recaps);
        versions.push(version);
        sightings.extend(sighting);
    }
    let scene = Scene {
        name: filled(name),
        // Not set counts as shown.
        visible: visible.and_then(Raw::as_bool).unwrap_or(true),
        recapped: filled(memory).is_some(),
        current: current.and_then(Raw::as_i64).unwrap_or(0),
        versions,
    };
    Some((scene, sightings))
}

/// What is stored with one version of a recap.
fn version(number: i64, meta: Raw<'_>, recaps: &[Raw<'_>]) -> (SceneVersion, Option<SceneSighting>) {
    let [combined, timestamp, book, entries, created] =
        meta.pick(["combined_at", "timestamp", BOOK, "allEntries", "created_entry_uids"]);
    let [combined, timestamp] = [combined, timestamp].map(|time| time.and_then(Raw::as_i64));
    let entries: Vec<EntryImage> = entries.unwrap_or(Raw::NULL).elements().map(snapshot_entry).collect();
    // The snapshot is taken when the scene is combined; the other time is that of the recap's text.
    let clock = combined.or(timestamp).unwrap_or(0);
    let book = book.and_then(Raw::as_text).map(Cow::into_owned);
    let recap = usize::try_from(number).ok().and_then(|n| recaps.get(n).copied());
    let uids = created.unwrap_or(Raw::NULL).elements().filter_map(any_i64).collect();
    let version = SceneVersion {
        number,
        started: timestamp.unwrap_or(clock),
        clock,
        written: written(uids, recap),
        combined: combined.is_some(),
        book: book.clone(),
        entries: entries.len(),
    };
    if entries.is_empty() {
        return (version, None);
    }
    (version, Some(SceneSighting { version: number, clock, book, entries }))
}

/// The recap of the chosen version as it is stored, a JSON text; `None` if there is none.
pub(super) fn stored_recap<'a>(message: Message<'a>) -> Option<Raw<'a>> {
    let (data, word) = module(message)?;
    data.get(&format!("scene_{word}_memory"))
        .filter(|raw| raw.as_text().is_some_and(|t| !t.trim().is_empty()))
}

/// The recap's text of the chosen version, for showing.
pub(super) fn recap_text(message: Message<'_>) -> Option<String> {
    let (data, word) = module(message)?;
    let stored = data.get(&format!("scene_{word}_memory"))?.as_text()?.into_owned();
    Some(readable(&stored))
}

/// What a person would read of a stored recap: the multi-stage object's own text, or the text itself in older data.
fn readable(stored: &str) -> String {
    let Ok(raw) = Raw::parse(stored.as_bytes()) else { return stored.trim().to_owned() };
    if raw.kind() != Kind::Object {
        return stored.trim().to_owned();
    }
    let mut lines = Vec::new();
    let stage3 = raw.get("stage3").unwrap_or(Raw::NULL);
    for part in ["developments", "open", "state", "resolved"] {
        lines.extend(stage3.get(part).unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text));
    }
    if lines.is_empty() {
        for path in [&["stage2", "recap"][..], &["recap"], &["rc"], &["stage3", "rc"]] {
            let Some(part) = raw.at(path) else { continue };
            lines.extend(part.as_text());
            lines.extend(part.members().filter_map(|(_, value)| value.as_text()));
        }
    }
    if lines.is_empty() {
        lines.extend(
            raw.at(&["stage1", "extracted"]).unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text),
        );
    }
    lines.join("\n")
}

/// A number, also when written as a text.
pub(super) fn any_i64(raw: Raw<'_>) -> Option<i64> {
    raw.as_i64().or_else(|| raw.as_text()?.parse().ok())
}

/// One element of `allEntries` as an entry. Fields that the snapshot invents or forces are no evidence and are left out.
fn snapshot_entry(raw: Raw<'_>) -> EntryImage {
    let (mut uid, mut comment) = (None, Cow::Borrowed(""));
    let mut object = Vec::with_capacity(raw.bytes().len());
    object.push(b'{');
    for (key, value) in raw.members() {
        match key.bytes() {
            b"\"uid\"" => uid = any_i64(value),
            b"\"comment\"" => {
                comment = value.as_text().unwrap_or_default();
                if comment == "(unnamed)" {
                    comment = Cow::Borrowed("");
                    continue;
                }
            }
            b"\"world\"" | b"\"strategy\"" | b"\"keysecondary\"" => continue,
            b"\"tags\"" if value.elements().next().is_none() => continue,
            _ => {}
        }
        if object.len() > 1 {
            object.push(b',');
        }
        object.extend_from_slice(key.bytes());
        object.push(b':');
        object.extend_from_slice(value.bytes());
    }
    object.push(b'}');
    EntryImage::owned(uid, &comment, object)
}

/// What a stored recap says that it wrote: its entities, in all the places where versions of the extension put them.
fn written(uids: Vec<i64>, recap: Option<Raw<'_>>) -> Written {
    let mut written = Written { uids, ..Written::default() };
    let text = recap.and_then(Raw::as_text).unwrap_or_default();
    let Ok(raw) = Raw::parse(text.as_bytes()) else { return written };
    let places: [&[&str]; 5] =
        [&["stage4", "entities"], &["entities"], &["stage4", "sl"], &["sl"], &["setting_lore"]];
    for entity in places.iter().filter_map(|path| raw.at(path)).flat_map(Raw::elements) {
        let field = |long: &str, short: &str| entity.get(long).or_else(|| entity.get(short));
        let name = field("name", "n").and_then(|name| Some(name.as_text()?.to_lowercase()));
        written.names.extend(name.filter(|name| !name.is_empty()));
        written.told.extend(field("uid", "u").and_then(any_i64));
    }
    written
}
