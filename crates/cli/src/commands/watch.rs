//! `forklore watch`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use forklore_api::{Failure, note, now};
use forklore_fs::{Hints, RealFs, Vfs};
use forklore_vault::history::{self, Closed, Watch};
use forklore_vault::{Library, NoProgress};
use serde::Serialize;

use crate::context::Context;
use crate::ui::{self, Bar};

/// Record every change of chats and lorebooks while SillyTavern runs
///
/// With history, the state at any message is exact, not only where a scene ends: `show --at`, `checkpoint` and `branch` use it, and
/// `forklore history`, `blame` and `restore` look back. Nothing that SillyTavern or an extension overwrites is lost any more.
///
/// The first time, everything there is gets recorded, SillyTavern's own backups included. Leave it running; end it with Ctrl-C,
/// at any time. The SillyTavern plugin does the same by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore watch
  forklore watch --once          record what has changed until now, and end
  forklore config history.dir /mnt/big/forklore")]
pub(crate) struct Args {
    /// Record what has changed until now, and end
    #[arg(long)]
    once: bool,

    /// Do not read in SillyTavern's backups of chats that are seen for the first time
    #[arg(long)]
    no_backups: bool,

    /// Seconds between two looks at all files, for changes that the system does not report
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,

    /// Record what this operation touched, and end
    #[arg(long, value_name = "OP", hide = true)]
    operation: Option<String>,
}

#[derive(Serialize)]
struct WatchReport {
    /// Files of which something new was recorded
    recorded: Vec<String>,
    /// How many backups told something new
    backups: usize,
    /// Files and folders that could not be read, which are recorded once they can
    closed: Vec<NotRead>,
}

#[derive(Serialize)]
struct NotRead {
    /// The file or folder
    path: String,
    /// Why
    why: String,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let real = context.vault()?;
    let fs: Arc<dyn Vfs> = real.clone();
    if let Some(id) = &args.operation {
        note::one(&fs, id)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut watch = Watch::open(fs.clone())?;
    let mut backups = 0;
    if !args.no_backups {
        let library = Library::load(fs, &Bar::new(context.json))?;
        backups = history::rescue(&library, now(), &Bar::new(context.json))?;
    }
    if args.once {
        let looked = watch.sweep(now(), &Bar::new(context.json))?;
        let recorded = looked.recorded.iter().map(|file| file.as_str().to_owned()).collect();
        let closed = looked.closed.iter();
        let closed = closed.map(|one| NotRead { path: one.path.as_str().to_owned(), why: one.why.clone() });
        let report = WatchReport { recorded, backups, closed: closed.collect() };
        if context.json {
            ui::json(&report)?;
        } else {
            ui::watched(&report.recorded, report.backups)?;
            looked.closed.iter().try_for_each(|closed| ui::not_read(&closed.why))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    keep_watching(context, args, &mut watch, &real)
}

fn keep_watching(
    context: &Context,
    args: &Args,
    watch: &mut Watch,
    real: &RealFs,
) -> Result<ExitCode, Failure> {
    let folders = ["chats", "group chats", "worlds"].map(|name| real.root().join(name));
    let hints = Hints::of(&folders.each_ref().map(std::path::PathBuf::as_path));
    let first = watch.sweep(now(), &Bar::new(context.json))?;
    ui::watching(context.json, first.recorded.len(), real.root())?;
    let mut closed: Vec<Closed> = Vec::new();
    tell_closed(&mut closed, first.closed)?;
    loop {
        hints.wait(Duration::from_secs(args.every));
        match watch.sweep(now(), &NoProgress) {
            Ok(looked) => {
                for file in &looked.recorded {
                    ui::saw(context.json, file.as_str(), watch.recorder().last(file))?;
                }
                tell_closed(&mut closed, looked.closed)?;
                // A file that was being written is looked at again soon, whether or not the system reports its end.
                if !looked.unfinished.is_empty() {
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
            // A busy store or a disk that is full for a while is no reason to stop looking.
            Err(e) => ui::not_recorded(&e.to_string())?,
        }
    }
}

/// Tells what could not be read, each once for as long as that is so.
fn tell_closed(known: &mut Vec<Closed>, closed: Vec<Closed>) -> std::io::Result<()> {
    for one in closed.iter().filter(|one| !known.contains(one)) {
        ui::not_read(&one.why)?;
    }
    *known = closed;
    Ok(())
}
