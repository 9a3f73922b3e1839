//! `forklore gc`

use std::process::ExitCode;

use forklore_engine::Config;
use forklore_engine::oplog::OpLog;
use forklore_engine::usecase::trash::{self, GcRequest};

use super::Context;
use crate::error::CliError;
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
  forklore config trash.days 0     keeps the trash for ever")]
pub(crate) struct Args {
    /// Move lorebooks that a memory extension made and nothing refers to into the trash, too
    #[arg(long)]
    orphans: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, CliError> {
    let library = context.library_to_change()?;
    let log = OpLog::read(&*context.vault()?)?;
    let days = Config::load(&*context.vault()?)?.trash.days;
    let request = GcRequest { orphans: args.orphans, days, dry_run: context.dry_run };
    let report = trash::gc(&library, &log, request, Context::now())?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::cleaned(&report, context.dry_run)?;
    }
    Ok(ExitCode::SUCCESS)
}
