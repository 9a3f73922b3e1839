//! [`TextDiff`]: how one text becomes another, line by line, and word by word where lines correspond.
//!
//! A text is its lines, joined by newlines: `"a\n"` has two, the second one empty. So nothing is lost, and a newline at the end
//! is a line like any other.

use std::collections::HashMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation as _;

use super::pairs::{Effort, gaps, pairs};

/// How one text becomes another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct TextDiff {
    /// Where they differ, each place with some lines around it. Empty if the texts are the same.
    pub hunks: Vec<Hunk>,
}

/// One place where two texts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hunk {
    /// Number of its first line in the first text, from 0.
    pub a: usize,
    /// Number of its first line in the second text, from 0.
    pub b: usize,
    /// Its lines: what is taken out stands before what takes its place.
    pub lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// What happens to it.
    pub op: Op,
    /// The line, cut where changed words begin and end. Nothing for an empty line.
    pub parts: Vec<Part>,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// It stays.
    Same,
    /// Only the first text has it.
    Removed,
    /// Only the second text has it.
    Added,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Part {
    /// Its text.
    pub text: String,
    /// Whether the other text does not have it there.
    pub changed: bool,
}

/// How many lines around a change are shown.
const CONTEXT: usize = 2;

impl TextDiff {
    /// Compares two texts.
    pub fn of(a: &str, b: &str, effort: &mut Effort) -> Self {
        if a == b {
            return Self::default();
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (a.split('\n').collect(), b.split('\n').collect());
        let gaps = gaps(&pairs(&a, &b, effort), a.len(), b.len());
        let mut hunks: Vec<Hunk> = Vec::new();
        for (k, (ours, theirs)) in gaps.iter().enumerate() {
            let before = k.checked_sub(1).map_or(0, |k| gaps[k].0.end);
            let after = gaps.get(k + 1).map_or(a.len(), |next| next.0.start);
            // Close to the last one: all lines between them are there already.
            let joined = k > 0 && ours.start - before <= 2 * CONTEXT;
            let near = if joined { ours.start } else { ours.start.saturating_sub(CONTEXT).max(before) };
            if !joined {
                hunks.push(Hunk { a: near, b: theirs.start - (ours.start - near), lines: Vec::new() });
            }
            let Some(hunk) = hunks.last_mut() else { continue };
            hunk.lines.extend(a[near..ours.start].iter().map(|line| Line::whole(Op::Same, line)));
            let (removed, added) = words(&a[ours.clone()], &b[theirs.clone()], effort);
            hunk.lines.extend(removed.into_iter().map(|parts| Line { op: Op::Removed, parts }));
            hunk.lines.extend(added.into_iter().map(|parts| Line { op: Op::Added, parts }));
            let far = if k + 1 < gaps.len() && after - ours.end <= 2 * CONTEXT {
                after
            } else {
                after.min(ours.end + CONTEXT)
            };
            hunk.lines.extend(a[ours.end..far].iter().map(|line| Line::whole(Op::Same, line)));
        }
        Self { hunks }
    }

    /// Whether the texts are the same.
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }
}

impl Line {
    fn whole(op: Op, line: &str) -> Self {
        Self { op, parts: whole(line, op != Op::Same) }
    }

    /// The line as it stands.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

fn whole(line: &str, changed: bool) -> Vec<Part> {
    if line.is_empty() { Vec::new() } else { vec![Part { text: line.to_owned(), changed }] }
}

/// Lines in parts.
type Lines = Vec<Vec<Part>>;

/// Marks the words that differ between lines and those that take their place.
fn words(a: &[&str], b: &[&str], effort: &mut Effort) -> (Lines, Lines) {
    if a.is_empty() || b.is_empty() {
        let all = |lines: &[&str]| lines.iter().map(|line| whole(line, true)).collect();
        return (all(a), all(b));
    }
    let (ours, theirs) = (tokens(a), tokens(b));
    let mut kept = pairs(&ours, &theirs, effort);
    drop_crumbs(&mut kept, &ours, theirs.len());
    drop_strangers(&mut kept, &ours, &theirs);
    (marked(&ours, kept.iter().map(|pair| pair.0)), marked(&theirs, kept.iter().map(|pair| pair.1)))
}

/// The words of some lines and what stands between them; line ends are words, too.
fn tokens<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut tokens = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            tokens.push("\n");
        }
        tokens.extend(line.split_word_bounds());
    }
    tokens
}

/// Drops pairs that stand alone between changes and say little: a comma that happens to be in both makes nothing easier to read.
fn drop_crumbs(kept: &mut Vec<(usize, usize)>, ours: &[&str], theirs: usize) {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for k in 0..kept.len() {
        match runs.last_mut() {
            Some(run) if kept[k] == (kept[k - 1].0 + 1, kept[k - 1].1 + 1) => run.end = k + 1,
            _ => runs.push(k..k + 1),
        }
    }
    let mut stays = vec![true; kept.len()];
    for run in runs {
        let (first, last) = (kept[run.start], kept[run.end - 1]);
        let at_an_end = first == (0, 0) || last == (ours.len() - 1, theirs - 1);
        let said: usize = ours[first.0..=last.0].iter().map(|t| t.trim().chars().count()).sum();
        let line_end = ours[first.0..=last.0].contains(&"\n");
        stays[run].fill(at_an_end || line_end || said > 3);
    }
    let mut stays = stays.into_iter();
    kept.retain(|_| stays.next().unwrap_or(true));
}

/// Drops pairs between lines that have hardly a word in common: they are easier to read if all of them is marked.
fn drop_strangers(kept: &mut Vec<(usize, usize)>, ours: &[&str], theirs: &[&str]) {
    /// For each word its line; for each line how much it says.
    fn measured(tokens: &[&str]) -> (Vec<usize>, Vec<usize>) {
        let (mut places, mut weights) = (Vec::with_capacity(tokens.len()), vec![0]);
        for token in tokens {
            places.push(weights.len() - 1);
            if *token == "\n" {
                weights.push(0);
            } else if let Some(weight) = weights.last_mut() {
                *weight += token.trim().len();
            }
        }
        (places, weights)
    }
    let ((ours_at, ours_say), (theirs_at, theirs_say)) = (measured(ours), measured(theirs));
    let mut common: HashMap<(usize, usize), usize> = HashMap::new();
    for (i, j) in kept.iter() {
        *common.entry((ours_at[*i], theirs_at[*j])).or_default() += ours[*i].trim().len();
    }
    kept.retain(|(i, j)| {
        let (x, y) = (ours_at[*i], theirs_at[*j]);
        ours[*i] == "\n" || common.get(&(x, y)).is_some_and(|n| n * 3 >= ours_say[x].min(theirs_say[y]))
    });
}

/// Puts words together to lines again, those in `kept` (ascending) as unchanged.
fn marked(tokens: &[&str], kept: impl Iterator<Item = usize>) -> Lines {
    let mut kept = kept.peekable();
    let mut lines: Lines = vec![Vec::new()];
    for (i, token) in tokens.iter().enumerate() {
        let changed = kept.next_if_eq(&i).is_none();
        if *token == "\n" {
            lines.push(Vec::new());
            continue;
        }
        let Some(line) = lines.last_mut() else { continue };
        match line.last_mut() {
            Some(part) if part.changed == changed => part.text.push_str(token),
            _ => line.push(Part { text: (*token).to_owned(), changed }),
        }
    }
    lines
}
