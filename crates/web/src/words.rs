//! Numbers, sizes and times as people read them.

/// "1 message", "3 messages", "12,000 messages".
pub fn count(n: usize, one: &str) -> String {
    let many = match one.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
        _ => format!("{one}s"),
    };
    format!("{} {}", number(n), if n == 1 { one } else { &many })
}

/// "12,000".
pub fn number(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "3.4 MB".
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "two digits are shown")]
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if value < 9.95 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

/// How long ago, both in milliseconds since 1970: "5 minutes ago".
pub fn ago(then: i64, now: i64) -> String {
    let seconds = usize::try_from((now - then).max(0) / 1000).unwrap_or(0);
    let (minute, hour, day) = (60, 3600, 86_400);
    match seconds {
        s if s < minute => "just now".to_owned(),
        s if s < hour => format!("{} ago", count(s / minute, "minute")),
        s if s < day => format!("{} ago", count(s / hour, "hour")),
        s if s < 60 * day => format!("{} ago", count(s / day, "day")),
        s if s < 730 * day => format!("{} ago", count(s / (30 * day), "month")),
        s => format!("{} ago", count(s / (365 * day), "year")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [count(1, "chat"), count(0, "chat"), count(20_000, "entry")],
            ["1 chat", "0 chats", "20,000 entries"]
        );
        assert_eq!([number(999), number(1000), number(1_234_567)], ["999", "1,000", "1,234,567"]);
        assert_eq!([size(0), size(999), size(1000), size(196_000_000)], ["0 B", "999 B", "1.0 KB", "196 MB"]);
        assert_eq!(size(999_900), "1.0 MB");
        let ago = |s: i64| ago(1_000_000_000, 1_000_000_000 + s * 1000);
        assert_eq!(
            [ago(-5), ago(59), ago(60), ago(7200)],
            ["just now", "just now", "1 minute ago", "2 hours ago"]
        );
        assert_eq!([ago(86_400 * 3), ago(86_400 * 90)], ["3 days ago", "3 months ago"]);
    }
}
