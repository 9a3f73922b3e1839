//! Thousands of chats: what it takes to read them for the first time, when nothing has changed since, and when one was saved again.
//!
//! Three [`Shape`]s: one family in which nothing but the lines tells who was forked from whom; many stories with lorebooks and scenes; and all of
//! that in one story, where everything can tell something of everything else.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use forklore_testkit::generate::{self, Random, Size};

use super::{Floor, best, evict, forget, processor_time, run, target_dir, timed};

/// Messages of the chat that all others of the family were forked from.
const MESSAGES: usize = 200;
/// Chats of each of many stories.
const CHATS: usize = 10;

/// How the chats of a vault belong together.
enum Shape {
    /// They share a beginning, and none says where it comes from
    Family,
    /// So many stories, each a chat with scenes and a lorebook, and its forks. Every other fork shares the lorebook, as SillyTavern makes
    /// them, and the rest have a copy
    Stories(usize),
}

pub(super) fn bench(chats: usize) -> Result<()> {
    let shapes = [
        (
            Shape::Family,
            format!("{chats} chats that share a beginning, none of which says where it comes from"),
        ),
        (
            Shape::Stories(chats / CHATS),
            format!("{} stories of {CHATS} chats, with lorebooks and scenes", chats / CHATS),
        ),
        (Shape::Stories(1), format!("one story of {chats} chats, with lorebooks and scenes")),
    ];
    for (shape, what) in shapes {
        let dir = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
        let vault = dir.path().join("vault");
        println!("\n{what}:");
        let files = match shape {
            Shape::Family => family(&vault, chats)?,
            Shape::Stories(stories) => with_lore(&vault, stories, chats / stories)?,
        };
        measure(&vault, &files)?;
    }
    Ok(())
}

fn measure(vault: &Path, files: &[PathBuf]) -> Result<()> {
    let floor = Floor::of(files)?;
    let row = |what: &str, time: Duration, processor: Duration, target: &str| {
        let processor = format!("{:>6.0} ms of the processor  {target}", processor.as_secs_f64() * 1000.0);
        floor.row(what, time, &processor);
    };
    floor.row("floor: one cold read of all", floor.0, "");
    let some = &files[files.len() / 2];
    let address = some.with_extension("");
    let address = address.strip_prefix(vault.join("chats"))?.to_str().context("our own names are text")?;
    let commands: [&[&str]; 4] =
        [&["stories", "--json"], &["tree", "--json"], &["check", "--json"], &["show", address, "--json"]];
    for args in commands {
        let what = args[0];
        let first = best(|| {
            forget(vault)?;
            evict(files)?;
            timed(|| run(vault, args))
        })?;
        forget(vault)?;
        row(&format!("{what}, the first time, cold"), first, processor_time(vault, args)?, "target 2 x");
        // What was changed only just now is not believed to be the same.
        run(vault, args)?;
        let again = best(|| timed(|| run(vault, args)))?;
        let processor = best(|| processor_time(vault, args))?;
        row(&format!("{what}, unchanged since"), again, processor, "target 100 ms");
        let save = || -> Result<()> {
            let text = fs::read(some)?;
            fs::write(some, text)?;
            std::thread::sleep(Duration::from_millis(200));
            Ok(())
        };
        let saved = best(|| {
            save()?;
            timed(|| run(vault, args))
        })?;
        save()?;
        row(&format!("{what}, one chat saved since"), saved, processor_time(vault, args)?, "");
    }
    Ok(())
}

fn family(vault: &Path, chats: usize) -> Result<Vec<PathBuf>> {
    for folder in ["chats/Gen", "worlds"] {
        fs::create_dir_all(vault.join(folder))?;
    }
    fs::write(vault.join("settings.json"), "{}")?;
    let mut random = Random::new(11);
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

fn with_lore(vault: &Path, stories: usize, chats: usize) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(vault.join("worlds"))?;
    fs::write(vault.join("settings.json"), "{}")?;
    let mut random = Random::new(13);
    let mut files = Vec::new();
    for story in 0..stories {
        let mut text = Vec::new();
        let size = Size { bytes: 120_000, entries: 24, scenes: 6, seed: story as u64 };
        let lore = generate::chat(&mut text, size, &format!("slug {story}"))?;
        let lore = serde_json::to_vec_pretty(&lore)?;
        let text = String::from_utf8(text)?.replace(generate::BOOK, &format!("Lore {story}"));
        let (header, told) = text.split_once('\n').context("a chat has messages")?;
        let told: Vec<&str> = told.split('\n').collect();
        let folder = vault.join(format!("chats/Gen {story}"));
        fs::create_dir_all(&folder)?;
        let book = |name: &str| vault.join(format!("worlds/{name}.json"));
        fs::write(book(&format!("Lore {story}")), &lore)?;
        for chat in 0..chats {
            let (shared, own) = if chat == 0 {
                (told.len(), 0)
            } else {
                (5 + random.below(told.len() - 5), random.below(12))
            };
            let mut header: serde_json::Value = serde_json::from_str(header)?;
            let metadata = &mut header["chat_metadata"];
            if chat > 0 {
                metadata["integrity"] = format!("slug {story} {chat}").into();
                metadata["main_chat"] = "Long".into();
            }
            if chat % 2 == 1 {
                let own = format!("Lore {story} - {chat}");
                fs::write(book(&own), &lore)?;
                metadata["world_info"] = own.into();
            }
            let mut text = header.to_string();
            for line in &told[..shared] {
                write!(text, "\n{line}")?;
            }
            for i in shared..shared + own {
                write!(text, "\n{}", line(&random.words(120), i, chat))?;
            }
            let name = if chat == 0 { "Long".to_owned() } else { format!("Long - Branch #{chat}") };
            let file = folder.join(format!("{name}.jsonl"));
            fs::write(&file, text)?;
            files.push(file);
        }
    }
    Ok(files)
}

/// A message, which no other chat than `of` has with these words at this time.
fn line(text: &str, i: usize, of: usize) -> serde_json::Value {
    let date = format!("2026-01-01T00:{:02}:{:02}.{of:06}Z", i / 60 % 60, i % 60);
    serde_json::json!({"name": "Gen", "is_user": i % 2 == 1, "is_system": false, "send_date": date, "mes": text, "extra": {}})
}
