//! [`Mutator`]: from known input to input that nobody has thought of.

/// Pieces that mean something to one format or another.
const WORDS: [&[u8]; 34] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"\\u0000",
    b"\xff",
    b"null",
    b"true",
    b"-0",
    b"1e999",
    b"9007199254740993",
    b"{\"\":",
    b"[[[[[[[[[[[[[[[[",
    b"\"mes\"",
    b"\"extra\"",
    b"\"swipes\"",
    b"\"chat_metadata\"",
    b"\"entries\"",
    b"\"uid\"",
    b"\"world_info\"",
    b"\"main_chat\"",
    b"\"forklore\"",
    b"- UID=",
    b" | name: ",
    b"../",
];

/// Makes new input of old, the same every time for the same seed.
#[derive(Debug)]
pub struct Mutator(u64);

impl Mutator {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap_or(0)
    }

    /// One input, changed in a few places; sometimes a part of another comes in.
    pub fn next(&mut self, corpus: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = corpus[self.below(corpus.len())].1.clone();
        for _ in 0..=self.below(6) {
            self.change(&mut bytes, corpus);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, corpus: &[(String, Vec<u8>)]) {
        let at = self.below(bytes.len() + 1);
        let len = self.below(1 + (bytes.len() - at).min(64));
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = u8::try_from(self.below(256)).unwrap_or(0),
            2 => {
                bytes.drain(at..at + len);
            }
            3 => {
                let again = bytes[at..at + len].to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, again);
            }
            4 => bytes.truncate(at),
            5 => {
                let other = &corpus[self.below(corpus.len())].1;
                let from = self.below(other.len() + 1);
                let len = self.below(1 + (other.len() - from).min(200));
                bytes.splice(at..at, other[from..from + len].iter().copied());
            }
            _ => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..at + self.below(2).min(len), word.iter().copied());
            }
        }
    }
}
