//! The `forklore` command.
//!
//! `main` parses, `commands` holds one file a verb (its arguments, whose docs are the help text, and a thin function), `context` asks the
//! vault, `ui` draws for people. What is asked, answered and refused is `forklore-api`'s affair; rules live in the engine, none here.

mod commands;
mod context;
mod find;
mod ui;

use std::process::ExitCode;

use clap::Parser;
use forklore_api::Failure;

use crate::commands::Cli;
use crate::context::Context;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return usage(&e),
    };
    let context = Context::new(cli.vault.as_deref(), cli.json, cli.dry_run);
    match commands::run(&context, &cli.command) {
        Ok(code) => code,
        Err(e) if e.is_broken_pipe() => ExitCode::SUCCESS,
        Err(e) => {
            ui::error(&e, context.json);
            ExitCode::from(e.code.kind().exit_code())
        }
    }
}

/// Help and version are answers, not errors. With `--json` even a wrong call gets one JSON document.
fn usage(e: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if e.use_stderr() && wants_json {
        let text = e.render().to_string();
        let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
        let sentence = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        // Nobody is left to tell that this could not be told.
        let _gone = ui::json(&Failure::usage(sentence.trim_start_matches("error: ").to_owned()).as_json());
    } else if e.print().is_err() {
        // Nobody is left to read it.
    }
    ExitCode::from(if e.use_stderr() { 2 } else { 0 })
}
