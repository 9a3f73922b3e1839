//! [`Edit`]: what an operation changes in a file that others write, too, as [`JsonChange`]s of one value in it.

use forklore_fs::VaultPath;
use forklore_json::Raw;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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
