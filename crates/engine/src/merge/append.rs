//! `append`: a branch of one chat, and behind it the messages that another has played since the two parted. Its lorebook, recaps and
//! variables are the first one's: messages are played, not what was learnt from them.

use std::ops::RangeInclusive;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_core::format::chat::Message;
use forklore_core::format::record::Appended;
use forklore_core::story::identify;
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::address::AddressError;
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::base::parting;
use super::learn::place;
use crate::fork::{self, Brought, ForkBook, ForkError, ForkPlan, ForkRequest, More};
use crate::warning::{Warning, WarningCode};

/// What is to be played after what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendRequest {
    /// Address of the chat that goes on
    pub chat: String,
    /// Address of the chat whose messages follow
    pub from: String,
    /// The last message of the chat that goes on; its last one if left out
    pub at: Option<usize>,
    /// The last message of the other chat that follows; its last one if left out
    pub upto: Option<usize>,
    /// Name of the new chat; one like SillyTavern's own is made if left out
    pub name: Option<String>,
    /// Go on although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What was played after what, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AppendReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// Address of the new chat
    pub chat: String,
    /// Address of the chat that goes on
    pub parent: String,
    /// The last message of it
    pub at: usize,
    /// Address of the chat whose messages follow
    pub from: String,
    /// The first of them
    pub first: usize,
    /// The last of them
    pub upto: usize,
    /// How many messages the new chat has
    pub messages: usize,
    /// Its lorebook
    pub book: ForkBook,
    /// What the user should know
    pub warnings: Vec<Warning>,
    /// Files that were made or changed
    pub files: Vec<String>,
    /// Files that could not be changed yet
    pub pending: Vec<String>,
}

/// Why nothing was made. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// There is nothing to play.
    #[error("\"{from}\" has no message that \"{chat}\" does not have")]
    NothingNew {
        /// The chat that goes on
        chat: String,
        /// The other
        from: String,
    },
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The new chat cannot be made.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// What is worked out and not yet done.
pub struct AppendPlan {
    /// What is told of it
    pub report: AppendReport,
    fork: ForkPlan,
}

/// Works it out. `slug` is a fresh identity, `now` the time in milliseconds since 1970.
pub fn plan(
    library: &Library,
    request: &AppendRequest,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<AppendPlan, AppendError> {
    let (a, b) = (library.find_chat(&request.chat)?, library.find_chat(&request.from)?);
    let (at, upto) = (place(library, a, request.at)?, place(library, b, request.upto)?);
    let common = parting(library, a, at, b, upto).common;
    let first = common.map_or(0, |(_, last)| last + 1);
    if first > upto {
        let name = |c: ChatIx| library.chat(c).name().to_owned();
        return Err(AppendError::NothingNew { chat: name(a), from: name(b) });
    }
    let more = more(library, (a, at), b, first..=upto, now)?;
    let forking = ForkRequest {
        kind: Some(ForkKind::Branch),
        at: Some(at),
        name: request.name.clone(),
        ignore_queue: request.ignore_queue,
        strict: Some(false),
        dry_run: request.dry_run,
        ..ForkRequest::of(library.address(a).to_string())
    };
    let messages = at + 1 + more.count();
    let brought =
        Brought { entries: None, book: None, learnt: None, more: Some(more), timers: None, memory: None };
    let mut fork = fork::plan_with(library, &forking, config, slug, now, brought)?;
    let other = library.chat(b);
    let guard = other.identity().map(|identity| (other.path().clone(), identity.into()));
    fork.guards.extend(guard.filter(|_| a != b));
    let told = &fork.report;
    let mut report = AppendReport {
        operation: None,
        chat: told.chat.clone(),
        parent: told.parent.clone(),
        at,
        from: library.address(b).to_string(),
        first,
        upto,
        messages,
        book: told.book.clone(),
        warnings: told.warnings.clone(),
        files: told.files.clone(),
        pending: Vec::new(),
    };
    // Where the first chat has not gone on, what follows is what followed.
    if common.is_none_or(|(i, _)| i < at) {
        let message = match first.checked_sub(1) {
            Some(before) => format!(
                "Message {first} of \"{}\" answers message {before} there, which this chat does not have: the seam may not read well",
                other.name()
            ),
            None => {
                format!("\"{}\" begins anew in the middle: the two have no message in common", other.name())
            }
        };
        report.warnings.push(Warning::new(WarningCode::AnswersElse, message));
    }
    Ok(AppendPlan { report, fork })
}

/// Makes the new chat.
pub fn execute(library: &Library, plan: AppendPlan, now: i64) -> Result<AppendReport, AppendError> {
    let done = fork::execute(library, plan.fork, now)?;
    Ok(AppendReport { operation: done.operation, pending: done.pending, ..plan.report })
}

/// Messages of chat `b`, behind message `at` of chat `a`.
fn more(
    library: &Library,
    (a, at): (ChatIx, usize),
    b: ChatIx,
    follow: RangeInclusive<usize>,
    now: i64,
) -> Result<More, AppendError> {
    let (first, upto) = follow.into_inner();
    let other = library.chat(b);
    let (start, last) = (other.transcript().row(first), other.transcript().row(upto));
    let range = start.zip(last).map(|(start, last)| start.start..last.start + u64::from(last.len));
    let corrupt = || ForkError::CorruptChat {
        chat: other.name().to_owned(),
        why: format!("message {first} cannot be found in it"),
    };
    let range = range.filter(|range| !range.is_empty()).ok_or_else(corrupt)?;
    let file = library.fs().open(other.path())?;
    let fail = |source| PathError { path: other.path().clone(), doing: "read", source };
    let bytes = file.read_range(range.clone()).map_err(fail)?;
    let mut moment = library.chat(a).transcript().moment(at).unwrap_or_default();
    for row in (first..=upto).filter_map(|message| other.transcript().row(message)) {
        let line = usize::try_from(row.start - range.start)
            .ok()
            .and_then(|from| bytes.get(from..from.checked_add(usize::try_from(row.len).ok()?)?));
        let raw = line.and_then(|line| Raw::parse(line).ok()).ok_or_else(corrupt)?;
        let (role, text, _) = identify(Message::new(raw));
        moment = moment.then(role, &text);
    }
    let appended = Appended {
        file: other.name().to_owned(),
        slug: other.header().slug().unwrap_or_default().into_owned(),
        first,
        message: upto,
        moment: other.transcript().moment(upto).map(|moment| moment.to_string()).unwrap_or_default(),
        when: Some(now),
    };
    Ok(More { file: other.path().clone(), range, moment: moment.to_string(), appended })
}
