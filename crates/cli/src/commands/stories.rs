//! `forklore stories`

use std::process::ExitCode;

use forklore_engine::usecase::{check, stories};

use super::Context;
use crate::error::CliError;
use crate::ui;

/// List the stories: every character and group with its chats
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(context: &Context, _: &Args) -> Result<ExitCode, CliError> {
    let library = context.library()?;
    let checked = check::check(&library, None, Context::now());
    let report = stories::stories(&library, &checked.findings);
    if context.json {
        ui::json(&report)?;
    } else {
        ui::stories(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
