//! [`hash`]: what a file holds, by which objects are named.

use forklore_fs::{PathError, VaultPath, Vfs};

use crate::error::unreadable;
use crate::operation::{FileId, ObjectId};

/// The hash of a file's content, and which file that was.
pub fn hash(fs: &dyn Vfs, path: &VaultPath) -> Result<(ObjectId, FileId), PathError> {
    let fail = |source| unreadable(path, source);
    let file = fs.open(path)?;
    let identity = file.identity().map_err(fail)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        let got = file.read_at(&mut buffer, at).map_err(fail)?;
        if got == 0 {
            break;
        }
        hasher.update(&buffer[..got]);
        at += got as u64;
    }
    Ok((hasher.finalize().into(), identity.into()))
}
