//! [`Selection`]: which entries of a lorebook are on the page. Of a long one it is some, those that changed first, and the others are a
//! step or a word away.

use forklore_core::adapter::EntryRole;
use forklore_engine::show::{ShowEntry, ShowReport};
use maud::{Markup, html};

use super::changes::{Changes, Key, keyed};
use crate::{link, words};

/// A lorebook with more entries is long.
const LONG: usize = 60;
/// So many entries of a long one are shown at first, and so many more each time.
const FIRST: usize = 40;
const MORE: usize = 120;

/// Which entries are asked for.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// How many
    pub entries: Option<usize>,
    /// Only those in which this is said
    pub find: Option<String>,
}

/// The entries that are shown.
pub(super) struct Selection<'a> {
    pub(super) entries: Vec<(Key<'a>, &'a ShowEntry)>,
    /// How many there are that could be shown
    all: usize,
}

impl<'a> Selection<'a> {
    /// Whether the lorebook is one of which not all is shown at first.
    pub(super) fn is_long(report: &ShowReport) -> bool {
        report.book.entries.iter().filter(|entry| entry.role == EntryRole::Fact).count() > LONG
    }

    pub(super) fn of(here: &'a ShowReport, changes: &Changes<'_>, shown: &Shown) -> Self {
        let find =
            shown.find.as_deref().map(str::trim).filter(|find| !find.is_empty()).map(str::to_lowercase);
        let says = |entry: &ShowEntry| {
            let Some(find) = find.as_deref() else { return true };
            let has = |text: &str| text.to_lowercase().contains(find);
            has(entry.comment()) || has(&entry.content()) || entry.keys().iter().any(|key| has(key))
        };
        let facts = keyed(here).filter(|(_, entry)| entry.role == EntryRole::Fact && says(entry));
        let mut entries: Vec<(Key<'_>, &ShowEntry)> = facts.collect();
        let all = entries.len();
        if Self::is_long(here) {
            entries.sort_by_key(|(key, _)| !changes.of.contains_key(key));
            entries.truncate(shown.entries.unwrap_or(FIRST).max(1));
        }
        Self { entries, all }
    }
}

/// Where one looks for an entry of a long lorebook.
pub(super) fn finding(chat: &str, here: &ShowReport, selection: &Selection<'_>, shown: &Shown) -> Markup {
    if !Selection::is_long(here) {
        return html! {};
    }
    html! {
        form.find role="search" method="get" action="moment" {
            input type="hidden" name="chat" value=(chat);
            input type="hidden" name="at" value=(here.at);
            label { span.unseen { "Find an entry by its title, keys or text" }
                input #find-entry type="search" name="find" value=[shown.find.as_deref()] placeholder="Find an entry" autocomplete="off" maxlength="200";
            }
            button { "Find" }
            span.quiet { (words::number(selection.entries.len())) " of " (words::number(selection.all)) " shown" }
        }
    }
}

/// The way to the entries that are not shown yet.
pub(super) fn more(chat: &str, here: &ShowReport, selection: &Selection<'_>, shown: &Shown) -> Markup {
    let now = selection.entries.len();
    let left = selection.all - now;
    html! {
        @if selection.all == 0 && shown.find.is_some() { p.quiet { "No entry has that." } }
        @if left > 0 {
            p.go { a.button.more href=(link::lore(chat, here.at, now + MORE, shown.find.as_deref())) { "Show " (left.min(MORE)) " more" } }
        }
    }
}
