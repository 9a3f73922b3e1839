//! What nothing needs goes, and nothing else.

use std::sync::Arc;

use forklore_fs::{Crash, SimFs, Vfs};
use forklore_store::{Id, Store, StoreError};
use proptest::prelude::*;

use crate::help::{Doc, dir, line, open, read, roots, save, sim, size};

const TARGET: usize = 2 << 10;

/// Versions of two documents that share much, by number of their record.
fn story(store: &mut Store, saves: u64) -> Vec<(u64, Id, Vec<u8>)> {
    let mut docs = [Doc::of(120, 1), Doc::of(150, 1)];
    docs[1].0[140].1.push_str("other");
    let mut last = [None, None];
    let mut versions = Vec::new();
    for n in 0..saves {
        let which = usize::from(n % 3 == 2);
        let doc = &mut docs[which];
        let lines = doc.0.len() as u64;
        match n % 5 {
            0 => doc.0.push((1 << 50 | n, line(n, 0))),
            1 => doc.0[(n * 31 % lines) as usize].1 = line(n, 1),
            2 => doc.0.iter_mut().step_by(9).for_each(|(_, text)| *text = text.replace("Ana", "Zoë")),
            3 => drop(doc.0.drain((n % lines) as usize..(n % lines + 3).min(lines) as usize)),
            _ => doc.0.insert((n % lines) as usize, (1 << 51 | n, line(n, 2))),
        }
        let id = save(store, doc, TARGET, last[which].as_ref()).unwrap();
        last[which] = Some(id);
        versions.push((store.records().last().unwrap().seq, id, doc.bytes()));
    }
    versions
}

fn forget(store: &mut Store, seqs: impl IntoIterator<Item = u64>) {
    let mut writer = store.writer().unwrap();
    seqs.into_iter().for_each(|seq| writer.forget(seq));
    writer.commit().unwrap();
}

fn check(store: &Store, versions: &[(u64, Id, Vec<u8>)], kept: impl Fn(u64) -> bool) {
    let left: Vec<u64> = store.records().map(|record| record.seq).collect();
    let expected: Vec<u64> = versions.iter().map(|(seq, ..)| *seq).filter(|seq| kept(*seq)).collect();
    assert_eq!(left, expected);
    for (_, id, bytes) in versions.iter().filter(|(seq, ..)| kept(*seq)) {
        assert!(read(store, id).unwrap() == *bytes);
    }
    assert!(store.verify(&roots).is_good());
}

#[test]
fn what_is_forgotten_goes_and_the_rest_stays() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let versions = story(&mut store, 60);
    let all = size(&*fs);
    let kept = |seq: u64| seq.is_multiple_of(10) || seq > 55;
    forget(&mut store, versions.iter().map(|(seq, ..)| *seq).filter(|seq| !kept(*seq)));
    check(&store, &versions, kept);
    // Everything is still there, but for the records.
    assert!(versions.iter().all(|(_, id, bytes)| read(&store, id).unwrap() == *bytes));

    let pruned = store.prune(&|_, record| Some(roots(record))).unwrap();
    assert_eq!(pruned.records, versions.iter().filter(|(seq, ..)| !kept(*seq)).count());
    assert!(pruned.objects > 0 && pruned.after < pruned.before, "{pruned:?}");
    assert_eq!(pruned.after, size(&*fs));
    assert!(size(&*fs) < all);
    check(&store, &versions, kept);
    check(&open(&fs), &versions, kept);
    // Once is enough.
    let again = store.prune(&|_, record| Some(roots(record))).unwrap();
    assert_eq!((again.objects, again.records, again.before), (0, 0, again.after));

    // And life goes on, with numbers that were never used.
    let more = story(&mut store, 3);
    assert!(more[0].0 > versions.last().unwrap().0);
}

#[test]
fn when_everything_is_forgotten_nothing_is_left_but_the_numbers() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let versions = story(&mut store, 20);
    forget(&mut store, versions.iter().map(|(seq, ..)| *seq));
    store.prune(&|_, record| Some(roots(record))).unwrap();
    assert_eq!(store.records().count(), 0);
    assert!(size(&*fs) < 300, "{}", size(&*fs));
    let mut store = open(&fs);
    let mut writer = store.writer().unwrap();
    assert!(writer.record(b"next") > 20);
}

/// Packs go one by one. Where that is interrupted, what others were made from can be gone already: nobody needs those, and what is saved
/// again must not rest on them.
#[test]
fn regression_what_was_let_go_can_be_saved_again() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let mut doc = Doc::of(30, 1);
    let mut last = save(&mut store, &doc, TARGET, None).unwrap();
    for n in 0..4 {
        doc.0[n * 5].1.push_str("more");
        last = save(&mut store, &doc, TARGET, Some(&last)).unwrap();
    }
    forget(&mut store, 1..=5);
    fs.stop_before(1);
    assert!(store.prune(&|_, record| Some(roots(record))).is_err());
    let fs = Arc::new(fs.after(Crash::Kill, 1).remove(0));

    let mut store = open(&fs);
    assert!(store.verify(&roots).is_good());
    assert_eq!(save(&mut store, &doc, TARGET, None).unwrap(), last);
    for _ in 0..2 {
        assert!(read(&store, &last).unwrap() == doc.bytes());
        assert!(read(&open(&fs), &last).unwrap() == doc.bytes());
        store.prune(&|_, record| Some(roots(record))).unwrap();
    }
}

/// The same change again is no mistake, though it makes the same pack.
#[test]
fn regression_what_is_forgotten_can_be_forgotten_again() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let versions = story(&mut store, 4);
    for _ in 0..3 {
        forget(&mut store, [versions[1].0]);
        check(&store, &versions, |seq| seq != versions[1].0);
    }
}

#[test]
fn a_footprint_counts_what_is_shared_once() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let versions = story(&mut store, 12);
    let of = |ids: &[Id]| store.footprint(ids.iter().copied()).unwrap();
    let ids: Vec<Id> = versions.iter().map(|(_, id, _)| *id).collect();
    let (one, all) = (of(&ids[..1]), of(&ids));
    assert!(one.objects > 3 && one.stored > 0 && one.raw >= versions[0].2.len() as u64, "{one:?}");
    assert!(all.stored < 4 * one.stored && all.objects > one.objects, "{one:?} {all:?}");
    assert!(all.stored <= size(&*fs) * 11 / 10, "{all:?} {}", size(&*fs));
}

/// Something unreadable may be what tells that something else is needed.
#[test]
fn nothing_is_removed_from_a_damaged_store() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let versions = story(&mut store, 6);
    forget(&mut store, [versions[0].0]);
    let packs = dir().join("packs").unwrap();
    let names = fs.list(&packs).unwrap();
    let path = packs.join(&names[1].name).unwrap();
    let mut bytes = fs.read(&path).unwrap().unwrap();
    bytes.truncate(bytes.len() - 1);
    fs.put(&path, &bytes);
    let before = size(&*fs);
    let mut store = open(&fs);
    let refused = store.prune(&|_, record| Some(roots(record)));
    assert!(matches!(refused, Err(StoreError::NotWhole(_))), "{refused:?}");
    assert_eq!(size(&*fs), before);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn properties_nothing_needed_is_lost(
        saves in 1u64..50,
        rounds in proptest::collection::vec(any::<u64>(), 1..4),
        reopen in any::<bool>(),
    ) {
        let fs = Arc::new(SimFs::new());
        let mut store = open(&fs);
        let mut versions = Vec::new();
        for choice in rounds {
            versions.extend(story(&mut store, saves));
            let kept = |seq: u64| choice.rotate_left(seq as u32 % 64) & 3 != 0;
            let known: Vec<u64> = store.records().map(|record| record.seq).collect();
            forget(&mut store, known.iter().copied().filter(|seq| !kept(*seq)));
            if reopen {
                store = open(&fs);
            }
            store.prune(&|_, record| Some(roots(record))).unwrap();
            versions.retain(|(seq, ..)| kept(*seq));
            check(&store, &versions, |_| true);
            check(&open(&fs), &versions, |_| true);
        }
    }
}

/// A newer Forklore may have recorded something that this one does not understand.
#[test]
fn nothing_is_removed_while_a_record_makes_no_sense() {
    let fs = sim();
    let mut store = open(&fs);
    save(&mut store, &Doc::of(30, 1), TARGET, None).unwrap();
    save(&mut store, &Doc::of(30, 2), TARGET, None).unwrap();
    let mut writer = store.writer().unwrap();
    writer.forget(1);
    writer.commit().unwrap();
    let before = size(&*fs);
    let refused = store.prune(&|_, _| None);
    assert!(matches!(refused, Err(StoreError::NotUnderstood(2))), "{refused:?}");
    assert_eq!(size(&*fs), before);
}
