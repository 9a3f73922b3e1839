//! `forklore log`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::ops::{self, Limit};

use crate::context::Context;
use crate::ui;

/// List what Forklore has done in the vault, newest first
///
/// Every command that changes something is an operation with an id: forks, deletions, clean-ups, and what was undone. Times
/// are UTC. `forklore undo ID` takes one back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore log
  forklore log --limit 5
  forklore log --json | jq -r '.operations[] | select(.undone_by == null) | .id'")]
pub(crate) struct Args {
    /// How many operations to list; all if left out
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let (report, all) = context.ask(|open| ops::log(open, &Limit { limit: args.limit }))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::log(&report, all)?;
    }
    Ok(ExitCode::SUCCESS)
}
