//! [`pack`]: a folder as a `.tar.gz`, the same bytes for the same content; [`sums`]: what people compare it with.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

/// Packs the folder `name` below `dir`. Names are sorted, and nobody's name and no time is in it.
pub(crate) fn pack(dir: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar")
        .args(["--create", "--format=ustar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0"])
        // npm refuses none of these, and programs must be executable whoever packed them.
        .args(["--numeric-owner", "--mode=u=rwX,go=rX", "--directory"])
        .arg(dir)
        .arg(name)
        .stdout(Stdio::piped())
        .spawn()
        .context("tar could not be started")?;
    let packed = tar.stdout.take().context("tar says nothing")?;
    let gzip = Command::new("gzip").args(["-n", "-9"]).stdin(packed).stdout(File::create(archive)?).status();
    ensure!(tar.wait()?.success() && gzip?.success(), "{} could not be packed", archive.display());
    Ok(())
}

/// The hash of a file, in hexadecimal.
pub(crate) fn hash(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

/// The hashes of all files in a folder, as `sha256sum --check` reads them.
pub(crate) fn sums(dir: &Path) -> Result<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && name != "SHA256SUMS" {
            lines.push((name, hash(&entry.path())?));
        }
    }
    lines.sort();
    Ok(lines.into_iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect())
}
