//! Where the server is to be found.

use std::io::{self, Write as _};

use super::style::{BOLD, DIM};

/// Tells where the server is to be found.
pub(crate) fn serving(url: &str, code: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "Forklore answers at {BOLD}{url}#code={code}{BOLD:#}")?;
    let more = "Whoever opens this address first can read and change the vault. It works once: Enter prints another, Ctrl-C ends Forklore.";
    writeln!(out, "{DIM}{more}{DIM:#}")?;
    out.flush()
}

/// Prints where the page is that asks for a vault.
pub(crate) fn first_visit(url: &str, code: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "There is no SillyTavern vault here. Choose one, or the demo story, at {BOLD}{url}#code={code}{BOLD:#}"
    )?;
    let more = "Whoever opens this address first can open folders of this machine. It works once: Enter prints another, Ctrl-C ends Forklore.";
    writeln!(out, "{DIM}{more}{DIM:#}")?;
    out.flush()
}
