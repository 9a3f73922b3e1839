//! What is refused before anything happens, and what is only warned of.

use forklore_config::Config;
use forklore_core::adapter::Scene;
use forklore_fs::PathError;
use forklore_vault::Library;
use forklore_vault::state::at::{BookAt, SourceKind};

use super::body::LastLine;
use super::request::Spot;
use super::{ForkError, queue};
use crate::warning::{Warning, WarningCode};

/// The checks that need nothing but the request: message, chat, queue.
pub(super) fn before(library: &Library, spot: &Spot<'_>) -> Result<usize, ForkError> {
    let chat = library.chat(spot.chat);
    if let Some(why) = chat.unreadable() {
        return Err(ForkError::CorruptChat { chat: chat.name().to_owned(), why: why.to_owned() });
    }
    let messages = chat.transcript().len();
    if spot.at >= messages {
        return Err(ForkError::NoSuchMessage { at: spot.at, chat: chat.name().to_owned(), messages });
    }
    queue::waiting(library, spot)
}

/// What the message is in the story that extensions tell.
pub(super) struct Surroundings<'a> {
    pub(super) at: usize,
    /// The scene that ends with the message
    pub(super) scene: Option<&'a Scene>,
    /// The message that ends the last scene up to here
    pub(super) last_scene: Option<usize>,
    /// Whether the chosen version of that scene's recap kept the lorebook as it was
    pub(super) snapshot: bool,
    /// Whether a version of the running recap goes up to that scene
    pub(super) in_running: bool,
    /// Whether the chat has anything to do with scenes
    pub(super) has_scenes: bool,
}

impl<'a> Surroundings<'a> {
    pub(super) fn of(library: &'a Library, spot: &Spot<'_>, last: &'a LastLine) -> Result<Self, PathError> {
        let Spot { chat: c, at, .. } = *spot;
        let chat = library.chat(c);
        let running = library.running_recap(c)?;
        let kept = |scene: &Scene| {
            let mut here = chat.snapshots().sightings.iter().filter(|seen| seen.message == at);
            // Entries that were too many to keep are none the less there.
            here.any(|seen| {
                seen.version == scene.current && seen.entries.as_ref().is_none_or(|all| !all.is_empty())
            })
        };
        let here = last.scene().unwrap_or_else(|| chat.facts().scene(at).map(|scene| (scene, kept(scene))));
        let snapshot = here.is_some_and(|(_, snapshot)| snapshot);
        let here = here.map(|(scene, _)| scene);
        let scene = here.filter(|scene| scene.visible);
        let before = chat.facts().scenes.iter().filter(|(message, scene)| *message < at && scene.is_real());
        let before = before.map(|(message, _)| *message).max();
        let last_scene = here.filter(|scene| scene.is_real()).map(|_| at).or(before);
        let in_running = running.as_ref().is_some_and(|running| {
            let kept = running.project(last.state_at(at)).kept;
            last_scene.is_some() && kept.iter().any(|i| running.places[*i] == last_scene)
        });
        let has_scenes = !chat.facts().scenes.is_empty() || running.is_some();
        Ok(Self { at, scene, snapshot, last_scene, in_running, has_scenes })
    }
}

/// Warnings about the scene and the state; those that are required by the settings are refusals.
pub(super) fn judge(
    spot: &Spot<'_>,
    config: &Config,
    around: &Surroundings<'_>,
    book: &BookAt,
) -> Result<Vec<Warning>, ForkError> {
    let at = around.at;
    let strict = spot.request.strict.unwrap_or(config.fork.strict);
    let mut warnings = Vec::new();
    let mut tell = |required: bool, useful: bool, code: WarningCode, message: String| {
        let warning = Warning::new(code, message);
        if required {
            return Err(ForkError::Required(warning));
        }
        if useful {
            warnings.push(warning);
        }
        Ok(())
    };
    // What is missing then is the state, and a scene break here would not bring it.
    if let (true, Some(name), SourceKind::Degraded) = (strict, &book.name, book.source.kind) {
        return Err(ForkError::Unresolvable { book: name.clone(), at });
    }
    // Who says that this fork may be loose has been told what is missing.
    let needs_break = strict || (config.checkpoint.require_scene_break && spot.request.strict.is_none());
    if around.scene.is_none() {
        let message = format!("Message {at} does not end a scene");
        tell(needs_break, around.has_scenes, WarningCode::NoSceneBreak, message)?;
    }
    if around.scene.is_none_or(|scene| !scene.recapped) {
        let useful = around.scene.is_some();
        tell(
            strict,
            useful,
            WarningCode::NoSceneRecap,
            format!("The scene that ends at message {at} has no recap"),
        )?;
    }
    if let Some(scene) = around.scene
        && !around.snapshot
    {
        let message = format!("The scene that ends at message {at} kept no snapshot of the lorebook");
        tell(strict, scene.recapped, WarningCode::NoSceneSnapshot, message)?;
    }
    if let Some(scene) = around.last_scene
        && !around.in_running
    {
        let message = format!("The scene that ends at message {scene} is not in the running recap yet");
        tell(strict, true, WarningCode::NoRunningRecap, message)?;
    } else if around.last_scene.is_none() {
        let message = "There is no running recap at this message".to_owned();
        tell(strict, false, WarningCode::NoRunningRecap, message)?;
    }
    match (&book.name, book.source.kind) {
        (None, _) => {
            let message = "The chat has no lorebook of its own, so the fork has none either".to_owned();
            tell(strict, true, WarningCode::NoLorebook, message)?;
        }
        (Some(name), SourceKind::Degraded) => {
            let copy = match book.source.message {
                Some(first) => format!("as Forklore first saw it, when the chat had {}", messages(first + 1)),
                None => "as it is now".to_owned(),
            };
            let message = format!(
                "Nothing tells how the lorebook \"{name}\" was at message {at}: the fork gets a copy of it {copy}"
            );
            tell(false, true, WarningCode::StateInexact, message)?;
        }
        (Some(name), _) => {
            if book.live.is_none() {
                if strict && book.source.kind == SourceKind::None {
                    return Err(ForkError::Unresolvable { book: name.clone(), at });
                }
                let message = if book.entries.is_empty() {
                    format!(
                        "The lorebook \"{name}\" is not there, and nothing tells of it: the fork has none"
                    )
                } else {
                    format!(
                        "The lorebook \"{name}\" is not there: the fork's was rebuilt from what the scenes tell"
                    )
                };
                tell(false, true, WarningCode::BookMissing, message)?;
            }
            if let (SourceKind::Scene, Some(message), Some(distance @ 1..)) =
                (book.source.kind, book.source.message, book.source.distance)
            {
                let ago = messages(distance);
                let message = format!(
                    "The lorebook is as of message {message}, {ago} before: later facts were not written down yet"
                );
                tell(false, true, WarningCode::StateOlder, message)?;
            }
        }
    }
    Ok(warnings)
}

fn messages(n: usize) -> String {
    if n == 1 { "1 message".to_owned() } else { format!("{n} messages") }
}
