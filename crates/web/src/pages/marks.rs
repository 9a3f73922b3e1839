//! Texts of a story on a page: folded where they are long, marked where they differ.

use forklore_core::diff::{Hunk, Line, ListDiff, Op, TextDiff};
use maud::{Markup, html};

use crate::{prose, words};

/// So much of a text is on a page at all.
const MOST: usize = 20_000;

/// A text of a story. If it has more characters than `limit`, its beginning, to be unfolded.
pub(super) fn text(text: &str, limit: usize) -> Markup {
    part(text, limit, MOST)
}

/// The same, and at most `most` characters of it are on the page.
pub(super) fn part(text: &str, limit: usize, most: usize) -> Markup {
    let Some((short, _)) = text.char_indices().nth(limit) else {
        return html! { div.said dir="auto" { (text) } };
    };
    // Cut between words, unless there are none.
    let start = &text[..short];
    let start =
        start.rfind(char::is_whitespace).filter(|cut| cut * 2 > short).map_or(start, |cut| &start[..cut]);
    let (whole, more) = match text.char_indices().nth(most) {
        Some((cut, _)) => (&text[..cut], text[cut..].chars().count()),
        None => (text, 0),
    };
    html! {
        details.fold {
            summary {
                span.start dir="auto" { (start) " …" }
                " "
                span.unfold { "Read all of it" }
            }
            div.said dir="auto" { (whole) }
            @if more > 0 { p.quiet { "… and " (words::count(more, "more character")) ", which are too many for a page." } }
        }
    }
}

/// What somebody says, with its emphasis and quotes. If it has more characters than `limit`, its beginning, to be unfolded.
pub(super) fn speech(text: &str, limit: usize) -> Markup {
    if text.char_indices().nth(limit).is_none() {
        return html! { div.said dir="auto" { (prose::said(text)) } };
    }
    let whole: String = text.chars().take(MOST).collect();
    let more = text.chars().count().saturating_sub(MOST);
    let start: String = text.chars().take(limit).collect();
    let start = start
        .rfind(char::is_whitespace)
        .filter(|cut| cut * 2 > start.len())
        .map_or(&*start, |cut| &start[..cut]);
    html! {
        details.fold {
            summary { span.start dir="auto" { (prose::said(start)) " …" } " " span.unfold { "Read all of it" } }
            div.said dir="auto" { (prose::said(&whole)) }
            @if more > 0 { p.quiet { "… and " (words::count(more, "more character")) ", which are too many for a page." } }
        }
    }
}

/// Both sides of a text that differs, each with its own words marked.
pub(super) fn sides(diff: &TextDiff) -> Markup {
    html! {
        div.sides {
            div.side dir="auto" { span.unseen { "A: " } (hunks(diff, Op::Removed)) }
            div.side dir="auto" { span.unseen { "B: " } (hunks(diff, Op::Added)) }
        }
    }
}

/// The whole of a text with what differs from the one before it: what is gone stands before what took its place.
pub(super) fn within(diff: &TextDiff, text: &str) -> Markup {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut told = 0;
    let mut pieces: Vec<Markup> = Vec::new();
    let plain = |from: usize, to: usize| {
        let lines = lines.get(from..to.min(lines.len())).unwrap_or_default();
        html! { @for line in lines { span.line { (line) } } }
    };
    for hunk in &diff.hunks {
        pieces.push(plain(told, hunk.b));
        pieces.push(html! { @for line in &hunk.lines { (marked(line)) } });
        told = hunk.b + hunk.lines.iter().filter(|line| line.op != Op::Removed).count();
    }
    pieces.push(plain(told, lines.len()));
    html! { @for piece in pieces { (piece) } }
}

fn hunks(diff: &TextDiff, own: Op) -> Markup {
    html! {
        @for (i, hunk) in diff.hunks.iter().enumerate() {
            (skipped(i, hunk))
            @for line in hunk.lines.iter().filter(|line| line.op == Op::Same || line.op == own) { (marked(line)) }
        }
    }
}

/// That lines are left out before a place.
fn skipped(i: usize, hunk: &Hunk) -> Markup {
    html! { @if i > 0 || hunk.a > 0 { span.skipped { "⋯" } } }
}

fn marked(line: &Line) -> Markup {
    html! {
        span.line {
            @for part in &line.parts {
                @match (line.op, part.changed) {
                    (Op::Removed, true) => del { (part.text) },
                    (Op::Added, true) => ins { (part.text) },
                    _ => (part.text),
                }
            }
        }
    }
}

/// A list of words that differs.
pub(super) fn list(diff: &ListDiff) -> Markup {
    html! {
        div.sides {
            ul.side.words { @for word in &diff.removed { li { del { (word) } } } @if diff.removed.is_empty() { li.quiet { "nothing more" } } }
            ul.side.words { @for word in &diff.added { li { ins { (word) } } } @if diff.added.is_empty() { li.quiet { "nothing more" } } }
        }
    }
}

/// A title as extensions make it: "character-Nerys Post" is a character called Nerys Post.
pub(super) fn title(comment: &str) -> Markup {
    let split = comment.split_once('-').filter(|(kind, name)| {
        !kind.is_empty()
            && kind.len() < 16
            && kind.bytes().all(|b| b.is_ascii_lowercase())
            && !name.trim().is_empty()
    });
    html! {
        @match split {
            Some((kind, name)) => { span.kind { (kind) } " " bdi { (name) } },
            None if comment.trim().is_empty() => span.quiet { "without a title" },
            None => bdi { (comment) },
        }
    }
}
