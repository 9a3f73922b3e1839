//! Many small chats are remembered in one file. Whatever becomes of it, and of them, what is known of a chat is what reading it would find.

use std::collections::HashSet;
use std::sync::Arc;

use forklore_core::story::Row;
use forklore_fs::{SimFs, VaultPath, Vfs};
use forklore_vault::read::scan::{Scan, scan};
use forklore_vault::{Library, NoProgress, cache};
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

/// A chat that is worth remembering, and small.
fn write(fs: &SimFs, n: usize, messages: usize) {
    let mut lines = vec![json!({"chat_metadata": {"integrity": format!("slug {n}")}}).to_string()];
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

fn vault() -> Arc<SimFs> {
    let fs = SimFs::new();
    fs.put(&path("settings.json"), b"{}");
    (0..CHATS).for_each(|n| write(&fs, n, 10));
    Arc::new(fs)
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
    }
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
    for n in 0..30 {
        let mut torn = whole.clone();
        let place = random.below(if n % 2 == 0 { 4_000 } else { torn.len() });
        if n % 3 == 0 {
            torn.truncate(place);
        } else {
            torn[place] ^= 1 << random.below(8);
        }
        fs.put(&bundle(), &torn);
        assert_true(&fs, &load(&fs));
    }
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
