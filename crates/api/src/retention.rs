//! `forget`, `prune`: how much of the past is kept.

use forklore_engine::retention::{self, ForgetReport, PruneReport, Rules};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Failure, OpenVault, now};

/// What is kept of each file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forgetting {
    /// This many of the last saves; 50 if left out
    pub last: Option<usize>,
    /// The last save of each of this many days; 30 if left out
    pub daily: Option<usize>,
    /// The last save of each of this many weeks; 52 if left out
    pub weekly: Option<usize>,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// Forgets by rule.
pub fn forget(open: &OpenVault<'_>, forgetting: &Forgetting) -> Result<ForgetReport, Failure> {
    let library = open.library()?;
    let default = Rules::default();
    let rules = Rules {
        last: forgetting.last.unwrap_or(default.last),
        daily: forgetting.daily.unwrap_or(default.daily),
        weekly: forgetting.weekly.unwrap_or(default.weekly),
    };
    let plan = retention::plan(&library, rules)?;
    if forgetting.dry_run { Ok(plan.report) } else { Ok(retention::execute(&library, plan, now())?) }
}

/// Frees what nothing needs; a dry run only tells the size.
pub fn prune(open: &OpenVault<'_>, dry_run: bool) -> Result<PruneReport, Failure> {
    let library = open.library()?;
    Ok(if dry_run { retention::size(&library)? } else { retention::prune(&library)? })
}
