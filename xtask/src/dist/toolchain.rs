//! [`Toolchain`]: a compiler that can build its own standard library for other systems, and their linkers.
//!
//! rustup's toolchain has the standard library of this machine alone, and there may be no way to its servers. Debian has a rustc with the
//! sources of its library, which builds it for any target; PyPI has zig, which links for musl and macOS. All of it goes into a folder of its
//! own: `.tools/dist`, or what `FORKLORE_DIST` names.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// Unpacked, not installed.
const UNPACKED: [&str; 5] =
    ["rustc-web", "libstd-rust-web-dev", "libstd-rust-web-1.96", "rust-web-src", "libllvm22"];
/// Installed: what the compiler itself is linked with, and the linker for Windows.
const INSTALLED: [&str; 5] = ["libedit2", "libz3-4", "libxml2", "gcc-mingw-w64-x86-64-win32", "python3-venv"];
/// Exactly these: another zig is another linker.
const FROM_PYPI: [&str; 2] = ["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Toolchain {
    home: PathBuf,
}

impl Toolchain {
    /// Finds it, or puts it together.
    pub(crate) fn ensure() -> Result<Self> {
        let named = std::env::var_os("FORKLORE_DIST").map(PathBuf::from);
        let home = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/dist"));
        std::fs::create_dir_all(&home).with_context(|| home.display().to_string())?;
        let toolchain = Self { home: home.canonicalize()? };
        if !toolchain.works() {
            println!("== a compiler for other systems, into {}: once", toolchain.home.display());
            toolchain.put_together()?;
            ensure!(toolchain.works(), "the compiler in {} does not work", toolchain.home.display());
        }
        Ok(toolchain)
    }

    /// Everything is below it.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn rustc(&self) -> PathBuf {
        self.home.join("rustc196")
    }

    pub(crate) fn rustdoc(&self) -> PathBuf {
        self.home.join("rustdoc196")
    }

    /// The sources of the standard library, as rustc calls them: they are named in messages of the program.
    pub(crate) fn library(&self) -> PathBuf {
        self.prefix().join("usr/lib/rustlib/src/rust")
    }

    pub(crate) fn programs(&self) -> PathBuf {
        self.home.join("venv/bin")
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.home.join("target")
    }

    fn works(&self) -> bool {
        let answers = |program: &Path, flag: &str| {
            let output = Command::new(program).arg(flag).output();
            output.is_ok_and(|output| output.status.success())
        };
        let start = self.windows_start();
        answers(&self.rustc(), "-vV")
            && answers(&self.programs().join("cargo-zigbuild"), "--version")
            && answers(&self.programs().join("zig"), "version")
            && START.iter().all(|name| start.join(format!("{name}.o")).is_file())
            && answers(Path::new("x86_64-w64-mingw32-gcc"), "--version")
    }

    fn prefix(&self) -> PathBuf {
        self.home.join("rw")
    }

    fn windows_start(&self) -> PathBuf {
        self.prefix().join("usr/lib/rustlib/x86_64-pc-windows-gnu/lib")
    }

    fn put_together(&self) -> Result<()> {
        let debs = self.home.join("debs");
        std::fs::create_dir_all(&debs)?;
        install(&INSTALLED)?;
        run(Command::new("apt-get").arg("download").args(UNPACKED).current_dir(&debs)).with_context(
            || {
                format!(
                    "Debian 12's security updates have {}: are they in apt's sources?",
                    UNPACKED.join(", ")
                )
            },
        )?;
        for deb in std::fs::read_dir(&debs)? {
            run(Command::new("dpkg-deb").arg("-x").arg(deb?.path()).arg(self.prefix()))?;
        }
        for (program, wrapper) in [("rustc", self.rustc()), ("rustdoc", self.rustdoc())] {
            let prefix = self.prefix();
            let prefix = prefix.display();
            let text = format!(
                "#!/bin/sh\nLD_LIBRARY_PATH={prefix}/usr/lib/x86_64-linux-gnu exec {prefix}/usr/bin/{program} \"$@\"\n"
            );
            std::fs::write(&wrapper, text)?;
            std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755))?;
        }
        let venv = self.home.join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(venv.join("bin/pip")).args(["--quiet", "install"]).args(FROM_PYPI))
            .with_context(|| format!("PyPI has {}: can it be reached?", FROM_PYPI.join(" and ")))?;
        let zig = self.zig()?;
        let link = self.programs().join("zig");
        if !link.exists() {
            symlink(zig, link)?;
        }
        self.make_windows_start()
    }

    /// zig, where pip has put it.
    fn zig(&self) -> Result<PathBuf> {
        for python in std::fs::read_dir(self.home.join("venv/lib"))? {
            let zig = python?.path().join("site-packages/ziglang/zig");
            if zig.is_file() {
                return Ok(zig);
            }
        }
        bail!("pip did not bring zig")
    }

    /// The two objects that rustc hands to the linker for Windows, and that are no part of the standard library.
    fn make_windows_start(&self) -> Result<()> {
        let into = self.windows_start();
        std::fs::create_dir_all(&into)?;
        let sources = self.library().join("library/rtstartup");
        for name in START {
            let object = into.join(format!("{name}.o"));
            let flags = ["--target", "x86_64-pc-windows-gnu", "--crate-type=rlib", "--emit=obj", "-o"];
            let mut rustc = Command::new(self.rustc());
            rustc.env("RUSTC_BOOTSTRAP", "1").args(flags).arg(object);
            run(rustc.arg(sources.join(format!("{name}.rs"))))?;
        }
        Ok(())
    }
}

const START: [&str; 2] = ["rsbegin", "rsend"];

/// Installs packages of Debian's that are not there. A machine that was just set up does not know which there are, so that is asked first.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    ensure!(
        Command::new("dpkg-query").arg("--version").output().is_ok_and(|output| output.status.success()),
        "this takes packages of Debian 12, and there is no apt here: do it on Debian 12, or in a container of it, as root"
    );
    let there =
        Command::new("dpkg-query").args(["--show", "--showformat", "${Package} ${Status}\n"]).output()?;
    let there = String::from_utf8_lossy(&there.stdout).into_owned();
    let is_there =
        |package: &&&str| there.lines().any(|line| line == format!("{package} install ok installed"));
    let missing: Vec<&str> = packages.iter().filter(|package| !is_there(package)).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    println!("== apt-get install {names}");
    let as_root = || format!("missing: {names}. As root: apt-get update, apt-get install {names}");
    run(Command::new("apt-get").args(["update", "-qq"])).with_context(as_root)?;
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "-qq", "--no-install-recommends"]).args(&missing);
    run(apt.env("DEBIAN_FRONTEND", "noninteractive")).with_context(as_root)
}

/// Runs a program that must end well.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().display().to_string();
    let status = command.status().with_context(|| format!("{name} could not be started"))?;
    ensure!(status.success(), "{name} failed");
    Ok(())
}
