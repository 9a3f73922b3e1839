//! [`Note`]: what people write at moments of their stories, and the stars that they give them. They are in one file of Forklore's own,
//! [`FILE`]; no chat is touched.
//!
//! A note belongs to a moment: to a message with everything before it. So it stands in every fork that has that moment, too, and in no
//! other chat. Where the story before it was changed since, it stays at its message in the chat that it was written in.
//!
//! What was written before is kept for a while beside what is written now ([`Notes::earlier`]): notes are no operations, and bringing one back is
//! writing it again.

use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_journal::layout;
use forklore_vault::{ChatIx, Library};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where notes are kept.
pub const FILE: &str = ".forklore/notes.json";
/// So many letters a note has at most, and so many notes there are.
pub const LETTERS: usize = 2000;
const MOST: usize = 20_000;
/// So many that were changed or taken away are kept.
const EARLIER: usize = 200;
/// What this Forklore writes and understands.
const VERSION: u32 = 1;

/// What somebody wrote at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Identity of the message with everything before it
    pub moment: String,
    /// Address of the chat that it was written in
    pub chat: String,
    /// The message
    pub message: usize,
    /// Whether it has a star
    #[serde(default)]
    pub star: bool,
    /// What is written; can be empty
    #[serde(default)]
    pub text: String,
    /// When, in milliseconds since 1970
    pub at: i64,
}

/// What is written in a vault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// All that stand
    pub notes: Vec<Note>,
    /// Texts that were changed or taken away, the last one first
    pub earlier: Vec<Note>,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    notes: Vec<Note>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Note>,
}

/// Why notes cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// The file makes no sense: it is left as it is.
    #[error("the notes in {FILE} cannot be read: {0}")]
    Damaged(String),
    /// There are more than anybody could look at.
    #[error("there are {MOST} notes already")]
    TooMany,
    /// It is longer than a note.
    #[error("a note has at most {LETTERS} letters")]
    TooLong,
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

fn path() -> VaultPath {
    layout::folder(FILE)
}

/// All notes of a vault.
pub fn all(fs: &dyn Vfs) -> Result<Notes, NotesError> {
    let Some(bytes) = fs.read(&path())? else { return Ok(Notes::default()) };
    let file: File = serde_json::from_slice(&bytes).map_err(|e| NotesError::Damaged(e.to_string()))?;
    if file.version > VERSION {
        return Err(NotesError::Damaged("a newer Forklore wrote them".to_owned()));
    }
    Ok(Notes { notes: file.notes, earlier: file.earlier })
}

/// A chat that a note stands in: the one that it was written in, or one that has its moment.
pub fn place(library: &Library, note: &Note) -> Option<ChatIx> {
    // Names are compared first: there are thousands of chats.
    let written = |c: &ChatIx| {
        note.chat.ends_with(library.chat(*c).name()) && library.address(*c).to_string() == note.chat
    };
    let has = |c: &ChatIx| note.message < library.chat(*c).transcript().len();
    let all = || library.chats().map(|(c, _)| c);
    all().find(|c| written(c) && has(c)).or_else(|| all().find(|c| stands(library, *c, note)))
}

/// Whether a chat has the moment of a note.
fn stands(library: &Library, c: ChatIx, note: &Note) -> bool {
    let transcript = library.chat(c).transcript();
    transcript.moment(note.message).is_some_and(|moment| moment.to_string() == note.moment)
}

/// The notes of a chat, in the order of its messages.
pub fn of_chat(library: &Library, c: ChatIx, notes: &[Note]) -> Vec<Note> {
    let mut found = standing(library, c, notes);
    // What stands at a moment comes before what only stood at its message once.
    found.sort_by_key(|note| note.message);
    found.dedup_by(|later, first| later.message == first.message && later.moment == first.moment);
    found
}

/// Those of some notes that stand in a chat.
pub fn standing(library: &Library, c: ChatIx, notes: &[Note]) -> Vec<Note> {
    let (len, address) = (library.chat(c).transcript().len(), library.address(c).to_string());
    let here = |note: &&Note| stands(library, c, note) || (note.chat == address && note.message < len);
    notes.iter().filter(here).cloned().collect()
}

/// Puts a note in its place, instead of the one of its moment; one without star and text is taken away. `right` to change the vault is the
/// caller's.
pub fn put(fs: &dyn Vfs, note: &Note) -> Result<(), NotesError> {
    if note.text.chars().count() > LETTERS {
        return Err(NotesError::TooLong);
    }
    let Notes { notes, mut earlier } = all(fs)?;
    // The one that stood at this message of this chat before the story was changed is the same to who writes.
    let same = |other: &Note| {
        other.moment == note.moment || (other.chat == note.chat && other.message == note.message)
    };
    let (was, mut notes): (Vec<Note>, Vec<Note>) = notes.into_iter().partition(same);
    // What is written again is there again. A star alone is one click away from what it was: only words are kept.
    earlier.retain(|other| !same(other) || other.text != note.text);
    let gone = was.into_iter().filter(|other| !other.text.is_empty() && other.text != note.text);
    earlier.splice(0..0, gone);
    earlier.truncate(EARLIER);
    if note.star || !note.text.is_empty() {
        notes.push(note.clone());
    }
    if notes.len() > MOST {
        return Err(NotesError::TooMany);
    }
    let text = serde_json::to_vec_pretty(&File { version: VERSION, notes, earlier })
        .map_err(|e| NotesError::Damaged(e.to_string()))?;
    forklore_fs::put(fs, &path(), &text)?;
    Ok(())
}
