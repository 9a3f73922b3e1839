//! `cargo xtask bench`: how fast, as ratios to what the same disk needs for the same bytes in the same run.
//!
//! Reading is compared with one cold sequential read (here, and for many small chats in [`chats`]), forking with writing and syncing the same bytes ([`fork`]), with the
//! same on file systems that share blocks ([`image`]), and with SillyTavern's own server ([`sillytavern`]); keeping every version with
//! what else keeps versions ([`history`]). Comparing two books ([`mod@diff`]) happens in memory. What the plugin costs SillyTavern is in
//! [`plugin`], how fast pages are in [`web`], and what memory costs in [`memory`] and [`projection`].

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a chore talks to the disk and to the terminal"
)]

mod chats;
mod diff;
mod fork;
mod history;
mod image;
mod learn;
mod memory;
mod plugin;
mod projection;
mod sillytavern;
mod web;

use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use forklore_testkit::generate::{self, Size};

/// Times each thing this often and takes the best.
const RUNS: usize = 5;

/// What to measure.
#[derive(Clone, Copy)]
struct Options {
    /// A tenth of the size
    quick: bool,
    /// Whether SillyTavern's server is measured, too
    sillytavern: bool,
    /// Whether forks alone are measured
    forks_only: bool,
    /// Whether reading alone is measured
    reading_only: bool,
    /// Whether history alone is measured
    history_only: bool,
    /// Whether the plugin alone is measured
    plugin_only: bool,
    /// Whether the pages alone are measured
    web_only: bool,
    /// Whether bringing branches together alone is measured
    learn_only: bool,
    /// Whether memory alone is measured
    memory_only: bool,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // One save, as the benchmark of history lets it be kept by a process of its own.
    if let [keep, store, files] = &args[..]
        && keep == "keep"
    {
        return history::store::keep(store.as_ref(), files.as_ref());
    }
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    bench(Options {
        quick: has("--quick"),
        sillytavern: !has("--no-sillytavern"),
        forks_only: has("--forks"),
        reading_only: has("--reading"),
        learn_only: has("--learn"),
        memory_only: has("--memory"),
        history_only: has("--history"),
        plugin_only: has("--plugin"),
        web_only: has("--web"),
    })
}

fn bench(options: Options) -> Result<()> {
    let megabytes = if options.quick { 20 } else { 200 };
    if options.history_only {
        return history::bench(megabytes, options);
    }
    if options.memory_only {
        return memory::bench();
    }
    let status = Command::new("cargo").args(["build", "--release", "--quiet"]).status()?;
    if !status.success() {
        bail!("the release build failed");
    }
    if options.plugin_only {
        return plugin::bench();
    }
    if options.web_only {
        return web::bench();
    }
    if options.learn_only {
        return learn::bench();
    }
    if options.forks_only {
        return fork::bench(megabytes, options);
    }
    reading(megabytes)?;
    chats::bench(if options.quick { 300 } else { 3_000 })?;
    if options.reading_only {
        return Ok(());
    }
    diff::bench()?;
    learn::bench()?;
    memory::bench()?;
    fork::bench(megabytes, options)?;
    history::bench(megabytes, options)?;
    web::bench()?;
    if options.sillytavern { plugin::bench() } else { Ok(()) }
}

fn reading(megabytes: u64) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
    let vault = dir.path().join("vault");
    println!(
        "A generated chat of about {megabytes} MB, 40 scenes, a book of 200 entries, and a fork of it at 10 MB:"
    );
    let files = make_vault(&vault, megabytes << 20)?;
    let len: u64 =
        files.iter().map(|file| fs::metadata(file).map(|meta| meta.len())).sum::<std::io::Result<u64>>()?;

    let floor = Floor::of(&files)?;
    let row = |what: &str, time: Duration, target: &str| floor.row(what, time, target);
    println!("  {len} bytes\n");
    row("floor: one cold sequential read of both", floor.0, "");
    let middle = (megabytes * (1 << 20) / 2_100 / 2).to_string();
    let commands: [(&str, Vec<&str>); 4] = [
        ("tree", vec!["tree", "--json"]),
        ("show --at the middle", vec!["show", "Gen/Long", "--at", &middle, "--json"]),
        ("diff of the middle and the end", vec!["diff", "Gen/Long", "--at", &middle, "--json"]),
        ("check", vec!["check", "--json"]),
    ];
    for (what, args) in &commands {
        let first = best(|| {
            forget(&vault)?;
            evict(&files)?;
            timed(|| run(&vault, args))
        })?;
        row(&format!("{what}, the first time, cold"), first, "target 3 x");
    }
    for (what, args) in &commands {
        run(&vault, args)?;
        let again = best(|| timed(|| run(&vault, args)))?;
        row(&format!("{what}, unchanged since"), again, "target 10 ms");
    }
    for (what, args) in &commands {
        forget(&vault)?;
        let peak = peak_memory(&vault, args)?;
        println!(
            "  {:<44} {:>8.1} MB           target 64 MB",
            format!("{what}, peak memory"),
            peak as f64 / 1e6
        );
    }
    Ok(())
}

/// The folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

fn binary() -> PathBuf {
    target_dir().join("release/forklore")
}

/// Makes the vault and returns its chats.
fn make_vault(vault: &Path, bytes: u64) -> Result<[PathBuf; 2]> {
    let chat = make_chat(vault, Size { bytes, entries: 200, scenes: 40, seed: 7 })?;
    // A fork as SillyTavern makes them: the first messages, the same book.
    let text = fs::read(&chat)?;
    let mut lines = text.split(|c| *c == b'\n');
    let header = String::from_utf8_lossy(lines.next().unwrap_or_default()).replacen(
        "{\"integrity\":\"1111",
        "{\"main_chat\":\"Long\",\"integrity\":\"2222",
        1,
    );
    let mut fork = header.into_bytes();
    for line in lines.take_while({
        let mut taken = 0;
        move |line| {
            taken += line.len();
            taken < 10 << 20
        }
    }) {
        fork.push(b'\n');
        fork.extend_from_slice(line);
    }
    let branch = vault.join("chats/Gen/Long - Branch #1.jsonl");
    fs::write(&branch, fork)?;
    Ok([chat, branch])
}

/// Makes a vault with one chat and its book; returns the chat.
fn make_chat(vault: &Path, size: Size) -> Result<PathBuf> {
    for folder in ["chats/Gen", "worlds"] {
        fs::create_dir_all(vault.join(folder))?;
    }
    fs::write(vault.join("settings.json"), "{}")?;
    let chat = vault.join("chats/Gen/Long.jsonl");
    let mut out = BufWriter::new(File::create(&chat)?);
    let book = generate::chat(&mut out, size, "11111111-1111-4111-8111-111111111111")?;
    out.into_inner()?.sync_all()?;
    fs::write(
        vault.join("worlds").join(format!("{}.json", generate::BOOK)),
        serde_json::to_vec_pretty(&book)?,
    )?;
    Ok(chat)
}

fn forget(vault: &Path) -> Result<()> {
    let cache = vault.join(".forklore");
    if cache.exists() {
        fs::remove_dir_all(cache)?;
    }
    Ok(())
}

/// Drops files from the page cache, so that the next read comes from the disk.
fn evict(files: &[PathBuf]) -> Result<()> {
    for path in files {
        let file = File::open(path)?;
        file.sync_all()?;
        let advice = rustix::fs::Advice::DontNeed;
        rustix::fs::fadvise(&file, 0, None, advice).context("the page cache could not be emptied")?;
    }
    Ok(())
}

fn read_all(path: &Path) -> Result<()> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    while file.read(&mut block)? > 0 {}
    Ok(())
}

fn run(vault: &Path, args: &[&str]) -> Result<()> {
    let output = Command::new(binary()).arg("--vault").arg(vault).args(args).output()?;
    // `check` exits with 1 when it finds something, which is not a failure here.
    if output.stdout.is_empty() {
        std::io::stderr().write_all(&output.stderr)?;
        bail!("forklore {args:?} gave no answer");
    }
    Ok(())
}

/// The most memory that a run held at once, in bytes, as GNU time sees it.
fn peak_memory(vault: &Path, args: &[&str]) -> Result<u64> {
    let kilobytes: u64 = said_by_time("%M", vault, args)?.parse().context("GNU time said no number")?;
    Ok(kilobytes * 1024)
}

/// The processor's time that a run took on all cores, to the hundredth of a second. On a machine that does something else, too, it tells more than
/// the clock.
fn processor_time(vault: &Path, args: &[&str]) -> Result<Duration> {
    let said = said_by_time("%U %S", vault, args)?;
    let seconds = said.split(' ').map(str::parse::<f64>).sum::<Result<f64, _>>();
    Ok(Duration::from_secs_f64(seconds.context("GNU time said no number")?))
}

/// What GNU time says of a run.
fn said_by_time(format: &str, vault: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("/usr/bin/time")
        .args(["--format", format])
        .arg(binary())
        .arg("--vault")
        .arg(vault)
        .args(args)
        .output()
        .context("GNU time is needed to see memory and the processor's time: apt-get install time")?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text.lines().last().unwrap_or_default().trim().to_owned())
}

fn timed(act: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    act()?;
    Ok(start.elapsed())
}

/// One cold sequential read of some files, which everything else is compared with.
struct Floor(Duration);

impl Floor {
    fn of(files: &[PathBuf]) -> Result<Self> {
        let floor = best(|| {
            evict(files)?;
            timed(|| files.iter().try_for_each(|file| read_all(file)))
        })?;
        Ok(Self(floor))
    }

    fn row(&self, what: &str, time: Duration, target: &str) {
        let ratio = time.as_secs_f64() / self.0.as_secs_f64();
        println!("  {what:<44} {:>8.1} ms  {ratio:>6.2} x  {target}", time.as_secs_f64() * 1000.0);
    }
}

fn best(mut act: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        best = best.min(act()?);
    }
    Ok(best)
}
