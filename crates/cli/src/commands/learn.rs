//! `forklore learn`

use std::process::ExitCode;

use forklore_api::{Failure, merge};
use forklore_engine::merge::learn::LearnRequest;

use crate::context::Context;
use crate::ui;

/// Bring along what happened in another branch
///
/// Makes a new branch of CHAT whose lorebook also knows what the other branch's lorebook has learnt since the two parted. Messages are
/// never mixed; --scenes brings scenes of the other branch along as entries.
///
/// What only one of the two changed is taken. Where both changed the same thing in different ways, the new branch has what CHAT says, and
/// the question waits: `forklore resolve` shows both sides and takes the answer, whenever you like. Recaps, variables and the author's
/// note stay CHAT's.
///
/// Both chats and both lorebooks stay as they are. Done again, it brings along only what is new. `forklore undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore learn \"Maren Voss/The Lighthouse Road\" --from \"Blue door\"
  forklore learn \"The Lighthouse Road\" --from \"Blue door\" --dry-run
  forklore learn \"The Lighthouse Road\" --from \"Blue door\" --scenes all
  forklore learn \"The Lighthouse Road\" --from \"Blue door\" --scenes 41,55")]
pub(crate) struct Args {
    /// Chat that goes on: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// Chat whose lore comes along
    #[arg(long, value_name = "CHAT")]
    from: String,

    /// The last message of the new branch; the last one of the chat if left out
    #[arg(long, value_name = "N")]
    at: Option<usize>,

    /// As the other chat was at this message; at its last one if left out
    #[arg(long, value_name = "M")]
    upto: Option<usize>,

    /// Scenes of the other chat that come along as entries: the messages that end them, or "all"
    #[arg(long, value_name = "MESSAGES")]
    scenes: Option<String>,

    /// Name of the new chat; one like SillyTavern's own is made if left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Go on although work waits in the memory extension's queue; what that work would write is left out
    #[arg(long)]
    ignore_queue: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let all_scenes = args.scenes.as_deref() == Some("all");
    let request = LearnRequest {
        chat: args.chat.clone(),
        from: args.from.clone(),
        at: args.at,
        upto: args.upto,
        scenes: if all_scenes { Vec::new() } else { numbers(args.scenes.as_deref())? },
        all_scenes,
        name: args.name.clone(),
        ignore_queue: args.ignore_queue,
        dry_run: context.dry_run,
    };
    let report = context.ask_to_replace(|open| merge::learn(open, &request))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::learnt(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn numbers(list: Option<&str>) -> Result<Vec<usize>, Failure> {
    let words = list.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    let wrong =
        |word: &str| Failure::usage(format!("\"{word}\" is no message: --scenes takes numbers, or all"));
    words.map(|word| word.parse().map_err(|_| wrong(word))).collect()
}
