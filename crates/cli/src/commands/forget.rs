//! `forklore forget` and `forklore prune`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::retention::{self, Forgetting};

use crate::context::Context;
use crate::ui;

/// Let old contents of history go, by rule
///
/// Of every chat and lorebook, the whole content is kept for the last saves, for the last save of each day and of each week, and
/// for what checkpoints and branches were made from. Other saves keep what they say (which entries changed, at which message), so
/// the state at a message stays as exact as it is; only that very save cannot be brought back byte for byte any more.
///
/// Tells how large history is, story by story. Nothing is removed from the disk before `forklore prune`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore forget --dry-run                 how large history is, and what would go
  forklore forget --keep-last 20 --keep-daily 14 --keep-weekly 8
  forklore prune")]
pub(crate) struct ForgetArgs {
    /// How many of the last saves of each file are kept
    #[arg(long, value_name = "N", default_value_t = 50)]
    keep_last: usize,

    /// For how many days the last save is kept
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    keep_daily: usize,

    /// For how many weeks the last save is kept
    #[arg(long, value_name = "WEEKS", default_value_t = 52)]
    keep_weekly: usize,
}

/// Free the space of what was forgotten
///
/// Removes from history what no save needs any more. It can be cut off at any time: nothing that is needed is ever lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore forget
  forklore prune")]
pub(crate) struct PruneArgs {}

pub(crate) fn forget(context: &Context, args: &ForgetArgs) -> Result<ExitCode, Failure> {
    let forgetting = Forgetting {
        last: Some(args.keep_last),
        daily: Some(args.keep_daily),
        weekly: Some(args.keep_weekly),
        dry_run: context.dry_run,
    };
    let report = context.ask(|open| retention::forget(open, &forgetting))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::forgotten(&report, context.dry_run)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn prune(context: &Context, _: &PruneArgs) -> Result<ExitCode, Failure> {
    let report = context.ask(|open| retention::prune(open, context.dry_run))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::pruned(&report, context.dry_run)?;
    }
    Ok(ExitCode::SUCCESS)
}
