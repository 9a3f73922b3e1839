//! `show`: the state of a chat at a message: its book with the source of every entry, what was left out, recaps, queue.

mod report;

use forklore_core::adapter::{EntryRole, Operation, entry_role, recap};
use forklore_core::format::chat::Message;
use forklore_core::state::{StateEntry, Why};
use forklore_core::story::Moment;
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::state::at::{SourceKind, StateError};
use forklore_vault::state::metadata::{HeaderSight, MetadataAt};
use forklore_vault::state::unread::Told;
use forklore_vault::{ChatIx, Library};
pub use report::*;
use serde_json::value::RawValue;

use crate::header;
use crate::warning::{Warning, WarningCode};

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// The chat is shorter.
    #[error("Message {at} does not exist: \"{chat}\" has {}", how_many(*.messages))]
    NoSuchMessage {
        /// What was asked for
        at: usize,
        /// The chat
        chat: String,
        /// How many there are
        messages: usize,
    },
    /// The chat's file cannot be read.
    #[error("\"{chat}\" cannot be read: {why}")]
    CorruptChat {
        /// The chat
        chat: String,
        /// What is wrong
        why: String,
    },
    /// The state of the book cannot be told.
    #[error(transparent)]
    State(#[from] StateError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

fn how_many(n: usize) -> String {
    match n {
        0 => "no messages".to_owned(),
        1 => "one message, number 0".to_owned(),
        n => format!("{n} messages, counted from 0"),
    }
}

/// The message of chat `c` that is asked for, or its last one, and the moment there.
pub(crate) fn place(library: &Library, c: ChatIx, at: Option<usize>) -> Result<(usize, Moment), ShowError> {
    let chat = library.chat(c);
    if let Some(why) = chat.unreadable() {
        return Err(ShowError::CorruptChat { chat: chat.name().to_owned(), why: why.to_owned() });
    }
    let at = at.unwrap_or(chat.head());
    let messages = chat.transcript().len();
    let none = || ShowError::NoSuchMessage { at, chat: chat.name().to_owned(), messages };
    Ok((at, chat.transcript().moment(at).ok_or_else(none)?))
}

/// The state of chat `c` at message `at`, or at its last one.
pub fn show(library: &Library, c: ChatIx, at: Option<usize>) -> Result<ShowReport, ShowError> {
    let (at, moment) = place(library, c, at)?;
    let messages = library.chat(c).transcript().len();
    let mut warnings = Vec::new();
    // The lorebook last: it can be large, and nothing else is to be read beside it.
    let queue = queue_at(library, c, at)?;
    let book = show_book(library, c, at, &mut warnings)?;
    let then = library.metadata_at(c, at)?;
    let (inherited, notes) = header::inherited(&then, at);
    let line = library.message_line(c, at)?.unwrap_or_default();
    let message = Message::new(Raw::parse(&line).unwrap_or(Raw::NULL));
    let speaker = message.speaker().into_owned();
    // A message can be as large as the memory that there is: its line becomes its text.
    let text = match message.raw().get("mes").and_then(|text| text.range_in(&line)) {
        Some(range) => forklore_json::into_text(line, range),
        None => message.text().into_owned(),
    };
    Ok(ShowReport {
        chat: library.address(c).to_string(),
        at,
        messages,
        moment: moment.to_string(),
        speaker,
        text,
        scene: show_scene(library, c, at)?,
        book,
        running_recap: running_at(library, c, at)?,
        combined_recap: library
            .combined_at(c, at)?
            .map(|(r, _)| ShowCombined { message_count: r.message_count, content: r.content }),
        queue,
        metadata: variables_at(&then),
        inherited,
        notes,
        warnings,
    })
}

pub(crate) fn show_scene(library: &Library, c: ChatIx, at: usize) -> Result<Option<ShowScene>, PathError> {
    let scenes =
        library.chat(c).facts().scenes.iter().filter(|(message, scene)| *message <= at && scene.is_real());
    let Some((message, found)) = scenes.max_by_key(|(message, _)| *message) else { return Ok(None) };
    let line = library.message_line(c, *message)?.unwrap_or_default();
    let recap = Raw::parse(&line).ok().and_then(|raw| recap::text(Message::new(raw)));
    Ok(Some(ShowScene { message: *message, name: found.name.clone(), recap }))
}

/// What of a book's state is not as exact as it could be.
pub(crate) fn doubts(Told { found, unread }: &Told) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if found.source.kind == SourceKind::Degraded {
        let is = match found.source.message {
            Some(0) => "as Forklore first saw it, when the chat had 1 message".to_owned(),
            Some(first) => format!("as Forklore first saw it, when the chat had {} messages", first + 1),
            None => "as it is now".to_owned(),
        };
        let message = format!("Nothing tells how the lorebook was at this message: this is the book {is}.");
        warnings.push(Warning::new(WarningCode::StateInexact, message));
    }
    if let Some((name, why)) = unread {
        warnings.push(Warning::new(
            WarningCode::BookDamaged,
            format!("The lorebook \"{name}\" cannot be read now: {why}. This is what history and the chat's scenes tell of it."),
        ));
    } else if let (Some(name), None) = (&found.name, &found.live) {
        warnings.push(Warning::new(
            WarningCode::BookMissing,
            format!("The lorebook \"{name}\" is not there; this is what the chat's scenes tell of it."),
        ));
    }
    warnings
}

fn show_book(
    library: &Library,
    c: ChatIx,
    at: usize,
    warnings: &mut Vec<Warning>,
) -> Result<ShowBook, ShowError> {
    let told = library.book_told_at(c, at)?;
    warnings.extend(doubts(&told));
    let found = told.found;
    let kind = found.source.kind;
    let entry = |entry: StateEntry| {
        let role = role_of(&entry)?;
        let source = match (entry.message, kind) {
            (_, SourceKind::Head) => "head",
            _ if entry.undated => "undated",
            (_, SourceKind::Unchanged) => "unchanged",
            _ if entry.observed => "history",
            (Some(_), _) => "scene",
            (None, SourceKind::Degraded) => "degraded",
            (None, _) => "start",
        };
        Some(ShowEntry::new(entry, source, role))
    };
    let left_out = found.left_out.iter().map(|out| ShowLeftOut {
        uid: out.uid,
        comment: out.comment.to_string(),
        lines: out.lines,
        why: why(library, out.why),
    });
    let left_out = left_out.collect();
    let stem = library.chat(c).book_stem().filter(|_| found.live.is_some());
    let others = stem.map_or(0, |stem| library.users_of(stem).len().saturating_sub(1));
    let by_choice = others > 0 && !library.is_machine_kept(stem.unwrap_or_default())?;
    let mut entries: Vec<ShowEntry> = found.entries.into_iter().filter_map(entry).collect();
    // They have the memory of the entries of the state, which are larger.
    entries.shrink_to_fit();
    Ok(ShowBook { others, by_choice, name: found.name, source: found.source.into(), entries, left_out })
}

/// What an entry is for; nothing for the extension's queue, which is no part of the story.
pub(crate) fn role_of(entry: &StateEntry) -> Option<EntryRole> {
    Some(entry_role(&entry.image.comment)).filter(|role| *role != EntryRole::Queue)
}

/// Why something was left out, in a phrase.
pub fn why(library: &Library, why: Why) -> String {
    match why {
        Why::Later(message) => format!("belongs to message {message}"),
        Why::Elsewhere(origin) => {
            format!("written at message {} of \"{}\"", origin.message, library.chat(origin.chat).name())
        }
        Why::Undated => "nothing tells when it was written".to_owned(),
        Why::Since(message) => format!("first seen after message {message}"),
        Why::Unattributed => "nothing tells which of the chats that share the book wrote it".to_owned(),
    }
}

/// The running recap of a chat at a message.
pub(crate) fn running_at(library: &Library, c: ChatIx, at: usize) -> Result<ShowRecap, PathError> {
    let Some(known) = library.running_recap(c)? else { return Ok(ShowRecap::default()) };
    let projection = known.project(at);
    let version = |i: usize| &known.running.versions[i];
    Ok(ShowRecap {
        current_version: projection.current.map(|i| version(i).version),
        content: projection.current.and_then(|i| version(i).content.clone()),
        versions: projection
            .kept
            .iter()
            .map(|i| ShowRecapVersion { version: version(*i).version, new_scene_index: version(*i).scene })
            .collect(),
        dropped: projection.dropped.len(),
    })
}

/// What waits or runs for messages up to this one.
pub(crate) fn operations_at(library: &Library, c: ChatIx, at: usize) -> Result<Vec<Operation>, PathError> {
    let mut operations = library.operations(c)?;
    let head = library.chat(c).head();
    operations.retain(|op| at == head || op.messages.iter().all(|message| *message <= at));
    Ok(operations)
}

fn queue_at(library: &Library, c: ChatIx, at: usize) -> Result<ShowQueue, PathError> {
    let operations: Vec<ShowOperation> = operations_at(library, c, at)?
        .into_iter()
        .map(|op| ShowOperation { status: op.status.as_str().to_owned(), id: op.id, kind: op.kind })
        .collect();
    Ok(ShowQueue { idle: !operations.iter().any(ShowOperation::is_open), operations })
}

/// The variables of a chat at a message.
fn variables_at(then: &MetadataAt) -> ShowMetadata {
    let variables = then.get("variables").filter(|v| v.members().next().is_some()).and_then(to_raw_value);
    let HeaderSight { source, message } = then.sight_of("variables");
    ShowMetadata { source: source.as_str(), message, variables }
}

fn to_raw_value(raw: Raw<'_>) -> Option<Box<RawValue>> {
    // Text that JSON readers in general can take: what is not UTF-8, or a lone surrogate, cannot be shown as it stands.
    RawValue::from_string(String::from_utf8(raw.bytes().to_vec()).ok()?).ok()
}
