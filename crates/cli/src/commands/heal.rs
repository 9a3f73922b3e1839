//! `forklore heal`

use std::io::{self, BufRead as _};
use std::process::ExitCode;

use clap::ValueEnum;
use forklore_api::heal::{self, Cure};
use forklore_api::{Failure, OpenVault};
use forklore_engine::heal::{Choice, Question};
use forklore_vault::{NoProgress, Progress};

use crate::context::Context;
use crate::ui;

/// Give every fork what is its own, and repair what `check` found
///
/// Forks that SillyTavern or an extension made share their parent's lorebook and know its future. Healing adopts them: each gets
/// a lorebook of its own with what its own line has earned, and a running recap without the parent's later scenes. What came
/// from elsewhere is left out; what nobody can attribute stays with the chat the book was made for and is kept in the record.
///
/// No existing lorebook is changed: a chat whose book is wrong is bound to a new one, and asked about first if the old one was
/// made for it. Lorebooks kept by hand are never touched, and may be shared; a chat that shall have its own copy gets it with
/// `forklore heal CHAT --choose copy`. All of it is one operation; `forklore undo` takes it back.
///
/// Reload SillyTavern's page afterwards: a page that has a healed chat open will ask you to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore heal --dry-run
  forklore heal
  forklore heal \"Maren Voss/Blue door\" --choose rebuild
  forklore heal \"Maren Voss/Other night\" --choose copy")]
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
    /// The same one under its new name, if it was renamed
    Follow,
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
            Chosen::Follow => Self::Follow,
            Chosen::Rebuild => Self::Rebuild,
            Chosen::Empty => Self::Empty,
            Chosen::Copy => Self::Copy,
            Chosen::Detach => Self::Detach,
            Chosen::Accept => Self::Accept,
        }
    }
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let interactive = context.is_interactive();
    let cure = Cure { choose: args.choose.map(Choice::from), yes: args.yes, ..Cure::default() };
    let asks = interactive && args.choose.is_none() && !args.yes;
    let decide = |question: &Question| {
        if asks && !question.is_optional() { ask(question) } else { heal::chosen(&cure, question) }
    };
    let heal = |open: &OpenVault<'_>| {
        // No bar is drawn over a question.
        let progress: &dyn Progress = if asks { &NoProgress } else { open.progress };
        heal::heal_with(open, args.chat.as_deref(), &decide, context.dry_run, progress)
    };
    let report = context.ask(heal)?;
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
        "" | "y" | "yes" => question.choices.first().copied(),
        "f" | "follow" => Some(Choice::Follow),
        "r" | "rebuild" => Some(Choice::Rebuild),
        "e" | "empty" => Some(Choice::Empty),
        "c" | "copy" => Some(Choice::Copy),
        "d" | "detach" => Some(Choice::Detach),
        "a" | "accept" => Some(Choice::Accept),
        _ => None,
    }
}
