//! [`exchange`]: two files trade names in three renames, where the system cannot do it in one. Nobody's save is lost, but for an instant the
//! name leads nowhere; who reads then sees no file, and a crash then leaves one to be put back.
//!
//! ```text
//! a = ours, b = theirs            b moves aside (by its handle, where there is one)      sync
//! a = ours, a.out = theirs        a moves to b, unless somebody has saved there          sync
//! b = ours, a.out = theirs        what is aside moves to a
//! b = ours, a = theirs
//! ```
//!
//! If somebody saved while the name was free, theirs is the newest: it stays, and the exchange fails with "taken". What is aside is then of
//! no use any more; whoever asked removes it with the rest. A crash in between is settled by whoever knows what the files are: the journal.

use std::io;

use crate::VaultPath;

/// Where the file that had the name waits, while `path` takes it.
pub fn aside(path: &VaultPath) -> VaultPath {
    // A good name stays one with letters at its end.
    path.parent().join(&format!("{}{ASIDE}", path.name())).unwrap_or_default()
}

/// The name that a file waits beside, if it is one that waits.
pub fn waits_beside(name: &str) -> Option<&str> {
    name.strip_suffix(ASIDE)
}

const ASIDE: &str = ".out";

/// The steps of which an exchange is made.
pub(crate) trait Steps {
    /// Gives the file that has this name now another one, and fails if that is taken.
    fn rename_noreplace(&self, from: &VaultPath, to: &VaultPath) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &VaultPath) -> io::Result<()>;
}

/// Lets two files trade names.
pub(crate) fn exchange(steps: &dyn Steps, a: &VaultPath, b: &VaultPath) -> io::Result<()> {
    let waits = aside(a);
    steps.rename_noreplace(b, &waits)?;
    // Durable before its name is given away: otherwise a power cut could keep the second step and undo the first.
    match steps.sync_dir(&waits.parent()).and_then(|()| steps.rename_noreplace(a, b)) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            // Back to what was. If that fails, too, the next start does it.
            return steps.rename_noreplace(&waits, b).and(Err(e));
        }
        done => done?,
    }
    steps.sync_dir(&b.parent())?;
    steps.rename_noreplace(&waits, a)
}
