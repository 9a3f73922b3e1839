//! `forklore checkpoint` and `forklore branch`

use std::process::ExitCode;
use std::time::Duration;

use forklore_api::Failure;
use forklore_api::fork::{self, Asked};
use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::ForkRequest;

use crate::context::Context;
use crate::ui;

/// Keep the story at a message, to come back to
///
/// Makes a new chat with the messages up to N and the whole state of the story at N: a lorebook of its own with the entries
/// that were earned by then, the recaps, the variables, an empty queue. The chat you play in goes on untouched; its message
/// gets SillyTavern's flag with a link to the checkpoint.
///
/// Nothing is changed if it is refused. `forklore undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore checkpoint \"Maren Voss/The Lighthouse Road\" --at 28
  forklore checkpoint \"The Lighthouse Road\" --at 28 --name \"Before the oath\"
  forklore checkpoint \"The Lighthouse Road\" --at 28 --dry-run")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    common: Common,
}

/// Fork the story at a message, to play on from there
///
/// Makes a new chat with the messages up to N and the whole state of the story at N: a lorebook of its own with the entries
/// that were earned by then, the recaps, the variables, an empty queue. Whatever happens in one of the two chats from here
/// on never shows up in the other.
///
/// Nothing is changed if it is refused. `forklore undo` takes it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore branch \"Maren Voss/The Lighthouse Road\" --at 14
  forklore branch \"The Lighthouse Road\" --at 14 --swipe 2
  forklore branch \"The Lighthouse Road\" --at 14 --json | jq -r .chat")]
pub(crate) struct BranchArgs {
    #[command(flatten)]
    common: Common,

    /// Show this swipe of the last message in the branch, counted from 0
    #[arg(long, value_name = "K")]
    swipe: Option<usize>,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Chat to fork: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,

    /// The last message of the fork; the last one of the chat if left out
    #[arg(long, value_name = "N")]
    at: Option<usize>,

    /// Name of the new chat; one like SillyTavern's own is made if left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Wait until the memory extension's queue is empty, then fork
    #[arg(long, conflicts_with = "ignore_queue")]
    when_ready: bool,

    /// Fork although work waits in the queue; what that work would write is left out
    #[arg(long)]
    ignore_queue: bool,

    /// Refuse unless a recapped scene ends here and the state of the lorebook is known
    #[arg(long)]
    strict: bool,

    /// Fork and warn, whatever the setting fork.strict says
    #[arg(long, conflicts_with = "strict")]
    no_strict: bool,

    /// Leave the parent's message without a link to the fork
    #[arg(long)]
    no_link: bool,

    /// Give the fork a copy of its own even of a lorebook that is shared by choice
    #[arg(long)]
    copy_book: bool,
}

pub(crate) fn checkpoint(context: &Context, args: &CheckpointArgs) -> Result<ExitCode, Failure> {
    run(context, &args.common, ForkKind::Checkpoint, None)
}

pub(crate) fn branch(context: &Context, args: &BranchArgs) -> Result<ExitCode, Failure> {
    run(context, &args.common, ForkKind::Branch, args.swipe)
}

fn run(context: &Context, args: &Common, kind: ForkKind, swipe: Option<usize>) -> Result<ExitCode, Failure> {
    let request = ForkRequest {
        kind: Some(kind),
        chat: args.chat.clone(),
        at: args.at,
        name: args.name.clone(),
        swipe,
        when_ready: args.when_ready,
        ignore_queue: args.ignore_queue,
        strict: args.strict.then_some(true).or(args.no_strict.then_some(false)),
        link: !args.no_link,
        copy_book: args.copy_book,
        dry_run: context.dry_run,
    };
    let report = loop {
        match context.ask_to_replace(|open| fork::fork(open, &request))? {
            Asked::Made(report) => break report,
            Asked::Waits { count, .. } => {
                ui::waiting(context.json, count);
                // Others may change the vault meanwhile: that is what is waited for.
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    };
    if context.json {
        ui::json(&report)?;
    } else {
        let config = Config::load(&*context.vault()?)?;
        ui::forked(&report, config.checkpoint.show_warnings)?;
    }
    Ok(ExitCode::SUCCESS)
}
