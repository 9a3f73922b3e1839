//! Texts that differ: hunks with their changed words marked, long unchanged stretches folded.

use std::io;

use anstyle::Style;
use forklore_core::diff::{Hunk, Line, Op, Part, TextDiff};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::ui::style::{DIM, GONE, NEW, cut, tame, width};
use crate::ui::words::count;

/// How much of a text that differs is shown unless all of it is asked for.
struct Limits {
    hunks: usize,
    /// Lines one after the other that are all taken out, or all put in
    lines: usize,
    /// Characters of an unchanged stretch in a line
    same: usize,
    /// Characters of a changed stretch in a line
    changed: usize,
}

const SHORT: Limits = Limits { hunks: 12, lines: 16, same: 160, changed: 600 };
const FULL: Limits = Limits { hunks: usize::MAX, lines: usize::MAX, same: usize::MAX, changed: usize::MAX };

/// Prints the hunks of a text.
pub(super) fn hunks(out: &mut impl io::Write, diff: &TextDiff, indent: &str, full: bool) -> io::Result<()> {
    let limits = if full { &FULL } else { &SHORT };
    for (i, hunk) in diff.hunks.iter().take(limits.hunks).enumerate() {
        if i > 0 || hunk.a > 0 {
            writeln!(out, "{indent}{DIM}⋯{DIM:#}")?;
        }
        self::hunk(out, hunk, indent, limits)?;
    }
    match diff.hunks.len().saturating_sub(limits.hunks) {
        0 => Ok(()),
        n => writeln!(out, "{indent}{DIM}… and {} more; --full shows all{DIM:#}", places(n)),
    }
}

fn places(n: usize) -> String {
    count(n, "place")
}

fn hunk(out: &mut impl io::Write, hunk: &Hunk, indent: &str, limits: &Limits) -> io::Result<()> {
    let blocks: Vec<&[Line]> = hunk.lines.chunk_by(|x, y| x.op == y.op).collect();
    let changes = |block: Option<&&[Line]>| block.is_some_and(|block| block[0].op != Op::Same);
    for (i, block) in blocks.iter().enumerate() {
        // What went without anything in its place has, strictly speaking, left an empty line. That says nothing.
        let beside = changes(i.checked_sub(1).and_then(|i| blocks.get(i))) || changes(blocks.get(i + 1));
        if beside && matches!(block, [only] if only.op != Op::Same && only.parts.is_empty()) {
            continue;
        }
        for line in block.iter().take(limits.lines) {
            self::line(out, line, indent, limits)?;
        }
        if let n @ 1.. = block.len().saturating_sub(limits.lines) {
            writeln!(out, "{indent}  {DIM}… {}; --full shows all{DIM:#}", count(n, "more line"))?;
        }
    }
    Ok(())
}

fn line(out: &mut impl io::Write, line: &Line, indent: &str, limits: &Limits) -> io::Result<()> {
    let (sign, style) = match line.op {
        Op::Same => {
            let text = line.text();
            if limits.same == usize::MAX {
                return writeln!(
                    out,
                    "{}",
                    flow(&[(text, DIM)], &format!("{indent}  "), &format!("{indent}  "))
                );
            }
            let text = cut(&text, width().saturating_sub(indent.width() + 4));
            return writeln!(out, "{indent}  {DIM}{text}{DIM:#}");
        }
        Op::Removed => ("-", GONE),
        Op::Added => ("+", NEW),
    };
    let marked = line.parts.iter().any(|part| !part.changed);
    let last = line.parts.len().saturating_sub(1);
    let shown = |(i, part): (usize, &Part)| {
        let text = match part.changed {
            true => changed(&part.text, limits),
            false => folded(&part.text, i == 0, i == last, limits),
        };
        let style = match (part.changed, marked) {
            (true, true) => style.bold(),
            (true, false) => style,
            (false, _) => Style::new(),
        };
        (text, style)
    };
    let parts: Vec<(String, Style)> = line.parts.iter().enumerate().map(shown).collect();
    writeln!(out, "{}", flow(&parts, &format!("{indent}{style}{sign}{style:#} "), &format!("{indent}  ")))
}

/// A changed stretch. White space that comes or goes can be seen.
fn changed(text: &str, limits: &Limits) -> String {
    let text = text.replace('\r', "␍");
    let text = if text.trim().is_empty() { text.replace([' ', '\t'], "·") } else { text };
    match text.char_indices().nth(limits.changed) {
        Some((end, _)) => {
            format!("{}… ({} more characters; --full shows all)", &text[..end], text[end..].chars().count())
        }
        None => text,
    }
}

/// An unchanged stretch between changes: what is near a change stays.
fn folded(text: &str, first: bool, last: bool, limits: &Limits) -> String {
    let length = text.chars().count();
    if length <= limits.same {
        return text.to_owned();
    }
    let near = limits.same * 3 / 8;
    let head: String = if first { String::new() } else { text.chars().take(near).collect() };
    let tail: String = if last { String::new() } else { text.chars().skip(length - near).collect() };
    // Not in the middle of a word.
    let head = head.rsplit_once(' ').map_or(head.as_str(), |(head, _)| head);
    let tail = tail.split_once(' ').map_or(tail.as_str(), |(_, tail)| tail);
    match (first, last) {
        (true, true) => "…".to_owned(),
        (true, false) => format!("… {tail}"),
        (false, true) => format!("{head} …"),
        (false, false) => format!("{head} … {tail}"),
    }
}

/// Lays styled stretches of a line out over as many rows as they need, broken between words.
fn flow(parts: &[(String, Style)], first: &str, indent: &str) -> String {
    let room = width().saturating_sub(indent.width()).max(20);
    let mut row = Row { text: first.to_owned(), style: None, used: 0, room, indent };
    // A word can be of several stretches; blanks go with the word behind them.
    let (mut blanks, mut word): (Vec<Letter>, Vec<Letter>) = (Vec::new(), Vec::new());
    for (text, style) in parts {
        for c in tame(text).chars() {
            if c == ' ' && !word.is_empty() {
                row.put(&mut blanks, &mut word);
            }
            if c == ' ' { &mut blanks } else { &mut word }.push((c, *style));
        }
    }
    row.put(&mut blanks, &mut word);
    row.change(None);
    row.text
}

/// A character and how it looks.
type Letter = (char, Style);

struct Row<'a> {
    text: String,
    style: Option<Style>,
    used: usize,
    room: usize,
    indent: &'a str,
}

impl Row<'_> {
    fn change(&mut self, style: Option<Style>) {
        if self.style == style {
            return;
        }
        if let Some(old) = self.style {
            self.text.push_str(&format!("{old:#}"));
        }
        if let Some(new) = style {
            self.text.push_str(&format!("{new}"));
        }
        self.style = style;
    }

    /// Puts a word behind the blanks before it, or without them on the next row.
    fn put(&mut self, blanks: &mut Vec<Letter>, word: &mut Vec<Letter>) {
        let wide = |letters: &[Letter]| letters.iter().map(|(c, _)| c.width().unwrap_or(0)).sum::<usize>();
        if self.used > 0 && self.used + wide(blanks) + wide(word) > self.room {
            self.next();
            blanks.clear();
        }
        for (c, style) in blanks.drain(..).chain(word.drain(..)) {
            let wide = c.width().unwrap_or(0);
            // A word can be longer than any row.
            if self.used + wide > self.room {
                self.next();
            }
            self.change(Some(style));
            self.text.push(c);
            self.used += wide;
        }
    }

    fn next(&mut self) {
        self.change(None);
        self.text.push('\n');
        self.text.push_str(self.indent);
        self.used = 0;
    }
}
