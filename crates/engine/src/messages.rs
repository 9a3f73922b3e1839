//! `messages`: what is said in a part of a chat.

use forklore_core::format::chat::{Message, Role};
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

/// How many messages are given at once.
pub const MOST: usize = 200;

/// A part of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessagesReport {
    /// Its address
    pub chat: String,
    /// How many messages the chat has
    pub total: usize,
    /// Number of the first message that is given
    pub from: usize,
    /// The messages
    pub messages: Vec<MessageRow>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageRow {
    /// Its number, counted from 0
    pub at: usize,
    /// Who speaks
    pub speaker: String,
    /// Whether the user does
    pub user: bool,
    /// Whether it is hidden from the model
    pub hidden: bool,
    /// What is said
    pub text: String,
    /// How many swipes there are to choose from; 0 if the message has no list of them
    pub swipes: usize,
    /// Title of the scene that ends here
    pub scene: Option<String>,
    /// Whether a scene ends here
    pub ends_scene: bool,
}

/// Messages `from` to `to` of chat `c`, as far as there are any, and at most [`MOST`].
pub fn messages(library: &Library, c: ChatIx, from: usize, to: usize) -> Result<MessagesReport, PathError> {
    let total = library.chat(c).transcript().len();
    let end = to.saturating_add(1).min(total).min(from.saturating_add(MOST));
    let rows = (from..end).map(|at| message(library, c, at)).collect::<Result<_, _>>()?;
    Ok(MessagesReport { chat: library.address(c).to_string(), total, from, messages: rows })
}

fn message(library: &Library, c: ChatIx, at: usize) -> Result<MessageRow, PathError> {
    let line = library.message_line(c, at)?.unwrap_or_default();
    let message = Message::new(Raw::parse(&line).unwrap_or(Raw::NULL));
    let scene = library.chat(c).facts().scene(at).filter(|scene| scene.is_real());
    Ok(MessageRow {
        at,
        speaker: message.speaker().into_owned(),
        user: message.role() == Role::User,
        hidden: message.is_hidden(),
        text: message.text().into_owned(),
        swipes: message.swipes().count(),
        scene: scene.and_then(|scene| scene.name.clone()),
        ends_scene: scene.is_some(),
    })
}
