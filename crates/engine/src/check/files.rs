//! Damaged chat files and left-overs.

use forklore_core::check::{Code, Severity};
use forklore_fs::VaultPath;
use forklore_vault::ChatIx;
use forklore_vault::read::facts::Damage;

use super::{Checker, count};

impl Checker<'_> {
    pub(super) fn damage(&mut self, c: ChatIx) {
        let library = self.library;
        let chat = library.chat(c);
        if let Some(why) = chat.unreadable() {
            let message = format!("The chat cannot be read: {why}.");
            let remedy =
                "Give Forklore (and SillyTavern) the right to read the file, or put a backup in its place.";
            self.add(Code::ChatDamaged, Severity::Error, Some(c), None, message, remedy);
            return;
        }
        for damage in &chat.facts().damage {
            let (severity, message, remedy) = match damage {
                Damage::Bom => (
                    Severity::Error,
                    "The file starts with a byte order mark. SillyTavern will not find its header and will lose the first message.".to_owned(),
                    "Save the file again as UTF-8 without a byte order mark (BOM) before opening it in SillyTavern.",
                ),
                Damage::Empty => (
                    Severity::Warning,
                    "The file holds no message and no header.".to_owned(),
                    "Delete the chat in SillyTavern, or bring it back from the backups folder.",
                ),
                Damage::Headerless => (
                    Severity::Warning,
                    "The file has no header line. SillyTavern takes the first message for the header and does not show it.".to_owned(),
                    "Put a line {\"chat_metadata\":{},\"user_name\":\"unused\",\"character_name\":\"unused\"} before the first one.",
                ),
                Damage::BrokenLine { line, what, last: true } => (
                    Severity::Error,
                    format!("Line {line}, the last one, is cut off ({what}). SillyTavern drops it when it next saves."),
                    "Copy the line elsewhere if its text matters, or take the chat from the backups folder.",
                ),
                Damage::BrokenLine { line, what, last: false } => (
                    Severity::Error,
                    format!("Line {line} is not valid ({what}). SillyTavern leaves it out and drops it when it next saves."),
                    "Mend the line in a text editor, or copy it elsewhere before SillyTavern saves the chat.",
                ),
            };
            self.add(Code::ChatDamaged, severity, Some(c), None, message, remedy);
        }
    }

    pub(super) fn left_overs(&mut self) {
        let library = self.library;
        for path in library.not_read() {
            let message = format!(
                "{path} could not be read: it is closed to Forklore, or a link that leads out of the vault or nowhere."
            );
            let remedy = "Give the right to read it, or put the file or folder itself in the link's place: nothing outside the vault is read.";
            self.add(Code::ChatDamaged, Severity::Warning, None, None, message, remedy);
        }
        let closed = library.closed_backups();
        if let Some(first) = closed.first() {
            let many = count(closed.len(), "backup of SillyTavern's", "backups of SillyTavern's");
            let what = match first.parent() == VaultPath::root() {
                true => format!("The folder {first} cannot be read"),
                false => format!("{many} cannot be read, {first} for one"),
            };
            let message = format!("{what}: what backups tell of the past is not known.");
            let remedy =
                "Give Forklore the right to read the folder backups and what is in it, and look at the disk.";
            self.add(Code::ChatDamaged, Severity::Warning, None, None, message, remedy);
        }
        for path in library.litter() {
            let message = format!("{path} was left behind by a save that was interrupted.");
            let remedy = "Compare it with the file of the same name; if that one is fine, delete this one.";
            self.add(Code::TmpLitter, Severity::Info, None, None, message, remedy);
        }
        if !library.unfinished().is_empty() {
            let files = count(library.unfinished().len(), "file", "files");
            let message =
                format!("An operation of Forklore was interrupted and left {files} in .forklore/tx.");
            let remedy = "Leave the files there: the next Forklore that changes the vault finishes the operation, or takes it back.";
            self.add(Code::UnfinishedOperation, Severity::Warning, None, None, message, remedy);
        }
    }
}
