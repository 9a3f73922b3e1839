//! What became of an installation.

use std::io::{self, Write as _};

use forklore_install::Report;

use super::parts::files;
use super::style::{BOLD, DIM, GOOD, tame};

/// Tells what was installed or removed, or would be.
pub(crate) fn installed(report: &Report) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let nothing = report.written.is_empty() && report.removed.is_empty();
    let what = match (&report.engine, report.dry_run) {
        (Some(_), false) if nothing => "Forklore is installed already in",
        (Some(_), false) => "Installed Forklore in",
        (Some(_), true) => "Would install Forklore in",
        (None, false) if nothing => "Forklore is not installed in",
        (None, false) => "Removed Forklore from",
        (None, true) => "Would remove Forklore from",
    };
    let version = report.sillytavern_version.as_deref().map(|v| format!(" ({v})")).unwrap_or_default();
    writeln!(out, "{GOOD}{what}{GOOD:#} {BOLD}{}{BOLD:#}{version}", tame(&report.sillytavern))?;
    files(&mut out, "written", &report.written)?;
    files(&mut out, "removed", &report.removed)?;
    if let Some(config) = report.config {
        writeln!(out, "  {DIM}config.yaml{DIM:#}   {config}")?;
    }
    if let Some(engine) = &report.engine {
        writeln!(out, "  {DIM}program{DIM:#}       {}", tame(engine))?;
    }
    if !nothing && !report.dry_run {
        writeln!(out, "Restart SillyTavern, and reload its page.")?;
    }
    Ok(())
}
