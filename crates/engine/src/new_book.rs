//! The lorebook that a chat gets of its own, whoever gives it one: [`name`] is what it is called, [`bytes`] what it holds, and [`undated`] what of
//! that nothing dates. [`stays_shared`] tells why a chat gets none.

use std::collections::{HashMap, HashSet};

use forklore_config::Config;
use forklore_core::adapter::{self, Adapter, Keepers};
use forklore_core::fork::book::{self as core_book, Content};
use forklore_core::fork::names::{self, BookStyle};
use forklore_core::format::book::EntryImage;
use forklore_core::format::chat::Message;
use forklore_core::format::names::book_stem;
use forklore_core::format::record::Uncertain;
use forklore_core::state::StateEntry;
use forklore_vault::state::at::{BookAt, SourceKind};
use forklore_vault::{ChatIx, Library};

/// The name of a new book for a chat.
pub(crate) fn name(
    library: &Library,
    c: ChatIx,
    fork: &str,
    old: &str,
    found: &BookAt,
    also_used: &[String],
) -> String {
    // A name that a chat has for a book which is gone is not free: an open page may still write that book.
    let bound = library.chats().flat_map(|(_, chat)| chat.bound());
    let used =
        library.books().keys().map(String::as_str).chain(bound).chain(also_used.iter().map(String::as_str));
    let used: HashSet<String> = used.map(str::to_lowercase).collect();
    let taken = |stem: &str| used.contains(&stem.to_lowercase());
    let chat = library.chat(c);
    let keeper = match &found.live {
        Some(book) => book.keeper(),
        None => scene_keeper(library, c),
    };
    let character = library.story(chat.story()).name();
    let style = match keeper.and_then(|keeper| library.settings().book_template(keeper)) {
        Some(template) => BookStyle::Template { template, character },
        // It carries the chat's name already: a number is enough to tell the two apart.
        None if old.ends_with(fork) => BookStyle::Template { template: old, character },
        None => BookStyle::After { book: names::first_book(old, &line_names(library, c)) },
    };
    names::book(style, fork, &taken)
}

/// The entries that nothing dates.
pub(crate) fn undated(found: &BookAt) -> Vec<Uncertain> {
    let undated = found.entries.iter().filter(|entry| entry.undated);
    undated.filter_map(|entry| Uncertain::of(&entry.image)).collect()
}

/// What a chat and those that it comes from are called, and what they were called when they got their books.
fn line_names(library: &Library, c: ChatIx) -> Vec<&str> {
    let mut names = Vec::new();
    let mut here = Some(c);
    while let Some(chat) = here.map(|c| library.chat(c)).filter(|_| names.len() < 2 * library.chats().len()) {
        names.push(chat.name());
        names.extend(chat.record().map(|record| record.owner_file.as_str()));
        here = chat.lineage().parent;
    }
    names
}

/// Who made a chat's scenes: a book that is gone cannot tell who kept it.
fn scene_keeper(library: &Library, c: ChatIx) -> Option<&'static dyn Adapter> {
    let (message, _) = library.chat(c).facts().scenes.first()?;
    let line = library.message_line(c, *message).ok()??;
    adapter::scene_keeper(Message::parse(&line).ok()?)
}

/// The content of a new book with the state that was found.
pub(crate) fn bytes(found: &BookAt, name: &str, owner: &str) -> Vec<u8> {
    let live = found.live.as_ref().and_then(|book| book.parse().ok());
    // Some extensions leave entries alone that say they are another chat's.
    let keepers =
        Keepers::new(|adapter| found.entries.iter().any(|e| adapter.wrote(&e.image.comment, e.image.raw())));
    let entries: Vec<EntryImage> =
        found.entries.iter().map(|entry| keepers.hand_over(&entry.image, owner)).collect();
    let same = entries.iter().zip(&found.entries).all(|(image, entry)| *image == entry.image);
    let as_it_is = match found.source.kind {
        SourceKind::Head => same,
        SourceKind::Degraded => same && is_todays(found),
        _ => false,
    };
    match &live {
        Some(book) if as_it_is => core_book::assemble(Content::AsItIs(book), name),
        _ => core_book::assemble(Content::Entries { over: live.as_ref(), entries: &entries }, name),
    }
}

/// Whether a state that nothing dates is the book of today. History may have seen the book only after the message: then it is less.
fn is_todays(found: &BookAt) -> bool {
    let live = found.live.as_ref().map(|live| live.images()).unwrap_or_default();
    let todays: HashMap<(Option<i64>, &str), &EntryImage> =
        live.iter().map(|image| ((image.uid, &*image.comment), image)).collect();
    let is_same = |entry: &StateEntry| {
        let today = todays.get(&(entry.image.uid, &*entry.image.comment));
        // A switch that is not told of is on.
        let same_switch = |today: &EntryImage| today.is_disabled() == entry.image.is_disabled();
        today.is_some_and(|today| same_switch(today) && today.agrees_with(&entry.image))
    };
    found.left_out.is_empty() && found.entries.len() == live.len() && found.entries.iter().all(is_same)
}

/// Why a book that is kept by hand is not copied for a fork.
pub(crate) fn stays_shared(library: &Library, c: ChatIx, config: &Config, stem: &str) -> Option<String> {
    if config.books.shared.iter().any(|pinned| book_stem(pinned) == stem) {
        return Some("is pinned as shared in the settings".to_owned());
    }
    let others = library.users_of(stem).iter().filter(|user| !library.related(c, **user)).count();
    match others {
        0 => None,
        1 => Some("another chat uses that has nothing to do with this one".to_owned()),
        n => Some(format!("{n} chats use that have nothing to do with this one")),
    }
}
