//! The settings of a vault.

use forklore_engine::Config;
use forklore_engine::config::{Change, SettingReport, Value};
use forklore_engine::vault::layout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Desk, Failure, Kind};

/// All settings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SettingsReport {
    /// The settings
    pub settings: Vec<SettingReport>,
    /// Where they are, inside the vault; the file need not be there
    pub file: &'static str,
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
    fn change(&self) -> Result<Change, Failure> {
        let list = !self.add.is_empty() || !self.remove.is_empty();
        match (&self.value, self.unset, list) {
            (Some(value), false, false) => Ok(Change::Value(value.clone())),
            (None, true, false) => Ok(Change::Unset),
            (None, false, true) => Ok(Change::List { add: self.add.clone(), remove: self.remove.clone() }),
            _ => {
                let message =
                    "A setting is changed by one of \"value\", \"unset\", or \"add\" and \"remove\"";
                Err(Failure::new(Kind::Usage, "USAGE", message, "Send exactly one of them."))
            }
        }
    }
}

/// All settings.
pub fn settings(desk: &Desk<'_>) -> Result<SettingsReport, Failure> {
    let config = Config::load(&*desk.fs)?;
    let settings = Config::KEYS.iter().map(|setting| setting.report(&config)).collect();
    Ok(SettingsReport { settings, file: layout::CONFIG })
}

/// One setting.
pub fn setting(desk: &Desk<'_>, key: &str) -> Result<SettingReport, Failure> {
    let setting = Config::setting(key)?;
    Ok(setting.report(&Config::load(&*desk.fs)?))
}

/// Changes a setting.
pub fn set(desk: &Desk<'_>, set: &Set) -> Result<SettingReport, Failure> {
    Ok(change(desk, &set.key, &set.change()?, set.dry_run)?.0)
}

/// Changes a setting, and says whether it was anything else before.
pub fn change(
    desk: &Desk<'_>,
    key: &str,
    change: &Change,
    dry_run: bool,
) -> Result<(SettingReport, bool), Failure> {
    let setting = Config::setting(key)?;
    let plan = Config::plan(&*desk.fs, key, change)?;
    let (report, changed) = (setting.report(&plan.config), plan.changed);
    if !dry_run {
        plan.save(&*desk.fs)?;
    }
    Ok((report, changed))
}
