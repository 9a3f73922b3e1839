//! `forklore memory`

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use forklore_api::memory::{self, Asked, Deciding, EntryOf, Running, Switching};
use forklore_api::{ErrorCode, Failure, OpenVault};
use forklore_config::Config;
use forklore_engine::memory::{Choice, MemoryStatus, Survey};
use forklore_fs::{VaultPath, Vfs};
use forklore_memory::{Provenance, Question};
use forklore_model::{AskError, Endpoint, ModelError, OpenAi, Stop};

use super::export::place;
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
  forklore memory keep \"Long road\" 41    message 41 was edited, and what was made of it still holds
  forklore memory why \"Long road\" Mara     what an entry rests on")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Turn it on for a chat, and tell what it would cost
    On {
        #[command(flatten)]
        chat: Chat,
        /// Where a memory extension keeps the chat: go on from what it has kept; nothing of it is asked again
        #[arg(long)]
        take_over: bool,
    },
    /// Turn it off; what is written stays
    Off(Chat),
    /// Tell how it stands: scenes, what is missing, what it would cost
    Status(Chat),
    /// Ask what is missing, and write it into the chat and its lorebook
    ///
    /// Every answer is kept at once: stop it at any time, and it goes on where it was.
    Run(Run),
    /// Ask about one scene again, and go by the new answer
    ///
    /// The old answer is kept: undo goes back to it.
    Ask {
        #[command(flatten)]
        at: Message,
        #[command(flatten)]
        model: Model,
    },
    /// A message was edited, and what was remembered of its scene still holds: nothing is asked again
    Keep(Message),
    /// Let a scene end with a message
    Break {
        #[command(flatten)]
        at: Message,
        /// No scene ends there
        #[arg(long)]
        remove: bool,
    },
    /// Let entries be written that wait for it (where `memory.approve` is set)
    Approve {
        #[command(flatten)]
        chat: Chat,
        /// Titles of entries, or names in them; all that wait if left out
        entries: Vec<String>,
    },
    /// Keep an entry as it is, whatever is learnt later
    Lock(Entry),
    /// Let an entry that was locked, deleted or rewritten be memory's again
    Release(Entry),
    /// Tell the scenes and answers that an entry rests on
    Why(Entry),
    /// Tell what memory has cost, by day and by story
    Bill,
    /// Tell in which words it is asked, and where you can put your own
    Prompts {
        /// Print the words for one kind of question
        #[arg(value_parser = ["boundary", "facts", "identity", "recap", "compaction", "combined"])]
        kind: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
struct Chat {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
}

#[derive(Debug, clap::Args)]
struct Message {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
    /// A message, counted from 0
    message: usize,
}

#[derive(Debug, clap::Args)]
struct Entry {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
    /// The entry's title, or a name in it
    entry: String,
}

#[derive(Debug, clap::Args)]
struct Model {
    /// Address of a server that talks as OpenAI's does: llama.cpp, KoboldCpp, Ollama, vLLM, OpenRouter
    ///
    /// Left out, it is what `forklore config memory.url` says. A key that it asks for is taken from the environment variable
    /// FORKLORE_MODEL_KEY.
    #[arg(long, value_name = "URL", env = "FORKLORE_MODEL_URL")]
    url: Option<String>,
    /// The model to ask, where the server has several; else what `forklore config memory.model` says
    #[arg(long, value_name = "NAME", env = "FORKLORE_MODEL")]
    model: Option<String>,
    /// How many tokens the model can read and write; longer scenes are asked in parts
    #[arg(long, value_name = "TOKENS", default_value_t = 0, hide_default_value = true)]
    context: usize,
    /// Certificate of a server of your own (PEM), which is trusted in place of those that everybody trusts
    #[arg(long, value_name = "FILE", env = "FORKLORE_MODEL_CERTIFICATE")]
    certificate: Option<OsString>,
}

#[derive(Debug, clap::Args)]
struct Run {
    /// Chat: FOLDER/CHAT, group:ID/CHAT, or its name
    chat: String,
    #[command(flatten)]
    model: Model,
    /// Ask no more than this many questions
    #[arg(long, value_name = "N")]
    at_most: Option<usize>,
    /// Ask questions again that had no reply which could be used
    #[arg(long)]
    retry: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    match &args.what {
        What::On { chat, take_over } => switch(context, &chat.chat, true, *take_over)?,
        What::Off(chat) => switch(context, &chat.chat, false, false)?,
        What::Status(Chat { chat }) => {
            let status = context.ask(|open: &OpenVault<'_>| memory::memory_status(open, chat))?;
            tell(context, &status, ui::memory_status)?;
        }
        What::Run(run) => {
            let running = Running {
                chat: run.chat.clone(),
                at_most: run.at_most,
                retry: run.retry,
                ..Running::default()
            };
            return ask(context, &run.model, &running);
        }
        What::Ask { at, model } => {
            let running = Running { chat: at.chat.clone(), again: Some(at.message), ..Running::default() };
            return ask(context, model, &running);
        }
        What::Keep(at) => decide(context, &at.chat, vec![Choice::Keep(at.message)])?,
        What::Break { at, remove } => {
            let choice = if *remove { Choice::Join(at.message) } else { Choice::Break(at.message) };
            decide(context, &at.chat, vec![choice])?;
        }
        What::Approve { chat, entries } => {
            let choices = entries.iter().map(|entry| Choice::Approve(entry.clone())).collect();
            decide(context, &chat.chat, if entries.is_empty() { vec![Choice::ApproveAll] } else { choices })?;
        }
        What::Lock(of) => decide(context, &of.chat, vec![Choice::Lock(of.entry.clone())])?,
        What::Release(of) => decide(context, &of.chat, vec![Choice::Release(of.entry.clone())])?,
        What::Why(Entry { chat, entry }) => {
            let of = EntryOf { chat: chat.clone(), entry: entry.clone() };
            let report = context.ask(|open: &OpenVault<'_>| memory::memory_why(open, &of))?;
            tell(context, &report, ui::memory_why)?;
        }
        What::Bill => {
            let bill = context.ask(memory::bill)?;
            tell(context, &bill, ui::memory_bill)?;
        }
        What::Prompts { kind } => {
            let report = context.ask(memory::memory_prompts)?;
            tell(context, &report, |report| ui::memory_prompts(report, kind.as_deref()))?;
        }
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

fn switch(context: &Context, chat: &str, on: bool, take_over: bool) -> Result<(), Failure> {
    let switching = Switching { chat: chat.to_owned(), on, take_over, dry_run: context.dry_run };
    let status = context.ask(|open: &OpenVault<'_>| memory::switch(open, &switching))?;
    tell(context, &status, |status| ui::memory_switched(status, context.dry_run))
}

fn decide(context: &Context, chat: &str, choices: Vec<Choice>) -> Result<(), Failure> {
    let deciding = Deciding { chat: chat.to_owned(), choices, dry_run: context.dry_run };
    let report = context.ask(|open: &OpenVault<'_>| memory::decide(open, &deciding))?;
    tell(context, &report, ui::memory_decided)
}

/// The model that is said, or that is set.
fn model(context: &Context, said: &Model) -> Result<OpenAi, Failure> {
    let set = context.ask(|open: &OpenVault<'_>| Ok(Config::load(&*open.fs)?.memory))?;
    let url = said.url.clone().unwrap_or(set.url);
    let hint = "Say --url as your server tells it, such as http://127.0.0.1:8080; or once for all: forklore config memory.url URL";
    if url.is_empty() {
        return Err(Failure::new(ErrorCode::Usage, "There is no model to ask yet", hint));
    }
    // An empty variable of the environment says nothing.
    let named = said.certificate.as_ref().filter(|file| !file.is_empty());
    let endpoint = Endpoint {
        url,
        model: said.model.clone().unwrap_or(set.model),
        key: std::env::var("FORKLORE_MODEL_KEY").ok().filter(|key| !key.is_empty()),
        context: said.context,
        timeout: Duration::from_secs(300),
        certificate: named.map(|file| certificate(Path::new(file))).transpose()?,
    };
    OpenAi::new(endpoint).map_err(|e| Failure::new(ErrorCode::Usage, e.to_string(), hint))
}

/// What is in a file of certificates.
fn certificate(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |why: String| {
        let message = format!("The certificate {} cannot be read: {why}", path.display());
        Failure::typed(ErrorCode::Io, message, "Name the PEM file that your server was started with.")
    };
    // A link is fine here: the user named it.
    let path = forklore_fs::canonical(path).map_err(|e| unreadable(e.to_string()))?;
    let (dir, name) = place(&path)?;
    let file = VaultPath::root().join(&name).map_err(|e| Failure::usage(e.to_string()))?;
    let bytes = dir.read(&file).map_err(|e| unreadable(e.source.to_string()))?;
    bytes.ok_or_else(|| unreadable("it is not there".to_owned()))
}

fn ask(context: &Context, said: &Model, running: &Running) -> Result<ExitCode, Failure> {
    if context.dry_run {
        let status = context.ask(|open: &OpenVault<'_>| memory::memory_status(open, &running.chat))?;
        tell(context, &status, ui::memory_status)?;
        return Ok(ExitCode::SUCCESS);
    }
    let model = model(context, said)?;
    let stop = pause();
    let mut ask = |question: &Question, found: &Survey| {
        let (line, prompts) = (&found.line, &found.ways.prompts);
        match forklore_model::ask(&model, question, line, prompts, &stop, &|pause| wait(&stop, pause)) {
            Ok((reply, said)) => {
                let (tokens_in, tokens_out) = (said.tokens_in, said.tokens_out);
                let provenance =
                    Provenance { model: said.model, tokens_in, tokens_out, ..Provenance::default() };
                Asked::Answered(Box::new((reply, provenance)))
            }
            Err(AskError::Parked { why, said }) => Asked::Parked(why, said.tokens_in, said.tokens_out),
            Err(AskError::Failed { why: ModelError::Stopped, .. }) => {
                Asked::Stopped("you have paused it".to_owned())
            }
            Err(AskError::Failed { why, .. }) => Asked::Stopped(why.to_string()),
        }
    };
    let progress = |status: &MemoryStatus, asked: usize| {
        if !context.json {
            ui::remembering(status, asked);
        }
    };
    let report = context.ask(|open: &OpenVault<'_>| memory::run(open, running, &mut ask, &progress))?;
    tell(context, &report, ui::remembered)?;
    let whole = report.stopped.is_none() || running.at_most.is_some_and(|most| report.asked >= most);
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What Ctrl-C sets: the question that is being asked is given up, what was answered is written down. Whoever is in a hurry presses it twice.
fn pause() -> Stop {
    let stop = Stop::default();
    let pressed = stop.clone();
    let listen = async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            pressed.stop();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130);
        }
    };
    let thread = std::thread::Builder::new().name("pause".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map(|runtime| runtime.block_on(listen))
    });
    // Without it, Ctrl-C ends the program at once: nothing is lost that way either.
    drop(thread);
    stop
}

/// Waits, but not for what nobody waits for any more.
fn wait(stop: &Stop, pause: Duration) {
    const LOOK: Duration = Duration::from_millis(50);
    let mut left = pause;
    while !left.is_zero() && !stop.is_stopped() {
        let part = left.min(LOOK);
        std::thread::sleep(part);
        left -= part;
    }
}
