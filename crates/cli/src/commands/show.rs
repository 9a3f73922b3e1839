//! `forklore show`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::look::{self, Spot};

use crate::context::Context;
use crate::ui;

/// Show the state of a chat at a message
///
/// The lorebook as it was when the story had got that far, where each entry comes from and what was left out because it
/// belongs to later messages or to another line; the scene, the running recap and the queue.
///
/// "As it was" goes by the story, not by the clock: a recap of messages 0 to 14 that was written while message 22 was on the
/// screen belongs to message 14.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore show \"Maren Voss/The Lighthouse Road\"
  forklore show \"The Lighthouse Road\" --at 14
  forklore show \"The Lighthouse Road\" --at 14 --full
  forklore show \"The Lighthouse Road\" --at 14 --json | jq '.book.entries[].comment'")]
pub(crate) struct Args {
    /// Chat to look at, as FOLDER/CHAT, group:ID/CHAT, or its name where that is unique
    chat: String,

    /// Message to look at, counted from 0; the last one if left out
    #[arg(long, value_name = "N")]
    at: Option<usize>,

    /// Show whole texts and the registries, too
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let spot = Spot { chat: args.chat.clone(), at: args.at };
    let report = context.ask(|open| look::show(open, &spot))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::show(&report, args.full)?;
    }
    Ok(ExitCode::SUCCESS)
}
