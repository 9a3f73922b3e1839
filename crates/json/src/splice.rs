//! Edits as replacements of byte ranges: [`set`], [`remove`] and [`push`] give the [`Splice`] for a change at a path.

use std::ops::Range;

use crate::raw::{Kind, Raw};
use crate::text::quote;

/// One step into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPart<'p> {
    /// The member with this key
    Key(&'p str),
    /// The element with this number
    Index(usize),
}

impl<'p> PathPart<'p> {
    /// A step to the member `key`.
    pub fn key(key: &'p str) -> Self {
        PathPart::Key(key)
    }
}

/// A replacement of one byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go away; empty for an insertion.
    pub range: Range<usize>,
    /// The bytes that come in their place.
    pub with: Vec<u8>,
}

impl Splice {
    /// The document with this splice made.
    pub fn apply(&self, doc: &[u8]) -> Vec<u8> {
        apply_all(doc, std::slice::from_ref(self))
    }

    /// A splice in a part of a document as one in the document.
    #[must_use]
    pub fn moved(self, part: Raw<'_>, doc: &[u8]) -> Self {
        let by = part.range_in(doc).map_or(0, |range| range.start);
        Self { range: self.range.start + by..self.range.end + by, with: self.with }
    }
}

/// Why an edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// A step leads into a value that has no such inside, for example a key of a number.
    #[error("there is no place for {0} in the document")]
    NoPlace(String),
}

/// Makes several splices at once. They may come in any order but must not overlap.
pub fn apply_all(doc: &[u8], splices: &[Splice]) -> Vec<u8> {
    let mut order: Vec<&Splice> = splices.iter().collect();
    order.sort_by_key(|s| (s.range.start, s.range.end));
    let grown: usize = splices.iter().map(|s| s.with.len()).sum();
    let mut out = Vec::with_capacity(doc.len() + grown);
    let mut at = 0;
    for splice in order {
        out.extend_from_slice(&doc[at..splice.range.start]);
        out.extend_from_slice(&splice.with);
        at = splice.range.end;
    }
    out.extend_from_slice(&doc[at..]);
    out
}

/// The splice that gives the place at `path` the value `value`, which must be valid JSON.
///
/// Missing members are added, missing objects on the way made. A new key that looks like an array index goes where JavaScript
/// would put it, before all other keys and in numeric order; any other goes last. Where a key stands twice, the last one,
/// which is the one that counts, is changed. The range refers to `doc.bytes()`.
pub fn set(doc: Raw<'_>, path: &[PathPart<'_>], value: &[u8]) -> Result<Splice, EditError> {
    set_before(doc, path, value, None)
}

/// As [`set`]; a new member goes before the key `next`, if that is there.
pub fn set_before(
    doc: Raw<'_>,
    path: &[PathPart<'_>],
    value: &[u8],
    next: Option<&str>,
) -> Result<Splice, EditError> {
    let mut here = doc;
    for (depth, step) in path.iter().enumerate() {
        match inside(here, *step) {
            Some(next) => here = next,
            None => {
                let PathPart::Key(key) = *step else { return Err(no_place(*step)) };
                if here.kind() != Kind::Object {
                    return Err(no_place(*step));
                }
                let rest = &path[depth + 1..];
                let next = next.filter(|_| rest.is_empty());
                return Ok(insert_member(doc, here, key, &nest(rest, value)?, next));
            }
        }
    }
    Ok(Splice { range: range_of(doc, here), with: value.to_vec() })
}

/// The splice that takes the member or element at `path` away, with its comma; `None` if it is not there.
///
/// A key that stands twice goes with all its copies but needs as many calls; each takes the last one.
pub fn remove(doc: Raw<'_>, path: &[PathPart<'_>]) -> Option<Splice> {
    let (last, way) = path.split_last()?;
    let parent = way.iter().try_fold(doc, |value, step| inside(value, *step))?;
    let items = items(parent);
    let at = match last {
        PathPart::Key(key) => items.iter().rposition(|item| item.key.is_some_and(|k| k.is_text(key)))?,
        PathPart::Index(n) => Some(*n).filter(|n| *n < items.len() && parent.kind() == Kind::Array)?,
    };
    let range =
        |item: &Item<'_>| range_of(doc, item.key.unwrap_or(item.value)).start..range_of(doc, item.value).end;
    let this = range(&items[at]);
    let range = match (at.checked_sub(1), items.get(at + 1)) {
        // With what stands between it and the next, so that the next takes its place.
        (_, Some(next)) => this.start..range(next).start,
        (Some(before), None) => range(&items[before]).end..this.end,
        (None, None) => this,
    };
    Some(Splice { range, with: Vec::new() })
}

/// The splice that adds `value` at the end of the array at `path`.
pub fn push(doc: Raw<'_>, path: &[PathPart<'_>], value: &[u8]) -> Result<Splice, EditError> {
    let array =
        path.iter().try_fold(doc, |value, step| inside(value, *step).ok_or_else(|| no_place(*step)))?;
    if array.kind() != Kind::Array {
        return Err(EditError::NoPlace("an element".to_owned()));
    }
    let items = items(array);
    let Some(last) = items.last() else {
        let (at, _) = emptied(doc, array);
        return Ok(Splice { range: at..at, with: value.to_vec() });
    };
    let gap = first_gap(doc, array, items[0].value);
    let at = range_of(doc, last.value).end;
    Ok(Splice { range: at..at, with: [b",", gap, value].concat() })
}

/// The splice that adds `value` as element `n` of the array at `path`; at its end, if it has not so many.
pub fn insert(doc: Raw<'_>, path: &[PathPart<'_>], n: usize, value: &[u8]) -> Result<Splice, EditError> {
    let array = path.iter().try_fold(doc, |value, step| inside(value, *step)).unwrap_or(Raw::NULL);
    let (Some(first), Some(next)) = (array.elements().next(), array.elements().nth(n)) else {
        return push(doc, path, value);
    };
    let at = range_of(doc, next).start;
    Ok(Splice { range: at..at, with: [value, b",", first_gap(doc, array, first)].concat() })
}

/// What stands before the first element, and so between any two.
fn first_gap<'a>(doc: Raw<'a>, array: Raw<'_>, first: Raw<'_>) -> &'a [u8] {
    &doc.bytes()[range_of(doc, array).start + 1..range_of(doc, first).start]
}

/// Where something goes in an array or object without anything in it, and what belongs between a key and its value there.
/// Blanks that [`remove`] has left tell both: what was removed comes to stand as it stood.
fn emptied(doc: Raw<'_>, parent: Raw<'_>) -> (usize, &'static [u8]) {
    let outer = range_of(doc, parent);
    let blank = doc.bytes().get(outer.start + 1..outer.end.saturating_sub(1)).unwrap_or(b"");
    match blank.iter().rposition(|c| *c == b'\n') {
        Some(n) => {
            let n = if n > 0 && blank[n - 1] == b'\r' { n - 1 } else { n };
            (outer.start + 1 + n, b": ")
        }
        None => (outer.start + 1 + blank.len() / 2, b":"),
    }
}

fn no_place(step: PathPart<'_>) -> EditError {
    EditError::NoPlace(match step {
        PathPart::Key(key) => format!("the key {key:?}"),
        PathPart::Index(n) => format!("element {n}"),
    })
}

fn inside<'a>(value: Raw<'a>, step: PathPart<'_>) -> Option<Raw<'a>> {
    match step {
        PathPart::Key(key) => value.get(key),
        PathPart::Index(n) => value.elements().nth(n),
    }
}

/// A member or element.
struct Item<'a> {
    key: Option<Raw<'a>>,
    value: Raw<'a>,
}

fn items(parent: Raw<'_>) -> Vec<Item<'_>> {
    let members = parent.members().map(|(key, value)| Item { key: Some(key), value });
    members.chain(parent.elements().map(|value| Item { key: None, value })).collect()
}

/// `value` wrapped in the objects that the rest of a path needs.
fn nest(path: &[PathPart<'_>], value: &[u8]) -> Result<Vec<u8>, EditError> {
    path.iter().rev().try_fold(value.to_vec(), |inner, step| match step {
        PathPart::Key(key) => Ok([b"{", &quote(key)[..], b":", &inner, b"}"].concat()),
        PathPart::Index(_) => Err(no_place(*step)),
    })
}

fn insert_member(doc: Raw<'_>, object: Raw<'_>, key: &str, value: &[u8], next: Option<&str>) -> Splice {
    let outer = range_of(doc, object);
    let items = items(object);
    let quoted = quote(key);
    let key_start = |item: &Item<'_>| range_of(doc, item.key.unwrap_or(item.value)).start;
    let (Some(first), Some(last)) = (items.first(), items.last()) else {
        let (at, colon) = emptied(doc, object);
        return Splice { range: at..at, with: [&quoted[..], colon, value].concat() };
    };
    // The file's own style: what stands before the first key, and between a key and its value.
    let gap = doc.bytes()[outer.start + 1..key_start(first)].to_vec();
    let colon = {
        let key_end = first.key.map_or(0, |k| range_of(doc, k).end);
        doc.bytes()[key_end..range_of(doc, first.value).start].to_vec()
    };
    let member = [&quoted[..], &colon, value].concat();
    let wanted = next.and_then(|next| items.iter().find(|item| item.key.is_some_and(|k| k.is_text(next))));
    let by_number = || {
        array_index(key).and_then(|new| {
            items.iter().find(|item| {
                item.key.and_then(Raw::as_text).and_then(|k| array_index(&k)).is_none_or(|old| old > new)
            })
        })
    };
    match wanted.or_else(by_number) {
        Some(next) => {
            let at = key_start(next);
            Splice { range: at..at, with: [&member[..], b",", &gap].concat() }
        }
        None => {
            let at = range_of(doc, last.value).end;
            Splice { range: at..at, with: [b",", &gap[..], &member].concat() }
        }
    }
}

/// The number of a key that JavaScript treats as an array index: canonical decimal, at most 2^32 - 2.
fn array_index(key: &str) -> Option<u32> {
    let canonical = key == "0" || (!key.starts_with('0') && key.bytes().all(|c| c.is_ascii_digit()));
    canonical.then(|| key.parse().ok()).flatten().filter(|n| *n < u32::MAX)
}

fn range_of(doc: Raw<'_>, part: Raw<'_>) -> Range<usize> {
    // `part` was reached from `doc`, so it is a slice of it; the empty range is never used.
    part.range_in(doc.bytes()).unwrap_or(0..0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn an_element_comes_back_to_its_place() {
        let lists =
            ["[1,2,3]", "[ 1, 2, 3 ]", "[\n  1,\n  2,\n  3\n]", "[1]", "[ 1 ]", "[\n  1\n]", "[\r\n  1\r\n]"];
        for list in lists {
            let text = format!("{{\"a\":{list}}}");
            let a = [PathPart::Key("a")];
            for (n, element) in raw(&text).at(&["a"]).unwrap().elements().enumerate() {
                let without = remove(raw(&text), &[a[0], PathPart::Index(n)]).unwrap().apply(text.as_bytes());
                let short = Raw::parse(&without).unwrap();
                let again = insert(short, &a, n, element.bytes()).unwrap().apply(&without);
                assert_eq!(String::from_utf8(again).unwrap(), text);
            }
        }
    }

    #[test]
    fn a_member_comes_back_to_its_place() {
        for text in [r#"{"a":1,"b":2,"c":3}"#, "{\n  \"a\": 1,\n  \"b\": 1,\n  \"c\": 1\n}"] {
            let keys = ["a", "b", "c"];
            for (n, key) in keys.iter().enumerate() {
                let path = [PathPart::Key(key)];
                let value = raw(text).get(key).unwrap().bytes();
                let without = remove(raw(text), &path).unwrap().apply(text.as_bytes());
                let next = keys.get(n + 1).copied();
                let again = set_before(Raw::parse(&without).unwrap(), &path, value, next).unwrap();
                assert_eq!(String::from_utf8(again.apply(&without)).unwrap(), text);
            }
        }
    }

    #[test]
    fn an_only_member_comes_back_as_it_was() {
        for text in ["{\"a\":1}", "{ \"a\":1 }", "{\n  \"a\": 1\n}", "{\r\n  \"a\": 1\r\n}"] {
            let without = remove(raw(text), &[PathPart::Key("a")]).unwrap().apply(text.as_bytes());
            let again =
                set(Raw::parse(&without).unwrap(), &[PathPart::Key("a")], b"1").unwrap().apply(&without);
            assert_eq!(String::from_utf8(again).unwrap(), text);
        }
    }
}
