//! Reading a file that came from elsewhere, bit by bit: [`open`].

use forklore_archive::{ArchiveError, Reader};
use forklore_fs::OpenFile;
use forklore_vault::read::lines::Sequential;

/// Begins to read an export.
pub(super) fn open(file: &dyn OpenFile) -> Result<Reader<Sequential<'_>>, ArchiveError> {
    let len = file.identity().map_err(ArchiveError::Io)?.len;
    Reader::open(Sequential::new(file), len)
}
