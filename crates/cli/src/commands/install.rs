//! `forklore install` and `forklore uninstall`

use std::path::PathBuf;
use std::process::ExitCode;

use forklore_api::{ErrorCode, Failure};
use forklore_install::{InstallError, NotFound, Report, Tavern, plan, plan_removal};

use crate::context::Context;
use crate::ui;

/// Put Forklore into SillyTavern
///
/// Copies the server plugin and the extension into the install, and turns server plugins on in its config.yaml; nothing else there
/// is touched, and its comments stay. SillyTavern must be restarted then. Can be done again, for example after an update of Forklore.
///
/// The plugin starts this program: leave it where it is, or install again after moving it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore install --sillytavern ~/SillyTavern
  forklore install --dry-run
  forklore uninstall")]
pub(crate) struct InstallArgs {
    /// Folder of the SillyTavern install, the one with server.js; looked for around here and at home if left out
    #[arg(long, value_name = "DIR")]
    sillytavern: Option<PathBuf>,
}

/// Take Forklore out of SillyTavern again
///
/// Removes the plugin and the extension, and turns server plugins off again if the installation had turned them on and no other
/// plugin is there. Chats, lorebooks and Forklore's own folder in the vault stay.
#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    /// Folder of the SillyTavern install; looked for around here and at home if left out
    #[arg(long, value_name = "DIR")]
    sillytavern: Option<PathBuf>,
}

pub(crate) fn install(context: &Context, args: &InstallArgs) -> Result<ExitCode, Failure> {
    let tavern = find(args.sillytavern.as_deref())?;
    let engine = std::env::current_exe()?;
    let plan = plan(&tavern, &engine.to_string_lossy()).map_err(|e| failure(&e))?;
    let report =
        if context.dry_run { plan.report } else { plan.execute(&tavern).map_err(|e| failure(&e))? };
    told(context, &report)
}

pub(crate) fn uninstall(context: &Context, args: &UninstallArgs) -> Result<ExitCode, Failure> {
    let tavern = find(args.sillytavern.as_deref())?;
    let plan = plan_removal(&tavern).map_err(|e| failure(&e))?;
    let report =
        if context.dry_run { plan.report } else { plan.execute(&tavern).map_err(|e| failure(&e))? };
    told(context, &report)
}

fn find(named: Option<&std::path::Path>) -> Result<Tavern, Failure> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
    let here = forklore_fs::canonical(std::path::Path::new("."))?;
    Tavern::find(named, &here, home.as_deref()).map_err(|e: NotFound| {
        let hint = "Name the folder that has SillyTavern's server.js in it: --sillytavern DIR";
        Failure::typed(ErrorCode::NoSillytavern, e.to_string(), hint)
    })
}

fn failure(e: &InstallError) -> Failure {
    let message = e.to_string();
    match e {
        InstallError::Config { .. } => {
            let hint = "Nothing was changed. Put the file right in a text editor, and try again.";
            Failure::new(ErrorCode::ConfigUnclear, message, hint)
        }
        InstallError::TooOld(_) => {
            let hint = "Nothing was changed. Update SillyTavern, and install again. The command line works without it.";
            Failure::new(ErrorCode::SillytavernTooOld, message, hint)
        }
        InstallError::Path(_) => {
            let hint = "Look at the rights of SillyTavern's folder and at the disk. Installing again finishes what was begun.";
            Failure::new(ErrorCode::Io, forklore_api::capital(&message), hint)
        }
    }
}

fn told(context: &Context, report: &Report) -> Result<ExitCode, Failure> {
    if context.json {
        ui::json(report)?;
    } else {
        ui::installed(report)?;
    }
    Ok(ExitCode::SUCCESS)
}
