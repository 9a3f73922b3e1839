//! `forklore rename`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::ops::{self, Renaming};

use crate::context::Context;
use crate::ui;

/// Give a chat another name
///
/// What pointed at it follows: links on its parent's messages, the parent's name in its forks, the list of its group. Its lorebook
/// keeps its name.
///
/// If the chat is open in SillyTavern, rename it there: a page that still shows it would save it under its old name.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore rename \"Maren Voss/Blue door\" \"The blue door\"
  forklore rename \"Blue door\" \"The blue door\" --dry-run")]
pub(crate) struct Args {
    /// Chat to rename: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// Its new name
    name: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let renaming = Renaming { chat: args.chat.clone(), name: args.name.clone(), dry_run: context.dry_run };
    let report = context.ask(|open| ops::rename(open, &renaming))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::renamed(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
