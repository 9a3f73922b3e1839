//! [`parse`]: times as people type them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// A time as it was typed, in milliseconds since 1970. "05:23" is a whole minute: from its first to its last millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typed {
    /// Where it begins
    pub from: i64,
    /// Where it ends
    pub to: i64,
}

/// Reads a time: as RFC 3339 (`2026-11-15T05:23:00Z`), as a date with or without a time of day, which are UTC (`2026-11-15 05:23`), or
/// as how long ago it was (`3 days`, `2h 30m`). `None` if it is none of them.
pub fn parse(text: &str, now: i64) -> Option<Typed> {
    let text = text.trim();
    let utc = |time: DateTime| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond());
    let from = match (text.parse::<Timestamp>(), text.parse::<DateTime>(), text.parse::<Date>()) {
        (Ok(time), ..) => Some(time.as_millisecond()),
        (_, Ok(time), _) => utc(time),
        (.., Ok(day)) => utc(day.at(0, 0, 0, 0)),
        _ => None,
    };
    if let Some(from) = from {
        return Some(Typed { from, to: from + length(text) - 1 });
    }
    let ago = text.strip_suffix("ago").unwrap_or(text).trim().parse::<Span>().ok()?;
    let now: Zoned = Timestamp::from_millisecond(now).ok()?.to_zoned(TimeZone::UTC);
    // "-3 days" is meant as "3 days": the future has no history.
    let before = if ago.is_negative() { now.checked_add(ago) } else { now.checked_sub(ago) };
    let time = before.ok()?.timestamp().as_millisecond();
    Some(Typed { from: time, to: time })
}

/// How long the last part of a time is that was typed, in milliseconds.
fn length(text: &str) -> i64 {
    let Some((_, time)) = text.split_once(['T', 't', ' ']) else { return 24 * 60 * 60 * 1000 };
    let time = time.split(['Z', 'z', '+', '-', '[']).next().unwrap_or_default();
    match (time.matches(':').count(), time.contains(['.', ','])) {
        (_, true) => 1,
        (0, _) => 60 * 60 * 1000,
        (1, _) => 60 * 1000,
        _ => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_type_them() {
        let from = |text: &str, now: i64| parse(text, now).map(|typed| typed.from);
        let now = from("2026-11-15T05:23:00Z", 0).unwrap();
        assert_eq!(now, 1_794_720_180_000);
        for same in
            ["2026-11-15T06:23:00+01:00", "2026-11-15 05:23", "2026-11-15T05:23", " 2026-11-15 05:23:00 "]
        {
            assert_eq!(from(same, 0), Some(now), "{same}");
        }
        assert_eq!(from("2026-11-15", 0), from("2026-11-15T00:00:00Z", 0));
        for ago in ["3d", "3 days", "72 hours", "3 days ago", "-3d"] {
            assert_eq!(from(ago, now), from("2026-11-12T05:23:00Z", 0), "{ago}");
        }
        for odd in ["", "yesterday", "message 3", "2026-13-01", "99999999 years"] {
            assert_eq!(parse(odd, now), None, "{odd:?}");
        }
    }

    #[test]
    fn a_minute_ends_with_its_last_millisecond() {
        let length = |text: &str| parse(text, 0).map(|typed| typed.to - typed.from + 1).unwrap();
        assert_eq!(length("2026-11-15"), 86_400_000);
        assert_eq!(length("2026-11-15 05:23"), 60_000);
        assert_eq!(length("2026-11-15T05:23:07Z"), 1000);
        assert_eq!(length("2026-11-15T05:23:07.250-01:00"), 1);
        assert_eq!(length("3d"), 1);
    }
}
