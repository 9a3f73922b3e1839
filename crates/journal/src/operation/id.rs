//! What tells contents and files apart: [`ObjectId`] and [`FileId`].

use std::fmt;

use forklore_fs::Identity;
use serde::{Deserialize, Serialize};

/// The name of an object: the BLAKE3 hash of its content, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectId(String);

impl TryFrom<String> for ObjectId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hash = text.len() == 64 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        if hash { Ok(Self(text)) } else { Err(format!("{text:?} is no hash")) }
    }
}

impl From<ObjectId> for String {
    fn from(object: ObjectId) -> Self {
        object.0
    }
}

impl From<blake3::Hash> for ObjectId {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash.to_hex().to_string())
    }
}

impl ObjectId {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What tells a file from any other that comes to have its name: all of [`Identity`] that a rename leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// Number on its device
    pub number: u64,
    /// Length
    pub bytes: u64,
    /// Time of the last change of content, in nanoseconds since 1970
    pub modified: i64,
}

impl From<Identity> for FileId {
    fn from(identity: Identity) -> Self {
        Self { number: identity.file, bytes: identity.len, modified: identity.modified }
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}-{:x}", self.number, self.bytes, self.modified)
    }
}

impl FileId {
    /// Reads what [`fmt::Display`] wrote.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-').map(|part| u64::from_str_radix(part, 16).ok());
        let (number, bytes, modified) = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(Self { number, bytes, modified: modified.cast_signed() })
    }
}
