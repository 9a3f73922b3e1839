//! `forklore history`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::past::{self, Looking};

use crate::context::Context;
use crate::ui;

/// Tell what happened to a chat and its lorebooks, newest last
///
/// Each line is a save, or a run of saves that did the same: when it was (UTC), the message of the story that it belongs to, and what
/// happened: messages added, edited, swiped, hidden or deleted; variables and other things in the chat's header; entries of the
/// lorebook, and the scene that wrote them. A fork begins with what happened in the chat it was forked from.
///
/// It tells what was recorded: by `forklore watch`, by the plugin, after operations of Forklore's, from SillyTavern's backups. What
/// a memory extension kept in its scenes is told as well. Chats that were deleted since are found by the name they had.
///
/// The number behind # is that of the observation: `forklore restore CHAT --observation NUMBER` brings that state back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore history \"Maren Voss/The Lighthouse Road\"
  forklore history \"The Lighthouse Road\" --since 2d
  forklore history \"The Lighthouse Road\" --book --limit 20
  forklore history \"The Lighthouse Road\" --all --json | jq '.lines[].events[]'")]
pub(crate) struct Args {
    /// Chat to look at, as FOLDER/CHAT, group:ID/CHAT, or its name where that is unique
    chat: String,

    /// Only what happened to its lorebooks
    #[arg(long)]
    book: bool,

    /// How many lines to show, the newest; all if left out
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Nothing before this time: 2026-11-15, "2026-11-15 05:23" (UTC), or how long ago, such as 3d or "2 hours"
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,

    /// Every save on a line of its own, also those in which nothing of the story changed
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let looking = Looking {
        chat: args.chat.clone(),
        book: args.book,
        limit: args.limit,
        since: args.since.clone(),
        all: args.all,
    };
    let report = context.ask(|open| past::history(open, &looking))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::history(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
