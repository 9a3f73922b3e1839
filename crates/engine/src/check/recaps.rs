//! The running recap: versions from the future, of another line, or missing.

use forklore_core::adapter::Adapter;
use forklore_core::adapter::recap::{self, RecapVersion};
use forklore_core::check::{Code, Remedy, Severity};
use forklore_vault::ChatIx;

use super::{Checker, list};

impl Checker<'_> {
    pub(super) fn recaps(&mut self, c: ChatIx) {
        self.combined_recap(c);
        self.running_recap(c);
    }

    /// One text for everything up to a message: if that message is not there, or another line's is, it tells what has not happened.
    fn combined_recap(&mut self, c: ChatIx) {
        let chat = self.library.chat(c);
        let Some(recap) = recap::combined(chat.header().metadata()) else { return };
        let (covers, has) = (recap.message_count, chat.transcript().len());
        let (code, message) = if !recap.fits(chat.head()) {
            let message = format!("The combined recap tells of {covers} messages, and there are only {has}.");
            (Code::RecapFromFuture, message)
        // A history that cannot be read is told elsewhere.
        } else if let Ok(Some((from, fork))) = self.library.combined_from(c) {
            let whose = self.library.chat(from).name();
            let message = format!(
                "The combined recap is that of \"{whose}\" and tells of {covers} messages there: what came after message {fork} did not happen here."
            );
            (Code::RecapForeign, message)
        } else {
            return;
        };
        let remedy = Remedy::heal(
            "Run `forklore heal` on this chat: it gets the last one that fits, if history or a backup has it.",
            "Heal this chat: it gets the last one that fits, if history or a backup has it.",
        );
        self.add(code, Severity::Warning, Some(c), None, message, remedy);
    }

    fn running_recap(&mut self, c: ChatIx) {
        let library = self.library;
        let chat = library.chat(c);
        let Some(running) = chat.running() else { return };
        let keeper = || recap::keeper(chat.header().metadata());
        let head = chat.head();
        let current = running.current_place();
        let (mut future, mut foreign) = (Vec::new(), Vec::new());
        for (i, version) in running.versions.iter().enumerate() {
            match library.scene_of(c, version) {
                Some(_) => {}
                None if version.scene > head => future.push(i),
                None => foreign.push(i),
            }
        }
        let alone = library.family(c).len() < 2;
        let of_others = if alone {
            "of scenes that have no recap any more"
        } else {
            "of scenes that are not on this line"
        };
        let remedy = Remedy::heal(
            "Run `forklore heal` on this chat: versions that are not its own are put aside, and the right one is in use.",
            "Heal this chat: versions that are not its own are put aside, and the right one is in use.",
        );
        for (code, places, what) in [
            (Code::RecapFromFuture, future, "from after its last message"),
            (Code::RecapForeign, foreign, of_others),
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
            let severity = if in_use && !alone { Severity::Error } else { Severity::Warning };
            self.add(code, severity, Some(c), None, message, remedy.clone());
        }
        if let (Some(number), None) = (running.current, current) {
            let message =
                format!("Version {number} of the running recap is in use, but there is no such version.");
            let selector = keeper().map_or_else(|| "the extension".to_owned(), Adapter::selector);
            let remedy = Remedy::heal(
                format!("Run `forklore heal` on this chat, or choose another version in {selector}."),
                format!("Heal this chat, or choose another version in {selector}."),
            );
            self.add(Code::RecapVersionMissing, Severity::Warning, Some(c), None, message, remedy);
        }
        let whole = || running.versions.iter().any(RecapVersion::is_whole);
        if let Some(version) = current.map(|place| &running.versions[place])
            && !version.is_whole()
            && whole()
        {
            let message = format!(
                "Version {} of the running recap is in use, but it has no text: the model would be told nothing.",
                version.version
            );
            let remedy = Remedy::heal(
                "Run `forklore heal` on this chat: the last version that has a text is in use again.",
                "Heal this chat: the last version that has a text is in use again.",
            );
            self.add(Code::RecapVersionMissing, Severity::Warning, Some(c), None, message, remedy);
        }
        let missing: Vec<String> =
            library.untold_scenes(c).into_iter().map(|message| format!("message {message}")).collect();
        if !missing.is_empty() {
            let message = format!(
                "Scenes were merged into the running recap, but their versions are gone: {}.",
                list(&missing, 6)
            );
            let how = keeper().and_then(Adapter::loses_recaps).map(|how| how + " ").unwrap_or_default();
            let if_known =
                "brings it back if history, a backup or a relative has it; else combine the scenes again.";
            let remedy =
                Remedy::heal(format!("{how}`forklore heal` {if_known}"), format!("{how}Healing {if_known}"));
            self.add(Code::RecapVersionMissing, Severity::Warning, Some(c), None, message, remedy);
        }
    }
}
