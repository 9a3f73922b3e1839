//! [`VaultPath`]: a path inside the vault that cannot lead out of it.

use std::fmt;

/// A path relative to the vault, parts joined with `/`. The empty path is the vault itself.
///
/// No part is empty, `.` or `..`, or holds a slash, a backslash on Windows, or a NUL.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VaultPath(String);

impl TryFrom<String> for VaultPath {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, BadPath> {
        Self::new(&text)
    }
}

impl From<VaultPath> for String {
    fn from(path: VaultPath) -> Self {
        path.0
    }
}

/// A name that cannot be part of a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be a file name")]
pub struct BadPath(pub String);

impl VaultPath {
    /// The vault's own folder.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path from its text, parts separated by `/`.
    pub fn new(text: &str) -> Result<Self, BadPath> {
        text.split('/').try_fold(Self::root(), |path, part| path.join(part))
    }

    /// The entry `name` of this directory.
    pub fn join(&self, name: &str) -> Result<Self, BadPath> {
        let bad = name.is_empty()
            || name == "."
            || name == ".."
            || name.contains(['/', '\0'])
            || (cfg!(windows) && name.contains(['\\', ':']));
        if bad {
            return Err(BadPath(name.to_owned()));
        }
        Ok(if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) })
    }

    /// The directory that holds this entry; the root for the root.
    pub fn parent(&self) -> Self {
        Self(self.0.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned())
    }

    /// The last part.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or("")
    }

    /// The path as text, parts joined with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "the vault" } else { &self.0 })
    }
}

impl fmt::Debug for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out() {
        for bad in ["", "/etc", "..", "a/../b", "a//b", "a/", ".", "a\0b"] {
            assert!(VaultPath::new(bad).is_err(), "{bad:?}");
        }
        let path = VaultPath::new("group chats/Rain - Branch #1.jsonl").unwrap();
        assert_eq!((path.parent().as_str(), path.name()), ("group chats", "Rain - Branch #1.jsonl"));
        assert_eq!(VaultPath::root().join("worlds").unwrap().parent(), VaultPath::root());
    }
}
