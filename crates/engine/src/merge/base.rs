//! [`find`]: what two lines had in common: when one was last brought along into the other, else when they parted.

use std::collections::HashMap;

use forklore_core::diff::Parting;
use forklore_core::format::record::Learnt;
use forklore_core::state::StateEntry;
use forklore_json::Raw;
use forklore_vault::state::at::{SourceKind, StateError, Wanted};
use forklore_vault::{Chat, ChatIx, Library};

/// What two lines had in common.
pub(super) struct Base {
    pub(super) entries: Vec<StateEntry>,
    /// Numbers of B's entries, and those that A has them under
    pub(super) numbers: Vec<(i64, i64)>,
    pub(super) kind: BaseKind,
    /// The last message of A that B has, too
    pub(super) common: Option<(usize, usize)>,
}

/// What tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BaseKind {
    /// B was brought along into A when B had this message last
    Merged(usize),
    /// A was brought along into B when A had this message last
    MergedThere(usize),
    /// They parted after this message of A
    Parted(usize),
    /// They have nothing in common, or nothing tells what it was
    Unknown,
}

/// What chat `a` up to message `at` and chat `b` up to message `upto` had in common.
pub(super) fn find(
    library: &Library,
    a: ChatIx,
    at: usize,
    b: ChatIx,
    upto: usize,
) -> Result<Base, StateError> {
    let common = parting(library, a, at, b, upto).common;
    let (ours, theirs) = (last(library, a, at, b), last(library, b, upto, a));
    let later = match (&ours, &theirs) {
        (Some((_, ours)), Some((_, theirs))) => ours >= theirs,
        _ => ours.is_some(),
    };
    if let Some((learnt, _)) = ours.filter(|_| later) {
        let message = learnt.message.min(upto);
        let entries = library.book_at(b, message, Wanted::default())?.entries;
        let numbers = learnt.numbers.clone();
        return Ok(Base { entries, numbers, kind: BaseKind::Merged(message), common });
    }
    if let Some((learnt, _)) = theirs {
        let message = learnt.message.min(at);
        let mut entries = library.book_at(a, message, Wanted::default())?.entries;
        // As B has them: both are brought to A's numbers together.
        for entry in &mut entries {
            let there = learnt.numbers.iter().find(|(ours, _)| Some(*ours) == entry.image.uid);
            if let Some((_, there)) = there {
                entry.image = entry.image.renumbered(*there);
            }
        }
        let numbers = learnt.numbers.iter().map(|(ours, theirs)| (*theirs, *ours)).collect();
        return Ok(Base { entries, numbers, kind: BaseKind::MergedThere(message), common });
    }
    let unknown = Base { entries: Vec::new(), numbers: Vec::new(), kind: BaseKind::Unknown, common };
    let Some((i, j)) = common else { return Ok(unknown) };
    // The fork knows best what it was made with: whoever it was made from may have been written into since, at that very message. Who
    // has not gone on since cannot tell then from now.
    let fork_first = library.is_ancestor(b, a);
    let mut sides = [(a, i), (b, j)];
    if !fork_first {
        sides.reverse();
    }
    let went_on = |(chat, message): &(ChatIx, usize)| *message < head(library, *chat);
    let (first, rest): (Vec<_>, Vec<_>) = sides.into_iter().partition(went_on);
    let mut told: Vec<Vec<StateEntry>> = Vec::new();
    for (chat, message) in first.into_iter().chain(rest) {
        let found = library.book_at(chat, message, Wanted::default())?;
        if !matches!(found.source.kind, SourceKind::Degraded | SourceKind::None) {
            told.push(found.entries);
        }
    }
    let mut told = told.into_iter();
    let Some(entries) = told.next() else { return Ok(unknown) };
    let entries = match told.next() {
        Some(other) => agreed(entries, &other),
        None => entries,
    };
    Ok(Base { entries, kind: BaseKind::Parted(i), ..unknown })
}

/// What both lines tell of the message that they have in common. What they do not agree on is not known for certain: then nothing is taken
/// for deleted, and no setting for changed, because of it.
fn agreed(mut entries: Vec<StateEntry>, other: &[StateEntry]) -> Vec<StateEntry> {
    let other: HashMap<(Option<i64>, &str), &StateEntry> =
        other.iter().map(|entry| ((entry.image.uid, &*entry.image.comment), entry)).collect();
    for entry in &mut entries {
        let Some(same) = other.get(&(entry.image.uid, &*entry.image.comment)) else {
            entry.undated = true;
            continue;
        };
        entry.undated |= same.undated;
        let theirs = same.image.raw();
        let differs = |(key, value): (Raw<'_>, Raw<'_>)| {
            let name = key.as_text()?;
            theirs.get(&name).is_some_and(|theirs| !theirs.says_the_same(value)).then(|| name.into_owned())
        };
        let unsure: Vec<String> = entry.image.raw().members().filter_map(differs).collect();
        entry.inferred.extend(unsure);
    }
    entries
}

fn head(library: &Library, chat: ChatIx) -> usize {
    library.chat(chat).head()
}

/// Where two lines part.
pub(super) fn parting(library: &Library, a: ChatIx, at: usize, b: ChatIx, upto: usize) -> Parting {
    let (ours, theirs) = (library.chat(a).transcript(), library.chat(b).transcript());
    Parting::of(ours, at, theirs, upto, &|_| false)
}

/// The last time that a line, up to a message, had another chat brought along, and when that was.
fn last(library: &Library, chat: ChatIx, at: usize, from: ChatIx) -> Option<(&Learnt, i64)> {
    let slug = library.chat(from).header().slug().map(std::borrow::Cow::into_owned);
    let is_it = |learnt: &Learnt, there: &Chat| {
        let other = library.chat(from);
        let by_name = other.name() == learnt.file && other.story() == there.story();
        if learnt.slug.is_empty() { by_name } else { slug.as_deref() == Some(learnt.slug.as_str()) }
    };
    let (mut here, mut at) = (chat, at);
    for _ in 0..library.chats().count() {
        let there = library.chat(here);
        let record = there.record();
        let begun = record.and_then(|record| Some(record.baseline.as_ref()?.messages.saturating_sub(1)));
        if let Some((record, learnt)) = record.and_then(|record| Some((record, record.learnt.as_ref()?)))
            && is_it(learnt, there)
            && begun.is_none_or(|begun| begun <= at)
        {
            return Some((learnt, record.created));
        }
        at = at.min(there.lineage().fork_message.unwrap_or(at));
        here = there.lineage().parent?;
    }
    None
}
