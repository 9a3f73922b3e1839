//! Byte-identity: an edit that changes nothing changes no byte, over everything odd that SillyTavern writes or users do to files.

use forklore_core::format::book::Book;
use forklore_core::format::chat::{Line, Message};
use forklore_json::{Kind, PathPart, Raw, set};

/// One line or file for every quirk.
const QUIRKS: &[&[u8]] = &[
    // A header as 1.19 writes it, one of old versions, one with unknown keys.
    br#"{"chat_metadata":{"integrity":"1a","world_info":"B","tainted":true},"user_name":"unused","character_name":"unused"}"#,
    br#"{"user_name":"You","character_name":"Ana","create_date":"2023-5-12 @21h 32m 29s 224ms"}"#,
    br#"{"chat_metadata":{"x-unknown":{"deep":[1,{"er":null}]}},"zzz":1,"aaa":2}"#,
    // Loose types, integers above 2^53, odd numbers.
    br#"{"name":"Ana","is_user":false,"is_system":"","gen_id":298327091685864450,"mes":"x"}"#,
    br#"{"n":[-0,0.10,1E3,1e400,-1.5e-7,123456789012345678901234567890,1.0]}"#,
    // Lone surrogates, escapes that need not be, text that is not ASCII.
    br#"{"mes":"cut \ud83d","extra":{"\ud800":"\udfff"}}"#,
    br#"{"mes":"a\/b \u00e9 \u000b \"q\" \\ \n\t\r\b\f"}"#,
    "{\"mes\":\"Zoë 🐉 漢字 \u{202e}bidi\u{2066}\",\"é\":\"ü\"}".as_bytes(),
    // Not UTF-8 inside a text.
    b"{\"mes\":\"a\xff\xfe b\"}",
    // Duplicate keys, empty keys, keys that look like numbers, blanks everywhere.
    br#"{"a":1,"a":2,"":3,"10":1,"9":2,"1763632438061":3}"#,
    b" \t{ \"a\" : [ 1 , 2 ,\t3 ] ,\r \"b\" : { } } ",
    // A line from a file with CRLF.
    b"{\"name\":\"Ana\",\"mes\":\"crlf\"}\r",
    // Empty containers and nesting.
    br#"{"a":{},"b":[],"c":[[[[[{}]]]]],"d":[{},[],"",null,false]}"#,
    // Books: SillyTavern's layout, entries as a list, uid and key that differ, a queue with a timestamp, unknown top-level keys.
    b"{\n    \"entries\": {\n        \"0\": {\n            \"uid\": 0,\n            \"comment\": \"a\"\n        }\n    }\n}",
    br#"{"entries":[{"uid":1,"comment":"list"},{"comment":"no uid"}],"name":"B","originalData":{"entries":[{"uid":1}]}}"#,
    br#"{"entries":{"7":{"uid":3,"content":"x"},"8":{"uid":3},"1763632438061":{"uid":1763632438061}},"extensions":{}}"#,
];

/// Setting every value to itself, at every path, gives the same bytes.
fn no_op_edits_change_nothing(bytes: &[u8]) -> usize {
    let doc = Raw::parse(bytes).unwrap();
    let mut tried = 0;
    let mut todo: Vec<(Vec<String>, Raw<'_>)> = vec![(Vec::new(), doc)];
    while let Some((path, value)) = todo.pop() {
        let steps: Vec<PathPart<'_>> = path.iter().map(|key| PathPart::key(key)).collect();
        let splice = set(doc, &steps, value.bytes()).unwrap();
        assert_eq!(splice.apply(doc.bytes()), doc.bytes(), "{path:?}");
        tried += 1;
        for (key, inner) in value.members() {
            // A key that is cut in the middle of a character cannot be named in UTF-8; nobody will edit it either.
            let name = key.as_text().unwrap();
            if value.get(&name) == Some(inner) && path.len() < 6 {
                todo.push(([&path[..], &[name.into_owned()]].concat(), inner));
            }
        }
    }
    tried
}

#[test]
fn every_quirk_survives_an_edit_that_changes_nothing() {
    for quirk in QUIRKS {
        assert!(no_op_edits_change_nothing(quirk) > 0);
    }
}

#[test]
fn every_quirk_survives_an_edit_elsewhere() {
    for quirk in QUIRKS {
        let doc = Raw::parse(quirk).unwrap();
        if doc.kind() != Kind::Object {
            continue;
        }
        let with = set(doc, &[PathPart::key("forklore test")], b"{\"x\":1}").unwrap().apply(doc.bytes());
        let edited = Raw::parse(&with).unwrap();
        let (before, mut after): (Vec<_>, Vec<_>) = (doc.members().collect(), edited.members().collect());
        let added = after.pop().unwrap();
        assert!(added.0.is_text("forklore test"));
        assert_eq!(before, after, "all other members keep their bytes and their order");
    }
}

#[test]
fn the_vault_that_the_real_software_made_survives() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/fixtures/harbor");
    let mut todo = vec![root];
    let (mut lines, mut books) = (0, 0);
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            match path.extension().and_then(|e| e.to_str()) {
                Some("jsonl") => {
                    for line in bytes.split(|c| *c == b'\n') {
                        assert!(matches!(Line::read(line), Line::Element(_)));
                        assert_eq!(Message::parse(line).unwrap().raw().bytes(), line);
                        no_op_edits_change_nothing(line);
                        lines += 1;
                    }
                }
                Some("json") => {
                    no_op_edits_change_nothing(&bytes);
                    if let Ok(book) = Book::parse(&bytes) {
                        books += 1;
                        let again = book.map(&bytes).book(&bytes);
                        assert_eq!(again.raw().bytes(), &bytes[..]);
                        for image in again.images() {
                            let content = image.content().into_owned();
                            assert_eq!(
                                image.with_content(&content),
                                image,
                                "SillyTavern's own way of writing a text"
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }
    assert!(lines > 600 && books == 7, "{lines} lines, {books} books");
}
