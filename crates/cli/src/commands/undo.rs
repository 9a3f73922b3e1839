//! `forklore undo` and `forklore redo`

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use forklore_engine::Library;
use forklore_engine::oplog::OpLog;
use forklore_engine::usecase::undo::{self, UndoError, UndoReport};

use super::Context;
use crate::error::CliError;
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

pub(crate) fn undo(context: &Context, args: &UndoArgs) -> Result<ExitCode, CliError> {
    run(context, args.operation.as_deref(), false)
}

pub(crate) fn redo(context: &Context, _: &RedoArgs) -> Result<ExitCode, CliError> {
    run(context, None, true)
}

fn run(context: &Context, id: Option<&str>, redo: bool) -> Result<ExitCode, CliError> {
    let library = context.library_to_change()?;
    let log = OpLog::read(&*context.vault()?)?;
    let report = revert(context, &library, &log, id, redo)?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::undone(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reverts an operation, or works out how.
pub(super) fn revert(
    context: &Context,
    library: &Library,
    log: &OpLog,
    id: Option<&str>,
    redo: bool,
) -> Result<UndoReport, CliError> {
    let done = undo::plan(library, log, id, redo).and_then(|plan| {
        if context.dry_run { Ok(plan.report) } else { undo::execute(library, plan, Context::now()) }
    });
    done.map_err(|e| match &e {
        UndoError::MovedOn { path, .. } => {
            let chat = library.chats.iter().position(|chat| chat.path == *path);
            let chat = chat.map(|c| library.address(c).to_string());
            let of_operation =
                || id.and_then(|id| log.find(id).ok()).or_else(|| log.last_done())?.chat.clone();
            CliError::moved_on(&e, chat.or_else(of_operation).as_deref())
        }
        _ => e.into(),
    })
}
