//! Forks that somebody asks for: [`make`] makes one, or lets it wait while work is still in the queue; [`list`] and [`cancel`] are for
//! those that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forklore_api::fork::{self, Asked};
use forklore_api::look::{self, OneChat};
use forklore_api::{ErrorCode, Failure};
use forklore_engine::fork::{ForkReport, ForkRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::refused;
use crate::events::{Event, VaultChange, WaitTold};
use crate::lock::lock;
use crate::under_way::{Wait, Waiting};
use crate::vault::{Call, Vault, passes};

/// How often the queue is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How many can wait in one vault.
const MOST: usize = 16;

/// A fork that was made, or one that waits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ForkAnswer {
    /// It was made, or would be
    Made(Box<ForkReport>),
    /// It waits for the queue
    Waits {
        /// The fork that waits
        wait: Wait,
    },
}

/// All that wait.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct QueuedForks {
    /// They, oldest first
    pub(crate) waits: Vec<Wait>,
}

/// Which one is not wanted any more.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancelling {
    /// What it is called
    pub(crate) id: String,
}

/// Whether it was in time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    /// Whether it will not be made
    pub(crate) cancelled: bool,
}

/// Makes a fork, or lets it wait.
pub(crate) fn make(call: &Call, request: &ForkRequest) -> Result<ForkAnswer, Failure> {
    match call.change(|open| fork::fork(open, request))? {
        Asked::Made(report) => {
            made(&call.vault, &report);
            Ok(ForkAnswer::Made(report))
        }
        Asked::Waits { count, types } => {
            let wait = begin(&call.vault, request, count, types)?;
            Ok(ForkAnswer::Waits { wait })
        }
    }
}

fn made(vault: &Vault, report: &ForkReport) {
    if report.operation.is_some() {
        let change = VaultChange::operation("made", Some(&report.chat), report.operation.as_deref());
        vault.tell(Event::Change(VaultChange { book: report.book.name.clone(), ..change }));
    }
}

fn begin(
    vault: &Arc<Vault>,
    request: &ForkRequest,
    count: usize,
    types: Vec<String>,
) -> Result<Wait, Failure> {
    let id = format!("w{}", vault.number());
    let wait = Wait { id, kind: request.kind(), chat: request.chat.clone(), at: request.at, count, types };
    let waiting = Arc::new(Waiting { wait: wait.clone(), cancelled: AtomicBool::new(false) });
    {
        let mut waits = lock(&vault.under_way.waits);
        if waits.len() >= MOST {
            let message = format!("{MOST} forks are waiting already");
            return Err(refused(
                ErrorCode::TooMany,
                message,
                "Cancel one of them, or wait until one is made.",
            ));
        }
        waits.push(waiting.clone());
    }
    let (vault, request) = (vault.clone(), request.clone());
    std::thread::spawn(move || {
        let told = watch(&vault, &waiting, &request);
        lock(&vault.under_way.waits).retain(|other| !Arc::ptr_eq(other, &waiting));
        vault.tell(Event::Wait(told));
    });
    Ok(wait)
}

/// Looks at the queue until it is empty, and forks then.
fn watch(vault: &Arc<Vault>, waiting: &Waiting, request: &ForkRequest) -> WaitTold {
    let call = Call { vault: vault.clone(), request: None };
    let Wait { id, chat, .. } = waiting.wait.clone();
    let mut told = WaitTold {
        id,
        chat: chat.clone(),
        state: "waiting",
        count: waiting.wait.count,
        types: waiting.wait.types.clone(),
        report: None,
        error: None,
    };
    vault.tell(Event::Wait(told.clone()));
    loop {
        std::thread::sleep(LOOK);
        if waiting.cancelled.load(Ordering::Relaxed) {
            return WaitTold { state: "cancelled", ..told };
        }
        let looked = call.ask(|open| look::queue(open, &OneChat { chat: chat.clone() }));
        let asked = match looked {
            Ok(queue) if !queue.idle => Ok(Asked::Waits { count: queue.count, types: queue.types }),
            Ok(_) => call.change(|open| fork::fork(open, request)),
            Err(failure) => Err(failure),
        };
        match asked {
            Ok(Asked::Waits { count, types }) => {
                if (told.count, &told.types) != (count, &types) {
                    told = WaitTold { count, types, ..told };
                    vault.tell(Event::Wait(told.clone()));
                }
            }
            Ok(Asked::Made(report)) => {
                made(vault, &report);
                return WaitTold {
                    state: "made",
                    count: 0,
                    types: Vec::new(),
                    report: Some(*report),
                    ..told
                };
            }
            Err(failure) if passes(&failure) => {}
            Err(failure) => return WaitTold { state: "failed", error: Some(failure.told()), ..told },
        }
    }
}

/// All that wait.
pub(crate) fn list(call: &Call) -> QueuedForks {
    QueuedForks {
        waits: lock(&call.vault.under_way.waits).iter().map(|waiting| waiting.wait.clone()).collect(),
    }
}

/// One is not wanted any more.
pub(crate) fn cancel(call: &Call, id: &str) -> Result<Cancelled, Failure> {
    let waits = lock(&call.vault.under_way.waits);
    let Some(waiting) = waits.iter().find(|waiting| waiting.wait.id == id) else {
        let message = format!("No fork {id:?} is waiting");
        return Err(refused(
            ErrorCode::WaitNotFound,
            message,
            "It may have been made, or have failed, just now.",
        ));
    };
    Ok(Cancelled { cancelled: !waiting.cancelled.swap(true, Ordering::Relaxed) })
}
