//! [`BookPlan`]: what becomes of the parent's lorebook in a fork.

use std::collections::HashSet;
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::adapter::registry;
use forklore_core::fork::book::fingerprint;
use forklore_core::format::book::{Book, EntryImage};
use forklore_core::state::Contamination;
use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_vault::state::at::{BookAt, SourceKind};
use forklore_vault::{ChatIx, Library};

use super::ForkError;
use super::request::Spot;
use crate::header::Binding;
use crate::new_book;
use crate::warning::{Warning, WarningCode};

/// What becomes of the book.
pub(super) enum BookPlan {
    /// The fork has its own
    Own(OwnBook),
    /// The fork goes on using the parent's
    Shared,
    /// There is none
    None,
}

/// A book of the fork's own.
pub(super) struct OwnBook {
    pub(super) name: String,
    pub(super) path: VaultPath,
    pub(super) bytes: Arc<Vec<u8>>,
    /// What it holds
    pub(super) entries: Vec<EntryImage>,
    pub(super) fingerprint: String,
}

impl BookPlan {
    /// The book that is the fork's own.
    pub(super) fn own(&self) -> Option<&OwnBook> {
        match self {
            Self::Own(own) => Some(own),
            Self::Shared | Self::None => None,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.own().map(|own| own.name.as_str())
    }

    pub(super) fn binding(&self) -> Binding<'_> {
        match self {
            Self::Own(own) => Binding::Own { name: &own.name, entries: &own.entries },
            Self::Shared => Binding::Same,
            Self::None => Binding::Unbound,
        }
    }
}

/// What becomes of the book, whose state `found` is, in a fork that is called `fork`.
pub(super) fn plan_book(
    library: &Library,
    spot: &Spot<'_>,
    config: &Config,
    fork: &str,
    found: &BookAt,
    warnings: &mut Vec<Warning>,
) -> Result<BookPlan, ForkError> {
    let c = spot.chat;
    let Some(name) = &found.name else { return Ok(BookPlan::None) };
    // A chat without a book can get one by what comes along.
    let stem = library.chat(c).book_stem();
    if let Some(stem) = stem
        && found.live.is_some()
        && !spot.request.copy_book
        && !library.is_machine_kept(stem)?
        && let Some(reason) = new_book::stays_shared(library, c, config, stem)
    {
        let message = format!("The fork goes on using the lorebook \"{name}\", which {reason}");
        // How exact a copy would be does not matter where none is made.
        warnings
            .retain(|warning| !matches!(warning.code, WarningCode::StateInexact | WarningCode::StateOlder));
        warnings.push(Warning::new(WarningCode::BookStaysShared, message));
        return Ok(BookPlan::Shared);
    }
    if found.live.is_none() && found.entries.is_empty() {
        return Ok(BookPlan::None);
    }
    let active = stem.map(|stem| library.also_active(c, stem)).unwrap_or_default();
    if !active.is_empty() {
        let message = format!(
            "The lorebook \"{name}\" is also active {}: in the fork, it and the fork's own copy are active at once",
            active.join(" and ")
        );
        warnings.push(Warning::new(WarningCode::BookAlsoGlobal, message));
    }
    let own = new_book::name(library, c, fork, name, found, &[]);
    let path = layout::book(&own).map_err(|_| ForkError::NameTaken(own.clone()))?;
    let bytes = Arc::new(new_book::bytes(found, &own, fork));
    // Read as SillyTavern will: what is wrong with it is found before anything is written.
    let read = Book::parse(&bytes).map_err(|e| ForkError::NotVerified(e.to_string()))?;
    let (entries, fingerprint) = (read.images_of(&bytes), fingerprint(&read));
    check_registries(&entries, found, warnings);
    Ok(BookPlan::Own(OwnBook { name: own, path, bytes, entries, fingerprint }))
}

/// Only the story's own book is copied: what extensions write into besides for the parent, they write into for the fork, too.
pub(super) fn warn_of_besides(
    library: &Library,
    c: ChatIx,
    warnings: &mut Vec<Warning>,
) -> Result<(), ForkError> {
    let chat = library.chat(c);
    for stem in chat.bound().filter(|stem| Some(*stem) != chat.book_stem()) {
        if library.is_machine_kept(stem)? {
            let message = format!(
                "The fork goes on using the lorebook \"{stem}\", which its header names besides: choose another one in the extension that writes into it"
            );
            warnings.push(Warning::new(WarningCode::BookStaysShared, message));
        }
    }
    Ok(())
}

/// What another line wrote into a book that is taken as it is comes along with it, and stays what it is: another line's.
pub(super) fn warn_of_foreign(
    library: &Library,
    c: ChatIx,
    found: &BookAt,
    warnings: &mut Vec<Warning>,
) -> Result<(), ForkError> {
    let stem = library.chat(c).book_stem().unwrap_or_default();
    let machine_kept = found.live.is_some() && library.is_machine_kept(stem)?;
    if found.source.kind != SourceKind::Head || !machine_kept {
        return Ok(());
    }
    let foreign: Vec<Contamination> = library.contamination(c)?;
    let Some(first) = foreign.first() else { return Ok(()) };
    let more = if foreign.len() > 1 { format!(" and {} more", foreign.len() - 1) } else { String::new() };
    let message = format!(
        "The lorebook holds what another line wrote ({}{more}), and so does the fork's copy",
        first.comment
    );
    warnings.push(Warning::new(WarningCode::EntryForeign, message));
    Ok(())
}

/// Registries of the fork that list what it does not have.
fn check_registries(images: &[EntryImage], found: &BookAt, warnings: &mut Vec<Warning>) {
    let dangling = registry::dangling(images);
    if dangling.is_empty() {
        return;
    }
    // What the parent's registries get wrong already is the parent's affair, and `check` tells of it.
    let old: HashSet<i64> = found
        .live
        .as_ref()
        .map(|book| registry::dangling(&book.images()).iter().filter_map(|line| line.uid).collect())
        .unwrap_or_default();
    let new: Vec<&str> = dangling
        .iter()
        .filter(|l| l.uid.is_none_or(|uid| !old.contains(&uid)))
        .map(|l| l.name.as_str())
        .collect();
    if !new.is_empty() {
        let message =
            format!("Registries of the fork list entries that it does not have: {}", new.join(", "));
        warnings.push(Warning::new(WarningCode::RegistryDangling, message));
    }
}

/// Messages of the fork whose scenes name a book that is not the fork's.
pub(super) fn naming_parent(library: &Library, c: ChatIx, at: usize, book: &BookPlan) -> Vec<usize> {
    let BookPlan::Own(_) = book else { return Vec::new() };
    let scenes = library.chat(c).facts().scenes.iter().filter(|(message, _)| *message <= at);
    let naming = scenes.filter(|(_, scene)| scene.versions.iter().any(|version| version.book.is_some()));
    naming.map(|(message, _)| *message).collect()
}
