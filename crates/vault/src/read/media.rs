//! Images and files that chats link to: [`Linked`] is one of them, [`of_file`] finds those of a chat wherever it lies, [`find`] the file
//! in the vault.
//!
//! A link is what somebody wrote: it is believed to name a file below `user/images` or `user/files`, and nothing else. What is there
//! and cannot be opened, a symbolic link that leads out of the vault for one, counts as not there, and is never written over.

use std::collections::BTreeSet;
use std::io::{self, Read};

use forklore_core::format::media::{self, Link};
use forklore_fs::{Identity, OpenFile, PathError, VaultPath, Vfs};

use crate::read::lines::{Lines, Sequential};
use crate::{ChatIx, Library};

/// An image or a file that a chat links to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Linked {
    literal: VaultPath,
    decoded: Option<VaultPath>,
}

/// Everything that a chat links to, each once.
pub type Links = BTreeSet<Linked>;

impl Linked {
    fn new(link: &Link) -> Option<Self> {
        let path = |place: &str| VaultPath::new(place).ok();
        Some(Self { literal: path(&link.literal)?, decoded: link.decoded.as_deref().and_then(path) })
    }

    /// The files that can be meant, the likeliest first.
    pub fn places(&self) -> impl Iterator<Item = &VaultPath> {
        std::iter::once(&self.literal).chain(&self.decoded)
    }
}

/// What a chat links to, up to byte `end` of its file, or all of it. One line is in memory at a time.
pub fn of_file(file: &dyn OpenFile, end: Option<u64>) -> io::Result<Links> {
    let mut found = Links::new();
    let mut lines = Lines::new(Sequential::new(file).take(end.unwrap_or(u64::MAX)));
    while let Some(line) = lines.next_line()? {
        if line.whole {
            found.extend(media::links(line.bytes.trim_ascii_end()).iter().filter_map(Linked::new));
        }
    }
    Ok(found)
}

/// What a chat of the vault links to. Older group chats have their metadata elsewhere, and that counts, too.
pub fn of_chat(library: &Library, c: ChatIx) -> Result<Links, PathError> {
    let chat = &library.chats[c];
    let file = library.fs.open(&chat.path)?;
    let fail = |source| PathError { path: chat.path.clone(), doing: "read", source };
    let mut found = of_file(&*file, None).map_err(fail)?;
    let metadata = chat.header().metadata();
    found.extend(media::links_of_metadata(metadata).iter().filter_map(Linked::new));
    Ok(found)
}

/// A file that is linked to and is there.
pub struct Found {
    /// Its name
    pub path: VaultPath,
    /// The file
    pub file: Box<dyn OpenFile>,
    /// Which one it is
    pub identity: Identity,
}

/// The file that is meant, if it is in the vault and can be read.
pub fn find(fs: &dyn Vfs, linked: &Linked) -> Option<Found> {
    linked.places().find_map(|path| {
        let file = fs.open(path).ok()?;
        let identity = file.identity().ok()?;
        Some(Found { path: path.clone(), file, identity })
    })
}

/// Whether nothing at all has this name.
pub fn is_free(fs: &dyn Vfs, path: &VaultPath) -> bool {
    matches!(fs.identity(path), Ok(None)) && matches!(fs.is_link(path), Ok(false))
}

/// Whether a new file can be put there by an operation: its folder, or the first above it that is there, can be written and is on the
/// disk that the vault is on. Who keeps pictures on another disk is to get the chat all the same.
pub fn can_hold(fs: &dyn Vfs, path: &VaultPath) -> bool {
    let mut dir = path.parent();
    loop {
        match fs.device(&dir) {
            Ok(device) => {
                let here = fs.device(&VaultPath::root()).is_ok_and(|own| own == device);
                return here && fs.can_write(&dir).unwrap_or(false);
            }
            Err(e) if e.is_missing() && dir != VaultPath::root() => dir = dir.parent(),
            Err(_) => return false,
        }
    }
}
