//! Entries that differ, field by field.

use std::io;

use anstyle::Style;
use forklore_core::diff::{Identity, ListDiff};
use forklore_engine::diff::{DiffBook, DiffChange, DiffEntry, DiffField, DiffReport};

use super::short::{short_value, shortened};
use super::text::hunks;
use crate::ui::style::{BOLD, DIM, GONE, NEW, WARN, cut, pad, tame, width, wrap};

/// How many rows of a text that only one side has are shown unless all of it is asked for.
const EXCERPT_ROWS: usize = 4;
/// Width of the names of fields.
const LABEL: usize = 12;

pub(super) fn book(
    out: &mut impl io::Write,
    report: &DiffReport,
    full: bool,
    same: &mut Vec<&'static str>,
) -> io::Result<()> {
    let book = &report.book;
    let (a, b) = (&report.a.book.name, &report.b.book.name);
    if a.is_none() && b.is_none() {
        return Ok(());
    }
    if book.is_empty() {
        same.push("lorebook");
        return Ok(());
    }
    let name = |book: &Option<String>| book.as_deref().map_or("none".to_owned(), tame);
    writeln!(out, "\n{BOLD}Lorebook{BOLD:#}  {}", name(a))?;
    if a != b {
        writeln!(out, "       {DIM}→{DIM:#}  {}", name(b))?;
    }
    writeln!(out, "  {}", summary(book))?;
    for entry in &book.added {
        self::entry(out, entry, "+", NEW, full)?;
    }
    for entry in &book.removed {
        self::entry(out, entry, "-", GONE, full)?;
    }
    for change in book.changed.iter().filter(|change| full || !change.quiet) {
        self::change(out, change, full)?;
    }
    let quiet = book.changed.iter().filter(|change| change.quiet).count();
    if quiet > 0 && !full {
        let text = format!(
            "{} only in fields that nothing from that time shows, or that are merely set to SillyTavern's default: --full shows them",
            if quiet == 1 { "1 entry differs".to_owned() } else { format!("{quiet} entries differ") }
        );
        writeln!(out, "\n{DIM}{}{DIM:#}", wrap(&text, "  "))?;
    }
    Ok(())
}

fn summary(book: &DiffBook) -> String {
    let changed = book.changed.iter().filter(|change| !change.quiet).count();
    let mut parts = Vec::new();
    let kinds =
        [(book.added.len(), "added", NEW), (book.removed.len(), "removed", GONE), (changed, "changed", WARN)];
    for (n, word, style) in kinds {
        if n > 0 {
            parts.push(format!("{style}{n} {word}{style:#}"));
        }
    }
    let same = book.same + book.changed.len() - changed;
    parts.push(format!("{DIM}{same} the same{DIM:#}"));
    parts.join(", ")
}

/// Number and title, as `show` has them.
pub(super) fn title(uid: Option<i64>, comment: &str) -> String {
    let uid = uid.map_or_else(|| "    ".to_owned(), |uid| format!("{uid:>4}"));
    let comment = if comment.is_empty() { "(no title)" } else { comment };
    format!("{DIM}{uid}{DIM:#}  {BOLD}{}{BOLD:#}", cut(comment, width().saturating_sub(30)))
}

fn origin(message: Option<usize>, undated: bool) -> String {
    match (undated, message) {
        (true, _) => format!("  {WARN}undated{WARN:#}"),
        (false, Some(message)) => format!("  {DIM}from {message}{DIM:#}"),
        (false, None) => String::new(),
    }
}

fn entry(
    out: &mut impl io::Write,
    entry: &DiffEntry,
    sign: &str,
    style: Style,
    full: bool,
) -> io::Result<()> {
    let off = if entry.disable { format!("  {WARN}(off){WARN:#}") } else { String::new() };
    writeln!(
        out,
        "\n{style}{sign}{style:#}{}{off}{}",
        title(entry.uid, &entry.comment),
        origin(entry.message, entry.undated)
    )?;
    if full && !entry.keys.is_empty() {
        label(out, "keys", &tame(&entry.keys.join(", ")))?;
    }
    if entry.content.trim().is_empty() {
        return Ok(());
    }
    for row in excerpt(&entry.content, "       ", full) {
        writeln!(out, "{style}{row}{style:#}")?;
    }
    Ok(())
}

/// A text in rows, no more of them than there is room for.
fn excerpt(text: &str, indent: &str, full: bool) -> Vec<String> {
    if full {
        return wrap(text, indent).lines().map(str::to_owned).collect();
    }
    let short = shortened(text);
    let rows = wrap(short.trim(), indent);
    let rows: Vec<&str> = rows.lines().filter(|row| !row.trim().is_empty()).collect();
    let mut shown: Vec<String> = rows.iter().take(EXCERPT_ROWS).map(|row| (*row).to_owned()).collect();
    if rows.len() > EXCERPT_ROWS || short.len() < text.len() {
        shown.push(format!("{indent}…"));
    }
    shown
}

fn change(out: &mut impl io::Write, change: &DiffChange, full: bool) -> io::Result<()> {
    let how = match change.by {
        Identity::Both => String::new(),
        Identity::Title => {
            let uid = |uid: Option<i64>| uid.map_or("none".to_owned(), |uid| uid.to_string());
            format!("  {DIM}number {} → {}{DIM:#}", uid(change.a.uid), uid(change.b.uid))
        }
        Identity::Uid => format!("  {DIM}was \"{}\"{DIM:#}", cut(&change.a.comment, 40)),
    };
    let origin = origin(change.b.message.filter(|_| change.a.message != change.b.message), change.b.undated);
    writeln!(out, "\n{WARN}~{WARN:#}{}{how}{origin}", title(change.uid, &change.comment))?;
    let told = |field: &DiffField| {
        (change.by == Identity::Uid && field.field == "comment")
            || (change.by == Identity::Title && field.field == "uid")
    };
    fields(out, change.fields.iter().filter(|field| !told(field)), full)
}

pub(super) fn fields<'a>(
    out: &mut impl io::Write,
    all: impl Iterator<Item = &'a DiffField>,
    full: bool,
) -> io::Result<()> {
    let mut quiet = Vec::new();
    for field in all {
        if field.quiet.is_some() && !full {
            quiet.push(tame(&field.field));
            continue;
        }
        self::field(out, field, full)?;
    }
    if !quiet.is_empty() {
        let text = format!("not told or default: {}", quiet.join(", "));
        writeln!(out, "{DIM}{}{DIM:#}", wrap(&text, "       "))?;
    }
    Ok(())
}

fn field(out: &mut impl io::Write, field: &DiffField, full: bool) -> io::Result<()> {
    let name = if field.field == "key" { "keys" } else { &field.field };
    match (&field.list, &field.text) {
        (Some(list), _) => label(out, name, &list_line(list)),
        (None, Some(text)) if field.field == "content" => hunks(out, text, "       ", full),
        (None, Some(text)) => {
            label(out, name, "")?;
            hunks(out, text, "         ", full)
        }
        (None, None) => {
            let value = |value: &Option<Box<serde_json::value::RawValue>>| {
                value.as_ref().map_or("–".to_owned(), |value| short_value(value.get(), full))
            };
            let (before, after) = (value(&field.before), value(&field.after));
            label(out, name, &format!("{GONE}{before}{GONE:#} → {NEW}{after}{NEW:#}"))
        }
    }
}

fn label(out: &mut impl io::Write, name: &str, text: &str) -> io::Result<()> {
    let line = format!("       {DIM}{}{DIM:#} {text}", pad(&cut(name, 40), LABEL));
    writeln!(out, "{}", line.trim_end())
}

pub(super) fn list_line(list: &ListDiff) -> String {
    let words = |words: &[String], sign: &str, style: Style| {
        words.iter().map(|word| format!("{style}{sign}{}{style:#}", tame(word))).collect::<Vec<_>>()
    };
    let all = [words(&list.removed, "-", GONE), words(&list.added, "+", NEW)].concat();
    if all.is_empty() { "the same in another order".to_owned() } else { all.join("  ") }
}
