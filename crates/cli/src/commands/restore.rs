//! `forklore restore`

use std::process::ExitCode;

use forklore_api::past::{self, Bringing};
use forklore_api::{Failure, OpenVault};
use forklore_engine::restore::RestoreReport;

use crate::context::Context;
use crate::ui;

/// Bring the past back, beside the present
///
/// With --at, --when or --observation: a past state of a chat, with its lorebook as it was, as a new branch. Nothing that is there is
/// overwritten. --at goes by the story, as `forklore branch` does; --when and --observation bring back exactly what was saved then,
/// also messages that were deleted or edited since. `forklore history CHAT` tells the times and the numbers.
///
/// A chat that was deleted, in SillyTavern or by Forklore, comes back under its name with nothing but its name given.
///
/// With --book or --entry: the chat that is there gets its lorebook, or one entry of it, back as it was. SillyTavern's pages keep
/// lorebooks in memory and write them back whole, so the old lorebook is left alone: a new one is made, and the chat is bound to
/// it. That is asked first. Reload SillyTavern's page afterwards.
///
/// `forklore undo` takes each of them back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore restore \"Maren Voss/The Lighthouse Road\" --at 28
  forklore restore \"The Lighthouse Road\" --when \"2026-11-15 05:23\" --as \"Before the edit\"
  forklore restore \"The Lighthouse Road\" --observation 212
  forklore restore \"Blue door\"                                      a chat that was deleted
  forklore restore \"The Lighthouse Road\" --entry \"character-Mara\" --at 28
  forklore restore \"The Lighthouse Road\" --book --at 28 --dry-run")]
pub(crate) struct Args {
    /// Chat, also one that was deleted: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// As of this message, counted from 0
    #[arg(long, value_name = "N", conflicts_with_all = ["when", "observation"])]
    at: Option<usize>,

    /// As it was at the end of this time: 2026-11-15, "2026-11-15 05:23" (UTC), or how long ago, such as 3d or "2 hours"
    #[arg(long, value_name = "TIME", conflicts_with = "observation", allow_hyphen_values = true)]
    when: Option<String>,

    /// As it was when this observation was made
    #[arg(long, value_name = "NUMBER")]
    observation: Option<u64>,

    /// Name of the chat that is made; one like SillyTavern's own, or that of the deleted chat, if left out
    #[arg(long = "as", value_name = "NAME", conflicts_with_all = ["book", "entry"])]
    name: Option<String>,

    /// Put only this entry of the lorebook back: its number, its title, or the beginning of its title
    #[arg(long, value_name = "ENTRY", conflicts_with = "book")]
    entry: Option<String>,

    /// Put only the lorebook back
    #[arg(long)]
    book: bool,

    /// Go on although work waits in the memory extension's queue; that work is left out
    #[arg(long)]
    ignore_queue: bool,

    /// Bind the chat to the new lorebook without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let bringing = Bringing {
        chat: args.chat.clone(),
        at: args.at,
        when: args.when.clone(),
        observation: args.observation,
        entry: args.entry.clone(),
        book: args.book,
        name: args.name.clone(),
        ignore_queue: args.ignore_queue,
        yes: args.yes,
        dry_run: context.dry_run,
    };
    let agreed = |report: &RestoreReport| context.agrees(args.yes, || ui::ask_to_bind(report));
    let report = context.ask(|open: &OpenVault<'_>| past::restore_with(open, &bringing, &agreed))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::brought_back(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
