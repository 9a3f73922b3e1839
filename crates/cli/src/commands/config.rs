//! `forklore config`

use std::process::ExitCode;

use forklore_api::config::{self, Who};
use forklore_api::{Failure, OpenVault};
use forklore_config::SettingChange;

use crate::context::Context;
use crate::ui;

/// Show and change the settings of the vault
///
/// Without KEY, lists all settings. With KEY, prints what it is set to, a list one name a line. With VALUE, sets it.
///
/// The settings are in the file .forklore/config.toml of the vault, which you can also edit yourself. Only the value is
/// changed there: comments and order stay as they are. Settings that name a place outside of the vault are yours alone: they are in
/// your own configuration, and nothing but this command sets them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore config
  forklore config trash.days 90
  forklore config checkpoint.name_template \"Scene {scene_number} - {scene_name}\"
  forklore config books.shared --add \"World of Ash\"
  forklore config fork.strict --unset")]
pub(crate) struct Args {
    /// Setting to show or change
    key: Option<String>,

    /// What to set it to; a list is written "A, B"
    #[arg(allow_negative_numbers = true)]
    value: Option<String>,

    /// Set it back to its default
    #[arg(long, requires = "key", conflicts_with_all = ["value", "add", "remove"])]
    unset: bool,

    /// Add a name to a list; can be given more than once
    #[arg(long, value_name = "NAME", requires = "key", conflicts_with = "value")]
    add: Vec<String>,

    /// Remove a name from a list; can be given more than once
    #[arg(long, value_name = "NAME", requires = "key", conflicts_with = "value")]
    remove: Vec<String>,
}

impl Args {
    fn change(&self) -> Option<SettingChange> {
        if self.unset {
            return Some(SettingChange::Unset);
        }
        if self.add.is_empty() && self.remove.is_empty() {
            return self.value.clone().map(SettingChange::Set);
        }
        Some(SettingChange::List { add: self.add.clone(), remove: self.remove.clone() })
    }
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let Some(key) = args.key.as_deref() else {
        let report = context.ask(|open| config::settings(open, Who::Owner))?;
        if context.json {
            ui::json(&report)?;
        } else {
            ui::settings(&report)?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    match args.change() {
        None => {
            let report = context.ask(|open| config::setting(open, Who::Owner, key))?;
            if context.json { ui::json(&report)? } else { ui::setting(&report)? }
        }
        Some(change) => {
            let changed =
                |open: &OpenVault<'_>| config::change(open, Who::Owner, key, &change, context.dry_run);
            let (report, changed) = context.ask(changed)?;
            if context.json {
                ui::json(&report)?;
            } else {
                ui::setting_changed(&report, changed, context.dry_run)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
