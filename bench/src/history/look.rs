//! `forklore watch` on a whole vault, and how long it takes to look back.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use forklore_testkit::generate::{self, Size};

use super::super::{best, binary, evict, make_chat, run, timed};
use super::bytes_in;

pub(super) fn bench(vault: &Path, bytes: u64, entries: usize) -> Result<()> {
    let chat = make_chat(vault, Size { bytes, entries, scenes: 40, seed: 11 })?;
    let book = vault.join("worlds").join(format!("{}.json", generate::BOOK));
    let len = fs::metadata(&chat)?.len() + fs::metadata(&book)?.len();
    println!("\n  forklore watch, and looking back (start of the program included)");
    let row = |what: &str, time: Duration, told: &str| {
        println!("    {what:<58} {:>8.1} ms  {told}", time.as_secs_f64() * 1000.0);
    };
    let watch = ["watch", "--once", "--json"];
    let first = timed(|| run(vault, &watch))?;
    let rate = len as f64 / 1e6 / first.as_secs_f64();
    row("everything, for the first time", first, &format!("{rate:.0} MB/s"));
    // As SillyTavern saves: a message more, and the whole file anew.
    let mut saved = Vec::new();
    for n in 0..5 {
        let new = chat.with_extension("new");
        fs::copy(&chat, &new)?;
        let line = format!(
            "\n{{\"name\":\"Ana\",\"is_user\":false,\"send_date\":\"day {n}\",\"mes\":\"And on it goes, {n}.\",\"extra\":{{}}}}"
        );
        OpenOptions::new().append(true).open(&new)?.write_all(line.as_bytes())?;
        fs::rename(&new, &chat)?;
        let text = fs::read_to_string(&book)?.replacen("\"content\": \"", &format!("\"content\": \"{n} "), 1);
        fs::write(&book, text)?;
        let before = bytes_in(&vault.join(".forklore/history"))?;
        let time = timed(|| run(vault, &watch))?;
        saved.push((time, bytes_in(&vault.join(".forklore/history"))?.saturating_sub(before)));
    }
    let (time, stored) = saved.iter().min().copied().context("nothing was saved")?;
    row(
        "the chat written anew with a message more, an entry changed",
        time,
        &format!("{stored} bytes stored"),
    );
    let messages = fs::read(&chat)?.iter().filter(|byte| **byte == b'\n').count();
    for (what, at) in [("the middle", messages / 2), ("the last but two", messages - 3)] {
        let at = at.to_string();
        let show = ["show", "Gen/Long", "--at", &at, "--json"];
        let cold = best(|| {
            evict(&everything(vault)?)?;
            evict(&[binary()])?;
            timed(|| run(vault, &show))
        })?;
        row(&format!("show --at {what}, cold"), cold, "");
        row(&format!("show --at {what}, warm"), best(|| timed(|| run(vault, &show)))?, "");
    }
    Ok(())
}

/// All files below a folder.
fn everything(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for node in fs::read_dir(folder)? {
        let node = node?;
        if node.file_type()?.is_dir() {
            files.extend(everything(&node.path())?);
        } else {
            files.push(node.path());
        }
    }
    Ok(files)
}
