//! The trash over time: what leaves it for good, and what must not.

use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_engine::trash::{self, GcReport, GcRequest};
use forklore_engine::undo::{self, UndoError};
use forklore_engine::{delete, needed};
use forklore_fs::{SimFs, Vfs};
use forklore_journal::object_path;
use forklore_journal::operation::ObjectId;
use forklore_journal::oplog::OpLog;
use forklore_vault::history::{Timeline, Watch};
use forklore_vault::{Library, NoProgress};

use crate::path;

const NOW: i64 = 1_800_000_000_000;
const DAY: i64 = 24 * 60 * 60 * 1000;

fn vault() -> Arc<SimFs> {
    let fs = SimFs::new();
    let chat = [
        r#"{"chat_metadata":{"integrity":"s","world_info":"Lore"}}"#,
        r#"{"name":"Ana","is_user":false,"send_date":"1","mes":"hello","extra":{}}"#,
        r#"{"name":"You","is_user":true,"send_date":"2","mes":"world","extra":{}}"#,
    ];
    fs.put(&path("chats/Ana/Rain.jsonl"), chat.join("\n").as_bytes());
    fs.put(&path("worlds/Lore.json"), br#"{"entries":{"0":{"uid":0,"comment":"Sea","content":"Cold."}}}"#);
    fs.put(&path("settings.json"), b"{}");
    Arc::new(fs)
}

fn library(fs: &Arc<SimFs>) -> (Library, OpLog) {
    (Library::load(fs.clone(), &NoProgress).unwrap(), OpLog::read(&**fs).unwrap())
}

fn checkpoint(fs: &Arc<SimFs>, now: i64) {
    let (library, _) = library(fs);
    let request = ForkRequest {
        kind: Some(ForkKind::Checkpoint),
        at: Some(1),
        name: Some("Fork".to_owned()),
        ..ForkRequest::of("Rain")
    };
    let plan = fork::plan(&library, &request, &Config::default(), "slug", now).unwrap();
    fork::execute(&library, plan, now).unwrap();
}

fn gc(fs: &Arc<SimFs>, days: u32, dry_run: bool, now: i64) -> GcReport {
    let (library, log) = library(fs);
    trash::gc(&library, &log, GcRequest { book: None, orphans: false, days, dry_run }, now).unwrap()
}

fn undo(fs: &Arc<SimFs>, redo: bool, now: i64) -> Result<(), UndoError> {
    let (library, log) = library(fs);
    let plan = undo::plan(&library, &log, None, redo)?;
    undo::execute(&library, plan, now).map(drop)
}

fn delete(fs: &Arc<SimFs>, chat: &str, now: i64) {
    let (library, _) = library(fs);
    let plan = delete::plan(&library, library.find_chat(chat).unwrap()).unwrap();
    delete::execute(&library, plan, now).unwrap();
}

fn items(fs: &Arc<SimFs>) -> Vec<trash::TrashItem> {
    let (library, log) = library(fs);
    trash::list(&library, &log, 30).unwrap().items
}

fn there(fs: &Arc<SimFs>, object: &str) -> bool {
    fs.identity(&object_path(&ObjectId::try_from(object.to_owned()).unwrap())).unwrap().is_some()
}

#[test]
fn what_is_old_enough_leaves_for_good() {
    let fs = vault();
    checkpoint(&fs, NOW);
    delete(&fs, "Fork", NOW + 1000);
    let items = items(&fs);
    assert_eq!(items.len(), 2);

    for (days, age) in [(30, 29 * DAY), (0, 1000 * DAY), (60, 31 * DAY)] {
        assert!(gc(&fs, days, false, NOW + age).expired.is_empty(), "{days} {age}");
    }
    let (writes, planned) = (fs.list(&path(".forklore/ops")).unwrap(), gc(&fs, 30, true, NOW + 31 * DAY));
    assert_eq!(planned.expired.len(), 2);
    assert_eq!(planned.freed, items.iter().map(|item| item.bytes).sum::<u64>());
    assert!(items.iter().all(|item| there(&fs, &item.object)), "a dry run removes nothing");
    assert_eq!(fs.list(&path(".forklore/ops")).unwrap().len(), writes.len());

    let done = gc(&fs, 30, false, NOW + 31 * DAY);
    assert_eq!((done.expired.len(), done.freed), (2, planned.freed));
    assert!(!items.iter().any(|item| there(&fs, &item.object)));
    assert!(self::items(&fs).is_empty());
    assert!(matches!(undo(&fs, false, NOW + 31 * DAY), Err(UndoError::Expired(_))));
}

/// A chat with a picture, looked at by history.
fn with_picture(fs: &Arc<SimFs>) {
    let chat = [
        r#"{"chat_metadata":{"integrity":"p","chat_backgrounds":["/user/images/Ana/hill.png"]}}"#,
        r#"{"name":"Ana","is_user":false,"send_date":"1","mes":"look","extra":{"image":"/user/images/Ana/a%20boat.png"}}"#,
    ];
    fs.put(&path("chats/Ana/Pictures.jsonl"), chat.join("\n").as_bytes());
}

fn needed(fs: &Arc<SimFs>, days: u32, now: i64) -> Vec<String> {
    let shared: Arc<dyn Vfs> = fs.clone();
    let history = Timeline::load(&shared).unwrap();
    needed::needed(&**fs, &library(fs).1, history.as_ref(), days, now).unwrap().files
}

/// As spelled and as meant: whichever is there must stay.
const PICTURES: [&str; 3] =
    ["user/images/Ana/a boat.png", "user/images/Ana/a%20boat.png", "user/images/Ana/hill.png"];

#[test]
fn pictures_are_needed_as_long_as_the_trash_has_the_chat() {
    let fs = vault();
    with_picture(&fs);
    Watch::open(fs.clone()).unwrap().sweep(NOW - DAY, &NoProgress).unwrap();
    assert!(needed(&fs, 30, NOW).is_empty());
    delete(&fs, "Pictures", NOW);
    assert_eq!(needed(&fs, 30, NOW + 40 * DAY), PICTURES, "it is still there, however old");
    undo(&fs, false, NOW + DAY).unwrap();
    assert!(needed(&fs, 30, NOW + DAY).is_empty());
    undo(&fs, true, NOW + 2 * DAY).unwrap();
    assert_eq!(needed(&fs, 30, NOW + 2 * DAY), PICTURES);
    // That history could still bring it back does not keep its pictures for ever.
    gc(&fs, 30, false, NOW + 40 * DAY);
    assert!(needed(&fs, 30, NOW + 40 * DAY).is_empty());
}

#[test]
fn a_chat_that_sillytavern_deleted_needs_its_pictures_as_long_as_if_it_were_in_the_trash() {
    let fs = vault();
    with_picture(&fs);
    let mut watch = Watch::open(fs.clone()).unwrap();
    watch.sweep(NOW, &NoProgress).unwrap();
    fs.unlink(&path("chats/Ana/Pictures.jsonl")).unwrap();
    assert_eq!(needed(&fs, 30, NOW), PICTURES, "also before anybody has missed it");
    watch.sweep(NOW + DAY, &NoProgress).unwrap();
    assert_eq!(needed(&fs, 30, NOW + 30 * DAY), PICTURES);
    assert!(needed(&fs, 30, NOW + 32 * DAY).is_empty());
    assert_eq!(needed(&fs, 0, NOW + 1000 * DAY), PICTURES, "nothing leaves a trash that is kept for ever");
}

#[test]
fn what_went_again_is_young_again() {
    // In the trash, brought back by undo, and there again: the clock starts anew.
    let fs = vault();
    checkpoint(&fs, NOW);
    delete(&fs, "Fork", NOW + 1000);
    undo(&fs, false, NOW + 2000).unwrap();
    delete(&fs, "Fork", NOW + 20 * DAY);
    assert!(gc(&fs, 30, false, NOW + 31 * DAY).expired.is_empty());
    assert_eq!(gc(&fs, 30, false, NOW + 51 * DAY).expired.len(), 2);
}

#[test]
fn a_book_that_goes_now_is_not_removed_because_it_went_before() {
    let fs = vault();
    checkpoint(&fs, NOW);
    delete(&fs, "Fork", NOW + 1000);
    let book = items(&fs).into_iter().find(|item| item.path.starts_with("worlds/")).unwrap();
    let (library, log) = library(&fs);
    trash::restore(&library, &log, &book.path, false, NOW + 31 * DAY).unwrap();
    // Nothing refers to the book, so it goes to the trash; its content is there already, and that is old.
    for dry_run in [true, false] {
        let report = gc(&fs, 30, dry_run, NOW + 31 * DAY);
        assert_eq!(report.books.len(), 1);
        assert_eq!(report.expired.len(), 1, "the chat");
    }
    assert!(fs.identity(&path(&book.path)).unwrap().is_none());
    assert!(there(&fs, &book.object), "lost");
    undo(&fs, false, NOW + 31 * DAY).unwrap();
    assert!(fs.identity(&path(&book.path)).unwrap().is_some());
}

#[test]
fn a_file_is_in_the_trash_once_or_not_at_all() {
    let fs = vault();
    checkpoint(&fs, NOW);
    let paths = |fs: &Arc<SimFs>| -> Vec<String> { items(fs).into_iter().map(|item| item.path).collect() };
    let fork = ["chats/Ana/Fork.jsonl", "worlds/Lore - Fork.json"];
    let forward = |fs: &Arc<SimFs>| paths(fs).iter().rev().cloned().collect::<Vec<_>>();
    for n in 1..4 {
        assert!(paths(&fs).is_empty());
        undo(&fs, false, NOW + n).unwrap();
        assert_eq!(forward(&fs), fork, "turn {n}");
        undo(&fs, true, NOW + n).unwrap();
    }
    delete(&fs, "Fork", NOW + 10);
    for n in 11..14 {
        assert_eq!(forward(&fs), fork, "turn {n}");
        undo(&fs, false, NOW + n).unwrap();
        assert!(paths(&fs).is_empty(), "turn {n}");
        undo(&fs, true, NOW + n).unwrap();
    }
    let log = OpLog::read(&*fs).unwrap();
    let undone = |n: usize| log.undone_by(&log.operations[n].id);
    // Made, undone and redone three times; deleted, the same.
    assert_eq!(
        (log.operations.len(), undone(0), undone(6), undone(7), undone(13)),
        (14, None, None, None, None)
    );
    for n in [1, 2, 3, 4, 5, 8, 9, 10, 11, 12] {
        assert_eq!(undone(n), Some(log.operations[n + 1].id.as_str()), "{n}");
    }
}

#[test]
fn a_redo_is_no_undo() {
    let fs = vault();
    checkpoint(&fs, NOW);
    let fork = path("chats/Ana/Fork.jsonl");
    for n in 1..4 {
        undo(&fs, false, NOW + n).unwrap();
        assert!(fs.identity(&fork).unwrap().is_none());
        undo(&fs, true, NOW + n).unwrap();
        assert!(fs.identity(&fork).unwrap().is_some());
        assert!(matches!(undo(&fs, true, NOW + n), Err(UndoError::NothingToRedo)));
    }
    let log = OpLog::read(&*fs).unwrap().report(&*fs).unwrap();
    assert_eq!(log.operations[0].kind, "redo");
    assert_eq!(log.operations[0].summary, "redo of: checkpoint of Ana/Rain at message 1");
}

#[test]
fn one_book_goes_alone_and_only_if_nothing_refers_to_it() {
    let fs = vault();
    fs.put(&path("worlds/Copy.json"), b"{\"entries\":{}}");
    fs.put(&path("worlds/Other.json"), b"{\"entries\":{}}");
    let (library, log) = library(&fs);
    let request = |book| GcRequest { book: Some(book), orphans: false, days: 30, dry_run: false };
    assert!(trash::gc(&library, &log, request("Lore"), NOW).unwrap().books.is_empty());
    assert_eq!(trash::gc(&library, &log, request("Copy"), NOW).unwrap().books, ["Copy"]);
    let there = |name: &str| fs.identity(&path(&format!("worlds/{name}.json"))).unwrap().is_some();
    assert_eq!(["Lore", "Copy", "Other"].map(there), [true, false, true]);
}
