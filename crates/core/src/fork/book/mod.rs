//! The book of a fork: [`assemble`] writes it from [`Content`]; [`fingerprint()`] tells whether it still says the same.
//!
//! What nobody asked to change is moved as raw bytes: top-level keys, entries, unknown fields, white space. The operations that
//! wait in the book are not the fork's: [`empty_queue`].

mod fingerprint;
mod layout;
mod original;
mod pairs;
mod queue;

pub use fingerprint::fingerprint;
pub use queue::empty_queue;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use forklore_json::{Kind, Raw, Splice, apply_all, quote};

use crate::adapter::{EntryRole, entry_role};
use crate::format::book::{Book, Entry, EntryImage};
use layout::{Indent, Part, Style, lay_out, members, take_apart};
use pairs::{Live, pair};

/// A book with nothing in it, as SillyTavern lays it out.
const BLANK: &[u8] = b"{\n    \"entries\": {}\n}";

/// What the book of a fork is made of.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// The parent's book as it is: everything moved byte for byte.
    AsItIs(&'a Book<'a>),
    /// The entries of the state at a message, laid over the parent's book where there is one: its top-level keys, layout, keys
    /// and queue. The images must be whole: an entry gets the fields of its image and no other.
    Entries {
        /// The parent's book.
        over: Option<&'a Book<'a>>,
        /// The entries. A queue among them does not count: only the live one knows its place and its settings.
        entries: &'a [EntryImage],
    },
}

/// The bytes of a new book file named `name`.
pub fn assemble(content: Content<'_>, name: &str) -> Vec<u8> {
    let (doc, mut edits) = match content {
        Content::AsItIs(book) => (Document::of(book.raw()), empty_queues(book)),
        Content::Entries { over, entries } => {
            let (doc, live) = over.map_or((Raw::trust(BLANK), &[][..]), |book| (book.raw(), book.entries()));
            let doc = Document::of(doc);
            let edits = project(&doc, live, entries).unwrap_or_default();
            (doc, edits)
        }
    };
    edits.extend(doc.rename(name));
    apply_all(doc.raw.bytes(), &edits)
}

/// The whole file, its top level looked through once: that takes as long as reading all of it.
struct Document<'a> {
    raw: Raw<'a>,
    members: Vec<Part<'a>>,
}

impl<'a> Document<'a> {
    fn of(raw: Raw<'a>) -> Self {
        Self { raw, members: members(raw) }
    }

    /// The value of a top-level key.
    fn get(&self, name: &str) -> Option<Raw<'a>> {
        let named = |part: &&Part<'a>| part.key.as_deref().is_some_and(|key| Raw::trust(key).is_text(name));
        match self.members.iter().rfind(named)?.value {
            Cow::Borrowed(value) => Some(Raw::trust(value)),
            Cow::Owned(_) => None,
        }
    }

    /// White space before the first key.
    fn gap(&self) -> &'a [u8] {
        self.members.first().map_or(&[], |part| part.lead)
    }

    /// The splice that gives the book its name.
    fn rename(&self, name: &str) -> Option<Splice> {
        let quoted = quote(name);
        if let Some(old) = self.get("name") {
            let range = old.range_in(self.raw.bytes())?;
            return (!old.is_text(name)).then_some(Splice { range, with: quoted });
        }
        let (first, last) = (self.members.first()?, self.members.last()?);
        let end = Raw::trust(&last.value).range_in(self.raw.bytes())?.end;
        let with = [b",", first.lead, b"\"name\"", first.colon, &quoted].concat();
        Some(Splice { range: end..end, with })
    }
}

/// The splices that empty the queues of a book.
fn empty_queues(book: &Book<'_>) -> Vec<Splice> {
    let queues = book.entries().iter().filter(|entry| entry_role(&entry.comment()) == EntryRole::Queue);
    let doc = book.raw().bytes();
    queues
        .filter_map(|entry| Some(queue::emptying(&entry.comment(), entry.raw)?.moved(entry.raw, doc)))
        .collect()
}

/// An entry that is to be in the book.
#[derive(Debug)]
struct Placed<'a> {
    uid: Option<i64>,
    /// Number of the live entry that it corresponds to.
    live: Option<usize>,
    is_queue: bool,
    part: Part<'a>,
}

/// The splices that make the entries of a document those of the images; `None` if there is nothing to do.
fn project(doc: &Document<'_>, live: &[Entry<'_>], images: &[EntryImage]) -> Option<Vec<Splice>> {
    let list = doc.get("entries")?;
    let range = list.range_in(doc.raw.bytes())?;
    let parts = take_apart(list, live.iter().map(|entry| (entry.key, entry.raw)));
    let document = Style::of(doc.raw, &doc.members)?;
    let style = Style::of(list, &parts).unwrap_or_else(|| Style::inside(&document));
    let live: Vec<Live<'_>> = live.iter().map(|entry| Live::of(*entry)).collect();
    let images: Vec<&EntryImage> =
        images.iter().filter(|image| entry_role(&image.comment) != EntryRole::Queue).collect();

    let mut placed = place(parts, &live, &images, &style, doc.gap());
    if placed.is_empty() && live.is_empty() {
        return None;
    }
    if list.kind() == Kind::Object {
        give_keys(&mut placed, &live);
    }
    let original = original::project(doc, &live, &placed);
    let entries = Splice { range, with: style.join(list, placed.iter().map(|entry| &entry.part)) };
    Some([Some(entries), original].into_iter().flatten().collect())
}

/// The entries of the new book: those that the live one has too, in its order, then the others.
fn place<'a>(
    parts: Vec<Part<'a>>,
    live: &[Live<'a>],
    images: &[&EntryImage],
    style: &'a Style<'a>,
    first: &'a [u8],
) -> Vec<Placed<'a>> {
    let shown_by = pair(live, images);
    let mut is_new = vec![true; images.len()];
    let mut placed = Vec::with_capacity(images.len() + 1);
    for (i, (mut part, entry)) in parts.into_iter().zip(live).enumerate() {
        part.value = match shown_by[i] {
            Some(n) => {
                is_new[n] = false;
                fit(entry, images[n], part.lead, first)
            }
            None if entry.is_queue => queue::emptying(&entry.comment, entry.raw)
                .map_or(part.value, |splice| Cow::Owned(splice.apply(entry.raw.bytes()))),
            None => continue,
        };
        placed.push(Placed { uid: entry.uid, live: Some(i), is_queue: entry.is_queue, part });
    }
    let indent = Indent::of(&style.gap, first);
    for (image, _) in images.iter().zip(is_new).filter(|(_, is_new)| *is_new) {
        let value = Cow::Owned(lay_out(telling(image, true).raw().bytes(), indent));
        let part = Part { lead: &style.gap, key: None, colon: style.colon, value, trail: &[] };
        placed.push(Placed { uid: image.uid, live: None, is_queue: false, part });
    }
    placed
}

/// An image whose own fields say its title and, if asked for, its number. Evidence can know both without having seen the fields.
fn telling(image: &EntryImage, numbered: bool) -> Cow<'_, EntryImage> {
    let [uid, comment] = image.raw().pick(["uid", "comment"]);
    let mut told = Cow::Borrowed(image);
    if *comment.and_then(Raw::as_text).unwrap_or_default() != *image.comment {
        told = Cow::Owned(told.with_field("comment", Raw::trust(&quote(&image.comment))));
    }
    match image.uid.filter(|_| numbered) {
        Some(number) if uid.and_then(Raw::as_i64) != Some(number) => {
            Cow::Owned(told.with_field("uid", Raw::trust(number.to_string().as_bytes())))
        }
        _ => told,
    }
}

/// The live entry with the values of the image: every byte that need not change is the live one's.
fn fit<'a>(live: &Live<'a>, image: &EntryImage, lead: &[u8], first: &[u8]) -> Cow<'a, [u8]> {
    let as_it_is = Cow::Borrowed(live.raw.bytes());
    if image.raw() == live.raw && *image.comment == *live.comment {
        return as_it_is;
    }
    // Where the live entry leaves it to its key to tell the number, so may this one: it gets the same key.
    let image = telling(image, live.is_numbered);
    if image.raw().says_the_same(live.raw) {
        return as_it_is;
    }
    let parts = members(live.raw);
    match Style::of(live.raw, &parts).filter(|_| image.raw().kind() == Kind::Object) {
        Some(style) => Cow::Owned(patch(live.raw, parts, &style, image.raw(), first)),
        // There is no field on either side to keep.
        None => Cow::Owned(lay_out(image.raw().bytes(), Indent::of(lead, first))),
    }
}

/// An object with the fields of another: common ones where they stand, with their bytes if they say the same; then the rest.
fn patch(object: Raw<'_>, parts: Vec<Part<'_>>, style: &Style<'_>, with: Raw<'_>, first: &[u8]) -> Vec<u8> {
    let wanted: Vec<(Raw<'_>, Raw<'_>)> = with.members().collect();
    let (fates, is_new) = fates(&parts, &wanted);
    let mut kept: Vec<Part<'_>> = Vec::with_capacity(parts.len());
    for (mut part, fate) in parts.into_iter().zip(fates) {
        match fate {
            Fate::Goes => continue,
            Fate::Stays => {}
            Fate::Becomes(n) => {
                let value = wanted[n].1;
                if !value.says_the_same(Raw::trust(&part.value)) {
                    part.value = Cow::Owned(lay_out(value.bytes(), Indent::of(part.lead, first)));
                }
            }
        }
        kept.push(part);
    }
    let new = wanted.iter().zip(is_new).filter(|(_, is_new)| *is_new);
    kept.extend(new.map(|((key, value), _)| Part {
        lead: &style.gap,
        key: Some(Cow::Borrowed(key.bytes())),
        colon: style.colon,
        value: Cow::Owned(lay_out(value.bytes(), Indent::of(&style.gap, first))),
        trail: &[],
    }));
    style.join(object, kept.iter())
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// The other object has no such field.
    Goes,
    /// It stands again further on, where it counts.
    Stays,
    /// It gets the value of this field of the other object.
    Becomes(usize),
}

/// What becomes of every field, and which ones of the other object are new.
fn fates(parts: &[Part<'_>], wanted: &[(Raw<'_>, Raw<'_>)]) -> (Vec<Fate>, Vec<bool>) {
    let in_step =
        |(part, (key, _)): (&Part<'_>, &(Raw<'_>, Raw<'_>))| part.key.as_deref() == Some(key.bytes());
    if parts.len() == wanted.len() && parts.iter().zip(wanted).all(in_step) {
        return ((0..parts.len()).map(Fate::Becomes).collect(), vec![false; wanted.len()]);
    }
    let by_name: HashMap<Cow<'_, [u8]>, usize> =
        wanted.iter().enumerate().filter_map(|(n, (key, _))| Some((key.as_wtf8()?, n))).collect();
    // Of a field that stands twice only the last one counts, there as here.
    let mut is_new = vec![false; wanted.len()];
    by_name.values().for_each(|n| is_new[*n] = true);
    let fate = |part: &Part<'_>| {
        let name = part.key.as_deref().and_then(|key| Raw::trust(key).as_wtf8());
        match name.and_then(|name| by_name.get(&name)) {
            None => Fate::Goes,
            Some(n) if std::mem::take(&mut is_new[*n]) => Fate::Becomes(*n),
            Some(_) => Fate::Stays,
        }
    };
    let mut fates: Vec<Fate> = parts.iter().rev().map(fate).collect();
    fates.reverse();
    (fates, is_new)
}

/// Gives every entry its key in the map, no key twice, and puts them in JavaScript's order.
fn give_keys<'a>(placed: &mut [Placed<'a>], live: &[Live<'a>]) {
    let mut as_it_was = placed.len() == live.len();
    let keys = keys(placed, live);
    for (entry, key) in placed.iter_mut().zip(keys) {
        as_it_was &= entry.part.key.as_ref() == Some(&key);
        entry.part.key = Some(key);
    }
    // A file that somebody wrote in another order keeps it as long as no entry comes or goes.
    if !as_it_was {
        placed.sort_by_cached_key(|entry| rank(entry.part.key.as_deref()));
    }
}

/// The key of every entry: the live one's; else its number; else the next that is free.
fn keys<'a>(placed: &[Placed<'a>], live: &[Live<'a>]) -> Vec<Cow<'a, [u8]>> {
    let mut taken: HashSet<Cow<'a, [u8]>> = HashSet::with_capacity(placed.len());
    let old = placed.iter().map(|entry| {
        let key = entry.live.and_then(|i| live[i].key)?;
        taken.insert(key.as_wtf8()?).then_some(Cow::Borrowed(key.bytes()))
    });
    let mut keys: Vec<Option<Cow<'a, [u8]>>> = old.collect();
    let mut take = |number: i64| {
        let text = number.to_string();
        let quoted = quote(&text);
        taken.insert(Cow::Owned(text.into_bytes())).then_some(Cow::Owned(quoted))
    };
    for (key, entry) in keys.iter_mut().zip(placed).filter(|(key, _)| key.is_none()) {
        *key = entry.uid.and_then(&mut take);
    }
    // Not the number of another entry either: SillyTavern takes key and number for the same.
    let uids: HashSet<i64> = placed.iter().filter_map(|entry| entry.uid).collect();
    let mut free = (0..).filter(|number| !uids.contains(number)).filter_map(take);
    keys.into_iter().map(|key| key.or_else(|| free.next()).unwrap_or_default()).collect()
}

/// Where JavaScript keeps a key: array indices by number, then all others as they came.
fn rank(key: Option<&[u8]>) -> u32 {
    let text = key.and_then(|key| Raw::trust(key).as_text()).unwrap_or_default();
    let canonical = *text == *"0" || (!text.starts_with('0') && text.bytes().all(|c| c.is_ascii_digit()));
    // The greatest index is one below, which leaves this number for those that are none.
    canonical.then(|| text.parse().ok()).flatten().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(book: &str) -> Vec<EntryImage> {
        Book::parse(book.as_bytes()).unwrap().images()
    }

    fn over(book: &str, entries: &[EntryImage]) -> String {
        let book = Book::parse(book.as_bytes()).unwrap();
        String::from_utf8(assemble(Content::Entries { over: Some(&book), entries }, "F")).unwrap()
    }

    const PRETTY: &str = r#"{
    "entries": {
        "0": {
            "uid": 0,
            "key": [
                "a"
            ],
            "comment": "A",
            "content": "old",
            "x-odd": 1e400
        },
        "7": {
            "uid": 7,
            "comment": "B",
            "content": "b"
        }
    }
}"#;

    #[test]
    fn a_book_from_nothing_is_what_javascript_writes() {
        let entries =
            images(r#"{"entries":{"12":{"uid":12,"key":["k"],"comment":"L"},"3":{"uid":3,"x":{}}}}"#);
        let made = assemble(Content::Entries { over: None, entries: &entries }, "F \"1\"");
        let doc = r#"{"entries":{"3":{"uid":3,"x":{}},"12":{"uid":12,"key":["k"],"comment":"L"}},"name":"F \"1\""}"#;
        assert_eq!(made, forklore_json::pretty(Raw::parse(doc.as_bytes()).unwrap(), 0));
        let none = assemble(Content::Entries { over: None, entries: &[] }, "F");
        assert_eq!(none, b"{\n    \"entries\": {},\n    \"name\": \"F\"\n}");
    }

    #[test]
    fn a_queue_is_not_invented() {
        let entries = images(r#"{"entries":{"5":{"uid":5,"comment":"__operation_queue","content":"{}"}}}"#);
        let made = assemble(Content::Entries { over: None, entries: &entries }, "F");
        assert!(Book::parse(&made).unwrap().entries().is_empty());
        let book = r#"{"entries":{"5":{"uid":5,"comment":"__operation_queue","content":"{\"queue\":[1]}"}}}"#;
        let made = over(book, &entries);
        assert_eq!(
            made,
            book.replace("[1]", "[]").replace("}}}", "}},\"name\":\"F\"}"),
            "the live one stays"
        );
    }

    #[test]
    fn only_what_differs_is_spliced() {
        let image = r#"{"entries":{"0":{"content":"new","comment":"A","uid":0,"key":["a","b"],"tag":[1]}}}"#;
        let made = over(PRETTY, &images(image));
        let wanted = r#"{
    "entries": {
        "0": {
            "uid": 0,
            "key": [
                "a",
                "b"
            ],
            "comment": "A",
            "content": "new",
            "tag": [
                1
            ]
        }
    },
    "name": "F"
}"#;
        assert_eq!(made, wanted);
    }

    #[test]
    fn of_fields_that_stand_twice_the_last_counts() {
        let book = r#"{"entries":{"0":{"uid":0,"a":1,"b":1,"a":2}},"name":"F"}"#;
        let image = images(r#"{"entries":{"0":{"a":4,"c":5,"a":3,"c":6,"uid":0}}}"#);
        assert_eq!(over(book, &image), r#"{"entries":{"0":{"uid":0,"a":1,"a":3,"c":6}},"name":"F"}"#);
    }

    #[test]
    fn new_entries_go_where_javascript_puts_them() {
        let mut entries = images(PRETTY);
        entries.extend(images(r#"{"entries":{"3":{"uid":3,"comment":"N","key":[]}}}"#));
        let made = over(PRETTY, &entries);
        let new = "        \"3\": {\n            \"uid\": 3,\n            \"comment\": \"N\",\n            \"key\": []\n        },\n";
        let at = PRETTY.find("        \"7\"").unwrap();
        let wanted = format!("{}{new}{}", &PRETTY[..at], &PRETTY[at..]);
        assert_eq!(made, wanted.replace("    }\n}", "    },\n    \"name\": \"F\"\n}"));
    }

    #[test]
    fn a_minified_book_stays_minified() {
        let book = r#"{"entries":{"0":{"uid":0,"comment":"A"}},"name":"P"}"#;
        let new = images(r#"{"entries": {"1": { "uid": 1, "comment": "a b", "key": [ 1 ] }}}"#);
        let made = over(book, &new);
        assert_eq!(made, r#"{"entries":{"1":{"uid":1,"comment":"a b","key":[1]}},"name":"F"}"#);
        let empty = r#"{"entries":{},"name":"P"}"#;
        assert_eq!(over(empty, &new), made);
    }

    #[test]
    fn an_empty_book_lends_its_layout() {
        let book = "{\n  \"name\": \"P\",\n  \"entries\": {}\n}";
        let made = over(book, &images(r#"{"entries":[{"uid":4}]}"#));
        let wanted = "{\n  \"name\": \"F\",\n  \"entries\": {\n    \"4\": {\n      \"uid\": 4\n    }\n  }\n}";
        assert_eq!(made, wanted);
    }

    #[test]
    fn two_entries_never_share_a_key() {
        let book = r#"{"entries":{"1":{"uid":0,"comment":"A"}}}"#;
        let entries = images(
            r#"{"entries":[{"uid":0,"comment":"A"},{"uid":1,"comment":"B"},{"uid":1,"comment":"C"},{}]}"#,
        );
        let made = over(book, &entries);
        let wanted = r#"{"entries":{"1":{"uid":0,"comment":"A"},"2":{"uid":1,"comment":"B"},"3":{"uid":1,"comment":"C"},"4":{}},"name":"F"}"#;
        assert_eq!(made, wanted);
    }

    #[test]
    fn of_two_entries_with_one_number_each_finds_itself() {
        let book = r#"{"entries":{"1":{"uid":9,"comment":"A","content":"1"},"2":{"uid":9,"comment":"A","content":"2"}}}"#;
        let made = over(book, &images(book)[1..]);
        assert_eq!(made, r#"{"entries":{"2":{"uid":9,"comment":"A","content":"2"}},"name":"F"}"#);
    }

    #[test]
    fn the_imported_book_goes_along() {
        let book = r#"{"entries":{"0":{"uid":0,"key":["a"],"comment":"A","content":"late"},"1":{"uid":1,"comment":"B"},"2":{"uid":2,"comment":"C","content":"c"}},"originalData":{"v":1.0,"entries":[{"id":0,"keys":["a"],"content":"late","x":1e400}, {"id":1,"content":"B"}, {"note":1}, {"id":77,"uid":2,"content":"odd"}, {"uid":55}]}}"#;
        let mut entries = images(book);
        entries.remove(1);
        entries[0] = entries[0].with_content("early");
        let made = over(book, &entries);
        let wanted = r#""originalData":{"v":1.0,"entries":[{"id":0,"keys":["a"],"content":"early","x":1e400}, {"note":1}, {"id":77,"uid":2,"content":"odd"}]},"name":"F"}"#;
        assert!(made.ends_with(wanted), "{made}");
        // With nothing gone, nothing of it changes.
        assert_eq!(over(book, &images(book)), book.replace("]}}", "]},\"name\":\"F\"}"));
    }

    #[test]
    fn a_new_title_and_new_keys_reach_the_imported_book() {
        let book = r#"{"entries":{"0":{"uid":0,"key":["a"],"comment":"A"}},"originalData":{"entries":[{"id":0,"keys":["a"],"name":"n"}]}}"#;
        let made = over(book, &images(r#"{"entries":{"0":{"uid":0,"key":["z"],"comment":"Z"}}}"#));
        assert!(
            made.contains(r#""originalData":{"entries":[{"id":0,"keys":["z"],"name":"n","comment":"Z"}]}"#),
            "{made}"
        );
    }
}
