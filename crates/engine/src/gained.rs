//! `gained`: how many entries forks have that they did not have when they were made.

use std::collections::HashSet;

use forklore_core::adapter::EntryRole;
use forklore_vault::state::at::{BookAt, Wanted};
use forklore_vault::{ChatIx, Library, StoryIx};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use super::show::role_of;

/// What forks gained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GainedReport {
    /// One a fork whose books at its fork message and now can be told
    pub chats: Vec<Gained>,
}

/// What one fork gained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gained {
    /// Its address
    pub chat: String,
    /// How many entries its book has now
    pub entries: usize,
    /// How many of them it did not have at its fork message
    pub gained: usize,
}

/// What the forks of a story gained.
pub fn gained(library: &Library, story: StoryIx) -> GainedReport {
    let chats = library.story(story).chats();
    library.get_ready();
    GainedReport { chats: chats.par_iter().filter_map(|c| of(library, *c)).collect() }
}

fn of(library: &Library, c: ChatIx) -> Option<Gained> {
    let chat = library.chat(c);
    let fork = chat.lineage().fork_message.filter(|_| chat.lineage().is_fork() && chat.book().is_some())?;
    // Where a state cannot be told, there is nothing to count; `show` says why.
    let names = |at: usize| {
        let book = library.book_at(c, at, Wanted::default()).ok()?;
        Some(names(&book))
    };
    let now = names(chat.head())?;
    let then = names(fork.min(chat.head()))?;
    let gained = now.difference(&then).count();
    Some(Gained { chat: library.address(c).to_string(), entries: now.len(), gained })
}

fn names(book: &BookAt) -> HashSet<(Option<i64>, String)> {
    let facts = book.entries.iter().filter(|entry| role_of(entry) == Some(EntryRole::Fact));
    facts.map(|entry| (entry.image.uid, entry.image.comment.to_string())).collect()
}
