//! [`Key`]: what a question, a message or a text is known by.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A hash of everything that a thing depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; 32]);

/// A text is no key.
#[derive(Debug, thiserror::Error)]
#[error("not the key of a question: 64 digits and letters from a to f are expected")]
pub struct BadKey;

impl Key {
    /// Starts a key of things of one kind: equal parts of different kinds have different keys.
    pub(crate) fn of(kind: &str) -> Hasher {
        let mut hasher = Hasher(blake3::Hasher::new());
        hasher.text(kind);
        hasher
    }
}

/// A key in the making. Every part is told apart from the next by its length.
pub(crate) struct Hasher(blake3::Hasher);

impl Hasher {
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len());
        self.0.update(text.as_bytes());
        self
    }

    pub(crate) fn number(&mut self, number: usize) -> &mut Self {
        self.0.update(&(number as u64).to_le_bytes());
        self
    }

    pub(crate) fn key(&mut self, key: &Key) -> &mut Self {
        self.0.update(&key.0);
        self
    }

    pub(crate) fn all<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) -> &mut Self {
        self.number(texts.len());
        for text in texts {
            self.text(text);
        }
        self
    }

    pub(crate) fn done(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Key {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        let mut bytes = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(BadKey);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |d: u8| char::from(d).to_digit(16).ok_or(BadKey);
            *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).map_err(|_| BadKey)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
