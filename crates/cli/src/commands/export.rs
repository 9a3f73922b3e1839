//! `forklore export`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use forklore_api::export_import::{self, Leaving, Ready};
use forklore_api::{ErrorCode, Failure, OpenVault};
use forklore_core::format::names::sanitize;
use forklore_engine::export::ExportReport;
use forklore_fs::{RealFs, VaultPath, Vfs};

use crate::context::Context;
use crate::ui;

/// Write a story, or one line of it, into a file that `forklore import` reads
///
/// The file holds the chats, their lorebooks, how they were forked from each other, and everything that history has seen of them: in
/// another vault the state at any message is as exact as it is here. It is verified when it is imported.
///
/// History has every save that was seen: also messages that were edited or deleted since, and texts that you thought were gone. Before
/// you give the file to somebody else, think of that; --no-history leaves it out.
///
/// Images and files that messages link to are left out, unless --media is given: they can be many times larger than the story.
///
/// Without --line, all chats of the story go along. Nothing in the vault is changed.
///
/// The file can be read without Forklore: `tar --zstd -xf FILE` unpacks it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forklore export \"Maren Voss\"
  forklore export \"Blue door\" --line -o blue-door.forklore
  forklore export group:1700000000000 --dry-run")]
pub(crate) struct Args {
    /// Story: FOLDER, group:ID or its name; or a chat of it: FOLDER/CHAT, group:ID/CHAT, or its name
    #[arg(value_name = "STORY|CHAT")]
    what: String,

    /// Only this chat and those that it was forked from
    #[arg(long)]
    line: bool,

    /// File to write, or folder for it; NAME.forklore here, by the name of the story or the chat, if left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long)]
    force: bool,

    /// Put the character's card into the file, too
    #[arg(long)]
    with_card: bool,

    /// Put the images and files into the file, too, that messages link to
    #[arg(long)]
    media: bool,

    /// Leave out what history has seen, such as messages that were deleted since
    #[arg(long)]
    no_history: bool,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<ExitCode, Failure> {
    let leaving = Leaving {
        what: args.what.clone(),
        line: args.line,
        with_card: args.with_card,
        no_history: args.no_history,
        media: args.media,
    };
    let report = context.ask(|open| {
        let ready = export_import::export(open, &leaving)?;
        if context.dry_run { Ok(ready.report().clone()) } else { write(open, ready, args) }
    })?;
    if context.json {
        ui::json(&report)?;
    } else {
        ui::exported(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the file beside its place, and puts it there when it is whole.
fn write(open: &OpenVault<'_>, ready: Ready, args: &Args) -> Result<ExportReport, Failure> {
    let name = named_after(ready.report());
    let output = match &args.output {
        Some(folder) if folder.is_dir() => folder.join(name),
        Some(file) => file.clone(),
        None => name,
    };
    let (dir, name) = place(&output)?;
    let (target, part) = (join(&name)?, join(&format!("{name}.part"))?);
    if !args.force && dir.identity(&target)?.is_some() {
        let message = format!("{} is there already", output.display());
        return Err(Failure::typed(ErrorCode::NameTaken, message, "Name another file, or use --force."));
    }
    // What an export that was cut off has left.
    if dir.identity(&part)?.is_some() {
        dir.unlink(&part)?;
    }
    let (mut ready, mut done) = (Some(ready), None);
    let written = dir.create_with(&part, &mut |out| {
        let Some(ready) = ready.take() else { return Ok(()) };
        let result = ready.write(open, out);
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
            dir.replace(&part, &target)?;
        } else {
            dir.rename_noreplace(&part, &target)?;
        }
        dir.sync_dir(&VaultPath::root())?;
        report.bytes = dir.identity(&target)?.map(|identity| identity.len);
        report.file = Some(output.display().to_string());
        Ok(report)
    };
    publish().inspect_err(|_| {
        // It may not even have come into being.
        let _swept = dir.unlink(&part);
    })
}

/// A name for the file of a story, or of a chat's line.
fn named_after(report: &ExportReport) -> PathBuf {
    let line = report.line.as_deref().and_then(|chat| chat.split_once('/'));
    let name = sanitize(line.map_or(&report.name, |(_, name)| name));
    PathBuf::from(format!("{}.forklore", if name.is_empty() { "story" } else { &name }))
}

/// The folder that a file is in, and its name there.
pub(super) fn place(path: &Path) -> Result<(RealFs, String), Failure> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Failure::usage(format!("{} is not the name of a file", path.display())))?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = RealFs::new(dir).map(RealFs::private).map_err(|e| {
        let message = format!("The folder {} cannot be used: {e}", dir.display());
        Failure::new(ErrorCode::Io, message, "Name a file in a folder that is there.")
    })?;
    Ok((dir, name.to_owned()))
}

fn join(name: &str) -> Result<VaultPath, Failure> {
    VaultPath::root().join(name).map_err(|e| Failure::usage(e.to_string()))
}
