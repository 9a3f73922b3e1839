//! SillyTavern and the engine as programs for Windows, in Wine. `cargo xtask test --wine` builds the engine, and names in `FORKLORE_WINE` the
//! folder with `node` and `forklore` that run there; without it the test says that it is skipped.

use std::fs;
use std::path::{Path, PathBuf};

use forklore_testkit::tavern::{Setup, Tavern, VERSIONS};

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
    // On a slow machine it may have needed a second start.
    assert_eq!(tavern.plugin()["engine"]["state"], "running");

    let tree = tavern.tree().canonicalize().unwrap();
    assert!(engines(&tree) > 0, "an engine is seen as long as it runs");
    tavern.stop();
    tavern.until("the engine has ended", || (engines(&tree) == 0).then_some(()));
}

/// How many engines serve a SillyTavern: they begin in its folder.
fn engines(tree: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let here = processes.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == tree));
    let lines = here.filter_map(|process| fs::read(process.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains("forklore.exe")).count()
}
