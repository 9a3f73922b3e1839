//! Findings, grouped: what, where, what to do.

use std::io::{self, Write as _};

use forklore_core::check::{Code, Finding, Severity};
use forklore_engine::check::CheckReport;

use super::parts::headline;
use super::style::{BAD, BOLD, DIM, GOOD, NOTE, WARN, tame, wrap};
use super::words::count;

/// Prints the findings, the worst first.
pub(crate) fn check(report: &CheckReport, chats: usize) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let of = |severity: Severity| report.findings.iter().filter(move |f| f.severity == severity).count();
    let mut groups: Vec<(Severity, Code, Vec<&Finding>)> = Vec::new();
    for finding in &report.findings {
        match groups
            .iter_mut()
            .find(|(severity, code, _)| *severity == finding.severity && *code == finding.code)
        {
            Some((_, _, list)) => list.push(finding),
            None => groups.push((finding.severity, finding.code, vec![finding])),
        }
    }
    groups.sort_by_key(|(severity, code, _)| (std::cmp::Reverse(*severity), *code));
    for (severity, code, findings) in &groups {
        let (word, style) = match severity {
            Severity::Error => ("error", BAD),
            Severity::Warning => ("warning", WARN),
            Severity::Info => ("info", NOTE),
        };
        writeln!(out, "{style}{word}{style:#} {}  {DIM}{code}{DIM:#}", headline(code.title()))?;
        let same = findings.len() > 2 && findings.iter().all(|f| f.message == findings[0].message);
        if same {
            writeln!(out, "{}", wrap(&findings[0].message, "  "))?;
        }
        for finding in findings {
            place(&mut out, finding, !same)?;
        }
        let mut remedies: Vec<&str> = findings.iter().map(|f| f.remedy.as_str()).collect();
        remedies.dedup();
        for remedy in remedies {
            writeln!(out, "  →{}", wrap(remedy, "    ").trim_start_matches("   "))?;
        }
        writeln!(out)?;
    }
    if let Some(guarantee) = &report.guarantee {
        writeln!(out, "{}\n", wrap(guarantee, "").trim_start())?;
    }
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let checked = count(chats, "chat");
    if errors + warnings == 0 {
        let known = match of(Severity::Info) {
            0 => String::new(),
            n => format!(" ({n} worth knowing)"),
        };
        return writeln!(out, "{GOOD}✓{GOOD:#} Checked {checked}: no errors, no warnings{known}.");
    }
    writeln!(
        out,
        "{BOLD}Checked {checked}: {}, {}, {} worth knowing.{BOLD:#}",
        count(errors, "error"),
        count(warnings, "warning"),
        of(Severity::Info)
    )
}

fn place(out: &mut impl io::Write, finding: &Finding, with_message: bool) -> io::Result<()> {
    let place = match (&finding.chat, &finding.book) {
        (Some(chat), _) => Some(chat),
        (None, book) => book.as_ref(),
    };
    match place {
        Some(place) => {
            writeln!(out, "  {NOTE}{}{NOTE:#}", tame(place))?;
            if with_message { writeln!(out, "{}", wrap(&finding.message, "    ")) } else { Ok(()) }
        }
        None => writeln!(out, "{}", wrap(&finding.message, "  ")),
    }
}
