//! `delete`: a chat and its own book go to the trash, and what pointed at the chat no longer does.

use std::collections::BTreeSet;

use forklore_core::adapter::settings::Fate;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_fs::{PathError, VaultPath};
use forklore_journal::operation::{Edit, Json, JsonChange, Kind, Listed, Place};
use forklore_journal::{About, TxError, layout};
use forklore_json::Raw;
use forklore_vault::{Chat, ChatIx, Library, StoryKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::finder::finder;
use crate::warning::{Warning, WarningCode};
use crate::{chat_settings, links};

/// What was deleted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DeleteReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// Address of the chat
    pub chat: String,
    /// Its own books that went with it
    pub books: Vec<String>,
    /// Books of the chat that stay, and why
    pub kept: Vec<KeptBook>,
    /// Files that went to the trash or were changed
    pub files: Vec<String>,
    /// What the user should know
    pub warnings: Vec<Warning>,
}

/// A book that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptBook {
    /// Its name
    pub name: String,
    /// Why it stays
    pub why: String,
}

/// A deletion that is worked out.
pub struct DeletePlan {
    /// What is told of it
    pub report: DeleteReport,
    edits: Vec<Edit>,
    retire: Vec<VaultPath>,
}

/// Works out what goes with chat `c`.
pub fn plan(library: &Library, c: ChatIx) -> Result<DeletePlan, PathError> {
    let chat = library.chat(c);
    let report = DeleteReport {
        operation: None,
        chat: library.address(c).to_string(),
        books: Vec::new(),
        kept: Vec::new(),
        files: Vec::new(),
        warnings: Vec::new(),
    };
    let mut plan =
        DeletePlan { report, edits: links::without(library, c)?, retire: vec![chat.path().clone()] };
    plan.take_books(library, c)?;
    plan.leave_groups(library, chat)?;
    plan.edits.extend(chat_settings::follow(library, c, Fate::Deleted { from: chat.name() })?);
    plan.report.warnings.extend(opens_with_character(library, chat));
    plan.report.warnings.extend(still_shared(library, c)?);
    plan.report.warnings.extend(has_forks(library, c));
    let touched = plan.retire.iter().chain(plan.edits.iter().map(|edit| &edit.target));
    plan.report.files = touched.map(|path| path.as_str().to_owned()).collect();
    plan.report.files.dedup();
    Ok(plan)
}

impl DeletePlan {
    /// The chat's own books go with it, unless something else refers to them.
    fn take_books(&mut self, library: &Library, c: ChatIx) -> Result<(), PathError> {
        let report = &mut self.report;
        for stem in own_books(library, c)? {
            let Some(path) = library.books().get(&stem) else { continue };
            match library.referring_to(&stem, &[c]).first() {
                Some(who) => report.kept.push(KeptBook { name: stem, why: format!("{who} refers to it") }),
                None => {
                    self.retire.push(path.clone());
                    report.books.push(stem);
                }
            }
        }
        if let Some(stem) = library.chat(c).book_stem()
            && library.books().contains_key(stem)
            && !report.books.iter().any(|book| book == stem)
            && !report.kept.iter().any(|kept| kept.name == stem)
        {
            let why = "it is kept by hand, not made for this chat".to_owned();
            report.kept.push(KeptBook { name: stem.to_owned(), why });
        }
        Ok(())
    }

    /// Groups list the chat no longer, and open another one.
    fn leave_groups(&mut self, library: &Library, chat: &Chat) -> Result<(), PathError> {
        let listing =
            library.groups().values().filter(|_| library.story(chat.story()).kind() == StoryKind::Group);
        for group in listing.filter(|group| group.chats.iter().any(|name| chat_stem(name) == chat.name())) {
            let Ok(target) = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file)) else {
                continue;
            };
            // As the group has it: not always the file's name.
            let listed = group.chats.iter().enumerate().filter(|(_, name)| chat_stem(name) == chat.name());
            // From the end, so that each stands where it is said to stand when it goes, and when it comes back.
            let leave =
                listed.rev().map(|(n, name)| JsonChange::Exclude(Listed::new(&["chats"], name).at(Some(n))));
            let current = group.current_chat.as_ref().filter(|name| chat_stem(name) == chat.name());
            let next = current.and_then(|_| opened_instead(library, chat, &group.chats));
            let open = current
                .zip(next.as_ref())
                .map(|(current, next)| JsonChange::set(&["chat_id"], Json::text(current), Json::text(next)));
            let (forget, turn) = kept_metadata(library, &target, chat, next.as_deref())?;
            let leave: Vec<JsonChange> = leave.chain(forget).collect();
            let open: Vec<JsonChange> = open.into_iter().chain(turn).collect();
            // Two edits: that another chat was opened since is no reason not to list this one again.
            for changes in [leave, open].into_iter().filter(|changes| !changes.is_empty()) {
                self.edits.push(Edit::new(target.clone(), Place::Document, changes));
            }
        }
        Ok(())
    }
}

/// The chat that a group opens from now on: SillyTavern would make the deleted one anew, with nothing but the greeting.
fn opened_instead(library: &Library, chat: &Chat, listed: &[String]) -> Option<String> {
    let parent = chat.lineage().parent.map(|p| library.chat(p).name().to_owned());
    let parent = parent.filter(|parent| listed.contains(parent));
    parent.or_else(|| listed.iter().find(|name| chat_stem(name) != chat.name()).cloned())
}

fn opens_with_character(library: &Library, chat: &Chat) -> Option<Warning> {
    let story = library.story(chat.story());
    let current = library.cards().get(story.folder()).and_then(|card| card.current_chat.as_deref());
    let is_it =
        story.kind() == StoryKind::Character && current.map(chat_stem).as_deref() == Some(chat.name());
    let message = "It is the chat that opens with the character: open another one in SillyTavern first, or it makes a new chat of this name".to_owned();
    is_it.then_some(Warning::new(WarningCode::CurrentChat, message))
}

/// Once this chat is gone, nothing tells any more what of a shared book is its own.
fn still_shared(library: &Library, c: ChatIx) -> Result<Option<Warning>, PathError> {
    let Some(stem) = library.chat(c).book_stem() else { return Ok(None) };
    let sharing = library.users_of(stem).iter().filter(|other| **other != c && library.related(c, **other));
    let sharing: Vec<&str> = sharing.map(|other| library.chat(*other).name()).collect();
    let [first, ..] = sharing[..] else { return Ok(None) };
    if !library.is_machine_kept(stem)? {
        return Ok(None);
    }
    let more = if sharing.len() > 1 { format!(" and {} more", sharing.len() - 1) } else { String::new() };
    let message = format!(
        "\"{first}\"{more} still writes into its lorebook: once this chat is gone, what is whose can no longer be told"
    );
    Ok(Some(Warning::new(WarningCode::BookShared, message)))
}

fn has_forks(library: &Library, c: ChatIx) -> Option<Warning> {
    let forks = library.chats().filter(|(_, other)| other.lineage().parent == Some(c)).count();
    let message = match forks {
        0 => return None,
        1 => "One chat was forked from it: it keeps everything it has, and loses its parent".to_owned(),
        n => format!("{n} chats were forked from it: they keep everything they have, and lose their parent"),
    };
    Some(Warning::new(WarningCode::HasForks, message))
}

/// Does it.
pub fn execute(library: &Library, plan: DeletePlan, now: i64) -> Result<DeleteReport, TxError> {
    let mut tx = library.begin(now)?;
    plan.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    // The chat before its book: nothing is left behind that refers to what is gone.
    for target in plan.retire {
        tx.retire(target)?;
    }
    let mut report = plan.report;
    report.operation = Some(tx.id().to_owned());
    let about = About {
        kind: Kind::Delete,
        chat: Some(report.chat.clone()),
        summary: format!("deleted {}", report.chat),
        undoes: None,
    };
    tx.commit(about, &finder(library))?;
    Ok(report)
}

/// Books that are this chat's own: the one made for it by Forklore, and the one it is bound to if an extension keeps it.
pub(crate) fn own_books(library: &Library, c: ChatIx) -> Result<BTreeSet<String>, PathError> {
    let chat = library.chat(c);
    let mut own = BTreeSet::new();
    own.extend(chat.record().and_then(|record| record.book.as_deref()).map(book_stem));
    if let Some((name, stem)) = chat.book()
        && library.book(name)?.is_some_and(|book| book.keeper().is_some())
    {
        own.insert(stem.to_owned());
    }
    Ok(own)
}

/// What a group of an older version keeps for a chat goes with it, and what it keeps for the chat that is opened instead takes its place.
fn kept_metadata(
    library: &Library,
    target: &VaultPath,
    chat: &Chat,
    next: Option<&str>,
) -> Result<(Option<JsonChange>, Option<JsonChange>), PathError> {
    let Some((_, kept)) = chat.kept().filter(|(file, _)| file == target) else {
        return Ok((None, None));
    };
    let bytes = library.fs().read(target)?.unwrap_or_default();
    let group = Raw::parse(&bytes).unwrap_or(Raw::NULL);
    let past = group.get("past_metadata").unwrap_or(Raw::NULL);
    let key = past.members().filter_map(|(key, _)| key.as_text()).find(|key| chat_stem(key) == chat.name());
    let forget = key.and_then(|key| JsonChange::set_in(group, &["past_metadata", &key], None));
    let turn = next.filter(|_| kept.path.len() == 1).and_then(|next| {
        let metadata = past.get(next).map_or(&b"{}"[..], Raw::bytes);
        JsonChange::set_in(group, &["chat_metadata"], Json::new(metadata))
    });
    Ok((forget, turn))
}
