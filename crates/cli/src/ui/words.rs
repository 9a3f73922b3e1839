//! Numbers, lengths, times and names as people read them.

/// "1 message", "3 messages".
pub(super) fn count(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ if one.ends_with('y') => format!("{n} {}ies", &one[..one.len() - 1]),
        _ => format!("{n} {one}s"),
    }
}

/// A length for people.
pub(crate) fn size(bytes: u64) -> String {
    let steps = ["B", "KB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut step = 0;
    while value >= 1000.0 && step + 1 < steps.len() {
        value /= 1000.0;
        step += 1;
    }
    if step == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", steps[step]) }
}

/// A time as RFC 3339, for people: "2026-11-15 05:23". It is UTC.
pub(super) fn when(at: &str) -> String {
    let minute = at.get(..16).unwrap_or(at);
    minute.replacen('T', " ", 1)
}

/// A name as it is typed on a command line.
pub(super) fn quoted(name: &str) -> String {
    if name.contains(' ') { format!("\"{name}\"") } else { name.to_owned() }
}
