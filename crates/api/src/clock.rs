//! [`now`]: the edge where the time comes in. Below it, time is a parameter.

/// The time in milliseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "this is the edge where the time comes in")]
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
