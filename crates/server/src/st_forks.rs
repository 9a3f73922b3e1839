//! What SillyTavern's plugin asks: [`prepare`] before a chat is saved that may be a fork, [`resolve`] when the save is over.
//! [`next_fork`] is how somebody wants the next one to be.

use std::time::{Duration, Instant};

use forklore_api::{Failure, FailureReport, OpenVault, now};
use forklore_config::Config;
use forklore_engine::fork::{ForkReport, ForkRequest};
use forklore_engine::st_forks::{self, Fork, Sent};
use forklore_engine::{st_deleted, undo};
use forklore_journal::Recovered;
use forklore_journal::oplog::{OpLog, time};
use forklore_json::Raw;
use forklore_vault::{Address, Library, settle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer::usage;
use crate::events::{Event, ForkState, ForkTold, VaultChange};
use crate::lock::lock;
use crate::under_way::{Ticket, Wish};
use crate::vault::{Call, passes};

/// How long a fork waits for SillyTavern to write its chat. A save of hundreds of megabytes takes a minute.
const UNTIL: i64 = 10 * 60 * 1000;
/// How long a wish holds.
const WISH: Duration = Duration::from_secs(60);
/// How long a fork is tried again if somebody saves its parent or its book meanwhile.
const SOON: Duration = Duration::from_secs(2);
/// How many saves can be under way: more are forgotten, and settled by recovery.
const TICKETS: usize = 1000;

/// A chat that SillyTavern is about to save.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Save {
    /// A group's chat
    #[serde(default)]
    group: bool,
    /// Folder of the character's chats
    folder: Option<String>,
    /// Name of the file, as sent
    chat: String,
    /// SillyTavern overwrites what is there
    #[serde(default)]
    force: bool,
    /// The first line, as sent
    #[schemars(with = "serde_json::Value")]
    header: Box<RawValue>,
    /// How many messages follow
    messages: usize,
    /// The last of them
    #[schemars(with = "Option<serde_json::Value>")]
    last: Option<Box<RawValue>>,
}

/// What is to be done about a save.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SaveAct {
    /// Save it as it is
    #[default]
    Pass,
    /// It is a fork: save it with this header
    Fork,
    /// It is a fork that has to wait: save it with this header
    Pending,
}

/// What is to become of a save.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Prepared {
    /// What to do
    act: SaveAct,
    /// Address of the fork
    chat: Option<String>,
    /// The header to save
    #[schemars(with = "Option<serde_json::Value>")]
    header: Option<Box<RawValue>>,
    /// To settle it with
    ticket: Option<String>,
    /// What is made
    report: Option<ForkReport>,
    /// Why it has to wait
    refusal: Option<FailureReport>,
    /// The operation that moved what is overwritten to the trash
    overwritten: Option<String>,
}

/// A save that is over.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Over {
    /// What `prepare` gave
    ticket: String,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Resolved {
    /// What became of it
    state: ForkState,
}

/// Until when a wish holds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Wished {
    /// As RFC 3339
    until: String,
}

/// Says how the next fork of a chat that SillyTavern saves is to be made.
pub(crate) fn next_fork(call: &Call, request: ForkRequest) -> Result<Wished, Failure> {
    let ForkRequest { name, swipe, when_ready, link, dry_run, .. } = &request;
    if name.is_some() || swipe.is_some() || *when_ready || !link || *dry_run {
        return Err(usage(
            "The body is not understood: name, swipe and link are what SillyTavern makes them",
        ));
    }
    let address = call.ask(|open| {
        let shared = open.shared()?;
        let chat = shared.library.find_chat(&request.chat)?;
        Ok(shared.library.address(chat).to_string())
    })?;
    let begun = Instant::now();
    let mut all = lock(&call.vault.under_way.wishes);
    all.retain(|_, wish| wish.until > begun);
    all.insert(address, Wish { request, until: begun + WISH });
    Ok(Wished { until: time(now() + i64::try_from(WISH.as_millis()).unwrap_or_default()) })
}

/// The wish for a fork, used up.
fn wish(call: &Call, address: &str, at: usize) -> Option<ForkRequest> {
    let mut all = lock(&call.vault.under_way.wishes);
    let wish = all.get(address)?;
    let holds = wish.until > Instant::now() && wish.request.at.is_none_or(|wanted| wanted == at);
    if holds { all.remove(address).map(|wish| wish.request) } else { None }
}

/// Before SillyTavern saves: whether it is a fork, and what it needs to be whole.
pub(crate) fn prepare(call: &Call, save: &Save) -> Result<Prepared, Failure> {
    let bytes = |raw: &'_ RawValue| raw.get().as_bytes().to_vec();
    let (header, last) = (bytes(&save.header), save.last.as_deref().map(bytes).unwrap_or_default());
    let broken = |_| usage("The header is no JSON");
    let folder = save.folder.as_deref().filter(|_| !save.group);
    if folder.is_none() && !save.group {
        return Err(usage("A character's chat needs its folder"));
    }
    let sent = Sent {
        folder,
        chat: &save.chat,
        force: save.force,
        header: Raw::parse(&header).map_err(broken)?,
        messages: save.messages,
        last: if last.is_empty() { Raw::NULL } else { Raw::parse(&last).map_err(broken)? },
    };
    let start = Instant::now();
    let mut before = Before::default();
    let mut prepared = call.change(|open| {
        // What was saved meanwhile is looked at anew. Somebody waits for this save: soon the fork is saved without a book rather than late.
        let patient = start.elapsed() < SOON;
        try_prepare(call, open, &sent, &mut before, patient)
    })?;
    if prepared.act != SaveAct::Pass || prepared.overwritten.is_some() {
        let ticket = format!("t{}-{}", call.vault.number(), uuid::Uuid::new_v4().simple());
        let mut tickets = lock(&call.vault.under_way.tickets);
        if tickets.len() >= TICKETS {
            tickets.clear();
        }
        let fork = (prepared.act != SaveAct::Pass).then(|| ForkTold {
            chat: prepared.chat.clone().unwrap_or_default(),
            state: if prepared.act == SaveAct::Fork { ForkState::Made } else { ForkState::Pending },
            operation: prepared.report.as_ref().and_then(|report| report.operation.clone()),
            report: prepared.report.clone(),
            refusal: prepared.refusal.clone(),
        });
        tickets.insert(ticket.clone(), Ticket { fork, overwritten: prepared.overwritten.clone() });
        prepared.ticket = Some(ticket);
    }
    Ok(prepared)
}

/// What was done and found when it was tried before.
#[derive(Default)]
struct Before {
    /// The operation that moved what is overwritten to the trash
    overwritten: Option<String>,
    /// How somebody wants the fork to be
    wish: Option<ForkRequest>,
}

fn try_prepare(
    call: &Call,
    open: &OpenVault<'_>,
    sent: &Sent<'_>,
    before: &mut Before,
    patient: bool,
) -> Result<Prepared, Failure> {
    let right = settle::take_right(&*open.fs, now())?;
    (open.told)(&right.recovered);
    let load = || Library::load_with(open.fs.clone(), right.clone(), open.progress);
    let mut library = load()?;
    let pass = Prepared::default();
    let Some(verdict) = st_forks::judge(&library, sent) else {
        return Ok(Prepared { overwritten: before.overwritten.clone(), ..pass });
    };
    if let Some(old) = verdict.overwrites {
        before.overwritten = Some(st_deleted::overwrite(&library, old, verdict.fork.is_some(), now())?);
        // The name is free now, and so may be its book's.
        library = load()?;
    }
    let Some(fork) = verdict.fork else {
        return Ok(Prepared { overwritten: before.overwritten.clone(), ..pass });
    };
    let parent = library.chat_at(&fork.parent).map(|(c, _)| c);
    let parent = parent.map(|c| library.address(c));
    let chat = parent.clone().map(|parent| Address { chat: fork.name.clone(), ..parent }.to_string());
    let pass = Prepared { chat, overwritten: before.overwritten.clone(), ..pass };
    let parent = parent.map(|parent| parent.to_string()).unwrap_or_default();
    before.wish = before.wish.take().or_else(|| wish(call, &parent, sent.messages.saturating_sub(1)));
    match whole(open, &library, sent, &fork, before.wish.as_ref()) {
        Ok((report, header)) => {
            let header = Some(raw(header)?);
            Ok(Prepared { act: SaveAct::Fork, header, report: Some(report), ..pass })
        }
        Err(failure) if patient && passes(&failure) => Err(failure),
        Err(failure) => {
            let code = failure.code.as_str();
            let header = st_forks::pending(&library, sent, &fork, code, &failure.message, now());
            let header = header.map(raw).transpose()?;
            Ok(Prepared { act: SaveAct::Pending, header, refusal: Some(failure.told()), ..pass })
        }
    }
}

fn whole(
    open: &OpenVault<'_>,
    library: &Library,
    sent: &Sent<'_>,
    fork: &Fork,
    wish: Option<&ForkRequest>,
) -> Result<(ForkReport, Vec<u8>), Failure> {
    let config = Config::load(&*open.fs)?;
    let time = now();
    Ok(st_forks::prepare(library, sent, fork, wish, &config, time, time + UNTIL)?)
}

fn raw(bytes: Vec<u8>) -> Result<Box<RawValue>, Failure> {
    let text = String::from_utf8(bytes).map_err(|_| usage("The header is no text"))?;
    RawValue::from_string(text).map_err(|e| usage(format!("The header is no JSON: {e}")))
}

/// The save is over, however it went: what is on disk decides.
pub(crate) fn resolve(call: &Call, over: &Over) -> Result<Resolved, Failure> {
    let Some(ticket) = lock(&call.vault.under_way.tickets).remove(&over.ticket) else {
        return Ok(Resolved { state: ForkState::Gone });
    };
    let settled = call.change(|open| settle(open, &ticket));
    if settled.is_err() {
        // It is still to be settled; whoever asks again finds it.
        lock(&call.vault.under_way.tickets).insert(over.ticket.clone(), ticket.clone());
    }
    let state = settled?;
    if let Some(fork) = ticket.fork {
        if state != ForkState::TakenBack {
            let change = VaultChange::operation("made", Some(&fork.chat), fork.operation.as_deref());
            let book = fork.report.as_ref().and_then(|report| report.book.name.clone());
            call.vault.tell(Event::Change(VaultChange { book, by: "sillytavern", ..change }));
        }
        let report = fork.report.filter(|_| state == ForkState::Made);
        call.vault.tell(Event::Fork(ForkTold { state, report, ..fork }));
    }
    Ok(Resolved { state })
}

fn settle(open: &OpenVault<'_>, ticket: &Ticket) -> Result<ForkState, Failure> {
    let mut state = ticket.fork.as_ref().map_or(ForkState::Gone, |fork| fork.state);
    if let Some(id) = ticket.fork.as_ref().and_then(|fork| fork.operation.as_deref()) {
        state = match settle::resolve(&*open.fs, id, now())? {
            Some(Recovered::Finished { .. } | Recovered::Pending { .. }) => ForkState::Made,
            // Somebody else has settled it meanwhile.
            None if OpLog::read(&*open.fs)?.find(id).is_ok() => ForkState::Made,
            Some(Recovered::TakenBack { .. }) | None => ForkState::TakenBack,
        };
    }
    if let Some(id) = &ticket.overwritten {
        let log = OpLog::read(&*open.fs)?;
        let first = log.find(id).ok().and_then(|operation| operation.retires().next());
        let missing = first.map(|retire| open.fs.identity(&retire.target)).transpose()?;
        // Nothing was put in its place: it comes back.
        if missing == Some(None) {
            let library = open.library_to_change(false)?;
            let plan = undo::plan(&library, &log, Some(id), false)?;
            undo::execute(&library, plan, now())?;
        }
    }
    Ok(state)
}
