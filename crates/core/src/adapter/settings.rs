//! What extensions keep in SillyTavern's settings under the names of chats: [`changes`] tells how it follows a chat's [`Fate`].
//!
//! Names are all that such settings know a chat by, and two characters can each have a chat of the same name: what another chat goes by
//! is neither written over nor taken away.

use forklore_json::Raw;

use super::Adapter;

/// What becomes of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate<'a> {
    /// Another one is forked from it.
    Forked {
        /// Its name
        from: &'a str,
        /// Name of the fork
        to: &'a str,
    },
    /// It goes by another name.
    Renamed {
        /// Its former name
        from: &'a str,
        /// Its new name
        to: &'a str,
    },
    /// It is deleted.
    Deleted {
        /// Its name
        from: &'a str,
    },
}

impl<'a> Fate<'a> {
    /// The name that settings are kept under so far.
    pub fn from(self) -> &'a str {
        match self {
            Self::Forked { from, .. } | Self::Renamed { from, .. } | Self::Deleted { from } => from,
        }
    }

    /// The name that they are to be kept under.
    pub fn to(self) -> Option<&'a str> {
        match self {
            Self::Forked { to, .. } | Self::Renamed { to, .. } => Some(to),
            Self::Deleted { .. } => None,
        }
    }
}

/// A value in `settings.json` that becomes another one, or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsChange {
    /// Keys that lead there.
    pub path: Vec<String>,
    /// Its value; nothing if it goes.
    pub to: Option<Vec<u8>>,
}

/// How the settings follow a chat's fate, for extensions of these adapters. `is_anothers` tells whether another chat has a name.
pub fn changes(
    adapters: &[&dyn Adapter],
    settings: Raw<'_>,
    fate: Fate<'_>,
    is_anothers: &dyn Fn(&str) -> bool,
) -> Vec<SettingsChange> {
    let (from, to) = (fate.from(), fate.to());
    if to.is_some_and(is_anothers) {
        return Vec::new();
    }
    let goes = !matches!(fate, Fate::Forked { .. }) && !is_anothers(from);
    let mut changes = Vec::new();
    for map in adapters.iter().flat_map(|adapter| adapter.chat_settings()) {
        let path = |chat: &str| -> Vec<String> {
            let keys = std::iter::once(&EXTENSIONS).chain(*map).map(|key| (*key).to_owned());
            keys.chain([chat.to_owned()]).collect()
        };
        let map = settings.get(EXTENSIONS).and_then(|all| all.at(map));
        let Some(value) = map.and_then(|map| map.get(from)) else { continue };
        let put = to.map(|to| SettingsChange { path: path(to), to: Some(value.bytes().to_vec()) });
        changes.extend(put);
        changes.extend(goes.then(|| SettingsChange { path: path(from), to: None }));
    }
    changes
}

/// The key of `settings.json` that extensions keep their settings under.
pub const EXTENSIONS: &str = "extension_settings";
