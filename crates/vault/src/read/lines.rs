//! Reading bit by bit what can be of any length: [`Sequential`] reads a file from its beginning, [`Lines`] cuts what is read into lines.

use std::io::{self, BufRead, BufReader, Read};

use forklore_fs::OpenFile;

/// Lines above this length are passed on and not looked into.
pub const LONGEST_LINE: usize = 64 << 20;

/// Reads a file from its beginning to its end.
pub struct Sequential<'a> {
    file: &'a dyn OpenFile,
    at: u64,
}

impl<'a> Sequential<'a> {
    /// From its beginning.
    pub fn new(file: &'a dyn OpenFile) -> Self {
        Self { file, at: 0 }
    }
}

impl Read for Sequential<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(buffer, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

/// A line, or a piece of one that is too long.
pub struct Line<'a> {
    /// With its newline, if it has one
    pub bytes: &'a [u8],
    /// Whether it is a whole line
    pub whole: bool,
}

/// Lines of what is read.
pub struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Whether the next piece goes on with a line
    within: bool,
}

impl<R: Read> Lines<R> {
    /// The lines of what is read from `input`.
    pub fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(128 << 10, input), line: Vec::new(), within: false }
    }

    /// The next line, if there is one.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        (&mut self.input).take(LONGEST_LINE as u64).read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Ok(None);
        }
        let began = !self.within;
        let ends = self.line.len() < LONGEST_LINE || self.line.ends_with(b"\n");
        self.within = !ends;
        Ok(Some(Line { bytes: &self.line, whole: began && ends }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_long_ones_in_pieces() {
        let long = vec![b'x'; LONGEST_LINE + 5];
        let text = [b"a\n\n", &long[..], b"\nb"].concat();
        let mut lines = Lines::new(&*text);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.bytes.len(), line.whole));
        }
        assert_eq!(found, [(2, true), (1, true), (LONGEST_LINE, false), (6, false), (1, true)]);
    }
}
