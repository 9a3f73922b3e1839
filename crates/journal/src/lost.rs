//! [`park`]: what nobody can place is kept aside, for people to look at.

use forklore_fs::{PathError, VaultPath, Vfs};

use crate::folders;

/// Keeps a file that nobody can place.
pub(crate) fn park(fs: &dyn Vfs, path: &VaultPath) -> Result<(), PathError> {
    let lost = folders::lost();
    fs.make_private_dir(&lost)?;
    let aside = lost.join(path.name()).unwrap_or_default();
    match fs.rename_noreplace(path, &aside) {
        Err(e) if !e.is_taken() => return Err(e),
        _ => {}
    }
    fs.sync_dir(&lost)
}
