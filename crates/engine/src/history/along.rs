//! What was brought along from other chats: where from, and what had happened to it there ([`fold_in`]).

use forklore_fs::PathError;
use forklore_journal::oplog::time;
use forklore_vault::{ChatIx, Library};

use super::{HistoryAlong, HistoryReport, Line, Wanted, of_line};
use crate::merge;

/// A second parent of a chat.
struct Second {
    told: HistoryAlong,
    /// The chat, if it is still there
    chat: Option<ChatIx>,
    /// The first message of it that the other does not have
    first: usize,
    /// The message that this is now, if its messages follow
    now: Option<usize>,
}

/// Tells where things were brought along from, and puts what had happened to them there among what happened here: to lorebooks, where lore
/// came along, and to messages, where those follow.
pub(super) fn fold_in(
    library: &Library,
    c: ChatIx,
    wanted: Wanted,
    report: &mut HistoryReport,
) -> Result<(), PathError> {
    for second in seconds(library, c) {
        if let Some(b) = second.chat.filter(|_| !(wanted.books && second.told.messages)) {
            let theirs = of_line(library, b, None, Wanted { limit: None, ..wanted })?;
            let own = theirs.lines.into_iter().filter(|line| line.chat == theirs.chat);
            own.filter_map(|line| second.line(line)).for_each(|line| insert(&mut report.lines, line));
        }
        report.along.push(second.told);
    }
    if let Some(limit) = wanted.limit.filter(|limit| report.lines.len() > *limit) {
        let old = report.lines.drain(..report.lines.len() - limit);
        report.earlier += old.map(|line| line.saves).sum::<usize>();
    }
    Ok(())
}

impl Second {
    /// What happened there, if it came along.
    fn line(&self, line: Line) -> Option<Line> {
        let kind = if self.told.messages { "chat" } else { "book" };
        let until = line.then.is_none_or(|then| then >= self.first && then <= self.told.message);
        if line.file != kind || line.at > self.told.at || !until {
            return None;
        }
        // What is counted in another chat's messages is nowhere in this one, unless they follow.
        let now = self.now.zip(line.then).map(|(now, then)| now + then - self.first);
        Some(Line { now, ..line })
    }
}

/// Among the others by its time, behind those of the same.
fn insert(lines: &mut Vec<Line>, line: Line) {
    let place = lines.iter().rposition(|other| other.at <= line.at).map_or(0, |place| place + 1);
    lines.insert(place, line);
}

/// The second parents of the chats that a line consists of, the nearest first.
fn seconds(library: &Library, c: ChatIx) -> Vec<Second> {
    let mut all = Vec::new();
    let mut here = Some(c);
    while let Some(c) = here.filter(|_| all.len() < 2 * library.chats().count()) {
        let chat = library.chat(c);
        let told = |name: &str, second: Option<ChatIx>, message: usize, messages: bool| HistoryAlong {
            chat: second.map_or_else(|| name.to_owned(), |second| library.address(second).to_string()),
            there: second.is_some(),
            message,
            at: time(chat.record().map_or(0, |record| record.created)),
            messages,
        };
        if let Some(learnt) = merge::learnt(chat) {
            let second = merge::second_parent(library, chat);
            let first = second.map_or(0, |second| merge::first_of_its_own(library, c, second));
            let told = told(&learnt.file, second, learnt.message, false);
            all.push(Second { told, chat: second, first, now: None });
        }
        if let Some(appended) = chat.record().and_then(|record| record.appended.as_ref()) {
            let second = merge::appended_from(library, chat);
            let now = chat.lineage().fork_message.map(|at| at + 1);
            let told = told(&appended.file, second, appended.message, true);
            all.push(Second { told, chat: second, first: appended.first, now });
        }
        here = chat.lineage().parent.filter(|parent| library.chat(*parent).path() != chat.path());
    }
    all
}
