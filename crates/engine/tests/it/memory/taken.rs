//! Chats that Auto-Recap and MemoryBooks have kept, as the real software left them: memory goes on from there, nothing is asked again, no
//! text becomes another one, and undo brings every byte back.

use forklore_engine::memory::take_over;
use forklore_memory::Kind;
use forklore_vault::{ChatIx, NoProgress};

use super::*;
use forklore_engine::heal;

/// Takes a chat over, and asks and writes nothing.
fn taken(played: &Played, c: ChatIx) -> Option<MemoryStatusAfter> {
    let library = played.library();
    let mut answers = AnswerStore::open(&played.fs).unwrap();
    let mut found = survey(&library, c, &answers, &played.ways).unwrap();
    let taken = match take_over(&library, &found, &answers) {
        // Whoever shares a book with others has nothing of its own to go on from.
        Err(MemoryError::Ill { .. }) => return None,
        taken => taken.unwrap(),
    };
    let scenes = taken.record.scenes.len();
    taken.answers.into_iter().for_each(|answer| answers.add(answer).unwrap());
    found.record = taken.record;
    found.compute(&answers);
    let plan = projection::plan(&library, &found, played.now()).unwrap();
    projection::execute(&library, &found, plan, played.now()).unwrap();
    let last = found.memory.standing.last().map(|standing| standing.scene.last());
    let missing = found.missing(&answers).map(|question| (question.kind(), question.messages())).collect();
    Some(MemoryStatusAfter { scenes, last, missing })
}

struct MemoryStatusAfter {
    scenes: usize,
    last: Option<usize>,
    missing: Vec<(Kind, Option<std::ops::Range<usize>>)>,
}

/// The entries of the book at a message, without what memory adds of its own.
fn entries(library: &Library, c: ChatIx, at: usize) -> BTreeMap<String, String> {
    let report = serde_json::to_value(show::show(library, c, Some(at)).unwrap()).unwrap();
    let entries = report["book"]["entries"].as_array().cloned().unwrap_or_default();
    let own = |title: &str| title == "Story so far" || title.starts_with("_registry");
    entries
        .iter()
        .map(|entry| (text(&entry["comment"]), text(&entry["content"])))
        .filter(|(title, _)| !own(title))
        .collect()
}

fn recap(library: &Library, c: ChatIx, at: usize) -> Value {
    let report = serde_json::to_value(show::show(library, c, Some(at)).unwrap()).unwrap();
    report["running"]["content"].clone()
}

fn tried(fixture: &str, least: usize) {
    let played = Played::new(TestVault::real(fixture));
    let library = played.library();
    let decide =
        |question: &heal::Question| question.choices.first().copied().filter(|_| !question.is_optional());
    let plan = heal::plan(&library, None, &Config::default(), &decide, played.now(), &NoProgress).unwrap();
    heal::execute(&library, plan, played.now()).unwrap();
    let files = |all: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        all.into_iter().filter(|(name, _)| !name.starts_with(".forklore")).collect()
    };
    let mut done = 0;
    let chats: Vec<ChatIx> = played.library().chats().map(|(c, _)| c).collect();
    for c in chats {
        let library = played.library();
        let kept = library.chat(c).book().and_then(|(name, _)| library.book(name).ok().flatten());
        if kept.is_none_or(|book| book.keeper().is_none()) {
            continue;
        }
        let name = library.address(c).to_string();
        let head = library.chat(c).head();
        let points: Vec<usize> = (0..=4).map(|part| head * part / 4).collect();
        let before: Vec<_> =
            points.iter().map(|at| (entries(&library, c, *at), recap(&library, c, *at))).collect();
        let bytes = files(played.vault.snapshot());
        let Some(after) = taken(&played, c) else { continue };
        assert!(after.missing.len() <= 1, "{name}: {:?}", after.missing);
        for (kind, about) in &after.missing {
            assert_eq!(*kind, Kind::Boundary, "{name}: only what comes after their last scene is asked");
            assert!(about.as_ref().unwrap().start > after.last.unwrap_or(0) || after.last.is_none());
        }
        let library = played.library();
        for (at, (then, recapped)) in points.iter().zip(&before) {
            let now = entries(&library, c, *at);
            let other: Vec<_> =
                then.keys().chain(now.keys()).filter(|k| then.get(*k) != now.get(*k)).collect();
            assert!(other.is_empty(), "{name} at {at}: {other:?}");
            assert_eq!(recap(&library, c, *at), *recapped, "{name} at {at}");
        }
        if after.scenes == 0 {
            continue;
        }
        done += 1;
        // All of it is one operation.
        let plan = undo::plan(&library, &OpLog::read(&*played.fs).unwrap(), None, false).unwrap();
        undo::execute(&library, plan, played.now()).unwrap();
        assert!(files(played.vault.snapshot()) == bytes, "{name}: undo brings every byte back");
    }
    assert!(done >= least, "{done} chats of {fixture} had scenes to take over");
}

#[test]
fn what_auto_recap_kept_goes_on() {
    tried("lantern", 2);
}

#[test]
fn what_memory_books_kept_goes_on() {
    tried("quill", 2);
}
