//! [`UnderWay`]: what a vault remembers of forks that are not made yet.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use forklore_core::fork::ForkKind;
use forklore_engine::fork::ForkRequest;
use schemars::JsonSchema;
use serde::Serialize;

use crate::events::ForkTold;

/// What a vault remembers of forks that are not made yet.
#[derive(Default)]
pub(crate) struct UnderWay {
    /// Saves of SillyTavern's, by what they are settled with
    pub(crate) tickets: Mutex<HashMap<String, Ticket>>,
    /// How forks are to be made that SillyTavern will save, by the address of the chat that will be forked
    pub(crate) wishes: Mutex<HashMap<String, Wish>>,
    /// Forks that wait for a queue, oldest first
    pub(crate) waits: Mutex<Vec<Arc<Waiting>>>,
}

/// A save that is under way.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    /// The fork that it makes
    pub(crate) fork: Option<ForkTold>,
    /// The operation that moved what is overwritten to the trash
    pub(crate) overwritten: Option<String>,
}

/// How the next fork of a chat is to be made.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) request: ForkRequest,
    /// Nobody remembers having asked for it later
    pub(crate) until: Instant,
}

/// A fork that waits.
pub(crate) struct Waiting {
    pub(crate) wait: Wait,
    pub(crate) cancelled: AtomicBool,
}

/// A fork that waits, as it is told.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Wait {
    /// What it is called here
    pub(crate) id: String,
    /// Checkpoint or branch
    pub(crate) kind: ForkKind,
    /// Address of the chat to fork
    pub(crate) chat: String,
    /// The last message of the fork; the last one of the chat if null
    pub(crate) at: Option<usize>,
    /// How many operations waited when it began
    pub(crate) count: usize,
    /// What they were, each once
    pub(crate) types: Vec<String>,
}
