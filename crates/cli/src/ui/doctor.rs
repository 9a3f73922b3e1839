//! How Forklore is doing: a line a point, and what to do below it.

use std::io::{self, Write as _};

use forklore_api::doctor::Point;
use forklore_core::check::Health;

use super::style::{BAD, BOLD, DIM, GOOD, WARN, pad, wrap};
use super::words::count;

/// The longest name of a point, and a gap.
const NAMES: usize = 13;

/// Prints the points in their order, and what it comes to.
pub(crate) fn doctor(points: &[Point]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let indent = " ".repeat(2 + NAMES);
    for point in points {
        let (mark, style) = match point.health {
            Health::Ok => ("✓", GOOD),
            Health::Warning => ("!", WARN),
            Health::Error => ("✗", BAD),
        };
        let name = pad(point.about.as_str(), NAMES);
        let message = wrap(&point.message, &indent);
        writeln!(out, "{style}{mark}{style:#} {DIM}{name}{DIM:#}{}", message.trim_start())?;
        if let Some(remedy) = &point.remedy {
            let remedy = wrap(remedy, &format!("{indent}  "));
            writeln!(out, "{indent}→ {}", remedy.trim_start())?;
        }
    }
    let of = |health: Health| points.iter().filter(|point| point.health == health).count();
    match (of(Health::Error), of(Health::Warning)) {
        (0, 0) => writeln!(out, "{GOOD}All is well.{GOOD:#}"),
        (errors, warnings) => {
            writeln!(out, "{BOLD}{}, {}.{BOLD:#}", count(errors, "error"), count(warnings, "warning"))
        }
    }
}
