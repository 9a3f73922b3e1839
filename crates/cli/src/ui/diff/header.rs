//! The two sides, and where their messages part.

use std::io;

use anstyle::Style;
use forklore_engine::usecase::diff::{Chosen, DiffMessage, DiffReport, DiffSide, DiffSpan, DiffTranscript};

use super::shortened;
use super::text::hunks;
use crate::ui::style::{BOLD, DIM, GONE, NEW, NOTE, WARN, cut, tame, width, wrap};
use crate::ui::{count, headline};

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
