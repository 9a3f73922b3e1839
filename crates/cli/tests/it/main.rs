//! End-to-end tests of the real binary. One test binary, one module a topic.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop"
)]

mod bodies;
mod books;
mod cases;
mod chosen_books;
mod cli;
mod codes;
mod config;
mod damage;
mod damaged_forks;
mod demo;
mod diff;
mod disk;
mod doctor;
mod documents;
mod doors;
mod elsewhere;
mod export_import;
mod forks;
mod harbor;
mod heal;
mod hostile;
mod hostile_vaults;
mod kills;
mod media;
mod memory;
mod merge;
mod merge_cases;
mod merge_model;
mod merge_verbs;
mod modes;
#[cfg(unix)]
mod nobody;
mod ops;
mod past;
mod recaps;
mod regressions;
mod remedies;
mod seeds;
mod serve;
mod set_up;
mod sights;
#[cfg(unix)]
mod sillytavern;
mod structure;
mod told;
#[cfg(unix)]
mod unreadable;
mod watch;

/// The binary under test.
const FORKLORE: &str = env!("CARGO_BIN_EXE_forklore");

/// Titles of the entries that `show --json` shows.
fn titles(shown: &serde_json::Value) -> Vec<String> {
    shown["book"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["comment"].as_str().unwrap().to_owned())
        .collect()
}
