//! [`Scene`] and its [`SceneVersion`]s: where the story has a break and what was told of it; the whole book as one of them left it
//! ([`SceneSighting`]), and what it is known to have written ([`Written`]).

use serde::{Deserialize, Serialize};

use crate::format::book::EntryImage;

/// A scene: it ends with the message that it is marked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// Title, if it has one.
    pub name: Option<String>,
    /// Whether the mark is shown. A hidden mark is a deleted one.
    pub visible: bool,
    /// Whether it has a recap. A mark without one is an empty bookmark and bounds nothing.
    pub recapped: bool,
    /// Which version of the recap is chosen.
    pub current: i64,
    /// The versions of its recap.
    pub versions: Vec<SceneVersion>,
}

impl Scene {
    /// Whether it bounds the story: shown, and recapped.
    pub fn is_real(&self) -> bool {
        self.visible && self.recapped
    }

    /// Whether the chosen version was merged into the running recap.
    pub fn is_combined(&self) -> bool {
        self.versions.iter().any(|v| v.number == self.current && v.combined)
    }
}

/// One version of a scene's recap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneVersion {
    /// Its number.
    pub number: i64,
    /// When its text was there, in milliseconds since 1970: what its processing wrote came after that.
    pub started: i64,
    /// When it was finished, in milliseconds since 1970.
    pub clock: i64,
    /// Which entries it is known to have written.
    pub written: Written,
    /// Whether it was merged into the running recap.
    pub combined: bool,
    /// The book that its snapshot was taken of.
    pub book: Option<String>,
    /// How many entries its snapshot holds; 0 if there is none.
    pub entries: usize,
}

/// The whole book as a scene's processing left it.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneSighting {
    /// Version of the scene's recap.
    pub version: i64,
    /// When, in milliseconds since 1970.
    pub clock: i64,
    /// Name of the book.
    pub book: Option<String>,
    /// Its entries, as far as the extension wrote them down.
    pub entries: Vec<EntryImage>,
}

/// What an extension noted of a lorebook with a message, when that was answered: for showing, and not all of it. It tells when something was
/// there, and of words that nothing else has kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Noted {
    /// Name of the book.
    pub book: String,
    /// Entries as they were.
    pub entries: Vec<EntryImage>,
    /// Entries that may have been noted before, with a text of then, in a wrapper: each was there once.
    pub remembered: Vec<EntryImage>,
}

/// What a scene is known to have written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Written {
    /// By number: entries that it made, or says that it made
    pub uids: Vec<i64>,
    /// By number: entries that it says it told more of
    pub told: Vec<i64>,
    /// By name, lower case
    pub names: Vec<String>,
}

impl Written {
    /// Whether the scene wrote this entry.
    pub fn has(&self, entry: &EntryImage) -> bool {
        entry.uid.is_some_and(|uid| self.uids.contains(&uid)) || self.names(entry)
    }

    /// Whether the scene says by name that it wrote this entry.
    pub fn names(&self, entry: &EntryImage) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let comment = entry.comment.to_lowercase();
        let named = |name: &String| {
            comment == *name || comment.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('-'))
        };
        self.names.iter().any(named)
    }
}
