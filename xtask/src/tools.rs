//! [`Tools`]: what the tests need besides Rust. What can be installed is installed; what is missing is said, and the tests that need
//! it are skipped and say so, too.
//!
//! Packages of npm go to `.tools/` in the repository, which git ignores. Tests hear of everything by variables: one that is set
//! promises that the tool works, and then no test is skipped for want of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::llama::llama;

/// The packages, exactly these: SillyTavern saves with the first; the second finds what keeps people from using a page; the others find
/// mistakes in scripts and types that do not fit.
const PACKAGES: [(&str, &str); 7] = [
    ("write-file-atomic", "5.0.1"),
    ("axe-core", "4.11.1"),
    ("eslint", "9.39.5"),
    ("@eslint/js", "9.39.5"),
    ("globals", "16.5.0"),
    ("typescript", "5.9.3"),
    ("@types/node", "20.19.43"),
];
/// The versions of SillyTavern that must work, newest first. Each has a folder of its own, because their packages differ.
pub const SILLYTAVERN: [&str; 2] = ["1.19.0", "1.18.0"];
/// Older ones that must work, too, as far as they have what is tried: one in the middle, and the oldest.
pub const OLDER: [&str; 2] = ["1.16.0", "1.13.5"];

/// What judges our dependencies.
const CARGO_DENY: &str = "0.20.2";

/// What was found, as variables for the tests.
#[derive(Default)]
pub struct Tools {
    /// The variables
    pub env: Vec<(&'static str, OsString)>,
    /// What is not there, and what to do about it
    pub missing: Vec<String>,
    /// What cannot be had everywhere, or not any more: said, and no failure even where nobody watches
    pub unavailable: Vec<String>,
    cargo_deny: Option<PathBuf>,
}

impl Tools {
    /// Looks for everything, and installs what can be.
    pub fn ensure() -> Self {
        let mut tools = Self::default();
        tools.add("FORKLORE_STRACE", strace());
        tools.add("FORKLORE_NODE_MODULES", packages());
        tools.add("FORKLORE_SILLYTAVERN", taverns());
        tools.add("FORKLORE_CHROMIUM", chromium());
        match llama(&folder()) {
            Ok(path) => tools.env.push(("FORKLORE_LLAMA", path.into())),
            Err(why) => tools.unavailable.push(why),
        }
        match cargo_deny() {
            Ok(path) => tools.cargo_deny = Some(path),
            Err(why) => tools.missing.push(why),
        }
        for missing in tools.missing.iter().chain(&tools.unavailable) {
            println!("== missing: {missing}");
        }
        tools
    }

    /// Whether something was found.
    pub fn has(&self, variable: &str) -> bool {
        self.env.iter().any(|(name, _)| *name == variable)
    }

    /// The program that judges dependencies.
    pub fn cargo_deny(&self) -> Option<PathBuf> {
        self.cargo_deny.clone()
    }

    fn add(&mut self, variable: &'static str, found: Result<PathBuf, String>) {
        match found {
            Ok(path) => self.env.push((variable, path.into())),
            Err(why) => self.missing.push(why),
        }
    }
}

/// The folder for what is installed.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools")
}

fn works(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// For comparing history with: installed where it can be.
pub fn restic() -> Result<PathBuf, String> {
    if install("restic", &["version"]) {
        return Ok(PathBuf::from("restic"));
    }
    Err("restic: install it with your package manager, such as apt-get install restic".to_owned())
}

/// Whether a program is there, installed now if need be and possible.
fn install(program: &str, version: &[&str]) -> bool {
    if !works(program, version) && works("apt-get", &["--version"]) && is_root() {
        println!("== {program}: apt-get install -y {program}");
        let install = || works("apt-get", &["install", "-y", "-qq", program]);
        let _installed = install() || (works("apt-get", &["update", "-qq"]) && install());
    }
    works(program, version)
}

/// For vaults on disks of other kinds, and for what the guide says of systemd. Where they cannot be had, those tests say that they are skipped.
pub fn of_other_systems() {
    let packages = ["exfat-fuse", "exfatprogs", "ntfs-3g", "systemd"];
    let args = [&["install", "-y", "-qq", "--no-install-recommends"], &packages[..]].concat();
    if !is_root() || !works("apt-get", &args) {
        println!("== missing: as root, apt-get install {}", packages.join(" "));
    }
}

/// For killing the real binary at chosen system calls.
fn strace() -> Result<PathBuf, String> {
    let what = "strace, for the tests that kill Forklore";
    if !cfg!(target_os = "linux") {
        return Err(format!("{what}: there is none for this system"));
    }
    // Containers may forbid tracing altogether.
    let usable = || works("strace", &["-o", "/dev/null", "-e", "inject=fsync:error=EIO", "true"]);
    let there = install("strace", &["--version"]);
    if usable() {
        return Ok(PathBuf::from("strace"));
    }
    Err(if there {
        format!("{what}: it is there, but may not trace (in a container: --cap-add=SYS_PTRACE)")
    } else {
        format!("{what}: install it with your package manager, such as apt-get install strace")
    })
}

/// For judging dependencies: one that is there, or one of our own.
fn cargo_deny() -> Result<PathBuf, String> {
    let own = folder().join("bin/cargo-deny");
    let there = |program: &Path| works(&program.to_string_lossy(), &["--version"]);
    for program in [Path::new("cargo-deny"), &own] {
        if there(program) {
            return Ok(program.to_owned());
        }
    }
    println!("== cargo install cargo-deny@{CARGO_DENY}: takes minutes, once");
    let root = folder().to_string_lossy().into_owned();
    let package = format!("cargo-deny@{CARGO_DENY}");
    // It judges in a second however it is built, and is built in half the time without optimisation.
    let _installed =
        works("cargo", &["install", "--quiet", "--debug", "--locked", "--root", &root, &package]);
    if there(&own) {
        return Ok(own);
    }
    Err(format!("cargo-deny, for judging dependencies: cargo install --locked {package}"))
}

/// For the tests of the extension.
fn chromium() -> Result<PathBuf, String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let find = || names.into_iter().find(|name| works(name, &["--version"]));
    let found = find().or_else(|| install("chromium", &["--version"]).then_some("chromium"));
    found.map(PathBuf::from).ok_or_else(|| {
        "Chromium, for the tests of the extension: install it with your package manager, such as apt-get install chromium".to_owned()
    })
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The packages, in a folder that node can find them in.
fn packages() -> Result<PathBuf, String> {
    let what = "node's packages, for looking at scripts, the race with SillyTavern's saves and the tests of the pages";
    if !works("node", &["--version"]) {
        return Err(format!("{what}: install node 18 or newer"));
    }
    let folder = folder();
    let modules = folder.join("node_modules");
    let wanted: Vec<String> = PACKAGES
        .iter()
        .filter(|(name, version)| installed(&modules.join(name)).as_deref() != Some(*version))
        .map(|(name, version)| format!("{name}@{version}"))
        .collect();
    if !wanted.is_empty() {
        println!("== npm install {}", wanted.join(" "));
        let made = std::fs::create_dir_all(&folder).is_ok();
        let prefix = folder.to_string_lossy().into_owned();
        let args = ["install", "--silent", "--no-audit", "--no-fund", "--save-exact", "--prefix", &prefix];
        let args: Vec<&str> = args.into_iter().chain(wanted.iter().map(String::as_str)).collect();
        if !made || !works("npm", &args) {
            return Err(format!("{what}: npm install {} failed", wanted.join(" ")));
        }
    }
    modules.canonicalize().map_err(|e| format!("{what}: {e}"))
}

/// All versions of SillyTavern, in the folder that holds them.
fn taverns() -> Result<PathBuf, String> {
    SILLYTAVERN.iter().chain(&OLDER).try_for_each(|version| sillytavern(version).map(|_| ()))?;
    folder().canonicalize().map_err(|e| format!("SillyTavern: {e}"))
}

/// One version of SillyTavern, installed now if need be.
pub fn sillytavern(version: &str) -> Result<PathBuf, String> {
    let what = format!("SillyTavern {version}, for the tests of the plugin");
    if !works("node", &["--version"]) {
        return Err(format!("{what}: install node 18 or newer"));
    }
    let folder = folder().join(format!("sillytavern-{version}"));
    let server = folder.join("node_modules/sillytavern");
    if installed(&server).as_deref() != Some(version) {
        println!("== npm install sillytavern@{version}");
        let made = std::fs::create_dir_all(&folder).is_ok();
        let (prefix, package) = (folder.to_string_lossy().into_owned(), format!("sillytavern@{version}"));
        let quiet = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
        let args: Vec<&str> = quiet.into_iter().chain([prefix.as_str(), package.as_str()]).collect();
        if !made || !works("npm", &args) {
            return Err(format!("{what}: npm install {package} failed"));
        }
    }
    server.canonicalize().map_err(|e| format!("{what}: {e}"))
}

/// The version of an installed package.
fn installed(package: &Path) -> Option<String> {
    let text = std::fs::read(package.join("package.json")).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
    value["version"].as_str().map(str::to_owned)
}
