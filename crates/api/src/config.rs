//! The settings of a vault.

use forklore_config::{Config, ConfigError, Setting, SettingChange, SettingReport, Value, owners_file};
use forklore_journal::layout;
use forklore_vault::history;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Failure, OpenVault};

/// All settings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SettingsReport {
    /// The settings
    pub settings: Vec<SettingReport>,
    /// Where they are, inside the vault; the file need not be there
    pub file: &'static str,
    /// The settings of the vault's owner, if it is the owner who asks
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owners: Option<OwnersReport>,
}

/// The settings that name places outside of the vault.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OwnersReport {
    /// The settings
    pub settings: Vec<SettingReport>,
    /// Where they are, in the user's own configuration; the file need not be there
    pub file: Option<String>,
}

/// Who asks. Whoever comes over HTTP may be anybody with the vault's token, and no token reaches anything outside of the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Somebody at the owner's own command line
    Owner,
    /// Anybody who may use the vault
    Anybody,
}

impl Who {
    /// The setting of this name, if it may be looked at and set.
    fn setting(self, key: &str) -> Result<&'static Setting, Failure> {
        let setting = Config::setting(key)?;
        if setting.owners && self == Self::Anybody {
            return Err(ConfigError::OwnersOnly { key: setting.key }.into());
        }
        Ok(setting)
    }
}

/// Which setting.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnySetting {
    /// Name of the setting; all if left out
    pub key: Option<String>,
}

/// What is to become of a setting: one of `value`, `unset`, or `add` and `remove`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Name of the setting
    pub key: String,
    /// What it becomes
    pub value: Option<Value>,
    /// Back to its default
    #[serde(default)]
    pub unset: bool,
    /// What joins a list
    #[serde(default)]
    pub add: Vec<String>,
    /// What leaves a list
    #[serde(default)]
    pub remove: Vec<String>,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

impl Set {
    /// The change that it asks for.
    fn change(&self) -> Result<SettingChange, Failure> {
        let list = !self.add.is_empty() || !self.remove.is_empty();
        match (&self.value, self.unset, list) {
            (Some(value), false, false) => Ok(SettingChange::Value(value.clone())),
            (None, true, false) => Ok(SettingChange::Unset),
            (None, false, true) => {
                Ok(SettingChange::List { add: self.add.clone(), remove: self.remove.clone() })
            }
            _ => {
                let message =
                    "A setting is changed by one of \"value\", \"unset\", or \"add\" and \"remove\"";
                Err(Failure::new(ErrorCode::Usage, message, "Send exactly one of them."))
            }
        }
    }
}

/// All settings.
pub fn settings(open: &OpenVault<'_>, who: Who) -> Result<SettingsReport, Failure> {
    let config = Config::load(&*open.fs)?;
    let of = |owners: bool| {
        let some = Config::KEYS.iter().filter(|setting| setting.owners == owners);
        some.map(|setting| setting.report(&config)).collect()
    };
    let owners = (who == Who::Owner).then(|| OwnersReport {
        settings: of(true),
        file: owners_file().map(|file| file.display().to_string()),
    });
    Ok(SettingsReport { settings: of(false), file: layout::CONFIG, owners })
}

/// One setting.
pub fn setting(open: &OpenVault<'_>, who: Who, key: &str) -> Result<SettingReport, Failure> {
    Ok(who.setting(key)?.report(&Config::load(&*open.fs)?))
}

/// Changes a setting, for anybody.
pub fn set(open: &OpenVault<'_>, set: &Set) -> Result<SettingReport, Failure> {
    Ok(change(open, Who::Anybody, &set.key, &set.change()?, set.dry_run)?.0)
}

/// Changes a setting, and says whether it was anything else before.
pub fn change(
    open: &OpenVault<'_>,
    who: Who,
    key: &str,
    change: &SettingChange,
    dry_run: bool,
) -> Result<(SettingReport, bool), Failure> {
    let setting = who.setting(key)?;
    let mut plan = Config::plan(&*open.fs, key, change)?;
    let dir = plan.config.history.dir.clone();
    if setting.owners && !dir.is_empty() {
        history::claim(&open.fs, &dir, dry_run)?;
        // The vault may have got its name just now, which is noted beside what is set.
        plan = Config::plan(&*open.fs, key, change)?;
    }
    let (report, changed) = (setting.report(&plan.config), plan.changed);
    if !dry_run {
        plan.save(&*open.fs)?;
    }
    Ok((report, changed))
}
