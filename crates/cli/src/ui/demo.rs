//! The tour of the demo.

use std::io::{self, Write as _};
use std::path::Path;

use forklore_demo::Demo;
use forklore_engine::fork::ForkReport;
use forklore_engine::tree::TreeReport;

use super::fork::forked;
use super::parts::headline;
use super::style::{BOLD, DIM, GOOD, NOTE, wrap};
use super::tree::tree;
use super::words::quoted;

/// What `--dry-run` says.
pub(crate) fn demo_plan(dir: &Path) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "Would make the folder {} with a small SillyTavern vault in it.", dir.display())
}

/// Prints what there is to see and what to try.
pub(crate) fn demo(
    dir: &Path,
    demo: &Demo,
    fork: Option<&ForkReport>,
    report: &TreeReport,
) -> io::Result<()> {
    let place = dir.display();
    {
        let mut out = anstream::stdout().lock();
        let made = if demo.created { "A story was made for you in" } else { "The demo is already there, in" };
        writeln!(out, "{GOOD}✓{GOOD:#} {made} {BOLD}{place}{BOLD:#}\n")?;
        writeln!(out, "{}", headline(&demo.title))?;
        writeln!(out, "{}\n", wrap(&demo.blurb, "  "))?;
    }
    if let Some(fork) = fork {
        forked(fork, true)?;
        println_blank()?;
    }
    tree(report)?;
    let mut out = anstream::stdout().lock();
    writeln!(out, "\n{BOLD}What to look at{BOLD:#}")?;
    let main = format!("{}/{}", demo.folder, demo.title);
    let tour = [
        (
            format!("show \"{main}\" --at 20"),
            "The lorebook as it was at message 20. Nobody there knows yet who is deaf, who is dead and who is not: see \"Left out\".",
        ),
        (
            format!("show \"{main} - Branch #3\""),
            "A branch from another answer to message 16. It never heard of anything that the main line learnt later.",
        ),
        (
            format!("show \"{main} - Branch #4\""),
            "A fork as SillyTavern makes them: it shares its parent's lorebook. Forklore still knows what its own line has earned.",
        ),
        (
            "check".to_owned(),
            "What that did to both of them: the branch knows how the main line ends, and the main line's book holds a bargain that was never struck there.",
        ),
        (
            "heal --yes".to_owned(),
            "Both get a lorebook with what their own line has earned, and no more. Then look at the tree again; `undo` takes it back.",
        ),
        (
            format!("branch \"{main}\" --at 30"),
            "Your own branch, right before the main line finds out. It knows nothing of what comes.",
        ),
    ];
    for (command, why) in tour {
        writeln!(out, "  {NOTE}forklore --vault {} {command}{NOTE:#}", quoted(&dir.display().to_string()))?;
        writeln!(out, "{DIM}{}{DIM:#}", wrap(why, "      "))?;
    }
    writeln!(
        out,
        "\nThen try it on your own: {NOTE}forklore --vault .../SillyTavern/data/default-user tree{NOTE:#}"
    )
}

fn println_blank() -> io::Result<()> {
    writeln!(anstream::stdout().lock())
}
