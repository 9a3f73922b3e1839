//! `forklore stories`

use std::process::ExitCode;

use forklore_api::{Failure, look};

use crate::context::Context;
use crate::ui;

/// List the stories: every character and group with its chats
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(context: &Context, _: &Args) -> Result<ExitCode, Failure> {
    let report = context.ask(look::stories)?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::stories(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}
