//! `cargo xtask test --wine` and `--qemu`: [`on_windows`] and [`on_arm64`] run the tests of the disk, of the settings and of the command as
//! programs for other systems, with what [`dist`](crate::dist) builds them with.
//!
//! What needs a kernel of its own (tracing, mounting) or Linux's own calls is skipped there by the tests themselves.

mod qemu;
mod wine;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::dist::build::{build, cargo, sources};
use crate::dist::platform::Platform;
use crate::dist::toolchain::{Toolchain, run};
use qemu::Qemu;
use wine::Wine;
use xtask::tools::{SILLYTAVERN, sillytavern};

/// Packages whose tests are run, each with the names of those that are: all of them if there is none.
type Chosen = [(&'static str, &'static [&'static str])];

/// `forklore-windows` and the journal have no tests of their own: those of the disk call the one, and whatever a command changes goes through the other.
/// The command's tests start a program hundreds of times, and to start one takes half a second in Wine: these modules are about disks,
/// names, paths, damage, and what every command does to files.
const ON_WINDOWS: &Chosen =
    &[("forklore-fs", &[]), ("forklore-config", &[]), ("forklore-install", &[]), ("forklore", COMMANDS)];
const ON_ARM64: &Chosen = &[("forklore-fs", &[]), ("forklore-config", &[]), ("forklore", COMMANDS)];
const COMMANDS: &[&str] = &[
    "cli::",
    "demo::",
    "doctor::",
    "elsewhere::",
    "export_import::",
    "forks::",
    "heal::",
    "hostile::",
    "ops::",
    "damage::",
];

/// Where the tests spend their time, as in the profile of development. qemu takes tenfold for everything: without this the forks alone take most of an hour.
const HOT: &[&str] = &[
    "blake3",
    "forklore-archive",
    "forklore-config",
    "forklore-core",
    "forklore-engine",
    "forklore-fs",
    "forklore-journal",
    "forklore-json",
    "forklore-memory",
    "forklore-store",
    "forklore-vault",
    "memchr",
    "serde_json",
    "zstd-sys",
];

/// The tests as programs for Windows, in Wine; then SillyTavern with the plugin, both for Windows.
pub(crate) fn on_windows(more: &[String]) -> Result<()> {
    let toolchain = Toolchain::ensure()?;
    let wine = Wine::ensure(toolchain.home())?;
    let platform = Platform::named("windows-x64")?;
    // What fails does not keep the rest from running.
    let tested = tests(&toolchain, platform, ON_WINDOWS, Some(&wine.runner()), more);
    if more.is_empty() {
        let program = toolchain.target().join(platform.triple).join(PROFILE).join(platform.program());
        let programs = wine.programs(&program)?;
        println!("== SillyTavern with the plugin, in Wine");
        let mut test = Command::new("cargo");
        test.args([
            "test",
            "--package",
            "forklore",
            "--test",
            "it",
            "sillytavern::wine",
            "--",
            "--nocapture",
        ]);
        if std::env::var_os("FORKLORE_SILLYTAVERN").is_none() {
            sillytavern(SILLYTAVERN[0]).map_err(anyhow::Error::msg)?;
            test.env("FORKLORE_SILLYTAVERN", sources().join(".tools"));
        }
        test.env("FORKLORE_WINE", programs).current_dir(sources());
        run(&mut test).context("SillyTavern in Wine").and(tested)
    } else {
        tested
    }
}

/// The tests as static programs for Linux on arm64, which is what Termux gets, in qemu.
pub(crate) fn on_arm64(more: &[String]) -> Result<()> {
    let toolchain = Toolchain::ensure()?;
    let _registered = Qemu::ensure()?;
    let tested = tests(&toolchain, Platform::named("linux-arm64")?, ON_ARM64, None, more);
    if more.is_empty() {
        // Made of the same sources, with the same library of C, and for a processor on which it can be traced.
        let same = build(&toolchain, Platform::named("linux-x64")?, PROFILE, &toolchain.target())?;
        println!("== the static program, as if on Android");
        let mut test = Command::new("cargo");
        test.args(["test", "--package", "forklore", "--test", "it", "on_android", "--", "--nocapture"]);
        run(test.env("FORKLORE_STATIC", same).current_dir(sources())).context("as if on Android").and(tested)
    } else {
        tested
    }
}

/// What is built to be tried out is what is tested.
const PROFILE: &str = "dist-quick";

fn tests(
    toolchain: &Toolchain,
    platform: Platform,
    chosen: &Chosen,
    runner: Option<&Path>,
    more: &[String],
) -> Result<()> {
    let programs = built(toolchain, platform, chosen)?;
    if more.is_empty() {
        println!(
            "== skipped: sillytavern:: (its server is for this system, and waits only so long for a plugin that is emulated)"
        );
    }
    let mut failed = Vec::new();
    for (package, names) in chosen {
        for (dir, program) in programs.iter().filter(|program| program.0 == *package).map(|p| (&p.1, &p.2)) {
            println!("== {}: tests of {package}", platform.name);
            let mut test = Command::new(runner.unwrap_or(program));
            test.args(runner.map(|_| program)).current_dir(dir).env("CARGO_MANIFEST_DIR", dir);
            test.env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", sources());
            test.env("FORKLORE_EMULATED", platform.name);
            // Two at a time are enough for two cores.
            test.args(["--test-threads", "2"]);
            if more.is_empty() {
                test.args(*names);
                // Its forks are `forks::`, too.
                test.args(["--skip", "sillytavern::"]);
            } else {
                test.args(more);
            }
            if let Err(e) = run(&mut test) {
                println!("== FAILED: {package}: {e:#}");
                failed.push(*package);
            }
        }
    }
    ensure!(failed.is_empty(), "{}: tests failed of {}", platform.name, failed.join(", "));
    Ok(())
}

/// Builds the tests, all at once, so that nothing is built twice; packages, their folders, and the programs.
fn built(
    toolchain: &Toolchain,
    platform: Platform,
    chosen: &Chosen,
) -> Result<Vec<(String, PathBuf, PathBuf)>> {
    println!("== {}: building the tests", platform.name);
    let mut test = cargo(toolchain, platform, "test", &toolchain.target())?;
    test.args(["--no-run", "--profile", PROFILE, "--lib", "--bins", "--tests", "--message-format", "json"]);
    for (package, _) in chosen {
        test.args(["--package", package]);
    }
    if !platform.is_windows() {
        for package in HOT {
            test.args(["--config", &format!("profile.{PROFILE}.package.{package}.opt-level=2")]);
        }
    }
    let said = test.stderr(Stdio::inherit()).output()?;
    ensure!(said.status.success(), "the tests for {} were not built", platform.name);
    let mut programs = Vec::new();
    for line in said.stdout.split(|byte| *byte == b'\n') {
        let Ok(artifact) = serde_json::from_slice::<Value>(line) else { continue };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let (Some(program), Some(true), Some(manifest)) = (
            text(&artifact["executable"]),
            artifact["profile"]["test"].as_bool(),
            text(&artifact["manifest_path"]),
        ) {
            let dir = Path::new(&manifest).parent().context("a manifest is in a folder")?;
            // `forklore-fs` is in `crates/fs`, the command in `crates/cli`.
            let folder = dir.file_name().unwrap_or_default().to_string_lossy();
            let package = if folder == "cli" { "forklore".to_owned() } else { format!("forklore-{folder}") };
            programs.push((package, dir.to_owned(), PathBuf::from(program)));
        }
    }
    Ok(programs)
}
