//! Tests of the engine on the simulator and on real files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot set up its files should stop"
)]

mod above;
mod alike;
mod bundle;
mod crashes;
mod explain;
mod export_import;
mod foreign;
mod history;
mod incremental;
mod isolation;
mod large;
mod lineage;
mod memory;
mod memory_along;
mod played;
mod random;
mod real;
mod remember;
mod renamed;
mod side_prompts;
mod strangers;
mod trash;
mod truth;

use forklore_fs::VaultPath;

/// The path of a file in a vault.
fn path(text: &str) -> VaultPath {
    VaultPath::new(text).unwrap()
}
