//! [`Bring`]: images and files that a chat links to, that are gone, and that come back from history together with it.

use std::io;

use forklore_fs::{OpenFile, PathError, VaultPath};
use forklore_journal::{Tx, TxError};
use forklore_store::Id;
use forklore_vault::Library;
use forklore_vault::read::media::{can_hold, find, is_free, of_file};

use crate::warning::{Warning, WarningCode};

/// Files that come back from history.
#[derive(Debug, Clone, Default)]
pub struct Bring {
    files: Vec<(VaultPath, Id)>,
    /// Files that are linked to, are not in the vault, and cannot come back
    pub missing: Vec<VaultPath>,
}

impl Bring {
    /// What has to come back with a chat: what it links to up to byte `end`, is gone, and was kept with it. `of` is the chat's name in
    /// history, `until` the last observation that counts.
    pub fn with(
        library: &Library,
        chat: &dyn OpenFile,
        end: Option<u64>,
        of: &VaultPath,
        until: Option<u64>,
    ) -> Result<Self, PathError> {
        let fail = |source| PathError { path: of.clone(), doing: "read", source };
        let links = of_file(chat, end).map_err(fail)?;
        let mut bring = Self::default();
        let mut gone = links.iter().filter(|linked| find(&**library.fs(), linked).is_none()).peekable();
        if gone.peek().is_none() {
            return Ok(bring);
        }
        // A history that cannot be read is no reason to keep the chat back.
        let history = library.history().ok().flatten();
        let kept = history.and_then(|history| history.kept_files(of, until).ok()).unwrap_or_default();
        let fs = &**library.fs();
        for linked in gone {
            let known = linked.places().find_map(|place| kept.get(place).map(|id| (place, id)));
            match known.filter(|(place, _)| is_free(fs, place) && can_hold(fs, place)) {
                Some((place, id)) => bring.files.push((place.clone(), *id)),
                None => bring.missing.extend(linked.places().next().cloned()),
            }
        }
        bring.files.sort();
        bring.files.dedup();
        Ok(bring)
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &VaultPath> {
        self.files.iter().map(|(path, _)| path)
    }

    /// Others come back, too; those that somebody brings already do not come twice.
    pub fn add(&mut self, more: Self) {
        self.files.extend(more.files);
        self.files.sort();
        self.files.dedup_by(|a, b| a.0 == b.0);
        self.missing.extend(more.missing);
    }

    /// Some come back otherwise.
    pub fn leave(&mut self, which: impl Fn(&VaultPath) -> bool) {
        self.files.retain(|(path, _)| !which(path));
        self.missing.retain(|path| !which(path));
    }

    /// What to say about files that are nowhere.
    pub fn warning(&self) -> Option<Warning> {
        let message = match &self.missing[..] {
            [] => return None,
            [one] => format!("{one}, which its messages link to, is gone"),
            [one, rest @ ..] => {
                format!("{one} and {} more, which its messages link to, are gone", rest.len())
            }
        };
        let message = format!("{message}, and history cannot bring that back");
        Some(Warning::new(WarningCode::MediaMissing, message))
    }

    /// Makes it a part of an operation.
    pub fn stage(&self, library: &Library, tx: &mut Tx) -> Result<(), TxError> {
        for (path, id) in &self.files {
            let Some(history) = library.history()? else { return Ok(()) };
            tx.publish_with(path.clone(), &mut |out| {
                history.store().read_document(id, out).map_err(io::Error::other)
            })?;
        }
        Ok(())
    }
}
