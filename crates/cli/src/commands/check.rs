//! `forklore check`

use std::process::ExitCode;

use forklore_engine::usecase::check;

use super::Context;
use crate::error::CliError;
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
  forklore check --json | jq '.findings[] | select(.severity == \"error\") | .code'")]
pub(crate) struct Args {
    /// Chat to check; the whole vault if left out
    chat: Option<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, CliError> {
    let library = context.library()?;
    let only = args.chat.as_deref().map(|name| library.find_chat(name)).transpose()?;
    let report = check::check(&library, only, Context::now());
    if context.json {
        ui::json(&report)?;
    } else {
        let chats = if only.is_some() { 1 } else { library.chats.len() };
        ui::check(&report, chats)?;
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
