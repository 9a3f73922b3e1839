//! One file a verb. [`Cli`] is the whole command line; [`Context`] is what every command needs.

mod check;
mod completions;
mod config;
mod delete;
mod demo;
mod diff;
mod export;
mod fork;
mod gc;
mod heal;
mod import;
mod log;
mod show;
mod stories;
mod trash;
mod tree;
mod undo;
mod watch;

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use clap::{Parser, Subcommand};
use forklore_engine::oplog::OpLog;
use forklore_engine::{Config, Library, history, tx};
use forklore_fs::{RealFs, Vfs};

use crate::error::CliError;
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
    Check(check::Args),
    Checkpoint(fork::CheckpointArgs),
    Branch(fork::BranchArgs),
    Heal(heal::Args),
    Log(log::Args),
    Undo(undo::UndoArgs),
    Redo(undo::RedoArgs),
    Delete(delete::Args),
    Trash(trash::Args),
    Gc(gc::Args),
    Watch(watch::Args),
    Export(export::Args),
    Import(import::Args),
    Config(config::Args),
    Demo(demo::Args),
    Completions(completions::Args),
}

/// What every command needs to know of its call.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) dry_run: bool,
    vault: Option<PathBuf>,
    /// The operations that were there before this command, if it is one that changes the vault
    before: RefCell<Option<HashSet<String>>>,
}

impl Context {
    pub(crate) fn new(cli: &Cli) -> Self {
        let named = cli.vault.clone().or_else(|| std::env::var_os("FORKLORE_VAULT").map(PathBuf::from));
        // An empty name is no name: that is how shells unset things.
        Self {
            json: cli.json,
            dry_run: cli.dry_run,
            vault: named.filter(|dir| !dir.as_os_str().is_empty()),
            before: RefCell::default(),
        }
    }

    /// Opens the vault without reading it.
    fn vault(&self) -> Result<Arc<RealFs>, CliError> {
        Ok(Arc::new(find::open(self.vault.as_deref())?))
    }

    /// Opens the vault and finishes what was cut off before.
    fn settled(&self) -> Result<Arc<RealFs>, CliError> {
        let fs = self.vault()?;
        // What cannot be finished now is told by `check`; it is no reason not to read.
        if let Ok(found) = tx::recover(&*fs, Self::now()) {
            ui::recovered(self, &found);
        }
        Ok(fs)
    }

    /// Reads the vault.
    fn library(&self) -> Result<Library, CliError> {
        Ok(Library::load(self.settled()?, &Bar::new(self))?)
    }

    /// Reads the vault to change it: from here on no other Forklore does. A dry run only looks.
    fn library_to_change(&self) -> Result<Library, CliError> {
        if self.dry_run {
            return self.library();
        }
        let fs = self.vault()?;
        let right = tx::Right::take(&*fs, Self::now())?;
        ui::recovered(self, &right.recovered);
        *self.before.borrow_mut() = Some(operations(&*fs)?);
        Ok(Library::load_with(fs, right, &Bar::new(self))?)
    }

    /// Records in history what the operations of this command touched. What was done is done: that it could not be recorded is only
    /// told.
    fn note_operations(&self) {
        let Some(before) = self.before.take() else { return };
        let note = || -> Result<(), CliError> {
            let fs: Arc<dyn Vfs> = self.vault()?;
            if !Config::load(&*fs)?.history.operations {
                return Ok(());
            }
            for id in operations(&*fs)?.difference(&before) {
                if is_large(&*fs, id)? && in_background(fs_root(self)?.as_path(), id).is_ok() {
                    continue;
                }
                note(&fs, id)?;
            }
            Ok(())
        };
        if let Err(e) = note() {
            ui::not_noted(self, &e.message);
        }
    }

    /// The time in milliseconds since 1970.
    #[allow(clippy::disallowed_methods, reason = "this is the edge where the time comes in")]
    fn now() -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<ExitCode, CliError> {
    let done = dispatch(context, command)?;
    context.note_operations();
    Ok(done)
}

/// Ids of all operations in the log.
fn operations(fs: &dyn Vfs) -> Result<HashSet<String>, CliError> {
    Ok(OpLog::read(fs)?.operations.iter().map(|operation| operation.id.clone()).collect())
}

/// Records in history what an operation touched.
fn note(fs: &Arc<dyn Vfs>, id: &str) -> Result<(), CliError> {
    let log = OpLog::read(&**fs)?;
    history::note(fs, log.find(id)?, Context::now())?;
    Ok(())
}

/// So many bytes are recorded before the command ends; more is left to a process of its own, because nobody should wait for it.
const AT_ONCE: u64 = 4 << 20;

fn is_large(fs: &dyn Vfs, id: &str) -> Result<bool, CliError> {
    let log = OpLog::read(fs)?;
    let mut bytes = 0;
    for file in history::touched(log.find(id)?) {
        bytes += fs.identity(&file)?.map_or(0, |identity| identity.len);
    }
    Ok(bytes > AT_ONCE)
}

fn fs_root(context: &Context) -> Result<PathBuf, CliError> {
    Ok(context.vault()?.root().to_path_buf())
}

/// Starts a process that records what an operation touched.
fn in_background(vault: &Path, id: &str) -> std::io::Result<()> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.arg("--vault").arg(vault).args(["watch", "--operation", id]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

fn dispatch(context: &Context, command: &Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Stories(args) => stories::run(context, args),
        Command::Tree(args) => tree::run(context, args),
        Command::Show(args) => show::run(context, args),
        Command::Diff(args) => diff::run(context, args),
        Command::Check(args) => check::run(context, args),
        Command::Checkpoint(args) => fork::checkpoint(context, args),
        Command::Branch(args) => fork::branch(context, args),
        Command::Heal(args) => heal::run(context, args),
        Command::Log(args) => log::run(context, args),
        Command::Undo(args) => undo::undo(context, args),
        Command::Redo(args) => undo::redo(context, args),
        Command::Delete(args) => delete::run(context, args),
        Command::Trash(args) => trash::run(context, args),
        Command::Gc(args) => gc::run(context, args),
        Command::Watch(args) => watch::run(context, args),
        Command::Export(args) => export::run(context, args),
        Command::Import(args) => import::run(context, args),
        Command::Config(args) => config::run(context, args),
        Command::Demo(args) => demo::run(context, args),
        Command::Completions(args) => completions::run(args),
    }
}
