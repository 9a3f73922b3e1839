//! Forklore as [`command`] of somebody to whom nothing is open but what he was given ([`give`]): root may read everything, so where tests
//! are root's, nobody runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use forklore_testkit::TestVault;
use forklore_testkit::unix::{CommandExt as _, PermissionsExt as _};

use crate::FORKLORE;

const NOBODY: u32 = 65_534;

/// Whether everything is open to us.
pub(crate) fn are_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives a folder away, with everything in it.
pub(crate) fn give(dir: &Path) {
    let given = Command::new("chown").args(["-hR", &format!("{NOBODY}:{NOBODY}")]).arg(dir).status().unwrap();
    assert!(given.success());
}

/// Forklore, to be run by nobody.
pub(crate) fn command(vault: &TestVault) -> Command {
    let mut command = vault.command(program());
    command.uid(NOBODY).gid(NOBODY);
    command
}

/// The program where nobody finds it. Whoever has built it may have done so at home, which is closed to others.
fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let is_open = |dir: &Path| fs::metadata(dir).is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0);
        if Path::new(FORKLORE).ancestors().skip(1).all(is_open) {
            return FORKLORE.to_owned();
        }
        let at = |name: String| -> PathBuf { std::env::temp_dir().join(name) };
        let program = at(format!("forklore-{}", FORKLORE.replace(['/', ' '], "-")));
        // Other tests may be running the one that is there.
        let new = at(format!("forklore-{}.new", std::process::id()));
        fs::hard_link(FORKLORE, &new).or_else(|_| fs::copy(FORKLORE, &new).map(drop)).unwrap();
        fs::rename(&new, &program).unwrap();
        program.to_string_lossy().into_owned()
    })
}
