//! `forklore append`

use std::process::ExitCode;

use forklore_api::{Failure, merge};
use forklore_engine::merge::append::AppendRequest;

use crate::context::Context;
use crate::ui;

/// Play another branch's messages after a chat's own
///
/// Makes a new chat: CHAT, and behind it what the other branch has played since the two parted. Its lorebook, recaps and variables are
/// CHAT's; `forklore learn` brings along what was learnt there. The first message that follows answers one that CHAT does not have, so
/// read the seam.
///
/// Both chats stay as they are. `forklore undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore append \"The Lighthouse Road\" --from \"Blue door\" --dry-run
  forklore append \"The Lighthouse Road\" --from \"Blue door\" --upto 40 --name \"Both\"")]
pub(crate) struct Args {
    /// Chat that goes on: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// Chat whose messages follow
    #[arg(long, value_name = "CHAT")]
    from: String,

    /// The last message of the chat that goes on; its last one if left out
    #[arg(long, value_name = "N")]
    at: Option<usize>,

    /// The last message of the other chat that follows; its last one if left out
    #[arg(long, value_name = "M")]
    upto: Option<usize>,

    /// Name of the new chat; one like SillyTavern's own is made if left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Go on although work waits in the memory extension's queue; what that work would write is left out
    #[arg(long)]
    ignore_queue: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let request = AppendRequest {
        chat: args.chat.clone(),
        from: args.from.clone(),
        at: args.at,
        upto: args.upto,
        name: args.name.clone(),
        ignore_queue: args.ignore_queue,
        dry_run: context.dry_run,
    };
    let report = context.ask_to_replace(|open| merge::append(open, &request))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::appended(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
