//! [`put`]: a small file of Forklore's own, replaced as a whole.

use crate::{PathError, VaultPath, Vfs};

/// Puts a file on disk that nobody but Forklore writes, and its folder if that is not there: after a crash at any moment the file is the old one
/// or the new one.
pub fn put(fs: &dyn Vfs, file: &VaultPath, bytes: &[u8]) -> Result<(), PathError> {
    let dir = file.parent();
    let new = dir.join(&format!("{}.new", file.name())).unwrap_or_default();
    if fs.list(&dir)?.is_empty() {
        fs.make_private_dir(&dir)?;
        fs.sync_dir(&dir.parent())?;
    }
    match fs.unlink(&new) {
        Err(e) if !e.is_missing() => return Err(e),
        // Gone, or never there: either way the name is free.
        _ => {}
    }
    let written = fs.create(&new, bytes).and_then(|()| fs.sync_file(&new));
    if let Err(e) = written.and_then(|()| fs.replace(&new, file)) {
        // The next one would remove it, but it need not stay.
        let _gone = fs.unlink(&new);
        return Err(e);
    }
    fs.sync_dir(&dir)
}
