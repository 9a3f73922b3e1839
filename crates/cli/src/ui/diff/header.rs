//! The two sides, and where their messages part.

use std::io;

use anstyle::Style;
use forklore_engine::diff::{Chosen, DiffMessage, DiffReport, DiffSide, DiffSpan, DiffTranscript};

use super::short::shortened;
use super::text::hunks;
use crate::ui::parts::headline;
use crate::ui::style::{BOLD, DIM, GONE, NEW, NOTE, WARN, cut, tame, width, wrap};

/// The sides, and a sentence about where they part.
pub(super) fn header(out: &mut impl io::Write, report: &DiffReport, full: bool) -> io::Result<()> {
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
    let text = format!("{chosen}{}", report.parting());
    writeln!(out, "\n{}", wrap(&tame(&text), ""))?;
    transcript(out, &report.transcript, full)
}

fn transcript(out: &mut impl io::Write, transcript: &DiffTranscript, full: bool) -> io::Result<()> {
    for edit in &transcript.edits {
        let span = |name: &str, span: Option<DiffSpan>| {
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
