//! [`pretty`]: a value laid out as `JSON.stringify(value, null, 4)` does, and [`compact`] without any layout, with every scalar's
//! bytes kept; [`list`] and [`object`] of values that are bytes already.

use crate::raw::{Kind, Raw};
use crate::text::quote;

/// Lays `value` out with four blanks a level, starting at `depth`. Scalars, keys and their order are copied byte for byte.
pub fn pretty(value: Raw<'_>, depth: usize) -> Vec<u8> {
    // A stack instead of recursion: user files can be nested deeper than the call stack.
    enum Todo<'a> {
        Value(Raw<'a>, usize),
        Bytes(&'static [u8]),
        Key(Raw<'a>),
        Newline(usize),
    }
    let mut out = Vec::with_capacity(value.bytes().len() * 2);
    let mut todo = vec![Todo::Value(value, depth)];
    while let Some(next) = todo.pop() {
        match next {
            Todo::Bytes(bytes) => out.extend_from_slice(bytes),
            Todo::Key(key) => {
                out.extend_from_slice(key.bytes());
                out.extend_from_slice(b": ");
            }
            Todo::Newline(depth) => {
                out.push(b'\n');
                out.resize(out.len() + depth * 4, b' ');
            }
            Todo::Value(value, depth) => {
                let (open, close): (&[u8], &'static [u8]) = match value.kind() {
                    Kind::Object => (b"{", b"}"),
                    Kind::Array => (b"[", b"]"),
                    _ => {
                        out.extend_from_slice(value.bytes());
                        continue;
                    }
                };
                out.extend_from_slice(open);
                let mut items = Vec::new();
                for (key, value) in value.members() {
                    items.push((Some(key), value));
                }
                items.extend(value.elements().map(|value| (None, value)));
                todo.push(Todo::Bytes(close));
                if items.is_empty() {
                    continue;
                }
                todo.push(Todo::Newline(depth));
                for (n, (key, value)) in items.into_iter().enumerate().rev() {
                    todo.push(Todo::Value(value, depth + 1));
                    todo.extend(key.map(Todo::Key));
                    todo.push(Todo::Newline(depth + 1));
                    if n > 0 {
                        todo.push(Todo::Bytes(b","));
                    }
                }
            }
        }
    }
    out
}

/// The value without blanks and line ends between its parts.
pub fn compact(value: Raw<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.bytes().len());
    let (mut in_text, mut escaped) = (false, false);
    for byte in value.bytes() {
        if in_text {
            in_text = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        } else {
            in_text = *byte == b'"';
        }
        out.push(*byte);
    }
    out
}

/// A JSON list of values.
pub fn list(values: &[Vec<u8>]) -> Vec<u8> {
    [b"[".as_slice(), &values.join(&b','), b"]"].concat()
}

/// A JSON object of keys and values.
pub fn object(fields: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<Vec<u8>> =
        fields.iter().map(|(key, value)| [&quote(key)[..], b":", value].concat()).collect();
    [b"{".as_slice(), &members.join(&b','), b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_takes_nothing_out_of_texts() {
        let text = br#"{"a \" b" : [ 1.50 , "c \\" , "\\\" d" , { } ] }"#;
        let small = compact(Raw::parse(text).unwrap());
        assert_eq!(String::from_utf8_lossy(&small), r#"{"a \" b":[1.50,"c \\","\\\" d",{}]}"#);
        let large = pretty(Raw::parse(&small).unwrap(), 2);
        assert_eq!(compact(Raw::parse(&large).unwrap()), small);
    }
}
