//! Adapters own their data: nothing else names an extension or its keys, everything asks the list of adapters, and one more fits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use forklore_core::adapter::settings::{Fate, changes};
use forklore_core::adapter::{ALL, Adapter, EntryRole, Keepers, Mark, places};
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::format::chat::{Header, Message};
use forklore_json::{Raw, quote};

/// Names that extensions go by besides the one that their adapters tell.
const NAMES: [&str; 2] = ["Auto-Summarize", "STMB"];

/// Keys and syntax of theirs that no answer of their adapters tells.
const KEYS: [&str; 15] = [
    "auto_summarize",
    "z-autolb",
    "lorebookname",
    "operation_queue",
    "\"_registry_",
    "[registry:",
    "setting_lore",
    "allentries",
    "scene_recap_m",
    "scene_recap_v",
    "chats_enabled",
    "nametemplate",
    "highestmemoryprocessed",
    "pendingops",
    "aikobots",
];

/// Where the plugin lists what it must know of extensions.
const BINDINGS: &str = "sillytavern/plugin/bindings.js";

/// A text without what people and programs join words with.
fn plain(text: &str) -> String {
    text.to_lowercase().replace(['-', '_', ' '], "")
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every source file below a folder.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(list) = std::fs::read_dir(dir) else { return };
    for path in list.map(|item| item.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| ["rs", "js", "css"].iter().any(|known| end == *known)) {
            found.push(path);
        }
    }
}

/// The lines of a source file without its unit tests, which write data as extensions do.
fn lines(path: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().enumerate().take_while(|(_, line)| *line != "mod tests {");
    lines.map(|(n, line)| (n + 1, line.to_owned())).collect()
}

#[test]
fn names_and_keys_of_extensions_stand_in_their_adapters_and_nowhere_else() {
    let names: BTreeSet<String> = ALL.iter().map(|adapter| adapter.name()).chain(NAMES).map(plain).collect();
    let keys: BTreeSet<String> = ALL
        .iter()
        .flat_map(|adapter| adapter.handled())
        .copied()
        .chain(KEYS)
        .map(str::to_lowercase)
        .collect();
    let mut found = Vec::new();
    for folder in std::fs::read_dir(crates()).unwrap().map(|item| item.unwrap().path()) {
        // They write vaults as extensions leave them.
        if !folder.ends_with("demo") && !folder.ends_with("testkit") {
            sources(&folder.join("src"), &mut found);
        }
    }
    let repository = crates().parent().unwrap().to_owned();
    let pages = ["sillytavern/extension", "sillytavern/plugin", "crates/web/assets"];
    pages.iter().for_each(|folder| sources(&repository.join(folder), &mut found));
    found.retain(|path| !path.ends_with(BINDINGS));
    assert!(found.len() > 200, "the sources are not where they were: {}", found.len());
    let own = crates().join("core/src/adapter");
    let mut named = Vec::new();
    for path in found.iter().filter(|path| !path.starts_with(&own)) {
        for (n, line) in lines(path) {
            let (text, words) = (line.to_lowercase(), plain(&line));
            if keys.iter().any(|key| text.contains(key)) || names.iter().any(|name| words.contains(name)) {
                named.push(format!(
                    "{}:{n}: {}",
                    path.strip_prefix(&repository).unwrap().display(),
                    line.trim()
                ));
            }
        }
    }
    assert!(named.is_empty(), "ask through `core::adapter` instead:\n{}", named.join("\n"));
}

/// The plugin unbinds forks by itself while no engine answers: it knows where every adapter's extension keeps the name of the book.
#[test]
fn the_plugin_knows_where_books_are_bound() {
    let text = std::fs::read_to_string(crates().join("..").join(BINDINGS)).unwrap();
    let list = text.split_once("bindings = ").unwrap().1.trim_end().trim_end_matches(';').replace('\'', "\"");
    let listed: Vec<Vec<String>> = serde_json::from_str(&list).unwrap();
    let mut bound = Vec::new();
    for adapter in ALL {
        for path in adapter.places().books {
            let inner = |value: String, key: &&str| format!("{{{key:?}:{value}}}");
            let metadata = path.iter().rev().fold("\"Book\"".to_owned(), inner);
            let revisions = adapter.bind(Raw::parse(metadata.as_bytes()).unwrap(), None);
            bound.extend(revisions.into_iter().map(|revision| revision.path[1..].to_vec()));
        }
    }
    let notes = ALL.iter().filter_map(|adapter| adapter.places().memory_book);
    bound.extend(notes.map(|path| path.iter().map(|key| (*key).to_owned()).collect()));
    assert_eq!(listed, bound);
}

/// What is not one extension's own knows none of them but by the list.
#[test]
fn everything_asks_the_list_of_adapters() {
    let dir = crates().join("core/src/adapter");
    let adapters: BTreeSet<String> = ALL.iter().map(|adapter| plain(adapter.name())).collect();
    let is_own = |path: &Path| {
        let name = path.strip_prefix(&dir).unwrap().components().next().unwrap().as_os_str();
        adapters.contains(&plain(name.to_str().unwrap().trim_end_matches(".rs")))
    };
    let mut found = Vec::new();
    sources(&dir, &mut found);
    let mut named = Vec::new();
    for path in found.iter().filter(|path| !is_own(path)) {
        let code = lines(path).into_iter().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let naming = code.filter(|(_, line)| adapters.iter().any(|name| plain(line).contains(name)));
        named.extend(naming.map(|(_, line)| line));
    }
    let list = named.iter().filter(|line| line.starts_with("pub const ALL:"));
    assert_eq!(list.count(), 1, "{named:?}");
    // One line that makes it a module, the list, and the one whose formats memory is written in: that is all it takes.
    let own = named.iter().filter(|line| line.starts_with("pub const OWN:"));
    assert_eq!(own.count(), 1, "{named:?}");
    assert_eq!(named.len(), ALL.len() + 2, "{named:?}");
}

/// An extension that nobody has: its entries say which message they were written at, and it keeps a page a chat in the settings.
struct Diary;

impl Adapter for Diary {
    fn name(&self) -> &'static str {
        "Diary"
    }

    fn wrote(&self, comment: &str, _entry: Raw<'_>) -> bool {
        comment.starts_with("diary: ")
    }

    fn layers(&self, entry: &EntryImage, _all: &[EntryImage]) -> Vec<(Option<Mark>, EntryImage)> {
        let message =
            entry.raw().get("page").and_then(Raw::as_i64).and_then(|page| usize::try_from(page).ok());
        vec![(message.map(|message| Mark::new(self.chat_of(entry), message)), entry.clone())]
    }

    fn chat_of(&self, entry: &EntryImage) -> Option<String> {
        entry.raw().get("chat").and_then(Raw::as_text).map(std::borrow::Cow::into_owned)
    }

    fn hand_over(&self, entry: &EntryImage, chat: &str) -> EntryImage {
        entry.with_field("chat", Raw::trust(&quote(chat)))
    }

    fn chat_settings(&self) -> &'static [places::Path] {
        &[&["diary", "pages"], &["diary", "deep", "inks"]]
    }
}

#[test]
fn one_more_adapter_is_asked_like_the_others() {
    let book = br#"{"entries":{"0":{"uid":0,"comment":"diary: dawn","content":"x","page":4,"chat":"main"},"1":{"uid":1,"comment":"by hand"}}}"#;
    let book = Book::parse(book).unwrap();
    let entries = book.images();
    assert!(Diary.keeps(&book) && Diary.kept(&entries));
    let keepers = Keepers::of(vec![ALL[0], ALL[1], &Diary]);
    assert!(keepers.are_several());
    let marks = entries.iter().map(|entry| keepers.layers(entry, &entries).last().unwrap().0.clone());
    let dawn = Mark::new(Some("main".to_owned()), 4);
    assert_eq!(marks.collect::<Vec<_>>(), [Some(dawn), None]);
    let fork = keepers.hand_over(&entries[0], "fork");
    assert_eq!(keepers.chat_of(&fork).as_deref(), Some("fork"));
}

/// What an adapter does not answer changes nothing.
#[test]
fn every_other_answer_has_a_default() {
    let (metadata, message) = (Raw::trust(br#"{"x":1}"#), Message::parse(br#"{"mes":"x"}"#).unwrap());
    let header = Header::new(Raw::trust(br#"{"chat_metadata":{"x":1}}"#));
    assert_eq!(Diary.entry_role("diary: dawn"), EntryRole::Fact);
    assert!(Diary.scene(message).is_none() && Diary.recap_text(message).is_none());
    assert!(Diary.running(metadata).is_none() && Diary.versions(metadata).is_empty());
    assert!(Diary.combined(metadata).is_none() && Diary.put_combined(metadata, None, "x").is_empty());
    assert!(Diary.registry_line("- x").is_none() && Diary.index(metadata).is_empty());
    assert!(Diary.operations(header, None).is_empty() && Diary.emptied(b"x").is_none());
    assert!(Diary.bind(metadata, None).is_empty() && Diary.handled().is_empty());
    assert!(Diary.waiting(metadata).revisions.is_empty() && Diary.revisions(metadata, &[], 0).is_empty());
    assert!(Diary.places().own_name.is_empty() && Diary.wrapped(&[], metadata, "B").is_none());
    assert_eq!(Diary.selector(), "Diary");
}

/// How settings are kept after a chat's fate, as text.
fn after(fate: Fate<'_>, others: &[&str]) -> Vec<String> {
    let settings =
        br#"{"extension_settings":{"diary":{"pages":{"main":7,"other":1},"deep":{"inks":{"main":"red"}}}}}"#;
    let settings = Raw::parse(settings).unwrap();
    let changes = changes(&[&Diary], settings, fate, &|name| others.contains(&name));
    let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
    let said = |to: Option<Vec<u8>>| to.map_or("goes".to_owned(), |value| format!("is {}", text(value)));
    changes.into_iter().map(|change| format!("{} {}", change.path[2..].join("."), said(change.to))).collect()
}

#[test]
fn settings_follow_a_chat() {
    let forked = Fate::Forked { from: "main", to: "fork" };
    assert_eq!(after(forked, &[]), ["pages.fork is 7", "deep.inks.fork is \"red\""]);
    let renamed = Fate::Renamed { from: "main", to: "new" };
    let moved = ["pages.new is 7", "pages.main goes", "deep.inks.new is \"red\"", "deep.inks.main goes"];
    assert_eq!(after(renamed, &[]), moved);
    assert_eq!(after(Fate::Deleted { from: "other" }, &[]), ["pages.other goes"]);
    assert_eq!(after(Fate::Deleted { from: "unknown" }, &[]), [""; 0]);
}

/// Two characters can each have a chat of one name, and settings know nothing but the name.
#[test]
fn settings_of_a_chat_of_the_same_name_stay() {
    let forked = Fate::Forked { from: "main", to: "fork" };
    assert_eq!(after(forked, &["fork"]), [""; 0], "another chat goes by what is there");
    assert_eq!(after(forked, &["main"]), ["pages.fork is 7", "deep.inks.fork is \"red\""]);
    let renamed = Fate::Renamed { from: "main", to: "new" };
    assert_eq!(after(renamed, &["new"]), [""; 0]);
    assert_eq!(after(renamed, &["main"]), ["pages.new is 7", "deep.inks.new is \"red\""]);
    assert_eq!(after(Fate::Deleted { from: "main" }, &["main"]), [""; 0]);
}
