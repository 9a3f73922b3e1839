//! `forklore tree`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::look::{self, AnyStory};

use crate::context::Context;
use crate::ui;

/// Draw the fork tree of a story
///
/// Every chat stands under the chat it was forked from, with the number of the last message they share. Forks made by
/// SillyTavern, by other extensions or long ago are recognised by their messages, even where names or links are wrong.
///
/// To the right: messages, scenes, the running recap in use, and whether the chat has a lorebook of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore tree
  forklore tree \"Maren Voss\"
  forklore tree --json | jq '.stories[].chats[] | select(.health != \"ok\") | .chat'")]
pub(crate) struct Args {
    /// Story to draw, by name, folder or group id; all of them if left out
    story: Option<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let report = context.ask(|open| look::tree(open, &AnyStory { story: args.story.clone() }))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::tree(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
