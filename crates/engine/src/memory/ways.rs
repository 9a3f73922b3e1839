//! [`Ways`]: how memory is kept in a vault: what is set, and the words in which it is asked.

use forklore_config::Config;
use forklore_fs::{VaultPath, Vfs};
use forklore_journal::layout;
use forklore_memory::{Kind, Prompts, Settings};
use schemars::JsonSchema;
use serde::Serialize;

use super::error::MemoryError;

/// How memory is kept.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    /// What is set and matters to what is computed
    pub settings: Settings,
    /// The words
    pub prompts: Prompts,
    /// Entries wait until they are approved
    pub approve: bool,
    /// A recap as one text is kept as well
    pub combined: bool,
}

/// The words for one kind of question.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PromptReport {
    /// What is asked in them: `boundary`, `facts`, `identity`, `recap`, `compaction`, `combined`
    pub kind: &'static str,
    /// The file in the vault that they are in, or would be looked for
    pub file: String,
    /// Whether they are Forklore's own
    pub built_in: bool,
    /// The words
    pub text: String,
}

impl Ways {
    /// What is set for a vault, and the words that it has for itself.
    pub fn of(fs: &dyn Vfs, config: &Config) -> Result<Self, MemoryError> {
        let mut ways = Self {
            settings: Settings { language: config.memory.language.clone(), ..Settings::default() },
            approve: config.memory.approve,
            combined: config.memory.combined,
            ..Self::default()
        };
        for kind in Kind::ALL {
            if let Some(text) = own(fs, kind)? {
                ways.prompts.replace(kind, text)?;
            }
        }
        Ok(ways)
    }
}

/// The words for every kind of question, as they are used in a vault.
pub fn prompts(fs: &dyn Vfs) -> Result<Vec<PromptReport>, MemoryError> {
    let report = |kind: Kind| {
        let own = own(fs, kind)?;
        Ok(PromptReport {
            kind: kind.as_str(),
            file: file(kind).as_str().to_owned(),
            built_in: own.is_none(),
            text: own.unwrap_or_else(|| Prompts::built_in(kind).to_owned()),
        })
    };
    Kind::ALL.into_iter().map(report).collect()
}

/// The words that a vault has of its own.
fn own(fs: &dyn Vfs, kind: Kind) -> Result<Option<String>, MemoryError> {
    let Some(bytes) = fs.read(&file(kind))? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| MemoryError::NoText(file(kind).as_str().to_owned()))
}

fn file(kind: Kind) -> VaultPath {
    layout::folder(&format!("{}/{}.md", layout::PROMPTS, kind.as_str()))
}
