//! Texts: decoding what stands between the quotes, and [`quote`] to write one as JavaScript would.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Decodes the inside of a valid JSON string to WTF-8. Bytes that are not UTF-8 become U+FFFD first, as when Node reads the file.
pub(crate) fn decode_wtf8(inside: &[u8]) -> Cow<'_, [u8]> {
    let source = match simdutf8::basic::from_utf8(inside) {
        Ok(_) => Cow::Borrowed(inside),
        Err(_) => Cow::Owned(String::from_utf8_lossy(inside).into_owned().into_bytes()),
    };
    if memchr::memchr(b'\\', &source).is_none() {
        return source;
    }
    let mut out = Vec::with_capacity(source.len());
    unescape(&source, &mut out);
    Cow::Owned(out)
}

/// A valid JSON string, quotes included, as `JSON.stringify` would write it.
pub(crate) fn stringified(string: &[u8]) -> Cow<'_, [u8]> {
    /// The escapes that others write where `JSON.stringify` writes a character as it is. It writes `\u` itself, but seldom.
    static OTHER: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| ["\\u", "\\/"].map(Finder::new));
    let written = OTHER.iter().all(|escape| escape.find(string).is_none())
        && simdutf8::basic::from_utf8(string).is_ok();
    if written {
        Cow::Borrowed(string)
    } else {
        quote_wtf8(&decode_wtf8(&string[1..string.len() - 1])).into()
    }
}

/// Resolves the escapes of valid UTF-8.
fn unescape(source: &[u8], out: &mut Vec<u8>) {
    let mut rest = source;
    while let Some(n) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..n]);
        let (used, c) = escaped(&rest[n..]);
        rest = &rest[n + used..];
        push_code_point(out, c);
    }
    out.extend_from_slice(rest);
}

/// The text of a string that stands at a place of some bytes, quotes included; empty if none stands there. The bytes become the text, as
/// [`crate::Raw::as_text`] would tell it: one that is as large as the memory is not there twice.
pub fn into_text(mut bytes: Vec<u8>, string: Range<usize>) -> String {
    let is_string = bytes.get(string.clone()).is_some_and(|b| b.len() > 1 && b.starts_with(b"\""));
    if !is_string {
        return String::new();
    }
    bytes.truncate(string.end - 1);
    bytes.drain(..=string.start);
    if simdutf8::basic::from_utf8(&bytes).is_err() {
        return decode_lossy(&bytes).into_owned();
    }
    unescape_in_place(&mut bytes);
    into_utf8(bytes)
}

/// Resolves the escapes of valid UTF-8 where they stand: what they stand for is shorter.
fn unescape_in_place(bytes: &mut Vec<u8>) {
    let (mut from, mut to) = (0, 0);
    let mut plain = Vec::with_capacity(4);
    while let Some(n) = memchr::memchr(b'\\', &bytes[from..]) {
        bytes.copy_within(from..from + n, to);
        (from, to) = (from + n, to + n);
        let (used, c) = escaped(&bytes[from..]);
        from += used;
        plain.clear();
        push_code_point(&mut plain, c);
        bytes[to..to + plain.len()].copy_from_slice(&plain);
        to += plain.len();
    }
    bytes.copy_within(from.., to);
    bytes.truncate(to + bytes.len() - from);
}

/// One escape at the start of `b`, or two that are one character: how many bytes they take, and what they stand for.
fn escaped(b: &[u8]) -> (usize, u32) {
    let (used, unit) = escape(b);
    let rest = b.get(used..).unwrap_or_default();
    if (0xD800..0xDC00).contains(&unit)
        && rest.first() == Some(&b'\\')
        && let (more, low @ 0xDC00..0xE000) = escape(rest)
    {
        return (used + more, 0x10000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00));
    }
    (used, u32::from(unit))
}

/// One escape at the start of `b`: how many bytes it takes and the UTF-16 unit it stands for.
fn escape(b: &[u8]) -> (usize, u16) {
    let simple = match b.get(1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => {
            let unit = b.get(2..6).map_or(0, |hex| {
                hex.iter().fold(0u16, |n, c| n << 4 | (*c as char).to_digit(16).unwrap_or(0) as u16)
            });
            return (6, unit);
        }
        Some(other) => *other,
        None => return (1, 0xFFFD),
    };
    (2, u16::from(simple))
}

/// Appends a code point as (generalised) UTF-8; surrogates take three bytes.
fn push_code_point(out: &mut Vec<u8>, c: u32) {
    match char::from_u32(c) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend_from_slice(&[
            0xE0 | (c >> 12) as u8,
            0x80 | (c >> 6 & 0x3F) as u8,
            0x80 | (c & 0x3F) as u8,
        ]),
    }
}

pub(crate) fn decode_lossy(inside: &[u8]) -> Cow<'_, str> {
    match decode_wtf8(inside) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(into_utf8(bytes)),
    }
}

fn into_utf8(wtf8: Vec<u8>) -> String {
    // Only lone surrogates are left to replace: three bytes each, one U+FFFD each.
    String::from_utf8(wtf8).unwrap_or_else(|e| String::from_utf16_lossy(&wtf8_units(e.as_bytes())))
}

pub(crate) fn decode_utf16(inside: &[u8]) -> Vec<u16> {
    wtf8_units(&decode_wtf8(inside))
}

/// UTF-16 code units of WTF-8 bytes.
fn wtf8_units(bytes: &[u8]) -> Vec<u16> {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.extend(chunk.valid().encode_utf16());
        // utf8_chunks reports a surrogate's bytes one by one; its lead byte and the next two make up the unit.
        if let [0xED] = chunk.invalid() {
            let at = chunk.invalid().as_ptr() as usize - bytes.as_ptr() as usize;
            if let Some(&[_, b, c]) = bytes.get(at..at + 3) {
                out.push(0xD000 | u16::from(b & 0x3F) << 6 | u16::from(c & 0x3F));
            }
        }
    }
    out
}

/// Writes `text` as a JSON string the way `JSON.stringify` does.
pub fn quote(text: &str) -> Vec<u8> {
    quote_wtf8(text.as_bytes())
}

/// As [`quote`], for WTF-8 bytes; lone surrogates are written as `\udXXX`.
pub fn quote_wtf8(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    let mut i = 0;
    while let Some(&c) = text.get(i) {
        match c {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0..0x20 => out.extend_from_slice(format!("\\u{c:04x}").as_bytes()),
            0xED if text.get(i + 1).is_some_and(|b| *b >= 0xA0) && i + 2 < text.len() => {
                let unit = 0xD000 | u16::from(text[i + 1] & 0x3F) << 6 | u16::from(text[i + 2] & 0x3F);
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                i += 2;
            }
            _ => out.push(c),
        }
        i += 1;
    }
    out.push(b'"');
    out
}
