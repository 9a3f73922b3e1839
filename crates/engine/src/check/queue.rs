//! The queue of work: another chat's, or stuck.

use forklore_core::adapter::{Operation, Status};
use forklore_core::check::{Code, Severity};
use forklore_core::format::names::book_stem;
use forklore_fs::PathError;

use super::{Checker, list};
use forklore_vault::ChatIx;

/// How often an operation may fail before it counts as stuck.
const MANY_RETRIES: i64 = 5;
/// How long an operation may run before it counts as stuck, in milliseconds.
const LONG: i64 = 60 * 60 * 1000;

impl Checker<'_> {
    pub(super) fn queue(&mut self, c: ChatIx) -> Result<(), PathError> {
        let library = self.library;
        let chat = library.chat(c);
        let Some((name, stem)) = chat.book() else { return Ok(()) };
        let users = library.users_of(stem);
        if users.len() > 1 && library.owner_of(stem) != Some(c) {
            // The queue of a shared book is the owner's.
            return Ok(());
        }
        let open: Vec<Operation> =
            library.operations(c)?.into_iter().filter(|op| op.status.is_open()).collect();
        self.timed |= open.iter().any(|op| op.status == Status::InProgress);
        let head = chat.head();
        let beyond = |op: &&Operation| {
            let elsewhere = op.book.as_deref().is_some_and(|book| book_stem(book) != *stem);
            elsewhere || op.messages.iter().any(|message| *message > head)
        };
        let foreign: Vec<String> = open.iter().filter(beyond).map(|op| op.kind.clone()).collect();
        if !foreign.is_empty() {
            let message = format!(
                "The queue holds work for another lorebook, or for messages that this chat does not have: {}.",
                list(&foreign, 4)
            );
            let remedy = format!(
                "Clear the queue in {} before it runs another chat's work on this one.",
                whose(open.iter().filter(beyond))
            );
            self.add(Code::QueueForeign, Severity::Error, Some(c), Some(name), message, remedy);
        }
        let is_stuck = |op: &&Operation| {
            op.retries >= MANY_RETRIES
                || (op.status == Status::InProgress
                    && op.started.is_some_and(|started| self.now - started > LONG))
        };
        let stuck: Vec<String> = open
            .iter()
            .filter(is_stuck)
            .map(|op| match &op.error {
                Some(error) => format!("{} ({error})", op.kind),
                None => op.kind.clone(),
            })
            .collect();
        if !stuck.is_empty() {
            let message = format!("Work in the queue does not get done: {}.", list(&stuck, 3));
            let remedy = format!(
                "Look at {}'s queue in SillyTavern: mend the connection, or remove the work.",
                whose(open.iter().filter(is_stuck))
            );
            self.add(Code::QueueStuck, Severity::Warning, Some(c), Some(name), message, remedy);
        }
        Ok(())
    }
}

/// The extensions whose work it is.
fn whose<'a>(work: impl Iterator<Item = &'a Operation>) -> String {
    let mut names: Vec<&str> = work.map(|op| op.of).collect();
    names.dedup();
    names.join(" and ")
}
