//! `forklore export`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use forklore_api::{Failure, Kind, now};
use forklore_engine::usecase::export::{self, Chats, ExportReport, Request};
use forklore_engine::{Library, Progress};
use forklore_fs::{RealFs, VaultPath, Vfs};

use super::Context;
use crate::ui;

/// Write a story, or one line of it, into a file that `forklore import` reads
///
/// The file holds the chats, their lorebooks, how they were forked from each other, and everything that history has seen of them: in
/// another vault the state at any message is as exact as it is here. It is verified when it is imported.
///
/// Without --line, all chats of the story go along. Nothing in the vault is changed.
///
/// The file can be read without Forklore: `tar --zstd -xf FILE` unpacks it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore export \"Maren Voss\" -o maren.forklore
  forklore export \"Blue door\" --line -o blue-door.forklore
  forklore export group:1700000000000 -o harbor.forklore --dry-run")]
pub(crate) struct Args {
    /// Story: FOLDER, group:ID or its name; or a chat of it: FOLDER/CHAT, group:ID/CHAT, or its name
    #[arg(value_name = "STORY|CHAT")]
    what: String,

    /// Only this chat and those that it was forked from
    #[arg(long)]
    line: bool,

    /// File to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Replace the file if it is there
    #[arg(long)]
    force: bool,

    /// Put the character's card into the file, too
    #[arg(long)]
    with_card: bool,

    /// Leave out what history has seen
    #[arg(long)]
    no_history: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let report = context.ask(|desk| {
        let library = desk.library()?;
        let chats = chats(&library, args)?;
        let request = Request { chats, with_card: args.with_card, with_history: !args.no_history };
        let plan = export::plan(&library, &request, now())?;
        if context.dry_run { Ok(plan.report) } else { write(desk.progress, &library, plan, args) }
    })?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::exported(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn chats(library: &Library, args: &Args) -> Result<Chats, Failure> {
    if args.line {
        return Ok(Chats::Line(library.find_chat(&args.what)?));
    }
    match library.find_story(&args.what) {
        Ok(story) => Ok(Chats::Story(story)),
        Err(no_story) => match library.find_chat(&args.what) {
            Ok(chat) => Ok(Chats::Story(library.chats[chat].story)),
            Err(e @ forklore_engine::AddressError::Ambiguous { .. }) => Err(e.into()),
            Err(_) => Err(no_story.into()),
        },
    }
}

/// Writes the file beside its place, and puts it there when it is whole.
fn write(
    progress: &dyn Progress,
    library: &Library,
    plan: export::Plan,
    args: &Args,
) -> Result<ExportReport, Failure> {
    let (dir, name) = place(&args.output)?;
    let (target, part) = (join(&name)?, join(&format!("{name}.part"))?);
    if !args.force && dir.identity(&target)?.is_some() {
        let message = format!("{} is there already", args.output.display());
        return Err(Failure::new(Kind::Refused, "NAME_TAKEN", message, "Name another file, or use --force."));
    }
    // What an export that was cut off has left.
    if dir.identity(&part)?.is_some() {
        dir.unlink(&part)?;
    }
    let (mut plan, mut done) = (Some(plan), None);
    let written = dir.create_with(&part, &mut |out| {
        let Some(plan) = plan.take() else { return Ok(()) };
        let result = export::execute(library, plan, out, progress);
        let failed = result.is_err();
        done = Some(result);
        if failed { Err(std::io::Error::other("it could not be exported")) } else { Ok(()) }
    });
    let publish = || -> Result<ExportReport, Failure> {
        let mut report = match done {
            Some(result) => result?,
            None => return Err(written.err().map_or_else(|| Failure::usage(String::new()), Failure::from)),
        };
        written?;
        dir.sync_file(&part)?;
        if args.force {
            dir.replace(&part, &target)?
        } else {
            dir.rename_noreplace(&part, &target)?
        }
        dir.sync_dir(&VaultPath::root())?;
        report.bytes = dir.identity(&target)?.map(|identity| identity.len);
        report.file = Some(args.output.display().to_string());
        Ok(report)
    };
    publish().inspect_err(|_| {
        // It may not even have come into being.
        let _swept = dir.unlink(&part);
    })
}

/// The folder that a file is in, and its name there.
pub(super) fn place(path: &Path) -> Result<(RealFs, String), Failure> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Failure::usage(format!("{} is not the name of a file", path.display())))?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = RealFs::new(dir).map_err(|e| {
        let message = format!("The folder {} cannot be used: {e}", dir.display());
        Failure::new(Kind::Io, "IO", message, "Name a file in a folder that is there.")
    })?;
    Ok((dir, name.to_owned()))
}

fn join(name: &str) -> Result<VaultPath, Failure> {
    VaultPath::root().join(name).map_err(|e| Failure::usage(e.to_string()))
}
