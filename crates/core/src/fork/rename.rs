//! [`Renames`]: chats and books that go by another name, and everything in a file that names them.
//!
//! What names nothing that was renamed keeps every byte: all changes are splices.

use std::collections::{BTreeMap, HashMap};

use forklore_json::{PathPart, Raw, Splice, apply_all, quote};
use memchr::memmem;

use super::timed;
use crate::adapter;
use crate::adapter::places::{Path, Places, values};
use crate::format::book::{Book, EntryImage};
use crate::format::media;
use crate::format::names::{book_stem, chat_stem};

/// What goes by another name, from the old name to the new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renames {
    /// File stems of chats
    pub chats: BTreeMap<String, String>,
    /// File stems of books
    pub books: BTreeMap<String, String>,
    /// Slugs of chats
    pub slugs: BTreeMap<String, String>,
    /// Images and files, by where they are in the vault
    pub media: BTreeMap<String, String>,
    /// Numbers of observations; one that has none is not there any more
    pub observations: BTreeMap<u64, u64>,
}

/// Finds an entry of a book, by the book's old stem and the entry's number.
pub type FindEntry<'a> = dyn Fn(&str, i64) -> Option<EntryImage> + 'a;

/// Where SillyTavern and Forklore name chats in `chat_metadata`.
const CHATS: [Path; 4] =
    [&["main_chat"], &["forklore", "owner", "file"], &["forklore", "parent", "file"], &["forklore", "root"]];

/// Where they name books.
const BOOKS: [Path; 3] = [&["world_info"], &["forklore", "book", "name"], &["forklore", "pending", "book"]];

/// The same for extensions.
fn noted(of: fn(&Places) -> &'static [Path]) -> impl Iterator<Item = Path> {
    adapter::ALL.iter().flat_map(move |adapter| of(&adapter.places())).copied()
}

/// Where it has slugs.
const SLUGS: [&[&str]; 3] = [&["integrity"], &["forklore", "owner", "slug"], &["forklore", "parent", "slug"]];

impl Renames {
    fn chat(&self, name: &str) -> Option<&str> {
        self.chats.get(&chat_stem(name)).map(String::as_str)
    }

    fn book(&self, name: &str) -> Option<&str> {
        self.books.get(&book_stem(name)).map(String::as_str)
    }

    fn slug(&self, slug: &str) -> Option<&str> {
        self.slugs.get(slug).map(String::as_str)
    }

    /// The first line of a chat; `None` if nothing in it changes. Sticky and cooldown effects are kept under the book's name and
    /// found by a hash over it: `entry` finds the entries to work it out anew.
    pub fn in_header(&self, line: &[u8], entry: &FindEntry<'_>) -> Option<Vec<u8>> {
        let header = Raw::parse(line).ok()?;
        let metadata = header.get("chat_metadata")?;
        let mut splices = Splices { doc: line, list: Vec::new() };
        for path in CHATS.into_iter().chain(noted(|places| places.own_name)) {
            splices.rename(metadata.at(path), &|name| self.chat(name));
        }
        let noted = noted(|places| places.books).chain(noted(|places| places.more_books));
        let memory = adapter::ALL.iter().filter_map(|adapter| adapter.places().memory_book);
        for book in BOOKS.into_iter().chain(noted).chain(memory).flat_map(|path| values(metadata, path)) {
            splices.rename(Some(book), &|name| self.book(name));
        }
        for path in SLUGS {
            splices.rename(metadata.at(path), &|slug| self.slug(slug));
        }
        if let Some(timers) = metadata.get("timedWorldInfo") {
            for (old, new) in &self.books {
                splices.list.extend(timed::renamed(line, timers, old, new, &|uid| entry(old, uid)));
            }
        }
        splices.list.extend(self.restored(line, header, metadata));
        splices.apply()
    }

    /// The observation that a chat was brought back from has another number, or none.
    fn restored(&self, line: &[u8], header: Raw<'_>, metadata: Raw<'_>) -> Option<Splice> {
        let number = metadata.at(&["forklore", "restored", "observation"])?;
        let old = number.as_i64().and_then(|old| u64::try_from(old).ok());
        match old.and_then(|old| self.observations.get(&old)) {
            Some(new) => {
                let with = new.to_string().into_bytes();
                Some(Splice { range: number.range_in(line)?, with })
                    .filter(|splice| splice.with != number.bytes())
            }
            None => {
                let path = ["chat_metadata", "forklore", "restored"].map(PathPart::Key);
                Some(forklore_json::remove(header, &path)?.moved(header, line))
            }
        }
    }

    /// Any line of a chat with its links to images and files; `None` if none of them changes.
    pub fn in_links(&self, line: &[u8]) -> Option<Vec<u8>> {
        if self.media.is_empty() {
            return None;
        }
        media::relink(line, &|place| self.media.get(place).cloned())
    }

    /// Any other line of a chat; `None` if nothing in it changes.
    pub fn in_message(&self, line: &[u8]) -> Option<Vec<u8>> {
        let says = |word: &[u8]| memmem::find(line, word).is_some();
        let links = !self.chats.is_empty() && (says(b"bookmark_link") || says(b"branches"));
        let named = |path: Path| path.last().is_some_and(|key| says(key.as_bytes()));
        let scenes = !self.books.is_empty() && noted(|places| places.message_books).any(named);
        if !links && !scenes {
            return None;
        }
        let message = Raw::parse(line).ok()?;
        let mut splices = Splices { doc: line, list: Vec::new() };
        let [extra, swipes] = message.pick(["extra", "swipe_info"]);
        let swipes = swipes.unwrap_or(Raw::NULL).elements().filter_map(|swipe| swipe.get("extra"));
        for extra in extra.into_iter().chain(swipes) {
            let [bookmark, branches] = extra.pick(["bookmark_link", "branches"]);
            let branches = branches.unwrap_or(Raw::NULL).elements();
            for link in bookmark.into_iter().chain(branches) {
                splices.rename(Some(link), &|name| self.chat(name));
            }
            for book in noted(|places| places.message_books).flat_map(|path| values(extra, path)) {
                splices.rename(Some(book), &|name| self.book(name));
            }
        }
        splices.apply()
    }

    /// The file of a book whose old stem was `stem`; `None` if nothing in it changes.
    pub fn in_book(&self, bytes: &[u8], stem: &str) -> Option<Vec<u8>> {
        let book = Book::parse(bytes).ok()?;
        let mut splices = Splices { doc: bytes, list: Vec::new() };
        let new = self.books.get(stem);
        splices.rename(book.raw().get("name"), &|name| {
            new.filter(|_| book_stem(name) == stem).map(String::as_str)
        });
        if !self.chats.is_empty() {
            for entry in book.entries() {
                for path in noted(|places| places.entry_chats) {
                    splices.rename(entry.raw.at(path), &|name| self.chat(name));
                }
            }
        }
        splices.apply()
    }
}

struct Splices<'a> {
    doc: &'a [u8],
    list: Vec<Splice>,
}

impl Splices<'_> {
    /// Gives a text its new one, if it has one.
    fn rename<'n>(&mut self, value: Option<Raw<'_>>, new: &dyn Fn(&str) -> Option<&'n str>) {
        let Some(value) = value else { return };
        let with = value.as_text().and_then(|text| new(&text).map(quote));
        let range = value.range_in(self.doc);
        self.list.extend(with.zip(range).map(|(with, range)| Splice { range, with }));
    }

    fn apply(self) -> Option<Vec<u8>> {
        // A place that two paths lead to is changed once.
        let mut once: HashMap<usize, Splice> = HashMap::new();
        self.list.into_iter().for_each(|splice| drop(once.insert(splice.range.start, splice)));
        let list: Vec<Splice> = once.into_values().collect();
        (!list.is_empty()).then(|| apply_all(self.doc, &list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renames() -> Renames {
        let map = |old: &str, new: &str| BTreeMap::from([(old.to_owned(), new.to_owned())]);
        Renames {
            chats: map("main", "main (2)"),
            books: map("B", "B (2)"),
            slugs: map("s1", "s2"),
            media: BTreeMap::new(),
            observations: BTreeMap::from([(7, 70)]),
        }
    }

    #[test]
    fn a_header_names_what_was_renamed_and_keeps_the_rest() {
        let line = br#"{ "chat_metadata":{"integrity":"s1", "main_chat":"main","world_info":"B","n":1e400,"forklore":{"owner":{"file":"x","slug":"s1"},"parent":{"file":"main","slug":"s1"},"root":"main","book":{"name":"B"}},"auto_lorebooks":{"lorebookName":"B"}},"x":"main" }"#;
        let new = renames().in_header(line, &|_, _| None).unwrap();
        let text = String::from_utf8(new).unwrap();
        assert_eq!(
            text,
            r#"{ "chat_metadata":{"integrity":"s2", "main_chat":"main (2)","world_info":"B (2)","n":1e400,"forklore":{"owner":{"file":"x","slug":"s2"},"parent":{"file":"main (2)","slug":"s2"},"root":"main (2)","book":{"name":"B (2)"}},"auto_lorebooks":{"lorebookName":"B (2)"}},"x":"main" }"#
        );
        assert_eq!(renames().in_header(br#"{"chat_metadata":{"main_chat":"other"}}"#, &|_, _| None), None);
        assert_eq!(renames().in_header(b"not json", &|_, _| None), None);
    }

    #[test]
    fn what_was_brought_back_knows_from_where() {
        let line = |restored: &str| format!(r#"{{"chat_metadata":{{"forklore":{{"depth":1{restored}}}}}}}"#);
        let new = |old: &str| {
            renames().in_header(line(old).as_bytes(), &|_, _| None).map(|new| String::from_utf8(new).unwrap())
        };
        assert_eq!(new(r#","restored":{"observation":7}"#), Some(line(r#","restored":{"observation":70}"#)));
        assert_eq!(new(r#","restored":{"observation":8}"#), Some(line("")));
        assert_eq!(new(""), None);
    }

    #[test]
    fn messages_link_to_what_was_renamed() {
        let line = br#"{"mes":"main branches","extra":{"bookmark_link":"main","branches":["a","main"],"auto_recap_memory":{"scene_recap_metadata":{"0":{"chatLorebookName":"B"}}}}}"#;
        let text = String::from_utf8(renames().in_message(line).unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"mes":"main branches","extra":{"bookmark_link":"main (2)","branches":["a","main (2)"],"auto_recap_memory":{"scene_recap_metadata":{"0":{"chatLorebookName":"B (2)"}}}}}"#
        );
        assert_eq!(renames().in_message(br#"{"mes":"main","extra":{"branches":["a"]}}"#), None);
    }

    #[test]
    fn a_book_has_its_name_and_the_chats_of_its_memories() {
        let book =
            br#"{"name": "B", "entries":{"0":{"uid":0,"STMB_end":1,"STMB_chatId":"main","content":"main"}}}"#;
        let text = String::from_utf8(renames().in_book(book, "B").unwrap()).unwrap();
        assert_eq!(
            text,
            r#"{"name": "B (2)", "entries":{"0":{"uid":0,"STMB_end":1,"STMB_chatId":"main (2)","content":"main"}}}"#
        );
        assert_eq!(renames().in_book(br#"{"entries":{}}"#, "B"), None);
    }

    #[test]
    fn an_effect_that_was_found_is_found_under_the_new_name() {
        let entry = Raw::parse(br#"{"uid":3,"content":"wet"}"#).unwrap();
        let image = EntryImage::new(Some(3), "", entry);
        let (old, new) = (
            timed::entry_hash(entry, "B", timed::Form::Plain),
            timed::entry_hash(entry, "B (2)", timed::Form::Plain),
        );
        let line = format!(
            r#"{{"chat_metadata":{{"timedWorldInfo":{{"sticky":{{"B.3":{{"hash":{old},"start":1}},"B.4":{{"hash":7}},"C.3":{{"hash":{old}}}}}}}}}}}"#
        );
        let found = renames()
            .in_header(line.as_bytes(), &|book, uid| (book == "B" && uid == 3).then(|| image.clone()));
        assert_eq!(
            String::from_utf8(found.unwrap()).unwrap(),
            format!(
                r#"{{"chat_metadata":{{"timedWorldInfo":{{"sticky":{{"B (2).3":{{"hash":{new},"start":1}},"B (2).4":{{"hash":7}},"C.3":{{"hash":{old}}}}}}}}}}}"#
            )
        );
    }
}
