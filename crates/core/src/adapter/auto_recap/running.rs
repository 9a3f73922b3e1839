//! The running recap: [`RunningRecap`] as stored, [`RunningRecap::project`] to a message; and the [`CombinedRecap`].

use forklore_json::Raw;

/// `chat_metadata` key of the running recap, and its older name.
pub const KEYS: [&str; 2] = ["auto_recap_running_scene_recaps", "auto_summarize_running_scene_summaries"];

/// The running recap of a chat: every version that was ever made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunningRecap {
    /// The chat that the extension believes it belongs to.
    pub chat_id: Option<String>,
    /// Number of the version in use; `None` if there is no version at all.
    pub current: Option<i64>,
    /// Versions in file order. Numbers can skip and even stand twice.
    pub versions: Vec<RecapVersion>,
}

/// One version of the running recap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecapVersion {
    /// Its number. 0 is a real version.
    pub version: i64,
    /// When it was made, in milliseconds since 1970.
    pub clock: i64,
    /// Its text; missing in versions that a broken editor stored.
    pub content: Option<String>,
    /// Message of the scene that was merged last.
    pub scene: usize,
    /// Events that its making turned into entries: (name, hash of the text).
    pub events: Vec<(String, String)>,
}

impl RecapVersion {
    /// Whether it has a text.
    pub fn is_whole(&self) -> bool {
        self.content.as_deref().is_some_and(|content| !content.trim().is_empty())
    }
}

/// What is left of a running recap at a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Projection {
    /// Place of the version in use.
    pub current: Option<usize>,
    /// Places of the versions that belong to the line, in file order.
    pub kept: Vec<usize>,
    /// Places of the others.
    pub dropped: Vec<usize>,
}

impl RunningRecap {
    /// Reads it out of `chat_metadata`.
    pub fn read(metadata: Raw<'_>) -> Option<Self> {
        let raw = KEYS.iter().find_map(|key| metadata.get(key))?;
        let versions: Vec<RecapVersion> =
            raw.get("versions").unwrap_or(Raw::NULL).elements().filter_map(read_version).collect();
        let current = raw.get("current_version").and_then(Raw::as_i64);
        Some(Self {
            chat_id: raw.get("chat_id").and_then(Raw::as_text).map(std::borrow::Cow::into_owned),
            // "current_version": 0 beside an empty list means that there is none.
            current: current.filter(|_| !versions.is_empty()),
            versions,
        })
    }

    /// The place of the version in use: the first with that number, as the extension looks it up.
    pub fn current_place(&self) -> Option<usize> {
        let current = self.current?;
        self.versions.iter().position(|v| v.version == current)
    }

    /// The versions that belong to messages 0..=`at` of a line, where `place` tells at which message of the line the scene of a
    /// version ends, if the line has it.
    ///
    /// If nothing is dropped, the version in use stays; otherwise it is the one that goes furthest in the story. A version without a text
    /// is damaged: then the last whole one counts.
    pub fn project(&self, at: usize, place: &dyn Fn(&RecapVersion) -> Option<usize>) -> Projection {
        let places: Vec<Option<usize>> = self.versions.iter().map(place).collect();
        let all = 0..self.versions.len();
        let (kept, dropped): (Vec<usize>, Vec<usize>) =
            all.partition(|i| places[*i].is_some_and(|message| message <= at));
        let whole = |i: &usize| self.versions[*i].is_whole();
        let in_use = self.current_place().filter(|_| dropped.is_empty());
        let current = if let Some(in_use) = in_use.filter(|i| whole(i) || !kept.iter().any(whole)) {
            Some(in_use)
        } else {
            kept.iter().copied().max_by_key(|i| {
                let v = &self.versions[*i];
                (v.is_whole(), places[*i], v.clock, *i)
            })
        };
        Projection { current, kept, dropped }
    }
}

fn read_version(raw: Raw<'_>) -> Option<RecapVersion> {
    let number = |key: &str| raw.get(key).and_then(Raw::as_i64);
    let events = raw.get("event_keys").unwrap_or(Raw::NULL).elements().filter_map(Raw::as_text);
    Some(RecapVersion {
        version: number("version")?,
        clock: number("timestamp").unwrap_or(0),
        content: raw.get("content").and_then(Raw::as_text).map(std::borrow::Cow::into_owned),
        scene: number("new_scene_index").and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
        events: events.filter_map(|key| event(&key)).collect(),
    })
}

/// `<version>:<name>:<hash>`; the name may hold colons itself.
fn event(key: &str) -> Option<(String, String)> {
    let (_, rest) = key.split_once(':')?;
    let (name, hash) = rest.rsplit_once(':')?;
    Some((name.to_owned(), hash.to_owned()))
}

/// The combined recap of seed 001: one text for everything up to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CombinedRecap {
    /// How many messages it covers.
    pub message_count: i64,
    /// Its text.
    pub content: String,
}

impl CombinedRecap {
    /// Reads it out of `chat_metadata`.
    pub fn read(metadata: Raw<'_>) -> Option<Self> {
        let raw = metadata.at(&["auto_recap", "combined_recap"])?;
        Some(Self {
            message_count: raw.get("message_count").and_then(Raw::as_i64)?,
            content: raw.get("content").and_then(Raw::as_text)?.into_owned(),
        })
    }

    /// Whether it tells of nothing after message `at`.
    pub fn fits(&self, at: usize) -> bool {
        i64::try_from(at).is_ok_and(|at| self.message_count <= at + 1)
    }
}
