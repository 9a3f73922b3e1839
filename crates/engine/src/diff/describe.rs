//! From a [`StateDiff`] to the [`DiffReport`] that others read.

use std::borrow::Cow;

use forklore_core::adapter::recap::{CombinedRecap, RecapVersion};
use forklore_core::adapter::registry::RegistryLine;
use forklore_core::adapter::{EntryRole, Operation};
use forklore_core::diff::{
    Effect, Effort, EntryChange, FieldChange, ListDiff, RegistryDiff, StateDiff, TextDiff, ValueChange,
};
use forklore_core::state::StateEntry;
use forklore_fs::PathError;
use forklore_json::{Kind, Raw, compact, quote};
use forklore_vault::Library;
use serde_json::value::RawValue;

use super::report::*;
use super::{Found, show};
use crate::show::{ShowCombined, ShowOperation};

pub(super) fn report(
    library: &Library,
    a: &Found,
    b: &Found,
    chosen: Chosen,
    transcript: DiffTranscript,
    diff: &StateDiff<'_>,
    effort: &mut Effort,
) -> Result<DiffReport, PathError> {
    let same = diff.is_empty() && transcript.relation == "same";
    let is_registry = |entry: &StateEntry| show::role_of(entry) == Some(EntryRole::Registry);
    let entries = &diff.entries;
    let mut registries = Vec::new();
    for entry in entries.added.iter().copied().filter(|e| is_registry(e)) {
        registries.push(registry(None, Some(entry), &[], effort));
    }
    for entry in entries.removed.iter().copied().filter(|e| is_registry(e)) {
        registries.push(registry(Some(entry), None, &[], effort));
    }
    for change in entries.changed.iter().filter(|c| is_registry(c.b)) {
        registries.push(registry(Some(change.a), Some(change.b), &change.fields, effort));
    }
    let whole = |list: &[&StateEntry]| list.iter().copied().filter(|e| !is_registry(e)).map(entry).collect();
    let book = DiffBook {
        same: entries.same.iter().filter(|e| !is_registry(e)).count(),
        added: whole(&entries.added),
        removed: whole(&entries.removed),
        changed: { entries.changed.iter() }
            .filter(|c| !is_registry(c.b))
            .map(|change| changed(change, effort))
            .collect(),
    };
    Ok(DiffReport {
        version: VERSION,
        a: side(library, a)?,
        b: side(library, b)?,
        chosen,
        same,
        transcript,
        book,
        registries,
        running_recap: running(diff, effort),
        combined_recap: diff.combined.as_ref().map(|(before, after)| combined(before, after, effort)),
        variables: values(&diff.variables, effort),
        note: values(&diff.note, effort),
        metadata: values(&diff.metadata, effort),
        timed_effects: DiffTimed {
            added: diff.timed.added.iter().map(|e| effect(e, b)).collect(),
            removed: diff.timed.removed.iter().map(|e| effect(e, a)).collect(),
            changed: { diff.timed.changed.iter() }
                .map(|(x, y)| DiffEffectChange { before: effect(x, a), after: effect(y, b) })
                .collect(),
        },
        queue: DiffQueue {
            added: diff.queue.added.iter().map(operation).collect(),
            removed: diff.queue.removed.iter().map(operation).collect(),
            changed: { diff.queue.changed.iter() }
                .map(|(x, y)| DiffOperationChange { before: operation(x), after: operation(y) })
                .collect(),
        },
    })
}

fn side(library: &Library, found: &Found) -> Result<DiffSide, PathError> {
    let scene = show::show_scene(library, found.chat, found.at)?;
    Ok(DiffSide {
        chat: library.address(found.chat).to_string(),
        at: found.at,
        messages: library.chat(found.chat).transcript().len(),
        moment: found.moment.to_string(),
        scene: scene.map(|scene| DiffScene { message: scene.message, name: scene.name }),
        book: DiffSideBook {
            name: found.book.clone(),
            source: found.source.into(),
            entries: found.entries.len(),
        },
        inherited: found.inherited.clone(),
        notes: found.notes.clone(),
        warnings: found.warnings.clone(),
    })
}

fn entry(entry: &StateEntry) -> DiffEntry {
    let raw = entry.image.raw();
    let keys = raw.get("key").unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text);
    const TOLD: [&str; 5] = ["uid", "comment", "content", "key", "disable"];
    let others = raw.members().filter(|(key, _)| !TOLD.iter().any(|told| key.is_text(told)));
    let others = others.map(|(key, value)| [&printable(key)[..], b":", &printable(value)].concat());
    let others: Vec<Vec<u8>> = others.collect();
    let others = [b"{".as_slice(), &others.join(&b','), b"}"].concat();
    DiffEntry {
        uid: entry.image.uid,
        comment: entry.image.comment.to_string(),
        role: show::role_of(entry).unwrap_or_default(),
        content: entry.image.content().into_owned(),
        keys: keys.map(Cow::into_owned).collect(),
        disable: entry.image.is_disabled(),
        message: entry.message,
        undated: entry.undated,
        fields: boxed(others),
    }
}

fn changed(change: &EntryChange<'_>, effort: &mut Effort) -> DiffChange {
    DiffChange {
        uid: change.b.image.uid,
        comment: change.b.image.comment.to_string(),
        role: show::role_of(change.b).unwrap_or_default(),
        by: change.by,
        a: name(change.a),
        b: name(change.b),
        quiet: change.is_quiet(),
        fields: fields(&change.fields, effort),
    }
}

fn name(entry: &StateEntry) -> DiffName {
    DiffName {
        uid: entry.image.uid,
        comment: entry.image.comment.to_string(),
        message: entry.message,
        undated: entry.undated,
    }
}

fn fields(changes: &[FieldChange<'_>], effort: &mut Effort) -> Vec<DiffField> {
    let field = |change: &FieldChange<'_>| DiffField {
        field: change.name.to_string(),
        change: word(change.before.is_some(), change.after.is_some()),
        before: change.before.map(value),
        after: change.after.map(value),
        text: change.text(effort),
        list: change.list(),
        quiet: change.quiet,
    };
    changes.iter().map(field).collect()
}

/// What happened to something that was there before, or is there after.
fn word(before: bool, after: bool) -> &'static str {
    match (before, after) {
        (false, _) => "added",
        (_, false) => "removed",
        _ => "changed",
    }
}

fn registry(
    a: Option<&StateEntry>,
    b: Option<&StateEntry>,
    changes: &[FieldChange<'_>],
    effort: &mut Effort,
) -> DiffRegistry {
    let text = |entry: Option<&StateEntry>| entry.map(|e| e.image.content().into_owned()).unwrap_or_default();
    let rows = RegistryDiff::of(&text(a), &text(b));
    let change = word(a.is_some(), b.is_some());
    let image = b.or(a).map(|entry| &entry.image);
    let row_change = |(before, after): &(RegistryLine, RegistryLine)| DiffRowChange {
        before: row(before),
        after: row(after),
        aliases: ListDiff::between(&before.aliases, &after.aliases),
        synopsis: TextDiff::of(&before.synopsis, &after.synopsis, effort),
    };
    DiffRegistry {
        uid: image.and_then(|image| image.uid),
        comment: image.map(|image| image.comment.to_string()).unwrap_or_default(),
        change,
        added: rows.added.iter().map(row).collect(),
        removed: rows.removed.iter().map(row).collect(),
        changed: rows.changed.iter().map(row_change).collect(),
        other: change == "changed" && rows.other,
        fields: fields(changes, effort),
    }
}

fn row(line: &RegistryLine) -> DiffRow {
    DiffRow {
        uid: line.uid,
        name: line.name.clone(),
        aliases: line.aliases.clone(),
        synopsis: line.synopsis.clone(),
    }
}

fn running(diff: &StateDiff<'_>, effort: &mut Effort) -> DiffRunning {
    let version = |v: &RecapVersion| DiffVersion {
        version: v.version,
        new_scene_index: v.scene,
        content: v.content.clone(),
    };
    fn text(version: Option<&RecapVersion>) -> &str {
        version.and_then(|v| v.content.as_deref()).unwrap_or_default()
    }
    let running = &diff.running;
    DiffRunning {
        before: running.before.as_ref().map(|v| v.version),
        after: running.after.as_ref().map(|v| v.version),
        text: TextDiff::of(text(running.before.as_ref()), text(running.after.as_ref()), effort),
        same: running.same,
        added: running.added.iter().map(version).collect(),
        removed: running.removed.iter().map(version).collect(),
        changed: { running.changed.iter() }
            .map(|(before, after)| DiffVersionChange {
                text: TextDiff::of(text(Some(before)), text(Some(after)), effort),
                before: version(before),
                after: version(after),
            })
            .collect(),
    }
}

fn combined(
    before: &Option<CombinedRecap>,
    after: &Option<CombinedRecap>,
    effort: &mut Effort,
) -> DiffCombined {
    let shown = |recap: &Option<CombinedRecap>| {
        let recap = recap.as_ref()?;
        Some(ShowCombined { message_count: recap.message_count, content: recap.content.clone() })
    };
    let (before, after) = (shown(before), shown(after));
    fn text(recap: &Option<ShowCombined>) -> &str {
        recap.as_ref().map_or("", |recap| &recap.content)
    }
    DiffCombined { text: TextDiff::of(text(&before), text(&after), effort), before, after }
}

fn values(changes: &[ValueChange<'_>], effort: &mut Effort) -> Vec<DiffValue> {
    let one = |change: &ValueChange<'_>| DiffValue {
        path: change.path.clone(),
        change: word(change.before.is_some(), change.after.is_some()),
        before: change.before.map(value),
        after: change.after.map(value),
        text: change.text(effort),
    };
    changes.iter().map(one).collect()
}

fn effect(effect: &Effect, side: &Found) -> DiffEffect {
    let own =
        effect.book.is_none().then(|| side.entries.iter().find(|e| e.image.uid == effect.uid)).flatten();
    DiffEffect { effect: effect.clone(), comment: own.map(|e| e.image.comment.to_string()) }
}

fn operation(op: &Operation) -> ShowOperation {
    ShowOperation { id: op.id.clone(), kind: op.kind.clone(), status: op.status.as_str().to_owned() }
}

/// A value for JSON readers.
fn value(raw: Raw<'_>) -> Box<RawValue> {
    boxed(printable(raw))
}

fn boxed(bytes: Vec<u8>) -> Box<RawValue> {
    let raw = String::from_utf8(bytes).ok().and_then(|text| RawValue::from_string(text).ok());
    // Printable values are JSON; nothing else comes here.
    raw.unwrap_or_else(|| RawValue::NULL.to_owned())
}

/// A value that every JSON reader can take: what is not UTF-8, and half an emoji, becomes U+FFFD.
fn printable(raw: Raw<'_>) -> Vec<u8> {
    if raw.kind() == Kind::String {
        return quote(&raw.as_text().unwrap_or_default());
    }
    let small = compact(raw);
    if !small.contains(&b'\\') && std::str::from_utf8(&small).is_ok() {
        return small;
    }
    let mut out = Vec::with_capacity(small.len());
    let mut rest = &small[..];
    while let Some(start) = rest.iter().position(|byte| *byte == b'"') {
        out.extend_from_slice(&rest[..start]);
        let mut escaped = false;
        let inside = rest[start + 1..].iter().position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        let end = inside.map_or(rest.len(), |length| start + length + 2);
        out.extend(quote(&Raw::trust(&rest[start..end]).as_text().unwrap_or_default()));
        rest = &rest[end..];
    }
    out.extend_from_slice(rest);
    out
}
