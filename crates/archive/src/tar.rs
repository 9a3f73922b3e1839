//! The little of tar that an export is: a header before each member, zeros after it up to the next block.
//!
//! There is only a writer of headers. Whoever reads an export knows from its manifest which header must come, writes it, and compares.

/// Name of the manifest's member, the first one.
pub(crate) const MANIFEST: &str = "forklore.json";
/// Name of the last member, in the form that `b3sum --check` reads.
pub(crate) const SUMS: &str = "B3SUMS";
pub(crate) const BLOCK: u64 = 512;

/// The header of a member.
pub(crate) fn header(path: &str, bytes: u64) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, text: &str| {
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
    };
    put(0, &path[..path.len().min(100)]);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{bytes:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar");
    put(263, "00");
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// The length that a header says its member has.
pub(crate) fn length(header: &[u8; 512]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(&header[124..135]).ok()?, 8).ok()
}

/// How many zeros follow a member.
pub(crate) fn padding(bytes: u64) -> usize {
    (bytes.next_multiple_of(BLOCK) - bytes) as usize
}

/// A line of the last member.
pub(crate) fn sum_line(hash: &blake3::Hash, path: &str) -> String {
    format!("{hash}  {path}\n")
}
