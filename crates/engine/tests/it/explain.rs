//! [`explain`]: all that is known of a chat's books, for whoever has to find out why a state is not what it was.

use std::fmt::Write as _;

use forklore_vault::{ChatIx, Library};

/// Every change that the line of a chat sees, in clock order.
pub(crate) fn explain(library: &Library, chat: ChatIx) -> String {
    let lore = library.lore(chat).unwrap();
    let mut text = String::new();
    for life in &lore.lives {
        let sights: Vec<String> = life.sights.iter().map(|sight| format!("{:?}", sight.by)).collect();
        let _ = writeln!(
            text,
            "  {} of {:?}, used by {:?}: {}",
            life.book,
            life.owner,
            life.users,
            sights.join(", ")
        );
    }
    for change in &lore.known.changes {
        let of = |entry: Option<&forklore_core::format::book::EntryImage>| {
            entry.map_or("-".to_owned(), |e| format!("{:?} {} {:?}", e.uid, e.comment, e.content()))
        };
        let (before, after) = (of(change.before.as_ref()), of(change.after.as_ref()));
        let line = if change.line { " line" } else { "" };
        let _ = writeln!(
            text,
            "  {:?}{line} {:?} {:?}, clock {}, seen in {:?}: {before} -> {after}",
            change.thing, change.place, change.cause, change.clock, change.observed
        );
    }
    text
}
