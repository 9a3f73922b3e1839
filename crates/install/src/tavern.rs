//! [`Tavern`]: a SillyTavern install.

use std::path::{Path, PathBuf};

use forklore_fs::{PathError, RealFs, VaultPath, Vfs};
use serde::Deserialize;

/// A SillyTavern install.
#[derive(Debug)]
pub struct Tavern {
    pub(crate) fs: RealFs,
    pub(crate) version: Option<String>,
}

/// Why there is no install.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// The folder that was named is none.
    #[error("{0} is no SillyTavern install")]
    Named(PathBuf),
    /// None was named, and none is near.
    #[error("No SillyTavern install was found from here")]
    Nowhere,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: Option<String>,
}

impl Tavern {
    /// The install in a folder.
    pub fn open(dir: &Path) -> Option<Self> {
        let fs = RealFs::new(dir).ok()?;
        let file = |name: &str| fs.read(&VaultPath::new(name).ok()?).ok().flatten();
        let package: Package = serde_json::from_slice(&file("package.json")?).ok()?;
        file("server.js").filter(|_| package.name == "sillytavern")?;
        Some(Self { fs, version: package.version })
    }

    /// The install that was named, or one that is near: around `here`, below it, or in the user's own folder.
    pub fn find(named: Option<&Path>, here: &Path, home: Option<&Path>) -> Result<Self, NotFound> {
        if let Some(dir) = named {
            return Self::open(dir).ok_or_else(|| NotFound::Named(dir.to_owned()));
        }
        let around = here.ancestors().map(Path::to_owned);
        let near = [Some(here), home].into_iter().flatten().map(|dir| dir.join("SillyTavern"));
        around.chain(near).find_map(|dir| Self::open(&dir)).ok_or(NotFound::Nowhere)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        self.fs.root()
    }

    /// Its version, if it says one.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The port that it listens on, by its settings.
    pub fn port(&self) -> u16 {
        let file = |name: &str| self.fs.read(&VaultPath::new(name).ok()?).ok().flatten();
        let text = String::from_utf8(file("config.yaml").unwrap_or_default()).unwrap_or_default();
        let value = text.lines().find_map(|line| line.strip_prefix("port:"));
        let value =
            value.map(|value| value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']));
        value.and_then(|port| port.parse().ok()).unwrap_or(8000)
    }

    /// Whether there are plugins of others.
    pub(crate) fn has_other_plugins(&self) -> Result<bool, PathError> {
        let plugins = VaultPath::new("plugins").unwrap_or_default();
        let own = ["forklore", "package.json", "package-lock.json", ".gitkeep"];
        Ok(self.fs.list(&plugins)?.iter().any(|node| !own.contains(&node.name.as_str())))
    }
}
