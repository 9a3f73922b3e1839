//! `forklore memory`

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use forklore_api::memory::{self, Asked, Running, Switching};
use forklore_api::{ErrorCode, Failure, OpenVault, now};
use forklore_engine::memory::{MemoryStatus, Survey};
use forklore_memory::{Provenance, Question};
use forklore_model::{AskError, Endpoint, OpenAi, Stop};

use crate::context::Context;
use crate::ui;

/// Remember the story: scenes, facts and recaps that follow every edit, swipe and fork
///
/// A language model of yours reads each scene once and writes down what happened and what was learnt of whom. Entries of the lorebook and
/// recaps are then computed from that: edit a message and only what depends on it is asked again; fork the chat and nothing is. What you
/// write or delete in the lorebook yourself always wins.
///
/// It is off until you turn it on for a chat. Nothing is asked before you have seen what it would cost.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore memory on \"Long road\"           see what it would cost, and turn it on
  forklore memory run \"Long road\" --url http://127.0.0.1:8080
  forklore memory why \"Long road\" Mara     what an entry rests on")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Turn it on for a chat, and tell what it would cost
    On(Chat),
    /// Turn it off; what is written stays
    Off(Chat),
    /// Tell how it stands: scenes, what is missing, what it would cost
    Status(Chat),
    /// Ask what is missing, and write it into the chat and its lorebook
    ///
    /// Every answer is kept at once: stop it at any time, and it goes on where it was.
    Run(Run),
    /// Tell the scenes and answers that an entry rests on
    Why {
        /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
        chat: String,
        /// The entry's title, or the name in it
        entry: String,
    },
}

#[derive(Debug, clap::Args)]
struct Chat {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
}

#[derive(Debug, clap::Args)]
struct Run {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
    /// Address of a server that talks as OpenAI's does: llama.cpp, KoboldCpp, Ollama, vLLM, OpenRouter
    ///
    /// A key that it asks for is taken from the environment variable FORKLORE_MODEL_KEY.
    #[arg(long, value_name = "URL", env = "FORKLORE_MODEL_URL")]
    url: String,
    /// The model to ask, where the server has several
    #[arg(long, value_name = "NAME", env = "FORKLORE_MODEL", default_value = "default")]
    model: String,
    /// How many tokens the model can read and write; longer scenes are asked in parts
    #[arg(long, value_name = "TOKENS", default_value_t = 0, hide_default_value = true)]
    context: usize,
    /// Ask no more than this many questions
    #[arg(long, value_name = "N")]
    at_most: Option<usize>,
    /// Ask questions again that had no reply which could be used
    #[arg(long)]
    again: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    match &args.what {
        What::On(chat) => switch(context, &chat.chat, true)?,
        What::Off(chat) => switch(context, &chat.chat, false)?,
        What::Status(Chat { chat }) => {
            let status = context.ask(|open: &OpenVault<'_>| memory::memory_status(open, chat))?;
            tell(context, &status, ui::memory_status)?;
        }
        What::Why { chat, entry } => {
            let report = context.ask(|open: &OpenVault<'_>| memory::memory_why(open, chat, entry))?;
            tell(context, &report, ui::memory_why)?;
        }
        What::Run(run) => return ask(context, run),
    }
    Ok(ExitCode::SUCCESS)
}

fn tell<T: serde::Serialize>(
    context: &Context,
    report: &T,
    draw: impl FnOnce(&T) -> std::io::Result<()>,
) -> Result<(), Failure> {
    if context.json {
        ui::json(report)?;
    } else {
        draw(report)?;
    }
    Ok(())
}

fn switch(context: &Context, chat: &str, on: bool) -> Result<(), Failure> {
    let switching = Switching { chat: chat.to_owned(), on, dry_run: context.dry_run };
    let status = context.ask(|open: &OpenVault<'_>| memory::switch(open, &switching))?;
    tell(context, &status, |status| ui::memory_switched(status, context.dry_run))
}

fn ask(context: &Context, args: &Run) -> Result<ExitCode, Failure> {
    if context.dry_run {
        let status = context.ask(|open: &OpenVault<'_>| memory::memory_status(open, &args.chat))?;
        tell(context, &status, ui::memory_status)?;
        return Ok(ExitCode::SUCCESS);
    }
    let endpoint = Endpoint {
        url: args.url.clone(),
        model: args.model.clone(),
        key: std::env::var("FORKLORE_MODEL_KEY").ok().filter(|key| !key.is_empty()),
        context: args.context,
        timeout: Duration::from_secs(300),
    };
    let model = OpenAi::new(endpoint).map_err(|e| {
        Failure::new(
            ErrorCode::Usage,
            e.to_string(),
            "Say --url as your server tells it, such as http://127.0.0.1:8080.",
        )
    })?;
    let stop = Stop::default();
    let mut ask = |question: &Question, found: &Survey| {
        let (line, prompts) = (&found.line, &found.prompts);
        match forklore_model::ask(&model, question, line, prompts, &stop, &std::thread::sleep) {
            Ok((reply, said)) => {
                let (tokens_in, tokens_out) = (said.tokens_in, said.tokens_out);
                let provenance = Provenance {
                    model: said.model,
                    tokens_in,
                    tokens_out,
                    at: now(),
                    ..Provenance::default()
                };
                Asked::Answered(Box::new((reply, provenance)))
            }
            Err(AskError::Parked { why, .. }) => Asked::Parked(why),
            Err(AskError::Failed { why, .. }) => Asked::Stopped(why.to_string()),
        }
    };
    let running = Running { chat: args.chat.clone(), at_most: args.at_most, again: args.again };
    let progress = |status: &MemoryStatus, asked: usize| {
        if !context.json {
            ui::remembering(status, asked);
        }
    };
    let report = context.ask(|open: &OpenVault<'_>| memory::run(open, &running, &mut ask, &progress))?;
    tell(context, &report, ui::remembered)?;
    let whole = report.stopped.is_none() || args.at_most.is_some_and(|most| report.asked >= most);
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
