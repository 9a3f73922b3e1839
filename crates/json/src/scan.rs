//! [`validate`] decides whether bytes are one JSON value; [`skip`] walks over a value that is known to be valid.
//!
//! Both are loops with an explicit stack, never recursion: a file nested a million levels deep must not end the process.
//! Strings are looked at 16 bytes at a time, long ones 64.

use wide::u8x16;

/// Why some bytes are not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub struct SyntaxError {
    /// What is wrong, as a phrase.
    pub what: &'static str,
    /// Offset of the offending byte.
    pub offset: usize,
}

/// How deep we are: one bit a level, set inside an object. The first 64 levels, which is all of them in practice, cost no memory.
#[derive(Default)]
struct Levels {
    bits: u64,
    depth: usize,
    deeper: Vec<u64>,
}

impl Levels {
    fn len(&self) -> usize {
        self.depth
    }

    fn push(&mut self, in_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.deeper.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(in_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.bits = self.deeper.pop().unwrap_or(0);
        }
    }

    fn last(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }
}

fn fail<T>(what: &'static str, offset: usize) -> Result<T, SyntaxError> {
    Err(SyntaxError { what, offset })
}

/// First offset at or after `i` that is not JSON white space.
#[inline]
pub(crate) fn skip_ws(b: &[u8], i: usize) -> usize {
    match b.get(i) {
        Some(b' ' | b'\n' | b'\r' | b'\t') => skip_more_ws(b, i + 1),
        _ => i,
    }
}

/// As [`skip_ws`], where there is likely more: files that are laid out in lines are half blanks.
fn skip_more_ws(b: &[u8], mut i: usize) -> usize {
    loop {
        while b.get(i..).and_then(|rest| rest.first_chunk::<8>()) == Some(b"        ") {
            i += 8;
        }
        match b.get(i) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => i += 1,
            _ => return i,
        }
    }
}

/// A stretch of the bytes: start and end.
pub(crate) type Span = (usize, usize);

/// Checks that a valid JSON value starts at `start` (no leading white space) and returns the offset behind it. Tells of every
/// value in the `N` outermost levels when it ends: the keys that lead to it (`(0, 0)` for an element of a list), and its span.
pub(crate) fn validate<const N: usize>(
    b: &[u8],
    start: usize,
    tell: &mut impl FnMut(&[Span], Span),
) -> Result<usize, SyntaxError> {
    let mut stack = Levels::default();
    let mut i = start;
    let (mut keys, mut values) = ([(0, 0); N], [0; N]);
    loop {
        // A value starts at i.
        if let Some(value) = stack.len().checked_sub(1).and_then(|level| values.get_mut(level)) {
            *value = i;
        }
        match b.get(i) {
            Some(b'{') => {
                i = skip_ws(b, i + 1);
                if b.get(i) != Some(&b'}') {
                    let (end, value) = key(b, i)?;
                    if let Some(key) = keys.get_mut(stack.len()) {
                        *key = (i, end);
                    }
                    stack.push(true);
                    i = value;
                    continue;
                }
                i += 1;
            }
            Some(b'[') => {
                i = skip_ws(b, i + 1);
                if b.get(i) != Some(&b']') {
                    if let Some(key) = keys.get_mut(stack.len()) {
                        *key = (0, 0);
                    }
                    stack.push(false);
                    continue;
                }
                i += 1;
            }
            Some(b'"') => i = string(b, i)?,
            Some(b't') => i = word(b, i, b"true")?,
            Some(b'f') => i = word(b, i, b"false")?,
            Some(b'n') => i = word(b, i, b"null")?,
            Some(b'-' | b'0'..=b'9') => i = number(b, i)?,
            Some(_) => return fail("unexpected character", i),
            None => return fail("unexpected end of text", i),
        }
        // A value ended at i: close what it ends, or go on to the next.
        loop {
            let Some(in_object) = stack.last() else { return Ok(i) };
            let level = stack.len();
            if level <= N {
                tell(&keys[..level], (values[level - 1], i));
            }
            i = skip_ws(b, i);
            match b.get(i) {
                Some(b',') => {
                    i = skip_ws(b, i + 1);
                    if in_object {
                        let (end, value) = key(b, i)?;
                        if level <= N {
                            keys[level - 1] = (i, end);
                        }
                        i = value;
                    }
                    break;
                }
                Some(b'}') if in_object => i += 1,
                Some(b']') if !in_object => i += 1,
                Some(_) => return fail("expected a comma or the end of the list", i),
                None => return fail("unexpected end of text", i),
            }
            stack.pop();
        }
    }
}

/// A key, its colon and the white space around it: where the key ends and where the value starts.
fn key(b: &[u8], i: usize) -> Result<(usize, usize), SyntaxError> {
    match b.get(i) {
        Some(b'"') => {}
        Some(_) => return fail("expected a key in quotes", i),
        None => return fail("unexpected end of text", i),
    }
    let end = string(b, i)?;
    let i = skip_ws(b, end);
    match b.get(i) {
        Some(b':') => Ok((end, skip_ws(b, i + 1))),
        Some(_) => fail("expected a colon", i),
        None => fail("unexpected end of text", i),
    }
}

fn word(b: &[u8], i: usize, word: &[u8]) -> Result<usize, SyntaxError> {
    if b[i..].starts_with(word) { Ok(i + word.len()) } else { fail("unexpected character", i) }
}

fn number(b: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let digits = |mut i: usize| {
        while matches!(b.get(i), Some(b'0'..=b'9')) {
            i += 1;
        }
        i
    };
    let mut i = start + usize::from(b[start] == b'-');
    let end = if b.get(i) == Some(&b'0') { i + 1 } else { digits(i) };
    if end == i {
        return fail("expected a digit", i);
    }
    i = end;
    if b.get(i) == Some(&b'.') {
        let end = digits(i + 1);
        if end == i + 1 {
            return fail("expected a digit", end);
        }
        i = end;
    }
    if let Some(b'e' | b'E') = b.get(i) {
        i += 1;
        i += usize::from(matches!(b.get(i), Some(b'+' | b'-')));
        let end = digits(i);
        if end == i {
            return fail("expected a digit", end);
        }
        i = end;
    }
    Ok(i)
}

/// A string starting at the quote `i`; returns the offset behind the closing quote.
fn string(b: &[u8], start: usize) -> Result<usize, SyntaxError> {
    // Most strings are keys and other short words.
    let mut i = start + 1;
    if let Some(chunk) = b.get(i..).and_then(|rest| rest.first_chunk::<16>()) {
        let x = u8x16::new(*chunk);
        let marks = special(x).to_bitmask();
        let end = i + marks.trailing_zeros() as usize;
        if marks != 0 && b[end] == b'"' {
            return Ok(end + 1);
        }
    }
    while let Some(chunk) = b.get(i..).and_then(|rest| rest.first_chunk::<64>()) {
        let block = Block::of(chunk);
        let backslashes = block.equal(b'\\');
        let escaped = escaped(backslashes);
        let quotes = block.equal(b'"');
        let end = quotes & !escaped;
        let inside = end.wrapping_sub(1) & !end;
        // What mostly stands behind a backslash is a quote, `n` or another one.
        let seldom = escaped & inside & !(quotes | backslashes | block.equal(b'n')) != 0;
        if seldom || block.has_control() && block.control() & inside != 0 {
            break;
        }
        if end != 0 {
            return Ok(i + end.trailing_zeros() as usize + 1);
        }
        // A backslash at the end is looked at again, with what it escapes.
        i += 64 - usize::from((backslashes & !escaped) >> 63 != 0);
    }
    careful_string(b, i)
}

/// 64 bytes; what it tells has one bit for each.
struct Block([u8x16; 4]);

// All of it is to become part of the loops that use it: a call for each 16 bytes would cost more than looking at them.
impl Block {
    #[inline(always)]
    fn of(chunk: &[u8; 64]) -> Self {
        let (parts, _) = chunk.as_chunks::<16>();
        Self([u8x16::new(parts[0]), u8x16::new(parts[1]), u8x16::new(parts[2]), u8x16::new(parts[3])])
    }

    #[inline(always)]
    fn mask(&self, hits: impl Fn(u8x16) -> u8x16) -> u64 {
        let bits = |x: u8x16| u64::from(hits(x).to_bitmask());
        let [a, b, c, d] = self.0;
        bits(a) | bits(b) << 16 | bits(c) << 32 | bits(d) << 48
    }

    #[inline(always)]
    fn equal(&self, byte: u8) -> u64 {
        self.mask(|x| x.simd_eq(u8x16::splat(byte)))
    }

    #[inline(always)]
    fn control(&self) -> u64 {
        self.mask(is_control)
    }

    /// Whether there is any control character: quicker than where.
    #[inline(always)]
    fn has_control(&self) -> bool {
        let [a, b, c, d] = self.0;
        is_control(a.min(b).min(c.min(d))).to_bitmask() != 0
    }
}

/// What stands behind a backslash that is not itself behind one, if the first byte is not.
#[inline(always)]
fn escaped(backslashes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let behind = backslashes << 1;
    // Rows of backslashes that start at an odd place: adding carries through each of them to the place behind it.
    let odd_starts = backslashes & !behind & !EVEN;
    let odd_rows = odd_starts.wrapping_add(backslashes);
    (EVEN ^ odd_rows << 1) & behind
}

/// As [`string`], from within one: byte by byte wherever something stands that is not a plain character.
fn careful_string(b: &[u8], mut i: usize) -> Result<usize, SyntaxError> {
    loop {
        i = plain_run(b, i);
        match b.get(i) {
            Some(b'"') => return Ok(i + 1),
            Some(b'\\') => match b.get(i + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => i += 2,
                Some(b'u') => {
                    let hex = b.get(i + 2..i + 6).is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit));
                    if !hex {
                        return fail("expected four hexadecimal digits", i + 2);
                    }
                    i += 6;
                }
                Some(_) => return fail("unknown escape", i),
                None => return fail("unexpected end of text", i + 1),
            },
            Some(_) => return fail("control character in a text", i),
            None => return fail("unexpected end of text", i),
        }
    }
}

/// First offset at or after `i` of a byte that `hits` marks or, in the last few bytes, `hit` holds for.
#[inline]
fn find(b: &[u8], mut i: usize, hits: impl Fn(u8x16) -> u8x16, hit: impl Fn(u8) -> bool) -> usize {
    while let Some(chunk) = b.get(i..).and_then(|rest| rest.first_chunk::<16>()) {
        let marks = hits(u8x16::new(*chunk)).to_bitmask();
        if marks != 0 {
            return i + marks.trailing_zeros() as usize;
        }
        i += 16;
    }
    while b.get(i).is_some_and(|c| !hit(*c)) {
        i += 1;
    }
    i
}

#[inline(always)]
fn is_control(x: u8x16) -> u8x16 {
    x.min(u8x16::splat(0x1F)).simd_eq(x)
}

/// Marks quotes, backslashes and control characters.
#[inline(always)]
fn special(x: u8x16) -> u8x16 {
    is_control(x) | x.simd_eq(u8x16::splat(b'"')) | x.simd_eq(u8x16::splat(b'\\'))
}

/// First offset at or after `i` that holds a quote, a backslash or a control character.
fn plain_run(b: &[u8], i: usize) -> usize {
    find(b, i, special, |c| c == b'"' || c == b'\\' || c < 0x20)
}

/// Offset behind the string that starts at `i`, in bytes known to be valid.
pub(crate) fn skip_string(b: &[u8], i: usize) -> usize {
    let hits = |x: u8x16| x.simd_eq(u8x16::splat(b'"')) | x.simd_eq(u8x16::splat(b'\\'));
    let mut i = i + 1;
    loop {
        i = find(b, i, hits, |c| c == b'"' || c == b'\\');
        match b.get(i) {
            Some(b'"') => return i + 1,
            Some(_) => i += 2,
            None => return b.len(),
        }
    }
}

/// Offset behind the value that starts at `i`, in bytes known to be valid.
pub(crate) fn skip(b: &[u8], start: usize) -> usize {
    match b.get(start) {
        Some(b'"') => skip_string(b, start),
        Some(b'{' | b'[') => {
            let (mut i, mut depth) = match skip_blocks(b, start) {
                Ok(end) => return end,
                Err(on) => on,
            };
            while let Some(&c) = b.get(i) {
                match c {
                    b'"' => {
                        i = skip_string(b, i);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return i + 1;
                        }
                    }
                    _ => {}
                }
                i += 1;
            }
            b.len()
        }
        _ => {
            let mut i = start;
            while let Some(c) = b.get(i) {
                if matches!(c, b',' | b':' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
                    break;
                }
                i += 1;
            }
            i
        }
    }
}

/// The offset behind the list or object that starts at `start`, looked for 64 bytes at a time: brackets are counted where no string is. Where
/// it does not end within whole blocks: a place outside of strings to go on at, and how deep that is.
fn skip_blocks(b: &[u8], start: usize) -> Result<usize, (usize, usize)> {
    let (mut i, mut depth) = (start, 0usize);
    // The last place that is known to be outside of strings, and how deep it is.
    let mut outside = (start, 0usize);
    // All ones inside of a string.
    let mut in_string = 0u64;
    while let Some(chunk) = b.get(i..).and_then(|rest| rest.first_chunk::<64>()) {
        let block = Block::of(chunk);
        let backslashes = block.equal(b'\\');
        let escaped = escaped(backslashes);
        // From each quote to the next one; a bit is set where a string is, its first quote included.
        let strings = up_to_next(block.equal(b'"') & !escaped) ^ in_string;
        // With this bit `[` is `{`, and `]` is `}`; nothing else becomes one of them that can stand outside of a string.
        let folded = |byte: u8| block.mask(|x| (x | u8x16::splat(0x20)).simd_eq(u8x16::splat(byte)));
        let (opens, closes) = (folded(b'{') & !strings, folded(b'}') & !strings);
        let count = |bits: u64| bits.count_ones() as usize;
        if count(closes) < depth || (depth == 0 && count(closes) == 0) {
            depth = depth + count(opens) - count(closes);
        } else {
            let mut left = opens | closes;
            while left != 0 {
                let bit = left & left.wrapping_neg();
                depth = if opens & bit != 0 { depth + 1 } else { depth - 1 };
                if depth == 0 {
                    return Ok(i + bit.trailing_zeros() as usize + 1);
                }
                left &= left - 1;
            }
        }
        // A backslash at the end is looked at again, with what it escapes.
        let again = (backslashes & !escaped) >> 63 != 0;
        i += 64 - usize::from(again);
        let last = if again { 62 } else { 63 };
        in_string = 0u64.wrapping_sub(strings >> last & 1);
        if in_string == 0 {
            outside = (i, depth);
        }
    }
    Err(outside)
}

/// For each bit whether an odd number of bits is set up to it.
#[inline(always)]
fn up_to_next(mut bits: u64) -> u64 {
    for by in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << by;
    }
    bits
}
