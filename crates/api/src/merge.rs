//! `learn` and `resolve`: bringing branches together, and answering what they do not agree on.

use forklore_config::Config;
use forklore_core::merge::Answer;
use forklore_engine::merge::learn::{self, LearnReport, LearnRequest};
use forklore_engine::merge::resolve::{self, ResolveReport, ResolveRequest};
use forklore_vault::history;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{ErrorCode, Failure, OpenVault, now};

/// What is answered, and how.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolving {
    /// Address of the chat
    pub chat: String,
    /// The question, or the beginning of its id; all that are open if left out
    pub id: Option<String>,
    /// Whose words are to stand
    pub keep: Option<Keep>,
    /// Other words
    pub text: Option<String>,
    /// That the chat is bound to another lorebook is all right
    #[serde(default)]
    pub yes: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// Whose words are to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Those of the chat's own line
    Ours,
    /// Those of the line that was brought along
    Theirs,
    /// Both, the own line's first
    Both,
}

/// Brings along what happened in another chat.
pub fn learn(open: &OpenVault<'_>, request: &LearnRequest) -> Result<LearnReport, Failure> {
    let config = Config::load(&*open.fs)?;
    let library = open.library_to_change(request.dry_run)?;
    let time = now();
    let plan = learn::plan(&library, request, &config, &forklore_engine::fresh_slug(), time)?;
    if request.dry_run {
        return Ok(plan.report);
    }
    let from = plan.brings().cloned();
    let report = learn::execute(&library, plan, time)?;
    // The next time goes on from what was brought along: history knows it then, whatever is played meanwhile.
    if let (Some(from), Some(operation), true) = (from, &report.operation, config.history.operations) {
        history::look_with_books(&open.fs, &[from], operation, time)?;
    }
    Ok(report)
}

/// Answers what two lines do not agree on, or tells what that is; `agreed` is asked before the chat is bound to another book.
pub fn resolve(
    open: &OpenVault<'_>,
    resolving: &Resolving,
    agreed: &dyn Fn(&ResolveReport) -> bool,
) -> Result<ResolveReport, Failure> {
    let answer = match (resolving.keep, &resolving.text) {
        (None, None) => None,
        (Some(Keep::Ours), None) => Some(Answer::A),
        (Some(Keep::Theirs), None) => Some(Answer::B),
        (Some(Keep::Both), None) => Some(Answer::Both),
        (None, Some(text)) => Some(Answer::Text(text.clone())),
        (Some(_), Some(_)) => {
            return Err(Failure::usage("the words of a side, or other words: say one of them".to_owned()));
        }
    };
    let looks = resolving.dry_run || answer.is_none();
    let library = open.library_to_change(looks)?;
    let request = ResolveRequest { chat: resolving.chat.clone(), id: resolving.id.clone(), answer };
    let plan = resolve::plan(&library, &request, &forklore_engine::fresh_slug())?;
    if looks {
        return Ok(plan.report);
    }
    if plan.asks() && !agreed(&plan.report) {
        let message = format!("\"{}\" would be bound to another lorebook", plan.report.chat);
        let hint =
            "Nothing was changed. Look with --dry-run at what would be, and say --yes to let it happen.";
        return Err(Failure::new(ErrorCode::NotConfirmed, message, hint));
    }
    Ok(resolve::execute(&library, plan, now())?)
}
