//! `forklore gc`

use std::process::ExitCode;

use forklore_api::Failure;
use forklore_api::ops::{self, Cleaning};

use crate::context::Context;
use crate::ui;

/// Clean up: lorebooks that nothing needs any more, and what is old in the trash
///
/// Lorebooks that Forklore made for a fork go to the trash once nothing refers to them, for example because you deleted the fork
/// in SillyTavern. With --orphans, so do those that a memory extension made. A lorebook that you keep by hand is never touched,
/// nor is one that any chat, character, persona or the list of global lorebooks refers to.
///
/// What is in the trash for longer than the setting trash.days is removed for good.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore gc --dry-run
  forklore gc
  forklore gc --orphans
  forklore gc --book Atlas
  forklore config trash.days 0     keeps the trash for ever")]
pub(crate) struct Args {
    /// Move lorebooks that a memory extension made and nothing refers to into the trash, too
    #[arg(long)]
    orphans: bool,

    /// Move this lorebook alone into the trash, whoever made it, if nothing refers to it
    #[arg(long, value_name = "NAME", conflicts_with = "orphans")]
    book: Option<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let cleaning = Cleaning { book: args.book.clone(), orphans: args.orphans, dry_run: context.dry_run };
    let report = context.ask(|open| ops::gc(open, &cleaning))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::cleaned(&report, context.dry_run)?;
    }
    Ok(ExitCode::SUCCESS)
}
