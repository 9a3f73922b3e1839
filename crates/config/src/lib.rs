//! What people have set for a vault.
//!
//! * [`Config`] is all settings, as `.forklore/config.toml` has them; what the file does not name is at its default. Settings that name a
//!   place outside of the vault are its owner's: they are in the user's own configuration ([`owners_file`]) and nowhere else.
//! * [`Setting`] is one line of the table [`Config::KEYS`]: reading, listing and checking all go by it.
//! * [`SettingPlan`] is a [`SettingChange`] that was tried on the file's text; [`SettingPlan::save`] puts it on disk.
//!
//! * [`id`] is what a vault calls itself: what its owner has set for it goes by that.
//!
//! A key that nobody knows is an error, not something to skip: a mistyped setting that is silently at its default is worse.

mod edit;
pub mod id;
mod memory;
mod owner;
mod setting;

use std::path::PathBuf;

use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_journal::layout;
pub use memory::Memory;
pub use owner::{Elsewhere, file as owners_file};
use serde::Serialize;
pub use setting::{MOST_DAYS, PLACEHOLDERS, Setting, SettingReport, Value};
use toml_edit::{Document, Item, TableLike};

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Config {
    /// How checkpoints are made
    pub checkpoint: Checkpoint,
    /// How forks of either kind are made
    pub fork: Fork,
    /// What becomes of lorebooks
    pub books: Books,
    /// What becomes of what was removed
    pub trash: Trash,
    /// What is kept of the past
    pub history: History,
    /// How memory is kept
    pub memory: Memory,
}

/// How checkpoints are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own that people set by name")]
pub struct Checkpoint {
    /// Make a name when none is given
    pub auto_name: bool,
    /// What a made name looks like, with [`PLACEHOLDERS`] in braces; empty for the names that SillyTavern makes
    pub name_template: String,
    /// Only at a scene break
    pub require_scene_break: bool,
    /// Tell what is not as it should be
    pub show_warnings: bool,
    /// Make one at every scene break, unasked
    pub at_scene_break: bool,
}

impl Default for Checkpoint {
    fn default() -> Self {
        Self {
            auto_name: true,
            name_template: String::new(),
            require_scene_break: false,
            show_warnings: true,
            at_scene_break: false,
        }
    }
}

/// How forks of either kind are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fork {
    /// Refuse where there would be a warning
    pub strict: bool,
    /// What becomes of entries that nothing dates
    pub undated: Undated,
    /// Put a link to the fork into the parent's message
    pub link_parent: bool,
}

impl Default for Fork {
    fn default() -> Self {
        Self { strict: false, undated: Undated::default(), link_parent: true }
    }
}

/// What becomes of entries that nothing dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Undated {
    /// They come along: leaving out what somebody wrote by hand would be worse.
    #[default]
    Carry,
    /// They stay behind.
    Leave,
}

/// What becomes of lorebooks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Books {
    /// Names of the books that forks go on sharing
    pub shared: Vec<String>,
}

/// What becomes of what was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trash {
    /// Age in days at which it is gone for good; 0 for never
    pub days: u32,
}

impl Default for Trash {
    fn default() -> Self {
        Self { days: 30 }
    }
}

/// What is kept of the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct History {
    /// Folder that it is kept in; empty for the vault's own
    pub dir: String,
    /// Record what every operation touched
    pub operations: bool,
    /// Keep the images and files that chats link to
    pub media: bool,
}

impl Default for History {
    fn default() -> Self {
        Self { dir: String::new(), operations: true, media: false }
    }
}

/// Why the settings cannot be read or changed. A line counts from 1.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The file is no TOML.
    #[error("line {line} of {file} cannot be read: {what}", file = layout::CONFIG)]
    Syntax {
        /// Where
        line: usize,
        /// What is wrong with it
        what: String,
    },
    /// The file sets something that does not exist.
    #[error("line {line} of {file} sets {key:?}, and there is no such setting", file = layout::CONFIG)]
    UnknownInFile {
        /// Where
        line: usize,
        /// What it sets
        key: String,
        /// The setting that is probably meant
        like: Option<&'static str>,
    },
    /// The file sets something that only the vault's owner can.
    #[error(
        "line {line} of {file} sets {key}, which names a place outside of the vault: only you can set that, and no vault",
        file = layout::CONFIG
    )]
    OwnersInFile {
        /// Where
        line: usize,
        /// What it sets
        key: &'static str,
        /// To what
        value: Option<String>,
    },
    /// Somebody asks for it who is not at the owner's own command line.
    #[error("The setting {key} names a place outside of the vault, which only its owner sets")]
    OwnersOnly {
        /// The setting
        key: &'static str,
    },
    /// The owner's own file cannot be used.
    #[error("your own settings in {file} cannot be used: {what}")]
    Owners {
        /// The file
        file: PathBuf,
        /// What is wrong
        what: String,
    },
    /// There is no place for the owner's settings.
    #[error("there is no folder for your own settings: this user has no home folder")]
    NoHome,
    /// The file sets something to what it cannot be.
    #[error("line {line} of {file} sets {key} to {value}; it can be {allowed}", file = layout::CONFIG)]
    BadInFile {
        /// Where
        line: usize,
        /// What it sets
        key: &'static str,
        /// To what, as it stands there
        value: String,
        /// What it can be
        allowed: String,
    },
    /// There is no such setting.
    #[error("There is no setting {key:?}")]
    UnknownKey {
        /// What was asked for
        key: String,
        /// The setting that is probably meant
        like: Option<&'static str>,
    },
    /// A setting cannot be that.
    #[error("The setting {key} cannot be {value:?}")]
    BadValue {
        /// The setting
        key: &'static str,
        /// What it was to be
        value: String,
        /// What it can be
        allowed: String,
    },
    /// Only a list can get longer or shorter.
    #[error("The setting {key} is not a list: nothing can be added to it or removed from it")]
    NotAList {
        /// The setting
        key: &'static str,
        /// What it can be
        allowed: String,
    },
    /// What is to be removed is not there.
    #[error("The setting {key} does not hold {name:?}")]
    NotListed {
        /// The setting
        key: &'static str,
        /// What was to be removed
        name: String,
        /// What there is
        names: Vec<String>,
    },
}

/// What is to become of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingChange {
    /// It gets this value, as somebody typed it; a list is typed `A, B`.
    Set(String),
    /// It gets this value.
    Value(Value),
    /// It goes back to its default.
    Unset,
    /// A list gets longer and shorter.
    List {
        /// What comes in, unless it is there already
        add: Vec<String>,
        /// What goes out
        remove: Vec<String>,
    },
}

/// A change that was tried on the file's text and is not on disk yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingPlan {
    /// The settings as they will be
    pub config: Config,
    /// Whether a file will be another one
    pub changed: bool,
    /// The vault's file, if it will be another one
    text: Option<String>,
    /// The owner's file, if it will be another one
    owners: Option<owner::Home>,
}

impl Config {
    /// The settings of a vault, its owner's among them.
    pub fn load(fs: &dyn Vfs) -> Result<Self, ConfigError> {
        Self::parse(&text_of(fs)?)?.with_owners(fs)
    }

    fn with_owners(mut self, fs: &dyn Vfs) -> Result<Self, ConfigError> {
        if let Some(vault) = fs.home() {
            match owner::Home::load() {
                Ok(home) => home.overlay(vault, &mut self)?,
                // Who has no place for settings has set none.
                Err(ConfigError::NoHome) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(self)
    }

    /// Where a vault's history was put that calls itself `id`, if no vault is there any more for which that was said.
    pub fn moved(id: &str) -> Option<Elsewhere> {
        owner::Home::load().ok()?.moved(id)
    }

    /// The setting of this name.
    pub fn setting(key: &str) -> Result<&'static Setting, ConfigError> {
        let found = Self::KEYS.iter().find(|setting| setting.key == key);
        found.ok_or_else(|| ConfigError::UnknownKey { key: key.to_owned(), like: setting::closest(key) })
    }

    /// What a setting is set to.
    pub fn get(&self, key: &str) -> Result<Value, ConfigError> {
        Ok(Self::setting(key)?.value(self))
    }

    /// Sets a setting to what somebody typed.
    pub fn set(fs: &dyn Vfs, key: &str, typed: &str) -> Result<Self, ConfigError> {
        Self::plan(fs, key, &SettingChange::Set(typed.to_owned()))?.save(fs)
    }

    /// Sets a setting back to its default.
    pub fn unset(fs: &dyn Vfs, key: &str) -> Result<Self, ConfigError> {
        Self::plan(fs, key, &SettingChange::Unset)?.save(fs)
    }

    /// Tries a change. The file as it will be is checked, not the file as it is: so a bad value can be put right.
    pub fn plan(fs: &dyn Vfs, key: &str, change: &SettingChange) -> Result<SettingPlan, ConfigError> {
        let setting = Self::setting(key)?;
        let before = text_of(fs)?;
        if setting.owners {
            return Self::plan_owners(fs, setting, change, &before);
        }
        let value = match change {
            SettingChange::Set(typed) => Some(setting.typed(typed)?),
            SettingChange::Value(value) => Some(setting.given(value)?),
            SettingChange::Unset => None,
            SettingChange::List { add, remove } => {
                Some(setting.relisted(setting.value(&Self::parse(&before)?), add, remove)?)
            }
        };
        let text = edit::edit(&parse(&before)?, setting.key, value.as_ref());
        let changed = text != before;
        let config = Self::parse(&text)?.with_owners(fs)?;
        Ok(SettingPlan { config, changed, text: changed.then_some(text), owners: None })
    }

    /// The same for a setting of the owner's. If the vault's file has it, it goes from there.
    fn plan_owners(
        fs: &dyn Vfs,
        setting: &Setting,
        change: &SettingChange,
        before: &str,
    ) -> Result<SettingPlan, ConfigError> {
        let value = match change {
            SettingChange::Set(typed) => Some(setting.typed(typed)?),
            SettingChange::Value(value) => Some(setting.given(value)?),
            SettingChange::Unset => None,
            SettingChange::List { add, remove } => Some(setting.relisted(setting.default(), add, remove)?),
        };
        let value = value.filter(|value| *value != setting.default());
        let vault = fs.home().ok_or(ConfigError::NoHome)?;
        let text = edit::edit(&parse(before)?, setting.key, None);
        let mut config = Self::parse(&text)?;
        let old = owner::Home::load()?;
        let new = old.with(vault, id::of(fs)?.as_deref(), setting, value.as_ref())?;
        new.overlay(vault, &mut config)?;
        let (text, owners) = (Some(text).filter(|text| text != before), Some(new).filter(|new| *new != old));
        Ok(SettingPlan { config, changed: text.is_some() || owners.is_some(), text, owners })
    }

    fn parse(text: &str) -> Result<Self, ConfigError> {
        let document = parse(text)?;
        let mut config = Self::default();
        for (key, offset, item) in leaves(document.as_table()) {
            let line = line_of(text, offset);
            let Ok(setting) = Self::setting(&key) else {
                let like = setting::closest(&key);
                return Err(ConfigError::UnknownInFile { line, key, like });
            };
            if setting.owners {
                let value = item.as_str().map(str::to_owned);
                return Err(ConfigError::OwnersInFile { line, key: setting.key, value });
            }
            if !item
                .as_value()
                .and_then(Value::from_toml)
                .is_some_and(|value| setting.put(&mut config, value))
            {
                let value = item.span().and_then(|span| text.get(span)).unwrap_or("something else");
                let allowed = setting.allowed();
                return Err(ConfigError::BadInFile {
                    line,
                    key: setting.key,
                    value: value.to_owned(),
                    allowed,
                });
            }
        }
        Ok(config)
    }
}

impl SettingPlan {
    /// Puts the change on disk: after a crash at any moment, the file is the old one or the new one.
    pub fn save(self, fs: &dyn Vfs) -> Result<Config, ConfigError> {
        if let Some(owners) = &self.owners {
            owners.save()?;
        }
        if let Some(text) = &self.text {
            forklore_fs::put(fs, &path(), text.as_bytes())?;
        }
        Ok(self.config)
    }
}

fn path() -> VaultPath {
    layout::folder(layout::CONFIG)
}

/// The file's text; none is as good as an empty one.
fn text_of(fs: &dyn Vfs) -> Result<String, ConfigError> {
    let bytes = fs.read(&path())?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        ConfigError::Syntax { line, what: "it is not UTF-8 text".to_owned() }
    })
}

fn parse(text: &str) -> Result<Document<&str>, ConfigError> {
    Document::parse(text).map_err(|e| {
        let line = line_of(text, e.span().map_or(0, |span| span.start));
        let what = e.message().lines().map(str::trim).collect::<Vec<_>>().join(", ");
        ConfigError::Syntax { line, what }
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// Everything that is set: its whole key, where that is, the value.
fn leaves(root: &dyn TableLike) -> Vec<(String, usize, &Item)> {
    let mut found = Vec::new();
    let mut todo = vec![(String::new(), root)];
    while let Some((prefix, table)) = todo.pop() {
        for (name, item) in table.iter() {
            let key = format!("{prefix}{name}");
            let offset = table.key(name).and_then(toml_edit::Key::span).map_or(0, |span| span.start);
            let is_group = Config::KEYS.iter().any(|setting| setting.key.starts_with(&format!("{key}.")));
            match item.as_table_like() {
                // A group without anything in it sets nothing, but its name can be wrong.
                Some(inner) if is_group || !inner.is_empty() => todo.push((format!("{key}."), inner)),
                _ => found.push((key, offset, item)),
            }
        }
    }
    found.sort_by_key(|(_, offset, _)| *offset);
    found
}

#[cfg(test)]
mod tests;
