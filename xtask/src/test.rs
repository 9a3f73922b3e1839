//! `cargo xtask test`: the whole test command, in the order in which a failure is cheapest.

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::tools::{SILLYTAVERN, Tools};

/// No step takes longer, unless it soaks: what hangs is to be told from what is slow.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// The test command gives the same answer twice: its property tests try the same cases every time. New ones are looked for by `soak`.
const SAME_CASES: (&str, &str) = ("PROPTEST_RNG_SEED", "1900");

/// Everything that must pass.
pub(crate) fn test() -> Result<()> {
    step("format", "cargo", &["fmt", "--all", "--check"])?;
    step(
        "lints",
        "cargo",
        &["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"],
    )?;
    step_with(
        "docs",
        "cargo",
        &["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"],
        &[("RUSTDOCFLAGS", "--deny warnings")],
    )?;
    let tools = Tools::ensure();
    step_with_tools(
        "tests",
        "cargo",
        &["test", "--workspace", "--no-fail-fast"],
        &[("INSTA_UPDATE", "no"), SAME_CASES],
        &tools,
    )?;
    web(&tools)?;
    browser(&tools, &["forks", "story", "life", "page"], &SILLYTAVERN[..1])?;
    println!("\nAll of it passed.");
    for missing in &tools.missing {
        println!("But for want of it some tests were skipped: {missing}");
    }
    Ok(())
}

/// The property tests with many more cases, every kill instead of some, and a long race.
pub(crate) fn soak() -> Result<()> {
    let tools = Tools::ensure();
    browser(&tools, &["forks", "story", "life", "page", "without-plugin"], &SILLYTAVERN)?;
    step_with_tools(
        "kills, errors and the race, long",
        "cargo",
        &["test", "--package", "forklore", "--test", "it", "kills::", "--", "--nocapture"],
        &[("FORKLORE_SOAK", "1")],
        &tools,
    )?;
    step_with(
        "isolation against the model, two million steps",
        "cargo",
        &["test", "--release", "--package", "forklore-engine", "--test", "it", "isolation::"],
        &[("FORKLORE_STEPS", "1000000")],
    )?;
    step_with(
        "the truth machine, long",
        "cargo",
        &["test", "--release", "--package", "forklore-engine", "--test", "it", "truth::"],
        &[("FORKLORE_STORIES", "300")],
    )?;
    let many = [("PROPTEST_CASES", "20000")];
    step_with(
        "property tests, long",
        "cargo",
        &["test", "--release", "--workspace", "--", "properties"],
        &many,
    )
}

/// Forklore's own pages in Chromium.
fn web(tools: &Tools) -> Result<()> {
    if !tools.has("FORKLORE_CHROMIUM") || !tools.has("FORKLORE_NODE_MODULES") {
        return Ok(());
    }
    step("the program", "cargo", &["build", "--package", "forklore"])?;
    let names = std::fs::read_dir("crates/web/tests")?
        .flatten()
        .filter_map(|file| file.file_name().into_string().ok());
    let mut files: Vec<String> = names
        .filter(|name| name.ends_with(".test.js"))
        .map(|name| format!("crates/web/tests/{name}"))
        .collect();
    files.sort();
    // One after the other: each has a browser of its own, and machines have few cores.
    files.iter().try_for_each(|file| in_browser(&format!("web, {file}"), file, &[], tools))
}

/// A file of tests in a browser. One that fails is run once more: a browser on a busy machine can miss what is there in a moment, and
/// that is told apart from what is wrong.
fn in_browser(what: &str, file: &str, env: &[(&str, &str)], tools: &Tools) -> Result<()> {
    step_with_tools(what, "node", &["--test", file], env, tools).or_else(|first| {
        println!("== {first}. Once more, in case it was the machine");
        step_with_tools(what, "node", &["--test", file], env, tools)
    })
}

/// The extension in Chromium, on the page of SillyTavern: the files of tests, each on each version.
fn browser(tools: &Tools, files: &[&str], versions: &[&str]) -> Result<()> {
    if !tools.has("FORKLORE_CHROMIUM") || !tools.has("FORKLORE_SILLYTAVERN") {
        return Ok(());
    }
    step("the program", "cargo", &["build", "--package", "forklore"])?;
    for version in versions {
        for file in files {
            let path = format!("sillytavern/tests/{file}.test.js");
            let what = format!("browser, SillyTavern {version}, {file}");
            let version = [("FORKLORE_SILLYTAVERN_VERSION", *version)];
            in_browser(&what, &path, &version, tools)?;
        }
    }
    Ok(())
}

fn step(what: &str, program: &str, args: &[&str]) -> Result<()> {
    step_with(what, program, args, &[])
}

fn step_with(what: &str, program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    step_with_tools(what, program, args, env, &Tools::default())
}

fn step_with_tools(
    what: &str,
    program: &str,
    args: &[&str],
    env: &[(&str, &str)],
    tools: &Tools,
) -> Result<()> {
    println!("== {what}: {program} {}", args.join(" "));
    let start = Instant::now();
    let soaking = std::env::args().any(|arg| arg == "soak");
    let patience = if soaking { 20 * PATIENCE } else { PATIENCE };
    let env = env.iter().map(|(key, value)| (*key, OsString::from(value)));
    let mut command = Command::new(program);
    command.args(args).envs(env).envs(tools.env.iter().cloned());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().with_context(|| {
        format!("{program} could not be started: install Rust with rustfmt and clippy from rustup")
    })?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > patience {
            // With everything that it started.
            let group = format!("-{}", child.id());
            let _ended = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ended = child.kill();
            bail!("{what} has not ended after {} minutes", patience.as_secs() / 60);
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        bail!("{what} failed");
    }
    println!("== {what}: ok after {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
