//! One file a verb. [`Cli`] is the whole command line, [`run`] does what it says.

mod adopt;
mod append;
mod blame;
mod check;
mod completions;
mod config;
mod delete;
mod demo;
mod diff;
mod doctor;
mod export;
mod forget;
mod fork;
mod gc;
mod heal;
mod history;
mod import;
mod install;
mod learn;
mod log;
mod manual;
mod memory;
mod pick;
mod rename;
mod resolve;
mod restore;
mod serve;
mod show;
mod stories;
mod trash;
mod tree;
mod undo;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use forklore_api::Failure;

use crate::context::Context;

/// Fork your story, keep its lore
///
/// Forklore looks at the chats of a SillyTavern user ("the vault") and knows which chat was forked from which, at which
/// message, and what the lorebook, the recaps and the queue were at any message. It makes forks that carry exactly that
/// state, each with a lorebook of its own.
#[derive(Debug, Parser)]
#[command(
    name = "forklore",
    // On Windows it would be called by its file, forklore.exe.
    bin_name = "forklore",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Start with `forklore demo` if you have no SillyTavern at hand.

A chat is named FOLDER/CHAT, or group:ID/CHAT; its name alone works where it is
unique. FOLDER is the character's folder. Messages count from 0.

Exit status: 0 done; 1 refused, or `check` found an error; 2 wrong usage."
)]
pub(crate) struct Cli {
    /// SillyTavern user folder (the one with "chats" and "worlds"), or the install that holds it
    ///
    /// Without it, the folder in the environment variable FORKLORE_VAULT; without that, the vault is looked for in the current
    /// folder and those above it.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) vault: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Show what would be done and do nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Stories(stories::Args),
    Tree(tree::Args),
    Show(show::Args),
    Diff(diff::Args),
    History(history::Args),
    Blame(blame::Args),
    Check(check::Args),
    Checkpoint(fork::CheckpointArgs),
    Branch(fork::BranchArgs),
    Learn(learn::Args),
    Append(append::Args),
    Pick(pick::Args),
    Adopt(adopt::Args),
    Memory(memory::Args),
    Resolve(resolve::Args),
    Heal(heal::Args),
    Restore(restore::Args),
    Log(log::Args),
    Undo(undo::UndoArgs),
    Redo(undo::RedoArgs),
    Delete(delete::Args),
    Rename(rename::Args),
    Trash(trash::Args),
    Gc(gc::Args),
    Watch(watch::Args),
    Export(export::Args),
    Import(import::Args),
    Forget(forget::ForgetArgs),
    Prune(forget::PruneArgs),
    Config(config::Args),
    Doctor(doctor::Args),
    Serve(serve::Args),
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
    Demo(demo::Args),
    Completions(completions::Args),
    Manual(manual::Args),
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Stories(args) => stories::run(context, args),
        Command::Tree(args) => tree::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Diff(args) => diff::run(context, args),
        Command::History(args) => history::run(context, args),
        Command::Blame(args) => blame::run(context, args),
        Command::Check(args) => check::run(context, args),
        Command::Checkpoint(args) => fork::checkpoint(context, args),
        Command::Branch(args) => fork::branch(context, args),
        Command::Learn(args) => learn::run(context, args),
        Command::Append(args) => append::run(context, args),
        Command::Pick(args) => pick::run(context, args),
        Command::Adopt(args) => adopt::run(context, args),
        Command::Memory(args) => memory::run(context, args),
        Command::Resolve(args) => resolve::run(context, args),
        Command::Heal(args) => heal::run(context, args),
        Command::Restore(args) => restore::run(context, args),
        Command::Log(args) => log::run(context, args),
        Command::Undo(args) => undo::undo(context, args),
        Command::Redo(args) => undo::redo(context, args),
        Command::Delete(args) => delete::run(context, args),
        Command::Rename(args) => rename::run(context, args),
        Command::Trash(args) => trash::run(context, args),
        Command::Gc(args) => gc::run(context, args),
        Command::Watch(args) => watch::run(context, args),
        Command::Export(args) => export::run(context, args),
        Command::Import(args) => import::run(context, args),
        Command::Forget(args) => forget::forget(context, args),
        Command::Prune(args) => forget::prune(context, args),
        Command::Config(args) => config::run(context, args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Serve(args) => serve::run(context, args),
        Command::Install(args) => install::install(context, args),
        Command::Uninstall(args) => install::uninstall(context, args),
        Command::Demo(args) => demo::run(context, args),
        Command::Completions(args) => completions::run(args, Cli::command()),
        Command::Manual(args) => manual::run(args, Cli::command()),
    }
}
