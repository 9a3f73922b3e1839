//! [`Extras`]: what comes with the program in an archive: completions for shells, manual pages, licences.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::build::sources;

const SHELLS: [(&str, &str); 4] = [
    ("bash", "forklore.bash"),
    ("zsh", "_forklore"),
    ("fish", "forklore.fish"),
    ("powershell", "forklore.ps1"),
];

/// Told by the program itself, and the same for all systems.
pub(crate) struct Extras {
    files: Vec<(String, Vec<u8>)>,
}

impl Extras {
    /// Asks a program that runs here: the static one for Linux, which is packed, too.
    pub(crate) fn ask(program: &Path) -> Result<Self> {
        println!("== completions and manual pages");
        let said = |args: &[&str]| said(program, args);
        let mut files = Vec::new();
        for (shell, name) in SHELLS {
            files.push((format!("completions/{name}"), said(&["completions", shell])?));
        }
        let pages = String::from_utf8(said(&["manual", "--list"])?).context("names of manual pages")?;
        for page in pages.lines() {
            files.push((format!("man/{page}.1"), said(&["manual", page])?));
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"] {
            files.push((name.to_owned(), std::fs::read(sources().join(name))?));
        }
        files.push(("README.md".to_owned(), std::fs::read(sources().join("npm/forklore/README.md"))?));
        Ok(Self { files })
    }

    /// Puts them into a folder.
    pub(crate) fn put(&self, dir: &Path) -> Result<()> {
        for (name, content) in &self.files {
            let file = dir.join(name);
            std::fs::create_dir_all(file.parent().unwrap_or(dir))?;
            std::fs::write(file, content)?;
        }
        Ok(())
    }
}

fn said(program: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(args).output()?;
    ensure!(output.status.success(), "forklore {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}
