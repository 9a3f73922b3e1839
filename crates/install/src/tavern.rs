//! [`Tavern`]: a SillyTavern install.

use std::path::{Path, PathBuf};

use forklore_fs::{PathError, RealFs, VaultPath, Vfs};
use serde::Deserialize;

/// A SillyTavern install.
#[derive(Debug)]
pub struct Tavern {
    pub(crate) fs: RealFs,
    pub(crate) version: Option<String>,
    /// Where npm's launcher keeps settings and data, for all installs of this user; only for an install that npm has put there.
    pub(crate) launcher: Option<RealFs>,
}

/// The launcher's settings, below the folder in which programs keep their data.
pub(crate) const LAUNCHER_CONFIG: &str =
    if cfg!(windows) { "SillyTavern/Data/config.yaml" } else { "SillyTavern/config.yaml" };

/// The folder in which programs keep a user's data.
fn data_folder() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if cfg!(windows) {
        var("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        Some(var("HOME")?.join("Library/Application Support"))
    } else {
        var("XDG_DATA_HOME").or_else(|| Some(var("HOME")?.join(".local/share")))
    }
}

/// Where people put it in their own folder: by hand, as an archive of GitHub's, by SillyTavern's launcher.
const USUAL: [&str; 8] = [
    "SillyTavern",
    "SillyTavern-release",
    "SillyTavern-Launcher/SillyTavern",
    "Documents/SillyTavern",
    "Desktop/SillyTavern",
    "Downloads/SillyTavern",
    "Downloads/SillyTavern-release",
    "ST/SillyTavern",
];

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
        Self::open_beside(dir, data_folder().as_deref())
    }

    /// The install in a folder, with the folder in which programs keep their data.
    pub(crate) fn open_beside(dir: &Path, data: Option<&Path>) -> Option<Self> {
        let fs = RealFs::new(dir).ok()?;
        let file = |name: &str| fs.read(&VaultPath::new(name).ok()?).ok().flatten();
        let package: Package = serde_json::from_slice(&file("package.json")?).ok()?;
        file("server.js").filter(|_| package.name == "sillytavern")?;
        // `npx sillytavern` and `npm install --global` start what lies here with the settings in the user's own folder.
        let by_npm = fs.root().parent().is_some_and(|parent| parent.ends_with("node_modules"));
        let launcher = data.filter(|_| by_npm).and_then(|data| RealFs::new(data).ok());
        Some(Self { fs, version: package.version, launcher })
    }

    /// The install that was named, or one that is near: around `here`, below it, or in the user's own folder.
    pub fn find(named: Option<&Path>, here: &Path, home: Option<&Path>) -> Result<Self, NotFound> {
        if let Some(dir) = named {
            return Self::open(dir).ok_or_else(|| NotFound::Named(dir.to_owned()));
        }
        let around = here.ancestors().map(Path::to_owned);
        let near = std::iter::once(here.join("SillyTavern"));
        let usual = home.into_iter().flat_map(|home| USUAL.map(|place| home.join(place)));
        around.chain(near).chain(usual).find_map(|dir| Self::open(&dir)).ok_or(NotFound::Nowhere)
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
        let read = |fs: &RealFs, name: &str| fs.read(&VaultPath::new(name).ok()?).ok().flatten();
        let launcher = self.launcher.as_ref().and_then(|fs| read(fs, LAUNCHER_CONFIG));
        let bytes = launcher.or_else(|| read(&self.fs, "config.yaml"));
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
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
