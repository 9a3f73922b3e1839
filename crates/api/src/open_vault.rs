//! [`OpenVault`]: a vault that can be asked.

use std::sync::Arc;

use forklore_fs::Vfs;
use forklore_journal as journal;
use forklore_vault::{Library, Progress, settle};

use crate::clock::now;
use crate::failure::Failure;
use crate::library_cache::{self, LibraryCache, SharedLibrary};

/// A vault that can be asked.
pub struct OpenVault<'a> {
    /// Its files
    pub fs: Arc<dyn Vfs>,
    /// Who hears how far long work is
    pub progress: &'a dyn Progress,
    /// Who hears what was finished, or taken back, that had been cut off before
    pub told: &'a dyn Fn(&[journal::Recovered]),
    /// Whether looking finishes what was cut off, too. Over HTTP it does not: there, looking has no side effect.
    pub settle: bool,
    /// Where a library may be that was read before
    pub library_cache: Option<&'a LibraryCache>,
}

impl OpenVault<'_> {
    /// Finishes what was cut off before, if looking may.
    pub fn settled(&self) -> &dyn Vfs {
        if self.settle {
            self.recover();
        }
        &*self.fs
    }

    /// Finishes what was cut off before.
    pub fn recover(&self) {
        // What cannot be finished now is told by `check`; it is no reason not to read.
        if let Ok(found) = settle::recover(&*self.fs, now()) {
            (self.told)(&found);
        }
    }

    /// Reads the vault.
    pub fn library(&self) -> Result<Library, Failure> {
        self.settled();
        library_cache::read(&self.fs, self.progress)
    }

    /// The vault to look at: as it was read before, if nothing has changed since.
    pub fn shared(&self) -> Result<Arc<SharedLibrary>, Failure> {
        match self.library_cache {
            Some(library_cache) => {
                self.settled();
                library_cache.library(&self.fs, self.progress)
            }
            None => {
                self.settled();
                Ok(Arc::new(SharedLibrary::read(&self.fs, self.progress)?))
            }
        }
    }

    /// Reads the vault to change it: from here on no other Forklore does. A dry run only looks.
    pub fn library_to_change(&self, dry_run: bool) -> Result<Library, Failure> {
        if dry_run {
            return self.library();
        }
        let right = settle::take_right(&*self.fs, now())?;
        (self.told)(&right.recovered);
        Ok(Library::load_with(self.fs.clone(), right, self.progress)?)
    }
}
