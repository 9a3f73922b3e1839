//! What differs between two states: nothing between equal ones, everything that makes one into the other, and the same read
//! backwards.

use std::collections::BTreeMap;

use forklore_core::adapter::{Operation, Status};
use forklore_core::diff::{
    Effort, EntriesDiff, Identity, ListDiff, Op, Parting, Quiet, RegistryDiff, Relation, State, StateDiff,
    TextDiff, entries,
};
use forklore_core::format::book::EntryImage;
use forklore_core::state::StateEntry;
use forklore_core::story::Confidence;
use forklore_json::{PathPart, Raw, quote, remove, set};
use proptest::prelude::*;

use crate::transcript;

const FIELDS: &[&str] = &["content", "key", "order", "disable", "\\ud800", "\\ud801", "x", "displayIndex"];

const VALUES: &[&str] = &[
    "null",
    "false",
    "0",
    "1.0",
    "1e400",
    r#""""#,
    r#""one two""#,
    r#""one\ntwo\nthree""#,
    r#""cut \ud83d""#,
    r#"["a","b"]"#,
    r#"["b","a"]"#,
    r#"{"p":1,"q":[2,{"r":3}]}"#,
    r#"{"q":[2,{"r":3}],"p":1}"#,
    "[]",
];

fn image() -> impl Strategy<Value = StateEntry> {
    let uid = prop_oneof![5 => (0..6i64).prop_map(Some), 1 => Just(None)];
    let title = prop::sample::select(vec!["Ana", "Bo", "", "_registry_character"]);
    let field = (prop::sample::select(FIELDS), prop::sample::select(VALUES));
    (uid, title, prop::collection::vec(field, 0..5), 0..20u8).prop_map(|(uid, title, fields, odd)| {
        let mut members: Vec<String> = fields.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
        members.extend(uid.map(|uid| format!("\"uid\":{uid}")));
        members.push(format!("\"comment\":{}", String::from_utf8(quote(title)).unwrap()));
        let raw = if odd == 0 { "[null]".to_owned() } else { format!("{{{}}}", members.join(",")) };
        let image = EntryImage::new(uid, title, Raw::parse(raw.as_bytes()).unwrap());
        StateEntry::plain(image)
    })
}

fn book() -> impl Strategy<Value = Vec<StateEntry>> {
    prop::collection::vec(image(), 0..8)
}

/// A value in one form: members in order, of those that stand twice the last, no blanks, whole numbers as such.
fn form(raw: Raw<'_>) -> String {
    use forklore_json::Kind;
    match raw.kind() {
        Kind::Object => {
            let members: BTreeMap<Vec<u8>, String> =
                raw.members().map(|(k, v)| (k.as_wtf8().unwrap().into_owned(), form(v))).collect();
            format!("{members:?}")
        }
        Kind::Array => format!("{:?}", raw.elements().map(form).collect::<Vec<_>>()),
        Kind::String => format!("{:?}", raw.as_wtf8().unwrap()),
        _ => raw.as_i64().map_or_else(|| format!("{raw:?}"), |n| n.to_string()),
    }
}

/// A book as a bag of entries: number, title and fields.
fn bag(book: &[StateEntry]) -> Vec<(Option<i64>, String, String)> {
    let one = |e: &StateEntry| (e.image.uid, e.image.comment.to_string(), form(e.image.raw()));
    let mut all: Vec<_> = book.iter().map(one).collect();
    all.sort();
    all
}

/// What the first book becomes if all that the diff says is done to it.
fn apply(a: &[StateEntry], diff: &EntriesDiff<'_>) -> Vec<StateEntry> {
    let is = |x: &StateEntry, y: &StateEntry| std::ptr::eq(x, y);
    let mut result: Vec<StateEntry> = diff.added.iter().map(|e| (*e).clone()).collect();
    for entry in a.iter().filter(|entry| !diff.removed.iter().any(|gone| is(gone, entry))) {
        let mut entry_now = entry.clone();
        if let Some(change) = diff.changed.iter().find(|change| is(change.a, entry)) {
            let mut raw = entry.image.raw().bytes().to_vec();
            for field in &change.fields {
                // By the key as it stands: a name alone does not tell half an emoji from another.
                let has = |key: Raw<'_>| key.says_the_same(field.key);
                let mut members: Vec<(Vec<u8>, Vec<u8>)> = Raw::trust(&raw)
                    .members()
                    .filter(|(key, _)| !has(*key))
                    .map(|(key, value)| (key.bytes().to_vec(), value.bytes().to_vec()))
                    .collect();
                members.extend(field.after.map(|v| (field.key.bytes().to_vec(), v.bytes().to_vec())));
                let members: Vec<Vec<u8>> =
                    members.into_iter().map(|(k, v)| [&k[..], b":", &v].concat()).collect();
                raw = [b"{", &members.join(&b","[..])[..], b"}"].concat();
            }
            entry_now.image = EntryImage::new(change.b.image.uid, &change.b.image.comment, Raw::trust(&raw));
        }
        result.push(entry_now);
    }
    result
}

/// The first text with the hunks made.
fn patch(a: &str, diff: &TextDiff) -> String {
    let old: Vec<&str> = a.split('\n').collect();
    let (mut new, mut at): (Vec<String>, usize) = (Vec::new(), 0);
    for hunk in &diff.hunks {
        new.extend(old[at..hunk.a].iter().map(|line| (*line).to_owned()));
        assert_eq!(new.len(), hunk.b, "the hunk is where it says");
        at = hunk.a;
        for line in &hunk.lines {
            if line.op != Op::Added {
                assert_eq!(line.text(), old[at], "what is there, is there");
                at += 1;
            }
            if line.op != Op::Removed {
                new.push(line.text());
            }
        }
    }
    new.extend(old[at..].iter().map(|line| (*line).to_owned()));
    new.join("\n")
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "the",
        "cat",
        "sat",
        ",",
        " ",
        " ",
        "\n",
        "\n",
        "mat",
        "é",
        "日本語",
        "🐉",
        "\r",
        "\u{200d}",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

fn metadata() -> impl Strategy<Value = String> {
    let keys = prop::sample::select(vec![
        "variables",
        "note_prompt",
        "scenario",
        "timedWorldInfo",
        "integrity",
        "auto_recap_running_scene_recaps",
    ]);
    let values = prop::sample::select(vec![
        "{}",
        r#"{"gold":"9","luck":{"good":1}}"#,
        r#"{"gold":"8"}"#,
        r#""a\nb""#,
        "3",
        r#"{"sticky":{"B.3":{"hash":1,"start":2,"end":5}},"cooldown":{"Other.1":{"start":1}}}"#,
        r#"{"current_version":1,"versions":[{"version":0,"content":"x"},{"version":1,"content":"y","new_scene_index":3}]}"#,
        r#"{"current_version":1,"versions":[{"version":1,"content":"z"},{"version":1,"content":"y"}]}"#,
    ]);
    prop::collection::vec((keys, values), 0..6).prop_map(|members| {
        let members: Vec<String> = members.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let one = (0..3u8, prop::sample::select(vec!["pending", "failed"])).prop_map(|(id, status)| Operation {
        of: "an extension",
        id: if id == 0 { String::new() } else { format!("op_{id}") },
        kind: "recap".to_owned(),
        status: Status::read(status),
        messages: vec![],
        book: None,
        retries: 0,
        error: None,
        started: None,
    });
    prop::collection::vec(one, 0..4)
}

proptest! {
    #[test]
    fn equal_states_do_not_differ(book in book(), metadata in metadata(), operations in operations()) {
        let state = State { book: Some("B"), entries: &book, metadata: Raw::trust(metadata.as_bytes()), operations: &operations };
        prop_assert!(StateDiff::of(state, state).is_empty());
        // Nor do they if they are laid out otherwise and stand in another order.
        let other: Vec<StateEntry> = book.iter().rev().map(|entry| {
            let pretty = forklore_json::pretty(entry.image.raw(), 0);
            let image = EntryImage::new(entry.image.uid, &entry.image.comment, Raw::trust(&pretty));
            StateEntry::plain(image)
        }).collect();
        // Of several with one number and title, nobody can say which is which.
        let mut names: Vec<_> = book.iter().map(|e| (e.image.uid, e.image.comment.clone())).collect();
        names.sort();
        names.dedup();
        if names.len() == book.len() && book.iter().all(|e| e.image.raw().members().next().is_some()) {
            let diff = entries(&book, &other);
            prop_assert!(diff.added.is_empty() && diff.removed.is_empty() && diff.changed.is_empty(), "{diff:?}");
        }
    }

    #[test]
    fn doing_what_the_diff_says_gives_the_second_book(a in book(), b in book()) {
        let diff = entries(&a, &b);
        prop_assert_eq!(bag(&apply(&a, &diff)), bag(&b));
        prop_assert_eq!(diff.same.len() + diff.changed.len() + diff.added.len(), b.len());
        prop_assert_eq!(diff.same.len() + diff.changed.len() + diff.removed.len(), a.len());
    }

    #[test]
    fn read_backwards_it_is_the_same(a in book(), b in book()) {
        let (there, back) = (entries(&a, &b), entries(&b, &a));
        let names = |list: &[&StateEntry]| list.iter().map(|e| std::ptr::from_ref(*e)).collect::<Vec<_>>();
        let sorted = |mut list: Vec<*const StateEntry>| { list.sort(); list };
        prop_assert_eq!(sorted(names(&there.added)), sorted(names(&back.removed)));
        prop_assert_eq!(sorted(names(&there.removed)), sorted(names(&back.added)));
        let changes = |diff: &EntriesDiff<'_>, swap: bool| {
            let mut all: Vec<_> = diff.changed.iter().map(|c| {
                let (a, b) = if swap { (c.b, c.a) } else { (c.a, c.b) };
                let mut fields: Vec<_> = c.fields.iter().map(|f| {
                    let (before, after) = if swap { (f.after, f.before) } else { (f.before, f.after) };
                    (f.key.as_wtf8().unwrap().into_owned(), before.map(form), after.map(form), f.quiet.is_some())
                }).collect();
                fields.sort();
                (std::ptr::from_ref(a), std::ptr::from_ref(b), format!("{:?}", c.by), fields)
            }).collect();
            all.sort();
            all
        };
        prop_assert_eq!(changes(&there, false), changes(&back, true));
    }

    #[test]
    fn states_read_backwards_are_the_same(
        m in metadata(), n in metadata(), p in operations(), q in operations()
    ) {
        let state = |metadata, operations| State { book: Some("B"), entries: &[], metadata, operations };
        let a = state(Raw::trust(m.as_bytes()), &p);
        let b = state(Raw::trust(n.as_bytes()), &q);
        let (there, back) = (StateDiff::of(a, b), StateDiff::of(b, a));
        prop_assert_eq!(there.is_empty(), back.is_empty());
        let values = |list: &[forklore_core::diff::ValueChange<'_>], swap: bool| {
            let mut all: Vec<_> = list.iter().map(|c| {
                let (x, y) = if swap { (c.after, c.before) } else { (c.before, c.after) };
                (c.path.clone(), x.map(form), y.map(form))
            }).collect();
            all.sort();
            all
        };
        prop_assert_eq!(values(&there.variables, false), values(&back.variables, true));
        prop_assert_eq!(values(&there.note, false), values(&back.note, true));
        prop_assert_eq!(values(&there.metadata, false), values(&back.metadata, true));
        prop_assert_eq!(&there.timed.added, &back.timed.removed);
        prop_assert_eq!(there.queue.added.len(), back.queue.removed.len());
        prop_assert_eq!(there.running.added.len(), back.running.removed.len());
        prop_assert_eq!(there.running.changed.len(), back.running.changed.len());
    }

    #[test]
    fn a_text_becomes_the_other(a in text(), b in text()) {
        let diff = TextDiff::of(&a, &b, &mut Effort::default());
        prop_assert_eq!(diff.is_empty(), a == b);
        prop_assert_eq!(patch(&a, &diff), b);
        // What is marked as the same in lines that changed is the same, in the same order.
        let words = |op: Op| -> String {
            let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.op == op);
            lines.flat_map(|line| &line.parts).filter(|part| !part.changed).map(|part| part.text.as_str()).collect()
        };
        prop_assert_eq!(words(Op::Removed), words(Op::Added));
    }

    #[test]
    fn no_row_of_a_registry_is_lost(a in rows(), b in rows()) {
        let (x, y) = (registry(&a), registry(&b));
        let diff = RegistryDiff::of(&x, &y);
        prop_assert!(a == b || !diff.added.is_empty() || !diff.removed.is_empty() || !diff.changed.is_empty() || diff.other);
        let shared = a.len() - diff.removed.len();
        prop_assert_eq!(shared, b.len() - diff.added.len());
        prop_assert!(diff.changed.len() <= shared);
        let back = RegistryDiff::of(&y, &x);
        prop_assert_eq!((diff.added.len(), diff.removed.len(), diff.changed.len()), (back.removed.len(), back.added.len(), back.changed.len()));
    }
}

/// Rows of a registry: number and name.
fn rows() -> impl Strategy<Value = Vec<(i64, &'static str)>> {
    prop::collection::vec((0..4i64, prop::sample::select(vec!["a", "b", "c"])), 0..6)
}

fn registry(rows: &[(i64, &str)]) -> String {
    let rows =
        rows.iter().map(|(uid, name)| format!("\n- UID={uid} | name: {name} | synopsis: about {name}"));
    format!("[Registry: character]{}", rows.collect::<String>())
}

fn entry(uid: i64, title: &str, content: &str) -> StateEntry {
    let raw = format!(
        r#"{{"uid":{uid},"comment":{},"content":{},"order":100}}"#,
        String::from_utf8(quote(title)).unwrap(),
        String::from_utf8(quote(content)).unwrap()
    );
    let image = EntryImage::new(Some(uid), title, Raw::parse(raw.as_bytes()).unwrap());
    StateEntry::plain(image)
}

#[test]
fn entries_are_known_again() {
    let a = [
        entry(1, "Ana", "A girl from the hills"),
        entry(2, "Finch", "A clerk"),
        entry(3, "Old oath", "Sworn at dawn by both"),
    ];
    let b = [
        entry(1, "Ana of the hills", "A girl from the high hills"),
        entry(7, "Finch", "A clerk"),
        entry(3, "Bargain", "Nothing of the kind"),
    ];
    let diff = entries(&a, &b);
    let changed: Vec<_> = diff.changed.iter().map(|c| (&*c.b.image.comment, c.by)).collect();
    // Forks give the same number to different things: 3 is not the same entry.
    assert_eq!(changed, [("Ana of the hills", Identity::Uid), ("Finch", Identity::Title)]);
    let titles = |list: &[&StateEntry]| list.iter().map(|e| e.image.comment.to_string()).collect::<Vec<_>>();
    assert_eq!(
        (titles(&diff.added), titles(&diff.removed)),
        (vec!["Bargain".to_owned()], vec!["Old oath".to_owned()])
    );
    let fields: Vec<_> = diff.changed[0].fields.iter().map(|f| f.name.to_string()).collect();
    assert_eq!(fields, ["comment", "content"]);
}

#[test]
fn fields_that_nothing_shows_are_quiet() {
    let mut a = entry(1, "Ana", "x");
    let mut b = a.clone();
    a.inferred = vec!["order".to_owned(), "content".to_owned()];
    let change = |image: &EntryImage, field: &str, value: &str| {
        let raw = image.raw();
        let with = set(raw, &[PathPart::key(field)], value.as_bytes()).unwrap().apply(raw.bytes());
        EntryImage::new(image.uid, &image.comment, Raw::trust(&with))
    };
    b.image = change(&change(&change(&b.image, "order", "7"), "vectorized", "false"), "content", "\"y\"");
    let pair = [std::slice::from_ref(&a), std::slice::from_ref(&b)];
    let diff = entries(pair[0], pair[1]);
    let quiet: Vec<_> = diff.changed[0].fields.iter().map(|f| (f.name.to_string(), f.quiet)).collect();
    let expected =
        [("content", None), ("vectorized", Some(Quiet::Default)), ("order", Some(Quiet::Inferred))];
    assert_eq!(quiet, expected.map(|(name, quiet)| (name.to_owned(), quiet)));
    assert!(!diff.changed[0].is_quiet());
    let raw = b.image.raw();
    let without = remove(raw, &[PathPart::key("vectorized")]).unwrap().apply(raw.bytes());
    let c = StateEntry::plain(EntryImage::new(Some(1), "Ana", Raw::trust(&without)));
    assert!(entries(&[b], &[c]).changed.iter().all(forklore_core::diff::EntryChange::is_quiet));
}

#[test]
fn regression_nothing_in_another_word_is_quiet() {
    let a = entry(1, "Ana", "x");
    let raw = a.image.raw();
    let role = |value: &str| {
        let with = set(raw, &[PathPart::key("role")], value.as_bytes()).unwrap().apply(raw.bytes());
        StateEntry::plain(EntryImage::new(Some(1), "Ana", Raw::trust(&with)))
    };
    let quiet = |a: &str, b: &str| {
        entries(&[role(a)], &[role(b)]).changed.iter().all(forklore_core::diff::EntryChange::is_quiet)
    };
    assert!(quiet("null", "0"));
    assert!(!quiet("null", "1"));
}

#[test]
fn keys_are_sets() {
    let of =
        |a: &str, b: &str| ListDiff::of(Raw::parse(a.as_bytes()).unwrap(), Raw::parse(b.as_bytes()).unwrap());
    let diff = of(r#"["sea","tide","sea"]"#, r#"["tide","storm","storm"]"#).unwrap();
    assert_eq!((diff.added, diff.removed), (vec!["storm".to_owned()], vec!["sea".to_owned()]));
    assert_eq!(of(r#"["a","b"]"#, r#"["b","a"]"#), Some(ListDiff::default()));
    assert_eq!(of(r#"["a"]"#, r#"[1]"#), None);
}

#[test]
fn words_are_marked_where_a_line_is_mostly_the_same() {
    let diff = TextDiff::of(
        "Kept his private tally book\nGone",
        "Kept his secret tally book\nWholly different words here",
        &mut Effort::default(),
    );
    let marks = |op: Op| -> Vec<String> {
        let lines = diff.hunks[0].lines.iter().filter(|line| line.op == op);
        lines.flat_map(|line| &line.parts).filter(|part| part.changed).map(|part| part.text.clone()).collect()
    };
    assert_eq!(marks(Op::Removed), ["private", "Gone"]);
    assert_eq!(marks(Op::Added), ["secret", "Wholly different words here"]);
}

/// A text that is as bad as can be: every word in another place.
fn shuffled(words: usize, step: usize, between: &str) -> String {
    let word = |i: usize| format!("w{}", i * step % words);
    (0..words).map(word).collect::<Vec<_>>().join(between)
}

#[test]
fn huge_texts_are_compared_all_the_same() {
    for between in [" ", "\n"] {
        let a = shuffled(200_003, 1, between);
        let b = shuffled(200_003, 7, between);
        assert!(a.len() > 1 << 20);
        let diff = TextDiff::of(&a, &b, &mut Effort::default());
        assert_eq!(patch(&a, &diff), b);
        // One word in a million bytes is still found.
        let c =
            a.replacen("w777 ", "here ", 1).replacen("w777\n", "here\n", 1).replacen("w150000", "there", 1);
        let diff = TextDiff::of(&a, &c, &mut Effort::default());
        assert_eq!(patch(&a, &diff), c);
        let added = diff.hunks.iter().flat_map(|h| &h.lines).filter(|l| l.op == Op::Added);
        let marked: Vec<&str> =
            added.flat_map(|l| &l.parts).filter(|p| p.changed).map(|p| p.text.as_str()).collect();
        assert_eq!(marked, ["here", "there"]);
    }
}

#[test]
fn work_is_bounded_over_all_texts() {
    let mut effort = Effort::default();
    let (a, b) = (shuffled(997, 1, " "), shuffled(997, 7, " "));
    for _ in 0..200 {
        let diff = TextDiff::of(&a, &b, &mut effort);
        assert_eq!(patch(&a, &diff), b);
    }
}

#[test]
fn rows_of_a_registry() {
    let a = "[Registry: character]\n- UID=9 | name: Mara | aliases: mara; captain | synopsis: A captain\n- UID=10 | name: Tolan\n- UID=12 | name: Old";
    let b = "[Registry: character]\n- UID=9 | name: Mara | aliases: captain; mara | synopsis: A drowned captain\n- UID=11 | name: Tolan\n- UID=12 | name: New";
    let diff = RegistryDiff::of(a, b);
    let changed: Vec<_> = diff.changed.iter().map(|(x, y)| (x.uid, y.uid, y.name.as_str())).collect();
    assert_eq!(changed, [(Some(9), Some(9), "Mara"), (Some(10), Some(11), "Tolan")]);
    assert_eq!(
        (diff.added[0].name.as_str(), diff.removed[0].name.as_str(), diff.other),
        ("New", "Old", false)
    );
    assert!(RegistryDiff::of(a, &format!("{a}\nchatter")).other);
    assert!(!RegistryDiff::of(a, a).other);
}

#[test]
fn timed_effects_go_by_the_chats_own_book() {
    let metadata = |book: &str, start: i64| {
        format!(
            r#"{{"timedWorldInfo":{{"sticky":{{"{book}.3":{{"hash":{start}9,"start":{start},"end":9}},"World.4":{{"start":1}}}}}}}}"#
        )
    };
    let (a, b, c) = (metadata("Lore", 4), metadata("Lore - Branch", 4), metadata("Lore - Branch", 5));
    fn state<'a>(text: &'a str, book: &'a str) -> State<'a> {
        State { book: Some(book), entries: &[], metadata: Raw::trust(text.as_bytes()), operations: &[] }
    }
    assert!(StateDiff::of(state(&a, "Lore"), state(&b, "Lore - Branch")).is_empty());
    let diff = StateDiff::of(state(&a, "Lore"), state(&c, "Lore - Branch")).timed;
    assert_eq!(
        (diff.changed[0].0.start, diff.changed[0].1.start, diff.changed[0].1.uid),
        (Some(4), Some(5), Some(3))
    );
}

fn line(texts: &[&str]) -> forklore_core::story::Transcript {
    let lines: Vec<String> = texts.iter().map(|t| format!(r#"{{"mes":"{t}","send_date":"{t}"}}"#)).collect();
    transcript(lines.iter().map(String::as_str))
}

#[test]
fn where_lines_part() {
    let a = line(&["0", "1", "2", "3", "4", "5"]);
    let part =
        |b: &forklore_core::story::Transcript, n: usize, m: usize| Parting::of(&a, n, b, m, &|_| false);
    let own = |n, m| part(&a, n, m).relation;
    assert_eq!((own(3, 3), own(2, 5), own(5, 2)), (Relation::Same, Relation::Ahead, Relation::Behind));
    assert_eq!(part(&a, 2, 5).common, Some((2, 2)));

    let b = line(&["0", "1", "2", "x", "y"]);
    let parted = part(&b, 5, 4);
    assert_eq!(
        (parted.relation, parted.common, parted.confidence),
        (Relation::Parted, Some((2, 2)), Confidence::Certain)
    );
    assert_eq!(part(&b, 1, 4).relation, Relation::Ahead, "they have not parted yet");
    assert!(Parting::of(&a, 5, &b, 4, &|at| at == 3).swipe);

    // An old message was edited, another one deleted; both went on.
    let c = line(&["0", "edited", "3", "4", "mine"]);
    let parted = part(&c, 5, 4);
    assert_eq!((parted.relation, parted.common), (Relation::Parted, Some((4, 3))));
    assert_eq!((parted.edits, parted.confidence), (vec![(1..3, 1..2)], Confidence::Likely));
    assert_eq!(part(&c, 4, 3).relation, Relation::Edited);

    let d = line(&["p", "q"]);
    assert_eq!((part(&d, 5, 1).relation, part(&d, 5, 1).common), (Relation::Apart, None));
}
