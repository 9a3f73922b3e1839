//! What must hold whatever bytes Forklore is given: [`targets`], one function each, which panic if it does not.
//!
//! They run in three ways: over the [`corpus()`] and what is made of it by chance as ordinary tests, for as long as `cargo xtask soak`
//! lets them, and under libFuzzer (`cargo fuzz run --features libfuzzer TARGET fuzz/corpus/TARGET`). Input that broke something is
//! kept in the corpus.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "to panic is how a target tells what it found"
)]

pub mod mutate;
pub mod targets;
mod vault;

use std::path::{Path, PathBuf};

/// A target: its name, which is also its folder in the corpus, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const ALL: [Target; 11] = [
    ("json", targets::json),
    ("splice", targets::splice),
    ("chat", targets::chat),
    ("book", targets::book),
    ("header", targets::header),
    ("registry", targets::registry),
    ("archive", targets::archive),
    ("store", targets::store),
    ("config", targets::config),
    ("operation", targets::operation),
    ("cache", targets::cache),
];

/// Where input is kept.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Input to begin with, and input that once broke something, with its name.
pub fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder(target))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}
