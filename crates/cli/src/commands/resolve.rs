//! `forklore resolve`

use std::process::ExitCode;

use forklore_api::merge::{self, Keep, Resolving};
use forklore_api::{Failure, OpenVault};
use forklore_engine::merge::resolve::ResolveReport;

use crate::context::Context;
use crate::ui;

/// Answer what two branches do not agree on
///
/// Without an answer: shows what is open in a chat that `forklore learn` made, with the words of both sides.
///
/// With one: the words of CHAT's own line (ours), of the line that was brought along (theirs), both, or others. "Ours" is what the
/// lorebook says already. Any other answer makes a new lorebook that the chat is bound to, because SillyTavern's pages keep lorebooks in
/// memory and write them back whole; that is asked first. Reload SillyTavern's page afterwards.
///
/// `forklore undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore resolve \"The Lighthouse Road - Branch #3\"
  forklore resolve \"The Lighthouse Road - Branch #3\" 4be2 --keep theirs
  forklore resolve \"The Lighthouse Road - Branch #3\" 4be2 --text \"Ned left, and came back.\"
  forklore resolve \"The Lighthouse Road - Branch #3\" --keep ours          all that is open")]
pub(crate) struct Args {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// The question, or the beginning of its id; all that are open if left out
    id: Option<String>,

    /// Whose words are to stand
    #[arg(long, value_name = "SIDE", conflicts_with = "text")]
    keep: Option<Side>,

    /// Other words that are to stand
    #[arg(long, value_name = "TEXT", requires = "id")]
    text: Option<String>,

    /// Bind the chat to the new lorebook without asking
    #[arg(long)]
    yes: bool,

    /// Answer although work waits in the queue: what it would write is lost with the old lorebook
    #[arg(long)]
    ignore_queue: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Side {
    /// Those of the chat's own line
    Ours,
    /// Those of the line that was brought along
    Theirs,
    /// Both, the own line's first
    Both,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let resolving = Resolving {
        chat: args.chat.clone(),
        id: args.id.clone(),
        keep: args.keep.map(|side| match side {
            Side::Ours => Keep::Ours,
            Side::Theirs => Keep::Theirs,
            Side::Both => Keep::Both,
        }),
        text: args.text.clone(),
        yes: args.yes,
        ignore_queue: args.ignore_queue,
        dry_run: context.dry_run,
    };
    let agreed = |report: &ResolveReport| context.agrees(args.yes, || ui::ask_to_answer(report));
    let report = context.ask(|open: &OpenVault<'_>| merge::resolve(open, &resolving, &agreed))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::resolved(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
