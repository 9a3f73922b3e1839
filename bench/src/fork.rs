//! A durable checkpoint, beside writing and syncing the same bytes: the new book, the new chat, the parent with its link.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use forklore_testkit::generate::{self, Size};

use super::image::{self, Image};
use super::sillytavern::{self, Server};
use super::{Options, evict, make_chat, peak_memory, run, target_dir, timed};

/// Times each fork this often: a fork writes hundreds of megabytes, which disks do not always do at the same speed.
const RUNS: usize = 9;

/// A vault to fork in, again and again.
struct Bench {
    /// As generated; never touched
    pristine: PathBuf,
    /// Where forks are made
    vault: PathBuf,
    /// Where the same bytes are written by hand
    by_hand: PathBuf,
    /// The messages that are forked at, by name, with the bytes before their end
    points: [(&'static str, String, u64); 2],
}

pub(super) fn bench(megabytes: u64, options: Options) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
    let entries = if options.quick { 500 } else { 5_000 };
    let pristine = dir.path().join("pristine");
    let chat = make_chat(&pristine, Size { bytes: megabytes << 20, entries, scenes: 40, seed: 7 })?;
    let points = points(&chat)?;
    let bytes = fs::metadata(&chat)?.len();
    let book = fs::metadata(book_of(&pristine))?.len();
    println!("\nA checkpoint of a chat of {bytes} bytes with a book of {entries} entries ({book} bytes):\n");
    println!("  {:<44} {:>11}  {:>7}  {:>13}  {:>9}", "", "best", "ratio", "all runs", "memory");

    let here = Bench::new(&pristine, dir.path(), &points)?;
    let mut best = Vec::new();
    for point in &here.points {
        best.push(here.measure(point, "", true)?);
    }
    here.first_contact()?;
    here.tree_after()?;
    for (kind, make) in image::KINDS {
        let place = tempfile::Builder::new().prefix("forklore-image").tempdir_in(target_dir())?;
        match Image::mount(place.path(), make) {
            Ok(image) => {
                let there = Bench::new(&pristine, image.folder(), &points)?;
                for point in &there.points {
                    there.measure(point, kind, false)?;
                }
            }
            Err(e) => println!("  (no {kind} here: {e:#})"),
        }
    }
    if !options.sillytavern {
        return Ok(());
    }
    match sillytavern::install() {
        Ok(server) => against_sillytavern(&server, dir.path(), &pristine, &best),
        Err(e) => {
            println!("  (not compared with SillyTavern's server: {e:#})");
            Ok(())
        }
    }
}

fn against_sillytavern(server: &Path, dir: &Path, pristine: &Path, best: &[Duration]) -> Result<()> {
    for (at, ours) in ["last", "middle"].into_iter().zip(best) {
        let place = dir.join(format!("sillytavern-{at}"));
        let vault = place.join("vault");
        copy_vault(pristine, &vault)?;
        // A fresh server for each: its peak is of this fork alone.
        let running = Server::start(server, &place, &vault)?;
        let told = running.fork(at)?;
        drop(running);
        println!(
            "  {:<44} {:>8.1} ms  {:>5.1} x   (opening the chat before: {:.1} s)  {:>6.0} MB   target 40 x",
            format!("SillyTavern's server, {at} message, to ours"),
            told.fork.as_secs_f64() * 1000.0,
            told.fork.as_secs_f64() / ours.as_secs_f64(),
            told.opening.as_secs_f64(),
            told.peak as f64 / 1e6,
        );
        fs::remove_dir_all(&place)?;
    }
    Ok(())
}

impl Bench {
    fn new(pristine: &Path, dir: &Path, points: &[(&'static str, String, u64); 2]) -> Result<Self> {
        let (vault, by_hand) = (dir.join("vault"), dir.join("by hand"));
        fs::create_dir_all(&by_hand)?;
        // Measured where it is forked: reading from elsewhere would be another disk.
        let copy = dir.join("original");
        copy_vault(pristine, &copy)?;
        Ok(Self { pristine: copy, vault, by_hand, points: points.clone() })
    }

    /// A vault as generated, whose chat is in memory, and nothing waiting to be written.
    fn reset(&self) -> Result<()> {
        self.wait_for_recording()?;
        if self.vault.exists() {
            fs::remove_dir_all(&self.vault)?;
        }
        copy_vault(&self.pristine, &self.vault)?;
        rustix::fs::sync();
        Ok(())
    }

    /// A large fork is recorded in history once it is there, by a process of its own. The next run must not meet that of the last.
    fn wait_for_recording(&self) -> Result<()> {
        let vault = self.vault.to_string_lossy();
        let records = |process: &Path| {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains(&*vault) && line.contains("--operation")
        };
        // A process that is just starting has no command line yet: nobody must be seen twice.
        let mut quiet = 0;
        for _ in 0..600 {
            let mut processes = fs::read_dir("/proc")?.flatten().map(|node| node.path());
            quiet = if processes.any(|process| records(&process)) { 0 } else { quiet + 1 };
            if quiet == 2 {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("a fork is still being recorded after a minute")
    }

    /// The same bytes, written and synced in the plainest way.
    fn floor(&self, end: u64) -> Result<Duration> {
        for node in fs::read_dir(&self.by_hand)? {
            fs::remove_file(node?.path())?;
        }
        let book = fs::read(book_of(&self.vault))?;
        let chat = chat_of(&self.vault);
        rustix::fs::sync();
        timed(|| {
            let mut new = File::create(self.by_hand.join("book"))?;
            new.write_all(&book)?;
            new.sync_all()?;
            let mut new = File::create(self.by_hand.join("chat"))?;
            std::io::copy(&mut File::open(&chat)?.take(end), &mut new)?;
            new.sync_all()?;
            let parent = self.by_hand.join("parent");
            fs::copy(&chat, &parent)?;
            File::open(&parent)?.sync_all()?;
            File::open(&self.by_hand)?.sync_all()?;
            Ok(())
        })
    }

    fn measure(&self, (what, at, end): &(&str, String, u64), on: &str, copied: bool) -> Result<Duration> {
        let args = ["checkpoint", "Gen/Long", "--at", at, "--json"];
        let (mut floors, mut times) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            self.reset()?;
            floors.push(self.floor(*end)?);
            run(&self.vault, &["tree", "--json"])?;
            rustix::fs::sync();
            times.push(timed(|| run(&self.vault, &args))?);
        }
        self.reset()?;
        run(&self.vault, &["tree", "--json"])?;
        let memory = peak_memory(&self.vault, &args)?;
        let on = if on.is_empty() { String::new() } else { format!("{on}: ") };
        if copied {
            row(&format!("{on}floor, {what} message"), &floors, None, None, "");
        }
        let target = if copied { "target 1.4 x, 64 MB" } else { "target milliseconds" };
        let floor = best(&floors).filter(|_| copied);
        row(&format!("{on}checkpoint, {what} message"), &times, floor, Some(memory), target);
        best(&times).context("nothing was measured")
    }

    /// A checkpoint in a vault that Forklore has never seen.
    fn first_contact(&self) -> Result<()> {
        let (what, at, end) = &self.points[0];
        let args = ["checkpoint", "Gen/Long", "--at", at, "--json"];
        let (mut floors, mut times) = (Vec::new(), Vec::new());
        for _ in 0..RUNS.min(3) {
            self.reset()?;
            floors.push(self.floor(*end)?);
            evict(&[chat_of(&self.vault)])?;
            times.push(timed(|| run(&self.vault, &args))?);
        }
        self.reset()?;
        let memory = peak_memory(&self.vault, &args)?;
        let what = format!("checkpoint, {what} message, never read, cold");
        row(&what, &times, best(&floors), Some(memory), "");
        Ok(())
    }

    /// The first look after a fork, which changes one chat and adds another.
    fn tree_after(&self) -> Result<()> {
        let mut times = Vec::new();
        for _ in 0..RUNS.min(3) {
            self.reset()?;
            run(&self.vault, &["tree", "--json"])?;
            run(&self.vault, &["checkpoint", "Gen/Long", "--at", &self.points[1].1, "--json"])?;
            times.push(timed(|| run(&self.vault, &["tree", "--json"]))?);
        }
        row("tree, right after a checkpoint", &times, None, None, "");
        Ok(())
    }
}

fn best(times: &[Duration]) -> Option<Duration> {
    times.iter().min().copied()
}

fn row(what: &str, times: &[Duration], floor: Option<Duration>, memory: Option<u64>, target: &str) {
    let ms = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64() * 1000.0;
    let (least, most) = (ms(best(times)), ms(times.iter().max().copied()));
    let ratio = floor.map_or_else(String::new, |floor| format!("{:.2} x", least / ms(Some(floor))));
    let all = format!("{least:.0} to {most:.0}");
    let memory = memory.map_or_else(String::new, |bytes| format!("{:.1} MB", bytes as f64 / 1e6));
    println!("  {what:<44} {least:>8.1} ms  {ratio:>7}  {all:>13}  {memory:>9}  {target}");
}

fn chat_of(vault: &Path) -> PathBuf {
    vault.join("chats/Gen/Long.jsonl")
}

fn book_of(vault: &Path) -> PathBuf {
    vault.join("worlds").join(format!("{}.json", generate::BOOK))
}

/// The last and the middle message, and where each ends in the file.
fn points(chat: &Path) -> Result<[(&'static str, String, u64); 2]> {
    let text = fs::read(chat)?;
    let ends: Vec<usize> = text.iter().enumerate().filter(|(_, c)| **c == b'\n').map(|(at, _)| at).collect();
    // The first newline ends the header; the file ends without one.
    let (last, middle) = (ends.len() - 1, ends.len() / 2);
    Ok([
        ("last", last.to_string(), text.len() as u64),
        ("middle", middle.to_string(), ends[middle + 1] as u64),
    ])
}

fn copy_vault(from: &Path, to: &Path) -> Result<()> {
    for folder in ["chats/Gen", "worlds"] {
        fs::create_dir_all(to.join(folder))?;
    }
    fs::copy(from.join("settings.json"), to.join("settings.json"))?;
    fs::copy(chat_of(from), chat_of(to))?;
    fs::copy(book_of(from), book_of(to))?;
    File::open(chat_of(to))?.sync_all()?;
    Ok(())
}
