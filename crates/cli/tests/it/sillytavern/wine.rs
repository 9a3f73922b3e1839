//! SillyTavern and the engine as programs for Windows, in Wine. `cargo xtask test --wine` builds the engine, and names in `FORKLORE_WINE` the
//! folder with `node` and `forklore` that run there; without it the test says that it is skipped.

use std::fs;
use std::path::PathBuf;

use forklore_testkit::tavern::{Setup, Tavern, VERSIONS};
use serde_json::json;

use super::{ana, forks};
use crate::kills::strace::skipped;

#[test]
fn on_windows_every_fork_is_whole_and_the_engine_ends_with_its_server() {
    let Some(programs) = std::env::var_os("FORKLORE_WINE").map(PathBuf::from) else {
        return skipped("SillyTavern in Wine", "`cargo xtask test --wine` runs it");
    };
    let vault = ana();
    let setup = Setup { node: Some(programs.join("node")), ..Setup::default() };
    let forklore = programs.join("forklore");
    let mut tavern = Tavern::start(VERSIONS[0], forklore.to_str().unwrap(), &vault.root(), setup);
    assert_eq!(tavern.engine_is("running")["sillytavern"], VERSIONS[0]);
    forks::plain(&tavern, &vault);
    let plugin = tavern.plugin();
    assert_eq!((&plugin["engine"]["state"], &plugin["engine"]["restarts"]), (&json!("running"), &json!(0)));

    let tree = tavern.tree().to_string_lossy().replace('/', "\\");
    assert!(engines(&tree) > 0, "an engine is seen as long as it runs");
    tavern.stop();
    tavern.until("the engine has ended", || (engines(&tree) == 0).then_some(()));
}

/// How many engines serve a SillyTavern, by their command lines.
fn engines(tree: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains("forklore.exe") && line.contains(tree)).count()
}
