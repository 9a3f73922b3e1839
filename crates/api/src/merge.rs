//! `learn`, `append`, `pick`, `adopt`: bringing branches together; `resolve`: answering what they do not agree on.

use forklore_config::Config;
use forklore_core::merge::Answer;
use forklore_engine::merge::adopt::{self, AdoptReport};
use forklore_engine::merge::append::{self, AppendReport, AppendRequest};
use forklore_engine::merge::learn::{self, LearnReport, LearnRequest};
use forklore_engine::merge::pick::{self, PickReport, PickRequest, PickWanted};
use forklore_engine::merge::resolve::{self, ResolveReport, ResolveRequest};
use forklore_engine::merge::together::{self, TogetherReport};
use forklore_vault::history;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{ErrorCode, Failure, OpenVault, now, past};

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
    /// Go on although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
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

/// The line that is to be the story.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adopting {
    /// Address of the chat
    pub chat: String,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What is to be taken over: one of `entry`, `left_out`, `quarantined`, `variable`, `note`, `recap`, `combined_recap` and `queue`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Picking {
    /// Address of the chat that gets it
    pub chat: String,
    /// Address of the chat that has it, also one that was deleted; the same chat if left out
    pub from: Option<String>,
    /// As of this message
    pub at: Option<usize>,
    /// As it was at this time: RFC 3339, a date, or how long ago
    pub when: Option<String>,
    /// As it was when this observation was made
    pub observation: Option<u64>,
    /// An entry of the lorebook, by number or title
    pub entry: Option<String>,
    /// An entry that the other chat was made without, by number or title
    pub left_out: Option<String>,
    /// An entry that `heal` has put aside for the other chat, by number or title
    pub quarantined: Option<String>,
    /// Only this field of the entry
    pub field: Option<String>,
    /// A variable
    pub variable: Option<String>,
    /// The author's note
    #[serde(default)]
    pub note: bool,
    /// A version of the running recap, also one that was archived when the other chat was forked
    pub recap: Option<i64>,
    /// The combined recap, also one that was archived when the other chat was forked
    #[serde(default)]
    pub combined_recap: bool,
    /// Work that waited in the queue when the other chat was forked
    #[serde(default)]
    pub queue: bool,
    /// That the chat is bound to another lorebook is all right
    #[serde(default)]
    pub yes: bool,
    /// Go on although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

impl Picking {
    fn wanted(&self) -> Result<PickWanted, Failure> {
        let all = [
            self.entry.clone().map(PickWanted::Entry),
            self.left_out.clone().map(PickWanted::LeftOut),
            self.quarantined.clone().map(PickWanted::Quarantined),
            self.variable.clone().map(PickWanted::Variable),
            self.note.then_some(PickWanted::Note),
            self.recap.map(PickWanted::Recap),
            self.combined_recap.then_some(PickWanted::Combined),
            self.queue.then_some(PickWanted::Queue),
        ];
        let mut named = all.into_iter().flatten();
        match (named.next(), named.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(Failure::usage("nothing says what is to be taken over".to_owned())),
            (Some(_), Some(_)) => Err(Failure::usage("one thing is taken over at a time".to_owned())),
        }
    }

    /// The name of the field in the file, for what people call it.
    fn field(&self) -> Option<String> {
        let field = self.field.as_deref()?;
        let name = match field {
            "text" => "content",
            "title" => "comment",
            "keys" => "key",
            "secondary keys" => "keysecondary",
            other => other,
        };
        Some(name.to_owned())
    }
}

/// Two lines side by side.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// Address of the chat that goes on
    pub chat: String,
    /// Address of the chat whose lore can be brought along
    pub from: String,
}

/// What both lines knew, what each has learnt since, and what they do not agree on.
pub fn together(open: &OpenVault<'_>, of: &Together) -> Result<TogetherReport, Failure> {
    let shared = open.shared()?;
    let library = &shared.library;
    let (a, b) = (library.find_chat(&of.chat)?, library.find_chat(&of.from)?);
    Ok(together::together(library, a, b)?)
}

/// Marks the line that is the story now.
pub fn adopt(open: &OpenVault<'_>, adopting: &Adopting) -> Result<AdoptReport, Failure> {
    let library = open.library_to_change(adopting.dry_run)?;
    let plan = adopt::plan(&library, library.find_chat(&adopting.chat)?)?;
    if adopting.dry_run {
        return Ok(plan.report);
    }
    Ok(adopt::execute(&library, plan, now())?)
}

/// Plays another line's messages after a chat's own.
pub fn append(open: &OpenVault<'_>, request: &AppendRequest) -> Result<AppendReport, Failure> {
    let config = Config::load(&*open.fs)?;
    let library = open.library_to_change(request.dry_run)?;
    let time = now();
    let plan = append::plan(&library, request, &config, &forklore_engine::fresh_slug(), time)?;
    if request.dry_run {
        return Ok(plan.report);
    }
    Ok(append::execute(&library, plan, time)?)
}

/// Takes one thing over; `agreed` is asked before the chat is bound to another book.
pub fn pick(
    open: &OpenVault<'_>,
    picking: &Picking,
    agreed: &dyn Fn(&PickReport) -> bool,
) -> Result<PickReport, Failure> {
    let request = PickRequest {
        chat: picking.chat.clone(),
        from: picking.from.clone(),
        when: past::moment(picking.at, picking.when.as_deref(), picking.observation)?,
        what: picking.wanted()?,
        field: picking.field(),
        ignore_queue: picking.ignore_queue,
    };
    let library = open.library_to_change(picking.dry_run)?;
    let plan = pick::plan(&library, &request, &forklore_engine::fresh_slug())?;
    if picking.dry_run {
        return Ok(plan.report);
    }
    if plan.asks() && !agreed(&plan.report) {
        return Err(not_confirmed(&plan.report.chat));
    }
    Ok(pick::execute(&library, plan, now())?)
}

fn not_confirmed(chat: &str) -> Failure {
    let message = format!("\"{chat}\" would be bound to another lorebook");
    let hint = "Nothing was changed. Look with --dry-run at what would be, and say --yes to let it happen.";
    Failure::new(ErrorCode::NotConfirmed, message, hint)
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
    let request = ResolveRequest {
        chat: resolving.chat.clone(),
        id: resolving.id.clone(),
        answer,
        ignore_queue: resolving.ignore_queue,
    };
    let plan = resolve::plan(&library, &request, &forklore_engine::fresh_slug())?;
    if looks {
        return Ok(plan.report);
    }
    if plan.asks() && !agreed(&plan.report) {
        return Err(not_confirmed(&plan.report.chat));
    }
    Ok(resolve::execute(&library, plan, now())?)
}
