//! Texts and numbers as JavaScript has and writes them: [`Units`], [`js_number`].

use forklore_json::{Kind, Raw};

/// A text as JavaScript has it. All work here is on these units, because a text may be cut inside an emoji.
pub(crate) type Units = Vec<u16>;

/// The units of a text.
pub(crate) fn units(text: &str) -> Units {
    text.encode_utf16().collect()
}

/// A value as JavaScript's `String` writes it; lists and objects, which no such field has, are not told apart.
pub(crate) fn shown(value: Raw<'_>) -> Units {
    match value.kind() {
        Kind::String => value.as_utf16().unwrap_or_default(),
        Kind::Number => units(&js_number(value).unwrap_or_default()),
        Kind::Bool => units(&String::from_utf8_lossy(value.bytes())),
        Kind::Null => Units::new(),
        Kind::Array | Kind::Object => units("[object Object]"),
    }
}

/// Whether the browser gets `null`: the server writes so what is too large for a number.
pub(crate) fn is_null(value: Raw<'_>) -> bool {
    value.kind() == Kind::Null || (value.kind() == Kind::Number && js_number(value).is_none())
}

/// A text whose lines end in a newline and nothing else.
pub(crate) fn with_plain_newlines(text: &[u16]) -> Units {
    let (cr, lf) = (u16::from(b'\r'), u16::from(b'\n'));
    let before = |i: usize| i.checked_sub(1).and_then(|i| text.get(i)).copied();
    let kept = text.iter().enumerate().filter(|(i, unit)| **unit != lf || before(*i) != Some(cr));
    kept.map(|(_, unit)| if *unit == cr { lf } else { *unit }).collect()
}

/// JavaScript's `trim`.
pub(crate) fn trimmed(text: &[u16]) -> &[u16] {
    let is_blank = |unit: &u16| {
        let c = char::from_u32(u32::from(*unit));
        // Rust and JavaScript disagree on two characters.
        *unit == 0xFEFF || (*unit != 0x85 && c.is_some_and(char::is_whitespace))
    };
    let Some(start) = text.iter().position(|unit| !is_blank(unit)) else { return &[] };
    let end = text.iter().rposition(|unit| !is_blank(unit)).unwrap_or(start);
    &text[start..=end]
}

/// A number as JavaScript writes it: the fewest digits that still mean it. `None` if it is infinite.
pub(crate) fn js_number(value: Raw<'_>) -> Option<String> {
    let number: f64 =
        std::str::from_utf8(value.bytes()).ok()?.parse().ok().filter(|n: &f64| n.is_finite())?;
    if number == 0.0 {
        return Some("0".to_owned());
    }
    // Rust finds the same digits but has other rules for where the point goes.
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e')?;
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().ok()? + 1;
    let sign = if number < 0.0 { "-" } else { "" };
    Some(format!("{sign}{}", placed(&digits, point)))
}

/// Digits with the point behind the first `point` of them.
fn placed(digits: &str, point: i32) -> String {
    let count = digits.len();
    match usize::try_from(point) {
        Ok(before @ 1..=21) if before >= count => format!("{digits}{}", "0".repeat(before - count)),
        Ok(before @ 1..=21) => format!("{}.{}", &digits[..before], &digits[before..]),
        _ if (-5..=0).contains(&point) => {
            format!("0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or(0)))
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{:+}", point - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_numbers_as_javascript_does() {
        let vectors = [
            ("-0", "0"),
            ("1.50", "1.5"),
            ("1e3", "1000"),
            ("9007199254740993", "9007199254740992"),
            ("123456789012345678901", "123456789012345680000"),
            ("1e21", "1e+21"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("-1.5E-7", "-1.5e-7"),
            ("5e-324", "5e-324"),
        ];
        for (written, expected) in vectors {
            assert_eq!(js_number(Raw::parse(written.as_bytes()).unwrap()).as_deref(), Some(expected));
        }
        assert_eq!(js_number(Raw::trust(b"1e400")), None);
    }
}
