//! What the owner of this machine has set for a vault: where something of it is kept outside of it.
//!
//! [`Home`] is the file with it, in the user's own configuration. No request, no archive and no vault that was copied from elsewhere can
//! put anything there. A vault is known there by its folder, not by anything that is in it.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use forklore_fs::{RealFs, VaultPath, Vfs as _};
use toml_edit::{DocumentMut, Item, Table};

use super::{Config, ConfigError, Setting, Value, leaves, parse};

/// The user's own configuration of Forklore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    dir: PathBuf,
    text: String,
}

/// A vault that had something set, and may have been moved since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// The folder that it was in
    pub vault: PathBuf,
    /// What `history.dir` was set to for it
    pub history: String,
}

const FILE: &str = "config.toml";
const VAULTS: &str = "vaults";
/// What a vault was called by itself when something was set for it. It tells that one was moved, and decides nothing.
const ID: &str = "id";

/// The folder of the user's own configuration of Forklore; `None` where the user has no home.
fn folder() -> Option<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().ok()?;
    Some(strategy.config_dir().join("forklore"))
}

/// The file with the owner's settings, as it is told to people.
pub fn file() -> Option<PathBuf> {
    folder().map(|dir| dir.join(FILE))
}

fn name() -> VaultPath {
    VaultPath::new(FILE).unwrap_or_default()
}

impl Home {
    /// Reads it; one that is not there sets nothing.
    pub(super) fn load() -> Result<Self, ConfigError> {
        let dir = folder().ok_or(ConfigError::NoHome)?;
        let text = match RealFs::new(&dir) {
            Ok(fs) => fs.read(&name())?.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let home = Self { dir, text: String::new() };
        let text = String::from_utf8(text).map_err(|_| home.unreadable("it is not UTF-8 text"))?;
        Ok(Self { text, ..home })
    }

    fn unreadable(&self, what: impl Into<String>) -> ConfigError {
        ConfigError::Owners { file: self.dir.join(FILE), what: what.into() }
    }

    /// Puts into `config` what is set for the vault in this folder.
    pub(super) fn overlay(&self, vault: &Path, config: &mut Config) -> Result<(), ConfigError> {
        let document = parse(&self.text).map_err(|e| self.unreadable(e.to_string()))?;
        let table = document.get(VAULTS).and_then(Item::as_table_like);
        let Some(entry) = table.and_then(|all| all.get(&key(vault))).and_then(Item::as_table_like) else {
            return Ok(());
        };
        for (key, _, item) in leaves(entry) {
            let setting = Config::KEYS.iter().find(|setting| setting.owners && setting.key == key);
            let value = item.as_value().and_then(Value::from_toml);
            match (setting, value) {
                (Some(setting), Some(value)) if setting.put(config, value.clone()) => {}
                _ if key == ID => {}
                (Some(setting), _) => {
                    return Err(self.unreadable(format!("{key} can be {}", setting.allowed())));
                }
                (None, _) => return Err(self.unreadable(format!("there is no setting {key:?} in it"))),
            }
        }
        Ok(())
    }

    /// The file with another value for the vault in this folder; `id` is what the vault calls itself.
    pub(super) fn with(
        &self,
        vault: &Path,
        id: Option<&str>,
        setting: &Setting,
        value: Option<&Value>,
    ) -> Result<Self, ConfigError> {
        let mut document: DocumentMut =
            self.text.parse().map_err(|e: toml_edit::TomlError| self.unreadable(e.to_string()))?;
        let (group, name) = setting.key.split_once('.').unwrap_or((setting.key, setting.key));
        let misplaced = || self.unreadable(format!("{VAULTS} is no table"));
        let all = document.entry(VAULTS).or_insert_with(implicit).as_table_mut().ok_or_else(misplaced)?;
        // Where it was before it was moved: what is set now is all that counts.
        let is_old = |(old, entry): &(&str, &Item)| {
            let same = id.is_some() && entry.get(ID).and_then(Item::as_str) == id;
            same && RealFs::new(Path::new(old)).is_err()
        };
        let old: Vec<String> = all.iter().filter(is_old).map(|(old, _)| old.to_owned()).collect();
        old.iter().for_each(|old| drop(all.remove(old)));
        match value {
            Some(value) => {
                let entry = all.entry(&key(vault)).or_insert_with(|| Item::Table(Table::new()));
                let entry = entry.as_table_mut().ok_or_else(misplaced)?;
                if let Some(id) = id {
                    entry.insert(ID, toml_edit::value(id));
                }
                let group = entry.entry(group).or_insert_with(dotted).as_table_like_mut();
                group.ok_or_else(misplaced)?.insert(name, Item::Value(value.to_toml()));
            }
            None => {
                let entry = all.get_mut(&key(vault)).and_then(Item::as_table_like_mut);
                let left = entry.is_some_and(|entry| {
                    let of_group = entry.get_mut(group).and_then(Item::as_table_like_mut);
                    let empty = of_group.is_some_and(|of_group| {
                        of_group.remove(name);
                        of_group.is_empty()
                    });
                    if empty {
                        entry.remove(group);
                    }
                    entry.iter().any(|(known, _)| known != ID)
                });
                if !left {
                    all.remove(&key(vault));
                }
            }
        }
        Ok(Self { dir: self.dir.clone(), text: document.to_string() })
    }

    /// Puts it on disk: after a crash at any moment, the file is the old one or the new one.
    pub(super) fn save(&self) -> Result<(), ConfigError> {
        let fs = RealFs::make(&self.dir).map_err(|e| self.unreadable(e.to_string()))?;
        Ok(forklore_fs::put(&fs, &name(), self.text.as_bytes())?)
    }

    /// Vaults that call themselves this and are not where they were.
    pub(super) fn moved(&self, id: &str) -> Option<Elsewhere> {
        let document = parse(&self.text).ok()?;
        let all = document.get(VAULTS)?.as_table_like()?;
        all.iter().find_map(|(vault, entry)| {
            let entry = entry.as_table_like()?;
            let (vault, history) = (PathBuf::from(vault), entry.get("history")?.get("dir")?.as_str()?);
            let is_it = entry.get(ID)?.as_str()? == id && RealFs::new(&vault).is_err();
            is_it.then(|| Elsewhere { vault, history: history.to_owned() })
        })
    }
}

/// What a vault is called in the file.
fn key(vault: &Path) -> String {
    vault.to_string_lossy().into_owned()
}

fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn dotted() -> Item {
    let mut table = Table::new();
    table.set_dotted(true);
    Item::Table(table)
}
