//! [`Part`]s of a list or map with the white space around them, so that some can go, change and come without touching the
//! others; [`Style`] says how new ones are laid out.

use std::borrow::Cow;

use forklore_json::Raw;
use memchr::memchr2;

/// Deeper values are not indented any further: blanks that grow with the depth would make a book of hostile depth explode.
const DEEPEST: usize = 64;

/// One member or element of a container, or one that is to become it.
#[derive(Debug, Clone)]
pub(super) struct Part<'a> {
    /// White space before it.
    pub(super) lead: &'a [u8],
    /// Key in quotes; `None` in a list.
    pub(super) key: Option<Cow<'a, [u8]>>,
    /// The colon and the white space around it.
    pub(super) colon: &'a [u8],
    /// The value: borrowed as long as it is the live file's own.
    pub(super) value: Cow<'a, [u8]>,
    /// White space between it and the comma.
    pub(super) trail: &'a [u8],
}

/// Takes a container apart into its items, which must be all of it in file order.
pub(super) fn take_apart<'a>(
    container: Raw<'a>,
    items: impl Iterator<Item = (Option<Raw<'a>>, Raw<'a>)>,
) -> Vec<Part<'a>> {
    let bytes = container.bytes();
    let range = |raw: Raw<'a>| raw.range_in(bytes).unwrap_or(0..0);
    let mut parts: Vec<Part<'a>> = Vec::with_capacity(items.size_hint().0);
    let mut behind = 1;
    for (key, value) in items {
        let place = range(value);
        let key_place = key.map(range);
        let start = key_place.as_ref().map_or(place.start, |key| key.start);
        let between = &bytes[behind..start];
        // Only white space stands around the comma. There is none before the first.
        let comma = between.iter().position(|c| *c == b',');
        if let (Some(n), Some(last)) = (comma, parts.last_mut()) {
            last.trail = &between[..n];
        }
        parts.push(Part {
            lead: &between[comma.map_or(0, |n| n + 1)..],
            key: key.map(|key| Cow::Borrowed(key.bytes())),
            colon: key_place.map_or(&[][..], |key| &bytes[key.end..place.start]),
            value: Cow::Borrowed(value.bytes()),
            trail: &[],
        });
        behind = place.end;
    }
    parts
}

/// Members of an object as [`take_apart`] wants them.
pub(super) fn members(object: Raw<'_>) -> Vec<Part<'_>> {
    take_apart(object, object.members().map(|(key, value)| (Some(key), value)))
}

/// How a container is laid out: its own way, or, if it is empty, the document's.
#[derive(Debug, Clone)]
pub(super) struct Style<'a> {
    /// White space before the first item, which new ones get too.
    pub(super) gap: Cow<'a, [u8]>,
    /// Between key and value.
    pub(super) colon: &'a [u8],
    /// White space before the closing bracket.
    closing: Cow<'a, [u8]>,
}

impl<'a> Style<'a> {
    /// The style of a container that has parts.
    pub(super) fn of(container: Raw<'a>, parts: &[Part<'a>]) -> Option<Self> {
        let first = parts.first()?;
        let inside = &container.bytes()[1..container.bytes().len() - 1];
        let end = inside.iter().rposition(|c| !c.is_ascii_whitespace()).map_or(0, |n| n + 1);
        let closing = Cow::Borrowed(&inside[end..]);
        Some(Self { gap: Cow::Borrowed(first.lead), colon: first.colon, closing })
    }

    /// The style of a container one level into a document whose own style is known.
    pub(super) fn inside(document: &Self) -> Self {
        match Indent::of(&document.gap, &document.gap) {
            Some(indent) => Self {
                gap: Cow::Owned([&document.gap[..], indent.unit].concat()),
                colon: document.colon,
                closing: document.gap.clone(),
            },
            None => Self { gap: Cow::default(), colon: document.colon, closing: Cow::default() },
        }
    }

    /// The container made of these parts.
    pub(super) fn join<'p>(&self, container: Raw<'_>, parts: impl Iterator<Item = &'p Part<'p>>) -> Vec<u8> {
        let bytes = container.bytes();
        let mut out = Vec::with_capacity(bytes.len());
        out.push(bytes[0]);
        let mut trail: Option<&[u8]> = None;
        for part in parts {
            match trail {
                Some(trail) => {
                    out.extend_from_slice(trail);
                    out.push(b',');
                    out.extend_from_slice(part.lead);
                }
                // Whoever comes first now stands where the first one stood.
                None => out.extend_from_slice(&self.gap),
            }
            if let Some(key) = &part.key {
                out.extend_from_slice(key);
                out.extend_from_slice(part.colon);
            }
            out.extend_from_slice(&part.value);
            trail = Some(part.trail);
        }
        if trail.is_some() {
            out.extend_from_slice(&self.closing);
        }
        out.push(bytes[bytes.len() - 1]);
        out
    }
}

/// How the lines of a value are indented.
#[derive(Debug, Clone, Copy)]
pub(super) struct Indent<'a> {
    newline: &'static [u8],
    /// What the line of the value itself is indented with.
    base: &'a [u8],
    /// What one level more is.
    pub(super) unit: &'a [u8],
}

impl<'a> Indent<'a> {
    /// The indentation of an item with `lead` before it, in a document with `first` before its first key; `None` if it has
    /// no line of its own, which means that all is written without white space.
    pub(super) fn of(lead: &'a [u8], first: &'a [u8]) -> Option<Self> {
        let base = after_newline(lead)?;
        let windows = lead.windows(2).any(|pair| pair == b"\r\n");
        let unit = after_newline(first).unwrap_or(b"    ");
        Some(Self { newline: if windows { b"\r\n" } else { b"\n" }, base, unit })
    }

    fn new_line(&self, depth: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.newline);
        out.extend_from_slice(self.base);
        (0..depth.min(DEEPEST)).for_each(|_| out.extend_from_slice(self.unit));
    }
}

fn after_newline(gap: &[u8]) -> Option<&[u8]> {
    gap.iter().rposition(|c| *c == b'\n').map(|n| &gap[n + 1..])
}

/// A value in another layout: scalars, keys and their order are copied byte for byte.
pub(super) fn lay_out(value: &[u8], indent: Option<Indent<'_>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + value.len() / 4);
    let (mut i, mut depth, mut opened) = (0, 0usize, false);
    let new_line = |depth: usize, out: &mut Vec<u8>| {
        if let Some(indent) = indent {
            indent.new_line(depth, out);
        }
    };
    while let Some(&c) = value.get(i) {
        if c.is_ascii_whitespace() {
            i += 1;
            continue;
        }
        let closes = matches!(c, b'}' | b']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        // An empty list or object stays on its line.
        if opened != closes {
            new_line(depth, &mut out);
        }
        opened = matches!(c, b'{' | b'[');
        if opened {
            depth += 1;
        }
        let end = token_end(value, i);
        out.extend_from_slice(&value[i..end]);
        match c {
            b',' => new_line(depth, &mut out),
            b':' if indent.is_some() => out.push(b' '),
            _ => {}
        }
        i = end;
    }
    out
}

/// Offset behind the bracket, comma, colon or scalar that starts at `start`.
fn token_end(value: &[u8], start: usize) -> usize {
    let ends = |c: &u8| c.is_ascii_whitespace() || matches!(c, b'{' | b'}' | b'[' | b']' | b',' | b':');
    match value[start] {
        b'"' => string_end(value, start),
        c if ends(&c) => start + 1,
        _ => value[start..].iter().position(ends).map_or(value.len(), |n| start + n),
    }
}

/// Offset behind the text that starts at `start`.
fn string_end(value: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while let Some(n) = value.get(i..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        i += n;
        if value[i] == b'"' {
            return i + 1;
        }
        i += 2;
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [&str; 5] = [
        r#"{"a":[1,{"b":"x, {\"y\"}: z"}],"c":{},"d":[ ],"e":"\\"}"#,
        r#"[ ]"#,
        r#""{\\""#,
        r#"1e400"#,
        r#"[[],[[]],{"k" :null}]"#,
    ];

    #[test]
    fn four_blanks_are_what_javascript_writes() {
        for value in VALUES {
            let value = Raw::parse(value.as_bytes()).unwrap();
            let laid_out = lay_out(value.bytes(), Indent::of(b"\n        ", b"\n    "));
            assert_eq!(laid_out, forklore_json::pretty(value, 2), "{value:?}");
        }
    }

    #[test]
    fn without_lines_there_is_no_white_space() {
        for value in VALUES {
            let value = Raw::parse(value.as_bytes()).unwrap();
            let pretty = forklore_json::pretty(value, 0);
            assert_eq!(lay_out(&pretty, None), lay_out(value.bytes(), None));
        }
        assert_eq!(lay_out(b"{ \"a b\" : [ 1 ] }", None), b"{\"a b\":[1]}");
    }

    #[test]
    fn other_files_keep_their_own_indentation() {
        let windows = lay_out(b"{\"a\":[1]}", Indent::of(b"\r\n\t", b"\r\n\t"));
        assert_eq!(windows, b"{\r\n\t\t\"a\": [\r\n\t\t\t1\r\n\t\t]\r\n\t}");
    }

    #[test]
    fn hostile_depth_costs_no_more_than_its_length() {
        let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
        let laid_out = lay_out(deep.as_bytes(), Indent::of(b"\n", b"\n    "));
        assert!(laid_out.len() < 260 * deep.len() + 1000);
        assert_eq!(lay_out(&laid_out, None), deep.as_bytes());
    }
}
