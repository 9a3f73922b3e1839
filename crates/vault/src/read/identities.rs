//! [`identities`]: which files are there now, asked for folder by folder, because asking for each takes longer.

use forklore_fs::{Identity, VaultPath, Vfs};
use rayon::prelude::*;

/// So many files are asked for their identities at once.
const AT_ONCE: usize = 512;

/// Which file each of these is, folder by folder.
pub(crate) fn identities(fs: &dyn Vfs, paths: &[&VaultPath]) -> Vec<Option<Identity>> {
    let folders = paths.chunk_by(|a, b| a.parent() == b.parent());
    let some: Vec<_> = folders.flat_map(|folder| folder.chunks(AT_ONCE)).collect();
    let identities = |paths: &&[&VaultPath]| {
        let names: Vec<&str> = paths.iter().map(|path| path.name()).collect();
        fs.identities(&paths[0].parent(), &names)
    };
    let found: Vec<Vec<_>> = some.par_iter().map(identities).collect();
    found.into_iter().flatten().collect()
}
