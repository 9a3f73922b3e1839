//! `heal`: [`Cure`] is what somebody asks for.

use std::cell::RefCell;
use std::collections::BTreeMap;

use forklore_config::Config;
use forklore_engine::check;
use forklore_engine::heal::{self, Choice, Decide, HealReport, Question};
use forklore_vault::{Progress, history};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Failure, OpenVault, now};

/// What is to be healed, and how.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cure {
    /// Address of the chat; all chats if left out
    pub chat: Option<String>,
    /// What becomes of a lorebook that is missing, shared or wrong
    pub choose: Option<Choice>,
    /// The same for single chats, by their addresses; goes before `choose`
    #[serde(default)]
    pub choices: BTreeMap<String, Choice>,
    /// Say yes to all questions
    #[serde(default)]
    pub yes: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What was healed, and what there was to decide.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Healed {
    /// What was done
    #[serde(flatten)]
    pub report: HealReport,
    /// What was, or would have been, to be decided
    pub questions: Vec<Question>,
}

/// Heals by what was chosen beforehand.
pub fn heal(open: &OpenVault<'_>, cure: &Cure) -> Result<Healed, Failure> {
    let asked = RefCell::new(Vec::new());
    let decide = |question: &Question| {
        asked.borrow_mut().push(question.clone());
        chosen(cure, question)
    };
    let report = heal_with(open, cure.chat.as_deref(), &decide, cure.dry_run, open.progress)?;
    Ok(Healed { report, questions: asked.into_inner() })
}

/// What was chosen for a question; where nobody said anything, what is offered first harms nobody, and leaving a book that was made for the
/// chat waits for a word.
pub fn chosen(cure: &Cure, question: &Question) -> Option<Choice> {
    let chosen = cure.choices.get(&question.chat).copied().or(cure.choose);
    if question.is_optional() {
        return chosen;
    }
    chosen.or_else(|| question.choices.first().copied().filter(|_| cure.yes || !question.ask_first))
}

/// Heals; `decide` is asked where somebody has to decide, and `progress` told how many chats were looked at.
pub fn heal_with(
    open: &OpenVault<'_>,
    chat: Option<&str>,
    decide: &Decide<'_>,
    dry_run: bool,
    progress: &dyn Progress,
) -> Result<HealReport, Failure> {
    let config = Config::load(&*open.fs)?;
    let library = open.library_to_change(dry_run)?;
    let only = chat.map(|name| library.find_chat(name)).transpose()?;
    let plan = heal::plan(&library, only, &config, decide, now(), progress)?;
    if dry_run {
        return Ok(plan.report);
    }
    let nothing = plan.is_empty();
    if !nothing && config.history.operations {
        // If history cannot be written, whoever records the operation itself says so.
        let _told_later = history::before(&open.fs, &plan.files(&library), now());
    }
    let mut report = heal::execute(&library, plan, now())?;
    if !nothing {
        let look_again = || -> Result<_, Failure> {
            let fresh = open.library()?;
            let only = chat.map(|name| fresh.find_chat(name)).transpose()?;
            Ok(check::check(&fresh, only, now()).findings)
        };
        // It is done. If the new look fails, what the plan leaves is told: an error would say that nothing was changed.
        report.left = look_again().unwrap_or(report.left);
    }
    Ok(report)
}
