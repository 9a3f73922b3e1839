//! Contamination: entries that come from after the chat, or from another line.

use forklore_core::check::{Code, Remedy, Severity};
use forklore_core::format::book::EntryImage;
use forklore_core::state::{Cause, Origin, Place, contamination, holes};
use forklore_fs::PathError;

use super::{Checker, count, list};
use forklore_vault::ChatIx;

impl Checker<'_> {
    pub(super) fn entries(&mut self, c: ChatIx) -> Result<(), PathError> {
        let library = self.library;
        let chat = library.chat(c);
        let Some((name, stem)) = chat.book() else { return Ok(()) };
        if !library.may_be_contaminated(c) {
            return Ok(());
        }
        let lore = library.lore(c)?;
        let (changes, present) = (&lore.known.changes, lore.present());
        let (mut future, mut foreign): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut sources: [Vec<Origin>; 2] = [Vec::new(), Vec::new()];
        for found in contamination(changes, present) {
            let from_ancestor = library.is_ancestor(found.origin.chat, c);
            let what = match found.lines.len() {
                0 => found.comment.to_string(),
                n => format!("{} in {}", count(n, "line", "lines"), found.comment),
            };
            let side = usize::from(!from_ancestor);
            [&mut future, &mut foreign][side].push(what);
            if !sources[side].contains(&found.origin) {
                sources[side].push(found.origin);
            }
        }
        for change in changes.iter().filter(|change| change.cause == Cause::Memory) {
            let future_mark = match change.place {
                Place::Ours(message) => message > chat.head(),
                // Of a parent that is gone, after our fork point.
                Place::Unattributed => true,
                _ => false,
            };
            // It may have been written anew since, or be in another line's book alone.
            let is_there = |entry: &&EntryImage| {
                change.after.as_ref().is_some_and(|after| entry.content() == after.content())
            };
            let there = present.iter().find(|(thing, _)| *thing == change.thing).map(|(_, entry)| entry);
            let Some(there) = there.filter(|_| future_mark).filter(is_there) else { continue };
            if !future.contains(&there.comment.to_string()) {
                future.push(there.comment.to_string());
            }
        }
        if chat.record().is_none() && chat.lineage().is_fork() && library.users_of(stem).len() < 2 {
            let lacking: Vec<String> = holes(&lore.known, chat.head(), present)
                .iter()
                .map(|entry| entry.comment.to_string())
                .collect();
            if !lacking.is_empty() {
                let message = format!(
                    "The lorebook was made without what this line had earned: {}.",
                    list(&lacking, 4)
                );
                let remedy = Remedy::heal(
                    "Run `forklore heal` on this chat: it gets a lorebook with all of it.",
                    "Heal this chat: it gets a lorebook with all of it.",
                );
                self.add(Code::BookDamaged, Severity::Warning, Some(c), Some(name), message, remedy);
            }
        }
        let remedy = Remedy::heal(
            "Run `forklore heal` before playing on: the model would be told things that have not happened here.",
            "Heal it before you play on: the model would be told things that have not happened here.",
        );
        for (code, names, sources, what) in [
            (Code::EntryFromFuture, future, &sources[0], "comes from later than this chat"),
            (Code::EntryForeign, foreign, &sources[1], "another line wrote"),
        ] {
            if names.is_empty() {
                continue;
            }
            let from: Vec<String> = sources
                .iter()
                .map(|origin| format!("message {} of \"{}\"", origin.message, self.name(origin.chat)))
                .collect();
            let from = if from.is_empty() { String::new() } else { format!("; from {}", list(&from, 3)) };
            let message = format!("The lorebook holds what {what}: {}{from}.", list(&names, 4));
            self.add(code, Severity::Error, Some(c), Some(name), message, remedy.clone());
        }
        Ok(())
    }
}
