//! [`Event`]: what pages are told while it happens. [`Telling`] tells them how far long work is.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::response::sse;
use forklore_api::FailureReport;
use forklore_engine::fork::ForkReport;
use forklore_vault::Progress;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::broadcast;

use crate::lock::lock;

/// Work that is over by then is not worth telling of.
const SHORT: Duration = Duration::from_millis(300);
/// How often at most it is told how far work is.
const OFTEN: Duration = Duration::from_millis(100);

/// Something that happens.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Change(VaultChange),
    Fork(ForkTold),
    Wait(WaitTold),
    Progress(Far),
    /// Files of the vault may have changed on disk, whoever did it
    Files,
    Recording(Recorded),
}

/// Whether history is being recorded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Recorded {
    /// Why it is not; nothing if it is
    pub(crate) message: Option<String>,
}

/// Something in the vault is not what it was.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct VaultChange {
    /// `chat`, `book`, `group`, `character`, `settings`, or `vault`: look at everything again
    pub(crate) what: &'static str,
    /// `saved`, `renamed`, `deleted` or `made`
    pub(crate) act: &'static str,
    /// Address of the chat, or what the group or character is called
    pub(crate) chat: Option<String>,
    /// The lorebook
    pub(crate) book: Option<String>,
    /// Its former name
    pub(crate) from: Option<String>,
    /// The operation that did it
    pub(crate) operation: Option<String>,
    /// `sillytavern` or `forklore`
    pub(crate) by: &'static str,
}

impl VaultChange {
    /// Look at everything again.
    pub(crate) fn vault() -> Self {
        Self { what: "vault", act: "saved", by: "forklore", ..Self::default() }
    }

    /// Something that an operation of Forklore's did.
    pub(crate) fn operation(act: &'static str, chat: Option<&str>, operation: Option<&str>) -> Self {
        Self {
            what: if chat.is_some() { "chat" } else { "vault" },
            act,
            chat: chat.map(str::to_owned),
            operation: operation.map(str::to_owned),
            by: "forklore",
            ..Self::default()
        }
    }
}

/// What became of a fork that SillyTavern saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ForkState {
    /// It is there
    Made,
    /// It is there, and waits for what it cannot have yet
    Pending,
    /// It was not saved, and everything is as it was
    TakenBack,
    /// Nobody knows of it any more
    Gone,
}

/// What became of a fork that SillyTavern saved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ForkTold {
    /// Its address
    pub(crate) chat: String,
    /// What became of it
    pub(crate) state: ForkState,
    /// Its operation
    pub(crate) operation: Option<String>,
    /// What was made
    pub(crate) report: Option<ForkReport>,
    /// Why it has to wait
    pub(crate) refusal: Option<FailureReport>,
}

/// How it goes with a fork that waits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct WaitTold {
    /// What it is called here
    pub(crate) id: String,
    /// Address of the chat to fork
    pub(crate) chat: String,
    /// `waiting`, `made`, `failed` or `cancelled`
    pub(crate) state: &'static str,
    /// How many operations wait
    pub(crate) count: usize,
    /// What they are, each once
    pub(crate) types: Vec<String>,
    /// What was made
    pub(crate) report: Option<ForkReport>,
    /// Why it failed
    pub(crate) error: Option<FailureReport>,
}

/// How far long work is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Far {
    /// What the request calls itself
    pub(crate) request: Option<String>,
    /// What is being done
    pub(crate) what: String,
    /// How much is done
    pub(crate) done: u64,
    /// How much there is
    pub(crate) total: u64,
}

impl Event {
    fn name(&self) -> &'static str {
        match self {
            Self::Change(_) => "change",
            Self::Fork(_) => "fork",
            Self::Wait(_) => "wait",
            Self::Progress(_) => "progress",
            Self::Files => "files",
            Self::Recording(_) => "recording",
        }
    }

    pub(crate) fn write(&self) -> sse::Event {
        match self {
            Self::Change(change) => event(self.name(), change),
            Self::Fork(fork) => event(self.name(), fork),
            Self::Wait(wait) => event(self.name(), wait),
            Self::Progress(far) => event(self.name(), far),
            Self::Files => event(self.name(), &serde_json::json!({})),
            Self::Recording(recorded) => event(self.name(), recorded),
        }
    }
}

/// An event of this name.
pub(crate) fn event<T: Serialize>(name: &str, data: &T) -> sse::Event {
    // One line: a stream of events knows no longer data.
    sse::Event::default().event(name).data(serde_json::to_string(data).unwrap_or_default())
}

/// Tells how far long work is. Short work is not told of.
pub(crate) struct Telling {
    events: broadcast::Sender<Event>,
    request: Option<String>,
    work: Mutex<Option<Work>>,
    done: AtomicU64,
}

struct Work {
    what: String,
    total: u64,
    begun: Instant,
    told: Option<Instant>,
}

impl Telling {
    pub(crate) fn new(events: broadcast::Sender<Event>, request: Option<String>) -> Self {
        Self { events, request, work: Mutex::default(), done: AtomicU64::new(0) }
    }

    fn tell(&self, work: &Work, done: u64) {
        let (request, what) = (self.request.clone(), work.what.clone());
        // Nobody may be listening.
        let _nobody = self.events.send(Event::Progress(Far { request, what, done, total: work.total }));
    }
}

impl Progress for Telling {
    fn start(&self, what: &str, steps: u64) {
        self.done.store(0, Ordering::Relaxed);
        let begun = Instant::now();
        *lock(&self.work) = Some(Work { what: what.to_owned(), total: steps, begun, told: None });
    }

    fn advance(&self, steps: u64) {
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        let mut work = lock(&self.work);
        let Some(work) = work.as_mut() else { return };
        let now = Instant::now();
        let due = work.told.map_or(work.begun + SHORT, |told| told + OFTEN);
        if now >= due {
            work.told = Some(now);
            self.tell(work, done.min(work.total));
        }
    }

    fn finish(&self) {
        if let Some(work) = lock(&self.work).take().filter(|work| work.told.is_some()) {
            self.tell(&work, work.total);
        }
    }
}
