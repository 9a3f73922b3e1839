//! [`Library::scene_of`]: which scene a version of a running recap tells of.

use forklore_core::adapter::recap::RecapVersion;
use forklore_core::adapter::{Scene, SceneVersion};

use crate::{ChatIx, Library};

/// A version of the running recap is stored this long before its scene counts as combined, in milliseconds, at most.
const SOON: i64 = 5_000;

impl Library {
    /// The message whose scene a version of a chat's running recap was made for, if it is on the chat's line.
    ///
    /// The version has the scene's number; but a fork inherits versions of scenes that it does not have, under numbers that can be
    /// its own scenes', and deleting an old message moves scenes without changing the numbers in the recap.
    pub fn scene_of(&self, chat: ChatIx, version: &RecapVersion) -> Option<usize> {
        self.with_ghosts().find_scene(chat, version)
    }

    fn find_scene(&self, chat: ChatIx, version: &RecapVersion) -> Option<usize> {
        let own = self.chats[chat].facts.scene(version.scene).is_some_and(|scene| scene.recapped);
        if own && self.chats[chat].lineage.fork_message.is_none_or(|fork| version.scene <= fork) {
            return Some(version.scene);
        }
        // Relatives that have the version and its scene: theirs is ours if their message is.
        let tellers = self.tellers(chat, version);
        let shared = |relative| self.shared_scene(chat, relative, version.scene);
        if let Some(message) = tellers.lines(chat).find_map(shared) {
            return Some(message);
        }
        // A relative below us only repeats what it has from us.
        let told_elsewhere = tellers.others(chat).any(|relative| !self.is_ancestor(chat, relative));
        if own && !told_elsewhere {
            return Some(version.scene);
        }
        if told_elsewhere {
            return None;
        }
        let near = |(_, scene): &&(usize, Scene)| {
            let then = |v: &SceneVersion| v.combined && (0..=SOON).contains(&(v.clock - version.clock));
            scene.recapped && version.clock > 0 && scene.versions.iter().any(then)
        };
        self.chats[chat].facts.scenes.iter().find(near).map(|(message, _)| *message)
    }
}
