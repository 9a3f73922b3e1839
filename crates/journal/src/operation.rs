//! [`Operation`]: one act of Forklore in its final form: what it is, and the [`Step`]s that it consists of.
//!
//! The same sealed bytes are the intent while the act is under way and the entry in the log once it is done, so there is
//! never a moment at which the two could differ. Nothing in it is ever changed afterwards; undoing is an act of its own, whose
//! steps are these the other way round.

use std::fmt;

use forklore_fs::{Identity, VaultPath};
use forklore_json::Raw;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::layout;

/// Version of the format that this Forklore writes, and the newest that it reads.
pub const VERSION: u32 = 2;

/// The version of an operation that moves no images or files: an older Forklore can read it.
const PLAIN: u32 = 1;

/// One act of Forklore.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operation {
    /// Version of the format
    pub version: u32,
    /// Its id. Ids sort by time.
    pub id: String,
    /// What it does
    pub kind: Kind,
    /// When, in milliseconds since 1970
    pub at: i64,
    /// Address of the chat that it is about
    pub chat: Option<String>,
    /// What it did, in a sentence
    pub summary: String,
    /// The operation that it undoes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// The file that another program is to write before this counts
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Awaits>,
    /// What is done, in this order
    pub steps: Vec<Step>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Makes a checkpoint
    Checkpoint,
    /// Makes a branch
    Branch,
    /// Adopts and isolates forks, repairs what `check` found
    Heal,
    /// Moves a chat and its own book to the trash
    Delete,
    /// Brings something back
    Restore,
    /// Brings along what happened in another line
    Learn,
    /// Answers what two lines do not agree on
    Resolve,
    /// Brings a story in from another vault
    Import,
    /// Gives a chat another name
    Rename,
    /// Cleans up
    Gc,
    /// Reverts another operation
    Undo,
}

impl Kind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Branch => "branch",
            Self::Heal => "heal",
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Learn => "learn",
            Self::Resolve => "resolve",
            Self::Import => "import",
            Self::Rename => "rename",
            Self::Gc => "gc",
            Self::Undo => "undo",
        }
    }
}

/// A chat that SillyTavern is about to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaits {
    /// Its file
    pub target: VaultPath,
    /// The slug that it will have
    pub slug: String,
    /// Until when it is waited for, in milliseconds since 1970
    pub until: i64,
}

/// One change of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// A new file appears under its name.
    Publish(Publish),
    /// A file leaves its name and is kept as an object.
    Retire(Retire),
    /// A file that others write, too, is edited.
    Edit(Edit),
}

impl Operation {
    /// The files that it makes.
    pub fn publishes(&self) -> impl Iterator<Item = &Publish> {
        self.steps.iter().filter_map(|step| match step {
            Step::Publish(publish) => Some(publish),
            _ => None,
        })
    }

    /// The files that it takes away.
    pub fn retires(&self) -> impl Iterator<Item = &Retire> {
        self.steps.iter().filter_map(|step| match step {
            Step::Retire(retire) => Some(retire),
            _ => None,
        })
    }

    /// The edits that it makes.
    pub fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.steps.iter().filter_map(|step| match step {
            Step::Edit(edit) => Some(edit),
            _ => None,
        })
    }
}

impl Step {
    /// The file that it is about.
    pub fn target(&self) -> &VaultPath {
        match self {
            Self::Publish(Publish { target, .. })
            | Self::Retire(Retire { target, .. })
            | Self::Edit(Edit { target, .. }) => target,
        }
    }
}

/// A new file appears under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// Its name
    pub target: VaultPath,
    /// Its name in the staging folder until then
    pub staged: String,
    /// The file itself, to know it again under its final name
    pub file: FileId,
}

/// A file leaves its name and is kept as an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retire {
    /// Its name
    pub target: VaultPath,
    /// Its content
    pub object: ObjectId,
    /// The file that is meant: one that was saved since stays where it is
    pub file: FileId,
}

/// The name of an object: the BLAKE3 hash of its content, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectId(String);

impl TryFrom<String> for ObjectId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hash = text.len() == 64 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        if hash { Ok(Self(text)) } else { Err(format!("{text:?} is no hash")) }
    }
}

impl From<ObjectId> for String {
    fn from(object: ObjectId) -> Self {
        object.0
    }
}

impl From<blake3::Hash> for ObjectId {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash.to_hex().to_string())
    }
}

impl ObjectId {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What tells a file from any other that comes to have its name: all of [`Identity`] that a rename leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    /// Number on its device
    pub number: u64,
    /// Length
    pub bytes: u64,
    /// Time of the last change of content, in nanoseconds since 1970
    pub modified: i64,
}

impl From<Identity> for FileId {
    fn from(identity: Identity) -> Self {
        Self { number: identity.file, bytes: identity.len, modified: identity.modified }
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}-{:x}", self.number, self.bytes, self.modified)
    }
}

impl FileId {
    /// Reads what [`fmt::Display`] wrote.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-').map(|part| u64::from_str_radix(part, 16).ok());
        let (number, bytes, modified) = (parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(Self { number, bytes, modified: modified.cast_signed() })
    }
}

/// A file that others write, too, is edited. All of its changes are made, or none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Edit {
    /// The file
    pub target: VaultPath,
    /// The JSON value in it that is meant
    pub place: Place,
    /// Whether nothing may be retired unless this edit was made
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// What is changed in that value
    pub changes: Vec<JsonChange>,
    /// How many blanks its line ended with before: an edit may add some, and whoever takes it back takes them away
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blanks: u64,
    /// Whether it takes another edit back
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub back: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks it")]
fn is_zero<T: Default + PartialEq>(n: &T) -> bool {
    *n == T::default()
}

/// A JSON value in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The whole file
    Document,
    /// The header line of a chat
    Header,
    /// A message of a chat: the one with this identity, wherever it stands by now
    Message {
        /// Where it stood
        index: usize,
        /// Its identity
        id: u64,
    },
}

impl Place {
    /// Whether both mean the same value, wherever a message stood.
    pub fn is_that_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Message { id, .. }, Self::Message { id: other, .. }) => id == other,
            _ => self == other,
        }
    }
}

/// One change in a JSON value.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonChange {
    /// The value at a path, from one to another
    Set {
        /// Keys that lead there
        path: Vec<String>,
        /// What it was; nothing if it was not there
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        from: Option<Json>,
        /// What it becomes; nothing if it is taken away
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        to: Option<Json>,
        /// The key that follows it where it is taken away, so that it comes back to its place
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<String>,
        /// How many of the objects that the path leads through come and go with it
        #[serde(default, skip_serializing_if = "is_zero")]
        made: usize,
    },
    /// A text joins the list at a path
    Include(Listed),
    /// A text leaves the list at a path
    Exclude(Listed),
}

/// A text in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Keys that lead to the list
    pub path: Vec<String>,
    /// The text
    pub text: String,
    /// Where in the list it stands; at its end if nothing is said
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// Whether the list comes and goes with the text: it is made for it, and taken away when nothing else is in it
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// How many of the objects that the path leads through come and go with a list that does
    #[serde(default, skip_serializing_if = "is_zero")]
    pub made: usize,
    /// Whether `null` stood where the list is made, and stands there again when nothing else is in it
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null: bool,
}

impl Listed {
    /// A text at the end of a list.
    pub fn new(path: &[&str], text: &str) -> Self {
        let path = path.iter().map(|key| (*key).to_owned()).collect();
        Self { path, text: text.to_owned(), at: None, alone: false, made: 0, null: false }
    }

    /// A text at the end of a list of this value, which may have to be made.
    pub fn new_in(value: Raw<'_>, path: &[&str], text: &str) -> Self {
        let list = value.at(path);
        let null = list.is_some_and(|list| list.kind() == forklore_json::Kind::Null);
        Self { alone: list.is_none(), made: made(value, path), null, ..Self::new(path, text) }
    }

    /// The same at a place in the list.
    #[must_use]
    pub fn at(self, at: Option<usize>) -> Self {
        Self { at, ..self }
    }
}

/// A value that is written down is there, also if it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// A JSON value as it stands in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// A value. `None` if its bytes are no text: then no operation can name it.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        RawValue::from_string(String::from_utf8(bytes.to_vec()).ok()?).ok().map(Self)
    }

    /// A text.
    pub fn text(text: &str) -> Option<Self> {
        Self::new(&forklore_json::quote(text))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.get().as_bytes()
    }
}

impl Edit {
    /// The edit that takes this one back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let changes = self.changes.iter().rev().map(JsonChange::inverse).collect();
        Self { changes, back: !self.back, ..self.clone() }
    }

    /// An edit that nothing depends on.
    pub fn new(target: VaultPath, place: Place, changes: Vec<JsonChange>) -> Self {
        Self { target, place, required: false, changes, blanks: 0, back: false }
    }

    /// Whether it makes something refer to this chat or book, by its name.
    pub(crate) fn names(&self, target: &VaultPath) -> bool {
        let file = target.name();
        let stem = file.strip_suffix(".jsonl").or_else(|| file.strip_suffix(".json")).unwrap_or(file);
        self.changes.iter().any(|change| match change {
            JsonChange::Set { to, .. } => to.as_ref().is_some_and(|to| Raw::trust(to.bytes()).is_text(stem)),
            JsonChange::Include(listed) => listed.text == stem,
            JsonChange::Exclude(_) => false,
        })
    }
}

impl JsonChange {
    /// A value is set.
    pub fn set(path: &[&str], from: Option<Json>, to: Option<Json>) -> Self {
        let path = path.iter().map(|key| (*key).to_owned()).collect();
        Self::Set { path, from, to, next: None, made: 0 }
    }

    /// What is at a path of this value now becomes something else, or goes. `None` if what is there cannot be named.
    pub fn set_in(value: Raw<'_>, path: &[&str], to: Option<Json>) -> Option<Self> {
        let from = match value.at(path) {
            Some(now) => Some(Json::new(now.bytes())?),
            None => None,
        };
        let next = path.split_last().filter(|_| to.is_none()).and_then(|(last, way)| {
            let mut after = value.at(way)?.members().skip_while(|(key, _)| !key.is_text(last)).skip(1);
            after.next().and_then(|(key, _)| key.as_text()).map(std::borrow::Cow::into_owned)
        });
        let made = made(value, path);
        Some(Self::Set { path: path.iter().map(|key| (*key).to_owned()).collect(), from, to, next, made })
    }

    /// A text joins a list.
    pub fn include(path: &[&str], text: &str) -> Self {
        Self::Include(Listed::new(path, text))
    }

    /// A text leaves a list.
    pub fn exclude(path: &[&str], text: &str) -> Self {
        Self::Exclude(Listed::new(path, text))
    }

    /// The change as it would be if this one, before it, had never been made.
    pub fn follows(&mut self, before: &Self) {
        match (self, before) {
            (
                Self::Set { path, from, made, .. },
                Self::Set { path: theirs, from: found, to, made: more, .. },
            ) if path == theirs && from.as_ref().map(Json::bytes) == to.as_ref().map(Json::bytes) => {
                from.clone_from(found);
                *made += more;
            }
            (Self::Include(ours), Self::Include(theirs)) if ours.path == theirs.path => {
                ours.alone |= theirs.alone;
                ours.null |= theirs.null;
                ours.made += theirs.made;
            }
            _ => {}
        }
    }

    fn inverse(&self) -> Self {
        match self.clone() {
            Self::Set { path, from, to, next, made } => Self::Set { path, from: to, to: from, next, made },
            Self::Include(listed) => Self::Exclude(listed),
            Self::Exclude(listed) => Self::Include(listed),
        }
    }
}

/// How many of the objects that a path leads through are not there yet.
fn made(value: Raw<'_>, path: &[&str]) -> usize {
    (1..path.len()).filter(|n| value.at(&path[..*n]).is_none()).count()
}

/// Why the bytes of an operation cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsealed {
    /// The end is missing, or something was changed: it was never finished.
    Torn,
    /// A newer Forklore wrote it.
    Newer(u32),
    /// It is whole, but nothing that Forklore would have written: somebody else made it.
    Foreign,
}

/// The operation as it is written: one JSON document, a line with its hash.
pub fn seal(operation: &Operation) -> Vec<u8> {
    // Plain data into memory cannot fail; and a seal over nothing would be torn, not wrong.
    let mut bytes = serde_json::to_vec_pretty(operation).unwrap_or_default();
    let hash = blake3::hash(&bytes).to_hex();
    bytes.push(b'\n');
    bytes.extend_from_slice(hash.as_bytes());
    bytes.push(b'\n');
    bytes
}

/// Reads what [`seal`] wrote into the file of the operation `id`.
pub fn unseal(bytes: &[u8], id: &str) -> Result<Operation, Unsealed> {
    let rest = bytes.strip_suffix(b"\n").ok_or(Unsealed::Torn)?;
    let newline = memchr::memrchr(b'\n', rest).ok_or(Unsealed::Torn)?;
    let (document, hash) = (&rest[..newline], &rest[newline + 1..]);
    if blake3::hash(document).to_hex().as_bytes() != hash {
        return Err(Unsealed::Torn);
    }
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let head: Head = serde_json::from_slice(document).map_err(|_| Unsealed::Torn)?;
    if head.version > VERSION {
        return Err(Unsealed::Newer(head.version));
    }
    let operation: Operation = serde_json::from_slice(document).map_err(|_| Unsealed::Foreign)?;
    if operation.id == id && operation.is_ours() { Ok(operation) } else { Err(Unsealed::Foreign) }
}

/// The version of the format that steps take: an older Forklore must not act upon files that it knows nothing of.
pub(crate) fn version_of(steps: &[Step]) -> u32 {
    if steps.iter().any(|step| layout::is_media(step.target())) { VERSION } else { PLAIN }
}

impl Operation {
    /// Whether it names only files that operations are about, and temporary files of its own. A vault can come from anywhere, and
    /// an operation that is found in it is acted upon.
    fn is_ours(&self) -> bool {
        let plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.'))
        };
        let ours = |target: &VaultPath| {
            let top = target.as_str().split('/').next().unwrap_or("");
            let folders =
                [layout::CHATS, layout::GROUP_CHATS, layout::GROUPS, layout::WORLDS, layout::CHARACTERS];
            target.as_str() == layout::SETTINGS || (folders.contains(&top) && target.as_str() != top)
        };
        // Images and files come and go whole; nobody edits them.
        let whole = |target: &VaultPath| ours(target) || (self.version > PLAIN && layout::is_media(target));
        let fine = |step: &Step| match step {
            Step::Publish(publish) => {
                let own = publish.staged.strip_prefix(&self.id).is_some_and(|rest| rest.starts_with('.'));
                own && plain(&publish.staged) && whole(&publish.target)
            }
            Step::Retire(retire) => whole(&retire.target),
            Step::Edit(edit) => ours(&edit.target),
        };
        plain(&self.id) && !self.id.contains('.') && self.steps.iter().all(fine)
    }
}
