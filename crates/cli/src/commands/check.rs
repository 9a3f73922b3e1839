//! `forklore check`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::look::{self, AnyChat};

use crate::context::Context;
use crate::ui;

/// Look for everything that is wrong in a vault
///
/// Forks that write into each other's lorebooks, recaps and entries that know the future or tell of another line, missing
/// books, lost parents, damaged files. Each finding has a code, a place and a remedy. Nothing is changed.
///
/// Exits with 1 if there is an error, with 0 if there are only warnings or nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore check
  forklore check \"Maren Voss/The Lighthouse Road\"
  forklore check --deep
  forklore check --json | jq '.findings[] | select(.severity == \"error\") | .code'")]
pub(crate) struct Args {
    /// Chat to check; the whole vault if left out
    chat: Option<String>,

    /// Also read everything that Forklore keeps, in history and for undo, and mend what can be mended
    #[arg(long)]
    deep: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let of = AnyChat { chat: args.chat.clone() };
    let (report, chats) = context.ask(|open| {
        if args.deep { look::check_deep(open, &of, !context.dry_run) } else { look::check(open, &of) }
    })?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::check(&report, chats)?;
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
