//! [`own_book`]: what becomes of the book of a chat that must not, or shall not, go on with the one it is bound to.

use std::collections::HashSet;

use forklore_config::{Config, Undated};
use forklore_core::fork::book::{Content, assemble};
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::format::names::book_stem;
use forklore_core::format::record::Uncertain;
use forklore_core::state::{Thing, Why, holes};
use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_vault::state::at::{BookAt, Wanted};
use forklore_vault::{ChatIx, Library};

use super::{Choice, HealError};
use crate::new_book;

/// What becomes of the book.
pub(super) enum Own {
    Book {
        name: String,
        path: VaultPath,
        bytes: Vec<u8>,
        /// Entries that nobody can attribute
        quarantine: Vec<EntryImage>,
        /// Entries in it that nothing dates
        undated: Vec<Uncertain>,
        how: &'static str,
    },
    /// The chat's own book is there, under this name.
    Rebind {
        name: String,
        how: &'static str,
    },
    /// A fork that waits for its book goes on using its parent's, which is kept by hand.
    Shared {
        name: String,
    },
    Detach {
        how: &'static str,
    },
    Accept,
    /// Nothing to copy from
    Impossible,
}

/// The book that a chat can have a copy of: its parent's; its own, if it has no parent, or that has none.
pub(super) fn to_copy(library: &Library, c: ChatIx) -> Option<&str> {
    let chat = library.chat(c);
    let parent = chat.lineage().parent.and_then(|p| library.chat(p).book());
    let (name, stem) = parent.or(chat.book())?;
    library.books().contains_key(stem).then_some(name)
}

/// What somebody can choose for the book of a chat.
pub(super) fn choices(library: &Library, c: ChatIx) -> Vec<Choice> {
    let chat = library.chat(c);
    let copy = to_copy(library, c).is_some();
    let mut all = vec![Choice::Rebuild, Choice::Empty];
    all.extend(copy.then_some(Choice::Copy));
    all.push(Choice::Detach);
    all.extend(chat.lineage().is_fork().then_some(Choice::Accept));
    all
}

pub(super) fn own_book(
    library: &Library,
    c: ChatIx,
    choice: Choice,
    old: &str,
    config: &Config,
    names: &[String],
) -> Result<Own, HealError> {
    let chat = library.chat(c);
    let recorded = chat.record().and_then(|record| record.book.clone());
    if choice == Choice::Rebuild
        && let Some(own) = recorded.filter(|own| book_stem(own) != book_stem(old))
        && library.books().contains_key(&book_stem(&own))
        && library.known_to_refer_to(&book_stem(&own), &[c]).is_empty()
    {
        return Ok(Own::Rebind { name: own, how: "bound to its own lorebook again" });
    }
    if choice == Choice::Follow {
        let now = library.renamed_book(&book_stem(old), c)?;
        let how = "bound to its lorebook under the new name";
        return Ok(now.map_or(Own::Impossible, |name| Own::Rebind { name, how }));
    }
    let undated = config.fork.undated == Undated::Carry;
    let wanted = Wanted { undated, perhaps: true, unfinished: true, head: false, fill: true };
    let pending = chat.book().is_none();
    let found = match (pending, chat.lineage().parent, chat.lineage().fork_message) {
        // A fork that SillyTavern saved without a book: what its parent had at that message, and nothing half done.
        (true, Some(parent), Some(at)) => {
            let idle = !library.operations(parent)?.iter().any(|op| op.status.is_open());
            let found = library.book_at(parent, at, Wanted { head: idle, unfinished: idle, ..wanted })?;
            let stem = library.chat(parent).book_stem().unwrap_or_default();
            let hand_kept = found.live.is_some() && !library.is_machine_kept(stem)?;
            let none = found.name.is_none() || (found.live.is_none() && found.entries.is_empty());
            match (choice, &found.name) {
                (Choice::Rebuild, _) if none => {
                    return Ok(Own::Detach { how: "its parent has no lorebook that it could have" });
                }
                (Choice::Rebuild, Some(name))
                    if hand_kept && new_book::stays_shared(library, parent, config, stem).is_some() =>
                {
                    return Ok(Own::Shared { name: name.clone() });
                }
                _ => found,
            }
        }
        (true, ..) if choice == Choice::Rebuild => return Ok(Own::Impossible),
        _ => {
            // What may be another line's as well is put aside, from where it can be picked back: in a new book nothing would mark it.
            let mut found = library.book_at(c, chat.head(), Wanted { perhaps: false, ..wanted })?;
            leave_what_it_lacks(library, c, &mut found)?;
            found
        }
    };
    let old = found.name.clone().unwrap_or_else(|| old.to_owned());
    let name = new_book::name(library, c, chat.name(), &old, &found, names);
    let Ok(path) = layout::book(&name) else { return Ok(Own::Impossible) };
    let empty = |over: Option<&Book<'_>>| assemble(Content::Entries { over, entries: &[] }, &name);
    let mut copied: Vec<EntryImage> = Vec::new();
    let (bytes, how) = match choice {
        // Nothing tells what was in it. An empty one would look as if all were well, and the file may yet come back.
        Choice::Rebuild if found.live.is_none() && found.entries.is_empty() => return Ok(Own::Impossible),
        Choice::Rebuild => (
            new_book::bytes(&found, &name, chat.name()),
            "a lorebook of its own with what its own line has earned",
        ),
        Choice::Empty => (empty(None), "a new lorebook, empty"),
        Choice::Copy => {
            let Some(from) = to_copy(library, c) else { return Ok(Own::Impossible) };
            let Some(live) = library.book(from)? else { return Ok(Own::Impossible) };
            let Ok(book) = live.parse() else { return Ok(Own::Impossible) };
            let how = if chat.lineage().parent.is_some() {
                "a copy of the parent's lorebook as it is now"
            } else {
                "a copy of its lorebook as it is now"
            };
            copied = book.images();
            (assemble(Content::AsItIs(&book), &name), how)
        }
        Choice::Detach => return Ok(Own::Detach { how: "bound to no lorebook any more" }),
        // Only a fork has a record to note it in.
        Choice::Accept if chat.lineage().is_fork() => return Ok(Own::Accept),
        Choice::Accept | Choice::Follow => return Ok(Own::Impossible),
    };
    let (quarantine, undated) = match choice {
        Choice::Rebuild => (quarantined(&found), new_book::undated(&found)),
        // It is no more certain for being in a copy.
        _ => {
            let there: HashSet<Uncertain> = copied.iter().filter_map(Uncertain::of).collect();
            let undated = new_book::undated(&found).into_iter();
            (Vec::new(), undated.filter(|this| there.contains(this)).collect())
        }
    };
    Ok(Own::Book { name, path, bytes, quarantine, undated, how })
}

/// Nothing tells when some of the entries came: where the chat has its book to itself and that lacks one, the chat has never had it, or
/// somebody took it out.
fn leave_what_it_lacks(library: &Library, c: ChatIx, found: &mut BookAt) -> Result<(), HealError> {
    let alone = library.chat(c).book_stem().is_some_and(|stem| library.users_of(stem).len() < 2);
    if !alone || found.live.is_none() {
        return Ok(());
    }
    let lore = library.lore(c)?;
    let present: HashSet<&Thing> = lore.present().iter().map(|(thing, _)| thing).collect();
    found
        .entries
        .retain(|entry| !entry.undated || entry.thing.as_ref().is_none_or(|thing| present.contains(thing)));
    Ok(())
}

/// A copy of the book that a chat shares by choice, for this chat alone.
pub(super) fn own_copy(library: &Library, c: ChatIx, names: &[String]) -> Result<Own, HealError> {
    let chat = library.chat(c);
    let found = library.book_as_it_is(c)?;
    let (Some(old), Some(live)) = (&found.name, &found.live) else { return Ok(Own::Impossible) };
    let name = new_book::name(library, c, chat.name(), old, &found, names);
    let (Ok(path), Ok(book)) = (layout::book(&name), live.parse()) else { return Ok(Own::Impossible) };
    let bytes = assemble(Content::AsItIs(&book), &name);
    let how = "a copy of its lorebook, for this chat alone";
    let undated = new_book::undated(&found);
    Ok(Own::Book { name, path, bytes, quarantine: Vec::new(), undated, how })
}

/// Entries that nothing attributes: they stay with the chat that the book was made for, and in this one's record.
fn quarantined(found: &BookAt) -> Vec<EntryImage> {
    let images = found.live.as_ref().map(|book| book.images()).unwrap_or_default();
    let out = found.left_out.iter().filter(|out| out.why == Why::Unattributed);
    out.filter_map(|out| images.iter().find(|e| e.uid == out.uid && e.comment == out.comment).cloned())
        .collect()
}

/// Whether the book of a fork that was made elsewhere was made without what the fork's line had earned.
pub(super) fn has_holes(library: &Library, c: ChatIx) -> Result<bool, HealError> {
    let chat = library.chat(c);
    let alone = chat.book_stem().is_some_and(|stem| library.users_of(stem).len() < 2);
    if chat.record().is_some() || !chat.lineage().is_fork() || !alone {
        return Ok(false);
    }
    let lore = library.lore(c)?;
    Ok(!holes(&lore.known, chat.head(), lore.present()).is_empty())
}
