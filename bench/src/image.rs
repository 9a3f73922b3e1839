//! File systems that share blocks between files, in images that are mounted for the time of the measurement.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

/// Large enough for the chat, its copies and the old parents; most of it is never written.
const BYTES: u64 = 2 << 30;

/// A mounted image, unmounted when dropped.
pub(super) struct Image {
    folder: PathBuf,
}

/// The commands that make these file systems.
pub(super) const KINDS: [(&str, &[&str]); 2] =
    [("btrfs", &["mkfs.btrfs", "-q"]), ("XFS", &["mkfs.xfs", "-q", "-m", "reflink=1"])];

impl Image {
    /// Makes and mounts an image. `Err` says why this machine cannot.
    pub(super) fn mount(dir: &Path, make: &[&str]) -> Result<Self> {
        let file = dir.join("image");
        File::create(&file)?.set_len(BYTES)?;
        run(Command::new(make[0]).args(&make[1..]).arg(&file))?;
        let folder = dir.join("mounted");
        fs::create_dir_all(&folder)?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&file).arg(&folder))?;
        Ok(Self { folder })
    }

    /// Where it is mounted.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn run(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("there is no {program} here"))?;
    if !output.status.success() {
        bail!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}

impl Drop for Image {
    fn drop(&mut self) {
        if run(Command::new("umount").arg(&self.folder)).is_err() {
            let _later = run(Command::new("umount").arg("--lazy").arg(&self.folder));
        }
    }
}
