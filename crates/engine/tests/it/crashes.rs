//! The crash model: every operation that changes several files, stopped before each of its changes, by a kill or a power cut,
//! with SillyTavern saving in between; then recovered, with a second crash at every step of the recovery.
//!
//! What must hold whatever happens: new files are all there or none is; nobody's save is lost; nothing is left lying about. And
//! the checks can fail: [`every_sync_is_needed`] leaves out one sync after the other and expects to be caught.

use std::collections::BTreeSet;
use std::sync::Arc;

use forklore_fs::{Attributes, Crash, Part, SimFs, Vfs};
use forklore_journal as journal;
use forklore_journal::operation::{Awaits, Edit, Json, JsonChange, Kind, Place};
use forklore_journal::{About, Tx, TxError, folders};
use forklore_vault::settle;

use crate::path;

const PARENT: &str = "chats/Ana/main.jsonl";
const CHAT: &str = "chats/Ana/fork.jsonl";
const BOOK: &str = "worlds/fork.json";
const OLD_BOOK: &str = "worlds/old.json";
const GROUP: &str = "groups/1.json";
const NOW: i64 = 1_800_000_000_000;

/// A parent with two messages and what SillyTavern's page has added to it so far.
fn parent(saves: usize, linked: bool) -> Vec<u8> {
    let link = if linked { r#""extra":{"bookmark_link":"fork"},"# } else { "" };
    let mut lines = vec![
        r#"{"chat_metadata":{"integrity":"s","world_info":"old"}}"#.to_owned(),
        r#"{"mes":"hello","send_date":"1"}"#.to_owned(),
        format!(r#"{{{link}"mes":"world","is_user":true,"send_date":"2"}}"#),
    ];
    lines.extend((0..saves).map(|n| format!(r#"{{"mes":"save {n}","send_date":"{}"}}"#, n + 3)));
    lines.join("\n").into_bytes()
}

fn vault() -> SimFs {
    let fs = SimFs::new();
    fs.put(&path(PARENT), &parent(0, false));
    fs.put(&path(OLD_BOOK), br#"{"entries":{}}"#);
    fs.put(&path(GROUP), br#"{"chats":["main"],"mark":"s"}"#);
    fs.put(&path("settings.json"), b"{}");
    MODES.iter().for_each(|(file, mode)| fs.was(&path(file), &with_mode(*mode)));
    for folder in [folders::tx(), folders::ops(), folders::objects(), folders::lost()] {
        fs.make_dir(&folder).unwrap();
    }
    fs
}

/// The same on a disk where files trade names in steps, as on Windows.
fn vault_in_steps() -> SimFs {
    let fs = vault();
    fs.exchange_in_steps();
    fs
}

/// Who may read what: no two alike, so that none can be taken for another's. New files have their parent's.
const MODES: [(&str, u32); 5] =
    [(PARENT, 0o600), (OLD_BOOK, 0o640), (GROUP, 0o604), (CHAT, 0o600), (BOOK, 0o600)];

fn with_mode(mode: u32) -> Attributes {
    Attributes { mode, owner: (7, 8), extended: vec![(b"user.tag".to_vec(), mode.to_be_bytes().to_vec())] }
}

/// The first file that is not for whom it was.
fn opened(fs: &dyn Vfs) -> Option<&'static str> {
    let other = |(file, mode): &&(&'static str, u32)| {
        fs.attributes(&path(file)).unwrap().is_some_and(|is| is != with_mode(*mode))
    };
    MODES.iter().find(other).map(|(file, _)| *file)
}

fn about(kind: Kind) -> About {
    About { kind, chat: None, summary: "test".to_owned(), undoes: None }
}

/// The message with the text "world".
fn link_edit() -> Edit {
    let line = br#"{"mes":"world","is_user":true,"send_date":"2"}"#;
    let message = forklore_core::format::chat::Message::parse(line).unwrap();
    let (_, _, id) = forklore_core::story::identify(message);
    let link = JsonChange::set(&["extra", "bookmark_link"], None, Json::text("fork"));
    Edit::new(path(PARENT), Place::Message { index: 1, id: id.0 }, vec![link])
}

fn commit(tx: Tx, fs: &Arc<dyn Vfs>, kind: Kind) -> Result<(), TxError> {
    let locate = |edit: &Edit, file: &dyn forklore_fs::OpenFile| {
        forklore_vault::read::locate::locate(&**fs, edit, file)
    };
    tx.commit(about(kind), &locate).map(drop)
}

/// What is run, and what a disk may look like afterwards.
struct Scenario {
    name: &'static str,
    run: fn(&Arc<dyn Vfs>) -> Result<(), TxError>,
    /// The word for a state that may be, `None` for one that must not.
    judge: fn(&dyn Vfs) -> Option<&'static str>,
    /// Syncs, by number, that another one makes up for.
    spared: &'static [usize],
}

/// A fork: a book, a chat, its entry in the group, a link in the parent.
fn fork(fs: &Arc<dyn Vfs>) -> Result<(), TxError> {
    make_fork(fs, true)
}

/// A fork that leaves its parent alone.
fn fork_unlinked(fs: &Arc<dyn Vfs>) -> Result<(), TxError> {
    make_fork(fs, false)
}

fn make_fork(fs: &Arc<dyn Vfs>, linked: bool) -> Result<(), TxError> {
    let mut tx = settle::begin(fs, NOW)?;
    tx.publish(path(BOOK), &[Part::Bytes(b"{\"entries\":{\"0\":{}}}")], &[path(PARENT)])?;
    let file = fs.open(&path(PARENT))?;
    let parts = [Part::Bytes(b"{\"chat_metadata\":{}}"), Part::Range(&*file, 54..86)];
    tx.publish(path(CHAT), &parts, &[path(PARENT)])?;
    let list = JsonChange::include(&["chats"], "fork");
    tx.edit(Edit::new(path(GROUP), Place::Document, vec![list]))?;
    if linked {
        tx.edit(link_edit())?;
    }
    commit(tx, fs, Kind::Checkpoint)
}

fn has(fs: &dyn Vfs, file: &str, text: &str) -> bool {
    let bytes = fs.read(&path(file)).unwrap().unwrap_or_default();
    String::from_utf8_lossy(&bytes).contains(text)
}

fn whole(fs: &dyn Vfs, file: &str, content: &str) -> Option<bool> {
    let bytes = fs.read(&path(file)).unwrap()?;
    Some(bytes == content.as_bytes())
}

fn judge_fork(fs: &dyn Vfs) -> Option<&'static str> {
    judge(fs, true)
}

fn judge_unlinked(fs: &dyn Vfs) -> Option<&'static str> {
    judge(fs, false)
}

fn judge(fs: &dyn Vfs, linked: bool) -> Option<&'static str> {
    let chat =
        fs.read(&path(CHAT)).unwrap().map(|bytes| bytes.ends_with(br#"{"mes":"hello","send_date":"1"}"#));
    let book = whole(fs, BOOK, "{\"entries\":{\"0\":{}}}");
    let links = (has(fs, GROUP, "\"fork\""), has(fs, PARENT, "bookmark_link"));
    match (book, chat, links) {
        (None, None, (false, false)) => Some("nothing"),
        (Some(true), Some(true), (true, link)) if link == linked => Some("all"),
        _ => None,
    }
}

/// Healing: a new book, the chat is bound to it, the old book goes.
fn heal(fs: &Arc<dyn Vfs>) -> Result<(), TxError> {
    let mut tx = settle::begin(fs, NOW)?;
    tx.publish(path(BOOK), &[Part::Bytes(b"{\"entries\":{\"0\":{}}}")], &[path(PARENT)])?;
    let set = |key: &str, from: &str, to: &str| {
        JsonChange::set(&["chat_metadata", key], Json::text(from), Json::text(to))
    };
    let changes = vec![set("world_info", "old", "fork"), set("integrity", "s", "t")];
    tx.edit(Edit { required: true, ..Edit::new(path(PARENT), Place::Header, changes) })?;
    tx.retire(path(OLD_BOOK))?;
    commit(tx, fs, Kind::Heal)
}

fn judge_heal(fs: &dyn Vfs) -> Option<&'static str> {
    let book = whole(fs, BOOK, "{\"entries\":{\"0\":{}}}");
    let old = whole(fs, OLD_BOOK, "{\"entries\":{}}");
    let kept = fs.list(&folders::objects()).unwrap().len();
    let bound = (has(fs, PARENT, r#""world_info":"fork""#), has(fs, PARENT, r#""integrity":"t""#));
    match (book, old, kept, bound) {
        (None, Some(true), 0, (false, false)) => Some("nothing"),
        (Some(true), None, 1, (true, true)) => Some("all"),
        _ => None,
    }
}

/// Deleting: the fork leaves the group's list and the parent's link, and both its files go.
fn delete(fs: &Arc<dyn Vfs>) -> Result<(), TxError> {
    let mut tx = settle::begin(fs, NOW)?;
    let list = JsonChange::exclude(&["chats"], "main");
    tx.edit(Edit::new(path(GROUP), Place::Document, vec![list]))?;
    tx.retire(path(PARENT))?;
    tx.retire(path(OLD_BOOK))?;
    commit(tx, fs, Kind::Delete)
}

fn judge_delete(fs: &dyn Vfs) -> Option<&'static str> {
    let files = (fs.read(&path(PARENT)).unwrap().is_some(), fs.read(&path(OLD_BOOK)).unwrap().is_some());
    let kept: Vec<Vec<u8>> = fs
        .list(&folders::objects())
        .unwrap()
        .iter()
        .map(|node| fs.read(&folders::objects().join(&node.name).unwrap()).unwrap().unwrap())
        .collect();
    let intact = kept.iter().all(|bytes| *bytes == parent(0, false) || bytes == br#"{"entries":{}}"#);
    match (files, kept.len(), has(fs, GROUP, "main"), intact) {
        ((true, true), 0, true, true) => Some("nothing"),
        ((false, false), 2, false, true) => Some("all"),
        _ => None,
    }
}

/// The mark of the story goes from one chat to another: two headers change together.
fn adopt(fs: &Arc<dyn Vfs>) -> Result<(), TxError> {
    let mut tx = settle::begin(fs, NOW)?;
    let set = |from: Option<Json>, to: Option<Json>| JsonChange::set(&["chat_metadata", "mark"], from, to);
    let give = Edit::new(path(PARENT), Place::Header, vec![set(None, Json::text("s"))]);
    tx.edit(Edit { required: true, ..give })?;
    let take = JsonChange::set(&["mark"], Json::text("s"), None);
    tx.edit(Edit { required: true, ..Edit::new(path(GROUP), Place::Document, vec![take]) })?;
    commit(tx, fs, Kind::Adopt)
}

fn judge_adopt(fs: &dyn Vfs) -> Option<&'static str> {
    match (has(fs, PARENT, "mark"), has(fs, GROUP, "mark")) {
        (false, true) => Some("nothing"),
        (true, false) => Some("all"),
        _ => None,
    }
}

/// What is remembered is written down: the header and two messages change together, one of them twice.
fn remember(fs: &Arc<dyn Vfs>) -> Result<(), TxError> {
    let mut tx = settle::begin(fs, NOW)?;
    remembered().into_iter().try_for_each(|edit| tx.edit(edit))?;
    commit(tx, fs, Kind::Memory)
}

fn remembered() -> Vec<Edit> {
    let set = |path: &[&str], to: &str| vec![JsonChange::set(path, None, Json::text(to))];
    let line = br#"{"mes":"hello","send_date":"1"}"#;
    let (_, _, id) =
        forklore_core::story::identify(forklore_core::format::chat::Message::parse(line).unwrap());
    let place = Place::Message { index: 0, id: id.0 };
    let again = Edit { changes: set(&["extra", "scene"], "two"), ..link_edit() };
    vec![
        link_edit(),
        Edit::new(path(PARENT), place, set(&["extra", "scene"], "one")),
        again,
        Edit::new(path(PARENT), Place::Header, set(&["chat_metadata", "mark"], "m")),
    ]
}

fn judge_remember(fs: &dyn Vfs) -> Option<&'static str> {
    let says = ["bookmark_link", r#""scene":"one""#, r#""scene":"two""#, r#""mark":"m""#];
    match says.map(|text| has(fs, PARENT, text)) {
        [false, false, false, false] => Some("nothing"),
        [true, true, true, true] => Some("all"),
        _ => None,
    }
}

/// However many edits there are of a file, it is read and written once; only those about the same place come after each other.
#[test]
fn edits_of_one_file_are_one_exchange() {
    for (edits, exchanges) in [(remembered(), 2), (remembered().split_off(1), 1)] {
        let fs: Arc<dyn Vfs> = Arc::new(vault());
        let mut tx = settle::begin(&fs, NOW).unwrap();
        let said = edits.len();
        edits.into_iter().for_each(|edit| tx.edit(edit).unwrap());
        let locate = |edit: &Edit, file: &dyn forklore_fs::OpenFile| {
            forklore_vault::read::locate::locate(&*fs, edit, file)
        };
        let outcome = tx.commit(about(Kind::Memory), &locate).unwrap();
        assert_eq!(outcome.edited.len(), exchanges, "{outcome:?}");
        assert!(outcome.pending.is_empty() && outcome.void.is_empty());
        let text = String::from_utf8(fs.read(&path(PARENT)).unwrap().unwrap()).unwrap();
        assert_eq!(text.lines().count(), 3);
        let made = ["bookmark_link", r#""scene":"one""#, r#""scene":"two""#, r#""mark":"m""#];
        assert_eq!(made.iter().filter(|made| text.contains(**made)).count(), said, "{text}");
    }
}

#[test]
fn an_edit_finds_what_the_one_before_it_left() {
    let fs: Arc<dyn Vfs> = Arc::new(vault());
    let mut tx = settle::begin(&fs, NOW).unwrap();
    let set = |from: Option<Json>, to: &str| {
        let change = JsonChange::set(&["chat_metadata", "mark"], from, Json::text(to));
        Edit { required: true, ..Edit::new(path(PARENT), Place::Header, vec![change]) }
    };
    tx.edit(set(None, "first")).unwrap();
    tx.edit(set(Json::text("first"), "then")).unwrap();
    let outcome = tx.commit(about(Kind::Memory), &|_, _| Ok(None)).unwrap();
    assert!(outcome.pending.is_empty() && outcome.void.is_empty(), "{outcome:?}");
    assert!(has(&*fs, PARENT, r#""mark":"then""#));
}

const PICTURE: &str = "user/images/Ana/boat.png";

/// A chat comes back with a picture, whose folders are gone, too.
fn bring(fs: &Arc<dyn Vfs>) -> Result<(), TxError> {
    let mut tx = settle::begin(fs, NOW)?;
    tx.publish_with(path(PICTURE), &mut |out| out.write_all(b"a boat"))?;
    tx.publish(path(CHAT), &[Part::Bytes(b"{}")], &[path(PARENT)])?;
    commit(tx, fs, Kind::Restore)
}

fn judge_bring(fs: &dyn Vfs) -> Option<&'static str> {
    match (whole(fs, PICTURE, "a boat"), whole(fs, CHAT, "{}")) {
        (None, None) => Some("nothing"),
        (Some(true), Some(true)) => Some("all"),
        _ => None,
    }
}

const SCENARIOS: [Scenario; 7] = [
    // The chat's folder is synced once for the chat and once for the parent's link, which makes up for the first.
    Scenario { name: "fork", run: fork, judge: judge_fork, spared: &[6] },
    // A power cut may take the only new file away before it is published. Then no chat is bound to it, and nothing has happened.
    Scenario { name: "heal", run: heal, judge: judge_heal, spared: &[1] },
    Scenario { name: "fork without link", run: fork_unlinked, judge: judge_unlinked, spared: &[] },
    // Two files are moved aside: the sync for the second makes up for the first.
    Scenario { name: "delete", run: delete, judge: judge_delete, spared: &[4] },
    Scenario { name: "bring back", run: bring, judge: judge_bring, spared: &[] },
    Scenario { name: "adopt", run: adopt, judge: judge_adopt, spared: &[] },
    // The chat's folder is synced after each of two exchanges: the second makes up for the first.
    Scenario { name: "remember", run: remember, judge: judge_remember, spared: &[3] },
];

/// Recovers, stopped `stop` operations in if that is given; says whether it came to its end.
fn recover(fs: &SimFs, stop: Option<usize>) -> bool {
    if let Some(stop) = stop {
        fs.stop_before(stop);
    }
    settle::recover(fs, NOW + 1).is_ok()
}

/// What is wrong with a disk after recovery.
fn faults(scenario: &Scenario, fs: &dyn Vfs) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(file) = opened(fs) {
        faults.push(format!("{}: {file} is not for whom it was", scenario.name));
    }
    if (scenario.judge)(fs).is_none() {
        let show = |file: &str| {
            let bytes = fs.read(&path(file)).unwrap();
            bytes.map_or("-".to_owned(), |b| String::from_utf8_lossy(&b).into_owned())
        };
        let files: Vec<String> = [PARENT, CHAT, BOOK, OLD_BOOK, GROUP].iter().map(|f| show(f)).collect();
        faults.push(format!("{}: half done: {files:#?}", scenario.name));
    }
    for folder in [folders::tx(), folders::lost()] {
        let left = fs.list(&folder).unwrap();
        if !left.is_empty() {
            faults.push(format!("{}: left in {folder}: {left:?}", scenario.name));
        }
    }
    faults
}

/// Runs a scenario into a crash before its `n`-th change; says whether the crash came.
fn crash(scenario: &Scenario, fs: &Arc<SimFs>, n: usize) -> bool {
    fs.stop_before(n);
    let shared: Arc<dyn Vfs> = fs.clone();
    (scenario.run)(&shared).is_err()
}

#[test]
fn killed_or_cut_off_anywhere_it_is_all_or_nothing() {
    all_or_nothing(vault);
}

#[test]
fn killed_or_cut_off_anywhere_it_is_all_or_nothing_in_steps() {
    all_or_nothing(vault_in_steps);
}

fn all_or_nothing(vault: fn() -> SimFs) {
    for scenario in &SCENARIOS {
        let mut seen = BTreeSet::new();
        let mut images = 0;
        for n in 0.. {
            let fs = Arc::new(vault());
            let crashed = crash(scenario, &fs, n);
            for how in [Crash::Kill, Crash::PowerCut] {
                for image in fs.after(how, 400) {
                    images += 1;
                    assert!(recover(&image, None), "{} {n}: recovery failed", scenario.name);
                    let wrong = faults(scenario, &image);
                    assert!(wrong.is_empty(), "{} stopped before {n}, {how:?}: {wrong:?}", scenario.name);
                    seen.insert((scenario.judge)(&image));
                }
            }
            if !crashed {
                break;
            }
        }
        // Both outcomes must have been met, or the crashes came nowhere near the commit point.
        assert_eq!(seen, BTreeSet::from([Some("nothing"), Some("all")]), "{} {images}", scenario.name);
        assert!(images > 60, "{} {images}", scenario.name);
    }
}

#[test]
fn a_second_crash_during_recovery_changes_nothing() {
    second_crash(vault);
}

#[test]
fn a_second_crash_during_recovery_changes_nothing_in_steps() {
    second_crash(vault_in_steps);
}

fn second_crash(vault: fn() -> SimFs) {
    for scenario in &SCENARIOS {
        for n in 0.. {
            let fs = Arc::new(vault());
            let crashed = crash(scenario, &fs, n);
            for image in fs.after(Crash::PowerCut, 24) {
                for second in 0.. {
                    let again = image.after(Crash::Kill, 1).remove(0);
                    let finished = recover(&again, Some(second));
                    for how in [Crash::Kill, Crash::PowerCut] {
                        for last in again.after(how, 24) {
                            assert!(recover(&last, None));
                            let wrong = faults(scenario, &last);
                            assert!(wrong.is_empty(), "{} {n}, then {second}: {wrong:?}", scenario.name);
                        }
                    }
                    if finished {
                        break;
                    }
                }
            }
            if !crashed {
                break;
            }
        }
    }
}

#[test]
fn no_save_of_another_program_is_lost() {
    no_save_lost(vault);
}

#[test]
fn no_save_of_another_program_is_lost_in_steps() {
    no_save_lost(vault_in_steps);
}

/// SillyTavern saves the parent before any change of ours, once or twice, and then we are killed. Its last save must be in place,
/// whatever else happened.
fn no_save_lost(vault: fn() -> SimFs) {
    for scenario in &SCENARIOS[..2] {
        for first in 0..60 {
            for second in [None, Some(1), Some(2), Some(3), Some(7)] {
                for n in (first..).step_by(1) {
                    let fs = Arc::new(vault());
                    fs.other_saves(first, &path(PARENT), &parent(1, false));
                    let mut last = 1;
                    if let Some(later) = second {
                        fs.other_saves(first + later, &path(PARENT), &parent(2, false));
                        last = if first + later < n { 2 } else { 1 };
                    }
                    let crashed = crash(scenario, &fs, n);
                    let saved = fs.operations() > first;
                    let image = fs.after(Crash::Kill, 1).remove(0);
                    assert!(recover(&image, None));
                    if saved {
                        let wanted = format!("save {}", last - 1);
                        assert!(
                            has(&image, PARENT, &wanted),
                            "{} saved at {first} {second:?}, killed at {n}: {:?}",
                            scenario.name,
                            String::from_utf8_lossy(&image.read(&path(PARENT)).unwrap().unwrap())
                        );
                    }
                    let left = image.list(&folders::tx()).unwrap();
                    assert!(left.is_empty(), "{} {first} {second:?} {n}: {left:?}", scenario.name);
                    if !crashed || n > first + 40 {
                        break;
                    }
                }
            }
        }
    }
}

/// Leaves out one sync after the other. Each must be missed by the power cuts, or the checks above prove nothing.
#[test]
fn every_sync_is_needed() {
    for scenario in &SCENARIOS {
        let whole_run = Arc::new(vault());
        let shared: Arc<dyn Vfs> = whole_run.clone();
        (scenario.run)(&shared).unwrap();
        let mut spared = Vec::new();
        for sync in 0..whole_run.syncs() {
            let mut caught = false;
            'crashes: for n in 0.. {
                let fs = Arc::new(vault());
                fs.ignore_sync(sync);
                let crashed = crash(scenario, &fs, n);
                for image in fs.after(Crash::PowerCut, 1024) {
                    let fine = recover(&image, None) && faults(scenario, &image).is_empty();
                    // Once it has said that it is done, it must be done.
                    if !fine || (!crashed && (scenario.judge)(&image) != Some("all")) {
                        caught = true;
                        break 'crashes;
                    }
                }
                if !crashed {
                    break;
                }
            }
            if !caught {
                spared.push(sync);
            }
        }
        assert_eq!(
            spared,
            scenario.spared,
            "{}: of {} syncs these were not missed",
            scenario.name,
            whole_run.syncs()
        );
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_done() {
    full_disk(vault);
}

#[test]
fn a_full_disk_leaves_nothing_half_done_in_steps() {
    full_disk(vault_in_steps);
}

/// A full disk at any point: either nothing happened and nothing is left, or it is finished by the next start.
fn full_disk(vault: fn() -> SimFs) {
    for scenario in &SCENARIOS {
        for n in 0.. {
            let fs = Arc::new(vault());
            fs.fail_at(n);
            let shared: Arc<dyn Vfs> = fs.clone();
            let failed = (scenario.run)(&shared).is_err();
            if failed {
                assert!(recover(&fs, None));
                let wrong = faults(scenario, &*fs);
                assert!(wrong.is_empty(), "{} full at {n}: {wrong:?}", scenario.name);
            }
            if fs.operations() <= n {
                break;
            }
        }
    }
}

#[test]
fn without_exchange_forks_are_made_and_shared_files_are_left_alone() {
    let fs = Arc::new(vault());
    fs.without_exchange();
    let shared: Arc<dyn Vfs> = fs.clone();
    fork(&shared).unwrap();
    assert!(fs.read(&path(CHAT)).unwrap().is_some() && fs.read(&path(BOOK)).unwrap().is_some());
    assert_eq!(fs.read(&path(PARENT)).unwrap().unwrap(), parent(0, false));
}

/// The first half of a fork that SillyTavern saves itself: the book is there, the rest waits for the chat.
fn prepare(fs: &Arc<dyn Vfs>) -> Result<String, TxError> {
    let mut tx = settle::begin(fs, NOW)?;
    tx.publish(path(BOOK), &[Part::Bytes(b"{\"entries\":{\"0\":{}}}")], &[path(PARENT)])?;
    tx.edit(link_edit())?;
    let awaits = Awaits { target: path(CHAT), slug: "fresh".to_owned(), until: NOW + 60_000 };
    tx.prepare(about(Kind::Checkpoint), awaits)
}

const CHAT_OF_ANOTHER: &[u8] = br#"{"chat_metadata":{"integrity":"other"}}"#;
const CHAT_AWAITED: &[u8] = br#"{"chat_metadata":{"integrity":"fresh","world_info":"fork"}}"#;
/// The same chat, saved while the engine was not there to give it its book.
const CHAT_WITHOUT_BOOK: &[u8] = br#"{"chat_metadata":{"integrity":"fresh"}}"#;

fn judge_prepared(fs: &dyn Vfs) -> (bool, bool) {
    (whole(fs, BOOK, "{\"entries\":{\"0\":{}}}") == Some(true), has(fs, PARENT, "bookmark_link"))
}

#[test]
fn a_fork_that_sillytavern_saves_is_committed_when_its_chat_has_come() {
    let fs = Arc::new(vault());
    let shared: Arc<dyn Vfs> = fs.clone();
    let id = prepare(&shared).unwrap();
    assert_eq!(judge_prepared(&*fs), (true, false), "the book is there before the chat names it");
    fs.put(&path(CHAT), CHAT_AWAITED);
    assert!(matches!(
        settle::resolve(&*shared, &id, NOW + 1).unwrap(),
        Some(journal::Recovered::Finished { .. })
    ));
    assert_eq!(judge_prepared(&*fs), (true, true));
    assert!(fs.list(&folders::tx()).unwrap().is_empty());
    assert_eq!(settle::resolve(&*shared, &id, NOW + 2).unwrap(), None, "settled is settled");
}

#[test]
fn a_fork_whose_chat_never_comes_is_taken_back() {
    for other in [None, Some(CHAT_OF_ANOTHER), Some(CHAT_WITHOUT_BOOK)] {
        let fs = Arc::new(vault());
        let shared: Arc<dyn Vfs> = fs.clone();
        let id = prepare(&shared).unwrap();
        if let Some(chat) = other {
            fs.put(&path(CHAT), chat);
        }
        assert!(matches!(
            settle::resolve(&*shared, &id, NOW + 1).unwrap(),
            Some(journal::Recovered::TakenBack { .. })
        ));
        assert_eq!(judge_prepared(&*fs), (false, false));
        assert!(fs.list(&folders::tx()).unwrap().is_empty());
        assert_eq!(fs.read(&path(CHAT)).unwrap().as_deref(), other, "another chat's file is not ours");
    }
}

/// Killed anywhere between the two halves: while the chat may still come the book stays; once it has come the fork is whole, and
/// once nobody waits any more nothing is left.
#[test]
fn a_fork_that_sillytavern_saves_survives_crashes_in_both_halves() {
    for n in 0.. {
        let fs = Arc::new(vault());
        fs.stop_before(n);
        let shared: Arc<dyn Vfs> = fs.clone();
        let crashed = prepare(&shared).is_err();
        for image in [Crash::Kill, Crash::PowerCut].into_iter().flat_map(|how| fs.after(how, 60)) {
            for came in [false, true] {
                for second in 0.. {
                    let disk = image.after(Crash::Kill, 1).remove(0);
                    assert!(recover(&disk, None), "a start right after the crash");
                    let waits = !disk.list(&folders::tx()).unwrap().is_empty();
                    assert_eq!(judge_prepared(&disk), (waits, false), "stopped before {n}");
                    if came {
                        disk.put(&path(CHAT), CHAT_AWAITED);
                    }
                    disk.stop_before(second);
                    let finished = settle::recover(&disk, NOW + 120_000).is_ok();
                    let last = disk.after(Crash::Kill, 1).remove(0);
                    assert!(settle::recover(&last, NOW + 120_000).is_ok());
                    let whole = waits && came;
                    assert_eq!(
                        judge_prepared(&last),
                        (whole, whole),
                        "stopped before {n}, then before {second}"
                    );
                    assert!(last.list(&folders::tx()).unwrap().is_empty());
                    if finished {
                        break;
                    }
                }
            }
        }
        if !crashed {
            break;
        }
    }
}
