//! `forklore manual`

use std::io::Write as _;
use std::process::ExitCode;

use forklore_api::{ErrorCode, Failure};

/// Print a manual page, as `man` reads it
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  forklore manual > forklore.1
  forklore manual forklore-branch > forklore-branch.1
  forklore manual --list"
)]
pub(crate) struct Args {
    /// The page: `forklore`, or `forklore-COMMAND`
    #[arg(value_name = "PAGE", default_value = "forklore")]
    page: String,

    /// Print the names of all pages instead
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args, mut all: clap::Command) -> Result<ExitCode, Failure> {
    all.build();
    let pages = pages(all);
    let mut out = std::io::stdout();
    if args.list {
        for page in &pages {
            writeln!(out, "{}", name(page))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(page) = pages.into_iter().find(|page| name(page) == args.page) else {
        let message = format!("There is no manual page {:?}", args.page);
        return Err(Failure::typed(ErrorCode::Usage, message, "forklore manual --list names all of them."));
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    out.write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// As clap names it once it is built: `forklore-branch`.
fn name(page: &clap::Command) -> &str {
    page.get_display_name().unwrap_or(page.get_name())
}

/// The program's own page, and one for each command that people are told of.
fn pages(all: clap::Command) -> Vec<clap::Command> {
    let below: Vec<clap::Command> = all
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
        .cloned()
        .collect();
    std::iter::once(all).chain(below).collect()
}
