//! Colours, widths and wrapping.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const NEW: Style = AnsiColor::Green.on_default();
pub(super) const GONE: Style = AnsiColor::Red.on_default();
pub(super) const NOTE: Style = AnsiColor::Cyan.on_default();
pub(super) const BRANCH: Style = AnsiColor::Magenta.on_default();

/// Width of the terminal, within reason; a pipe gets a fixed one.
pub(super) fn width() -> usize {
    let found = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
    found.clamp(60, 120)
}

/// One line of strangers' text: control characters would let a chat's name play with the terminal.
pub(super) fn tame(text: &str) -> String {
    tame_lines(&text.replace(['\n', '\r', '\t'], " "))
}

/// As [`tame`], with line breaks kept.
fn tame_lines(text: &str) -> String {
    let tamed = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => '\u{fffd}',
        c => c,
    };
    text.chars().map(tamed).collect()
}

/// Cuts a text to a width on one line.
pub(super) fn cut(text: &str, most: usize) -> String {
    let line = tame(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.width() <= most {
        return line;
    }
    let mut short = String::new();
    for c in line.chars() {
        short.push(c);
        if short.width() >= most {
            short.pop();
            break;
        }
    }
    format!("{}…", short.trim_end())
}

/// Cuts a name in its middle: names that grow by forking differ at their ends.
pub(super) fn cut_middle(text: &str, most: usize) -> String {
    let name = tame(text);
    if name.width() <= most {
        return name;
    }
    let chars: Vec<char> = name.chars().collect();
    let tail = most / 2;
    let head = most.saturating_sub(tail + 1);
    let start: String = chars.iter().take(head).collect();
    let end: String = chars.iter().skip(chars.len().saturating_sub(tail)).collect();
    format!("{}…{}", start.trim_end(), end.trim_start())
}

/// Fills up with blanks to a width.
pub(super) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Wraps a text with an indent; its own line breaks stay.
pub(super) fn wrap(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(width()).initial_indent(indent).subsequent_indent(indent);
    let lines = tame_lines(text);
    lines.lines().map(|line| textwrap::fill(line, &options)).collect::<Vec<_>>().join("\n")
}
