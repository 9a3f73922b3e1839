//! Finding the vault: what was named, else the SillyTavern install around here.

use std::path::Path;

use forklore_api::{ErrorCode, Failure};
use forklore_fs::{NodeKind, RealFs, VaultPath, Vfs};
use forklore_journal::layout;

/// Opens the vault that the user named, or the one found from the current folder upwards.
pub(crate) fn open(named: Option<&Path>) -> Result<RealFs, Failure> {
    let hint = "Name a SillyTavern user folder with --vault DIR or FORKLORE_VAULT, or try `forklore demo`.";
    match named {
        Some(dir) => below(dir).ok_or_else(|| match &users(dir)[..] {
            [] => {
                let message = format!("{} holds no SillyTavern chats", dir.display());
                Failure::typed(ErrorCode::NoVault, message, hint)
            }
            several => {
                let names: Vec<String> = several.iter().map(|fs| fs.root().display().to_string()).collect();
                let message = format!("{} holds {} users", dir.display(), several.len());
                Failure::new(ErrorCode::NoVault, message, format!("Name one of them: {}", names.join(", ")))
            }
        }),
        None => {
            let here = forklore_fs::canonical(Path::new("."))?;
            here.ancestors()
                .find_map(below)
                .ok_or_else(|| Failure::typed(ErrorCode::NoVault, "There is no SillyTavern vault here", hint))
        }
    }
}

/// The vault in this folder, if there is exactly one to be found.
fn below(dir: &Path) -> Option<RealFs> {
    let candidates = layout::CANDIDATES.iter().map(|place| dir.join(place));
    let found = candidates.filter_map(|place| RealFs::new(&place).ok()).find(is_vault);
    found.or_else(|| {
        let mut users = users(dir);
        if users.len() == 1 { users.pop() } else { None }
    })
}

fn is_vault(fs: &RealFs) -> bool {
    let entries = fs.list(&VaultPath::root()).unwrap_or_default();
    layout::is_vault(&entries.iter().map(|node| node.name.as_str()).collect::<Vec<_>>())
}

/// The vaults of the users in a data folder, or in the one of an install.
fn users(dir: &Path) -> Vec<RealFs> {
    let mut found = Vec::new();
    for data in [dir.to_owned(), dir.join("data")] {
        let Ok(fs) = RealFs::new(&data) else { continue };
        let folders = fs.list(&VaultPath::root()).unwrap_or_default().into_iter();
        let folders = folders.filter(|node| node.kind == NodeKind::Dir);
        found.extend(folders.filter_map(|node| RealFs::new(&data.join(node.name)).ok()).filter(is_vault));
    }
    found
}
