//! Notes and stars at moments: [`notes()`] lists them, [`write()`] puts one in its place.

use std::collections::HashSet;

use forklore_engine::notes::{self, Note, Notes};
use forklore_vault::settle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::look::AnyChat;
use crate::{ErrorCode, Failure, OpenVault, now};

/// A note that is to stand at a message.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noting {
    /// Address of the chat
    pub chat: String,
    /// The message, counted from 0
    pub at: usize,
    /// Whether it has a star
    #[serde(default)]
    pub star: bool,
    /// What is written; without text and star the note is taken away
    #[serde(default)]
    pub text: String,
}

/// Notes and stars.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NotesReport {
    /// Each with the message that it stands at
    pub notes: Vec<Note>,
    /// Texts that were changed or taken away, the last one first
    pub earlier: Vec<Note>,
}

/// The notes of a chat, those of its forks' common past included; or all.
pub fn notes(open: &OpenVault<'_>, of: &AnyChat) -> Result<NotesReport, Failure> {
    let all = notes::all(&*open.fs)?;
    let Notes { notes, earlier } = all;
    let Some(chat) = &of.chat else { return Ok(NotesReport { notes, earlier }) };
    let shared = open.shared()?;
    let library = &shared.library;
    let chat = library.find_chat(chat)?;
    let earlier = notes::standing(library, chat, &earlier);
    Ok(NotesReport { notes: notes::of_chat(library, chat, &notes), earlier })
}

/// What was written and is not there any more, where it can be written again: each with a chat that has its moment now.
pub fn earlier(open: &OpenVault<'_>) -> Result<Vec<Note>, Failure> {
    let shared = open.shared()?;
    let library = &shared.library;
    // Notes that cannot be read are told to whoever writes one.
    let Notes { notes, earlier } = notes::all(&*open.fs).unwrap_or_default();
    // A star that the moment has got since is not lost with what is written again.
    let starred: HashSet<&str> = notes.iter().filter(|note| note.star).map(|note| &*note.moment).collect();
    let placed = earlier.into_iter().filter_map(|note| {
        let chat = library.address(notes::place(library, &note)?).to_string();
        let star = note.star || starred.contains(&*note.moment);
        Some(Note { chat, star, ..note })
    });
    Ok(placed.collect())
}

/// Puts a note at a message, or takes it away.
pub fn write(open: &OpenVault<'_>, noting: &Noting) -> Result<Note, Failure> {
    let shared = open.shared()?;
    let chat = shared.library.find_chat(&noting.chat)?;
    let Some(moment) = shared.library.chat(chat).transcript().moment(noting.at) else {
        let message = format!("\"{}\" has no message {}", noting.chat, noting.at);
        let hint = "Choose one of its messages; they are counted from 0.";
        return Err(Failure::new(ErrorCode::MessageNotFound, message, hint));
    };
    let note = Note {
        moment: moment.to_string(),
        chat: shared.library.address(chat).to_string(),
        message: noting.at,
        star: noting.star,
        text: noting.text.trim().to_owned(),
        at: now(),
    };
    // Another Forklore may be at it, too.
    let _right = settle::take_right(&*open.fs, now())?;
    notes::put(&*open.fs, &note)?;
    Ok(note)
}
