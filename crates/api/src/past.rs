//! `history`, `blame`, `restore`: looking back, and bringing back.

use forklore_config::Config;
use forklore_engine::blame::{self, BlameReport};
use forklore_engine::history::{self, HistoryReport};
use forklore_engine::restore::{self, RestoreReport, RestoreRequest, RestoreTarget, When};
use forklore_engine::when::{self, Typed};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{ErrorCode, Failure, OpenVault, now};

/// How much of the history of a chat.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Looking {
    /// Address of the chat, also of one that was deleted
    pub chat: String,
    /// Only what happened to its lorebooks
    #[serde(default)]
    pub book: bool,
    /// How many lines, the newest; all if left out
    pub limit: Option<usize>,
    /// Nothing before this time: RFC 3339, a date, or how long ago
    pub since: Option<String>,
    /// Every observation on its own
    #[serde(default)]
    pub all: bool,
}

/// What of a lorebook is looked at.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blaming {
    /// Address of the chat, also of one that was deleted
    pub chat: String,
    /// Number or title of an entry, or the beginning of its title; all entries if left out
    pub entry: Option<String>,
    /// The message that the lorebook is looked at; the last one if left out
    pub at: Option<usize>,
}

/// What is to come back.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bringing {
    /// Address of the chat, also of one that was deleted
    pub chat: String,
    /// As of this message
    pub at: Option<usize>,
    /// As it was at this time: RFC 3339, a date, or how long ago
    pub when: Option<String>,
    /// As it was when this observation was made
    pub observation: Option<u64>,
    /// Only this entry of its lorebook, by number or title
    pub entry: Option<String>,
    /// Only its lorebook
    #[serde(default)]
    pub book: bool,
    /// Name of the new chat
    pub name: Option<String>,
    /// Go on although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
    /// That the chat is bound to another lorebook is all right
    #[serde(default)]
    pub yes: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What happened to a chat and its lorebooks.
pub fn history(open: &OpenVault<'_>, looking: &Looking) -> Result<HistoryReport, Failure> {
    let since = looking.since.as_deref().map(time).transpose()?.map(|time| time.from);
    let found = history::find(open.library()?, &looking.chat)?;
    let wanted = history::Wanted { books: looking.book, limit: looking.limit, since, all: looking.all };
    Ok(history::history(&found, wanted)?)
}

/// Which message each entry, field and line of a lorebook comes from.
pub fn blame(open: &OpenVault<'_>, blaming: &Blaming) -> Result<BlameReport, Failure> {
    let found = history::find(open.library()?, &blaming.chat)?;
    Ok(blame::blame(&found.library, found.chat, blaming.at, blaming.entry.as_deref())?)
}

/// Brings something back, if that was agreed to beforehand.
pub fn restore(open: &OpenVault<'_>, bringing: &Bringing) -> Result<RestoreReport, Failure> {
    restore_with(open, bringing, &|_| bringing.yes)
}

/// Brings something back; `agreed` is asked before a chat is bound to another book.
pub fn restore_with(
    open: &OpenVault<'_>,
    bringing: &Bringing,
    agreed: &dyn Fn(&RestoreReport) -> bool,
) -> Result<RestoreReport, Failure> {
    let request = request(bringing)?;
    let config = Config::load(&*open.fs)?;
    let library = open.library_to_change(bringing.dry_run)?;
    let time = now();
    let plan = restore::plan(&library, &request, &config, &forklore_engine::fresh_slug(), time)?;
    if bringing.dry_run {
        return Ok(plan.report);
    }
    if plan.asks() && !agreed(&plan.report) {
        let message = format!("\"{}\" would be bound to another lorebook", plan.report.chat);
        let hint =
            "Nothing was changed. Look with --dry-run at what would be, and say --yes to let it happen.";
        return Err(Failure::typed(ErrorCode::NotConfirmed, message, hint));
    }
    Ok(restore::execute(&library, plan, time)?)
}

fn request(bringing: &Bringing) -> Result<RestoreRequest, Failure> {
    let what = match (&bringing.entry, bringing.book) {
        (Some(entry), false) => RestoreTarget::Entry(entry.clone()),
        (None, true) => RestoreTarget::Book,
        (None, false) => RestoreTarget::Chat,
        (Some(_), true) => {
            return Err(Failure::usage("an entry is part of the lorebook: name one of both".to_owned()));
        }
    };
    let when = moment(bringing.at, bringing.when.as_deref(), bringing.observation)?;
    let (chat, name) = (bringing.chat.clone(), bringing.name.clone());
    Ok(RestoreRequest { chat, what, when, name, ignore_queue: bringing.ignore_queue })
}

/// The moment that is meant.
pub(crate) fn moment(
    at: Option<usize>,
    when: Option<&str>,
    observation: Option<u64>,
) -> Result<When, Failure> {
    Ok(match (at, when, observation) {
        (None, None, None) => When::Last,
        (Some(at), None, None) => When::Message(at),
        (None, Some(text), None) => When::Time(time(text)?.to),
        (None, None, Some(seq)) => When::Observation(seq),
        _ => return Err(Failure::usage("a message, a time or an observation: name one of them".to_owned())),
    })
}

fn time(text: &str) -> Result<Typed, Failure> {
    when::parse(text, now()).ok_or_else(|| {
        let message = format!("\"{text}\" is no time");
        let hint = "Times are like 2026-11-15, \"2026-11-15 05:23\" (UTC), or how long ago: 3d, \"2 hours\".";
        Failure::new(ErrorCode::Usage, message, hint)
    })
}
