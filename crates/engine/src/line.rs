//! [`Line`]: a chat as a line to travel along, with what stands at its messages; [`around`]: the messages around one of them. And the
//! [`Companion`]s of a chat: all chats of its story.

use std::ops::Range;

use forklore_core::format::chat::{Message, Role};
use forklore_core::story::lineage::Kind;
use forklore_fs::PathError;
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library, StoryKind};

use super::notes::Note;
use super::tree;

/// A chat as a line.
#[derive(Debug, Clone)]
pub struct Line {
    /// Address of the chat
    pub chat: String,
    /// Name of the chat
    pub name: String,
    /// Name of its story
    pub story: String,
    /// Character or group
    pub story_kind: StoryKind,
    /// The card's file stem, or the group's id
    pub folder: String,
    /// `main`, `branch`, `checkpoint` or `copy`
    pub kind: &'static str,
    /// How many messages it has
    pub messages: usize,
    /// The chat that it was forked from: address, name and the last message from there
    pub parent: Option<(String, String, Option<usize>)>,
    /// What stands at its messages, in their order
    pub marks: Vec<Mark>,
}

/// Something that stands at a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The message
    pub message: usize,
    /// What it is
    pub kind: MarkKind,
    /// What it is called, if it has a name
    pub name: Option<String>,
    /// Address of the other chat, for a fork
    pub chat: Option<String>,
}

/// What stands at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// A scene ends
    Scene,
    /// A branch was made
    Branch,
    /// A checkpoint was made
    Checkpoint,
    /// This chat was forked from its parent
    Origin,
    /// Somebody put a star or a note there
    Note,
}

/// One message as it is read.
#[derive(Debug, Clone)]
pub struct LineMessage {
    /// Its number
    pub message: usize,
    /// Who speaks
    pub speaker: String,
    /// What is said
    pub text: String,
    /// Whether the user speaks
    pub user: bool,
    /// Whether it is hidden from the model
    pub hidden: bool,
    /// The texts of its swipes, the shown one included; none if it has no list of them
    pub swipes: Vec<String>,
    /// Which of them is shown
    pub swipe: Option<usize>,
}

/// One chat of a story.
#[derive(Debug, Clone)]
pub struct Companion {
    /// Its address
    pub chat: String,
    /// Its name
    pub name: String,
    /// How many messages it has
    pub messages: usize,
}

/// The line of chat `c`.
pub fn line(library: &Library, c: ChatIx) -> Line {
    let chat = library.chat(c);
    let story = library.story(chat.story());
    let scenes = chat.facts().scenes.iter().filter(|(_, scene)| scene.is_real());
    let mut marks: Vec<Mark> = scenes
        .map(|(message, scene)| Mark {
            message: *message,
            kind: MarkKind::Scene,
            name: scene.name.clone(),
            chat: None,
        })
        .collect();
    let forks = library.chats().filter(|(_, fork)| fork.lineage().parent == Some(c));
    marks.extend(forks.filter_map(|(f, fork)| {
        let kind = match fork.lineage().kind {
            Kind::Branch => MarkKind::Branch,
            Kind::Checkpoint => MarkKind::Checkpoint,
            Kind::Main | Kind::Copy => return None,
        };
        let address = library.address(f).to_string();
        Some(Mark {
            message: fork.lineage().fork_message?,
            kind,
            name: Some(fork.name().to_owned()),
            chat: Some(address),
        })
    }));
    let parent = chat.lineage().parent.map(|p| {
        let parent = library.chat(p);
        (library.address(p).to_string(), parent.name().to_owned(), chat.lineage().fork_message)
    });
    if let Some((address, name, Some(message))) = &parent {
        let (name, chat) = (Some(name.clone()), Some(address.clone()));
        marks.push(Mark { message: *message, kind: MarkKind::Origin, name, chat });
    }
    marks.retain(|mark| mark.message < chat.transcript().len());
    marks.sort_by_key(|mark| mark.message);
    Line {
        chat: library.address(c).to_string(),
        name: chat.name().to_owned(),
        story: story.name().to_owned(),
        story_kind: story.kind(),
        folder: story.folder().to_owned(),
        kind: tree::kind(chat.lineage().kind),
        messages: chat.transcript().len(),
        parent,
        marks,
    }
}

impl Line {
    /// The same with what people have noted at its messages.
    #[must_use]
    pub fn with_notes(mut self, notes: &[Note]) -> Self {
        self.marks.extend(notes.iter().map(|note| {
            let text = note.text.lines().next().unwrap_or_default();
            let name = if text.is_empty() { "★".to_owned() } else { text.to_owned() };
            Mark { message: note.message, kind: MarkKind::Note, name: Some(name), chat: None }
        }));
        self.marks.sort_by_key(|mark| mark.message);
        self
    }
}

/// Some messages of chat `c`; those that there are.
pub fn around(library: &Library, c: ChatIx, messages: Range<usize>) -> Result<Vec<LineMessage>, PathError> {
    let end = messages.end.min(library.chat(c).transcript().len());
    let mut found = Vec::new();
    for message in messages.start..end {
        let line = library.message_line(c, message)?.unwrap_or_default();
        let raw = Raw::parse(&line).unwrap_or(Raw::NULL);
        let read = Message::new(raw);
        found.push(LineMessage {
            message,
            speaker: read.speaker().into_owned(),
            text: read.text().into_owned(),
            user: read.role() == Role::User,
            hidden: read.is_hidden(),
            swipes: read.swipes().map(|text| text.as_text().unwrap_or_default().into_owned()).collect(),
            swipe: raw.get("swipe_id").and_then(Raw::as_i64).and_then(|at| usize::try_from(at).ok()),
        });
    }
    Ok(found)
}

/// All chats of the story of chat `c`, in the order of the tree.
pub fn companions(library: &Library, c: ChatIx) -> Vec<Companion> {
    let chats = library.story(library.chat(c).story()).chats();
    tree::in_tree_order(library, chats)
        .into_iter()
        .map(|(c, _)| Companion {
            chat: library.address(c).to_string(),
            name: library.chat(c).name().to_owned(),
            messages: library.chat(c).transcript().len(),
        })
        .collect()
}
