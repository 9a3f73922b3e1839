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

/// The name of a chat, with the time that SillyTavern calls it after as people say it: "2026-07-12@10h11m12s" is "12 July 2026, 10:11".
pub fn chat_name(name: &str) -> String {
    dated(name, false)
}

/// The same to the second: "12 July 2026, 10:11:12".
pub fn exact_chat_name(name: &str) -> String {
    dated(name, true)
}

fn dated(name: &str, exact: bool) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let Some(at) = name.find('@') else { return name.to_owned() };
    let is_date = |c: char| c.is_ascii_digit() || c == '-';
    // Older versions put a space before the time.
    let day = name[..at].trim_end();
    let start =
        day.char_indices().rev().take_while(|(_, c)| is_date(*c)).last().map_or(day.len(), |(i, _)| i);
    let date: Vec<usize> = day[start..].split('-').filter_map(|n| n.parse().ok()).collect();
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, 'h' | 'm' | 's' | ' ');
    let clock = &name[at + 1..];
    let end = clock.find(|c| !is_time(c)).unwrap_or(clock.len());
    let rest = &clock[end..];
    let mut numbers = clock[..end].split(['h', 'm', 's']).map(|n| n.trim().parse::<usize>().ok());
    let ([year, month, day], Some(Some(hour)), Some(Some(minute))) =
        (&date[..], numbers.next(), numbers.next())
    else {
        return name.to_owned();
    };
    let Some(month) = month.checked_sub(1).and_then(|month| MONTHS.get(month)) else {
        return name.to_owned();
    };
    if *year < 1000 || !(1..=31).contains(day) || hour > 23 || minute > 59 {
        return name.to_owned();
    }
    // What is left of a time that ended with a space, before what follows.
    let gap = if clock[..end].ends_with(' ') { " " } else { "" };
    let second = numbers.next().flatten().filter(|second| exact && *second < 60);
    let second = second.map_or_else(String::new, |second| format!(":{second:02}"));
    format!("{}{day} {month} {year}, {hour}:{minute:02}{second}{gap}{rest}", &name[..start])
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
        assert_eq!(chat_name("2026-07-12@10h11m12s"), "12 July 2026, 10:11");
        assert_eq!(exact_chat_name("2026-07-12@10h11m12s345ms"), "12 July 2026, 10:11:12");
        assert_eq!(exact_chat_name("2024-5-3 @12h 05m 44s 123ms"), "3 May 2024, 12:05:44");
        assert_eq!(chat_name("Ana - 2024-5-3 @12h 05m 44s 123ms"), "Ana - 3 May 2024, 12:05");
        assert_eq!(
            chat_name("Branch #3 - 2026-01-02@03h04m05s - Checkpoint #1"),
            "Branch #3 - 2 January 2026, 3:04 - Checkpoint #1"
        );
        for name in ["mail@home", "2026-13-02@03h04m05s", "@", "海@邊"] {
            assert_eq!(chat_name(name), name);
        }
        assert_eq!([ago(86_400 * 3), ago(86_400 * 90)], ["3 days ago", "3 months ago"]);
    }
}
