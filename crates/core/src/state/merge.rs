//! [`apply`], [`fn@write`]: one change onto an entry that is not in the state the change started from.
//!
//! Where another line wrote into the same book, our own next change started from a state that we must not have. Field by field,
//! what the change did is done to what we have; a text is merged line by line, because memory extensions keep one fact a line.

use crate::format::book::EntryImage;
use crate::format::fields::Fields;

/// `ours` after what happened between `before` and `after`.
pub fn apply(ours: &EntryImage, before: &EntryImage, after: &EntryImage) -> EntryImage {
    let result = settings(ours, before, after);
    let text = merge_lines(&before.content(), &ours.content(), &after.content());
    if text == result.content() { result } else { result.with_content(&text) }
}

/// `ours` after its text was written anew between `before` and `after`: what else stood in it already was not written with it.
pub(super) fn write(ours: &EntryImage, before: &EntryImage, after: &EntryImage) -> EntryImage {
    let result = settings(ours, before, after);
    if after.content() == result.content() { result } else { result.with_content(&after.content()) }
}

/// Everything but the text.
fn settings(ours: &EntryImage, before: &EntryImage, after: &EntryImage) -> EntryImage {
    if ours.agrees_with(before) {
        // Fields that the newer evidence does not show are still known from the older.
        return overlay(ours, after);
    }
    let (mut result, start) = (ours.clone(), before.raw());
    for (key, value) in after.raw().members() {
        let Some(name) = key.as_text() else { continue };
        if name == "content" || start.get(&name).is_some_and(|old| old.says_the_same(value)) {
            continue;
        }
        result = result.with_field(&name, value);
    }
    let uid = if after.uid == before.uid { result.uid } else { after.uid };
    let comment =
        if after.comment == before.comment { result.comment.clone() } else { after.comment.clone() };
    result.called(uid, comment)
}

/// `base` with every field that `top` shows.
pub fn overlay(base: &EntryImage, top: &EntryImage) -> EntryImage {
    if base == top {
        return base.clone();
    }
    let shown = Fields::of(top.raw());
    if base.raw().members().all(|(key, _)| shown.get(key).is_some()) {
        return top.clone();
    }
    let known = Fields::of(base.raw());
    let mut result = base.clone();
    for (key, value) in top.raw().members() {
        if known.get(key).is_none_or(|old| old.bytes() != value.bytes())
            && let Some(name) = key.as_text()
        {
            result = result.with_field(&name, value);
        }
    }
    result.called(top.uid, top.comment.clone())
}

/// The text that a change left behind, without the lines that were in it only because another line wrote them.
///
/// Lines of ours that the other line had taken out before our change are not put back: our own change saw the text without them
/// and left it so. A text that our change did not touch stays as we had it.
pub fn merge_lines(before: &str, ours: &str, after: &str) -> String {
    if after == before {
        return ours.to_owned();
    }
    let has = |text: &str, line: &str| text.lines().any(|l| l == line);
    let foreign = |line: &&str| has(before, line) && !has(ours, line);
    after.lines().filter(|line| !foreign(line)).collect::<Vec<_>>().join("\n")
}
