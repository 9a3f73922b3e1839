//! [`Blocks`]: a file, cut into pieces of whole lines.

use std::io;

use forklore_fs::OpenFile;

/// How much is read at once: little enough to stay near a core until it has been looked at. A line that is longer makes its block longer.
pub(super) const BLOCK: usize = 1 << 20;
/// Whole lines of a file.
pub(super) struct Block {
    /// Where they start in the file.
    pub(super) start: u64,
    /// A buffer, of which the first `len` bytes count.
    pub(super) bytes: Vec<u8>,
    pub(super) len: usize,
}

/// A file, cut into blocks of whole lines.
pub(super) struct Blocks<'a> {
    file: &'a dyn OpenFile,
    /// Where to read on.
    offset: u64,
    /// The start of a line that goes on in the next block.
    carry: Vec<u8>,
    done: bool,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(file: &'a dyn OpenFile) -> Self {
        Self { file, offset: 0, carry: Vec::new(), done: false }
    }
}

impl Blocks<'_> {
    /// Whether there is no next one for sure.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// The next block, in a buffer that may have been used before.
    pub(super) fn next_into(&mut self, bytes: Vec<u8>) -> Option<io::Result<Block>> {
        if self.done {
            return None;
        }
        let block = self.read(bytes);
        self.done |= block.is_err();
        block.map(|block| (block.len > 0).then_some(block)).transpose()
    }

    fn read(&mut self, mut bytes: Vec<u8>) -> io::Result<Block> {
        let start = self.offset - self.carry.len() as u64;
        let mut filled = self.carry.len();
        if bytes.len() < filled {
            bytes.resize(filled, 0);
        }
        bytes[..filled].copy_from_slice(&self.carry);
        // Without any newline the line just grows.
        let len = loop {
            let left = self.file.identity()?.len.saturating_sub(self.offset);
            // One byte more than is left: reading less than asked for is how the end is seen.
            let wanted = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK - 1) + 1;
            if bytes.len() < filled + wanted {
                bytes.resize(filled + wanted, 0);
            }
            let read = self.file.read_at(&mut bytes[filled..filled + wanted], self.offset)?;
            self.offset += read as u64;
            self.done = read < wanted;
            let fresh = filled..filled + read;
            filled = fresh.end;
            let newline = memchr::memrchr(b'\n', &bytes[fresh.clone()]);
            match newline {
                _ if self.done => break filled,
                Some(n) => break fresh.start + n + 1,
                None => {}
            }
        };
        // What follows the last newline is kept for the next block.
        self.carry.clear();
        self.carry.extend_from_slice(&bytes[len..filled]);
        Ok(Block { start, bytes, len })
    }
}
