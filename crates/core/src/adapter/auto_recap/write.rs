//! The extension's formats from the other side: scenes, versions of the running recap, entries and registries as it would have written
//! them, for Forklore's own memory. What it or anybody else has put beside them stays.

use forklore_json::{Kind, PathPart, Raw, list, object, quote, remove, set};

use super::{MODULES, registry, running, text_hash};
use crate::adapter::own::{OwnEntry, OwnLine, OwnScene, OwnVersion, Role};
use crate::format::book::EntryImage;
use crate::format::revision::Revision;

/// The key of an entry that says what Forklore last wrote there: who finds another text there finds what a person wrote.
const MARK: &str = "forklore_memory";

/// What makes a scene of a message.
const SCENE: [&str; 8] = [
    "scene_break",
    "scene_break_name",
    "scene_recap_memory",
    "scene_break_recap",
    "scene_recap_versions",
    "scene_recap_current_index",
    "scene_recap_hash",
    "scene_recap_metadata",
];

/// The title of the registry of a type.
pub(super) fn registry_title(kind: &str) -> String {
    format!("{}{kind}", registry::PREFIX)
}

/// The text of a registry: of each entry its number, title, other names, and what it is.
pub(super) fn registry_text(kind: &str, lines: &[OwnLine]) -> String {
    const NOTHING: &str = "\u{2014}";
    let mut lines: Vec<_> = lines.iter().collect();
    lines.sort();
    // What the syntax uses would end a part early.
    let plain = |text: &str| text.replace(['|', ';', '\n'], " ");
    let told = lines.into_iter().map(|OwnLine { title, uid, aliases, synopsis }| {
        let aliases = aliases.iter().map(|alias| plain(alias)).collect::<Vec<_>>().join("; ");
        let aliases = if aliases.is_empty() { NOTHING.to_owned() } else { aliases };
        let synopsis = if synopsis.is_empty() { NOTHING.to_owned() } else { plain(synopsis) };
        format!("- UID={uid} | name: {} | aliases: {aliases} | synopsis: {synopsis}", plain(title))
    });
    std::iter::once(format!("[Registry: {kind}]")).chain(told).collect::<Vec<_>>().join("\n")
}

/// An entry as it becomes in a book that may have it: only what is memory's changes there.
pub(super) fn entry(own: &OwnEntry, live: Option<&EntryImage>) -> EntryImage {
    let mut image = live.cloned().unwrap_or_else(|| blank(own));
    let mut fields = vec![("content", quote(&own.content)), (MARK, quote(&text_hash(&own.content)))];
    if own.role == Role::Fact {
        fields.extend(keys(&image, &own.keys).map(|keys| ("key", keys)));
    }
    for (field, value) in fields {
        let value = Raw::trust(&value);
        // However it is laid out: what says the same stays as it is.
        if image.raw().get(field).is_none_or(|now| !now.says_the_same(value)) {
            image = image.with_field(field, value);
        }
    }
    image
}

/// The words that bring an entry up, with those that it does not have yet. What anybody else has put there stays.
fn keys(image: &EntryImage, wanted: &[String]) -> Option<Vec<u8>> {
    let list = image.raw().get("key").unwrap_or(Raw::NULL);
    let there: Vec<String> = list.elements().filter_map(|key| Some(key.as_text()?.to_lowercase())).collect();
    let new = wanted.iter().filter(|key| !there.contains(&key.to_lowercase()));
    let new: Vec<Vec<u8>> = new.map(|key| quote(key)).collect();
    let all = list.elements().map(|key| key.bytes().to_vec()).chain(new.clone());
    (!new.is_empty()).then(|| forklore_json::list(&all.collect::<Vec<_>>()))
}

/// Whether an entry says something else than memory wrote there. `None` if memory never wrote it.
pub(super) fn edited(entry: &EntryImage) -> Option<bool> {
    let mark = entry.raw().get(MARK)?.as_text()?.into_owned();
    Some(text_hash(&entry.content()) != mark)
}

/// An entry that is not memory's any more.
pub(super) fn disowned(entry: &EntryImage) -> EntryImage {
    entry.without_field(MARK)
}

/// An entry with what memory last wrote into the one that it was before.
pub(super) fn owned_as(entry: &EntryImage, before: &EntryImage) -> EntryImage {
    let Some(mark) = before.raw().get(MARK) else { return entry.clone() };
    let same = entry.raw().get(MARK).is_some_and(|now| now.says_the_same(mark));
    if same { entry.clone() } else { entry.with_field(MARK, mark) }
}

/// An entry that is new, with every field that SillyTavern gives one.
fn blank(own: &OwnEntry) -> EntryImage {
    let (registry, story) = (own.role == Role::Registry, own.role == Role::Story);
    let flag = |on: bool| if on { b"true".to_vec() } else { b"false".to_vec() };
    let number = |n: i64| n.to_string().into_bytes();
    let (null, none, empty) = (|| b"null".to_vec(), || b"[]".to_vec(), || quote(""));
    let mut fields: Vec<(&str, Vec<u8>)> = vec![
        ("uid", number(own.uid)),
        ("key", none()),
        ("keysecondary", none()),
        ("comment", quote(&own.title)),
        ("content", empty()),
        ("constant", flag(story)),
        ("vectorized", flag(false)),
        ("selective", flag(true)),
        ("selectiveLogic", number(0)),
        ("addMemo", flag(true)),
        ("order", number(100)),
        ("position", number(0)),
        ("disable", flag(registry)),
        ("ignoreBudget", flag(true)),
        ("excludeRecursion", flag(story)),
        ("preventRecursion", flag(registry || story)),
        ("delayUntilRecursion", number(0)),
        ("probability", number(100)),
        ("useProbability", flag(!registry)),
        ("depth", number(4)),
        ("outletName", empty()),
        ("group", empty()),
        ("groupOverride", flag(false)),
        ("groupWeight", number(100)),
        ("scanDepth", null()),
        ("caseSensitive", null()),
        ("matchWholeWords", null()),
        ("useGroupScoring", null()),
        ("automationId", empty()),
        ("role", null()),
        ("sticky", if own.role == Role::Fact { number(4) } else { null() }),
        ("cooldown", null()),
        ("delay", null()),
        ("triggers", none()),
        ("displayIndex", number(own.uid)),
    ];
    if registry {
        fields.push(("tags", list(&[quote("auto_lorebooks_registry")])));
    }
    EntryImage::new(Some(own.uid), &own.title, Raw::trust(&object(&fields)))
}

/// The extension's data of a message that ends a scene.
pub(super) fn scene(scene: &OwnScene<'_>, extra: Raw<'_>) -> (&'static str, Vec<u8>) {
    let key = MODULES[0];
    let digest = object(&[
        ("developments", texts(scene.developments)),
        ("open", texts(scene.open)),
        ("state", texts(scene.state)),
        ("resolved", texts(scene.resolved)),
    ]);
    let entities: Vec<Vec<u8>> = scene
        .entities
        .iter()
        .map(|(kind, name, lines)| {
            object(&[("type", quote(kind)), ("name", quote(name)), ("content", texts(lines))])
        })
        .collect();
    let stage4 = object(&[("entities", list(&entities))]);
    let stored = object(&[("scene_name", quote(scene.title)), ("stage3", digest), ("stage4", stage4)]);
    let stored = String::from_utf8(stored).unwrap_or_default();
    let number = |n: usize| n.to_string().into_bytes();
    let clock = || scene.clock.to_string().into_bytes();
    let entries: Vec<Vec<u8>> = scene.entries.iter().map(|entry| entry.to_vec()).collect();
    let metadata = object(&[
        ("timestamp", clock()),
        ("startIdx", number(scene.first)),
        ("endIdx", number(scene.last)),
        ("sceneMessageCount", number(scene.last + 1 - scene.first)),
        ("totalActivatedEntries", number(entries.len())),
        ("totalBeforeFiltering", number(entries.len())),
        ("chatLorebookName", quote(scene.book)),
        ("suppressOtherLorebooks", b"false".to_vec()),
        ("allEntries", list(&entries)),
        ("entries", b"[]".to_vec()),
        ("created_entry_uids", texts(&scene.wrote.iter().map(i64::to_string).collect::<Vec<_>>())),
        ("combined_at", clock()),
    ]);
    let values = [
        b"true".to_vec(),
        quote(&format!("{} {}-{}", scene.title, scene.first, scene.last)),
        quote(&stored),
        quote(&stored),
        list(&[quote(&stored)]),
        b"0".to_vec(),
        quote(&text_hash(&stored)),
        object(&[("0", metadata)]),
    ];
    let fields = SCENE.into_iter().zip(values).chain([(MARK, b"true".to_vec())]);
    let module = extra.get(key).filter(|module| module.kind() == Kind::Object);
    let mut bytes = module.map_or_else(|| b"{}".to_vec(), |module| module.bytes().to_vec());
    for (name, value) in fields {
        if let Ok(splice) = set(Raw::trust(&bytes), &[PathPart::key(name)], &value) {
            bytes = splice.apply(&bytes);
        }
    }
    (key, bytes)
}

/// The extension's data of a message where memory's scene does not end any more, without it; nothing if that is all there was. `None` if
/// memory has no scene there.
pub(super) fn no_scene(extra: Raw<'_>) -> Option<(&'static str, Option<Vec<u8>>)> {
    let key = MODULES[0];
    let module = extra.get(key)?;
    module.get(MARK)?;
    let mut bytes = module.bytes().to_vec();
    for name in SCENE.iter().chain([&MARK]) {
        if let Some(splice) = remove(Raw::trust(&bytes), &[PathPart::key(name)]) {
            bytes = splice.apply(&bytes);
        }
    }
    let empty = Raw::trust(&bytes).members().next().is_none();
    Some((key, (!empty).then_some(bytes)))
}

/// An entry as a scene keeps it: without what it would have to make up, and with what says whose text it is.
pub(super) fn snapshot(entry: &EntryImage, book: &str) -> Vec<u8> {
    const KEPT: [&str; 25] = [
        "comment",
        "uid",
        "key",
        "content",
        "position",
        "depth",
        "order",
        "role",
        "constant",
        "vectorized",
        "selective",
        "selectiveLogic",
        "sticky",
        "disable",
        "addMemo",
        "excludeRecursion",
        "preventRecursion",
        "ignoreBudget",
        "probability",
        "useProbability",
        "group",
        "groupOverride",
        "groupWeight",
        "tags",
        MARK,
    ];
    let raw = entry.raw();
    let mut fields: Vec<(&str, Vec<u8>)> =
        KEPT.iter().filter_map(|key| Some((*key, raw.get(key)?.bytes().to_vec()))).collect();
    fields.push(("world", quote(book)));
    fields.push(("keysecondary", b"[]".to_vec()));
    object(&fields)
}

/// The running recap of a chat, all versions of it. Those that the extension wrote stay as they stand.
pub(super) fn versions(metadata: Raw<'_>, versions: &[OwnVersion], chat: &str) -> Vec<Revision> {
    let stored = running::versions(metadata);
    let number = |n: usize| n.to_string().into_bytes();
    let (mut told, mut before, mut next) = (Vec::new(), 0, 0);
    for (i, version) in versions.iter().enumerate() {
        if version.taken {
            let last = i64::try_from(version.last).ok();
            let its = stored.iter().filter(|stored| stored.scene.and_then(Raw::as_i64) == last);
            for stored in its {
                told.push(stored.raw.bytes().to_vec());
                next = next.max(stored.number.saturating_add(1));
                before = version.last;
            }
            continue;
        }
        told.push(object(&[
            ("version", next.to_string().into_bytes()),
            ("timestamp", version.clock.to_string().into_bytes()),
            ("content", quote(&version.content)),
            ("scene_count", number(i + 1)),
            ("excluded_count", number(0)),
            ("prev_scene_index", number(before)),
            ("new_scene_index", number(version.last)),
            ("event_keys", b"[]".to_vec()),
        ]));
        (before, next) = (version.last, next + 1);
    }
    // Which of its own versions the extension goes by is its owner's choice, as long as no newer one is there.
    if !versions.is_empty() && versions.iter().all(|version| version.taken) {
        return Vec::new();
    }
    running::put(metadata, &told, (next - 1).max(0), chat)
}

fn texts(texts: &[String]) -> Vec<u8> {
    list(&texts.iter().map(|text| quote(text)).collect::<Vec<_>>())
}
