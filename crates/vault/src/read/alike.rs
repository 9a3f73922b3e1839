//! [`Alike`]: what was found out about the lines of the chats that were read last, for chats that have the same lines.
//!
//! A fork is the first lines of its parent, byte by byte, and chats of a story are read one after the other. Whatever is found out about a line
//! rests on its bytes alone, and comparing those takes a fraction of looking at them.

/// No line that is longer than this is kept, no more lines than that, and no more of all of them, by one thread.
const LONGEST: usize = 512 << 10;
const LINES: usize = 512;
const BYTES: usize = 4 << 20;

/// For each place in a file, the line that was seen there last, and what it is.
pub(super) struct Alike<T> {
    lines: Vec<Option<(Box<[u8]>, T)>>,
    bytes: usize,
}

impl<T: Clone> Alike<T> {
    /// Nothing was seen yet.
    pub(super) const NEW: Self = Self { lines: Vec::new(), bytes: 0 };

    /// What a line is: as it was found before, if it is the same, else as `look` finds it.
    pub(super) fn look(&mut self, place: usize, line: &[u8], look: impl FnOnce(&[u8]) -> T) -> T {
        // The first line is the header, which no two chats have in common.
        if place == 0 || place >= LINES || line.len() > LONGEST {
            return look(line);
        }
        if self.lines.len() <= place {
            self.lines.resize_with(place + 1, || None);
        }
        let before = &mut self.lines[place];
        if let Some((_, found)) = before.as_ref().filter(|(bytes, _)| **bytes == *line) {
            return found.clone();
        }
        let found = look(line);
        let had = before.take().map_or(0, |(bytes, _)| bytes.len());
        self.bytes -= had;
        if self.bytes + line.len() <= BYTES {
            self.bytes += line.len();
            *before = Some((line.into(), found.clone()));
        }
        found
    }
}
