//! `forklore blame`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::past::{self, Blaming};

use crate::context::Context;
use crate::ui;

/// Tell which message each part of a lorebook comes from
///
/// Without ENTRY, one line an entry: the message that its last change belongs to, when that was (UTC), and what made it: the
/// processing of a scene, or nobody that left a trace, which is to say you. With ENTRY, the same for each of its fields and for each
/// line of its text.
///
/// What was there before Forklore began to watch is told as far as scenes and memories tell it; the rest was simply there when it
/// was seen first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore blame \"Maren Voss/The Lighthouse Road\"
  forklore blame \"The Lighthouse Road\" 12
  forklore blame \"The Lighthouse Road\" \"character-Mara\"
  forklore blame \"The Lighthouse Road\" mara --at 30")]
pub(crate) struct Args {
    /// Chat whose lorebook is looked at: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// Entry: its number, its title, or the beginning of its title
    entry: Option<String>,

    /// The lorebook as it was at this message, counted from 0; at the last one if left out
    #[arg(long, value_name = "N")]
    at: Option<usize>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let blaming = Blaming { chat: args.chat.clone(), entry: args.entry.clone(), at: args.at };
    let report = context.ask(|open| past::blame(open, &blaming))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::blame(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
