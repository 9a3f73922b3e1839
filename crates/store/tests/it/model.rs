//! Any documents, any sequence of edits, any writers: everything that was committed comes back, byte for byte, in every later state of
//! the store.

use std::sync::Arc;

use forklore_fs::SimFs;
use forklore_store::{Id, Store};
use proptest::prelude::*;

use crate::help::{Content, Doc, dir, line, open, read, roots, save, size};

/// What happens to a document.
#[derive(Debug, Clone)]
enum Edit {
    Append(u8),
    Insert(u16),
    Delete(u16, u8),
    Flip(u16),
    Extra,
    Long(u16),
    Swap(u16, u16),
    Fork,
    /// The same key for several lines
    Double(u16),
    Nothing,
}

fn edits() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (1u8..6).prop_map(Edit::Append),
        2 => any::<u16>().prop_map(Edit::Insert),
        2 => (any::<u16>(), 1u8..40).prop_map(|(at, n)| Edit::Delete(at, n)),
        3 => any::<u16>().prop_map(Edit::Flip),
        1 => Just(Edit::Extra),
        1 => any::<u16>().prop_map(Edit::Long),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Edit::Swap(a, b)),
        1 => Just(Edit::Fork),
        1 => any::<u16>().prop_map(Edit::Double),
        1 => Just(Edit::Nothing),
    ]
}

fn apply(doc: &mut Doc, edit: &Edit, n: u64) {
    let lines = doc.0.len();
    let place = |at: u16| at as usize % lines.max(1);
    match edit {
        Edit::Append(count) => {
            doc.0.extend((0..u64::from(*count)).map(|i| (n << 16 | i | 1 << 40, line(n, i))));
        }
        Edit::Insert(at) => doc.0.insert(place(*at).min(lines), (n << 16 | 1 << 41, line(n, 99))),
        Edit::Delete(at, count) => {
            let at = place(*at).min(lines);
            doc.0.drain(at..(at + *count as usize).min(lines));
        }
        Edit::Extra => {
            for (i, (_, text)) in doc.0.iter_mut().enumerate() {
                *text = text.replacen("\"n\":", &format!("\"x{n}\":{i},\"n\":"), 1);
            }
        }
        Edit::Flip(at) if lines > 0 => {
            let text = &mut doc.0[place(*at)].1;
            *text = text.replace("\"is_system\":false", "\"is_system\":true");
        }
        Edit::Long(at) if lines > 0 => {
            let long: String = (0..60).map(|i| line(7, i)).collect();
            doc.0[place(*at)].1.push_str(&long);
        }
        Edit::Swap(a, b) if lines > 0 => doc.0.swap(place(*a), place(*b)),
        Edit::Double(at) if lines > 0 => {
            let key = doc.0[place(*at)].0;
            doc.0.iter_mut().step_by(3).for_each(|line| line.0 = key);
        }
        Edit::Flip(_) | Edit::Long(_) | Edit::Swap(..) | Edit::Double(_) | Edit::Fork | Edit::Nothing => {}
    }
}

fn all_come_back(store: &Store, versions: &[(Id, Vec<u8>)]) -> Result<(), TestCaseError> {
    for (id, bytes) in versions {
        prop_assert!(read(store, id).unwrap() == *bytes);
    }
    let recorded: Vec<Id> = store.records().flat_map(|record| roots(&record)).collect();
    prop_assert_eq!(recorded, versions.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn properties_everything_comes_back(
        first in 0u64..300,
        target in prop_oneof![Just(512usize), Just(4096), Just(16 << 10)],
        edits in proptest::collection::vec((edits(), any::<bool>()), 1..40),
    ) {
        let fs = Arc::new(SimFs::new());
        let mut store = open(&fs);
        let mut doc = Doc::of(first, 1);
        let mut previous = save(&mut store, &doc, target, None).unwrap();
        let mut versions = vec![(previous, doc.bytes())];
        for (n, (edit, reopen)) in edits.iter().enumerate() {
            let before = doc.bytes();
            apply(&mut doc, edit, n as u64 + 2);
            if matches!(edit, Edit::Fork) {
                doc = Doc(doc.0[..doc.0.len() / 2].to_vec());
            }
            if *reopen {
                store = open(&fs);
            }
            let id = save(&mut store, &doc, target, Some(&previous)).unwrap();
            // The same bytes are the same document, however it was cut.
            prop_assert_eq!(id == previous, before == doc.bytes());
            previous = id;
            versions.push((previous, doc.bytes()));
        }
        all_come_back(&store, &versions)?;
        all_come_back(&open(&fs), &versions)?;
        prop_assert!(store.verify(&roots).is_good());
        // What is asked of the store once more is there already.
        let bytes = size(&*fs);
        let mut writer = store.writer().unwrap();
        let again = writer.put_document(&Content(doc.bytes()), &mut doc.units().into_iter(), target, Some(&previous));
        prop_assert_eq!(again.unwrap(), previous);
        writer.commit().unwrap();
        // Where keys do not tell lines apart it may have been cut differently on the way.
        let unclear = edits.iter().any(|(edit, _)| matches!(edit, Edit::Double(_)));
        prop_assert!(unclear || size(&*fs) == bytes);
    }

    /// However the units are told, and whatever the bytes are, they come back.
    #[test]
    fn properties_any_units_will_do(
        bytes in proptest::collection::vec(any::<u8>(), 0..20_000),
        units in proptest::collection::vec((0u64..3000, 0u64..5), 0..60),
        other in proptest::collection::vec((0u64..3000, 0u64..5), 0..60),
        target in 1usize..5_000,
    ) {
        let fs = Arc::new(SimFs::new());
        let mut store = open(&fs);
        let mut previous = None;
        for units in [units, other] {
            let mut left = bytes.len() as u64;
            let units: Vec<_> = units
                .into_iter()
                .map(|(len, key)| {
                    let len = len.min(left);
                    left -= len;
                    forklore_store::Unit { len, key }
                })
                .collect();
            let mut writer = store.writer().unwrap();
            let id = writer.put_document(&Content(bytes.clone()), &mut units.into_iter(), target, previous.as_ref()).unwrap();
            writer.commit().unwrap();
            prop_assert!(read(&store, &id).unwrap() == bytes);
            prop_assert!(previous.is_none_or(|previous| previous == id));
            previous = Some(id);
        }
    }
}

/// A thousand versions of one object: none takes long to read, and all of them take little.
#[test]
fn long_chains_stay_short() {
    let fs = Arc::new(SimFs::new());
    let mut store = Store::open(fs.clone(), dir()).unwrap();
    let mut doc = Doc::of(200, 3);
    let mut previous: Option<Id> = None;
    let mut versions = Vec::new();
    for n in 0..1_100usize {
        doc.0[n * 7 % 200].1 = line(n as u64, 5);
        let mut writer = store.writer().unwrap();
        let id = writer.put(&doc.bytes(), previous.as_ref()).unwrap();
        writer.commit().unwrap();
        previous = Some(id);
        versions.push((id, doc.bytes()));
    }
    let store = Store::open(fs.clone(), dir()).unwrap();
    for (id, bytes) in &versions {
        assert!(*store.get(id).unwrap() == **bytes);
    }
    let each = size(&*fs) / 1_100;
    assert!(each < 1_000, "{each} bytes for a line of {}", line(1, 5).len());
    let files = forklore_fs::Vfs::list(&*fs, &dir().join("packs").unwrap()).unwrap().len();
    assert!(files < 60, "{files} files");
}
