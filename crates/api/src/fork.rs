//! `checkpoint` and `branch`: [`Wanted`] is what somebody asks for, [`fork()`] makes it, [`plan`] only says what would come of it.

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkError, ForkReport, Request};
use forklore_vault::Library;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::look::{QueueReport, queue_of};
use crate::{Failure, FailureReport, OpenVault, now};

/// The fork that somebody asks for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Address of the chat to fork
    pub chat: String,
    /// The last message of the fork; the last one of the chat if left out
    pub at: Option<usize>,
    /// Name of the new chat; one like SillyTavern's own is made if left out
    pub name: Option<String>,
    /// The swipe of the last message that the fork shows, counted from 0
    pub swipe: Option<usize>,
    /// Wait until the memory extension's queue is empty, then fork
    #[serde(default)]
    pub when_ready: bool,
    /// Fork although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
    /// Refuse unless a recapped scene ends here and the state of the lorebook is known; as the settings say if left out
    pub strict: Option<bool>,
    /// Put a link to the fork into the parent's message
    #[serde(default = "yes")]
    pub link: bool,
    /// Give the fork a copy of its own even of a lorebook that is shared by choice
    #[serde(default)]
    pub copy_book: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

fn yes() -> bool {
    true
}

/// A fork that could be made, in the words of a query.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Possible {
    /// Checkpoint or branch
    pub kind: ForkKind,
    /// Address of the chat to fork
    pub chat: String,
    /// The last message of the fork
    pub at: Option<usize>,
    /// Name of the new chat
    pub name: Option<String>,
    /// The swipe that it shows
    pub swipe: Option<usize>,
    /// Fork although work waits in the queue
    #[serde(default)]
    pub ignore_queue: bool,
    /// Refuse what would be a warning; as the settings say if left out
    pub strict: Option<bool>,
    /// A copy even of a lorebook that is shared by choice
    #[serde(default)]
    pub copy_book: bool,
}

/// Whether a fork could be made now, and what it would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PlanReport {
    /// Whether it would be made
    pub ready: bool,
    /// Why not
    pub refusal: Option<FailureReport>,
    /// What would be made
    pub report: Option<ForkReport>,
    /// What waits in the queue
    pub queue: QueueReport,
}

/// What came of asking for a fork.
pub enum Asked {
    /// It was made, or planned
    Made(Box<ForkReport>),
    /// Work waits that was to be waited for
    Waits {
        /// How much
        count: usize,
        /// What, each once
        types: Vec<String>,
    },
}

/// Makes a fork, once: waiting is the caller's affair.
pub fn fork(open: &OpenVault<'_>, kind: ForkKind, wanted: &Wanted) -> Result<Asked, Failure> {
    let config = Config::load(&*open.fs)?;
    let library = open.library_to_change(wanted.dry_run)?;
    match once(&library, kind, wanted, &config) {
        Ok(report) => Ok(Asked::Made(Box::new(report))),
        Err(ForkError::QueueNotEmpty { count, kinds }) if wanted.when_ready && !wanted.dry_run => {
            Ok(Asked::Waits { count, types: kinds })
        }
        Err(e) => Err(e.into()),
    }
}

fn once(
    library: &Library,
    kind: ForkKind,
    wanted: &Wanted,
    config: &Config,
) -> Result<ForkReport, ForkError> {
    let chat = library.find_chat(&wanted.chat)?;
    let request = Request {
        kind,
        chat,
        at: wanted.at.unwrap_or(library.chats[chat].head()),
        name: wanted.name.clone(),
        swipe: wanted.swipe,
        strict: wanted.strict,
        ignore_queue: wanted.ignore_queue,
        link: wanted.link,
        copy_book: wanted.copy_book,
    };
    let time = now();
    let plan = fork::plan(library, &request, config, &forklore_engine::fresh_slug(), time)?;
    if wanted.dry_run { Ok(plan.report) } else { fork::execute(library, plan, time) }
}

/// What would come of a fork.
pub fn plan(open: &OpenVault<'_>, possible: &Possible) -> Result<PlanReport, Failure> {
    let config = Config::load(&*open.fs)?;
    let shared = open.shared()?;
    let library = &shared.library;
    let queue = queue_of(library, library.find_chat(&possible.chat)?)?;
    let wanted = Wanted {
        chat: possible.chat.clone(),
        at: possible.at,
        name: possible.name.clone(),
        swipe: possible.swipe,
        when_ready: false,
        ignore_queue: possible.ignore_queue,
        strict: possible.strict,
        link: true,
        copy_book: possible.copy_book,
        dry_run: true,
    };
    Ok(match once(library, possible.kind, &wanted, &config) {
        Ok(report) => PlanReport { ready: true, refusal: None, report: Some(report), queue },
        Err(e) => PlanReport { ready: false, refusal: Some(Failure::from(e).told()), report: None, queue },
    })
}
