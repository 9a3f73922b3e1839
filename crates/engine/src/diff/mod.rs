//! `diff`: how the state of a chat at a message becomes another: a chat at two messages, two forks, a fork and its parent.
//!
//! Both sides are what a fork made there would hold: the book by [`Library::book_at`], the header as `header` revises it.

mod describe;
mod report;
mod words;

use forklore_core::adapter::Operation;
use forklore_core::diff::{Effort, Parting, State, StateDiff, TextDiff, is_compared};
use forklore_core::format::chat::{Header, Message};
use forklore_core::format::revision::apply;
use forklore_core::state::StateEntry;
use forklore_core::story::Moment;
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::state::at::Source;
use forklore_vault::{ChatIx, Library};
pub use report::*;

use crate::header;
use crate::show::{self, ShowError};
use crate::warning::Warning;

/// A chat, by number, at a message or at its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Number of the chat
    pub chat: ChatIx,
    /// The message
    pub at: Option<usize>,
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// One chat alone was named, and it is no fork.
    #[error("\"{chat}\" was forked from nothing, so there is no parent to compare it with")]
    NoParent {
        /// The chat
        chat: String,
    },
    /// One fork alone was named, and its parent is gone.
    #[error("The chat that \"{chat}\" was forked from is gone, so there is nothing to compare it with")]
    ParentGone {
        /// The chat
        chat: String,
    },
    /// One of the states cannot be told.
    #[error(transparent)]
    Show(#[from] ShowError),
}

impl From<PathError> for DiffError {
    fn from(e: PathError) -> Self {
        Self::Show(e.into())
    }
}

/// The two sides that are meant by one or two: a chat at one message is compared with its last one, a fork with its parent, which
/// comes first.
pub fn sides(library: &Library, a: Side, b: Option<Side>) -> Result<(Side, Side, Chosen), DiffError> {
    let chat = library.chat(a.chat);
    match (b, a.at) {
        (Some(b), _) => Ok((a, b, Chosen::Asked)),
        (None, Some(_)) => Ok((a, Side { at: None, ..a }, Chosen::Head)),
        (None, None) => match chat.lineage().parent {
            Some(parent) => Ok((Side { chat: parent, at: None }, a, Chosen::Parent)),
            None if chat.lineage().is_fork() => Err(DiffError::ParentGone { chat: chat.name().to_owned() }),
            None => Err(DiffError::NoParent { chat: chat.name().to_owned() }),
        },
    }
}

/// Compares two sides.
pub fn diff(library: &Library, a: Side, b: Side, chosen: Chosen) -> Result<DiffReport, DiffError> {
    let (a, b) = (Found::at(library, a)?, Found::at(library, b)?);
    let mut effort = Effort::default();
    let transcript = transcript(library, &a, &b, &mut effort)?;
    let diff = StateDiff::of(a.state(), b.state());
    Ok(describe::report(library, &a, &b, chosen, transcript, &diff, &mut effort)?)
}

/// The state of one side.
struct Found {
    chat: ChatIx,
    at: usize,
    moment: Moment,
    /// Name of the book
    book: Option<String>,
    source: Source,
    entries: Vec<StateEntry>,
    /// The header line as of the message
    header: Vec<u8>,
    inherited: Vec<String>,
    notes: Vec<String>,
    operations: Vec<Operation>,
    warnings: Vec<Warning>,
}

impl Found {
    fn at(library: &Library, side: Side) -> Result<Self, DiffError> {
        let (at, moment) = show::place(library, side.chat, side.at)?;
        let chat = library.chat(side.chat);
        let told = library.book_told_at(side.chat, at).map_err(ShowError::from)?;
        let warnings = show::doubts(&told);
        let found = told.found;
        // What a fork made here would have for a header.
        let revised = header::revise(library, side.chat, at, chat.name(), &header::Binding::Same, true)?;
        let now = Some(chat.header().raw()).filter(|raw| *raw != Header::NONE.raw());
        let header = apply(now, &revised.revisions).unwrap_or_else(|_| chat.header().raw().bytes().to_vec());
        Ok(Self {
            chat: side.chat,
            at,
            moment,
            book: found.name,
            source: found.source,
            entries: { found.entries }.into_iter().filter(|e| show::role_of(e).is_some()).collect(),
            header,
            notes: revised.notes,
            inherited: { revised.inherited }.into_iter().filter(|key| is_compared(key)).collect(),
            operations: show::operations_at(library, side.chat, at)?,
            warnings,
        })
    }

    fn state(&self) -> State<'_> {
        State {
            book: self.book.as_deref(),
            entries: &self.entries,
            metadata: Header::new(Raw::trust(&self.header)).metadata(),
            operations: &self.operations,
        }
    }
}

/// Texts of edited messages are compared for as many of them.
const EDITS_SHOWN: usize = 50;

/// Where the two lines part.
fn transcript(
    library: &Library,
    a: &Found,
    b: &Found,
    effort: &mut Effort,
) -> Result<DiffTranscript, PathError> {
    let (ours, theirs) = (library.chat(a.chat).transcript(), library.chat(b.chat).transcript());
    let swipes = |message: usize| {
        let shows = |chat: ChatIx, moment: Option<Moment>| {
            let before = library.chat(chat).transcript().moment_before(message);
            moment.is_some_and(|moment| library.swipe_moments(chat, message, before).contains(&moment))
        };
        shows(a.chat, theirs.moment(message)) || shows(b.chat, ours.moment(message))
    };
    let parting = Parting::of(ours, a.at, theirs, b.at, &swipes);
    let next = |place: Option<usize>| place.map_or(0, |last| last + 1);
    let (i, j) = (next(parting.common.map(|c| c.0)), next(parting.common.map(|c| c.1)));
    let mut edits = Vec::with_capacity(parting.edits.len());
    for (k, (ours, theirs)) in parting.edits.iter().enumerate() {
        let span = |range: &std::ops::Range<usize>| {
            (!range.is_empty()).then(|| DiffSpan { from: range.start, to: range.end - 1 })
        };
        let text = if k < EDITS_SHOWN && ours.len() == 1 && theirs.len() == 1 {
            let (before, after) = (message(library, a, ours.start)?, message(library, b, theirs.start)?);
            before.zip(after).map(|(before, after)| TextDiff::of(&before.text, &after.text, effort))
        } else {
            None
        };
        edits.push(DiffEdit { a: span(ours), b: span(theirs), text });
    }
    Ok(DiffTranscript {
        relation: parting.relation.as_str(),
        common: parting.common.map(|(i, j)| DiffCommon {
            a: i,
            b: j,
            moment: ours.moment(i).filter(|m| theirs.moment(j) == Some(*m)).map(|m| m.to_string()),
        }),
        confidence: parting.confidence.as_str(),
        swipe: parting.swipe,
        next: DiffNext { a: message(library, a, i)?, b: message(library, b, j)? },
        after: DiffAfter { a: a.at + 1 - i, b: b.at + 1 - j },
        edits,
    })
}

/// One message of a side, if it is not beyond its end.
fn message(library: &Library, side: &Found, message: usize) -> Result<Option<DiffMessage>, PathError> {
    if message > side.at {
        return Ok(None);
    }
    let line = library.message_line(side.chat, message)?.unwrap_or_default();
    let found = Message::new(Raw::parse(&line).unwrap_or(Raw::NULL));
    Ok(Some(DiffMessage { message, speaker: found.speaker().into_owned(), text: found.text().into_owned() }))
}
