//! [`pack`]: a folder as a `.tar.gz`, and [`zip`] as a `.zip`, the same bytes for the same content; [`sums`]: what people compare it with.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

/// Packs the folder `name` below `dir`. Names are sorted, and nobody's name and no time is in it.
pub(crate) fn pack(dir: &Path, name: &str, archive: &Path) -> Result<()> {
    let to = File::create(archive).with_context(|| archive.display().to_string())?;
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
    let gzip = Command::new("gzip").args(["-n", "-9"]).stdin(packed).stdout(to).status();
    ensure!(tar.wait()?.success() && gzip?.success(), "{} could not be packed", archive.display());
    Ok(())
}

/// What people on Windows open with two clicks. Python is there: the toolchain needs it.
const ZIP: &str = r#"
import os, sys, zipfile
above, name, archive = sys.argv[1:]
files = sorted(os.path.join(dir, file) for dir, _, files in os.walk(os.path.join(above, name)) for file in files)
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
    for file in files:
        entry = zipfile.ZipInfo(os.path.relpath(file, above), (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o755 if file.endswith(".exe") else 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        out.writestr(entry, open(file, "rb").read(), compresslevel=9)
"#;

/// Packs the folder `name` below `dir` for Windows. Names are sorted, and nobody's name and no time is in it.
pub(crate) fn zip(dir: &Path, name: &str, archive: &Path) -> Result<()> {
    let packed = Command::new("python3").args(["-c", ZIP]).arg(dir).arg(name).arg(archive).status();
    ensure!(packed?.success(), "{} could not be packed", archive.display());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_twice_is_the_same_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("thing/man")).unwrap();
        for (name, text) in [("thing/b.exe", "program"), ("thing/a", "text"), ("thing/man/c.1", "page")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        for (pack, end) in [(pack as fn(&Path, &str, &Path) -> Result<()>, "tar.gz"), (zip, "zip")] {
            let archives = ["first", "second"].map(|name| dir.path().join(format!("{name}.{end}")));
            for archive in &archives {
                pack(dir.path(), "thing", archive).unwrap();
                // Another time, and another order on the disk.
                std::fs::rename(dir.path().join("thing/a"), dir.path().join("thing/z")).unwrap();
                std::fs::write(dir.path().join("thing/a"), "text").unwrap();
                std::fs::remove_file(dir.path().join("thing/z")).unwrap();
            }
            assert_eq!(hash(&archives[0]).unwrap(), hash(&archives[1]).unwrap(), "{end}");
        }
        let listed =
            Command::new("python3").args(["-m", "zipfile", "-l"]).arg(dir.path().join("first.zip")).output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        assert!(
            ["thing/a", "thing/b.exe", "thing/man/c.1"].iter().all(|name| listed.contains(name)),
            "{listed}"
        );
    }
}
