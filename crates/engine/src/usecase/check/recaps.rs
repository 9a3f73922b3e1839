//! The running recap: versions from the future, of another line, or missing.

use forklore_core::adapter::auto_recap::running::RecapVersion;
use forklore_core::check::{Code, Severity};

use super::{Checker, list};
use crate::vault::Library;

impl Library {
    /// Whether a version of a chat's running recap belongs to the chat's line: its scene's message is there, carries a recap, and
    /// is not merely another line's message with the same number.
    pub fn carries_version(&self, chat: usize, version: &RecapVersion) -> bool {
        let here = &self.chats[chat];
        if !here.facts.scene(version.scene).is_some_and(|scene| scene.recapped) {
            return false;
        }
        let parent =
            here.lineage.parent.filter(|_| here.lineage.fork_message.is_some_and(|f| version.scene > f));
        let inherited = parent.is_some_and(|p| {
            let parent = &self.chats[p];
            let same = |v: &RecapVersion| v.version == version.version && v.clock == version.clock;
            parent.running.iter().flat_map(|r| &r.versions).any(same)
                && parent.transcript.moment(version.scene) != here.transcript.moment(version.scene)
        });
        !inherited
    }
}

impl Checker<'_> {
    pub(super) fn recaps(&mut self, c: usize) {
        let library = self.library;
        let chat = &library.chats[c];
        let combined = chat.facts.scenes.iter().filter(|(_, scene)| scene.is_real() && scene.is_combined());
        let combined: Vec<usize> = combined.map(|(message, _)| *message).collect();
        let Some(running) = &chat.running else { return };
        let head = chat.head();
        let current = running.current_place();
        let (mut future, mut foreign) = (Vec::new(), Vec::new());
        for (i, version) in running.versions.iter().enumerate() {
            if version.scene > head {
                future.push(i);
            } else if !library.carries_version(c, version) {
                foreign.push(i);
            }
        }
        let remedy = "Do not rely on the recap in this chat: choose a version of its own in Auto-Recap's selector, and delete the others.";
        for (code, places, what) in [
            (Code::RecapFromFuture, future, "from after its last message"),
            (Code::RecapForeign, foreign, "of scenes that another line wrote"),
        ] {
            if places.is_empty() {
                continue;
            }
            let in_use = current.is_some_and(|place| places.contains(&place));
            let names: Vec<String> = places
                .iter()
                .map(|i| {
                    format!(
                        "version {} (message {})",
                        running.versions[*i].version, running.versions[*i].scene
                    )
                })
                .collect();
            let used = if in_use { ", and one of them is in use" } else { "" };
            let message = format!("The running recap has versions {what}: {}{used}.", list(&names, 5));
            let severity = if in_use { Severity::Error } else { Severity::Warning };
            self.add(code, severity, Some(c), None, message, remedy);
        }
        if let (Some(number), None) = (running.current, current) {
            let message =
                format!("Version {number} of the running recap is in use, but there is no such version.");
            let remedy = "Choose another version in Auto-Recap's selector.";
            self.add(Code::RecapVersionMissing, Severity::Warning, Some(c), None, message, remedy);
        }
        let missing: Vec<String> = combined
            .iter()
            .filter(|message| !running.versions.iter().any(|v| v.scene == **message))
            .map(|message| format!("message {message}"))
            .collect();
        if !missing.is_empty() {
            let message = format!(
                "Scenes were merged into the running recap, but their versions are gone: {}.",
                list(&missing, 6)
            );
            let remedy = "Renaming a chat makes Auto-Recap forget its running recap. Combine the scene again, or take the recap from a fork or backup.";
            self.add(Code::RecapVersionMissing, Severity::Warning, Some(c), None, message, remedy);
        }
    }
}
