//! What a user's files go through, version by version: everything comes back, and nothing costs more than it should.

use forklore_fs::Vfs as _;
use forklore_store::{Id, Store, StoreError};

use crate::help::{Content, Doc, dir, line, open, read, real, save, sim, size};

const TARGET: usize = 16 << 10;

#[test]
fn an_empty_store_needs_no_directory() {
    let fs = sim();
    let store = open(&fs);
    assert_eq!(store.records().count(), 0);
    assert!(matches!(store.get(&Id::of(b"x")), Err(StoreError::Missing(_))));
    assert!(fs.list(&dir()).unwrap().is_empty());
}

#[test]
fn what_was_put_comes_back_after_the_commit_and_only_then() {
    let fs = sim();
    let mut store = open(&fs);
    let mut writer = store.writer().unwrap();
    let id = writer.put(b"rain on slate", None).unwrap();
    assert_eq!(&*writer.store().get(&id).unwrap(), b"rain on slate");
    drop(writer);
    assert!(!store.contains(&id));

    let mut writer = store.writer().unwrap();
    let id = writer.put(b"rain on slate", None).unwrap();
    let other = writer.put(b"rain on slate, again", Some(&id)).unwrap();
    assert_eq!((writer.record(b"first"), writer.record(b"second")), (1, 2));
    writer.commit().unwrap();

    for store in [store, open(&fs)] {
        assert_eq!(&*store.get(&id).unwrap(), b"rain on slate");
        assert_eq!(&*store.get(&other).unwrap(), b"rain on slate, again");
        let records: Vec<_> = store.records().map(|r| (r.seq, r.payload.to_vec())).collect();
        assert_eq!(records, [(1, b"first".to_vec()), (2, b"second".to_vec())]);
    }
}

#[test]
fn another_process_sees_it_after_a_refresh() {
    let fs = sim();
    let (mut one, mut two) = (open(&fs), open(&fs));
    let id = save(&mut one, &Doc::of(50, 1), TARGET, None).unwrap();
    assert!(!two.contains(&id));
    two.refresh().unwrap();
    assert_eq!(read(&two, &id).unwrap(), Doc::of(50, 1).bytes());
    let mut writer = two.writer().unwrap();
    assert_eq!(writer.record(b"x"), 2);
}

/// A list of segments refers to names that precede it in its pack: what is put after it must not come between.
#[test]
fn regression_an_object_put_after_a_document_does_not_spoil_it() {
    let fs = sim();
    let mut store = open(&fs);
    let mut doc = Doc::of(3, 1);
    let mut last = save(&mut store, &doc, TARGET, None).unwrap();
    for n in 0..4 {
        doc.0[1].1.push_str("more");
        let mut writer = store.writer().unwrap();
        let (content, mut units) = (Content(doc.bytes()), doc.units().into_iter());
        last = writer.put_document(&content, &mut units, TARGET, Some(&last)).unwrap();
        let other = writer.put(format!("something else {n}").as_bytes(), None).unwrap();
        writer.record(b"x");
        writer.commit().unwrap();
        let store = open(&fs);
        assert_eq!(read(&store, &last).unwrap(), doc.bytes());
        assert!(store.get(&other).is_ok());
    }
}

/// The habits of SillyTavern and its extensions, in small. Every version comes back, and costs about what changed.
#[test]
fn a_sequence_of_saves() {
    let (_folder, fs) = real();
    let mut store = Store::open(fs.clone(), dir()).unwrap();
    let mut doc = Doc::of(4_000, 7);
    let mut versions = Vec::new();
    let mut last = None;
    let mut step = |doc: &Doc, what: &str, most: u64| {
        let before = size(&*fs);
        let id = save(&mut store, doc, TARGET, last.as_ref()).unwrap();
        // Putting packs together can make it smaller.
        let cost = size(&*fs).saturating_sub(before);
        println!("{what}: {cost} bytes");
        assert!(cost <= most, "{what}: {cost} bytes, at most {most} expected");
        versions.push((id, doc.bytes()));
        last = Some(id);
    };
    let whole = doc.bytes().len() as u64;
    step(&doc, "first", whole);
    step(&doc, "the same again", 300);
    for n in 4_000..4_030 {
        doc.0.push((7 << 32 | (n + 1), line(7, n)));
        step(&doc, "append", 2_000);
    }
    for n in (0..4_000).step_by(40) {
        doc.0[n].1 = doc.0[n].1.replace("\"is_system\":false", "\"is_system\":true");
    }
    step(&doc, "100 flips", 100 * 150);
    for (n, (_, text)) in doc.0.iter_mut().enumerate() {
        *text = text.replace("\"n\":", &format!("\"extra\":{{\"tokens\":{}}},\"n\":", n % 977));
    }
    step(&doc, "extra everywhere", 4_000 * 12);
    doc.0.drain(1_000..1_100);
    step(&doc, "deleted", 8_000);
    doc.0.insert(500, (99, line(3, 3)));
    step(&doc, "inserted", 2_000);
    let mut fork = doc.clone();
    fork.0.truncate(2_000);
    fork.0[0].1.push_str("fork");
    step(&fork, "a fork", 4_000);

    for store in [store, Store::open(fs.clone(), dir()).unwrap()] {
        for (id, bytes) in &versions {
            assert!(read(&store, id).unwrap() == *bytes);
        }
    }
}

#[test]
fn the_content_may_not_end_before_its_units() {
    let fs = sim();
    let mut store = open(&fs);
    let doc = Doc::of(10, 1);
    let mut content = doc.bytes();
    content.truncate(400);
    let mut writer = store.writer().unwrap();
    let put = writer.put_document(&Content(content.clone()), &mut doc.units().into_iter(), TARGET, None);
    assert!(matches!(put, Err(StoreError::Shrunk)), "{put:?}");
    // Units that end early are no mistake: the rest is one more.
    let id = writer.put_document(&Content(content.clone()), &mut std::iter::empty(), TARGET, None).unwrap();
    writer.commit().unwrap();
    assert_eq!(read(&store, &id).unwrap(), content);
}
