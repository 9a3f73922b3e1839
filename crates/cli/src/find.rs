//! Finding the vault: what was named, else the SillyTavern install around here.

use std::path::{Path, PathBuf};

use forklore_engine::vault::layout;
use forklore_fs::{NodeKind, RealFs, VaultPath, Vfs};

use crate::error::{CliError, Kind};

/// Opens the vault that the user named, or the one found from the current folder upwards.
pub(crate) fn open(named: Option<&Path>) -> Result<RealFs, CliError> {
    let hint = "Name a SillyTavern user folder with --vault DIR or FORKLORE_VAULT, or try `forklore demo`.";
    match named {
        Some(dir) => {
            let found = below(dir).ok_or_else(|| {
                let message = format!("{} holds no SillyTavern chats", dir.display());
                CliError::new(Kind::Refused, "NO_VAULT", message, hint)
            })?;
            Ok(found)
        }
        None => {
            let here = PathBuf::from(".").canonicalize()?;
            here.ancestors().find_map(below).ok_or_else(|| {
                CliError::new(Kind::Refused, "NO_VAULT", "There is no SillyTavern vault here", hint)
            })
        }
    }
}

/// The vault in this folder, if there is exactly one to be found.
fn below(dir: &Path) -> Option<RealFs> {
    let candidates = layout::CANDIDATES.iter().map(|place| dir.join(place));
    candidates.filter_map(|place| RealFs::new(&place).ok()).find(|fs| is_vault(fs)).or_else(|| only_user(dir))
}

fn is_vault(fs: &RealFs) -> bool {
    let entries = fs.list(&VaultPath::root()).unwrap_or_default();
    layout::is_vault(&entries.iter().map(|node| node.name.as_str()).collect::<Vec<_>>())
}

/// The one user of a data folder whose user is not called `default-user`.
fn only_user(dir: &Path) -> Option<RealFs> {
    for data in [dir.to_owned(), dir.join("data")] {
        let Ok(fs) = RealFs::new(&data) else { continue };
        let users = fs.list(&VaultPath::root()).unwrap_or_default().into_iter();
        let mut vaults = users
            .filter(|node| node.kind == NodeKind::Dir)
            .filter_map(|node| RealFs::new(&data.join(node.name)).ok())
            .filter(is_vault);
        if let (Some(only), None) = (vaults.next(), vaults.next()) {
            return Some(only);
        }
    }
    None
}
