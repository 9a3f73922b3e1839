//! `forklore import`

use std::path::PathBuf;
use std::process::ExitCode;

use forklore_api::export_import::{self, Arriving};
use forklore_api::{ErrorCode, Failure};
use forklore_fs::{VaultPath, Vfs};

use super::export::place;
use crate::context::Context;
use crate::ui;

/// Bring a story in from a file that `forklore export` wrote
///
/// The whole file is verified before anything happens. Then all of it is there, or nothing. Nothing that is in the vault is
/// overwritten: a chat or lorebook whose name is taken gets another one, and everything that names it follows. What needs no change
/// stays as it is, byte for byte.
///
/// History comes along: `show --at`, `branch` and `checkpoint` know the state at every message as well as where the file comes
/// from. `forklore undo` takes everything away again.
///
/// The file may come from anybody: nothing in it can reach outside the folders of the vault.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore import maren.forklore --dry-run
  forklore import maren.forklore
  forklore import maren.forklore --into \"Maren Voss (old)\"")]
pub(crate) struct Args {
    /// File to import
    file: PathBuf,

    /// Story that the chats are to join: FOLDER, group:ID or its name
    ///
    /// Without it, the one that they come from, by its folder or id; a new one if there is none.
    #[arg(long, value_name = "STORY")]
    into: Option<String>,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let unreadable = |e: std::io::Error| {
        let message = format!("{} cannot be read: {e}", args.file.display());
        Failure::typed(ErrorCode::Io, message, "Name a file that `forklore export` has written.")
    };
    // A link is fine here: the user named it.
    let path = forklore_fs::canonical(&args.file).map_err(unreadable)?;
    let (dir, name) = place(&path)?;
    let file = VaultPath::root().join(&name).map_err(|e| Failure::usage(e.to_string()))?;
    let file = dir.open(&file).map_err(|e| unreadable(e.source))?;
    let arriving = Arriving { into: args.into.clone(), dry_run: context.dry_run };
    let report = context.ask(|open| export_import::import(open, &arriving, &*file))?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::imported(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
