//! [`edit`]: another value in the settings' text.
//!
//! Edits are splices: `toml_edit` says where things are, and every byte that is not the value itself stays as somebody wrote
//! it. That goes further than printing the changed document again, which gives up line ends and the comments of what is removed.

use std::ops::Range;

use toml_edit::{Array, Document, Item, RawString, Table};

use super::Value;

/// The text with a setting put in, or taken out. A text in which the setting has no possible place comes back as it is; what is
/// wrong with it, reading it will tell.
pub(super) fn edit(document: &Document<&str>, key: &str, value: Option<&Value>) -> String {
    let text = document.raw();
    let (group, name) = key.split_once('.').unwrap_or((key, key));
    let edited = match (document.get(group), value) {
        (None, None) => None,
        (None, Some(value)) => Some(with_group(text, group, name, value)),
        (Some(item), value) => match (item, item.as_table_like().and_then(|table| table.get_key_value(name)))
        {
            (_, Some((_, old))) if value.is_some() => old.span().zip(value).map(|(span, value)| {
                let new = in_place(&text[span.clone()], value);
                splice(text, span, &new)
            }),
            (Item::Value(_), _) => item.span().and_then(|span| {
                let table = in_line(&text[span.clone()], name, value)?;
                Some(splice(text, span, &table))
            }),
            (Item::Table(_), Some((key, old))) => {
                key.span().zip(old.span()).map(|(key, old)| without_line(text, key.start, old.end))
            }
            (Item::Table(table), None) => value.map(|value| with_line(text, table, group, name, value)),
            _ => None,
        },
    };
    edited.unwrap_or_else(|| text.to_owned())
}

fn splice(text: &str, span: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..span.start], &text[span.end..])
}

/// The line ends that the text has.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A group of its own, behind everything.
fn with_group(text: &str, group: &str, name: &str, value: &Value) -> String {
    let end = line_end(text);
    let gap = match text {
        "" => "",
        _ if text.ends_with('\n') => end,
        _ => &end.repeat(2),
    };
    format!("{text}{gap}[{group}]{end}{name} = {value}{end}")
}

/// A line more in a group, below the last one.
fn with_line(text: &str, table: &Table, group: &str, name: &str, value: &Value) -> String {
    let ends = table.iter().filter_map(|(_, item)| item.as_value()?.span()).map(|span| span.end);
    let Some(last) = ends.max().or_else(|| table.span().map(|span| span.end)) else {
        return with_group(text, group, name, value);
    };
    let dotted = if table.is_dotted() { format!("{group}.") } else { String::new() };
    let line = format!("{dotted}{name} = {value}{}", line_end(text));
    match text[last..].find('\n') {
        Some(n) => splice(text, last + n + 1..last + n + 1, &line),
        None => format!("{text}{}{line}", line_end(text)),
    }
}

/// Without the line of a setting. A comment that stands behind it stays.
fn without_line(text: &str, key: usize, value_end: usize) -> String {
    let start = text[..key].rfind('\n').map_or(0, |n| n + 1);
    let rest = &text[value_end..];
    let line = &rest[..rest.find('\n').map_or(rest.len(), |n| n + 1)];
    let comment = line.trim_start();
    let end = value_end + line.len() - comment.len();
    splice(text, start..end, "")
}

/// A group that is written in one line, `{ … }`, with a setting put in or taken out.
fn in_line(old: &str, name: &str, value: Option<&Value>) -> Option<String> {
    let toml_edit::Value::InlineTable(mut table) = old.parse().ok()? else { return None };
    match value {
        Some(value) => table.insert(name, value.to_toml()),
        None => table.remove(name),
    };
    // The blanks were laid out for other neighbours. Where there are comments, they are better left alone.
    if !old.contains('\n') {
        table.fmt();
    }
    Some(table.to_string())
}

/// The new value in the old one's place: a list keeps its layout and its comments as far as its names stay.
fn in_place(old: &str, value: &Value) -> String {
    match (old.parse(), value) {
        (Ok(toml_edit::Value::Array(mut list)), Value::Names(names)) => {
            relist(&mut list, names);
            let same =
                list.iter().map(toml_edit::Value::as_str).eq(names.iter().map(|name| Some(name.as_str())));
            if same { list.to_string() } else { value.to_string() }
        }
        _ => value.to_string(),
    }
}

fn relist(list: &mut Array, names: &[String]) {
    let mut i = 0;
    while let Some(name) = list.get(i) {
        if name.as_str().is_some_and(|name| names.iter().any(|wanted| wanted == name)) {
            i += 1;
        } else {
            drop_name(list, i);
        }
    }
    for name in names {
        if !list.iter().any(|listed| listed.as_str() == Some(name)) {
            push_name(list, name);
        }
    }
}

fn drop_name(list: &mut Array, i: usize) {
    let gone = list.remove(i);
    let before = raw(gone.decor().prefix()).to_owned();
    let around = format!("{before}{}", raw(gone.decor().suffix()));
    let rest = raw(Some(list.trailing())).to_owned();
    match list.get_mut(i) {
        // A comment stays where it is, whatever it was about: it can be about the name before.
        Some(next) if around.contains('#') => {
            let kept = joined(&around, raw(next.decor().prefix()));
            next.decor_mut().set_prefix(kept);
        }
        Some(next) if i == 0 => next.decor_mut().set_prefix(before),
        None if around.contains('#') => list.set_trailing(joined(&around, &rest)),
        _ => {}
    }
}

/// Two stretches of comments and blanks as one, without an empty line where the name was.
fn joined(comments: &str, next: &str) -> String {
    let line_is_empty = next.split_once('\n').is_some_and(|(line, _)| line.trim().is_empty());
    let comments = if line_is_empty { comments.trim_end() } else { comments };
    format!("{comments}{next}")
}

fn push_name(list: &mut Array, name: &str) {
    let first = raw(list.get(0).and_then(|first| first.decor().prefix())).to_owned();
    let mut rest = raw(Some(list.trailing())).to_owned();
    let last = list.len().checked_sub(1).and_then(|last| list.get_mut(last));
    let is_first = last.is_none();
    if let Some(last) = last {
        // Without a comma behind it, what stands behind the last name counts as part of it.
        rest = format!("{}{rest}", raw(last.decor().suffix()));
        last.decor_mut().set_suffix("");
    }
    let prefix = match rest.rfind('\n') {
        // A name a line: what stands behind the last one stays there.
        Some(n) => {
            let indent = first.rsplit_once('\n').map_or("  ", |(_, indent)| indent);
            let prefix = format!("{}\n{indent}", &rest[..n]);
            rest = rest.split_off(n);
            prefix
        }
        None if is_first => String::new(),
        None => " ".to_owned(),
    };
    list.push_formatted(toml_edit::Value::from(name).decorated(prefix, ""));
    list.set_trailing(rest);
}

fn raw(text: Option<&RawString>) -> &str {
    text.and_then(RawString::as_str).unwrap_or("")
}
