//! [`merge_fields`]: one entry that both lines have, field by field.

use std::borrow::Cow;
use std::collections::HashSet;

use forklore_json::{Kind, PathPart, Raw, quote};

use super::Rules;
use super::text::{Preferred, TextMerge};
use crate::diff::{Effort, same};
use crate::format::book::EntryImage;
use crate::format::conflict::Conflict;
use crate::format::fields::means_the_same;
use crate::state::{StateEntry, default_of};
use forklore_json::list;

/// One entry brought together.
pub(super) struct Fields {
    pub(super) image: EntryImage,
    /// Fields that B changed, and that are as B has them or have something of it
    pub(super) taken: Vec<String>,
    /// Fields that B changed, and that nobody asks for
    pub(super) left: Vec<String>,
    pub(super) conflicts: Vec<Conflict>,
}

/// Fields that tell where an entry stands, and nothing of the story.
const PLACE: [&str; 2] = ["uid", "displayIndex"];

/// How deep fields are looked into.
const DEEP: usize = 8;

/// Brings an entry together that both lines have; `base` is what it was when they parted, if it was there.
pub(super) fn merge_fields(
    base: Option<&StateEntry>,
    a: &EntryImage,
    b: &EntryImage,
    rules: Rules,
    effort: &mut Effort,
) -> Fields {
    let mut fields = Fields { image: a.clone(), taken: Vec::new(), left: Vec::new(), conflicts: Vec::new() };
    if a.raw().kind() != Kind::Object || b.raw().kind() != Kind::Object {
        if !same(a.raw(), b.raw()) && base.is_none_or(|base| !same(base.image.raw(), b.raw())) {
            fields.left.push(String::new());
        }
        return fields;
    }
    for name in names(base.map(|base| &base.image), a, b) {
        if PLACE.contains(&&*name) {
            continue;
        }
        let key = quote(&name);
        let same = |x: Option<Raw<'_>>, y: Option<Raw<'_>>| says_the_same(Raw::trust(&key), &name, x, y);
        let (ours, theirs) = (a.raw().get(&name), b.raw().get(&name));
        // What was taken from elsewhere says nothing of that time. A text that was put together is still the entry's.
        let known = base.filter(|base| name == "content" || !base.inferred.contains(&name));
        let before = known.map(|base| base.image.raw().get(&name));
        if same(ours, theirs) || before.is_some_and(|before| same(before, theirs)) {
            continue;
        }
        if is_form(&name, ours, theirs, rules) {
            fields.left.extend(theirs.map(|_| name));
            continue;
        }
        let unchanged = match before {
            Some(before) => same(before, ours),
            // Nobody knows what it was: what one side does not have, the other has.
            None => ours.is_none(),
        };
        if before.is_none() && theirs.is_none() {
            continue;
        }
        if unchanged {
            fields.put(&[&name], theirs);
            fields.taken.push(name);
            continue;
        }
        let three = Three { base: before.flatten(), has_base: before.is_some(), a: ours, b: theirs };
        fields.both(vec![name.clone()], three, effort);
    }
    fields
}

/// A value on the three sides.
#[derive(Clone, Copy)]
struct Three<'a> {
    base: Option<Raw<'a>>,
    /// Whether that is known, also if it was nothing
    has_base: bool,
    a: Option<Raw<'a>>,
    b: Option<Raw<'a>>,
}

impl Fields {
    fn put(&mut self, path: &[&str], value: Option<Raw<'_>>) {
        let doc = self.image.raw();
        self.image = match (path, value) {
            ([name], Some(value)) => self.image.with_field(name, value),
            ([name], None) => self.image.without_field(name),
            (path, value) => {
                let steps: Vec<PathPart<'_>> = path.iter().map(|name| PathPart::key(name)).collect();
                let splice = match value {
                    Some(value) => forklore_json::set(doc, &steps, value.bytes()).ok(),
                    None => forklore_json::remove(doc, &steps),
                };
                let Some(splice) = splice else { return };
                let bytes = splice.apply(doc.bytes());
                EntryImage::new(self.image.uid, &self.image.comment, Raw::trust(&bytes))
            }
        };
    }

    fn take(&mut self, path: &[String]) {
        if let Some(name) = path.first().filter(|name| !self.taken.contains(name)) {
            self.taken.push(name.clone());
        }
    }

    /// A value that both changed, each in its own way.
    fn both(&mut self, path: Vec<String>, three: Three<'_>, effort: &mut Effort) {
        let Three { base, has_base, a, b } = three;
        let place: Vec<&str> = path.iter().map(String::as_str).collect();
        if let (Some(x), Some(y)) = (a, b) {
            if place == ["content"]
                && let (Some(x), Some(y)) = (x.as_text(), y.as_text())
            {
                let base = base.and_then(Raw::as_text).filter(|_| has_base);
                let merge = TextMerge::of(base.as_deref(), &x, &y, effort);
                let text = merge.text(Preferred::A);
                if text != x {
                    self.put(&place, Some(Raw::trust(&quote(&text))));
                    self.take(&path);
                }
                if merge.is_asked() {
                    self.ask(path, three);
                }
                return;
            }
            if let Some(words) = words(base, x, y) {
                if !same(Raw::trust(&words), x) {
                    self.put(&place, Some(Raw::trust(&words)));
                    self.take(&path);
                }
                return;
            }
            if x.kind() == Kind::Object && y.kind() == Kind::Object && path.len() < DEEP {
                self.objects(&path, three, effort);
                return;
            }
        }
        self.ask(path, three);
    }

    fn objects(&mut self, path: &[String], three: Three<'_>, effort: &mut Effort) {
        let Three { base, has_base, a, b } = three;
        let of = |side: Option<Raw<'_>>| -> Vec<String> {
            side.unwrap_or(Raw::NULL)
                .members()
                .filter_map(|(key, _)| Some(key.as_text()?.into_owned()))
                .collect()
        };
        let mut seen = HashSet::new();
        for name in of(a).into_iter().chain(of(b)).chain(of(base)).filter(|name| seen.insert(name.clone())) {
            let (before, ours, theirs) = (
                base.and_then(|base| base.get(&name)),
                a.and_then(|a| a.get(&name)),
                b.and_then(|b| b.get(&name)),
            );
            let equal = |x: Option<Raw<'_>>, y: Option<Raw<'_>>| match (x, y) {
                (Some(x), Some(y)) => same(x, y),
                (None, None) => true,
                _ => false,
            };
            if equal(ours, theirs) || (has_base && equal(before, theirs)) || (!has_base && theirs.is_none()) {
                continue;
            }
            let path = [path, std::slice::from_ref(&name)].concat();
            if (has_base && equal(before, ours)) || (!has_base && ours.is_none()) {
                let place: Vec<&str> = path.iter().map(String::as_str).collect();
                self.put(&place, theirs);
                self.take(&path);
            } else {
                self.both(path, Three { base: before, has_base, a: ours, b: theirs }, effort);
            }
        }
    }

    fn ask(&mut self, field: Vec<String>, three: Three<'_>) {
        let bytes = |side: Option<Raw<'_>>| side.map(|side| side.bytes().to_vec());
        let (base, a, b) = (bytes(three.base), bytes(three.a), bytes(three.b));
        self.conflicts.push(Conflict {
            uid: self.image.uid,
            title: self.image.comment.to_string(),
            field,
            base,
            a,
            b,
        });
    }
}

/// The names of all fields: A's in their order, then those that only others have.
fn names(base: Option<&EntryImage>, a: &EntryImage, b: &EntryImage) -> Vec<String> {
    let mut seen = HashSet::new();
    let all = [Some(a), Some(b), base].into_iter().flatten().flat_map(|image| image.raw().members());
    let names = all.filter_map(|(key, _)| key.as_text().map(Cow::into_owned));
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// Whether a field says the same on two sides; what is not there is what SillyTavern takes it for.
pub(super) fn says_the_same(key: Raw<'_>, name: &str, x: Option<Raw<'_>>, y: Option<Raw<'_>>) -> bool {
    match (x, y) {
        (None, None) => true,
        (Some(x), Some(y)) => same(x, y) || means_the_same(key, x, y),
        (Some(value), None) | (None, Some(value)) => {
            default_of(name).is_some_and(|default| means_the_same(key, value, Raw::trust(default.as_bytes())))
        }
    }
}

/// Whether a field says how an entry was written down and nothing of what it tells, in a book that an extension keeps: its place among the
/// others, and what SillyTavern does not know and only one of the two has.
fn is_form(name: &str, x: Option<Raw<'_>>, y: Option<Raw<'_>>, rules: Rules) -> bool {
    rules.kept && (name == "order" || (x.is_none() != y.is_none() && default_of(name).is_none()))
}

/// Whether two entries say the same, but for where they stand.
pub(super) fn says_all_the_same(x: &EntryImage, y: &EntryImage, rules: Rules) -> bool {
    if x.raw().kind() != Kind::Object || y.raw().kind() != Kind::Object {
        return same(x.raw(), y.raw());
    }
    names(None, x, y).iter().all(|name| {
        let (x, y) = (x.raw().get(name), y.raw().get(name));
        let key = quote(name);
        PLACE.contains(&name.as_str())
            || is_form(name, x, y, rules)
            || says_the_same(Raw::trust(&key), name, x, y)
    })
}

/// Lists of words as sets: A's, without what B took out, with what B put in. `None` if one is no list of words.
fn words(base: Option<Raw<'_>>, a: Raw<'_>, b: Raw<'_>) -> Option<Vec<u8>> {
    let words = |side: Raw<'_>| -> Option<Vec<Vec<u8>>> {
        let all = (side.kind() == Kind::Array).then(|| side.elements())?;
        all.map(|word| (word.kind() == Kind::String).then(|| word.bytes().to_vec())).collect()
    };
    let has =
        |list: &[Vec<u8>], word: &[u8]| list.iter().any(|other| same(Raw::trust(other), Raw::trust(word)));
    let (a, b) = (words(a)?, words(b)?);
    let base = match base {
        Some(base) => words(base)?,
        None => Vec::new(),
    };
    let stays = |word: &&Vec<u8>| has(&b, word) || !has(&base, word);
    let mut result: Vec<Vec<u8>> = a.iter().filter(stays).cloned().collect();
    for word in &b {
        if !has(&base, word) && !has(&result, word) {
            result.push(word.clone());
        }
    }
    Some(list(&result))
}
