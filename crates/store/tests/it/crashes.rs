//! The crash model: saving, putting packs together, forgetting and pruning, stopped before each of their changes by a kill or a power
//! cut, and then gone on with.
//!
//! What must hold whatever happens: a commit has happened or has not; what a record that is left names can be read; and the next writer
//! can write. And the checks can fail: [`every_sync_is_needed`] leaves out one sync after the other and expects to be caught.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use forklore_fs::{Crash, SimFs, Vfs};
use forklore_store::{Id, Record, Store, StoreError};

use crate::help::{Doc, dir, line, open, read, roots, save};

const TARGET: usize = 1 << 10;

/// The versions, and their bytes. They are compared with thousands of times.
static VERSIONS: LazyLock<Vec<(Doc, Vec<u8>)>> = LazyLock::new(|| {
    let version = |n: u64| {
        let mut doc = Doc::of(25, 1);
        doc.0.extend((0..n).map(|n| (2 << 40 | n, line(2, n))));
        doc.0[(n % 20) as usize].1.push_str(" changed");
        let bytes = doc.bytes();
        (doc, bytes)
    };
    (0..10).map(version).collect()
});

fn document(n: u64) -> &'static Doc {
    &VERSIONS[n as usize].0
}

fn bytes(n: u64) -> &'static [u8] {
    &VERSIONS[n as usize].1
}

/// What does not become less when it is compressed, and is more than a writer keeps in memory.
static NOISE: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let piece = |n: u64| (0..1 << 13).flat_map(move |i| *Id::of(&(n << 32 | i).to_le_bytes()).as_bytes());
    (0..18).map(|n| piece(n).collect()).collect()
});

/// Saves versions `from..to`.
fn saves(store: &mut Store, from: u64, to: u64) -> Result<(), StoreError> {
    let mut last = store.records().last().and_then(|record| roots(&record).pop());
    for n in from..to {
        last = Some(save(store, document(n), TARGET, last.as_ref())?);
    }
    Ok(())
}

/// What is run, on what, and which records there may be afterwards.
struct Scenario {
    name: &'static str,
    /// How many saves there are before it begins.
    before: u64,
    run: fn(&mut Store) -> Result<(), StoreError>,
    /// The records that may be there afterwards, as ranges of versions.
    may: &'static [&'static [u64]],
    /// Syncs, by number, that only other scenarios need.
    spared: &'static [usize],
}

fn one_save(store: &mut Store) -> Result<(), StoreError> {
    saves(store, 3, 4)
}

/// The eighth small pack: all of them become one.
fn putting_together(store: &mut Store) -> Result<(), StoreError> {
    saves(store, 7, 8)
}

fn forgetting(store: &mut Store) -> Result<(), StoreError> {
    let mut writer = store.writer()?;
    [1, 2, 4].into_iter().for_each(|seq| writer.forget(seq));
    writer.commit()
}

/// A writer that puts so much that it goes to the disk before the commit, and then gives up.
fn giving_up(store: &mut Store) -> Result<(), StoreError> {
    let mut writer = store.writer()?;
    for noise in &*NOISE {
        writer.put(noise, None)?;
    }
    drop(writer);
    saves(store, 3, 4)
}

fn pruning(store: &mut Store) -> Result<(), StoreError> {
    forgetting(store)?;
    store.prune(&|_, record| Some(roots(record)))?;
    Ok(())
}

/// Everything goes, also the last number.
fn pruning_all(store: &mut Store) -> Result<(), StoreError> {
    let mut writer = store.writer()?;
    (1..=5).for_each(|seq| writer.forget(seq));
    writer.commit()?;
    store.prune(&|_, record| Some(roots(record)))?;
    Ok(())
}

const SCENARIOS: [Scenario; 5] = [
    Scenario { name: "save", before: 3, run: one_save, may: &[&[0, 1, 2], &[0, 1, 2, 3]], spared: &[] },
    Scenario {
        name: "putting together",
        before: 7,
        run: putting_together,
        may: &[&[0, 1, 2, 3, 4, 5, 6], &[0, 1, 2, 3, 4, 5, 6, 7]],
        spared: &[],
    },
    Scenario { name: "giving up", before: 3, run: giving_up, may: &[&[0, 1, 2], &[0, 1, 2, 3]], spared: &[] },
    // Both are for what the next scenario does. The one is for packs that are removed and have no successor: here each has one, and that
    // says that what was there before it does not count. The other is for numbers that only an empty pack keeps: here a record does.
    Scenario {
        name: "pruning",
        before: 5,
        run: pruning,
        may: &[&[0, 1, 2, 3, 4], &[2, 4]],
        spared: &[8, 10],
    },
    Scenario { name: "pruning all", before: 5, run: pruning_all, may: &[&[0, 1, 2, 3, 4], &[]], spared: &[] },
];

/// What there is before a scenario begins. Each run has its own [`copy`].
fn disk(scenario: &Scenario) -> SimFs {
    let fs = Arc::new(SimFs::new());
    saves(&mut open(&fs), 0, scenario.before).unwrap();
    copy(&fs)
}

/// The same disk, in the hands of a new process.
fn copy(fs: &SimFs) -> SimFs {
    fs.after(Crash::Kill, 1).remove(0)
}

/// What is wrong with a disk; else which records there are.
fn judge(scenario: &Scenario, fs: &Arc<SimFs>) -> Result<Vec<u64>, String> {
    let mut store = open(fs);
    if let Some(path) = store.damaged().next() {
        return Err(format!("{path} is damaged"));
    }
    let version = |record: Record<'_>| {
        let id = roots(&record).pop().ok_or("a record names nothing")?;
        let found = read(&store, &id).map_err(|e| format!("record {}: {e}", record.seq))?;
        (0..10).find(|n| *bytes(*n) == found).ok_or_else(|| "a version that never was".to_owned())
    };
    let versions = store.records().map(version).collect::<Result<Vec<u64>, String>>()?;
    if !scenario.may.contains(&&*versions) {
        return Err(format!("records of {versions:?}"));
    }
    if !store.verify(&roots).is_good() {
        return Err("something is missing".to_owned());
    }
    // The next writer can write, takes a number that was never given, and clears away what was left.
    let mut used: BTreeSet<u64> = store.records().map(|record| record.seq).collect();
    let next = save(&mut store, document(9), TARGET, None).map_err(|e| e.to_string())?;
    let seq = store.records().last().map_or(0, |record| record.seq);
    if !used.insert(seq) || seq <= scenario.before {
        return Err(format!("the number {seq} was given twice"));
    }
    if read(&store, &next).map_err(|e| e.to_string())? != bytes(9) {
        return Err("the next save was not kept".to_owned());
    }
    // And what was there once can be saved again, whatever is left of it; the last one first, because it was made from the others.
    for n in (0..scenario.before).rev() {
        save(&mut store, document(n), TARGET, None).map_err(|e| e.to_string())?;
    }
    if !open(fs).verify(&roots).is_good() {
        return Err("what was saved again is not whole".to_owned());
    }
    let left = fs.list(&dir().join("packs").unwrap()).unwrap();
    if let Some(litter) = left.iter().find(|node| !node.name.ends_with(".pack")) {
        return Err(format!("{} is left", litter.name));
    }
    Ok(versions)
}

#[test]
fn killed_or_cut_off_anywhere_it_is_all_or_nothing() {
    for scenario in &SCENARIOS {
        let begin = disk(scenario);
        let mut seen = BTreeSet::new();
        let mut images = 0;
        for n in 0.. {
            let fs = Arc::new(copy(&begin));
            let mut store = open(&fs);
            fs.stop_before(n);
            let before = fs.operations();
            let done = (scenario.run)(&mut store);
            let stopped = fs.operations() - before >= n && done.is_err() || fs.operations() - before == n;
            for how in [Crash::Kill, Crash::PowerCut] {
                for image in fs.after(how, 200) {
                    images += 1;
                    let image = Arc::new(image);
                    let found = judge(scenario, &image);
                    let found = found
                        .unwrap_or_else(|e| panic!("{} stopped before {n}, {how:?}: {e}", scenario.name));
                    // What was said to be done is done.
                    assert!(done.is_err() || Some(&&*found) == scenario.may.last(), "{} {n}", scenario.name);
                    seen.insert(found);
                }
            }
            if !stopped {
                break;
            }
        }
        println!("{}: {images} disks", scenario.name);
        assert_eq!(seen.len(), scenario.may.len(), "{}: {seen:?}", scenario.name);
    }
}

/// Stopped, and then done again, and stopped again.
#[test]
fn a_second_crash_changes_nothing() {
    for scenario in &SCENARIOS[3..] {
        let begin = disk(scenario);
        let mut images = 0;
        for n in (0..).step_by(2) {
            let fs = Arc::new(copy(&begin));
            let mut store = open(&fs);
            fs.stop_before(n);
            let first = (scenario.run)(&mut store).is_ok();
            for image in both(&fs, 3) {
                for second in (0..).step_by(3) {
                    let again = Arc::new(copy(&image));
                    let mut store = open(&again);
                    again.stop_before(second);
                    let done = (scenario.run)(&mut store);
                    for last in both(&again, 3) {
                        images += 1;
                        let found = judge(scenario, &Arc::new(last));
                        assert!(found.is_ok(), "{} {n}, then {second}: {found:?}", scenario.name);
                    }
                    if again.operations() < second {
                        // Nothing stopped it.
                        assert!(done.is_ok(), "{} {n}, then whole: {done:?}", scenario.name);
                        break;
                    }
                }
            }
            if first {
                break;
            }
        }
        println!("{}: {images} disks", scenario.name);
    }
}

/// What a kill leaves, and the first and the last few of what a power cut can.
fn both(fs: &SimFs, few: usize) -> Vec<SimFs> {
    let mut cuts = fs.after(Crash::PowerCut, 200);
    let last = cuts.split_off(cuts.len().saturating_sub(few));
    cuts.truncate(few);
    fs.after(Crash::Kill, 1).into_iter().chain(cuts).chain(last).collect()
}

/// A disk that is full: an error, nothing lost, and when there is room again everything works.
#[test]
fn a_full_disk_is_an_error_and_nothing_else() {
    for scenario in &SCENARIOS {
        let begin = disk(scenario);
        let mut errors = 0;
        for n in 0.. {
            let fs = Arc::new(copy(&begin));
            let mut store = open(&fs);
            fs.fail_at(n);
            let done = (scenario.run)(&mut store);
            if fs.operations() <= n {
                // It was done before it came to that.
                assert!(done.is_ok(), "{} with room: {done:?}", scenario.name);
                break;
            }
            drop(store);
            let found = judge(scenario, &fs);
            let name = scenario.name;
            let found = found.unwrap_or_else(|e| panic!("{name} full at {n}: {e} after {done:?}"));
            assert!(done.is_err() || Some(&&*found) == scenario.may.last(), "{name} full at {n}: {found:?}");
            errors += usize::from(done.is_err());
        }
        assert!(errors > 3, "{}: {errors} errors", scenario.name);
    }
}

#[test]
fn every_sync_is_needed() {
    for scenario in &SCENARIOS {
        let begin = disk(scenario);
        let syncs = {
            let fs = Arc::new(copy(&begin));
            (scenario.run)(&mut open(&fs)).unwrap();
            fs.syncs()
        };
        // Whether the power cut before the operation `n` does harm; `None` if it was done before.
        let harm = |ignored: usize, n: usize| {
            let fs = Arc::new(copy(&begin));
            let mut store = open(&fs);
            fs.ignore_sync(ignored);
            fs.stop_before(n);
            let done = (scenario.run)(&mut store);
            let harm = fs.after(Crash::PowerCut, 200).into_iter().any(|image| {
                let found = judge(scenario, &Arc::new(image));
                found.is_err() || done.is_ok() && found.ok().as_deref() != scenario.may.last().copied()
            });
            (fs.operations() >= n).then_some(harm)
        };
        for ignored in 0..syncs {
            let caught = (0..).map_while(|n| harm(ignored, n)).any(|harm| harm);
            let spared = scenario.spared.contains(&ignored);
            assert!(caught != spared, "{}: sync {ignored} of {syncs}, harm: {caught}", scenario.name);
        }
    }
}
