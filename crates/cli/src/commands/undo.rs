//! `forklore undo` and `forklore redo`

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use forklore_api::Failure;
use forklore_api::ops::{self, Redoing, Undoing};
use forklore_engine::undo::UndoReport;

use crate::context::Context;
use crate::ui;

/// Take back what Forklore did
///
/// What was made goes to the trash, what went to the trash comes back, and links and lists are put right again. Whatever you or
/// SillyTavern did in the meantime stays: if a fork was played on since, the undo is refused and nothing is changed.
///
/// Without OP, the last operation that is not undone yet. Call it again to go further back; `forklore redo` goes forward.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore undo
  forklore undo --dry-run
  forklore undo 20261115-052345-123-9f3a
  forklore undo 20261115-0523")]
pub(crate) struct UndoArgs {
    /// Operation to take back: its id as `forklore log` tells it, or the beginning of one
    #[arg(value_name = "OP", value_parser = NonEmptyStringValueParser::new())]
    operation: Option<String>,
}

/// Do again what was undone last
///
/// Everything comes back as it was. Call it again to redo the undo before that.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore redo
  forklore redo --dry-run")]
pub(crate) struct RedoArgs {}

pub(crate) fn undo(context: &Context, args: &UndoArgs) -> Result<ExitCode, Failure> {
    let undoing = Undoing { operation: args.operation.clone(), dry_run: context.dry_run };
    told(context, &context.ask(|open| ops::undo(open, &undoing))?)
}

pub(crate) fn redo(context: &Context, _: &RedoArgs) -> Result<ExitCode, Failure> {
    told(context, &context.ask(|open| ops::redo(open, &Redoing { dry_run: context.dry_run }))?)
}

fn told(context: &Context, report: &UndoReport) -> Result<ExitCode, Failure> {
    if context.json {
        ui::json(report)?;
    } else {
        ui::undone(report)?;
    }
    Ok(ExitCode::SUCCESS)
}
