//! `forklore heal`

use std::io::{self, BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use clap::ValueEnum;
use forklore_engine::Config;
use forklore_engine::usecase::check;
use forklore_engine::usecase::heal::{self, Choice, Question};

use super::Context;
use crate::error::CliError;
use crate::ui;

/// Give every fork what is its own, and repair what `check` found
///
/// Forks that SillyTavern or an extension made share their parent's lorebook and know its future. Healing adopts them: each gets
/// a lorebook of its own with what its own line has earned, and a running recap without the parent's later scenes. What came
/// from elsewhere is left out; what nobody can attribute stays with the chat the book was made for and is kept in the record.
///
/// No existing lorebook is changed: a chat whose book is wrong is bound to a new one, and asked about first if the old one was
/// made for it. Lorebooks kept by hand are never touched. All of it is one operation; `forklore undo` takes it back.
///
/// Reload SillyTavern's page afterwards: a page that has a healed chat open will ask you to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore heal --dry-run
  forklore heal
  forklore heal \"Maren Voss/Blue door\" --choose rebuild")]
pub(crate) struct Args {
    /// Chat to heal; all of them if left out
    chat: Option<String>,

    /// What becomes of a lorebook that is missing, shared or wrong, instead of asking
    #[arg(long, value_name = "WHAT")]
    choose: Option<Chosen>,

    /// Say yes to all questions
    #[arg(long)]
    yes: bool,
}

/// What becomes of a lorebook.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Chosen {
    /// A new one with what the chat's own line has earned
    Rebuild,
    /// A new one without entries
    Empty,
    /// A copy of the parent's as it is now
    Copy,
    /// None
    Detach,
    /// Leave it as it is, and say no more about it
    Accept,
}

impl From<Chosen> for Choice {
    fn from(chosen: Chosen) -> Self {
        match chosen {
            Chosen::Rebuild => Self::Rebuild,
            Chosen::Empty => Self::Empty,
            Chosen::Copy => Self::Copy,
            Chosen::Detach => Self::Detach,
            Chosen::Accept => Self::Accept,
        }
    }
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, CliError> {
    let config = Config::load(&*context.vault()?)?;
    let library = context.library_to_change()?;
    let only = args.chat.as_deref().map(|name| library.find_chat(name)).transpose()?;
    let interactive = !context.json && io::stdin().is_terminal() && io::stdout().is_terminal();
    let decide = |question: &Question| match args.choose {
        Some(chosen) => Some(chosen.into()),
        None if args.yes => Some(Choice::Rebuild),
        None if interactive => ask(question),
        // Nobody to ask: a new book harms nobody, leaving a book that was made for the chat waits for a word.
        None => (!question.ask_first).then_some(Choice::Rebuild),
    };
    let now = Context::now();
    let plan = heal::plan(&library, only, &config, &decide, now)?;
    let nothing = plan.is_empty();
    let mut report = if context.dry_run { plan.report } else { heal::execute(&library, plan, now)? };
    if !context.dry_run && !nothing {
        let look_again = || -> Result<_, CliError> {
            let fresh = context.library()?;
            let only = args.chat.as_deref().map(|name| fresh.find_chat(name)).transpose()?;
            Ok(check::check(&fresh, only, Context::now()).findings)
        };
        // It is done. If the new look fails, what the plan leaves is told: an error would say that nothing was changed.
        report.left = look_again().unwrap_or(report.left);
    }
    if context.json {
        ui::json(&report)?;
    } else {
        ui::healed(&report, context.dry_run)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks; an empty answer takes what is offered first, "no" leaves it.
fn ask(question: &Question) -> Option<Choice> {
    ui::question(question).ok()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).ok()?;
    match answer.trim().to_lowercase().as_str() {
        "" | "r" | "rebuild" | "y" | "yes" => Some(Choice::Rebuild),
        "e" | "empty" => Some(Choice::Empty),
        "c" | "copy" => Some(Choice::Copy),
        "d" | "detach" => Some(Choice::Detach),
        "a" | "accept" => Some(Choice::Accept),
        _ => None,
    }
}
