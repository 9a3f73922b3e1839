//! [`Reader`] and [`Out`]: numbers and names in a row of bytes, as packs and manifests hold them.

use crate::Id;

/// Takes one thing after the other; `None` when the bytes end too early or make no sense.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Seven bits a byte, low ones first; the high bit says that more follow.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A number of things that each take at least a byte: more than there are bytes left cannot be.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    pub(crate) fn id(&mut self) -> Option<Id> {
        self.array().map(Id::from_bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Puts one thing after the other.
pub(crate) trait Out {
    fn number(&mut self, number: u64);
    fn id(&mut self, id: &Id);
}

impl Out for Vec<u8> {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    fn id(&mut self, id: &Id) {
        self.extend_from_slice(id.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            bytes.number(number);
            let mut reader = Reader(&bytes);
            assert_eq!(reader.number(), Some(number));
            assert!(reader.is_empty());
            assert_eq!(Reader(&bytes[..bytes.len() - 1]).number(), None);
        }
        assert_eq!(Reader(&[0x80; 11]).number(), None);
    }
}
