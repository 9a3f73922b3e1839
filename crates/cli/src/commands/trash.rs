//! `forklore trash`

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use forklore_engine::oplog::OpLog;
use forklore_engine::usecase::trash::{self, RestoreError};
use forklore_engine::{Config, Library};

use super::{Context, undo};
use crate::error::CliError;
use crate::ui;

/// List what is in the trash, and bring it back
///
/// Files come here by `delete`, `gc` and `undo`. They stay until `forklore gc` finds them older than the setting trash.days
/// (30 if you set nothing; 0 means for ever). Times are UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore trash
  forklore trash restore \"Blue door\"
  forklore trash restore 20261115-052345-123-9f3a
  forklore config trash.days 90")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Restore(RestoreArgs),
}

/// Bring something back from the trash
///
/// With a file, that file alone comes back, under a new name if there is a file of its name by now. With an operation, all that
/// it did is taken back, links and lists, too, as `forklore undo` does.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore trash restore \"chats/Maren Voss/Blue door.jsonl\"
  forklore trash restore \"Blue door\" --dry-run
  forklore trash restore 20261115-052345-123-9f3a")]
struct RestoreArgs {
    /// File, as `forklore trash` lists it, or its name; or an operation
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    item: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, CliError> {
    if let Some(Action::Restore(args)) = &args.action {
        let library = context.library_to_change()?;
        let log = OpLog::read(&*context.vault()?)?;
        return restore(context, &library, &log, &args.item);
    }
    let library = context.library()?;
    let log = OpLog::read(&*context.vault()?)?;
    let days = Config::load(&*context.vault()?)?.trash.days;
    let report = trash::list(&library, &log, days)?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::trash(&report, days)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn restore(context: &Context, library: &Library, log: &OpLog, item: &str) -> Result<ExitCode, CliError> {
    let listed = trash::list(library, log, 0)?.items;
    match trash::restore(library, log, item, context.dry_run, Context::now()) {
        Ok(report) if context.json => ui::json(&report)?,
        Ok(report) => {
            let operation = listed.iter().find(|item| item.path == report.path).map(|item| &item.operation);
            let others = listed.iter().filter(|item| Some(&item.operation) == operation);
            let others = others.map(|item| item.path.clone()).filter(|path| *path != report.path);
            ui::restored(&report, &others.collect::<Vec<_>>())?;
        }
        // An operation that put nothing into the trash is no way to get something out of it.
        Err(e @ RestoreError::NotThere(_)) => match log.find(item) {
            Ok(operation) if operation.retires().next().is_some() => {
                let report = undo::revert(context, library, log, Some(item), false)?;
                if context.json { ui::json(&report)? } else { ui::undone(&report)? }
            }
            _ => return Err(e.into()),
        },
        Err(e) => return Err(e.into()),
    }
    Ok(ExitCode::SUCCESS)
}
