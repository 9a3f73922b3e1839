//! Several writers and readers at once: threads here, processes below.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use forklore_fs::{RealFs, SimFs, Vfs};
use forklore_store::{Id, Store};

use crate::help::{Doc, dir, line, open, read, real, roots, save};

const TARGET: usize = 4 << 10;
const SAVES: u64 = 40;

/// One writer's document: it grows by a line with every save.
fn document(writer: u64, saves: u64) -> Doc {
    let mut doc = Doc::of(50, 1);
    doc.0.extend((0..saves).map(|n| (writer << 40 | n, line(writer, n))));
    doc
}

fn write(store: &mut Store, writer: u64) {
    let mut last = None;
    for n in 0..SAVES {
        last = Some(save(store, &document(writer, n), TARGET, last.as_ref()).unwrap());
    }
}

/// Everything that the writers have put is there, once, and in their order.
fn check(store: &Store, writers: u64) {
    let ids: Vec<Id> = store.records().flat_map(|record| roots(&record)).collect();
    assert_eq!(ids.len() as u64, writers * SAVES);
    let seqs: BTreeSet<u64> = store.records().map(|record| record.seq).collect();
    assert_eq!(seqs.len() as u64, writers * SAVES);
    let found: Vec<Vec<u8>> = ids.iter().map(|id| read(store, id).unwrap()).collect();
    for writer in 1..=writers {
        let expected: Vec<Vec<u8>> = (0..SAVES).map(|n| document(writer, n).bytes()).collect();
        // The first version is the same for all of them.
        let mine: Vec<&Vec<u8>> = found.iter().filter(|bytes| expected[1..].contains(bytes)).collect();
        assert!(mine.into_iter().eq(&expected[1..]));
    }
    assert!(store.verify(&roots).is_good());
}

/// Says that it is over, also when a test fails: whoever waits for that would wait forever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn threads(fs: &Arc<impl Vfs + 'static>) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = Over(&done);
        let writers: Vec<_> =
            (1..=3).map(|writer| scope.spawn(move || write(&mut open(fs), writer))).collect();
        // Readers see a whole story at any time, also while packs are put together under their hands.
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = open(fs);
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    let ids: Vec<Id> = store.records().flat_map(|record| roots(&record)).collect();
                    assert!(ids.len() >= seen);
                    seen = ids.len();
                    ids.iter().rev().take(5).for_each(|id| drop(read(&store, id).unwrap()));
                    store.refresh().unwrap();
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        drop(over);
    });
    check(&open(fs), 3);
}

/// A writer that has always something to write does not keep another one waiting for more than a turn or a few.
#[test]
fn regression_who_waits_is_next() {
    const TURNS: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let fs = &Arc::new(RealFs::new(folder.path()).unwrap());
    let (done, busy) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let over = Over(&done);
        scope.spawn(|| {
            let _over = Over(&done);
            let mut store = open(fs);
            while !done.load(Ordering::Relaxed) {
                let _writer = store.writer().unwrap();
                busy.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let mut store = open(fs);
        for _ in 0..TURNS {
            // The other one has it, and will want it again at once.
            let before = busy.load(Ordering::Relaxed);
            while busy.load(Ordering::Relaxed) == before && !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(store.writer().unwrap());
        }
        drop(over);
    });
    let busy = busy.into_inner();
    println!("{TURNS} turns, {busy} of the other one");
    assert!(busy < TURNS * 20, "{busy} turns of the other one");
}

#[test]
fn threads_on_the_simulator() {
    threads(&Arc::new(SimFs::new()));
}

#[test]
fn threads_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    threads(&Arc::new(RealFs::new(folder.path()).unwrap()));
}

/// The test program again, as a writer: see [`a_process_that_writes`].
fn process(folder: &std::path::Path, writer: u64) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "together::a_process_that_writes", "--nocapture"])
        .env("FORKLORE_STORE_WRITER", writer.to_string())
        .env("FORKLORE_STORE_FOLDER", folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does nothing unless it was started by another test.
#[test]
fn a_process_that_writes() {
    let (Ok(writer), Some(folder)) =
        (std::env::var("FORKLORE_STORE_WRITER"), std::env::var_os("FORKLORE_STORE_FOLDER"))
    else {
        return;
    };
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(folder.as_ref()).unwrap());
    write(&mut Store::open(fs, dir()).unwrap(), writer.parse().unwrap());
}

#[test]
fn processes_on_the_disk() {
    let (folder, fs) = real();
    let children: Vec<_> = (1..=3).map(|writer| process(folder.path(), writer)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    check(&Store::open(fs, dir()).unwrap(), 3);
}

/// Writers that are killed leave nothing half done, and nothing that stands in the way of the next one.
#[test]
fn processes_that_are_killed() {
    let (folder, fs) = real();
    for n in 0..12u64 {
        let mut child = process(folder.path(), n + 1);
        std::thread::sleep(Duration::from_millis(15 + n * 9));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut store = Store::open(fs.clone(), dir()).unwrap();
        assert!(store.verify(&roots).is_good());
        let before = store.records().count();
        save(&mut store, &document(99, n), TARGET, None).unwrap();
        assert_eq!(store.records().count(), before + 1);
    }
    let left = fs.list(&dir().join("packs").unwrap()).unwrap();
    assert!(left.iter().all(|node| node.name.ends_with(".pack")), "{left:?}");
}
