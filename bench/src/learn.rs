//! Bringing a branch along: a book of 5,000 entries of which both lines have changed some, against copying its bytes.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{best, run, target_dir, timed};

/// How many entries the book has.
const ENTRIES: i64 = 5_000;

pub(crate) fn bench() -> Result<()> {
    println!("\nBringing a branch along, {ENTRIES} entries:");
    let vault = target_dir().join("bench/learn");
    let mut merged = Vec::new();
    let mut bytes = 0;
    let time = best(|| {
        make(&vault)?;
        let time = timed(|| run(&vault, &["learn", "Ana/main", "--from", "Ana/other", "--name", "both"]))?;
        let book = fs::read(vault.join("worlds/Lore - both.json")).context("no book was made")?;
        bytes = book.len();
        merged = book;
        Ok(time)
    })?;
    let copied = best(|| {
        timed(|| {
            let path = vault.join("copied");
            fs::write(&path, &merged)?;
            Ok(fs::File::open(&path)?.sync_all()?)
        })
    })?;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    println!("  learn, the whole command                     {:>8.1} ms", ms(time));
    println!("  writing the bytes of its book ({:>4.1} MB)       {:>8.1} ms", bytes as f64 / 1e6, ms(copied));
    Ok(())
}

/// Two branches, each with a book of its own that was written into since.
fn make(vault: &std::path::Path) -> Result<()> {
    if vault.exists() {
        fs::remove_dir_all(vault)?;
    }
    fs::create_dir_all(vault.join("chats/Ana"))?;
    fs::create_dir_all(vault.join("worlds"))?;
    fs::write(vault.join("settings.json"), "{}")?;
    let text = |uid: i64, more: &str| {
        (0..16)
            .map(|n| format!("Line {n} of what is known about number {uid}.{more}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let book = |every: i64, more: &str| -> Value {
        let entry = |uid: i64| {
            let more = if every > 0 && uid % every == 0 { more } else { "" };
            let entry = forklore_testkit::story::entry(uid, &format!("Thing {uid}"), &text(uid, more));
            (uid.to_string(), entry)
        };
        json!({"entries": (0..ENTRIES).map(entry).collect::<serde_json::Map<_, _>>()})
    };
    // Each goes on with words of its own: the same message in both would be one that they have in common.
    let message = |n: usize, of: &str| json!({"name": "Ana", "is_user": false, "send_date": n.to_string(), "mes": format!("Message {n}{of}.")});
    let header = json!({"chat_metadata": {"integrity": "slug", "world_info": "Lore"}});
    let main = vault.join("chats/Ana/main.jsonl");
    fs::write(&main, format!("{header}\n{}\n{}", message(0, ""), message(1, "")))?;
    fs::write(vault.join("worlds/Lore.json"), serde_json::to_vec_pretty(&book(0, ""))?)?;
    run(vault, &["branch", "Ana/main", "--name", "other"])?;
    for (chat, name, every) in [("main", "Lore", 50), ("other", "Lore - other", 49)] {
        let path = vault.join(format!("chats/Ana/{chat}.jsonl"));
        fs::write(&path, format!("{}\n{}", fs::read_to_string(&path)?, message(2, chat)))?;
        let changed = book(every, &format!(" Seen in {chat}."));
        fs::write(vault.join(format!("worlds/{name}.json")), serde_json::to_vec_pretty(&changed)?)?;
    }
    Ok(())
}
