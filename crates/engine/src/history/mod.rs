//! `history`: what happened to a chat and its books, observation by observation ([`HistoryReport`]).
//!
//! What history saw of the chat's file is compared save by save; what it saw of the books is told as the changes that the state at a
//! message is made of, so that both commands tell the same story.

mod along;
mod fold;
mod header;
mod report;
mod tell;

use std::collections::HashMap;

use forklore_core::state::Place;
use forklore_fs::PathError;
use forklore_journal::oplog::{OpLog, time};
use forklore_vault::address::AddressError;
use forklore_vault::history::{Past, PastError, Seen};
use forklore_vault::{ChatIx, Library, history_error};

pub(crate) use self::header::differing;
pub use self::report::{Did, Elsewhere, EntryEvent, Event, HistoryAlong, HistoryReport, Line, Span, Witness};
use self::tell::{Stop, StopKind, Teller};

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// Only what happened to books
    pub books: bool,
    /// How many lines, the newest
    pub limit: Option<usize>,
    /// Nothing before this time, in milliseconds since 1970
    pub since: Option<i64>,
    /// Every observation on its own, also those in which nothing of the story changed
    pub all: bool,
}

/// A chat that is there, or was.
pub struct Found {
    /// The vault; with the chat as it was last, if it is gone
    pub library: Library,
    /// Its number there
    pub chat: ChatIx,
    /// When and how it went, if it is gone
    pub gone: Option<Gone>,
}

/// A chat that is gone.
#[derive(Debug, Clone)]
pub struct Gone {
    /// Where in history it is
    pub past: Past,
    /// The observation that found it gone, if one did
    pub seen: Option<Seen>,
}

/// The chat that a user means: one that is there, else one that history remembers.
pub fn find(library: Library, wanted: &str) -> Result<Found, PastError> {
    let missing = match library.find_chat(wanted) {
        Ok(chat) => return Ok(Found { library, chat, gone: None }),
        Err(e @ AddressError::NoSuchChat { .. }) => e,
        Err(e) => return Err(e.into()),
    };
    let Some(file) = library.find_gone(wanted)? else { return Err(missing.into()) };
    let past = library.find_past(&file, None)?;
    let then = library.past(&past)?;
    let chat = then.chat_at(&file).map(|(c, _)| c);
    let seen = library.history()?.and_then(|history| history.went_after(&file, past.seq)).cloned();
    let chat = chat.ok_or(missing)?;
    Ok(Found { library: then, chat, gone: Some(Gone { past, seen }) })
}

/// What happened to a chat and its books, with what happened to those that were brought along.
pub fn history(found: &Found, wanted: Wanted) -> Result<HistoryReport, PathError> {
    let mut report = of_line(&found.library, found.chat, found.gone.as_ref(), wanted)?;
    along::fold_in(&found.library, found.chat, wanted, &mut report)?;
    Ok(report)
}

/// What happened to a chat and its books.
fn of_line(
    library: &Library,
    c: ChatIx,
    gone: Option<&Gone>,
    wanted: Wanted,
) -> Result<HistoryReport, PathError> {
    let chat = library.chat(c);
    let mut report = HistoryReport {
        chat: library.address(c).to_string(),
        messages: chat.transcript().len(),
        deleted: gone.and_then(|gone| gone.seen.as_ref()).map(|seen| time(seen.observation.clock)),
        observations: 0,
        since: None,
        unseen: false,
        earlier: 0,
        along: Vec::new(),
        lines: Vec::new(),
    };
    let Some(timeline) = library.history()? else {
        report.unseen = true;
        return Ok(report);
    };
    let lore = library.lore(c)?;
    let looks = timeline.looks_of_line(library, c);
    let log = OpLog::read(&**library.fs())?;
    let periods = timeline.periods(library, c);
    let whole = looks.iter().filter(|(.., first)| *first).map(|(i, ..)| timeline.seen[*i].seq).collect();
    let mut by_observation: HashMap<u64, Vec<usize>> = HashMap::new();
    for (n, change) in lore.known.changes.iter().enumerate().filter(|(_, c)| c.place != Place::Start) {
        change.observed.into_iter().for_each(|seq| by_observation.entry(seq).or_default().push(n));
    }
    let teller = Teller {
        library,
        chat: c,
        timeline,
        periods: &periods,
        log: &log,
        changes: &lore.known.changes,
        by_observation,
        whole,
    };
    let stops = teller.stops(&looks, wanted);
    let seen =
        |stop: &&Stop| matches!(stop.what, StopKind::Chat { .. } | StopKind::Book(_) | StopKind::Gone(_));
    report.observations = stops.iter().filter(seen).count();
    report.since = stops.iter().find(seen).map(|stop| time(stop.clock));
    report.unseen = gone.is_none() && teller.is_unseen().map_err(history_error)?;
    let mut lines: Vec<Line> = gone.into_iter().filter_map(|gone| teller.went(gone)).collect();
    for (n, stop) in stops.iter().enumerate().rev() {
        if wanted.since.is_some_and(|since| stop.clock < since)
            || wanted.limit.is_some_and(|limit| lines.len() > limit)
        {
            report.earlier = stops[..=n].iter().filter(seen).count();
            break;
        }
        let Some(mut line) = teller.tell(stop).map_err(history_error)? else { continue };
        if wanted.all {
            lines.push(line);
        } else if !line.events.is_empty() {
            // Lines come the newest first: the one before takes the last one in.
            if lines.last().is_some_and(|later| fold::fold(&mut line, later)) {
                lines.pop();
            }
            lines.push(line);
        }
    }
    if let Some(limit) = wanted.limit.filter(|limit| lines.len() > *limit) {
        report.earlier += lines[limit..].iter().map(|line| line.saves).sum::<usize>();
        lines.truncate(limit);
    }
    lines.reverse();
    report.lines = lines;
    Ok(report)
}
