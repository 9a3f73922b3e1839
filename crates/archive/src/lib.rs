//! The file that `forklore export` writes: a story in one file that is verified before anything of it is used.
//!
//! * [`Writer`] writes it, in one go, with a [`Manifest`] that says what is in it.
//! * [`Reader`] reads it, in one go. Whatever the file says, no more memory is asked for than a few megabytes, no more is unpacked than
//!   was declared, and no name in it is used as a path.
//!
//! It is a tar archive, compressed with zstd, between a mark and a hash that other programs pass over: `tar --zstd -xf` unpacks it. The
//! format is described in `docs/formats/export.md`. Nothing here touches the disk or knows of SillyTavern.

mod manifest;
mod reader;
mod tar;
mod writer;

use std::io;

pub use manifest::{Manifest, Member, MemberKind, Story};
pub use reader::{Reader, Seal};
pub use writer::Writer;

/// The version of the format that this Forklore writes, and the newest that it reads.
pub const VERSION: u32 = 2;

/// The version of an export without images and files: an older Forklore can read it.
const PLAIN: u32 = 1;

/// No member is longer: what a tar header can say.
pub const LONGEST: u64 = (1 << 33) - 1;

/// What zstd calls a skippable frame: tools pass over it.
const SKIPPED: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];
const MARK: &[u8; 8] = b"FORKLORE";
/// Skippable frame with the mark, the version and four bytes for later.
const HEAD: usize = 8 + 16;
/// Skippable frame with the hash of everything before it.
const TAIL: usize = 8 + 32;
/// How far back the compression looks, as a power of two: also how much memory unpacking takes.
const WINDOW: u32 = 23;

/// Why an export cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is some other file.
    #[error("this is not a file that `forklore export` wrote")]
    NotOurs,
    /// A newer Forklore wrote it.
    #[error("a newer Forklore wrote this file (format {0}; this one reads up to {VERSION})")]
    Newer(u32),
    /// It is not whole, or not what was written.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// It would unpack to more than a story can be.
    #[error("the file would unpack to far more than a story can be: {0}")]
    Bomb(String),
    /// Something is too large for one file.
    #[error("{0} is too large to be exported")]
    TooLarge(String),
    /// What was written is not what was announced: it changed in between.
    #[error("{0} changed while it was read")]
    Changed(String),
    /// The system said no.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        // What the system says has a number; everything else is what the decompressor thinks of the bytes.
        if error.raw_os_error().is_some() { Self::Io(error) } else { Self::Damaged(error.to_string()) }
    }
}
