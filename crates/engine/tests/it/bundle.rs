//! Many small chats are remembered in one file. Whatever becomes of it, and of them, what is known of a chat is what reading it would find.

use std::collections::HashSet;
use std::sync::Arc;

use forklore_core::adapter;
use forklore_core::adapter::recap::{self, RunningRecap};
use forklore_core::format::record::ForkRecord;
use forklore_core::story::Row;
use forklore_fs::{SimFs, VaultPath, Vfs};
use forklore_json::Raw;
use forklore_vault::read::scan::{Scan, scan};
use forklore_vault::{Chat, Library, NoProgress, cache};
use serde_json::json;

use crate::path;
use crate::random::Random;

const CHATS: usize = 100;

fn file(n: usize) -> VaultPath {
    path(&format!("chats/Ana/Chat {n}.jsonl"))
}

fn bundle() -> VaultPath {
    cache::folder().join("bundle").unwrap()
}

/// Of everything that questions about the whole vault need, something, and a part of it twice or in other words.
fn metadata(n: usize) -> serde_json::Value {
    let mut metadata = json!({"integrity": format!("slug {n}"), "variables": {"world_info": "not this one"}});
    if n.is_multiple_of(2) {
        metadata["main_chat"] = format!("Chat {}", n / 2).into();
        metadata["world_info"] = format!("Lore {n}").into();
        metadata["auto_recap_running_scene_recaps"] = json!({"chat_id": format!("Chat {n}"), "current_version": 1, "versions": [
            {"version": 0, "timestamp": n, "content": "at first", "new_scene_index": 3, "event_keys": ["0:Rain: heavy:abc"]},
            {"version": 1, "timestamp": n + 1, "content": "then", "new_scene_index": 5}]});
    }
    if n.is_multiple_of(3) {
        metadata["STMemoryBooks"] = json!({"branchLorebookCopies": {"completedAt": "2026-01-01T00:00:00.000Z", "parentChatId": "Chat 1",
            "branchChatId": format!("Chat {n}"), "mappings": [{"copyName": format!("Copy {n}"), "sourceName": "Lore"}]}});
        metadata["forklore_story"] = format!("slug {n}").into();
    }
    if n.is_multiple_of(5) {
        metadata["forklore"] = json!({"version": 1, "kind": "branch", "owner": {"file": format!("Chat {n}"), "slug": format!("slug {n}")},
            "parent": {"file": "Chat 1", "slug": "slug 1", "message": 4}, "book": {"name": "Own"}, "created": n,
            "baseline": {"messages": 5, "moment": "m", "book": "b", "current": 1, "versions": [{"version": 1, "hash": "h"}], "combined": [3, "c"]}});
    }
    metadata
}

/// A chat that is worth remembering, and small.
fn write(fs: &SimFs, n: usize, messages: usize) {
    let mut lines = vec![json!({"chat_metadata": metadata(n)}).to_string()];
    for i in 0..messages {
        let extra = if i % 5 == 0 { json!({"bookmark_link": format!("Elsewhere {i}")}) } else { json!({}) };
        let said = format!("{n} {i} {}", "word ".repeat(400));
        lines.push(
            json!({"name": "Ana", "is_user": false, "send_date": i.to_string(), "mes": said, "extra": extra})
                .to_string(),
        );
    }
    fs.put(&file(n), lines.join("\n").as_bytes());
}

/// So many that what is found out about all of them is kept, too: who was forked from whom.
const MORE_CHATS: usize = 220;

fn vault() -> Arc<SimFs> {
    vault_of(CHATS)
}

fn vault_of(chats: usize) -> Arc<SimFs> {
    let fs = SimFs::new();
    fs.put(&path("settings.json"), b"{}");
    (0..chats).for_each(|n| write(&fs, n, 10));
    Arc::new(fs)
}

/// A vault that is remembered, with everything in the bundle torn that is not needed by all commands.
fn vault_with_torn_bulk() -> (Arc<SimFs>, Vec<u8>) {
    let fs = vault_of(MORE_CHATS);
    load(&fs);
    let mut torn = fs.read(&bundle()).unwrap().unwrap();
    let line = br#"{"chat_metadata""#;
    let first = torn.windows(line.len()).position(|bytes| bytes == line).unwrap();
    torn[first..].iter_mut().for_each(|byte| *byte ^= 1);
    fs.put(&bundle(), &torn);
    (fs, torn)
}

fn load(fs: &Arc<SimFs>) -> Library {
    Library::load(fs.clone(), &NoProgress).unwrap()
}

fn known(fs: &SimFs, file: &VaultPath) -> Option<Scan> {
    cache::recall(fs, file, fs.identity(file).unwrap()?)
}

fn rows(transcript: &forklore_core::story::Transcript) -> Vec<Row> {
    transcript.rows_from(0).collect()
}

/// What was read or recalled is what is in the files.
fn assert_true(fs: &SimFs, library: &Library) {
    for (_, chat) in library.chats() {
        let read = scan(&*fs.open(chat.path()).unwrap(), false).unwrap();
        assert_eq!(rows(chat.transcript()), rows(&read.transcript), "{}", chat.path());
        assert_eq!(*chat.facts(), read.facts, "{}", chat.path());
        assert_eq!(*chat.snapshots(), read.snapshots, "{}", chat.path());
        assert_eq!(chat.header().slug().as_deref(), Some(&*format!("slug {}", &chat.name()[5..])));
        assert_outline(chat);
    }
}

/// What is known of a header without it is what it says.
fn assert_outline(chat: &Chat) {
    let header = chat.header();
    let metadata = header.metadata();
    assert_eq!(chat.slug(), header.slug().as_deref());
    assert_eq!(chat.main_chat(), header.main_chat().as_deref());
    assert_eq!(chat.book().map(|(name, _)| name), header.book().as_deref());
    assert_eq!(chat.running_outline().cloned(), recap::running(metadata).map(RunningRecap::without_texts));
    assert_eq!(chat.running().cloned(), recap::running(metadata));
    assert_eq!(chat.record().cloned(), ForkRecord::read(metadata));
    let made: Vec<_> = chat.made().map(|(book, time)| (book.to_owned(), time)).collect();
    assert_eq!(made, adapter::made(metadata).collect::<Vec<_>>());
    assert_eq!(chat.copies(), adapter::copies(header));
    assert_eq!(chat.story_mark(), metadata.get("forklore_story").and_then(Raw::as_text).as_deref());
}

fn entries(fs: &SimFs) -> usize {
    fs.list(&cache::folder()).unwrap().iter().filter(|node| node.name.ends_with(".idx")).count()
}

#[test]
fn many_new_chats_are_remembered_in_one_file_and_one_that_changes_in_its_own() {
    let fs = vault();
    assert_true(&fs, &load(&fs));
    assert_eq!((entries(&fs), fs.identity(&bundle()).unwrap().is_some()), (0, true));
    assert!((0..CHATS).all(|n| known(&fs, &file(n)).is_some()), "all are known");
    let before = fs.identity(&bundle()).unwrap();
    write(&fs, 7, 12);
    assert!(known(&fs, &file(7)).is_none(), "it is another one");
    assert_true(&fs, &load(&fs));
    assert_eq!((entries(&fs), fs.identity(&bundle()).unwrap()), (1, before), "only that one was written");
    assert!((0..CHATS).all(|n| known(&fs, &file(n)).is_some()), "all are known again");
}

#[test]
fn a_bundle_that_is_torn_is_as_good_as_none() {
    let mut random = Random::new(5);
    let fs = vault();
    load(&fs);
    let whole = fs.read(&bundle()).unwrap().unwrap();
    for n in 0..30_u32 {
        let mut torn = whole.clone();
        let place = random.below(if n % 2 == 0 { 4_000 } else { torn.len() });
        if n.is_multiple_of(3) {
            torn.truncate(place);
        } else {
            torn[place] ^= 1 << random.below(8);
        }
        fs.put(&bundle(), &torn);
        assert_true(&fs, &load(&fs));
    }
}

/// What every command needs is read of all chats; the rest, which is most of it, only of those that it is asked of.
#[test]
fn what_nobody_asks_for_is_not_read() {
    // Whoever reads any of it finds out that it is torn, and takes the bundle away.
    let (fs, torn) = vault_with_torn_bulk();
    let library = load(&fs);
    for (_, chat) in library.chats() {
        assert_eq!(chat.transcript().len(), 10);
        assert_eq!(chat.slug(), Some(&*format!("slug {}", &chat.name()[5..])));
        assert_eq!((chat.facts().links.len(), chat.book().is_some()), (2, chat.main_chat().is_some()));
    }
    assert!(fs.read(&bundle()).unwrap() == Some(torn), "somebody has looked at it");
    assert_true(&fs, &library);
    assert_eq!(fs.identity(&bundle()).unwrap(), None);
}

/// A chat that is another one by now, and of which nothing that is remembered can be read: nothing is taken for something that it is not.
#[test]
fn what_cannot_be_read_in_any_way_is_like_nothing_else() {
    let (fs, _) = vault_with_torn_bulk();
    let library = load(&fs);
    (0..MORE_CHATS).for_each(|n| write(&fs, n, 12));
    let rows: Vec<Row> = library.chats().flat_map(|(_, chat)| rows(chat.transcript())).collect();
    let moments: HashSet<_> = rows.iter().map(|row| row.moment).collect();
    assert_eq!((rows.len(), moments.len()), (MORE_CHATS * 10, MORE_CHATS * 10));
    assert!(rows.iter().all(|row| row.len == 0));
}

#[test]
fn what_is_gone_goes_from_the_bundle_and_the_rest_stays() {
    let fs = vault();
    load(&fs);
    let (gone, identity) = (file(3), fs.identity(&file(3)).unwrap().unwrap());
    fs.unlink(&gone).unwrap();
    let left: HashSet<String> =
        (0..CHATS).filter(|n| *n != 3).map(|n| cache::file_of(&file(n)).name().to_owned()).collect();
    cache::forget_all_but(&*fs, &left).unwrap();
    assert!(cache::recall(&*fs, &gone, identity).is_none());
    assert!((0..CHATS).filter(|n| *n != 3).all(|n| known(&fs, &file(n)).is_some()));
}

#[test]
fn whatever_happens_to_chats_what_is_known_of_them_is_true() {
    let mut random = Random::new(9);
    let fs = vault();
    for _ in 0..40 {
        let most = if random.below(4) == 0 { 120 } else { 4 };
        for _ in 0..random.below(most) {
            let n = random.below(CHATS + 20);
            match random.below(4) {
                0 if fs.identity(&file(n)).unwrap().is_some() => fs.unlink(&file(n)).unwrap(),
                _ => write(&fs, n, 8 + random.below(6)),
            }
        }
        if random.below(6) == 0 && fs.identity(&bundle()).unwrap().is_some() {
            fs.unlink(&bundle()).unwrap();
        }
        assert_true(&fs, &load(&fs));
    }
}

#[test]
fn two_who_read_at_once_leave_what_is_true() {
    let fs = vault();
    std::thread::scope(|scope| {
        for start in 0..3 {
            let fs = &fs;
            scope.spawn(move || {
                for n in 0..4 {
                    if start == 0 {
                        (0..CHATS).step_by(2).for_each(|chat| write(fs, chat, 9 + n));
                    }
                    load(fs);
                }
            });
        }
    });
    assert_true(&fs, &load(&fs));
}
