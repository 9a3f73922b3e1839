//! `checkpoint` and `branch`: [`fork()`] makes what a [`ForkRequest`] asks for, [`plan`] only says what would come of it.

use forklore_config::Config;
use forklore_engine::fork::{self, ForkError, ForkReport, ForkRequest};
use forklore_vault::Library;
use schemars::JsonSchema;
use serde::Serialize;

use crate::look::{QueueReport, queue_of};
use crate::{Failure, FailureReport, OpenVault, now};

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
pub fn fork(open: &OpenVault<'_>, request: &ForkRequest) -> Result<Asked, Failure> {
    let config = Config::load(&*open.fs)?;
    let library = open.library_to_change(request.dry_run)?;
    match once(&library, request, &config) {
        Ok(report) => Ok(Asked::Made(Box::new(report))),
        Err(ForkError::QueueNotEmpty { count, kinds }) if request.when_ready && !request.dry_run => {
            Ok(Asked::Waits { count, types: kinds })
        }
        Err(e) => Err(e.into()),
    }
}

fn once(library: &Library, request: &ForkRequest, config: &Config) -> Result<ForkReport, ForkError> {
    let time = now();
    let plan = fork::plan(library, request, config, &forklore_engine::fresh_slug(), time)?;
    if request.dry_run { Ok(plan.report) } else { fork::execute(library, plan, time) }
}

/// What would come of a fork.
pub fn plan(open: &OpenVault<'_>, request: &ForkRequest) -> Result<PlanReport, Failure> {
    let config = Config::load(&*open.fs)?;
    let shared = open.shared()?;
    let library = &shared.library;
    let queue = queue_of(library, library.find_chat(&request.chat)?)?;
    let request = ForkRequest { dry_run: true, ..request.clone() };
    Ok(match once(library, &request, &config) {
        Ok(report) => PlanReport { ready: true, refusal: None, report: Some(report), queue },
        Err(e) => PlanReport { ready: false, refusal: Some(Failure::from(e).told()), report: None, queue },
    })
}
