//! [`moment`]: travelling along the line of a chat, for pages; [`companions`]: where one can travel to; [`onward`]: what two lines say from
//! where they part.

use std::sync::Arc;

use forklore_engine::diff::{DiffMessage, DiffReport, DiffSide};
use forklore_engine::line::{self, Companion, Line, LineMessage};
use forklore_engine::memory::MemoryRecord;
use forklore_engine::notes::{self, Note};
use forklore_engine::show::ShowReport;
use serde::Deserialize;

use crate::{Failure, OpenVault};

/// How many messages are shown before a moment, and after it.
const AROUND: (usize, usize) = (5, 2);

/// A step along a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliderStep {
    /// Address of the chat
    pub chat: String,
    /// The message, counted from 0; the last one if left out
    pub at: Option<usize>,
    /// The message that one comes from; the one before if left out
    pub from: Option<usize>,
    /// How many entries of a long lorebook are shown
    pub entries: Option<usize>,
    /// Only entries that have this in their title, keys or text
    pub find: Option<String>,
    /// Versions of what whoever asks has already, with commas between
    pub known: Option<String>,
}

/// A moment with what is around it.
#[derive(Debug, Clone)]
pub struct Moment {
    /// The line that it is on
    pub line: Line,
    /// The messages around it
    pub window: Vec<LineMessage>,
    /// The state
    pub here: Arc<ShowReport>,
    /// The state where one comes from; nothing for the first message
    pub before: Option<Arc<ShowReport>>,
    /// What people have noted along the line
    pub notes: Vec<Note>,
    /// Whether Forklore keeps the chat's memory, or has kept it
    pub remembers: bool,
    /// What they had noted before they changed it or took it away, the last one first
    pub earlier: Vec<Note>,
}

/// A moment: the state there, the state where one comes from, and the messages around.
pub fn moment(open: &OpenVault<'_>, step: &SliderStep) -> Result<Moment, Failure> {
    let shared = open.shared()?;
    let library = &shared.library;
    let chat = library.find_chat(&step.chat)?;
    let here = shared.show(chat, step.at)?;
    let from = step.from.filter(|from| *from < here.messages).or(here.at.checked_sub(1));
    let before = from.map(|from| shared.show(chat, Some(from))).transpose()?;
    let window = here.at.saturating_sub(AROUND.0)..here.at + AROUND.1 + 1;
    let window = line::around(library, chat, window)?;
    // Notes that cannot be read are no reason not to show the story; whoever writes one is told.
    let all = notes::all(&*open.fs).unwrap_or_default();
    let notes = notes::of_chat(library, chat, &all.notes);
    let earlier: Vec<Note> = all.earlier.into_iter().filter(|note| note.message == here.at).collect();
    let earlier = notes::standing(library, chat, &earlier);
    let record = MemoryRecord::of(library.chat(chat).header());
    let remembers = record.is_some_and(|record| record.on || !record.scenes.is_empty());
    let line = line::line(library, chat).with_notes(&notes);
    Ok(Moment { line, window, here, before, notes, remembers, earlier })
}

/// How many messages of each side are shown from where two lines part.
const ONWARD: usize = 6;

/// What both sides of a comparison say from where they part, up to the messages that are compared.
pub fn onward(open: &OpenVault<'_>, report: &DiffReport) -> Result<[Vec<LineMessage>; 2], Failure> {
    let shared = open.shared()?;
    let library = &shared.library;
    let told = |side: &DiffSide, next: Option<&DiffMessage>| -> Result<Vec<LineMessage>, Failure> {
        let Some(first) = next.map(|next| next.message) else { return Ok(Vec::new()) };
        let end = (first + ONWARD).min(side.at.max(first) + 1);
        Ok(line::around(library, library.find_chat(&side.chat)?, first..end)?)
    };
    let next = &report.transcript.next;
    Ok([told(&report.a, next.a.as_ref())?, told(&report.b, next.b.as_ref())?])
}

/// The chats that one can be compared with: all of its story.
pub fn companions(open: &OpenVault<'_>, of: &str) -> Result<Vec<Companion>, Failure> {
    let shared = open.shared()?;
    let library = &shared.library;
    Ok(line::companions(library, library.find_chat(of)?))
}
