//! Forklore's own memory as files have it: [`OwnEntry`], [`OwnLine`], [`OwnScene`], [`OwnVersion`]. They are written in the formats of the
//! extension that the seeds are about, so that it, and everything here that reads it, takes them for its own; how that looks only its
//! adapter knows.

pub(super) mod parts;

use forklore_json::Raw;

use super::auto_recap::write;
use crate::format::book::EntryImage;
use crate::format::revision::Revision;

pub use self::parts::{OwnEntry, OwnLine, OwnScene, OwnVersion, Role};

/// The title of the list of those of a type.
pub fn registry_title(kind: &str) -> String {
    write::registry_title(kind)
}

/// The text of such a list.
pub fn registry_text(kind: &str, lines: &[OwnLine]) -> String {
    write::registry_text(kind, lines)
}

/// An entry as it becomes in a book that may have it. Only what is memory's changes there.
pub fn entry(own: &OwnEntry, live: Option<&EntryImage>) -> EntryImage {
    write::entry(own, live)
}

/// Whether a person wrote into an entry of memory's. `None` if it is none.
pub fn edited(entry: &EntryImage) -> Option<bool> {
    write::edited(entry)
}

/// What a message that ends a scene has in its `extra`: the key, and the value there. What others have put into that value stays.
pub fn scene(scene: &OwnScene<'_>, extra: Raw<'_>) -> (&'static str, Vec<u8>) {
    write::scene(scene, extra)
}

/// What a message has there whose scene ends elsewhere by now; nothing if that was all. `None` if memory has no scene there.
pub fn no_scene(extra: Raw<'_>) -> Option<(&'static str, Option<Vec<u8>>)> {
    write::no_scene(extra)
}

/// The running recap of a chat of this name.
pub fn versions(metadata: Raw<'_>, versions: &[OwnVersion], chat: &str) -> Vec<Revision> {
    write::versions(metadata, versions, chat)
}
