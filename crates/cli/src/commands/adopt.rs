//! `forklore adopt`

use std::process::ExitCode;

use forklore_api::merge::{self, Adopting};
use forklore_api::{Failure, OpenVault};

use crate::context::Context;
use crate::ui;

/// Mark the branch that the story goes on with
///
/// One chat of a family of branches is the story; `forklore tree` and the pages show which. All others stay as they are. `forklore undo`
/// takes it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore adopt \"Blue door\"")]
pub(crate) struct Args {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let adopting = Adopting { chat: args.chat.clone(), dry_run: context.dry_run };
    let report = context.ask(|open: &OpenVault<'_>| merge::adopt(open, &adopting))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::adopted(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
