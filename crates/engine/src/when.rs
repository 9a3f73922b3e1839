//! [`parse`]: times as people type them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// A time, in milliseconds since 1970: as RFC 3339 (`2026-11-15T05:23:00Z`), as a date with or without a time of day, which are UTC
/// (`2026-11-15 05:23`), or as how long ago it was (`3 days`, `2h 30m`). `None` if it is none of them.
pub fn parse(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let utc = |time: DateTime| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond());
    // A date alone reads as a time, too; and "3d" as neither.
    if let Ok(time) = text.parse::<DateTime>() {
        return utc(time);
    }
    if let Ok(day) = text.parse::<Date>() {
        return utc(day.at(0, 0, 0, 0));
    }
    let ago = text.strip_suffix("ago").unwrap_or(text).trim().parse::<Span>().ok()?;
    let now: Zoned = Timestamp::from_millisecond(now).ok()?.to_zoned(TimeZone::UTC);
    // "-3 days" is meant as "3 days": the future has no history.
    let before = if ago.is_negative() { now.checked_add(ago) } else { now.checked_sub(ago) };
    Some(before.ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_type_them() {
        let now = parse("2026-11-15T05:23:00Z", 0).unwrap();
        assert_eq!(now, 1_794_720_180_000);
        assert_eq!(parse("2026-11-15T06:23:00+01:00", 0), Some(now));
        assert_eq!(parse("2026-11-15 05:23", 0), Some(now));
        assert_eq!(parse("2026-11-15T05:23", 0), Some(now));
        assert_eq!(parse("2026-11-15", 0), parse("2026-11-15T00:00:00Z", 0));
        for ago in ["3d", "3 days", "72 hours", "3 days ago", "-3d"] {
            assert_eq!(parse(ago, now), parse("2026-11-12T05:23:00Z", 0), "{ago}");
        }
        for odd in ["", "yesterday", "message 3", "2026-13-01", "99999999 years"] {
            assert_eq!(parse(odd, now), None, "{odd:?}");
        }
    }
}
