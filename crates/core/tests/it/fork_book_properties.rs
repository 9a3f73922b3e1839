//! The book of a fork: what is not asked to change keeps its bytes, over random books in every layout.

use std::collections::HashSet;

use forklore_core::adapter::{EntryRole, entry_role};
use forklore_core::fork::book::{Content, assemble, fingerprint};
use forklore_core::format::book::{Book, Entry, EntryImage};
use forklore_json::{Kind, PathPart, Raw, apply_all, quote, remove, set};
use proptest::prelude::*;

const TITLES: &[&str] = &[
    r#""Ana""#,
    r#""Bo""#,
    r#""cut \ud83d""#,
    r#""\u0041na""#,
    r#""__operation_queue""#,
    r#""_registry_character""#,
    "5",
];

const TEXTS: &[&str] = &[
    r#""plain""#,
    r#""a\/b \u00e9 {\"x\": [1, 2]}""#,
    r#""lone \udfff and \ud800""#,
    r#""{\n  \"queue\": [\n    {\"id\": \"op_1\"}\n  ],\n  \"current_operation_id\": \"op_1\",\n  \"paused\": true\n}""#,
    r#""{\"queue\":[],\"current_operation_id\":null}""#,
    "null",
];

const FIELDS: &[&str] = &[
    r#""key":["a","b"]"#,
    r#""key":[]"#,
    r#""order":1e400"#,
    r#""order":100"#,
    r#""x-unknown":{"deep":[1,{"er":-0.0}],"":{}}"#,
    r#""\u0078-odd":"\ud800""#,
    r#""disable":true"#,
    r#""n":123456789012345678901234567890"#,
];

const TOPS: &[&str] = &[
    r#""extensions":{"a":[1.0,2]}"#,
    r#""zzz":null"#,
    r#""10":"ten""#,
    r#""\ud800":1e400"#,
    r#""name":"Parent""#,
    r#""name":{"odd":true}"#,
];

#[derive(Debug, Clone, Copy)]
enum Layout {
    Minified,
    Pretty,
    Odd(u64),
}

/// One entry: key, and the entry itself without white space.
fn entry() -> impl Strategy<Value = (String, String)> {
    let number = prop_oneof![
        4 => (0..12i64).prop_map(Some),
        1 => Just(Some(1_763_632_438_061)),
        1 => Just(Some(4_294_967_295)),
        1 => Just(None),
    ];
    let odd = prop::sample::select(vec!["007", "a", "", "-1", "4294967294", "é", "\\ud800", "1.5"]);
    let fields = prop::collection::vec(prop::sample::select(FIELDS), 0..4);
    let (title, text) = (prop::sample::select(TITLES), prop::sample::select(TEXTS));
    (number, odd, 0..8u8, title, text, fields).prop_map(|(number, odd, shape, title, text, fields)| {
        let key = number.filter(|_| shape != 0).map_or(odd.to_owned(), |n| n.to_string());
        let mut members: Vec<String> = fields.into_iter().map(str::to_owned).collect();
        members.insert(members.len() / 2, format!("\"comment\":{title}"));
        members.push(format!("\"content\":{text}"));
        if let Some(number) = number.filter(|_| shape != 1) {
            members.insert(0, format!("\"uid\":{number}{}", if shape == 2 { ".0" } else { "" }));
        }
        let entry = if shape == 7 && number == Some(3) { "[null]".to_owned() } else { object(&members) };
        (key, entry)
    })
}

fn object(members: &[String]) -> String {
    format!("{{{}}}", members.join(","))
}

/// A book. No key of its map stands twice: what of such a file reaches SillyTavern is only the last.
fn book() -> impl Strategy<Value = String> {
    let layout =
        prop_oneof![Just(Layout::Minified), Just(Layout::Pretty), any::<u64>().prop_map(Layout::Odd)];
    let tops = prop::collection::vec(prop::sample::select(TOPS), 0..4);
    let entries = prop::collection::vec(entry(), 0..14);
    (entries, any::<bool>(), tops, 0..4usize, any::<bool>(), layout).prop_map(
        |(mut entries, is_list, tops, at, original, layout)| {
            let mut seen = HashSet::new();
            entries.retain(|(key, _)| seen.insert(key.clone()));
            let members: Vec<String> = entries
                .iter()
                .map(|(key, entry)| if is_list { entry.clone() } else { format!("\"{key}\":{entry}") })
                .collect();
            let list = if is_list { format!("[{}]", members.join(",")) } else { object(&members) };
            let mut tops: Vec<String> = tops.into_iter().map(str::to_owned).collect();
            if original {
                let imported = entries.iter().map(|(_, entry)| entry.replace("\"key\"", "\"keys\""));
                let imported: Vec<String> = imported.collect();
                tops.push(format!("\"originalData\":{{\"v\":1.0,\"entries\":[{}]}}", imported.join(",")));
            }
            tops.insert(at.min(tops.len()), format!("\"entries\":{list}"));
            String::from_utf8(lay_out(object(&tops).as_bytes(), layout)).unwrap()
        },
    )
}

fn lay_out(compact: &[u8], layout: Layout) -> Vec<u8> {
    let raw = Raw::parse(compact).unwrap();
    match layout {
        Layout::Minified => compact.to_vec(),
        Layout::Pretty => forklore_json::pretty(raw, 0),
        Layout::Odd(mut seed) => {
            let mut out = Vec::new();
            let (mut inside, mut escaped) = (false, false);
            for &c in compact {
                let structural = !inside && b"{}[],:".contains(&c);
                let mut blank = || {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    [&b""[..], b" ", b"\n\t", b"", b"\r\n  "][(seed >> 33) as usize % 5]
                };
                if structural {
                    out.extend_from_slice(blank());
                }
                out.push(c);
                if structural {
                    out.extend_from_slice(blank());
                }
                inside ^= c == b'"' && !escaped;
                escaped = c == b'\\' && !escaped;
            }
            out
        }
    }
}

fn is_queue(entry: &Entry<'_>) -> bool {
    entry_role(&entry.comment()) == EntryRole::Queue
}

/// The document without what a fork may change: its name and the text of its queues.
fn stripped(bytes: &[u8], named: bool) -> Vec<u8> {
    let book = Book::parse(bytes).unwrap();
    let doc = book.raw();
    let mut edits = Vec::new();
    for entry in book.entries().iter().filter(|entry| is_queue(entry)) {
        let mut edit = set(entry.raw, &[PathPart::key("content")], b"0").unwrap();
        let by = entry.raw.range_in(doc.bytes()).unwrap().start;
        edit.range = edit.range.start + by..edit.range.end + by;
        edits.push(edit);
    }
    let name = [PathPart::key("name")];
    edits.push(if named { set(doc, &name, b"0").unwrap() } else { remove(doc, &name).unwrap() });
    apply_all(doc.bytes(), &edits)
}

fn has_name(bytes: &[u8]) -> bool {
    Raw::parse(bytes).unwrap().get("name").is_some()
}

fn over(bytes: &[u8], entries: &[EntryImage]) -> Vec<u8> {
    let book = Book::parse(bytes).unwrap();
    assemble(Content::Entries { over: Some(&book), entries }, "Fork \"1\" é")
}

/// Number, title and text of every entry but the queues, in a fixed order.
fn said(images: &[EntryImage]) -> Vec<(Option<i64>, String, String)> {
    let told = images.iter().filter(|image| entry_role(&image.comment) != EntryRole::Queue);
    let mut said: Vec<_> =
        told.map(|image| (image.uid, image.comment.to_string(), image.content().into_owned())).collect();
    said.sort();
    said
}

/// Key and bytes of every entry but the queues, in a fixed order.
fn kept<'a>(entries: impl Iterator<Item = &'a Entry<'a>>) -> Vec<(Option<&'a [u8]>, &'a [u8])> {
    let told = entries.filter(|entry| !is_queue(entry));
    let mut kept: Vec<_> = told.map(|entry| (entry.key.map(Raw::bytes), entry.raw.bytes())).collect();
    kept.sort();
    kept
}

/// The entries that the mask names. Of entries that are alike in number and in every byte, the first are meant: nothing in them tells which
/// of their keys was theirs.
fn some_of<'a>(book: &Book<'a>, mask: u16) -> Vec<Entry<'a>> {
    let entries = book.entries();
    let alike = |a: &Entry<'_>, b: &Entry<'_>| a.uid() == b.uid() && a.raw.bytes() == b.raw.bytes();
    let mut taken = HashSet::new();
    for (_, named) in entries.iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1) {
        let first = (0..entries.len()).find(|n| !taken.contains(n) && alike(&entries[*n], named));
        taken.extend(first);
    }
    (0..entries.len()).filter(|n| taken.contains(n)).map(|n| entries[n]).collect()
}

fn array_index(key: &str) -> Option<u32> {
    key.parse().ok().filter(|n: &u32| n.to_string() == key && *n < u32::MAX)
}

fn is_in_javascripts_order(book: &Book<'_>) -> bool {
    let keys = book.entries().iter().filter_map(|entry| entry.key);
    let ranks: Vec<u32> = keys.map(|key| array_index(&key.as_text().unwrap()).unwrap_or(u32::MAX)).collect();
    ranks.is_sorted()
}

/// Top-level members that are not the fork's business.
fn other_members(bytes: &[u8]) -> Vec<(&[u8], &[u8])> {
    let doc = Raw::parse(bytes).unwrap();
    let ours = ["entries", "name", "originalData"];
    let others = doc.members().filter(|(key, _)| !ours.iter().any(|name| key.is_text(name)));
    others.map(|(key, value)| (key.bytes(), value.bytes())).collect()
}

fn fields(entry: Raw<'_>) -> Vec<(Vec<u8>, String)> {
    let names: HashSet<Vec<u8>> =
        entry.members().map(|(key, _)| key.as_wtf8().unwrap().into_owned()).collect();
    let value = |name: &[u8]| {
        let mut same = entry.members().filter(|(key, _)| *key.as_wtf8().unwrap() == *name);
        let (_, value) = same.by_ref().last().unwrap();
        // Notation of whole numbers and of texts is not what is compared.
        let plain = value.as_i64().map(|n| n.to_string());
        plain.unwrap_or_else(|| match value.as_wtf8() {
            Some(text) => format!("{text:?}"),
            None => String::from_utf8(forklore_json::pretty(value, 0)).unwrap(),
        })
    };
    let mut fields: Vec<_> = names.into_iter().map(|name| (name.clone(), value(&name))).collect();
    fields.sort();
    fields
}

proptest! {
    #[test]
    fn as_it_is_only_name_and_queue_change(bytes in book()) {
        let parent = Book::parse(bytes.as_bytes()).unwrap();
        let made = assemble(Content::AsItIs(&parent), "Fork");
        let fork = Book::parse(&made).unwrap();
        prop_assert_eq!(fork.entries().len(), parent.entries().len());
        prop_assert!(fork.raw().get("name").unwrap().is_text("Fork"));
        for queue in fork.entries().iter().filter(|entry| is_queue(entry)) {
            let text = queue.content();
            let inner = Raw::parse(text.as_bytes()).unwrap();
            prop_assert!(inner.get("queue").unwrap().elements().next().is_none());
            prop_assert_eq!(inner.get("current_operation_id"), Some(Raw::NULL));
        }
        let named = has_name(bytes.as_bytes());
        let mut before = bytes.clone().into_bytes();
        if !named {
            before = set(parent.raw(), &[PathPart::key("name")], b"0").unwrap().apply(parent.raw().bytes());
        }
        prop_assert_eq!(stripped(&before, named), stripped(&made, named));
        prop_assert_eq!(assemble(Content::AsItIs(&fork), "Fork"), made.clone());
        prop_assert_eq!(fingerprint(&fork), fingerprint(&parent));
    }

    #[test]
    fn all_entries_are_the_book_as_it_is(bytes in book()) {
        let parent = Book::parse(bytes.as_bytes()).unwrap();
        let made = assemble(Content::AsItIs(&parent), "Fork");
        let entries = parent.images();
        prop_assert_eq!(assemble(Content::Entries { over: Some(&parent), entries: &entries }, "Fork"), made);
    }

    #[test]
    fn some_entries_are_moved_byte_for_byte(bytes in book(), mask in any::<u16>()) {
        let parent = Book::parse(bytes.as_bytes()).unwrap();
        let wanted = some_of(&parent, mask);
        let images: Vec<EntryImage> = wanted.iter().map(|entry| entry.image()).collect();
        let made = over(bytes.as_bytes(), &images);
        let fork = Book::parse(&made).unwrap();
        prop_assert_eq!(said(&fork.images()), said(&images));
        prop_assert_eq!(kept(fork.entries().iter()), kept(wanted.iter()));
        let queues = |book: &Book<'_>| book.entries().iter().filter(|entry| is_queue(entry)).count();
        prop_assert_eq!(queues(&fork), queues(&parent), "a queue is always there if it was");
        prop_assert_eq!(other_members(&made), other_members(bytes.as_bytes()));
        let untouched = fork.entries().len() == parent.entries().len();
        prop_assert!(untouched || is_in_javascripts_order(&fork));
        prop_assert_eq!(over(&made, &fork.images()), made.clone());
        prop_assert_eq!(over(&made, &images), made.clone());
        let uids: HashSet<Option<i64>> = fork.entries().iter().map(|entry| entry.uid()).collect();
        let original = fork.raw().at(&["originalData", "entries"]).unwrap_or(Raw::NULL);
        for element in original.elements().filter(|_| !untouched) {
            let number = element.get("uid").and_then(Raw::as_i64);
            prop_assert!(number.is_none() || uids.contains(&number));
        }
    }

    #[test]
    fn any_entries_over_any_book(bytes in book(), other in book()) {
        let mut images = Book::parse(other.as_bytes()).unwrap().images();
        // In a map an entry without a number has the number of its key.
        images.retain(|image| image.uid.is_some());
        let made = over(bytes.as_bytes(), &images);
        let fork = Book::parse(&made).unwrap();
        let objects = |images: &[EntryImage]| -> Vec<EntryImage> {
            images.iter().filter(|image| image.raw().kind() == Kind::Object).cloned().collect()
        };
        prop_assert_eq!(said(&objects(&fork.images())), said(&objects(&images)));
        prop_assert_eq!(other_members(&made), other_members(bytes.as_bytes()));
        let keys: Vec<_> = fork.entries().iter().filter_map(|entry| entry.key?.as_wtf8()).collect();
        prop_assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len(), "no key twice");
        prop_assert_eq!(over(&made, &fork.images()), made.clone());
        // Fields are those of the image; only a number that stood in the key alone may have joined them.
        let told = |images: &[EntryImage]| {
            let told = objects(images).into_iter().filter(|i| entry_role(&i.comment) != EntryRole::Queue);
            let mut told: Vec<_> = told.map(|image| {
                let mut fields = fields(image.raw());
                fields.retain(|(name, _)| name != b"uid");
                (image.uid, fields)
            }).collect();
            told.sort();
            told
        };
        prop_assert_eq!(told(&fork.images()), told(&images));
    }

    #[test]
    fn a_book_from_nothing_is_pretty(other in book()) {
        let images = Book::parse(other.as_bytes()).unwrap().images();
        let made = assemble(Content::Entries { over: None, entries: &images }, "Fork");
        let fork = Book::parse(&made).unwrap();
        prop_assert_eq!(forklore_json::pretty(fork.raw(), 0), made.clone());
        prop_assert!(is_in_javascripts_order(&fork));
        prop_assert!(!fork.entries().iter().any(is_queue));
        prop_assert_eq!(over(&made, &fork.images()), set(fork.raw(), &[PathPart::key("name")], &quote("Fork \"1\" é")).unwrap().apply(&made));
    }
}

#[test]
fn a_key_that_stands_twice_does_so_no_more() {
    let bytes = br#"{"entries":{"5":{"uid":5,"comment":"a"},"5":{"uid":5,"comment":"b"},"1":7,"x":null}}"#;
    let images = Book::parse(bytes).unwrap().images();
    let made = over(bytes, &images);
    let fork = Book::parse(&made).unwrap();
    assert_eq!(fork.entries().len(), 4);
    assert!(is_in_javascripts_order(&fork));
    let keys: HashSet<_> = fork.entries().iter().map(|entry| entry.key.unwrap().bytes()).collect();
    assert_eq!(keys.len(), 4);
}

#[test]
fn a_byte_order_mark_is_dropped() {
    let bytes = b"\xef\xbb\xbf {\"entries\":{}} ";
    let book = Book::parse(bytes).unwrap();
    assert_eq!(assemble(Content::AsItIs(&book), "F"), b"{\"entries\":{},\"name\":\"F\"}");
}

#[test]
fn a_million_entries_take_no_time() {
    // Linear: a test that takes minutes would say that it no longer is. All with one number and title: the worst case.
    let mut book = String::from("{\"entries\":{");
    for n in 0..1_000_000 / if cfg!(debug_assertions) { 20 } else { 1 } {
        let comma = if n == 0 { "" } else { "," };
        book.push_str(&format!("{comma}\"{n}\":{{\"uid\":1,\"comment\":\"same\",\"content\":\"x\"}}"));
    }
    book.push_str("}}");
    let parsed = Book::parse(book.as_bytes()).unwrap();
    let mut images = parsed.images();
    images.truncate(images.len() / 2);
    let changed: Vec<EntryImage> = images.iter().map(|image| image.with_content("y")).collect();
    images.extend(changed.iter().cloned());
    images.extend(changed);
    let made = over(book.as_bytes(), &images);
    assert_eq!(Book::parse(&made).unwrap().entries().len(), images.len());
}

#[test]
fn the_books_that_the_real_software_made_come_out_as_they_went_in() {
    let worlds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/fixtures/harbor/worlds");
    let mut books = 0;
    for file in std::fs::read_dir(worlds).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let book = Book::parse(&bytes).unwrap();
        let images = book.images();
        let as_it_is = assemble(Content::AsItIs(&book), "Fork");
        let all = assemble(Content::Entries { over: Some(&book), entries: &images }, "Fork");
        assert_eq!(all, as_it_is);
        // Made anew, without the file, it is what SillyTavern would write too.
        let anew = assemble(Content::Entries { over: None, entries: &images }, "Fork");
        let told: Vec<EntryImage> =
            images.into_iter().filter(|i| entry_role(&i.comment) != EntryRole::Queue).collect();
        assert_eq!(Book::parse(&anew).unwrap().images(), told);
        books += 1;
    }
    assert!(books > 0);
}

#[test]
fn regression_entries_that_are_alike_in_every_byte_are_as_many_as_they_were() {
    let twin = r#"{"uid":7,"comment":"Ana","content":"plain"}"#;
    let bytes = format!(r#"{{"entries":{{"7":{twin},"a":{twin},"b":{twin}}}}}"#);
    let parent = Book::parse(bytes.as_bytes()).unwrap();
    for mask in 0..8 {
        let images: Vec<EntryImage> = some_of(&parent, mask).into_iter().map(Entry::image).collect();
        let made = over(bytes.as_bytes(), &images);
        let fork = Book::parse(&made).unwrap();
        assert_eq!(fork.entries().len(), mask.count_ones() as usize);
        assert!(fork.entries().iter().all(|entry| entry.raw.bytes() == twin.as_bytes()));
    }
}
