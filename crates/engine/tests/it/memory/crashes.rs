//! Killed before any change on disk, by a kill or a power cut: no answer that was kept is asked for again, nothing is half written, and
//! whoever goes on comes to the same end.

use forklore_fs::{Crash, SimFs};
use forklore_vault::settle;

use super::*;
use crate::path;

/// A vault with one chat, in the simulator.
fn simulated() -> SimFs {
    let fs = SimFs::new();
    let texts = vault(45).read(CHAT);
    fs.put(&path(CHAT), &texts);
    fs.put(&path("settings.json"), b"{}");
    fs
}

/// Asks and writes until something stops it; whether it came to the end, and how many answers were kept for sure.
fn go_on(fs: &Arc<dyn Vfs>) -> (bool, usize) {
    let mut kept = 0;
    let mut all = || -> Option<()> {
        settle::recover(&**fs, NOW).ok()?;
        let mut answers = AnswerStore::open(fs).ok()?;
        loop {
            let library = Library::load(fs.clone(), &NoProgress).ok()?;
            let mut found =
                survey(&library, library.find_chat("Long road").ok()?, &answers, &Arc::default()).ok()?;
            let plan = projection::plan(&library, &found, NOW).ok()?;
            if !plan.is_nothing() {
                projection::execute(&library, &found, plan, NOW).ok()?;
                continue;
            }
            let Some(question) = found.missing(&answers).next().cloned() else { return Some(()) };
            answers.add(answered(&found, &question)).ok()?;
            kept += 1;
            found.compute(&answers);
        }
    };
    let done = all().is_some();
    (done, kept)
}

fn book_and_chat(fs: &dyn Vfs) -> Vec<Vec<u8>> {
    let books = fs.list(&path("worlds")).unwrap();
    let books =
        books.iter().map(|entry| fs.read(&path("worlds").join(&entry.name).unwrap()).unwrap().unwrap());
    books.chain(fs.read(&path(CHAT)).unwrap()).collect()
}

#[test]
fn a_run_that_is_killed_anywhere_buys_nothing_twice_and_ends_the_same() {
    let whole = Arc::new(simulated());
    let shared: Arc<dyn Vfs> = whole.clone();
    let (done, questions) = go_on(&shared);
    assert!(done && questions >= 3, "{questions} questions");
    let end = book_and_chat(&*whole);
    for n in (0..whole.operations()).step_by(3) {
        let fs = Arc::new(simulated());
        fs.stop_before(n);
        let shared: Arc<dyn Vfs> = fs.clone();
        let (_, kept) = go_on(&shared);
        for how in [Crash::Kill, Crash::PowerCut] {
            for image in fs.after(how, 2) {
                let image: Arc<dyn Vfs> = Arc::new(image);
                let (done, more) = go_on(&image);
                assert!(done, "killed at {n}");
                // The one that was being kept may be there or not.
                let bought = kept + more;
                assert!(
                    bought == questions || bought + 1 == questions,
                    "{how:?} at {n}: {kept} and {more} of {questions}"
                );
                assert!(book_and_chat(&*image) == end, "killed at {n}: another end");
            }
        }
    }
}
