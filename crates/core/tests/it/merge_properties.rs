//! Bringing two lorebooks together: the laws, over random books and random edits on both sides.

use std::collections::HashSet;

use forklore_core::adapter::registry;
use forklore_core::format::book::EntryImage;
use forklore_core::merge::{Answer, Answered, Conflict, Merged, Sides, Took, merge};
use forklore_core::state::StateEntry;
use forklore_json::{Raw, quote};
use proptest::prelude::*;

/// One thing that somebody does to a book. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Edit {
    AddLine(usize, bool),
    ChangeLine(usize, usize),
    AddKey(usize),
    DropKey(usize),
    Order(usize, u8),
    Switch(usize),
    Rename(usize),
    Delete(usize),
    Add(Option<u8>),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        4 => (0..9usize, any::<bool>()).prop_map(|(i, list)| Edit::AddLine(i, list)),
        4 => (0..9usize, 0..4usize).prop_map(|(i, line)| Edit::ChangeLine(i, line)),
        2 => (0..9usize).prop_map(Edit::AddKey),
        1 => (0..9usize).prop_map(Edit::DropKey),
        2 => (0..9usize, 0..4u8).prop_map(|(i, order)| Edit::Order(i, order)),
        1 => (0..9usize).prop_map(Edit::Switch),
        1 => (0..9usize).prop_map(Edit::Rename),
        2 => (0..9usize).prop_map(Edit::Delete),
        3 => prop::option::of(0..3u8).prop_map(Edit::Add),
    ];
    prop::collection::vec(edit, 0..7)
}

fn book() -> impl Strategy<Value = Vec<StateEntry>> {
    (0..6usize, any::<bool>()).prop_map(|(n, kept)| {
        let mut entries: Vec<EntryImage> = (0..n)
            .map(|i| {
                let text = format!("Thing {i} is old.\\nIt stands at {i}. It is known. It is {i}.\\n- first {i}");
                image(&format!(
                    r#"{{"uid":{i}, "comment":"thing {i}","content":"{text}","key":["k{i}","all"],"order":{},"x":1.50}}"#,
                    100 + i
                ))
            })
            .collect();
        if kept {
            entries.push(registry_of(&entries, 90));
        }
        entries.into_iter().map(StateEntry::plain).collect()
    })
}

fn image(json: &str) -> EntryImage {
    let raw = Raw::parse(json.as_bytes()).unwrap();
    let title = raw.get("comment").unwrap().as_text().unwrap().into_owned();
    EntryImage::new(raw.get("uid").and_then(Raw::as_i64), &title, raw)
}

/// A registry of everything.
fn registry_of(entries: &[EntryImage], uid: i64) -> EntryImage {
    let rows = entries.iter().map(|e| format!("\\n- UID={} | name: {}", e.uid.unwrap(), e.comment));
    let text = format!("[Registry: thing]{}", rows.collect::<String>());
    image(&format!(r#"{{"uid":{uid},"comment":"_registry_thing","content":"{text}"}}"#))
}

fn is_fact(entry: &&EntryImage) -> bool {
    !entry.comment.starts_with('_')
}

/// A book after edits. What is written anew carries the mark of who wrote it, and is written by nobody else.
fn edited(book: &[StateEntry], edits: &[Edit], who: &str) -> Vec<StateEntry> {
    let mut entries: Vec<EntryImage> = book.iter().map(|e| e.image.clone()).filter(|e| is_fact(&e)).collect();
    let kept = book.iter().find(|e| !is_fact(&&e.image)).map(|e| e.image.clone());
    for (n, edit) in edits.iter().enumerate() {
        let len = entries.len();
        let at = |i: &usize| (len > 0).then(|| i % len);
        let set = |entry: &mut EntryImage, field: &str, json: &str| {
            *entry = entry.with_field(field, Raw::trust(json.as_bytes()));
        };
        match edit {
            Edit::AddLine(i, list) => {
                if let Some(i) = at(i) {
                    let mark = if *list { "- " } else { "" };
                    let text = format!("{}\n{mark}{who} added {n}.", entries[i].content());
                    entries[i] = entries[i].with_content(&text);
                }
            }
            Edit::ChangeLine(i, line) => {
                if let Some(i) = at(i) {
                    let mut lines: Vec<String> = entries[i].content().lines().map(str::to_owned).collect();
                    let line = line % lines.len();
                    lines[line] = format!("{who} said {n}.");
                    entries[i] = entries[i].with_content(&lines.join("\n"));
                }
            }
            Edit::AddKey(i) => {
                if let Some(i) = at(i) {
                    let keys = entries[i].raw().get("key").unwrap();
                    let json = String::from_utf8(keys.bytes().to_vec()).unwrap();
                    let json = json.replacen('[', &format!("[\"{who} key {n}\","), 1).replace(",]", "]");
                    set(&mut entries[i], "key", &json);
                }
            }
            Edit::DropKey(i) => {
                if let Some(i) = at(i) {
                    set(&mut entries[i], "key", "[]");
                }
            }
            Edit::Order(i, order) => {
                if let Some(i) = at(i) {
                    set(&mut entries[i], "order", &order.to_string());
                }
            }
            Edit::Switch(i) => {
                if let Some(i) = at(i) {
                    let off = entries[i].is_disabled();
                    set(&mut entries[i], "disable", if off { "false" } else { "true" });
                }
            }
            Edit::Rename(i) => {
                if let Some(i) = at(i) {
                    set(&mut entries[i], "comment", &format!("\"{who} named {n}\""));
                }
            }
            Edit::Delete(i) => {
                if let Some(i) = at(i) {
                    entries.remove(i);
                }
            }
            Edit::Add(shared) => {
                let title = shared.map_or(format!("{who} new {n}"), |n| format!("new {n}"));
                if entries.iter().any(|e| *e.comment == *title) {
                    continue;
                }
                let uid = (0..).find(|uid| !entries.iter().any(|e| e.uid == Some(*uid))).unwrap();
                entries.push(image(&format!(
                    r#"{{"uid":{uid},"comment":"{title}","content":"{who} tells {n}.","key":["{who} k{n}"],"order":100}}"#
                )));
            }
        }
    }
    if let Some(kept) = kept {
        entries.push(registry_of(&entries, kept.uid.unwrap()));
    }
    entries.into_iter().map(StateEntry::plain).collect()
}

fn learn(base: &[StateEntry], a: &[StateEntry], b: &[StateEntry]) -> Merged {
    merge(Sides { base, a, b, numbers: &[] })
}

fn images(book: &[StateEntry]) -> Vec<EntryImage> {
    book.iter().map(|entry| entry.image.clone()).collect()
}

fn states(book: &[EntryImage]) -> Vec<StateEntry> {
    book.iter().cloned().map(StateEntry::plain).collect()
}

/// What a book says, whatever its numbers and its order; without lists of entries.
fn said(book: &[EntryImage]) -> HashSet<(String, String, Vec<String>, String, bool)> {
    let of = |e: &EntryImage| {
        let mut lines: Vec<String> = e.content().lines().map(str::to_owned).collect();
        lines.sort();
        let order =
            e.raw().get("order").map(|o| String::from_utf8(o.bytes().to_vec()).unwrap()).unwrap_or_default();
        let mut keys: Vec<String> = e
            .raw()
            .get("key")
            .unwrap_or(Raw::NULL)
            .elements()
            .map(|k| k.as_text().unwrap().into_owned())
            .collect();
        keys.sort();
        keys.dedup();
        (e.comment.to_string(), lines.join("\n"), keys, order, e.is_disabled())
    };
    book.iter().filter(is_fact).map(of).collect()
}

/// Everything in a book that somebody marked as theirs.
fn marked(book: &[StateEntry], who: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in book.iter().map(|e| &e.image).filter(is_fact) {
        let keys = entry.raw().get("key").unwrap_or(Raw::NULL).elements();
        found.extend(entry.content().lines().map(str::to_owned));
        found.extend(keys.map(|k| k.as_text().unwrap().into_owned()));
        found.push(entry.comment.to_string());
    }
    found.retain(|text| text.starts_with(who) || text.starts_with(&format!("- {who}")));
    found
}

/// All texts in a result and its conflicts.
fn everything(merged: &Merged) -> String {
    let mut all = String::new();
    for entry in &merged.entries {
        all.push_str(&String::from_utf8_lossy(entry.raw().bytes()));
    }
    for conflict in &merged.conflicts {
        all.push_str(&String::from_utf8_lossy(&conflict.write()));
    }
    all
}

proptest! {
    /// learn(A, A) = A.
    #[test]
    fn from_itself_there_is_nothing_to_learn(base in book(), edits in edits()) {
        let a = edited(&base, &edits, "A");
        let merged = learn(&base, &a, &a);
        prop_assert_eq!(&merged.entries, &images(&a));
        prop_assert!(merged.conflicts.is_empty() && merged.taken.is_empty() && merged.left.is_empty());
    }

    /// With one side unchanged the other side wins, byte for byte.
    #[test]
    fn who_changed_nothing_loses_nothing(base in book(), edits in edits()) {
        let changed = edited(&base, &edits, "A");
        let merged = learn(&base, &changed, &base);
        prop_assert_eq!(&merged.entries, &images(&changed));
        prop_assert!(merged.conflicts.is_empty() && merged.taken.is_empty());
        let merged = learn(&base, &base, &changed);
        prop_assert!(merged.conflicts.is_empty());
        let orders_stay = base.iter().any(|e| !is_fact(&&e.image));
        if !orders_stay {
            prop_assert_eq!(said(&merged.entries), said(&images(&changed)));
            let known: HashSet<EntryImage> = images(&changed).into_iter().chain(images(&base)).collect();
            prop_assert!(merged.entries.iter().all(|entry| known.contains(entry)));
        }
    }

    /// Nothing of either side is lost, and what both have untouched keeps its bytes.
    #[test]
    fn nothing_is_lost(base in book(), ours in edits(), theirs in edits()) {
        let (a, b) = (edited(&base, &ours, "A"), edited(&base, &theirs, "B"));
        let merged = learn(&base, &a, &b);
        let all = everything(&merged);
        for text in marked(&a, "A").into_iter().chain(marked(&b, "B")) {
            let quoted = String::from_utf8(quote(&text)).unwrap();
            prop_assert!(all.contains(quoted.trim_matches('"')), "{text} is lost: {all}");
        }
        for entry in images(&base).iter().filter(is_fact) {
            let in_both = images(&a).contains(entry) && images(&b).contains(entry);
            prop_assert!(!in_both || merged.entries.contains(entry));
        }
        // Numbers are unique, registries list what there is.
        let uids: Vec<i64> = merged.entries.iter().filter_map(|e| e.uid).collect();
        prop_assert_eq!(uids.iter().collect::<HashSet<_>>().len(), uids.len());
        prop_assert!(registry::dangling(&merged.entries).is_empty());
        if base.iter().any(|e| !is_fact(&&e.image)) {
            let listed = registry::listed(&merged.entries);
            let facts = merged.entries.iter().filter(is_fact).count();
            prop_assert_eq!(listed.len(), facts, "{:?}", merged.entries);
        }
        // A conflict's answers are what they say.
        for conflict in &merged.conflicts {
            let here = merged.entries.iter().find(|e| e.uid == conflict.uid).unwrap();
            let read = Conflict::read(Raw::parse(&conflict.write()).unwrap());
            prop_assert_eq!(read.as_ref(), Some(conflict));
            let Answered::Value(held) = conflict.held() else { continue };
            let path: Vec<&str> = conflict.field.iter().map(String::as_str).collect();
            let is = here.raw().at(&path).unwrap();
            prop_assert!(is.says_the_same(Raw::trust(&held)), "{is:?} {}", String::from_utf8_lossy(&held));
            prop_assert!(conflict.answer(&Answer::B).is_some());
        }
    }

    /// Merging again is a no-op; merging after more was played takes the last merge as base.
    #[test]
    fn merging_again_is_a_no_op(base in book(), ours in edits(), theirs in edits(), more in edits()) {
        let (a, b) = (edited(&base, &ours, "A"), edited(&base, &theirs, "B"));
        let first = learn(&base, &a, &b);
        let learnt = states(&first.entries);
        let again = merge(Sides { base: &b, a: &learnt, b: &b, numbers: &first.numbers });
        prop_assert_eq!(&again.entries, &first.entries);
        prop_assert!(again.conflicts.is_empty() && again.taken.is_empty());
        let later = edited(&b, &more, "C");
        let third = merge(Sides { base: &b, a: &learnt, b: &later, numbers: &first.numbers });
        let all = everything(&third);
        for text in marked(&later, "C") {
            let quoted = String::from_utf8(quote(&text)).unwrap();
            prop_assert!(all.contains(quoted.trim_matches('"')), "{text} is lost: {all}");
        }
        let last = merge(Sides { base: &later, a: &states(&third.entries), b: &later, numbers: &third.numbers });
        prop_assert_eq!(&last.entries, &third.entries);
    }

    /// The order in which unrelated changes are brought along does not matter.
    #[test]
    fn order_does_not_matter(base in book(), ours in edits(), theirs in edits()) {
        // One changes the first half of the book, the other the second; each adds what the other does not.
        let half = base.len() / 2;
        let of = |edits: &[Edit], who: &str, part: &dyn Fn(usize) -> bool| -> Vec<StateEntry> {
            let (own, rest): (Vec<_>, Vec<_>) = base.iter().cloned().enumerate().partition(|(i, e)| part(*i) && is_fact(&&e.image));
            let own: Vec<StateEntry> = own.into_iter().map(|(_, e)| e).collect();
            let edits: Vec<Edit> = edits.iter().filter(|e| !matches!(e, Edit::Add(Some(_)))).cloned().collect();
            let mut changed = edited(&own, &edits, who);
            // Numbers that are free in the part are taken in the book.
            for (n, entry) in changed.iter_mut().filter(|e| e.image.comment.contains(" new ")).enumerate() {
                entry.image = entry.image.renumbered(20 + n as i64);
            }
            changed.extend(rest.into_iter().map(|(_, e)| e));
            changed
        };
        let b = of(&ours, "B", &|i| i < half);
        let c = of(&theirs, "C", &|i| i >= half);
        let one = learn(&base, &states(&learn(&base, &base, &b).entries), &c);
        let other = learn(&base, &states(&learn(&base, &base, &c).entries), &b);
        prop_assert_eq!(said(&one.entries), said(&other.entries));
        prop_assert!(one.conflicts.is_empty() && other.conflicts.is_empty());
    }
}

#[test]
fn numbers_that_both_gave_away_are_told_apart() {
    let base = states(&[]);
    let ana = r#"{"uid":3,"comment":"Ana","content":"A smith.","key":["ana"]}"#;
    let bo = r#"{"uid":3,"comment":"Bo","content":"A thief.","key":["bo"]}"#;
    let list = |title: &str| {
        format!(
            r#"{{"uid":1,"comment":"_registry_character","content":"[Registry: character]\n- UID=3 | name: {title}"}}"#
        )
    };
    let a = states(&[image(&list("Ana")), image(ana)]);
    let b = states(&[image(&list("Bo")), image(bo)]);
    let merged = learn(&base, &a, &b);
    assert_eq!(merged.numbers, [(3, 0)]);
    assert_eq!(merged.taken.iter().filter(|taken| taken.what == Took::Added).count(), 1);
    assert_eq!(merged.entries[0].content(), "[Registry: character]\n- UID=3 | name: Ana\n- UID=0 | name: Bo");
    assert_eq!(merged.entries[2].uid, Some(0));
    assert!(merged.conflicts.is_empty());
}

#[test]
fn what_both_changed_is_as_a_has_it_and_asked() {
    let entry = |content: &str, depth: u8, off: bool, keys: &str| {
        image(&format!(
            r#"{{"uid":3,"comment":"Ana","content":"{content}","depth":{depth},"disable":{off},"key":[{keys}]}}"#
        ))
    };
    let base = states(&[entry("A smith.", 4, false, r#""ana","smith""#)]);
    let a = states(&[entry("A smith who left.", 2, false, r#""ana","smith","anna""#)]);
    let b = states(&[entry("A smith who stayed.", 3, true, r#""ana","bellows""#)]);
    let merged = learn(&base, &a, &b);
    let [ana] = &merged.entries[..] else { panic!("{merged:?}") };
    assert_eq!(ana.content(), "A smith who left.");
    assert_eq!(ana.raw().get("key").unwrap().bytes(), br#"["ana","anna","bellows"]"#);
    assert!(ana.is_disabled(), "only B changed the switch");
    let asked: Vec<&str> = merged.conflicts.iter().map(|c| c.field[0].as_str()).collect();
    assert_eq!(asked, ["content", "depth"]);
    let both = Answered::Value(quote("A smith who left.\nA smith who stayed."));
    assert_eq!(merged.conflicts[0].answer(&Answer::Both), Some(both));
    assert_eq!(merged.conflicts[1].answer(&Answer::B), Some(Answered::Value(b"3".to_vec())));
    assert_eq!(merged.conflicts[1].answer(&Answer::Both), None);
}
