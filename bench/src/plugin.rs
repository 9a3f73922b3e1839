//! SillyTavern's own save of a large chat, with and without the plugin in front of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use forklore_testkit::generate::Size;
use forklore_testkit::tavern::{Setup, Tavern};

use super::{binary, make_chat, target_dir};
use xtask::tools::{SILLYTAVERN, sillytavern};

/// How often each saves.
const RUNS: usize = 21;

pub(super) fn bench() -> Result<()> {
    println!("\nSillyTavern's own save of a chat of 20 MB, by turns without and with the plugin:");
    for version in SILLYTAVERN {
        match sillytavern(version) {
            Ok(_) => saves(version)?,
            Err(why) => println!("  (not measured: {why})"),
        }
    }
    Ok(())
}

fn saves(version: &'static str) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
    let forklore = binary().canonicalize()?;
    let forklore = forklore.to_string_lossy();
    let start = |name: &str, bare: bool| -> Result<Tavern> {
        let vault = dir.path().join(name);
        make_chat(&vault, Size { bytes: 20 << 20, entries: 200, scenes: 40, seed: 7 })?;
        fs::write(vault.join("settings.json"), "{}")?;
        Ok(Tavern::start(version, &forklore, &vault, Setup { bare, ..Setup::default() }))
    };
    let (without, with) = (start("without", true)?, start("with", false)?);
    with.engine_is("running");
    let url = |tavern: &Tavern| format!("http://{}/", tavern.http.address);
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sillytavern-save.mjs");
    let output = Command::new("timeout")
        .args(["600", "node"])
        .arg(client)
        .args([&RUNS.to_string(), &url(&without), &url(&with)])
        .output()?;
    if !output.status.success() {
        bail!("the client failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut times: Vec<Vec<f64>> = serde_json::from_slice(&output.stdout)?;
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let told = |times: &[f64]| (times[0], times[times.len() / 2]);
    let ((best, median), (best_with, median_with)) = (told(&times[0]), told(&times[1]));
    println!("  {version} without: best {best:.0} ms, median {median:.0} ms");
    println!(
        "  {version} with:    best {best_with:.0} ms ({:.2} x), median {median_with:.0} ms ({:.2} x)  target 1.15 x",
        best_with / best,
        median_with / median
    );
    Ok(())
}
