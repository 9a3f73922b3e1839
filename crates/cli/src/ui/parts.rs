//! Parts that several reports have: a headline, files, warnings, how to take something back.

use std::io;

use super::style::{BOLD, DIM, WARN, pad, tame, wrap};
use super::words::count;

/// Width of the words before files.
pub(super) const LABEL: usize = 14;

/// A headline.
pub(super) fn headline(text: &str) -> String {
    format!("{BOLD}{text}{BOLD:#}")
}

/// Files, one a line, behind a word that says what became of them.
pub(super) fn files(out: &mut impl io::Write, word: &str, paths: &[String]) -> io::Result<()> {
    for (n, path) in paths.iter().enumerate() {
        let word = pad(if n == 0 { word } else { "" }, LABEL);
        writeln!(out, "  {DIM}{word}{DIM:#}{}", tame(path))?;
    }
    Ok(())
}

/// How much history an archive has, if it has any.
pub(super) fn saves(out: &mut impl io::Write, observations: usize) -> io::Result<()> {
    let saves = (observations > 0).then(|| format!("{} of chats and lorebooks", count(observations, "save")));
    files(out, "history", saves.as_slice())
}

/// Something that the user should know.
pub(super) fn warning(out: &mut impl io::Write, text: &str) -> io::Result<()> {
    let text = wrap(&format!("{}.", text.trim_end_matches('.')), "    ");
    writeln!(out, "  {WARN}!{WARN:#} {}", text.trim_start())
}

/// What to do to take an operation back.
pub(super) fn take_back(out: &mut impl io::Write, operation: Option<&str>) -> io::Result<()> {
    operation.map_or(Ok(()), |id| writeln!(out, "  {DIM}Take it back with: forklore undo {id}{DIM:#}"))
}
