//! `cargo xtask bench --history`: a recorded sequence of saves, as SillyTavern and its extensions make them, kept by Forklore's
//! store, by whole copies (what SillyTavern's `backups/` folder does), by git and by restic.
//!
//! Every save is a process of its own for each of them, so that start-up, memory and processor time compare. The machine may be
//! busy: processor time is the fairer number.

mod keepers;
mod look;
mod saves;
pub(crate) mod store;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::keepers::Keeper;
use self::saves::{Files, SaveKind};
use super::{Options, target_dir};

/// What one step cost one keeper.
#[derive(Default, Clone, Copy)]
struct Cost {
    saves: u32,
    /// What came on top, and what is left of it when the keeper has cleaned up.
    bytes: i64,
    packed: i64,
    wall: Duration,
    processor: Duration,
    memory: u64,
}

pub(super) fn bench(megabytes: u64, options: Options) -> Result<()> {
    // This program may have been built without optimisation.
    let build = ["build", "--release", "--quiet", "--package", "forklore-bench", "--package", "forklore"];
    if !Command::new("cargo").args(build).status()?.success() {
        bail!("the release build failed");
    }
    let dir = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
    let entries = if options.quick { 500 } else { 5_000 };
    let files = Files::make(&dir.path().join("vault"), megabytes << 20, entries)?;
    println!(
        "\nA chat of {:.1} MB and a book of {entries} entries ({:.1} MB), saved again and again.",
        files.chat_len()? as f64 / 1e6,
        files.book_len()? as f64 / 1e6
    );
    let (keepers, missing) = keepers::all(dir.path(), &files)?;
    for missing in missing {
        println!("  (not compared: {missing})");
    }
    let mut costs: Vec<Vec<Cost>> = vec![vec![Cost::default(); SaveKind::ALL.len()]; keepers.len()];
    for (number, step) in SaveKind::ALL.into_iter().enumerate() {
        for save in 0..step.saves() {
            files.save(step, save)?;
            for (keeper, costs) in keepers.iter().zip(&mut costs) {
                keep(&**keeper, &mut costs[number])?;
            }
        }
        for (keeper, costs) in keepers.iter().zip(&mut costs) {
            let before = keeper.bytes()?;
            keeper.clean_up()?;
            costs[number].packed = costs[number].bytes + keeper.bytes()? as i64 - before as i64;
        }
        report(step, &keepers, &costs, number);
    }
    total(&keepers, &costs);
    store::verify(&dir.path().join("forklore"), &files)?;
    look::bench(&dir.path().join("watched"), megabytes << 20, entries)
}

fn keep(keeper: &dyn Keeper, cost: &mut Cost) -> Result<()> {
    rustix::fs::sync();
    let bytes = keeper.bytes()?;
    let (start, processor) = (Instant::now(), processor_time()?);
    let memory = keeper.keep()?;
    cost.wall += start.elapsed();
    cost.processor += processor_time()?.saturating_sub(processor);
    cost.bytes += keeper.bytes()? as i64 - bytes as i64;
    cost.memory = cost.memory.max(memory);
    cost.saves += 1;
    Ok(())
}

fn report(step: SaveKind, keepers: &[Box<dyn Keeper>], costs: &[Vec<Cost>], number: usize) {
    println!("\n  {}", step.what());
    println!(
        "    {:<24} {:>13} {:>13} {:>10} {:>10} {:>9}",
        "a save, on average", "bytes", "cleaned up", "time", "processor", "memory"
    );
    for (keeper, costs) in keepers.iter().zip(costs) {
        row(keeper.name(), &costs[number]);
    }
}

fn row(name: &str, cost: &Cost) {
    let saves = f64::from(cost.saves.max(1));
    let memory = if cost.memory > 0 { format!("{:.0} MB", cost.memory as f64 / 1e6) } else { String::new() };
    println!(
        "    {name:<24} {:>13.0} {:>13.0} {:>7.0} ms {:>7.0} ms {memory:>9}",
        cost.bytes as f64 / saves,
        cost.packed as f64 / saves,
        cost.wall.as_secs_f64() * 1000.0 / saves,
        cost.processor.as_secs_f64() * 1000.0 / saves,
    );
}

fn total(keepers: &[Box<dyn Keeper>], costs: &[Vec<Cost>]) {
    println!("\n  All of it");
    println!(
        "    {:<24} {:>13} {:>13} {:>10} {:>10} {:>9}",
        "the sum", "bytes", "cleaned up", "time", "processor", "memory"
    );
    for (keeper, costs) in keepers.iter().zip(costs) {
        let mut sum = Cost { saves: 1, ..Cost::default() };
        for cost in costs {
            sum.bytes += cost.bytes;
            sum.packed += cost.packed;
            sum.wall += cost.wall;
            sum.processor += cost.processor;
            sum.memory = sum.memory.max(cost.memory);
        }
        row(keeper.name(), &sum);
    }
}

/// Processor time of this process and of all that it has waited for.
fn processor_time() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").context("processor time is read from /proc")?;
    // The name in the second field can hold anything, blanks and parentheses included.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.iter().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

/// Bytes of all files in a folder.
fn bytes_in(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for node in fs::read_dir(folder)? {
        let node = node?;
        let meta = node.metadata()?;
        sum += if meta.is_dir() { bytes_in(&node.path())? } else { meta.len() };
    }
    Ok(sum)
}
