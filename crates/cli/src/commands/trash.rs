//! `forklore trash`

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use forklore_api::Failure;
use forklore_api::ops::{self, Restored, Restoring};

use crate::context::Context;
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

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    if let Some(Action::Restore(args)) = &args.action {
        return restore(context, &args.item);
    }
    let (report, days) = context.ask(ops::trash)?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::trash(&report, days)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn restore(context: &Context, item: &str) -> Result<ExitCode, Failure> {
    let restoring = Restoring { item: item.to_owned(), dry_run: context.dry_run };
    let (restored, others) = context.ask(|open| ops::restore(open, &restoring))?;
    match &restored {
        _ if context.json => ui::json(&restored)?,
        Restored::File(report) => ui::restored(report, &others)?,
        Restored::Operation(report) => ui::undone(report)?,
        Restored::Rest(report) => ui::rest_restored(report)?,
    }
    Ok(ExitCode::SUCCESS)
}
