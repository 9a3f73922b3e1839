//! The one switch in SillyTavern's `config.yaml` that plugins need: [`turn_on`] changes its value in its place, [`turn_back`] gives back what
//! stood there.
//!
//! No YAML is read and written again: that would lose the comments. The key stands at the beginning of a line, as SillyTavern writes
//! it; where the file is written in another way, somebody is told to do it by hand.

use std::ops::Range;

use serde::{Deserialize, Serialize};

const KEY: &str = "enableServerPlugins";

/// What stood where the switch was turned on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Former {
    /// This value, as it was written; it may be empty.
    Value(String),
    /// Nothing: this was added.
    Absent(String),
}

/// Whether the switch is on.
pub(crate) fn is_on(text: &str) -> Result<bool, &'static str> {
    Ok(find(text)?.is_some_and(|(_, on)| on))
}

/// The text with the switch on, and what stood there; nothing if it is on already.
pub(crate) fn turn_on(text: &str) -> Result<Option<(String, Former)>, &'static str> {
    match find(text)? {
        Some((_, true)) => Ok(None),
        Some((value, false)) => {
            let former = text[value.clone()].to_owned();
            // Where nothing stood, the value needs a blank before it.
            let on = if former.is_empty() { " true" } else { "true" };
            Ok(Some((splice(text, value, on), Former::Value(former))))
        }
        None => {
            let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
            let added = format!("{gap}{KEY}: true{end}");
            Ok(Some((format!("{text}{added}"), Former::Absent(added))))
        }
    }
}

/// The text with the switch as it stood before; nothing if it is off already.
pub(crate) fn turn_back(text: &str, former: &Former) -> Result<Option<String>, &'static str> {
    let Some((value, _)) = find(text)?.filter(|(_, on)| *on) else { return Ok(None) };
    Ok(Some(match former {
        Former::Absent(added) => match text.rfind(added.as_str()) {
            Some(at) => splice(text, at..at + added.len(), ""),
            // Somebody has written the line anew since.
            None => splice(text, value, "false"),
        },
        Former::Value(former) if former.is_empty() => {
            let start = text[..value.start].trim_end_matches([' ', '\t']).len();
            splice(text, start..value.end, "")
        }
        Former::Value(former) => splice(text, value, former),
    }))
}

fn splice(text: &str, place: Range<usize>, value: &str) -> String {
    format!("{}{value}{}", &text[..place.start], &text[place.end..])
}

/// Where the value stands, and whether it is on.
fn find(text: &str) -> Result<Option<(Range<usize>, bool)>, &'static str> {
    let body = text.trim_start_matches('\u{feff}').trim_start();
    if body.starts_with(['{', '[']) {
        return Err("it is written in JSON style; set enableServerPlugins to true in it by hand");
    }
    let mut found = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        // The mark that some editors put at the beginning is not part of the first line's key.
        let skip = if at == 0 && line.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let Some(value) = value_of(&line[skip..]) else { continue };
        if found.is_some() {
            return Err("enableServerPlugins stands in it twice; leave one of the lines");
        }
        found = Some((at + skip + value.start)..(at + skip + value.end));
    }
    let Some(place) = found else { return Ok(None) };
    let word = text[place.clone()].trim_matches(['"', '\'']).to_lowercase();
    match word.as_str() {
        "true" | "yes" | "on" => Ok(Some((place, true))),
        "false" | "no" | "off" | "" | "~" | "null" => Ok(Some((place, false))),
        _ => Err("enableServerPlugins is neither true nor false in it; set it to true by hand"),
    }
}

/// Where the value of the switch stands in a line, if this is its line.
fn value_of(line: &str) -> Option<Range<usize>> {
    let keys = [KEY.to_owned(), format!("\"{KEY}\""), format!("'{KEY}'")];
    let key = keys.iter().find(|key| line.starts_with(key.as_str()))?;
    let rest = &line[key.len()..];
    let colon = rest.find(':').filter(|n| rest[..*n].trim().is_empty())?;
    let behind = &rest[colon + 1..];
    // "key:value" without a blank is no key at all, unless nothing follows.
    if !behind.is_empty() && !behind.starts_with([' ', '\t', '\r', '\n']) {
        return None;
    }
    let begin = line.len() - behind.len();
    let value = behind.trim_start_matches([' ', '\t']);
    let lead = behind.len() - value.len();
    let len = value.find([' ', '\t', '\r', '\n', '#']).unwrap_or(value.len());
    Some(if len == 0 { begin..begin } else { begin + lead..begin + lead + len })
}
