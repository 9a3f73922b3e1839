//! Many chats of one family: who was forked from whom, where nothing but their lines tells it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use forklore_testkit::generate::Random;

use super::{Floor, best, evict, forget, run, target_dir, timed};

/// Messages of the chat that all others were forked from.
const MESSAGES: usize = 200;

pub(super) fn bench(chats: usize) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
    let vault = dir.path().join("vault");
    let files = make(&vault, chats)?;
    println!("\n{chats} chats that share a beginning, none of which says where it comes from:");
    let floor = Floor::of(&files)?;
    let row = |what: &str, time: Duration, target: &str| floor.row(what, time, target);
    row("floor: one cold read of all", floor.0, "");
    for what in ["tree", "check"] {
        let first = best(|| {
            forget(&vault)?;
            evict(&files)?;
            timed(|| run(&vault, &[what, "--json"]))
        })?;
        row(&format!("{what}, the first time, cold"), first, "target 2 x");
        let again = best(|| timed(|| run(&vault, &[what, "--json"])))?;
        row(&format!("{what}, unchanged since"), again, "target 100 ms");
    }
    let touched = best(|| {
        // One of them is saved again.
        let text = fs::read(&files[1])?;
        fs::write(&files[1], text)?;
        timed(|| run(&vault, &["tree", "--json"]))
    })?;
    row("tree, one chat saved since", touched, "");
    Ok(())
}

fn make(vault: &Path, chats: usize) -> Result<Vec<PathBuf>> {
    for folder in ["chats/Gen", "worlds"] {
        fs::create_dir_all(vault.join(folder))?;
    }
    fs::write(vault.join("settings.json"), "{}")?;
    let mut random = Random::new(11);
    let line = |text: &str, i: usize, of: usize| {
        let date = format!("2026-01-01T00:{:02}:{:02}.{of:06}Z", i / 60 % 60, i % 60);
        serde_json::json!({"name": "Gen", "is_user": i % 2 == 1, "is_system": false, "send_date": date, "mes": text, "extra": {}})
    };
    let told: Vec<_> = (0..MESSAGES).map(|i| line(&random.words(120), i, 0)).collect();
    let mut files = Vec::new();
    for chat in 0..chats {
        let shared = if chat == 0 { MESSAGES } else { 5 + random.below(MESSAGES - 10) };
        let own = if chat == 0 { 0 } else { 5 + random.below(35) };
        let mut text =
            serde_json::json!({"chat_metadata": {"integrity": format!("slug {chat}")}}).to_string();
        for line in &told[..shared] {
            write!(text, "\n{line}")?;
        }
        for i in shared..shared + own {
            write!(text, "\n{}", line(&random.words(120), i, chat))?;
        }
        let file = vault.join(format!("chats/Gen/Chat {chat}.jsonl"));
        fs::write(&file, text)?;
        files.push(file);
    }
    Ok(files)
}
