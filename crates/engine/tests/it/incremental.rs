//! What `check` finds is what it would find if nothing had been kept: whatever happens to files between two looks, and to what was kept.
//!
//! `FORKLORE_STORIES` sets how many vaults are tried, `FORKLORE_SEED` the first one.

use std::collections::HashSet;
use std::sync::Arc;

use forklore_engine::check::{check, check_changed};
use forklore_fs::{NodeKind, SimFs, VaultPath, Vfs};
use forklore_testkit::lineage::World;
use forklore_testkit::play::{Keeper, Setting, Story};
use forklore_vault::history::Watch;
use forklore_vault::{Library, NoProgress};
use serde_json::{Value, json};

use crate::path;
use crate::random::Random;

/// Long after everything: what was changed is settled.
const NOW: i64 = 4_000_000_000_000;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn library(fs: &Arc<SimFs>) -> Library {
    let fs: Arc<dyn Vfs> = fs.clone();
    Library::load(fs, &NoProgress).unwrap()
}

fn look(fs: &Arc<SimFs>, now: i64) {
    let fs: Arc<dyn Vfs> = fs.clone();
    Watch::open(fs).unwrap().sweep(now, &NoProgress).unwrap();
}

/// A vault of several stories: one that an extension keeps the memory of, and some that were only forked.
fn vault(random: &mut Random) -> Arc<SimFs> {
    let keeper = [Keeper::Recap, Keeper::Memory, Keeper::Hand][random.below(3)];
    let setting = Setting { others: random.below(2) == 0, ..Setting::plain(keeper) };
    let looks = random.below(2) == 0;
    let (fs, _) = Story::random(random.below(1_000_000) as u64, setting, 60, looks).play(1, look);
    for (file, content) in World::play(random.below(1_000_000) as u64, 25).files() {
        fs.put(&path(&file), &content);
    }
    fs
}

fn files(fs: &SimFs, under: &[&str]) -> Vec<VaultPath> {
    let mut found = Vec::new();
    let mut left: Vec<VaultPath> = under.iter().map(|folder| path(folder)).collect();
    while let Some(dir) = left.pop() {
        for node in fs.list(&dir).unwrap() {
            let file = dir.join(&node.name).unwrap();
            match node.kind {
                NodeKind::Dir => left.push(file),
                _ => found.push(file),
            }
        }
    }
    found.sort();
    found
}

/// One thing happens to the files. Says what.
fn happen(fs: &Arc<SimFs>, random: &mut Random, n: usize) -> String {
    let chats = files(fs, &["chats", "group chats"]);
    let books = files(fs, &["worlds"]);
    let pick = |random: &mut Random, files: &[VaultPath]| random.pick(files).cloned();
    let stem = |file: &VaultPath| file.name().trim_end_matches(".json").to_owned();
    let (Some(chat), Some(other)) = (pick(random, &chats), pick(random, &chats)) else {
        return "nothing".to_owned();
    };
    let content = fs.read(&chat).unwrap().unwrap();
    let text = String::from_utf8_lossy(&content).into_owned();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    match random.below(12) {
        0 | 1 => {
            let line = json!({"name": "Ana", "is_user": false, "send_date": NOW + n as i64, "mes": format!("And then {n}.")});
            fs.put(&chat, format!("{text}\n{line}").as_bytes());
            format!("{chat} is played on")
        }
        2 => {
            let all: Vec<VaultPath> = chats.iter().chain(&books).cloned().collect();
            let Some(file) = pick(random, &all) else { return "nothing".to_owned() };
            fs.unlink(&file).unwrap();
            format!("{file} is deleted")
        }
        3 => {
            let copy = other.parent().join(&format!("Copy {n}.jsonl")).unwrap();
            fs.put(&copy, &content);
            format!("{chat} is copied to {copy}")
        }
        4 => {
            let renamed = chat.parent().join(&format!("Renamed {n}.jsonl")).unwrap();
            fs.put(&renamed, &content);
            fs.unlink(&chat).unwrap();
            format!("{chat} is renamed to {renamed}")
        }
        5 | 6 => {
            let book = pick(random, &books).map_or("Nowhere".to_owned(), |book| stem(&book));
            let Ok(mut header) = serde_json::from_str::<Value>(first) else { return "nothing".to_owned() };
            if header.get("chat_metadata").is_none() {
                return "nothing".to_owned();
            }
            header["chat_metadata"]["world_info"] = json!(book);
            fs.put(&chat, format!("{header}\n{rest}").as_bytes());
            format!("{chat} is bound to {book}")
        }
        7 | 8 => {
            let Some(file) = pick(random, &books) else { return "nothing".to_owned() };
            let Ok(mut book) = serde_json::from_slice::<Value>(&fs.read(&file).unwrap().unwrap()) else {
                return "nothing".to_owned();
            };
            book["entries"][(900 + n).to_string()] = json!({"uid": 900 + n, "comment": format!("note-{n}"), "content": format!("It was {n}."), "key": []});
            fs.put(&file, book.to_string().as_bytes());
            format!("{file} gets an entry")
        }
        9 => {
            look(fs, NOW + n as i64);
            "Forklore looks".to_owned()
        }
        10 => {
            let backup = path(&format!("backups/chat_ana_20261106-{n:06}.jsonl"));
            fs.put(&backup, first.as_bytes());
            let settings = json!({"world_info_settings": {"world_info": {"globalSelect": books.iter().take(n % 3).map(stem).collect::<Vec<_>>()}}});
            fs.put(&path("settings.json"), settings.to_string().as_bytes());
            format!("{chat} is backed up, and settings are saved")
        }
        _ => {
            let torn = if random.below(2) == 0 { path(".forklore/cache/checked") } else { chat };
            if let Some(content) = fs.read(&torn).unwrap() {
                fs.put(&torn, &content[..random.below(content.len() + 1)]);
            }
            format!("{torn} is torn")
        }
    }
}

#[test]
fn what_is_found_in_what_has_changed_is_what_is_found_in_everything() {
    let first = number("FORKLORE_SEED", 1);
    let mut kept = 0;
    for seed in first..first + number("FORKLORE_STORIES", 12) {
        let mut random = Random::new(seed as u64);
        let fs = vault(&mut random);
        let (mut told, mut before) = (Vec::new(), HashSet::new());
        for n in 0..30 {
            told.push(happen(&fs, &mut random, n));
            let library = library(&fs);
            let keys: HashSet<[u8; 32]> = library.circles().into_iter().filter_map(|c| c.key).collect();
            kept += keys.intersection(&before).count();
            before = keys;
            let (changed, all) = (check_changed(&library, NOW), check(&self::library(&fs), None, NOW));
            assert_eq!(changed, all, "seed {seed}, after:\n{}", told.join("\n"));
        }
    }
    assert!(kept > 100, "circles that nothing happened in are known again: {kept}");
}

/// What other stories do costs nothing here.
#[test]
fn a_circle_is_another_one_only_if_something_in_it_is() {
    let mut random = Random::new(3);
    let fs = vault(&mut random);
    let keys = |fs: &Arc<SimFs>| -> Vec<[u8; 32]> {
        library(fs).circles().into_iter().filter_map(|c| c.key).collect()
    };
    look(&fs, NOW);
    let before = keys(&fs);
    let (chat, content) = files(&fs, &["chats/Ana"])
        .into_iter()
        .find_map(|file| Some((file.clone(), fs.read(&file).ok()??)))
        .unwrap();
    fs.put(&chat, &[&content[..], b"\n{\"name\":\"Ana\",\"mes\":\"More.\"}"].concat());
    look(&fs, NOW + 1);
    let after = keys(&fs);
    assert_eq!(before.len(), after.len());
    assert_eq!(before.iter().filter(|key| !after.contains(key)).count(), 1);
}
