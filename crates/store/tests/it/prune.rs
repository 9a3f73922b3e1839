//! What nothing needs goes, and nothing else.

use std::sync::Arc;

use forklore_fs::{SimFs, Vfs};
use forklore_store::{Id, Store, StoreError};
use proptest::prelude::*;

use crate::help::{Doc, dir, line, open, read, roots, save, size};

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

    let pruned = store.prune(&roots).unwrap();
    assert_eq!(pruned.records, versions.iter().filter(|(seq, ..)| !kept(*seq)).count());
    assert!(pruned.objects > 0 && pruned.after < pruned.before, "{pruned:?}");
    assert_eq!(pruned.after, size(&*fs));
    assert!(size(&*fs) < all);
    check(&store, &versions, kept);
    check(&open(&fs), &versions, kept);
    // Once is enough.
    let again = store.prune(&roots).unwrap();
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
    store.prune(&roots).unwrap();
    assert_eq!(store.records().count(), 0);
    assert!(size(&*fs) < 300, "{}", size(&*fs));
    let mut store = open(&fs);
    let mut writer = store.writer().unwrap();
    assert_eq!(writer.record(b"next"), 21);
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
    let refused = store.prune(&roots);
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
            store.prune(&roots).unwrap();
            versions.retain(|(seq, ..)| kept(*seq));
            check(&store, &versions, |_| true);
            check(&open(&fs), &versions, |_| true);
        }
    }
}
