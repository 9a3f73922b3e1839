//! `forklore demo`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use forklore_api::{ErrorCode, Failure, capital};
use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_demo::{Demo, DemoError};
use forklore_engine::fork::{self, ForkReport, ForkRequest};
use forklore_engine::{check, tree};
use forklore_fs::RealFs;
use forklore_vault::{Library, Progress, settle};

use crate::context::Context;
use crate::ui;

/// Build a small story to play with, and look around in it
///
/// Makes a folder of its own with a complete vault: one story with branches, a branch of a branch, and a fork as SillyTavern
/// makes them, which writes into its parent's lorebook. Then makes a checkpoint in the middle of the story. Nothing outside
/// that folder is touched.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder to make; if the demo is already there, it is looked at as it is
    #[arg(default_value = "forklore-demo", value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    if context.dry_run {
        if context.json {
            ui::json(&serde_json::json!({"vault": args.dir.display().to_string(), "created": false}))?;
        } else {
            ui::demo_plan(&args.dir)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (made, fork) = make(&args.dir, &ui::Bar::new(context.json))?;
    let fs = Arc::new(RealFs::new(&args.dir)?);
    let library = Library::load(fs, &ui::Bar::new(context.json))?;
    let checked = check::check(&library, None, forklore_api::now());
    let report = tree::tree(&library, None, &checked.findings)?;
    if context.json {
        let vault = args.dir.display().to_string();
        ui::json(
            &serde_json::json!({"vault": vault, "created": made.created, "checkpoint": fork, "tree": report}),
        )?;
    } else {
        ui::demo(&args.dir, &made, fork.as_ref(), &report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the demo with its checkpoint, or finds it from last time.
pub(super) fn make(dir: &Path, progress: &dyn Progress) -> Result<(Demo, Option<ForkReport>), Failure> {
    let made = forklore_demo::build(dir).map_err(|e| failure(&e))?;
    let fs = Arc::new(RealFs::new(dir)?);
    let fork = if made.created { Some(checkpoint(&made, &fs, progress)?) } else { None };
    Ok((made, fork))
}

fn failure(e: &DemoError) -> Failure {
    let message = capital(&e.to_string());
    match e {
        DemoError::Taken => {
            Failure::typed(ErrorCode::FolderTaken, message, "Name another folder: forklore demo DIR")
        }
        DemoError::Story(_) | DemoError::Path(_) => {
            let hint = "Name a folder on a disk that can be written: forklore demo DIR";
            Failure::typed(ErrorCode::Io, message, hint)
        }
    }
}

/// The main job, on the built-in story.
fn checkpoint(demo: &Demo, fs: &Arc<RealFs>, progress: &dyn Progress) -> Result<ForkReport, Failure> {
    let now = forklore_api::now();
    let right = settle::take_right(&**fs, now)?;
    let library = Library::load_with(fs.clone(), right, progress)?;
    let wanted = &demo.checkpoint;
    let request = ForkRequest {
        kind: Some(ForkKind::Checkpoint),
        at: Some(wanted.at),
        name: Some(wanted.name.clone()),
        ..ForkRequest::of(format!("{}/{}", demo.folder, wanted.parent))
    };
    let plan = fork::plan(&library, &request, &Config::default(), &forklore_engine::fresh_slug(), now)?;
    Ok(fork::execute(&library, plan, now)?)
}
