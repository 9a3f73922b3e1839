//! Properties of the lossless JSON layer, against two independent judges: serde_json for what is valid, a small tree model for
//! what an edit means.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on should stop"
)]

use forklore_json::{PathPart, Raw, pretty, push, quote, quote_wtf8, remove, set};
use proptest::prelude::*;

/// A parsed value that keeps everything: atoms as bytes, members as a list.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Atom(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    fn read(raw: Raw<'_>) -> Tree {
        match raw.bytes()[0] {
            b'{' => Tree::Map(
                raw.members().map(|(k, v)| (k.as_text().unwrap().into_owned(), Tree::read(v))).collect(),
            ),
            b'[' => Tree::List(raw.elements().map(Tree::read).collect()),
            _ => Tree::Atom(String::from_utf8_lossy(raw.bytes()).into_owned()),
        }
    }

    /// Writes with blanks strewn in by `style`, so that edits meet every layout.
    fn write(&self, style: u8, depth: usize) -> String {
        let (gap, end, colon) = match style % 4 {
            0 => (String::new(), String::new(), ":"),
            1 => (format!("\n{}", "    ".repeat(depth + 1)), format!("\n{}", "    ".repeat(depth)), ": "),
            2 => (" ".into(), "\t".into(), " :  "),
            _ => ("\r\n".into(), "\r\n".into(), ":"),
        };
        let join = |items: Vec<String>, open: char, close: char| {
            if items.is_empty() {
                format!("{open}{close}")
            } else {
                format!("{open}{gap}{}{end}{close}", items.join(&format!(",{gap}")))
            }
        };
        match self {
            Tree::Atom(text) => text.clone(),
            Tree::List(items) => join(items.iter().map(|v| v.write(style, depth + 1)).collect(), '[', ']'),
            Tree::Map(items) => join(
                items
                    .iter()
                    .map(|(k, v)| {
                        format!(
                            "{}{colon}{}",
                            String::from_utf8(quote(k)).unwrap(),
                            v.write(style, depth + 1)
                        )
                    })
                    .collect(),
                '{',
                '}',
            ),
        }
    }

    fn set(&mut self, path: &[&str], value: &Tree) -> bool {
        let Some((key, rest)) = path.split_first() else {
            *self = value.clone();
            return true;
        };
        match self {
            Tree::Map(items) => {
                if let Some((_, v)) = items.iter_mut().rev().find(|(k, _)| k == key) {
                    return v.set(rest, value);
                }
                let mut inner = Tree::Map(vec![]);
                inner.set(rest, value);
                let index = |k: &str| k.parse::<u32>().ok().filter(|n| n.to_string() == k && *n != u32::MAX);
                let at = index(key)
                    .and_then(|new| items.iter().position(|(k, _)| index(k).is_none_or(|old| old > new)))
                    .unwrap_or(items.len());
                items.insert(at, ((*key).to_owned(), inner));
                true
            }
            _ => false,
        }
    }

    fn remove(&mut self, path: &[&str]) -> bool {
        let Some((key, rest)) = path.split_first() else { return false };
        let Tree::Map(items) = self else { return false };
        let Some(at) = items.iter().rposition(|(k, _)| k == key) else { return false };
        if rest.is_empty() {
            items.remove(at);
            return true;
        }
        items[at].1.remove(rest)
    }
}

fn atom() -> impl Strategy<Value = Tree> {
    prop_oneof![
        Just(Tree::Atom("null".into())),
        Just(Tree::Atom("true".into())),
        Just(Tree::Atom("298327091685864450".into())),
        Just(Tree::Atom("-0".into())),
        Just(Tree::Atom("1e400".into())),
        Just(Tree::Atom(r#""\ud83d""#.into())),
        Just(Tree::Atom(r#""a\/b\u00e9""#.into())),
        any::<i64>().prop_map(|n| Tree::Atom(n.to_string())),
        any::<String>().prop_map(|s| Tree::Atom(String::from_utf8(quote(&s)).unwrap())),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abc]",
        "[0-9]",
        Just("1763632438061".to_owned()),
        Just("\"\\\n".to_owned()),
        Just("é🐉".to_owned())
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    atom().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Tree::List),
            // Duplicate keys included on purpose.
            prop::collection::vec((key(), inner), 0..6).prop_map(Tree::Map),
        ]
    })
}

#[derive(Debug, Clone)]
enum Edit {
    Set(Vec<String>, Tree),
    Remove(Vec<String>),
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = || prop::collection::vec(key(), 1..4);
    prop_oneof![(path(), tree()).prop_map(|(p, t)| Edit::Set(p, t)), path().prop_map(Edit::Remove)]
}

proptest! {
    #[test]
    fn any_sequence_of_splices_equals_the_edit_on_the_parsed_value(
        start in tree(), style in any::<u8>(), edits in prop::collection::vec(edit(), 0..8),
    ) {
        let mut bytes = start.write(style, 0).into_bytes();
        let mut model = start;
        for edit in &edits {
            let doc = Raw::parse(&bytes).unwrap();
            let next = match edit {
                Edit::Set(path, value) => {
                    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
                    let steps: Vec<PathPart<'_>> = keys.iter().map(|k| PathPart::key(k)).collect();
                    let splice = set(doc, &steps, value.write(style, 0).as_bytes());
                    prop_assert_eq!(splice.is_ok(), model.set(&keys, value));
                    splice.map(|s| s.apply(doc.bytes())).unwrap_or(doc.bytes().to_vec())
                }
                Edit::Remove(path) => {
                    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
                    let steps: Vec<PathPart<'_>> = keys.iter().map(|k| PathPart::key(k)).collect();
                    let splice = remove(doc, &steps);
                    prop_assert_eq!(splice.is_some(), model.remove(&keys));
                    splice.map_or(doc.bytes().to_vec(), |s| s.apply(doc.bytes()))
                }
            };
            bytes = next;
            prop_assert_eq!(&Tree::read(Raw::parse(&bytes).unwrap()), &model);
        }
    }

    /// Where a list or an object ends is looked for in blocks of 64 bytes: whatever stands at their seams.
    #[test]
    fn a_value_ends_where_reading_it_has_ended(
        blanks in 0usize..130, texts in prop::collection::vec("[\\[\\]{}\"\\\\ a-c\n]{0,90}", 0..8),
        more in tree(), style in any::<u8>(),
    ) {
        let quoted = texts.iter().map(|text| Tree::Atom(String::from_utf8(quote(text)).unwrap()));
        let within = Tree::Map(vec![("texts".to_owned(), Tree::List(quoted.collect())), ("more".to_owned(), more)]);
        let all = Tree::List(vec![within.clone(), Tree::Atom("17".to_owned()), within]);
        let bytes = format!("[{}{},true]", " ".repeat(blanks), all.write(style, 0)).into_bytes();
        let mut seen = Vec::new();
        Raw::parse_nested::<1>(&bytes, |_, value| seen.push(value.bytes().to_vec())).unwrap();
        let found: Vec<Vec<u8>> = Raw::parse(&bytes).unwrap().elements().map(|value| value.bytes().to_vec()).collect();
        prop_assert_eq!(&found, &seen);
        prop_assert_eq!(Tree::read(Raw::parse(&found[0]).unwrap()), all);
    }

    #[test]
    fn setting_a_value_to_itself_changes_no_byte(start in tree(), style in any::<u8>()) {
        let bytes = start.write(style, 0).into_bytes();
        let doc = Raw::parse(&bytes).unwrap();
        for (key, _) in doc.members() {
            let text = key.as_text().unwrap();
            let value = doc.get(&text).unwrap();
            prop_assert_eq!(set(doc, &[PathPart::key(&text)], value.bytes()).unwrap().apply(doc.bytes()), doc.bytes());
        }
    }

    #[test]
    fn pushing_then_removing_the_last_element_gives_the_old_bytes(items in prop::collection::vec(tree(), 0..5), style in any::<u8>()) {
        let len = items.len();
        let bytes = Tree::List(items).write(style, 0).into_bytes();
        let doc = Raw::parse(&bytes).unwrap();
        let longer = push(doc, &[], b"7").unwrap().apply(doc.bytes());
        let again = Raw::parse(&longer).unwrap();
        prop_assert_eq!(again.elements().last().unwrap().bytes(), b"7");
        prop_assert_eq!(remove(again, &[PathPart::Index(len)]).unwrap().apply(&longer), doc.bytes());
    }

    #[test]
    fn pretty_changes_white_space_only(start in tree(), style in any::<u8>()) {
        let bytes = start.write(style, 0).into_bytes();
        let laid_out = pretty(Raw::parse(&bytes).unwrap(), 0);
        prop_assert_eq!(&Tree::read(Raw::parse(&laid_out).unwrap()), &start);
        prop_assert_eq!(laid_out, pretty(Raw::parse(start.write(1, 0).as_bytes()).unwrap(), 0));
    }

    #[test]
    fn accepts_what_serde_json_accepts(start in tree(), style in any::<u8>(), at in any::<prop::sample::Index>(), with in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = start.write(style, 0).into_bytes();
        let i = at.index(bytes.len());
        if cut { bytes.truncate(i) } else { bytes[i] = with }
        let judge = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
        prop_assert_eq!(Raw::parse(&bytes).is_ok(), judge, "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn long_strings_are_judged_as_serde_json_does(
        words in prop::collection::vec(prop_oneof![
            8 => "[a-zn é—]{1,40}".prop_map(String::into_bytes),
            2 => Just(b"\\n".to_vec()),
            2 => Just(b"\\\\".to_vec()),
            2 => Just(b"\\\"".to_vec()),
            1 => Just(b"\\u00e9".to_vec()),
            1 => Just(b"\\".to_vec()),
            1 => prop::collection::vec(any::<u8>(), 1..3),
        ], 0..20),
        rest in prop_oneof![Just(""), Just(","), Just("\n")],
    ) {
        let bytes = [b"\"", &words.concat()[..], b"\"", rest.as_bytes()].concat();
        let judge = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
        let raw = Raw::parse(&bytes);
        prop_assert_eq!(raw.is_ok(), judge, "{}", String::from_utf8_lossy(&bytes));
        if let Ok(raw) = raw {
            let written = raw.as_stringified().unwrap();
            prop_assert_eq!(&*written, quote_wtf8(&raw.as_wtf8().unwrap()));
        }
    }

    #[test]
    fn never_panics_on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(raw) = Raw::parse(&bytes) {
            let (_text, _units, _wtf8) = (raw.as_text(), raw.as_utf16(), raw.as_wtf8());
            let _members: usize = raw.members().count() + raw.elements().count();
        }
    }

    #[test]
    fn quoting_and_reading_a_text_gives_it_back(text in any::<String>()) {
        let quoted = quote(&text);
        prop_assert_eq!(&quoted, &serde_json::to_string(&text).unwrap().into_bytes());
        prop_assert_eq!(Raw::parse(&quoted).unwrap().as_text().unwrap(), text);
    }
}

#[test]
fn regression_lone_surrogate_survives() {
    // A message cut in the middle of an emoji by JavaScript's slice(): SillyTavern stores "\ud83d" alone.
    let raw = Raw::parse(br#""Zo\u00eb \ud83d""#).unwrap();
    assert_eq!(raw.as_text().unwrap(), "Zoë \u{fffd}");
    assert_eq!(raw.as_wtf8().unwrap().as_ref(), b"Zo\xc3\xab \xed\xa0\xbd");
    assert_eq!(raw.as_utf16().unwrap().last(), Some(&0xD83D));
    assert_eq!(quote_wtf8(&raw.as_wtf8().unwrap()), "\"Zoë \\ud83d\"".as_bytes());
    assert_eq!(Raw::parse(br#""\ud83d\udc09""#).unwrap().as_text().unwrap(), "🐉");
}

#[test]
fn nesting_has_no_limit() {
    let deep = [b"[".repeat(1_000_000), b"]".repeat(1_000_000)].concat();
    assert_eq!(Raw::parse(&deep).unwrap().elements().count(), 1);
    assert!(Raw::parse(&deep[..1_999_999]).is_err());
    assert_eq!(pretty(Raw::parse(b"[[{}]]").unwrap(), 0), b"[\n    [\n        {}\n    ]\n]");
}

#[test]
fn truth_and_numbers_are_javascripts() {
    for (text, truthy) in
        [("null", false), ("0", false), ("-0.0", false), ("\"\"", false), ("0.1", true), ("[]", true)]
    {
        assert_eq!(Raw::parse(text.as_bytes()).unwrap().is_truthy(), truthy, "{text}");
    }
    for (text, number) in
        [("12", Some(12)), ("12.0", Some(12)), ("1.5", None), ("1e3", Some(1000)), ("1e400", None)]
    {
        assert_eq!(Raw::parse(text.as_bytes()).unwrap().as_i64(), number, "{text}");
    }
    assert_eq!(Raw::parse(br#"{"a":1,"a":2}"#).unwrap().get("a").unwrap().as_i64(), Some(2));
}

#[test]
fn bytes_that_are_not_utf8_are_read_as_node_reads_them() {
    let raw = Raw::parse(b"\"a\xffb\"").unwrap();
    assert_eq!(raw.as_text().unwrap(), "a\u{fffd}b");
    assert!(Raw::parse(b"\xff").is_err());
}

#[test]
fn errors_say_what_and_where() {
    let e = Raw::parse(br#"{"a":1,}"#).unwrap_err();
    assert_eq!(e.to_string(), "expected a key in quotes at byte 7");
    assert_eq!(Raw::parse(b"{\"a\":\"x").unwrap_err().to_string(), "unexpected end of text at byte 7");
}

proptest! {
    /// The bytes of a line become a text of it: the one that they tell.
    #[test]
    fn a_string_that_is_used_up_is_the_text_that_it_tells(
        parts in prop::collection::vec(prop_oneof![
            any::<String>().prop_map(|text| quote(&text)[1..].to_vec()).prop_map(|mut b| { b.pop(); b }),
            prop::sample::select(vec!["\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\udc00\\ud83d", "\\/", "\\n\\\"", "\\ud83d\\n"])
                .prop_map(|text| text.as_bytes().to_vec()),
            Just(vec![0xFF, b'x']),
        ], 0..8),
        before in "[a-z]{0,5}",
    ) {
        let string = [b"\"", &parts.concat()[..], b"\""].concat();
        let told = Raw::parse(&string).unwrap().as_text().unwrap().into_owned();
        let line = [before.as_bytes(), &string, b" and more"].concat();
        let place = before.len()..before.len() + string.len();
        prop_assert_eq!(forklore_json::into_text(line, place), told);
    }
}
