//! [`Hello`]: who answers, and for which vault.

use schemars::JsonSchema;
use serde::Serialize;

use crate::vault::Vault;

/// Who answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Hello {
    /// Always `forklore`
    name: &'static str,
    /// Version of the program
    version: &'static str,
    /// Version of this API
    api: u32,
    /// Name of the vault's folder
    vault: String,
    /// Why history is not being recorded at the moment; nothing if it is
    recording: Option<String>,
}

impl Hello {
    pub(crate) fn of(vault: &Vault) -> Self {
        Self {
            name: "forklore",
            version: env!("CARGO_PKG_VERSION"),
            api: 1,
            vault: vault.name(),
            recording: vault.recording.trouble(),
        }
    }
}
