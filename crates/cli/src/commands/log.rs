//! `forklore log`

use std::process::ExitCode;

use forklore_engine::oplog::OpLog;

use super::Context;
use crate::error::CliError;
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

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, CliError> {
    let fs = context.settled()?;
    let mut report = OpLog::read(&*fs)?.report(&*fs)?;
    let all = report.operations.len();
    report.operations.truncate(args.limit.unwrap_or(usize::MAX));
    if context.json {
        ui::json(&report)?;
    } else {
        ui::log(&report, all)?;
    }
    Ok(ExitCode::SUCCESS)
}
