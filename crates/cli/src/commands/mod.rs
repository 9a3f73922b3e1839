//! One file a verb. [`Cli`] is the whole command line; [`Context`] is what every command needs.

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
mod log;
mod rename;
mod restore;
mod serve;
mod show;
mod stories;
mod trash;
mod tree;
mod undo;
mod watch;

use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use clap::{Parser, Subcommand};
use forklore_api::{Failure, OpenVault, note};
use forklore_fs::{RealFs, Vfs};
use forklore_journal::Recovered;

use crate::find;
use crate::ui::{self, Bar};

/// Fork your story, keep its lore
///
/// Forklore looks at the chats of a SillyTavern user ("the vault") and knows which chat was forked from which, at which
/// message, and what the lorebook, the recaps and the queue were at any message. It makes forks that carry exactly that
/// state, each with a lorebook of its own.
#[derive(Debug, Parser)]
#[command(
    name = "forklore",
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
}

/// What every command needs to know of its call.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) dry_run: bool,
    vault: Option<PathBuf>,
}

impl Context {
    pub(crate) fn new(cli: &Cli) -> Self {
        let named = cli.vault.clone().or_else(|| std::env::var_os("FORKLORE_VAULT").map(PathBuf::from));
        // An empty name is no name: that is how shells unset things.
        Self { json: cli.json, dry_run: cli.dry_run, vault: named.filter(|dir| !dir.as_os_str().is_empty()) }
    }

    /// Opens the vault without reading it.
    fn vault(&self) -> Result<Arc<RealFs>, Failure> {
        Ok(Arc::new(find::open(self.vault.as_deref())?))
    }

    /// Asks the vault something, and records what was done to it.
    fn ask<T>(&self, call: impl FnOnce(&OpenVault<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        self.ask_in(&self.vault()?, call)
    }

    /// As [`Context::ask`], for what puts a large file in the place of another: nobody waits until the system has let go of that.
    fn ask_to_replace<T>(
        &self,
        call: impl FnOnce(&OpenVault<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let real = self.vault()?;
        real.hold_removed();
        self.ask_in(&real, call)
    }

    fn ask_in<T>(
        &self,
        real: &Arc<RealFs>,
        call: impl FnOnce(&OpenVault<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let told = |found: &[Recovered]| ui::recovered(self, found);
        let fs: Arc<dyn Vfs> = real.clone();
        let before = note::operations(&*fs);
        let bar = Bar::new(self);
        let answer = call(&OpenVault {
            fs: fs.clone(),
            progress: &bar,
            told: &told,
            settle: true,
            library_cache: None,
        })?;
        // What was done is done: that it could not be recorded is only told.
        if let Err(e) = note::since(&fs, &before, &|id| in_background(real, id).is_ok()) {
            ui::not_noted(self, &e.message);
        }
        Ok(answer)
    }
}

/// Starts a process that records what an operation touched. It also lets go of the largest file that was removed, as its input, which it
/// does not read: that takes a while, and nobody should wait for it.
fn in_background(vault: &RealFs, id: &str) -> std::io::Result<()> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("--vault").arg(vault.root()).args(["watch", "--operation", id]);
    let removed = vault.removed().into_iter().max_by_key(|file| file.metadata().map_or(0, |meta| meta.len()));
    command.stdin(removed.map_or_else(Stdio::null, Stdio::from));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
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
        Command::Completions(args) => completions::run(args),
    }
}
