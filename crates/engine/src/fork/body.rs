//! The messages of a fork: [`LastLine`] is the last of them, [`Body`] what comes along of the parent's file.

use std::ops::Range;

use forklore_core::adapter::{self, Scene};
use forklore_core::fork::swipe;
use forklore_core::format::chat::Message;
use forklore_core::story::{Moment, swipe_moments};
use forklore_fs::{OpenFile, PathError};
use forklore_journal as journal;
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};

use super::ForkError;
use super::request::Spot;

/// The last message of a fork: the parent's, or that with another swipe shown.
pub(super) struct LastLine {
    parents: Vec<u8>,
    /// With another swipe shown, if the fork shows another one
    pub(super) swiped: Option<Vec<u8>>,
    /// The scene, if any, that ends with that swipe, and whether it has a snapshot
    scene: Option<(Scene, bool)>,
}

impl LastLine {
    pub(super) fn of(library: &Library, spot: &Spot<'_>) -> Result<Self, ForkError> {
        let parents = library.message_line(spot.chat, spot.at)?.unwrap_or_default();
        let message = Message::new(Raw::parse(&parents).unwrap_or(Raw::NULL));
        let swiped = spot.request.swipe.map(|k| other_swipe(spot, message, k)).transpose()?.flatten();
        let scene = swiped.as_ref().and_then(|line| {
            let (scene, sightings) = adapter::scene(Message::new(Raw::trust(line)))?;
            let mut chosen = sightings.iter().filter(|seen| seen.version == scene.current);
            let snapshot = chosen.any(|seen| !seen.entries.is_empty());
            Some((scene, snapshot))
        });
        Ok(Self { parents, swiped, scene })
    }

    fn parents(&self) -> Message<'_> {
        Message::new(Raw::parse(&self.parents).unwrap_or(Raw::NULL))
    }

    /// As the fork has it.
    pub(super) fn shown(&self) -> Message<'_> {
        self.swiped.as_deref().map_or_else(|| self.parents(), |line| Message::new(Raw::trust(line)))
    }

    /// The message whose state the fork has: what was told of the swipe that the parent shows is not told of another one.
    pub(super) fn state_at(&self, at: usize) -> usize {
        if self.swiped.is_some() { at.saturating_sub(1) } else { at }
    }

    /// The scene that ends with it, and whether it has a snapshot; nothing where it is the parent's, of which all is known.
    pub(super) fn scene(&self) -> Option<Option<(&Scene, bool)>> {
        let scene = || self.scene.as_ref().map(|(scene, snapshot)| (scene, *snapshot));
        self.swiped.is_some().then(scene)
    }
}

/// The line of the last message with another swipe shown; nothing if it is the one that is shown anyway.
fn other_swipe(spot: &Spot<'_>, message: Message<'_>, k: usize) -> Result<Option<Vec<u8>>, ForkError> {
    let swipes = message.swipes().count();
    let shown = message.raw().get("swipe_id").and_then(Raw::as_i64).unwrap_or(0);
    let line = swipe::show(message.raw(), k);
    match line {
        None => Err(ForkError::NoSuchSwipe { at: spot.at, swipe: k, swipes }),
        Some(_) if i64::try_from(k) == Ok(shown) => Ok(None),
        some => Ok(some),
    }
}

/// What comes along of the parent's file.
pub(super) struct Body {
    /// From the end of the header line
    pub(super) range: Range<u64>,
    /// Whether the header line ends with a carriage return
    pub(super) carriage_return: bool,
    /// Identity of the last message with everything before it
    pub(super) moment: Moment,
}

impl Body {
    pub(super) fn of(library: &Library, spot: &Spot<'_>, last: &LastLine) -> Result<Self, ForkError> {
        let chat = library.chat(spot.chat);
        let file = library.fs().open(chat.path())?;
        let (start, carriage_return) = header_end(library, spot.chat, &*file)?;
        let row = chat.transcript().row(spot.at).unwrap_or_default();
        if row.start < start || row.len == 0 {
            // What is remembered of the chat is torn, and the chat itself could not be read again.
            let why = format!("message {} cannot be found in it", spot.at);
            return Err(ForkError::CorruptChat { chat: chat.name().to_owned(), why });
        }
        let end = if last.swiped.is_some() { row.start } else { row.start + u64::from(row.len) };
        let moment = match (&last.swiped, spot.request.swipe) {
            (Some(_), Some(k)) => swipe_moments(chat.transcript().moment_before(spot.at), last.parents())
                .get(k)
                .copied()
                .unwrap_or_default(),
            _ => row.moment,
        };
        Ok(Self { range: start..end, carriage_return, moment })
    }
}

/// Where the header line ends, and whether with a carriage return; for a chat without a header, where the first message starts.
fn header_end(library: &Library, c: ChatIx, file: &dyn OpenFile) -> Result<(u64, bool), ForkError> {
    let chat = library.chat(c);
    let fail = |source| PathError { path: chat.path().clone(), doing: "read", source };
    if chat.header().raw() == Raw::NULL || chat.kept().is_some() {
        return Ok((chat.transcript().row(0).map_or(0, |row| row.start), false));
    }
    let line = journal::header_line(file).map_err(fail)?;
    let last = file.read_range(line.end.saturating_sub(1)..line.end).map_err(fail)?;
    Ok((line.end, last == b"\r"))
}
