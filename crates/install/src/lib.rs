//! Forklore's plugin and extension, embedded, and how they get into a SillyTavern install and out of it.
//!
//! * [`Tavern`] is an install; [`Tavern::find`] looks for one.
//! * [`plan`] works out what is to be done, [`plan_removal`] how it is taken back. A [`InstallPlan`] can be printed, and executed.
//! * [`installed`] tells what there is.
//!
//! `config.yaml` is the user's: one value in it is changed in its place, everything else stays as it stands (`switch`). What was
//! installed is written down beside the plugin, so that another version can clear up after this one.

mod switch;
mod tavern;

use std::path::Path;

use forklore_fs::{PathError, RealFs, VaultPath, Vfs};
use serde::{Deserialize, Serialize};

pub use tavern::{NotFound, Tavern};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// Where the plugin goes.
const PLUGIN: &str = "plugins/forklore";
/// Where the extension goes: for all users.
const EXTENSION: &str = "public/scripts/extensions/third-party/forklore";
/// What was installed, and where the program is.
const NOTE: &str = "plugins/forklore/engine.json";
/// SillyTavern's settings, and what they are before its first start.
const CONFIG: &str = "config.yaml";
const KEPT_CONFIG: &str = "config/config.yaml";
const DEFAULT_CONFIG: &str = "default/config.yaml";

/// The oldest SillyTavern that Forklore works with.
pub const OLDEST: &str = "1.13.5";

/// Why nothing can be installed, or removed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The setting is written in a way that cannot be changed safely.
    #[error("{file} cannot be changed safely: {why}")]
    Config {
        /// The file
        file: VaultPath,
        /// What is odd about it
        why: &'static str,
    },
    /// It is older than anything that Forklore was tried with.
    #[error("SillyTavern {0} is too old: Forklore works with {OLDEST} and newer")]
    TooOld(String),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// What was written down at the installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// The program
    engine: String,
    /// Its version
    version: String,
    /// Whether server plugins were off before
    turned_on: bool,
    /// What stood there; older versions did not write it down
    #[serde(default)]
    former: Option<switch::Former>,
    /// Whether SillyTavern had no settings of its own yet
    #[serde(default)]
    first: bool,
    /// What stood in the settings of npm's launcher, if that was changed, too
    #[serde(default)]
    launcher: Option<switch::Former>,
    /// The files that were installed, this one not counted
    files: Vec<String>,
}

/// What is to be done, and then what was.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The install
    pub sillytavern: String,
    /// Its version
    pub sillytavern_version: Option<String>,
    /// Forklore's version
    pub version: &'static str,
    /// The program that the plugin starts
    pub engine: Option<String>,
    /// Files that are written
    pub written: Vec<String>,
    /// Files that are there already
    pub unchanged: Vec<String>,
    /// Files that are removed
    pub removed: Vec<String>,
    /// Whether the settings are changed, and how
    pub config: Option<&'static str>,
    /// Whether nothing was done
    pub dry_run: bool,
}

/// Something that is worked out and not yet done.
pub struct InstallPlan {
    /// What is told of it
    pub report: Report,
    write: Vec<(VaultPath, Vec<u8>)>,
    remove: Vec<VaultPath>,
    /// New settings of npm's launcher
    launcher: Option<Vec<u8>>,
}

/// Works out an installation. `engine` is the program that the plugin is to start.
pub fn plan(tavern: &Tavern, engine: &str) -> Result<InstallPlan, InstallError> {
    let fs = &tavern.fs;
    if let Some(version) = tavern.version().filter(|version| numbers(version) < numbers(OLDEST)) {
        return Err(InstallError::TooOld(version.to_owned()));
    }
    let old = note(tavern)?;
    let mut plan = InstallPlan::new(tavern);
    let mut files: Vec<(VaultPath, Vec<u8>)> = Vec::new();
    for (folder, embedded) in [(PLUGIN, embedded::PLUGIN), (EXTENSION, embedded::EXTENSION)] {
        for (name, content) in embedded {
            files.push((place(&format!("{folder}/{name}")), content.to_vec()));
        }
    }
    let names: Vec<String> = files.iter().map(|(path, _)| path.as_str().to_owned()).collect();
    for gone in old.files.iter().filter(|name| !names.contains(name)) {
        plan.take_away(tavern, gone)?;
    }
    let config = config(tavern)?;
    let turned = switch::turn_on(&config.text)
        .map_err(|why| InstallError::Config { file: config_place(tavern), why })?;
    let (mut turned_on, mut former, mut first) = (old.turned_on, old.former, old.first);
    if let Some((text, stood)) = turned {
        if !tavern.has_other_plugins()? {
            (turned_on, former, first) = (true, Some(stood), !config.exists);
        }
        plan.report.config = Some("server plugins are turned on");
        files.push((config_place(tavern), text.into_bytes()));
    }
    let mut launcher = old.launcher;
    if let Some(text) = launcher_config(tavern)? {
        let turned = switch::turn_on(&text)
            .map_err(|why| InstallError::Config { file: place(tavern::LAUNCHER_CONFIG), why })?;
        if let Some((text, stood)) = turned {
            launcher = Some(stood);
            plan.report.config = Some("server plugins are turned on");
            plan.turn_launcher(tavern, text);
        }
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let note = Note { engine: engine.to_owned(), version, turned_on, former, first, launcher, files: names };
    // Plain data into memory cannot fail.
    let note = serde_json::to_vec_pretty(&note).unwrap_or_default();
    files.push((place(NOTE), note));
    for (path, content) in files {
        if fs.read(&path)?.as_ref() == Some(&content) {
            plan.report.unchanged.push(path.as_str().to_owned());
        } else {
            plan.report.written.push(path.as_str().to_owned());
            plan.write.push((path, content));
        }
    }
    plan.report.engine = Some(engine.to_owned());
    Ok(plan)
}

/// Works out how everything that was installed goes again.
pub fn plan_removal(tavern: &Tavern) -> Result<InstallPlan, InstallError> {
    let old = note(tavern)?;
    let mut plan = InstallPlan::new(tavern);
    let embedded = [(PLUGIN, embedded::PLUGIN), (EXTENSION, embedded::EXTENSION)];
    let known = embedded
        .iter()
        .flat_map(|(folder, files)| files.iter().map(move |(name, _)| format!("{folder}/{name}")));
    let mut names: Vec<String> = old.files.into_iter().chain(known).collect();
    names.push(NOTE.to_owned());
    names.sort();
    names.dedup();
    for name in names {
        plan.take_away(tavern, &name)?;
    }
    // Other plugins may have come to rely on it.
    if old.turned_on && !tavern.has_other_plugins()? {
        let config = config(tavern)?;
        let former = old.former.unwrap_or_else(|| switch::Former::Value("false".to_owned()));
        let turned_back = switch::turn_back(&config.text, &former)
            .map_err(|why| InstallError::Config { file: config_place(tavern), why })?;
        if let (Some(text), true) = (turned_back, config.exists) {
            plan.report.config = Some("server plugins are turned off again");
            let default = tavern.fs.read(&place(DEFAULT_CONFIG))?;
            if old.first && default.as_deref() == Some(text.as_bytes()) {
                // Nothing but what SillyTavern begins with: it makes its own again.
                plan.report.removed.push(config_place(tavern).as_str().to_owned());
                plan.remove.push(config_place(tavern));
            } else {
                plan.report.written.push(config_place(tavern).as_str().to_owned());
                plan.write.push((config_place(tavern), text.into_bytes()));
            }
        }
    }
    if let (Some(former), Some(text), false) =
        (&old.launcher, launcher_config(tavern)?, tavern.has_other_plugins()?)
        && let Ok(Some(text)) = switch::turn_back(&text, former)
    {
        plan.report.config = Some("server plugins are turned off again");
        plan.turn_launcher(tavern, text);
    }
    Ok(plan)
}

/// What there is of Forklore in an install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The version that was installed
    pub version: String,
    /// The program that the plugin starts
    pub engine: String,
    /// Whether that program is there
    pub there: bool,
    /// Whether SillyTavern loads plugins; nothing if its settings are written in a way that does not tell
    pub on: Option<bool>,
    /// Files of this version that are missing or changed
    pub differ: usize,
}

/// Tells what there is of Forklore in an install; nothing if it was not installed.
pub fn installed(tavern: &Tavern) -> Result<Option<Installed>, InstallError> {
    let note = note(tavern)?;
    if note.version.is_empty() {
        return Ok(None);
    }
    let on = config(tavern).ok().and_then(|config| switch::is_on(&config.text).ok());
    let launched = launcher_config(tavern).ok().flatten().map(|text| switch::is_on(&text).ok());
    // Whichever of the two it is started with: it has to be on there.
    let on = match launched {
        Some(launched) => on.zip(launched).map(|(own, launched)| own && launched),
        None => on,
    };
    let mut differ = 0;
    for (folder, embedded) in [(PLUGIN, embedded::PLUGIN), (EXTENSION, embedded::EXTENSION)] {
        for (name, content) in embedded {
            let there = tavern.fs.read(&place(&format!("{folder}/{name}")))?;
            differ += usize::from(there.as_deref() != Some(*content));
        }
    }
    let there = Path::new(&note.engine).is_file();
    Ok(Some(Installed { version: note.version, engine: note.engine, there, on, differ }))
}

impl InstallPlan {
    fn new(tavern: &Tavern) -> Self {
        let report = Report {
            sillytavern: tavern.fs.root().display().to_string(),
            sillytavern_version: tavern.version.clone(),
            version: env!("CARGO_PKG_VERSION"),
            engine: None,
            written: Vec::new(),
            unchanged: Vec::new(),
            removed: Vec::new(),
            config: None,
            dry_run: true,
        };
        Self { report, write: Vec::new(), remove: Vec::new(), launcher: None }
    }

    /// The launcher's settings are to be these.
    fn turn_launcher(&mut self, tavern: &Tavern, text: String) {
        let place = tavern.launcher.as_ref().map(|fs| fs.root().join(tavern::LAUNCHER_CONFIG));
        self.report.written.extend(place.map(|place| place.display().to_string()));
        self.launcher = Some(text.into_bytes());
    }

    /// A file goes, if it is one that can have been installed, and is there.
    fn take_away(&mut self, tavern: &Tavern, name: &str) -> Result<(), InstallError> {
        let inside = name.strip_prefix(PLUGIN).or_else(|| name.strip_prefix(EXTENSION));
        let inside = inside.is_some_and(|rest| rest.starts_with('/'));
        let Some(path) = VaultPath::new(name).ok().filter(|_| inside) else { return Ok(()) };
        if tavern.fs.identity(&path)?.is_some() {
            self.report.removed.push(name.to_owned());
            self.remove.push(path);
        }
        Ok(())
    }

    /// Does it: every file is the old one or the new one, never half of it; the settings come last.
    pub fn execute(self, tavern: &Tavern) -> Result<Report, InstallError> {
        let fs = &tavern.fs;
        for path in &self.remove {
            fs.unlink(path)?;
        }
        let settings = config_place(tavern);
        let (config, files): (Vec<_>, Vec<_>) =
            self.write.into_iter().partition(|(path, _)| *path == settings);
        for (path, content) in files.into_iter().chain(config) {
            put(fs, &path, &content)?;
        }
        if let (Some(fs), Some(content)) = (&tavern.launcher, self.launcher) {
            put(fs, &place(tavern::LAUNCHER_CONFIG), &content)?;
        }
        for path in &self.remove {
            // Up to the folders that are SillyTavern's own; one with something in it stays.
            let mut dir = path.parent();
            while dir.as_str().starts_with(PLUGIN) || dir.as_str().starts_with(EXTENSION) {
                if fs.remove_empty_dir(&dir).is_err() {
                    break;
                }
                dir = dir.parent();
            }
        }
        Ok(Report { dry_run: false, ..self.report })
    }
}

/// A version as numbers that can be compared; what is no number counts as none.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

/// Puts a file there, whole or not at all.
fn put(fs: &RealFs, path: &VaultPath, content: &[u8]) -> Result<(), InstallError> {
    fs.make_dir(&path.parent())?;
    let new = place(&format!("{path}.forklore-new"));
    match fs.unlink(&new) {
        Err(e) if !e.is_missing() => return Err(e.into()),
        // Gone, or never there: either way the name is free.
        _ => {}
    }
    fs.create(&new, content)?;
    fs.sync_file(&new)?;
    Ok(fs.replace(&new, path)?)
}

fn place(name: &str) -> VaultPath {
    // Names from the constants above and from the embedded files are good ones; a bad one would be the root, which is no file.
    VaultPath::new(name).unwrap_or_default()
}

fn note(tavern: &Tavern) -> Result<Note, InstallError> {
    let bytes = tavern.fs.read(&place(NOTE))?.unwrap_or_default();
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Where the settings are: in SillyTavern's Docker image the file is a link into a folder that outlives the container. What is to take its
/// place goes there, or the link would.
fn config_place(tavern: &Tavern) -> VaultPath {
    let kept = place(KEPT_CONFIG);
    let leads = tavern.fs.is_link(&place(CONFIG)).unwrap_or(false);
    if leads && tavern.fs.identity(&kept).is_ok_and(|file| file.is_some()) { kept } else { place(CONFIG) }
}

struct ConfigText {
    text: String,
    exists: bool,
}

/// The settings; before the first start, what SillyTavern would begin with.
fn config(tavern: &Tavern) -> Result<ConfigText, InstallError> {
    let own = tavern.fs.read(&place(CONFIG))?;
    let exists = own.is_some();
    let bytes = match own {
        Some(bytes) => bytes,
        None => tavern.fs.read(&place(DEFAULT_CONFIG))?.unwrap_or_default(),
    };
    let why = "it is no UTF-8 text";
    let text = String::from_utf8(bytes).map_err(|_| InstallError::Config { file: place(CONFIG), why })?;
    Ok(ConfigText { text, exists })
}

/// The settings of npm's launcher, if it is what starts this install; before its first start, what it would begin with.
fn launcher_config(tavern: &Tavern) -> Result<Option<String>, InstallError> {
    let Some(fs) = &tavern.launcher else { return Ok(None) };
    let file = place(tavern::LAUNCHER_CONFIG);
    let bytes = match fs.read(&file)? {
        Some(bytes) => bytes,
        None => tavern.fs.read(&place(DEFAULT_CONFIG))?.unwrap_or_default(),
    };
    let why = "it is no UTF-8 text";
    String::from_utf8(bytes).map(Some).map_err(|_| InstallError::Config { file, why })
}

#[cfg(test)]
mod tests;
