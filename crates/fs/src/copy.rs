//! [`copy_range`]: a stretch of one file at the end of another, copied by the system, or shared where it can.

use std::fs::File;
use std::io::{self, Write};

use crate::OpenFile;

/// Blocks that file systems share between files are multiples of this; others are copied.
const SHARED_BLOCK: u64 = 4096;

/// Copies a stretch of one file to the end of another, which is `written` bytes long and has its cursor there.
pub(crate) fn copy_range(
    from: &dyn OpenFile,
    range: std::ops::Range<u64>,
    to: &mut File,
    written: u64,
) -> io::Result<()> {
    let mut at = range.start;
    // A first piece up to the next block, where both files have it at the same place: what follows can then be shared.
    let first = at.next_multiple_of(SHARED_BLOCK);
    if at % SHARED_BLOCK == written % SHARED_BLOCK && range.end > first {
        copy_bytes(from, at..first, to)?;
        let last = range.end - range.end % SHARED_BLOCK;
        at = copy_in_system(from, first..last, to)?;
    } else {
        at = copy_in_system(from, at..range.end, to)?;
    }
    copy_bytes(from, at..range.end, to)
}

/// Lets the system copy as much as it can; returns where it stopped.
#[cfg(target_os = "linux")]
fn copy_in_system(from: &dyn OpenFile, range: std::ops::Range<u64>, to: &mut File) -> io::Result<u64> {
    // Android's sandbox kills programs for it.
    let handle = from.handle().filter(|_| !crate::beneath::is_android());
    let Some(file) = handle else { return Ok(range.start) };
    let mut at = range.start;
    while at < range.end {
        let most = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(STRETCH);
        match rustix::fs::copy_file_range(file, Some(&mut at), &*to, None, most) {
            // Not between these two file systems, or not at all: bytes go through our hands then.
            Ok(0)
            | Err(
                rustix::io::Errno::XDEV
                | rustix::io::Errno::INVAL
                | rustix::io::Errno::NOSYS
                | rustix::io::Errno::OPNOTSUPP
                | rustix::io::Errno::PERM,
            ) => break,
            Ok(copied) => start_writing(to, copied),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(at)
}

/// So much is copied before the disk is told to begin: large enough for one request, small enough for the disk not to idle.
#[cfg(target_os = "linux")]
const STRETCH: usize = 8 << 20;

/// Lets the disk begin with what was just written, so that it works while we copy on; a sync that comes later finds it done.
/// Only advice: whether it is followed does not matter.
#[cfg(target_os = "linux")]
fn start_writing(to: &mut File, copied: usize) {
    use std::io::Seek as _;
    let Ok(end) = to.stream_position() else { return };
    let advice = rustix::fs::Advice::DontNeed;
    let _ignored =
        rustix::fs::fadvise(&*to, end - copied as u64, std::num::NonZeroU64::new(copied as u64), advice);
}

#[cfg(not(target_os = "linux"))]
fn copy_in_system(_from: &dyn OpenFile, range: std::ops::Range<u64>, _to: &mut File) -> io::Result<u64> {
    Ok(range.start)
}

fn copy_bytes(from: &dyn OpenFile, range: std::ops::Range<u64>, to: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut at = range.start;
    while at < range.end {
        let most = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(buffer.len());
        let got = from.read_at(&mut buffer[..most], at)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&buffer[..got])?;
        at += got as u64;
    }
    Ok(())
}
