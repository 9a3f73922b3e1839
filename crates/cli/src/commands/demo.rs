//! `forklore demo`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use forklore_engine::Library;
use forklore_engine::usecase::{check, tree};
use forklore_fs::RealFs;

use super::Context;
use crate::error::CliError;
use crate::ui;

/// Build a small story to play with, and look around in it
///
/// Makes a folder of its own with a complete vault: one story with checkpoints, branches, a branch of a branch, and a fork as
/// SillyTavern makes them, which writes into its parent's lorebook. Nothing outside that folder is touched.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder to make; if the demo is already there, it is looked at as it is
    #[arg(default_value = "forklore-demo", value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, CliError> {
    if context.dry_run {
        if context.json {
            ui::json(&serde_json::json!({"vault": args.dir.display().to_string(), "created": false}))?;
        } else {
            ui::demo_plan(&args.dir)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let made = forklore_demo::build(&args.dir)?;
    let library = Library::load(Arc::new(RealFs::new(&args.dir)?), &ui::Bar::new(context))?;
    let checked = check::check(&library, None, Context::now());
    let report = tree::tree(&library, None, &checked.findings)?;
    if context.json {
        let vault = args.dir.display().to_string();
        ui::json(&serde_json::json!({"vault": vault, "created": made.created, "tree": report}))?;
    } else {
        ui::demo(&args.dir, &made, &report)?;
    }
    Ok(ExitCode::SUCCESS)
}
