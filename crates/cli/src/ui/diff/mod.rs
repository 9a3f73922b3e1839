//! What differs between two states, as a page to read.

mod text;

use std::io::{self, Write as _};

use anstyle::Style;
use forklore_core::diff::{Identity, ListDiff, TextDiff};
use forklore_engine::usecase::diff::{
    Chosen, DiffBook, DiffChange, DiffEffect, DiffEntry, DiffField, DiffMessage, DiffRegistry, DiffReport,
    DiffRow, DiffRunning, DiffSide, DiffTranscript, DiffValue, DiffVersion,
};

use self::text::hunks;
use super::style::{BOLD, DIM, GONE, NEW, NOTE, WARN, cut, pad, tame, width, wrap};
use super::{count, headline};

/// How many rows of a text that only one side has are shown unless all of it is asked for.
const EXCERPT_ROWS: usize = 4;
/// How many characters can be in those.
const EXCERPT: usize = 600;
/// Width of the names of fields.
const LABEL: usize = 12;

/// Prints the page. `full` shows whole texts, and what probably means nothing, too.
pub(crate) fn diff(report: &DiffReport, full: bool) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    header(&mut out, report, full)?;
    let mut same = Vec::new();
    book(&mut out, report, full, &mut same)?;
    registries(&mut out, &report.registries, full)?;
    running(&mut out, &report.running_recap, full, &mut same)?;
    combined(&mut out, report, full)?;
    let sections = [
        ("Variables", "variables", &report.variables),
        ("Author's note", "author's note", &report.note),
        ("Other metadata", "other metadata", &report.metadata),
    ];
    for (title, name, list) in sections {
        if list.is_empty() {
            same.push(name);
            continue;
        }
        writeln!(out, "\n{BOLD}{title}{BOLD:#}")?;
        list.iter().try_for_each(|change| value(&mut out, change, full))?;
    }
    timed(&mut out, report, &mut same)?;
    queue(&mut out, report, &mut same)?;
    if !same.is_empty() {
        let text = match report.is_state_same() {
            true => "Nothing else differs.".to_owned(),
            false => format!("The same: {}", same.join(", ")),
        };
        writeln!(out, "\n{DIM}{}{DIM:#}", wrap(&text, ""))?;
    }
    doubts(&mut out, report)
}

/// The sides, and a sentence about where they part.
fn header(out: &mut impl io::Write, report: &DiffReport, full: bool) -> io::Result<()> {
    let (a, b) = (&report.a, &report.b);
    let last = |side: &DiffSide| if side.at + 1 == side.messages { ", its last one" } else { "" };
    if a.chat == b.chat {
        writeln!(out, "{}", headline(&tame(&a.chat)))?;
        writeln!(
            out,
            "{DIM}A{DIM:#} message {BOLD}{}{BOLD:#}{}  {DIM}B{DIM:#} message {BOLD}{}{BOLD:#}{}",
            a.at,
            last(a),
            b.at,
            last(b)
        )?;
    } else {
        for (name, side) in [("A", a), ("B", b)] {
            let at = format!("message {}{}", side.at, last(side));
            writeln!(out, "{DIM}{name}{DIM:#} {}  {DIM}{at}{DIM:#}", headline(&tame(&side.chat)))?;
        }
    }
    let chosen = match report.chosen {
        Chosen::Asked => "",
        Chosen::Parent => "No second chat was named, so A is its parent. ",
        Chosen::Head => "No second message was named, so B is the last one. ",
    };
    let text = format!("{chosen}{}", parting(report));
    writeln!(out, "\n{}", wrap(&tame(&text), ""))?;
    transcript(out, &report.transcript, full)
}

/// Where they part, in a sentence.
fn parting(report: &DiffReport) -> String {
    let transcript = &report.transcript;
    let (after, one) = (transcript.after, report.a.chat == report.b.chat);
    let (more_a, more_b) = (count(after.a, "message"), count(after.b, "message"));
    let Some(common) = &transcript.common else {
        let swipe = if transcript.swipe { ": they begin with different swipes of one greeting" } else { "" };
        return format!("They have no message in common{swipe}.");
    };
    let place = if common.a == common.b {
        format!("message {}", common.a)
    } else {
        format!("message {} of A, which is {} of B", common.a, common.b)
    };
    let sure = match transcript.confidence {
        "certain" => "",
        "likely" => " That is likely, not certain.",
        _ => " That is a guess: few of the messages before it agree.",
    };
    let edits = match transcript.edits.len() {
        0 => String::new(),
        1 => format!(" Before it, something was edited or deleted since.{sure}"),
        n => format!(" Before it, {n} places were edited or deleted since.{sure}"),
    };
    match transcript.relation {
        "same" if one => "It is the same message.".to_owned(),
        "same" => format!("Both have the same messages, 0 to {}.", common.a),
        "edited" => format!("Both end with {place}.{edits}"),
        "ahead" if one => format!("B is {more_b} later."),
        "behind" if one => format!("B is {more_a} earlier."),
        "ahead" => format!("A ends with {place}; B goes on from there for {more_b}.{edits}"),
        "behind" => format!("B ends with {place}; A goes on from there for {more_a}.{edits}"),
        _ if transcript.swipe => format!(
            "They part after {place}: message {} is the same one with another swipe. A goes on for {more_a}, B for {}.",
            common.a + 1,
            after.b
        ),
        _ => format!("They part after {place}: A goes on for {more_a}, B for {}.{edits}", after.b),
    }
}

fn transcript(out: &mut impl io::Write, transcript: &DiffTranscript, full: bool) -> io::Result<()> {
    for edit in &transcript.edits {
        let span = |name: &str, span: Option<forklore_engine::usecase::diff::DiffSpan>| {
            span.map(|span| match span.to - span.from {
                0 => format!("message {} of {name}", span.from),
                _ => format!("messages {} to {} of {name}", span.from, span.to),
            })
        };
        let text = match (span("A", edit.a), span("B", edit.b)) {
            (Some(a), Some(b)) => format!("{a} and {b} differ"),
            (Some(one), None) | (None, Some(one)) => format!("only there: {one}"),
            (None, None) => continue,
        };
        writeln!(out, "  {WARN}~{WARN:#} {text}")?;
        if let Some(text) = &edit.text {
            hunks(out, text, "    ", full)?;
        }
    }
    let (a, b) = (&transcript.next.a, &transcript.next.b);
    let same = a.as_ref().zip(b.as_ref()).map_or(0, |(a, b)| same_start(&a.text, &b.text));
    for (name, next, style) in [("A", a, GONE), ("B", b, NEW)] {
        if let Some(next) = next {
            message(out, name, next, same, style, full)?;
        }
    }
    Ok(())
}

/// How many bytes two texts have in common at their start, less some words to recognise the place by. Nothing if it is little:
/// then both can be read from their start.
fn same_start(a: &str, b: &str) -> usize {
    let differs = |((i, x), y): ((usize, char), char)| (x != y).then_some(i);
    let same = a.char_indices().zip(b.chars()).find_map(differs).unwrap_or(a.len().min(b.len()));
    let words = a[..same].rmatch_indices(' ').map(|(i, _)| i + 1);
    { words }.nth(3).filter(|_| same > 40).unwrap_or(0)
}

fn message(
    out: &mut impl io::Write,
    name: &str,
    message: &DiffMessage,
    same: usize,
    style: Style,
    full: bool,
) -> io::Result<()> {
    let place = format!("{name} {}", message.message);
    let start = format!("  {style}{place}{style:#}  {NOTE}{}{NOTE:#}  ", tame(&message.speaker));
    if full {
        writeln!(out, "{start}")?;
        return writeln!(out, "{}", wrap(&message.text, "    "));
    }
    let more = if same > 0 { "… " } else { "" };
    let room = width().saturating_sub(place.len() + message.speaker.chars().count() + 8);
    let text = message.text.get(same..).unwrap_or(&message.text);
    writeln!(out, "{start}{more}{}", cut(&shortened(text), room.max(20)))
}

fn book(
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
fn title(uid: Option<i64>, comment: &str) -> String {
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

/// The beginning of a text: nobody waits for the layout of a megabyte of which four rows are shown.
fn shortened(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
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

fn fields<'a>(
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

/// A value on one line.
fn short_value(json: &str, full: bool) -> String {
    if full { tame(json) } else { cut(&shortened(json), 60) }
}

fn list_line(list: &ListDiff) -> String {
    let words = |words: &[String], sign: &str, style: Style| {
        words.iter().map(|word| format!("{style}{sign}{}{style:#}", tame(word))).collect::<Vec<_>>()
    };
    let all = [words(&list.removed, "-", GONE), words(&list.added, "+", NEW)].concat();
    if all.is_empty() { "the same in another order".to_owned() } else { all.join("  ") }
}

fn registries(out: &mut impl io::Write, registries: &[DiffRegistry], full: bool) -> io::Result<()> {
    let rows =
        |registry: &DiffRegistry| registry.added.len() + registry.removed.len() + registry.changed.len();
    let tells = |registry: &&DiffRegistry| {
        full || registry.change != "changed"
            || registry.other
            || rows(registry) > 0
            || registry.fields.iter().any(|field| field.field != "content" && field.quiet.is_none())
    };
    let telling: Vec<&DiffRegistry> = registries.iter().filter(tells).collect();
    if telling.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{BOLD}Registries{BOLD:#}  {DIM}lists that the memory extension keeps of its entries{DIM:#}"
    )?;
    for registry in telling {
        let (sign, style) = match registry.change {
            "added" => ("+", NEW),
            "removed" => ("-", GONE),
            _ => ("~", WARN),
        };
        let others = registry.fields.iter().filter(|field| field.field != "content");
        let kind = registry.comment.strip_prefix("_registry_").unwrap_or(&registry.comment);
        writeln!(out, "\n{style}{sign}{style:#}{}", title(registry.uid, kind))?;
        for row in &registry.added {
            self::row(out, row, "+", NEW)?;
        }
        for row in &registry.removed {
            self::row(out, row, "-", GONE)?;
        }
        for change in &registry.changed {
            let uid = change.after.uid.map_or_else(String::new, |uid| format!("{uid} "));
            let renamed = if change.before.name == change.after.name {
                String::new()
            } else {
                format!("  {DIM}was \"{}\"{DIM:#}", tame(&change.before.name))
            };
            let moved = match (change.before.uid, change.after.uid) {
                (a, b) if a == b => String::new(),
                (a, b) => {
                    let uid = |uid: Option<i64>| uid.map_or("none".to_owned(), |uid| uid.to_string());
                    format!("  {DIM}number {} → {}{DIM:#}", uid(a), uid(b))
                }
            };
            writeln!(
                out,
                "       {WARN}~{WARN:#} {DIM}{uid}{DIM:#}{}{renamed}{moved}",
                tame(&change.after.name)
            )?;
            if change.aliases != ListDiff::default() {
                writeln!(out, "         {DIM}aliases{DIM:#}  {}", list_line(&change.aliases))?;
            }
            hunks(out, &change.synopsis, "         ", full)?;
        }
        if registry.other {
            let content = registry.fields.iter().find(|field| field.field == "content");
            match content.and_then(|field| field.text.as_ref()) {
                Some(text) if rows(registry) == 0 => hunks(out, text, "       ", full)?,
                _ => writeln!(out, "       {DIM}other lines, or their order, differ, too{DIM:#}")?,
            }
        }
        fields(out, others, full)?;
    }
    Ok(())
}

fn row(out: &mut impl io::Write, row: &DiffRow, sign: &str, style: Style) -> io::Result<()> {
    let uid = row.uid.map_or_else(String::new, |uid| format!("{uid} "));
    let synopsis = cut(&row.synopsis, width().saturating_sub(20 + row.name.chars().count()).max(20));
    writeln!(
        out,
        "       {style}{sign}{style:#} {DIM}{uid}{DIM:#}{}  {DIM}{synopsis}{DIM:#}",
        cut(&row.name, 60)
    )
}

fn running(
    out: &mut impl io::Write,
    recap: &DiffRunning,
    full: bool,
    same: &mut Vec<&'static str>,
) -> io::Result<()> {
    if recap.is_empty() {
        same.push("running recap");
        return Ok(());
    }
    let version = |version: Option<i64>| version.map_or("none".to_owned(), |n| n.to_string());
    let in_use = match (recap.before, recap.after) {
        (a, b) if a == b => format!("version {} in use in both", version(a)),
        (a, b) => format!("version {} → {}", version(a), version(b)),
    };
    writeln!(out, "\n{BOLD}Running recap{BOLD:#}  {in_use}")?;
    let list = |versions: &[DiffVersion]| {
        let one = |v: &DiffVersion| format!("{} (scene at {})", v.version, v.new_scene_index);
        versions.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    if !recap.added.is_empty() {
        writeln!(out, "  {NEW}+{NEW:#} {DIM}versions{DIM:#} {}", list(&recap.added))?;
    }
    if !recap.removed.is_empty() {
        writeln!(out, "  {GONE}-{GONE:#} {DIM}versions{DIM:#} {}", list(&recap.removed))?;
    }
    for change in &recap.changed {
        writeln!(
            out,
            "  {WARN}~{WARN:#} {DIM}version{DIM:#} {} {DIM}is another one: scene at {} → {}{DIM:#}",
            change.after.version, change.before.new_scene_index, change.after.new_scene_index
        )?;
    }
    hunks(out, &recap.text, "  ", full)
}

fn combined(out: &mut impl io::Write, report: &DiffReport, full: bool) -> io::Result<()> {
    let Some(combined) = &report.combined_recap else { return Ok(()) };
    let of = |recap: &Option<forklore_engine::usecase::show::ShowCombined>| {
        recap.as_ref().map_or("none".to_owned(), |recap| {
            format!("of {}", count(usize::try_from(recap.message_count).unwrap_or(0), "message"))
        })
    };
    writeln!(out, "\n{BOLD}Combined recap{BOLD:#}  {} → {}", of(&combined.before), of(&combined.after))?;
    hunks(out, &combined.text, "  ", full)
}

fn value(out: &mut impl io::Write, change: &DiffValue, full: bool) -> io::Result<()> {
    let name = tame(&change.path.join("."));
    let long = |text: &TextDiff| text.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() > 2;
    match (&change.before, &change.after, &change.text) {
        (Some(_), Some(_), Some(text)) if full || long(text) => {
            writeln!(out, "  {WARN}~{WARN:#} {name}")?;
            hunks(out, text, "    ", full)
        }
        (Some(before), Some(after), _) => {
            let (before, after) = (short_value(before.get(), full), short_value(after.get(), full));
            writeln!(out, "  {WARN}~{WARN:#} {name}  {GONE}{before}{GONE:#} → {NEW}{after}{NEW:#}")
        }
        (None, Some(after), _) => {
            writeln!(out, "  {NEW}+{NEW:#} {name}  {NEW}{}{NEW:#}", short_value(after.get(), full))
        }
        (before, None, _) => {
            let before = before.as_ref().map_or(String::new(), |value| short_value(value.get(), full));
            writeln!(out, "  {GONE}-{GONE:#} {name}  {GONE}{before}{GONE:#}")
        }
    }
}

fn timed(out: &mut impl io::Write, report: &DiffReport, same: &mut Vec<&'static str>) -> io::Result<()> {
    let timed = &report.timed_effects;
    if timed.added.is_empty() && timed.removed.is_empty() && timed.changed.is_empty() {
        same.push("sticky effects");
        return Ok(());
    }
    writeln!(
        out,
        "\n{BOLD}Sticky and cooldown{BOLD:#}  {DIM}counted in messages that are not hidden{DIM:#}"
    )?;
    let what = |effect: &DiffEffect| {
        let uid = effect.effect.uid.map(|uid| uid.to_string()).unwrap_or_default();
        let name = match (&effect.comment, &effect.effect.book) {
            (Some(comment), _) => tame(comment),
            (None, Some(book)) => format!("{} in {}", uid, tame(book)),
            (None, None) => format!("entry {uid}"),
        };
        format!("{} {DIM}{}{DIM:#}", name, tame(&effect.effect.kind))
    };
    let span = |effect: &DiffEffect| {
        let number = |n: Option<i64>| n.map_or("?".to_owned(), |n| n.to_string());
        format!("{} to {}", number(effect.effect.start), number(effect.effect.end))
    };
    for effect in &timed.added {
        writeln!(out, "  {NEW}+{NEW:#} {}  {}", what(effect), span(effect))?;
    }
    for effect in &timed.removed {
        writeln!(out, "  {GONE}-{GONE:#} {}  {}", what(effect), span(effect))?;
    }
    for change in &timed.changed {
        let (before, after) = (span(&change.before), span(&change.after));
        writeln!(
            out,
            "  {WARN}~{WARN:#} {}  {GONE}{before}{GONE:#} → {NEW}{after}{NEW:#}",
            what(&change.after)
        )?;
    }
    Ok(())
}

fn queue(out: &mut impl io::Write, report: &DiffReport, same: &mut Vec<&'static str>) -> io::Result<()> {
    let queue = &report.queue;
    if queue.added.is_empty() && queue.removed.is_empty() && queue.changed.is_empty() {
        same.push("queue");
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Queue{BOLD:#}")?;
    for op in &queue.added {
        writeln!(out, "  {NEW}+{NEW:#} {}  {DIM}{}{DIM:#}", tame(&op.kind), tame(&op.status))?;
    }
    for op in &queue.removed {
        writeln!(out, "  {GONE}-{GONE:#} {}  {DIM}{}{DIM:#}", tame(&op.kind), tame(&op.status))?;
    }
    for change in &queue.changed {
        let (before, after) = (tame(&change.before.status), tame(&change.after.status));
        writeln!(
            out,
            "  {WARN}~{WARN:#} {}  {GONE}{before}{GONE:#} → {NEW}{after}{NEW:#}",
            tame(&change.after.kind)
        )?;
    }
    Ok(())
}

/// What is not as exact as it could be.
fn doubts(out: &mut impl io::Write, report: &DiffReport) -> io::Result<()> {
    let mut texts: Vec<String> = Vec::new();
    for (name, side) in [("A", &report.a), ("B", &report.b)] {
        texts.extend(side.warnings.iter().map(|warning| format!("{name}: {}", warning.message)));
    }
    let told = |name: &str, keys: &[String]| {
        let keys = keys.join(", ");
        format!("{name}: nothing tells how these were at that message, so they are as of now: {keys}")
    };
    let (a, b) = (&report.a.inherited, &report.b.inherited);
    if a == b && !a.is_empty() {
        texts.push(told("A and B", a));
    } else {
        texts.extend(
            [("A", a), ("B", b)].iter().filter(|(_, keys)| !keys.is_empty()).map(|(n, keys)| told(n, keys)),
        );
    }
    if !texts.is_empty() {
        writeln!(out)?;
    }
    texts.iter().try_for_each(|text| super::warning(out, &tame(text)))
}
