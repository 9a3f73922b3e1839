//! On entering a chat: [`enter`] tells everything that there is to say and to decide; [`pending()`] what is still to be done in the
//! vault, and [`finish`] does it.

use std::cell::RefCell;

use forklore_config::Config;
use forklore_core::check::{Code, Finding, Severity};
use forklore_engine::check::{self, Entering};
use forklore_engine::heal::{self, Choice, HealReport, Question};
use forklore_engine::pending::{self, PendingFork, PendingReport};
use forklore_engine::tree::{self, Place, TreeBook};
use forklore_journal::oplog::OpLog;
use forklore_vault::{ChatIx, Library, NoProgress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::look::{AnyChat, OneChat, QueueReport, queue_of};
use crate::{Failure, OpenVault, now};

/// What there is to say and to decide on entering a chat.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EnterReport {
    /// Its address
    pub chat: String,
    /// How many messages its file has
    pub messages: usize,
    /// Whether there is no error
    pub ok: bool,
    /// Whether generating should wait for a decision
    pub hold: bool,
    /// What was found
    pub findings: Vec<Finding>,
    /// Where it stands in its story
    pub place: Place,
    /// What to tell of a fork that Forklore made
    pub entering: Option<Entering>,
    /// If it is a fork that waits for its book
    pub pending: Option<PendingFork>,
    /// The lorebook
    pub book: TreeBook,
    /// What is to be decided
    pub questions: Vec<Question>,
    /// What waits in the queue
    pub queue: QueueReport,
}

/// Which pending forks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finishing {
    /// Address of the chat; all if left out
    pub chat: Option<String>,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What was finished.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FinishReport {
    /// Addresses of the forks that have their books now
    pub finished: Vec<String>,
    /// Forks that still have to wait
    pub left: Vec<PendingFork>,
    /// What was done, one a fork
    pub reports: Vec<HealReport>,
}

/// Findings that say that a chat must not go on as it is.
const HOLD: [Code; 3] = [Code::BookMissing, Code::BookForeign, Code::BookShared];

/// Everything about entering a chat.
pub fn enter(open: &OpenVault<'_>, of: &OneChat) -> Result<EnterReport, Failure> {
    let config = Config::load(&*open.fs)?;
    let shared = open.shared()?;
    let library = &shared.library;
    let c = library.find_chat(&of.chat)?;
    let checked = check::check(library, Some(c), now());
    let pending = pending::pending_fork(library, c);
    let wrong = |f: &Finding| f.severity == Severity::Error && HOLD.contains(&f.code);
    let questions = RefCell::new(Vec::new());
    let note = |question: &Question| {
        // Nothing is wrong with a lorebook that is shared by choice: nobody is stopped at the door for it.
        if !question.is_optional() {
            questions.borrow_mut().push(question.clone());
        }
        None
    };
    // Only for its questions. What cannot be planned has findings enough.
    let _plan = heal::plan(library, Some(c), &config, &note, now(), &NoProgress);
    Ok(EnterReport {
        chat: library.address(c).to_string(),
        messages: library.chat(c).transcript().len(),
        ok: checked.ok,
        hold: pending.is_some() || checked.findings.iter().any(wrong),
        findings: checked.findings,
        place: tree::place_of(library, c),
        entering: checked.entering,
        pending,
        book: tree::book_of(library, c)?,
        questions: questions.into_inner(),
        queue: queue_of(library, c)?,
    })
}

/// What is still to be done in the vault.
pub fn pending(open: &OpenVault<'_>, of: &AnyChat) -> Result<PendingReport, Failure> {
    let shared = open.shared()?;
    let library = &shared.library;
    let only = of.chat.as_deref().map(|name| library.find_chat(name)).transpose()?;
    Ok(pending::pending(library, &OpLog::read(&*open.fs)?, only)?)
}

/// Gives forks their books that could not have them when they were saved. What still has to wait is left.
pub fn finish(open: &OpenVault<'_>, finishing: &Finishing) -> Result<FinishReport, Failure> {
    let mut report = FinishReport { finished: Vec::new(), left: Vec::new(), reports: Vec::new() };
    let waiting = {
        let library = open.library()?;
        let only = finishing.chat.as_deref().map(|name| library.find_chat(name)).transpose()?;
        let chats: Vec<ChatIx> = only.map_or_else(|| library.chat_ixs().collect(), |c| vec![c]);
        let mut waiting = Vec::new();
        for c in chats {
            let Some(fork) = pending::pending_fork(&library, c) else { continue };
            if is_ready(&library, c)? { waiting.push(fork) } else { report.left.push(fork) }
        }
        waiting
    };
    // A deeper fork takes from its parent: one after the other, each from the vault as the one before left it.
    for fork in waiting {
        let healed =
            crate::heal::heal_with(open, Some(&fork.chat), &rebuild, finishing.dry_run, open.progress)?;
        let done = healed.actions.iter().any(|action| action.code == Code::PendingFork);
        if done {
            report.finished.push(fork.chat);
        } else {
            report.left.push(fork);
        }
        report.reports.push(healed);
    }
    Ok(report)
}

fn rebuild(question: &Question) -> Option<Choice> {
    (question.code == Code::PendingFork).then_some(Choice::Rebuild)
}

/// Whether nothing is under way in the chat that it was forked from.
fn is_ready(library: &Library, c: ChatIx) -> Result<bool, Failure> {
    let Some(parent) = library.chat(c).lineage().parent else { return Ok(true) };
    Ok(!library.operations(parent)?.iter().any(|op| op.status.is_open()))
}
