//! [`VaultPath`]: a path inside the vault that cannot lead out of it.

use std::fmt;
use std::path::{Path, PathBuf};

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
            || (cfg!(windows) && is_refused_by_windows(name));
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

/// Whether Windows keeps other programs from using a name: a device, an end that is dropped, a letter that means something else.
fn is_refused_by_windows(name: &str) -> bool {
    const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let numbered = |prefix: &str| {
        let rest = stem.strip_prefix(prefix).map(|rest| rest.chars().collect::<Vec<_>>());
        rest.is_some_and(|rest| matches!(rest[..], ['0'..='9' | '¹' | '²' | '³']))
    };
    name.ends_with(['.', ' '])
        || name.contains(['\\', ':', '<', '>', '"', '|', '?', '*'])
        || name.chars().any(|letter| letter < ' ')
        || DEVICES.contains(&stem.as_str())
        || numbered("COM")
        || numbered("LPT")
}

/// A path as people write it: without the mark of Windows' long paths, where it means the same without.
pub fn shown(path: &Path) -> PathBuf {
    const LONGEST: usize = 259;
    let Some(rest) = path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) else {
        return path.to_owned();
    };
    if rest.len() > LONGEST {
        return path.to_owned();
    }
    if let Some(share) = rest.strip_prefix(r"UNC\") {
        return PathBuf::from(format!(r"\\{share}"));
    }
    let on_drive = matches!(rest.as_bytes(), [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic());
    let plain = rest.split('\\').skip(1).all(|part| part.is_empty() || !is_refused_by_windows(part));
    if on_drive && plain { PathBuf::from(rest) } else { path.to_owned() }
}

/// A path of this system without links, as people write it.
#[allow(clippy::disallowed_methods, reason = "this is the one place that touches the disk")]
pub fn canonical(path: &Path) -> std::io::Result<PathBuf> {
    Ok(shown(&path.canonicalize()?))
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

    #[test]
    fn names_that_windows_keeps_for_itself_are_known() {
        for bad in
            ["CON", "con.json", "Aux .txt", "COM1", "lpt9.jsonl", "a.", "a ", "a:b", "what?", "nul", "\u{1}"]
        {
            assert!(is_refused_by_windows(bad), "{bad:?}");
        }
        for good in ["Connie.jsonl", "COM.json", "com10", "Rain - Branch #1.jsonl", ".forklore", "Ærø"] {
            assert!(!is_refused_by_windows(good), "{good:?}");
        }
    }

    #[test]
    fn paths_are_shown_as_people_write_them() {
        let show = |text: &str| shown(Path::new(text)).to_str().unwrap().to_owned();
        assert_eq!(show(r"\\?\C:\Users\Ana\SillyTavern"), r"C:\Users\Ana\SillyTavern");
        assert_eq!(show(r"\\?\UNC\nas\chats"), r"\\nas\chats");
        assert_eq!(show("/home/ana"), "/home/ana");
        // Without the mark these would be other files.
        for long in [
            format!(r"\\?\C:\{}", "a".repeat(300)),
            r"\\?\C:\a\con".to_owned(),
            r"\\?\Volume{1}\a".to_owned(),
        ] {
            assert_eq!(show(&long), long);
        }
    }
}
