//! Damaged packs: never a panic, never wrong bytes, and what can be repaired is.

use std::sync::Arc;

use forklore_fs::{SimFs, VaultPath, Vfs};
use forklore_store::{Id, Store, StoreError};

use crate::help::{Content, Doc, dir, line, open, read, roots, save};

const TARGET: usize = 2 << 10;

fn packs(fs: &SimFs) -> Vec<VaultPath> {
    let folder = dir().join("packs").unwrap();
    fs.list(&folder).unwrap().iter().map(|node| folder.join(&node.name).unwrap()).collect()
}

/// A store with a few versions of a document: objects that stand for themselves, differences, and compressed versions.
fn story() -> (Arc<SimFs>, Vec<(Id, Vec<u8>)>) {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let mut doc = Doc::of(30, 1);
    let mut versions: Vec<(Id, Vec<u8>)> = Vec::new();
    for n in 0..4 {
        doc.0[n * 5].1 = doc.0[n * 5].1.replace("false", "true");
        doc.0.push((1 << 50 | n as u64, line(5, n as u64)));
        let previous = versions.last().map(|(id, _)| *id);
        versions.push((save(&mut store, &doc, TARGET, previous.as_ref()).unwrap(), doc.bytes()));
    }
    (fs, versions)
}

/// Every byte of every pack, changed in two ways; and every length it can have.
#[test]
fn no_damage_gives_wrong_bytes() {
    let (whole, versions) = story();
    let recorded: Vec<String> = versions.iter().map(|(id, _)| id.to_string()).collect();
    let (mut lost, mut tried) = (0, 0);
    for path in packs(&whole) {
        let good = whole.read(&path).unwrap().unwrap();
        let flips = (0..good.len()).flat_map(|at| [(at, 0x01), (at, 0x80)]).map(|(at, bit)| {
            let mut bytes = good.clone();
            bytes[at] ^= bit;
            bytes
        });
        let cuts = (0..good.len()).step_by(3).map(|len| good[..len].to_vec());
        for bytes in flips.chain(cuts) {
            tried += 1;
            let fs = Arc::new(SimFs::new());
            packs(&whole).iter().for_each(|path| fs.put(path, &whole.read(path).unwrap().unwrap()));
            fs.put(&path, &bytes);
            let store = match Store::open(fs.clone(), dir()) {
                Ok(store) => store,
                // The byte that tells the version.
                Err(StoreError::Newer { .. }) => continue,
                Err(e) => panic!("{e}"),
            };
            // No record is made up.
            for record in store.records() {
                assert!(recorded.contains(&String::from_utf8_lossy(record.payload).into_owned()));
            }
            let verified = store.verify(&roots);
            for (id, expected) in &versions {
                match read(&store, id) {
                    Ok(bytes) => assert!(bytes == *expected),
                    Err(_) => lost += 1,
                }
            }
            let all_read = versions.iter().all(|(id, _)| read(&store, id).is_ok());
            let all_recorded = store.records().count() == versions.len();
            assert!(!verified.is_good() || (all_read && all_recorded), "damage was not seen");
        }
    }
    println!("{tried} damaged stores, {lost} documents unreadable");
    assert!(lost > 0);
}

#[test]
fn a_newer_format_is_refused_with_a_sentence() {
    let (fs, _) = story();
    let path = packs(&fs).remove(0);
    let mut bytes = fs.read(&path).unwrap().unwrap();
    bytes[7] += 1;
    fs.put(&path, &bytes);
    let error = Store::open(fs, dir()).err().unwrap();
    assert!(matches!(error, StoreError::Newer { version: 2, .. }));
    let text = error.to_string();
    assert!(text.contains("newer Forklore") && text.contains("update Forklore"), "{text}");
}

/// The first version is damaged; the live file still has most of it.
#[test]
fn what_a_file_still_has_is_mended() {
    let (fs, versions) = story();
    let path = packs(&fs).remove(0);
    let mut bytes = fs.read(&path).unwrap().unwrap();
    bytes[100] ^= 0xff;
    fs.put(&path, &bytes);
    let mut store = open(&fs);
    let verified = store.verify(&roots);
    assert_eq!(verified.records, [1, 2, 3, 4], "{verified:?}");
    assert!(!verified.damaged.is_empty() && verified.files.is_empty());

    let mut writer = store.writer().unwrap();
    // The list of segments was in the same frame: it may have to be made again, too.
    let content = Content(versions[0].1.clone());
    let mut doc = Doc::of(30, 1);
    doc.0[0].1 = doc.0[0].1.replace("false", "true");
    doc.0.push((1 << 50, line(5, 0)));
    let id = writer.mend_whole_document(&content, &mut doc.units().into_iter(), TARGET, None).unwrap();
    assert_eq!(id, versions[0].0);
    writer.commit().unwrap();
    for store in [store, open(&fs)] {
        for (id, bytes) in &versions {
            assert!(read(&store, id).unwrap() == *bytes);
        }
        assert!(store.verify(&roots).records.is_empty());
    }
}

/// The list of segments is good, a segment is not; the file has been added to since.
#[test]
fn a_segment_is_mended_by_its_place_in_the_file() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    // Two packs: what is whole in the first, the list in both.
    let mut doc = Doc::of(30, 1);
    let first = save(&mut store, &doc, TARGET, None).unwrap();
    doc.0[3].1.push_str("more");
    let second = save(&mut store, &doc, TARGET, Some(&first)).unwrap();
    let path = packs(&fs).pop().unwrap();
    let good = fs.read(&path).unwrap().unwrap();
    let mut mended = 0;
    for at in 8..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        fs.put(&path, &bytes);
        let mut store = open(&fs);
        if store.damaged().count() > 0 || store.manifest(&second).is_err() || read(&store, &second).is_ok() {
            continue;
        }
        let mut live = doc.bytes();
        live.extend_from_slice(b"a line that was added since");
        let mut writer = store.writer().unwrap();
        mended += writer.mend_document(&second, &Content(live)).unwrap();
        assert!(read(writer.store(), &second).unwrap() == doc.bytes());
    }
    assert!(mended > 0);
}

/// Where only the index is damaged, objects are found all the same, verified, and can be moved to safety.
#[test]
fn a_damaged_index_is_a_hint() {
    let (whole, versions) = story();
    let path = packs(&whole).remove(0);
    let good = whole.read(&path).unwrap().unwrap();
    let (mut found, mut more) = (0, 0);
    for at in good.len() - 600..good.len() - 200 {
        let fs = Arc::new(SimFs::new());
        packs(&whole).iter().for_each(|path| fs.put(path, &whole.read(path).unwrap().unwrap()));
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        fs.put(&path, &bytes);
        let mut store = open(&fs);
        let readable = versions.iter().filter(|(id, _)| read(&store, id).is_ok()).count();
        if store.damaged().count() == 0 || readable == 0 {
            continue;
        }
        let mut writer = store.writer().unwrap();
        let saved = writer.salvage().unwrap();
        writer.commit().unwrap();
        // Now without the damaged file.
        if saved > 0 {
            fs.unlink(&path).unwrap();
            let store = open(&fs);
            let still = versions.iter().filter(|(id, _)| read(&store, id).is_ok()).count();
            // What was read before is still read. It can be more: where it was a name that was damaged, the bytes tell the right one.
            assert!(still >= readable, "{still} of {readable}, damaged at {at}");
            found += 1;
            more += usize::from(still > readable);
        }
    }
    assert!(found > 10 && more > 0, "{found}, {more}");
}

/// Somebody took a pack away. Every save from then on is whole: nothing counts as being there because it once was.
#[test]
fn regression_a_save_does_not_rest_on_a_pack_that_is_gone() {
    let fs = Arc::new(SimFs::new());
    let mut store = open(&fs);
    let mut doc = Doc::of(30, 1);
    // Long lines are recognised by their pieces, without being read again.
    doc.0[7].1 = (0..40).map(|n| line(7, n)).collect();
    save(&mut store, &doc, TARGET, None).unwrap();
    let first = packs(&fs);
    doc.0.push((1 << 50, line(5, 0)));
    // This list of segments stands for itself, most of the segments are in the first pack.
    let second = save(&mut store, &doc, TARGET, None).unwrap();
    first.iter().for_each(|path| fs.unlink(path).unwrap());

    let mut store = open(&fs);
    assert!(store.manifest(&second).is_ok() && read(&store, &second).is_err());
    doc.0.push((1 << 51, line(5, 1)));
    let third = save(&mut store, &doc, TARGET, Some(&second)).unwrap();
    assert!(read(&store, &third).unwrap() == doc.bytes());
    assert!(read(&open(&fs), &third).unwrap() == doc.bytes());
}
