//! [`FieldChange`]: one field that two objects do not agree on; [`ListDiff`]: two lists of words as sets; [`paths`]: values that
//! differ anywhere below.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use forklore_json::{Kind, Raw};
use schemars::JsonSchema;
use serde::Serialize;

use super::pairs::Effort;
use super::text::TextDiff;
use crate::format::fields::means_the_same;
use crate::state;

/// One field that differs.
#[derive(Debug, Clone)]
pub struct FieldChange<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its key as it stands.
    pub key: Raw<'a>,
    /// Its value before; `None` if there was none.
    pub before: Option<Raw<'a>>,
    /// Its value after; `None` if there is none.
    pub after: Option<Raw<'a>>,
    /// Why the change probably means nothing, if it does not.
    pub quiet: Option<Quiet>,
}

/// Why a change of a field probably means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quiet {
    /// On one side nothing of that time shows the field: it was taken from elsewhere.
    Inferred,
    /// SillyTavern takes both for the same: it is not set on one side, and on the other what counts as not set.
    Default,
}

impl FieldChange<'_> {
    /// The change of a text.
    pub fn text(&self, effort: &mut Effort) -> Option<TextDiff> {
        let text = |value: Option<Raw<'_>>| value?.as_text().map(Cow::into_owned);
        Some(TextDiff::of(&text(self.before)?, &text(self.after)?, effort))
    }

    /// The change of a list of words.
    pub fn list(&self) -> Option<ListDiff> {
        ListDiff::of(self.before?, self.after?)
    }
}

/// The fields of two entries that differ; well-known ones first, in SillyTavern's order.
pub(super) fn fields<'a>(a: Raw<'a>, b: Raw<'a>, is_inferred: &dyn Fn(&str) -> bool) -> Vec<FieldChange<'a>> {
    let mut changes: Vec<FieldChange<'a>> = members(a, b)
        .into_iter()
        .map(|(key, before, after)| {
            let name = key.as_text().unwrap_or_default();
            let default = state::default_of(&name).map(|default| Raw::trust(default.as_bytes()));
            let unset = match (before, after) {
                (Some(before), Some(after)) => means_the_same(key, before, after),
                (value, None) | (None, value) => {
                    value.zip(default).is_some_and(|(value, default)| means_the_same(key, value, default))
                }
            };
            let quiet = match &*name {
                // A text that was put together is still the text of the entry.
                "content" => None,
                name if is_inferred(name) => Some(Quiet::Inferred),
                _ if unset => Some(Quiet::Default),
                _ => None,
            };
            FieldChange { name, key, before, after, quiet }
        })
        .collect();
    let rank = |change: &FieldChange<'_>| match &*change.name {
        "uid" => 0,
        "comment" => 1,
        name => state::place_of(name).map_or(usize::MAX, |place| 2 + place),
    };
    changes.sort_by(|x, y| (rank(x), &x.name, x.key.bytes()).cmp(&(rank(y), &y.name, y.key.bytes())));
    changes
}

/// A key, its value before and its value after.
type Member<'a> = (Raw<'a>, Option<Raw<'a>>, Option<Raw<'a>>);

/// The members of two objects that do not say the same. Of a key that stands twice, the last one counts.
pub(super) fn members<'a>(a: Raw<'a>, b: Raw<'a>) -> Vec<Member<'a>> {
    if a.bytes() == b.bytes() {
        return Vec::new();
    }
    let (ours, theirs): (Vec<_>, Vec<_>) = (a.members().collect(), b.members().collect());
    // Nearly always the same keys stand in the same order, each once; then nothing has to be looked up.
    let alike = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(x, y)| x.0 == y.0);
    if alike {
        let differing: Vec<usize> = (0..ours.len()).filter(|i| !same(ours[*i].1, theirs[*i].1)).collect();
        let escaped = |key: Raw<'_>| key.bytes().contains(&b'\\');
        let again = |key: Raw<'_>, later: Raw<'_>| {
            key == later || ((escaped(key) || escaped(later)) && key.says_the_same(later))
        };
        let last = |i: &usize| !ours[i + 1..].iter().any(|later| again(ours[*i].0, later.0));
        if differing.iter().all(last) {
            return { differing }
                .into_iter()
                .map(|i| (ours[i].0, Some(ours[i].1), Some(theirs[i].1)))
                .collect();
        }
    }
    let map = |members: &[(Raw<'a>, Raw<'a>)]| -> HashMap<Cow<'a, [u8]>, (Raw<'a>, Raw<'a>)> {
        members.iter().map(|(key, value)| (key.as_wtf8().unwrap_or_default(), (*key, *value))).collect()
    };
    let (old, new) = (map(&ours), map(&theirs));
    let mut changes: Vec<Member<'a>> = Vec::new();
    for (name, (key, before)) in &old {
        let after = new.get(name).map(|(_, after)| *after);
        if after.is_none_or(|after| !same(*before, after)) {
            changes.push((*key, Some(*before), after));
        }
    }
    let fresh = new.iter().filter(|(name, _)| !old.contains_key(*name));
    changes.extend(fresh.map(|(_, (key, after))| (*key, None, Some(*after))));
    changes.sort_by(|x, y| x.0.as_wtf8().cmp(&y.0.as_wtf8()));
    changes
}

/// How deep the order of members is overlooked. Nobody nests deeper; a file can.
const DEEP: usize = 32;

/// Whether two values say the same, whatever the order of members in objects.
pub(crate) fn same(a: Raw<'_>, b: Raw<'_>) -> bool {
    fn at(a: Raw<'_>, b: Raw<'_>, depth: usize) -> bool {
        if a.says_the_same(b) {
            return true;
        }
        if depth == 0 || a.kind() != b.kind() {
            return false;
        }
        match a.kind() {
            Kind::Object => {
                fn map(object: Raw<'_>) -> HashMap<Cow<'_, [u8]>, Raw<'_>> {
                    object.members().filter_map(|(key, value)| Some((key.as_wtf8()?, value))).collect()
                }
                let (a, b) = (map(a), map(b));
                let agrees =
                    |(key, x): (&Cow<'_, [u8]>, &Raw<'_>)| b.get(key).is_some_and(|y| at(*x, *y, depth - 1));
                a.len() == b.len() && a.iter().all(agrees)
            }
            Kind::Array => {
                let (mut a, mut b) = (a.elements(), b.elements());
                loop {
                    match (a.next(), b.next()) {
                        (None, None) => return true,
                        (Some(x), Some(y)) if at(x, y, depth - 1) => {}
                        _ => return false,
                    }
                }
            }
            _ => false,
        }
    }
    at(a, b, DEEP)
}

/// Two lists of words as sets: keys of an entry, mostly.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ListDiff {
    /// What only the second list has, in its order.
    pub added: Vec<String>,
    /// What only the first list has, in its order.
    pub removed: Vec<String>,
}

impl ListDiff {
    /// Compares two lists; `None` if one of them is no list of texts. Lists that only differ in order, or in how often
    /// something stands in them, are the same set.
    pub fn of(a: Raw<'_>, b: Raw<'_>) -> Option<Self> {
        let texts = |list: Raw<'_>| -> Option<Vec<String>> {
            let all = (list.kind() == Kind::Array).then(|| list.elements())?;
            all.map(|word| word.as_text().map(Cow::into_owned)).collect()
        };
        Some(Self::between(&texts(a)?, &texts(b)?))
    }

    /// Compares two lists of texts.
    pub fn between(a: &[String], b: &[String]) -> Self {
        let (ours, theirs): (HashSet<&String>, HashSet<&String>) = (a.iter().collect(), b.iter().collect());
        let only = |list: &[String], other: &HashSet<&String>| -> Vec<String> {
            let mut seen = HashSet::new();
            list.iter().filter(|word| !other.contains(word) && seen.insert(*word)).cloned().collect()
        };
        Self { added: only(b, &ours), removed: only(a, &theirs) }
    }
}

/// A value that differs, somewhere below.
#[derive(Debug, Clone)]
pub struct ValueChange<'a> {
    /// Keys that lead there.
    pub path: Vec<String>,
    /// The value before; `None` if there was none.
    pub before: Option<Raw<'a>>,
    /// The value after; `None` if there is none.
    pub after: Option<Raw<'a>>,
}

impl ValueChange<'_> {
    /// The change of a text.
    pub fn text(&self, effort: &mut Effort) -> Option<TextDiff> {
        let text = |value: Option<Raw<'_>>| value?.as_text().map(Cow::into_owned);
        Some(TextDiff::of(&text(self.before)?, &text(self.after)?, effort))
    }
}

/// The values that differ below two values, as far down as both are objects.
pub(super) fn paths<'a>(
    path: &[&str],
    before: Option<Raw<'a>>,
    after: Option<Raw<'a>>,
    changes: &mut Vec<ValueChange<'a>>,
) {
    let mut todo =
        vec![ValueChange { path: path.iter().map(|key| (*key).to_owned()).collect(), before, after }];
    while let Some(next) = todo.pop() {
        match (next.before, next.after) {
            (None, None) => {}
            (Some(a), Some(b)) if same(a, b) => {}
            (Some(a), Some(b))
                if a.kind() == Kind::Object && b.kind() == Kind::Object && next.path.len() < DEEP =>
            {
                todo.extend(members(a, b).into_iter().rev().map(|(key, before, after)| {
                    let key = key.as_text().unwrap_or_default().into_owned();
                    ValueChange { path: [&next.path[..], &[key]].concat(), before, after }
                }));
            }
            _ => changes.push(next),
        }
    }
}
