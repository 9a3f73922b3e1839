//! `cargo xtask test`: the whole test command, in the order in which a failure is cheapest.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

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
    step_with("tests", "cargo", &["test", "--workspace", "--no-fail-fast"], &[("INSTA_UPDATE", "no")])?;
    println!("\nAll of it passed.");
    Ok(())
}

/// The property tests with many more cases.
pub(crate) fn soak() -> Result<()> {
    let many = [("PROPTEST_CASES", "20000")];
    step_with(
        "property tests, long",
        "cargo",
        &["test", "--release", "--workspace", "--", "properties"],
        &many,
    )
}

fn step(what: &str, program: &str, args: &[&str]) -> Result<()> {
    step_with(what, program, args, &[])
}

fn step_with(what: &str, program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<()> {
    println!("== {what}: {program} {}", args.join(" "));
    let start = Instant::now();
    let status = Command::new(program).args(args).envs(env.iter().copied()).status().with_context(|| {
        format!("{program} could not be started: install Rust with rustfmt and clippy from rustup")
    })?;
    if !status.success() {
        bail!("{what} failed");
    }
    println!("== {what}: ok after {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
