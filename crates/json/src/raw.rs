//! [`Raw`]: one valid JSON value as a slice of the bytes it came from, with [`Members`] and [`Elements`] to walk inside it.

use std::borrow::Cow;
use std::ops::Range;

use crate::scan::{self, SyntaxError};
use crate::text;

/// One syntactically valid JSON value, without the white space around it.
///
/// Copying it copies a pointer. Two `Raw`s are equal when their bytes are; `1.0` and `1` differ, which is what a tool that
/// must not change what it did not write wants.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Raw<'a> {
    bytes: &'a [u8],
}

/// What kind of value a [`Raw`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number of any size and notation
    Number,
    /// A text in quotes
    String,
    /// A list
    Array,
    /// An object
    Object,
}

impl<'a> Raw<'a> {
    /// The value `null`.
    pub const NULL: Raw<'static> = Raw { bytes: b"null" };

    /// Checks that `bytes` are one JSON value, white space around it allowed.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SyntaxError> {
        Self::parse_members(bytes, |_, _| {})
    }

    /// As [`Raw::parse`], and tells of every member of the outermost object on the way. One pass instead of two, for those who
    /// look into millions of lines. If the value turns out to be broken, what was told does not count.
    pub fn parse_members(
        bytes: &'a [u8],
        mut member: impl FnMut(Raw<'a>, Raw<'a>),
    ) -> Result<Self, SyntaxError> {
        Self::parse_nested::<1>(bytes, |keys, value| {
            if let [Some(key)] = keys {
                member(*key, value);
            }
        })
    }

    /// As [`Raw::parse_members`], for the `N` outermost levels: tells of every value there when it ends, so what it holds comes
    /// before it, with the keys that lead to it; `None` stands for a list.
    pub fn parse_nested<const N: usize>(
        bytes: &'a [u8],
        mut tell: impl FnMut(&[Option<Raw<'a>>], Raw<'a>),
    ) -> Result<Self, SyntaxError> {
        let start = scan::skip_ws(bytes, 0);
        let mut path = [None; N];
        let end = scan::validate::<N>(bytes, start, &mut |keys, (start, end)| {
            for (key, (start, end)) in path.iter_mut().zip(keys) {
                *key = (start < end).then(|| Raw { bytes: &bytes[*start..*end] });
            }
            tell(&path[..keys.len()], Raw { bytes: &bytes[start..end] });
        })?;
        let rest = scan::skip_ws(bytes, end);
        if rest != bytes.len() {
            return Err(SyntaxError { what: "text after the end of the value", offset: rest });
        }
        Ok(Raw { bytes: &bytes[start..end] })
    }

    /// Bytes that came out of [`Raw::bytes`], perhaps stored in between, without checking them again.
    ///
    /// Bytes that are not one valid value give wrong answers or a panic, never memory errors.
    pub fn trust(bytes: &'a [u8]) -> Self {
        debug_assert!(Raw::parse(bytes).is_ok_and(|raw| raw.bytes.len() == bytes.len()));
        Raw { bytes }
    }

    /// The bytes as they stand in the file.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Where this value sits in `outer`, of which it must be a slice.
    ///
    /// `None` if it is not: then the two do not come from the same buffer.
    pub fn range_in(self, outer: &[u8]) -> Option<Range<usize>> {
        let start = (self.bytes.as_ptr() as usize).checked_sub(outer.as_ptr() as usize)?;
        let range = start..start + self.bytes.len();
        (range.end <= outer.len()).then_some(range)
    }

    /// The kind of value, told by its first byte.
    pub fn kind(self) -> Kind {
        match self.bytes[0] {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Whether JavaScript would count this value as true.
    pub fn is_truthy(self) -> bool {
        match self.kind() {
            Kind::Null => false,
            Kind::Bool => self.bytes == b"true",
            Kind::String => self.bytes.len() > 2,
            // Zero in any notation: no digit other than 0 before the exponent. (1e-400 is zero for JavaScript; nobody writes it.)
            Kind::Number => {
                self.bytes.iter().take_while(|c| !matches!(c, b'e' | b'E')).any(|c| matches!(c, b'1'..=b'9'))
            }
            Kind::Array | Kind::Object => true,
        }
    }

    /// `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.bytes == b"true")
    }

    /// A number that is a whole one in the range of `i64`, also when written `12.0`.
    pub fn as_i64(self) -> Option<i64> {
        if self.kind() != Kind::Number {
            return None;
        }
        let text = std::str::from_utf8(self.bytes).ok()?;
        if let Ok(whole) = text.parse() {
            return Some(whole);
        }
        let float: f64 = text.parse().ok()?;
        // Above 2^53 a fraction cannot be told from a whole number, so nothing is guessed there.
        (float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0).then_some(float as i64)
    }

    /// The text of a string; lone surrogates and bytes that are not UTF-8 become U+FFFD. For showing and comparing names.
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| text::decode_lossy(self.inside()))
    }

    /// The text of a string exactly, as WTF-8 (UTF-8 in which a lone surrogate is three bytes).
    pub fn as_wtf8(self) -> Option<Cow<'a, [u8]>> {
        (self.kind() == Kind::String).then(|| text::decode_wtf8(self.inside()))
    }

    /// A string as `JSON.stringify` writes it, quotes included: equal exactly where the texts are. What SillyTavern has written is that
    /// already, so that nothing has to be decoded. For hashing.
    pub fn as_stringified(self) -> Option<Cow<'a, [u8]>> {
        (self.kind() == Kind::String).then(|| text::stringified(self.bytes))
    }

    /// The text of a string as UTF-16 code units, which is what JavaScript's hash functions walk over.
    pub fn as_utf16(self) -> Option<Vec<u16>> {
        (self.kind() == Kind::String).then(|| text::decode_utf16(self.inside()))
    }

    /// The bytes between the quotes.
    fn inside(self) -> &'a [u8] {
        &self.bytes[1..self.bytes.len() - 1]
    }

    /// The members of an object in file order, duplicates included. Empty for every other kind.
    pub fn members(self) -> Members<'a> {
        let at = if self.kind() == Kind::Object { 1 } else { self.bytes.len() };
        Members { bytes: self.bytes, at }
    }

    /// The elements of an array. Empty for every other kind.
    pub fn elements(self) -> Elements<'a> {
        let at = if self.kind() == Kind::Array { 1 } else { self.bytes.len() };
        Elements { bytes: self.bytes, at }
    }

    /// The value of a key. Where a key stands twice, the last one, as in JavaScript.
    pub fn get(self, key: &str) -> Option<Raw<'a>> {
        self.members().filter(|(k, _)| k.is_text(key)).last().map(|(_, v)| v)
    }

    /// The values of several keys, found in one pass. Worth it where the object is large.
    pub fn pick<const N: usize>(self, keys: [&str; N]) -> [Option<Raw<'a>>; N] {
        let mut found = [None; N];
        for (key, value) in self.members() {
            if let Some(i) = keys.iter().position(|wanted| key.is_text(wanted)) {
                found[i] = Some(value);
            }
        }
        found
    }

    /// The value at a path of keys.
    pub fn at(self, path: &[&str]) -> Option<Raw<'a>> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Whether both say the same, whatever their white space, escapes and notation of whole numbers. Members must be in the
    /// same order.
    pub fn says_the_same(self, other: Raw<'_>) -> bool {
        if self.bytes == other.bytes {
            return true;
        }
        // Token by token, without recursion: values can be nested deeper than any stack.
        let (a, b) = (self.bytes, other.bytes);
        let (mut i, mut j) = (0, 0);
        loop {
            (i, j) = (scan::skip_ws(a, i), scan::skip_ws(b, j));
            let (Some(x), Some(y)) = (a.get(i), b.get(j)) else { return i == a.len() && j == b.len() };
            let structural = |c: &u8| matches!(c, b'{' | b'}' | b'[' | b']' | b',' | b':');
            if structural(x) || structural(y) {
                if x != y {
                    return false;
                }
                (i, j) = (i + 1, j + 1);
                continue;
            }
            let (end_a, end_b) = (scan::skip(a, i), scan::skip(b, j));
            let (one, two) = (Raw { bytes: &a[i..end_a] }, Raw { bytes: &b[j..end_b] });
            let same = one.bytes == two.bytes
                || (one.kind() == Kind::String
                    && two.kind() == Kind::String
                    && one.as_wtf8() == two.as_wtf8())
                || (one.as_i64().is_some() && one.as_i64() == two.as_i64());
            if !same {
                return false;
            }
            (i, j) = (end_a, end_b);
        }
    }

    /// Whether this is a string that reads `text`.
    pub fn is_text(self, text: &str) -> bool {
        if self.kind() != Kind::String {
            return false;
        }
        let (inside, text) = (self.inside(), text.as_bytes());
        // Most of the keys that are looked at begin otherwise.
        if let (Some(a), Some(b)) = (inside.first(), text.first())
            && a != b
            && *a != b'\\'
        {
            return false;
        }
        if memchr::memchr(b'\\', inside).is_none() {
            return inside == text;
        }
        self.as_wtf8().is_some_and(|t| *t == *text)
    }
}

impl std::fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", String::from_utf8_lossy(self.bytes))
    }
}

/// The members of an object: key (a string) and value.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Raw<'a>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (b, i) = (self.bytes, next_item(self.bytes, self.at)?);
        let key_end = scan::skip_string(b, i);
        let colon = scan::skip_ws(b, key_end);
        let start = scan::skip_ws(b, colon + 1);
        let end = scan::skip(b, start);
        self.at = end;
        Some((Raw { bytes: &b[i..key_end] }, Raw { bytes: &b[start..end] }))
    }
}

/// The elements of an array.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let start = next_item(self.bytes, self.at)?;
        let end = scan::skip(self.bytes, start);
        self.at = end;
        Some(Raw { bytes: &self.bytes[start..end] })
    }
}

/// Where the next item of a list starts, looking from behind the last one; `None` at the closing bracket.
fn next_item(b: &[u8], at: usize) -> Option<usize> {
    let mut i = scan::skip_ws(b, at);
    if b.get(i) == Some(&b',') {
        i = scan::skip_ws(b, i + 1);
    }
    (i + 1 < b.len()).then_some(i).filter(|i| !matches!(b[*i], b'}' | b']'))
}
