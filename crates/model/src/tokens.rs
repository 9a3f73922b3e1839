//! About how many tokens a text has, for servers that do not say.

/// Rather too many than too few: what does not fit is cut by some servers without a word.
pub(crate) fn estimate(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    (ascii * 2).div_ceil(7) + (text.len() - ascii).div_ceil(2)
}
