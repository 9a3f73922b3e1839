//! The vaults that the real software made, against what was on disk then (`crates/testkit/fixtures`): at every point that is known, as
//! they came, after a look, and after healing. What was right as it came stays right.

use std::collections::BTreeSet;
use std::sync::Arc;

use forklore_config::Config;
use forklore_engine::heal;
use forklore_fs::{RealFs, Vfs};
use forklore_testkit::{TestVault, fixtures};
use forklore_vault::history::Watch;
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress, history};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// When Forklore comes: long after everything in them.
const NOW: i64 = 1_900_000_000_000;

/// Title and SHA-256 of the text.
type Entries = BTreeSet<(String, String)>;

fn fs(vault: &TestVault) -> Arc<dyn Vfs> {
    Arc::new(RealFs::new(&vault.root()).unwrap())
}

fn library(vault: &TestVault) -> Library {
    Library::load(fs(vault), &NoProgress).unwrap()
}

/// The points of a vault at which the state is right, by their number.
fn right(vault: &TestVault, points: &[Value]) -> BTreeSet<usize> {
    let library = library(vault);
    let is_right = |point: &Value| {
        let file = point["chat"].as_str().unwrap();
        let (chat, _) = library.find(|chat| chat.path().to_string() == file).unwrap();
        let at = usize::try_from(point["message"].as_u64().unwrap()).unwrap();
        let Ok(book) = library.book_at(chat, at, Wanted::default()) else { return false };
        // What the book held of this line alone, where that is not all that it held. Registries are worked out anew there.
        let pure = point["lineage_pure"]["entries"].as_array();
        let entries = pure.or(point["entries"].as_array()).unwrap();
        let without_registries = pure.is_some() || entries.is_empty();
        let counts = |title: &str| {
            title != "__operation_queue" && !(without_registries && title.starts_with("_registry_"))
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let want: Entries = entries
            .iter()
            .map(|entry| (text(&entry["comment"]), text(&entry["content_sha256"])))
            .filter(|(title, _)| title != "__operation_queue")
            .collect();
        let found = |entry: &&forklore_core::state::StateEntry| counts(&entry.image.comment);
        let pair = |entry: &forklore_core::state::StateEntry| {
            let hash = Sha256::digest(entry.image.content().as_bytes());
            (entry.image.comment.to_string(), hash.iter().map(|byte| format!("{byte:02x}")).collect())
        };
        let got: Entries = book.entries.iter().filter(found).map(pair).collect();
        // What nothing tells the time of may be there, if it is said to be so.
        let sure: Entries = book.entries.iter().filter(found).filter(|e| !e.undated).map(pair).collect();
        // What was there for a moment between two looks of whoever wrote down the truth.
        let may = |title: &str| {
            point["may_also_hold"].as_array().is_some_and(|titles| titles.iter().any(|held| held == title))
        };
        want.is_subset(&got) && sure.difference(&want).all(|(title, _)| may(title))
    };
    points.iter().enumerate().filter(|(_, point)| is_right(point)).map(|(n, _)| n).collect()
}

fn heal_all(vault: &TestVault) {
    let library = library(vault);
    let decide =
        |question: &heal::Question| question.choices.first().copied().filter(|_| !question.is_optional());
    let plan = heal::plan(&library, None, &Config::default(), &decide, NOW, &NoProgress).unwrap();
    if !plan.is_empty() {
        history::before(&fs(vault), &plan.files(&library), NOW).unwrap();
        heal::execute(&library, plan, NOW).unwrap();
    }
}

/// How many are right as it came, after a look, and after healing. More is better: who reaches more writes it here.
#[allow(clippy::disallowed_methods, reason = "what is expected is no vault")]
fn tried(name: &str, least: [usize; 3]) {
    let bytes = std::fs::read(fixtures().join(format!("{name}.expected.json"))).unwrap();
    let expected: Value = serde_json::from_slice(&bytes).unwrap();
    let points = expected["points"].as_array().unwrap();
    let before = right(&TestVault::real(name), points);
    let looked = TestVault::real(name);
    history::rescue(&library(&looked), NOW, &NoProgress).unwrap();
    Watch::open(fs(&looked)).unwrap().sweep(NOW, &NoProgress).unwrap();
    let healed = TestVault::real(name);
    heal_all(&healed);
    let found = [before.clone(), right(&looked, points), right(&healed, points)];
    assert_eq!(found.each_ref().map(BTreeSet::len), least, "{name}: as it came, looked at, healed");
    for (what, after) in ["a look", "healing"].iter().zip(&found[1..]) {
        let lost: Vec<String> = before
            .difference(after)
            .map(|n| format!("{} at {}", points[*n]["chat"], points[*n]["message"]))
            .collect();
        assert!(lost.is_empty(), "{name}, after {what} wrong: {lost:#?}");
    }
}

#[test]
fn harbor_is_what_it_was() {
    tried("harbor", [30, 30, 30]);
}

#[test]
fn lantern_is_what_it_was() {
    tried("lantern", [29, 29, 30]);
}

/// A look at it made 44 right states wrong once: a scene was kept that a later copy of the book no longer had.
#[test]
fn regression_quill_is_what_its_files_tell() {
    tried("quill", [154, 154, 154]);
}

#[test]
fn quill_that_was_watched_is_what_it_was() {
    tried("quill-watched", [365, 365, 369]);
}

/// Gives the messages that forks were made at other words: in the fork, or in the chat above.
fn edit_fork_messages(vault: &TestVault, in_fork: bool) {
    let library = library(vault);
    for c in library.chat_ixs() {
        let (chat, lineage) = (library.chat(c), library.chat(c).lineage());
        let (Some(parent), Some(fork), None) = (lineage.parent, lineage.fork_message, chat.record()) else {
            continue;
        };
        let place = library.counterpart(c, fork, parent).filter(|_| lineage.is_fork());
        let Some(there) = place else { continue };
        let (file, message) =
            if in_fork { (chat.path(), fork) } else { (library.chat(parent).path(), there) };
        let text = String::from_utf8(vault.read(file.as_str())).unwrap();
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        lines[message + 1] = lines[message + 1].replacen("\"mes\":\"", "\"mes\":\"Edited. ", 1);
        vault.write(file.as_str(), lines.join("\n").as_bytes());
    }
}

/// People branch because of a message, and edit that very one.
#[test]
#[allow(clippy::disallowed_methods, reason = "what is expected is no vault")]
fn regression_editing_the_message_of_a_fork_keeps_what_is_right() {
    for name in ["harbor", "lantern", "quill-watched"] {
        let bytes = std::fs::read(fixtures().join(format!("{name}.expected.json"))).unwrap();
        let expected: Value = serde_json::from_slice(&bytes).unwrap();
        let points = expected["points"].as_array().unwrap();
        let before = right(&TestVault::real(name), points);
        for in_fork in [false, true] {
            let vault = TestVault::real(name);
            edit_fork_messages(&vault, in_fork);
            let after = right(&vault, points);
            let lost: Vec<&Value> = before.difference(&after).map(|n| &points[*n]["chat"]).collect();
            assert!(lost.is_empty(), "{name}, in the fork {in_fork}: {lost:#?}");
        }
    }
}
