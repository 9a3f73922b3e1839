//! `rename`: a chat gets another name, and what pointed at it follows: links on its parent's messages, the parent's name in its forks,
//! the group's list, what an extension keeps under its name. Its book stays as it is.

use forklore_core::adapter;
use forklore_core::adapter::settings::Fate;
use forklore_core::fork::names::{self, NameError};
use forklore_core::format::chat::Header;
use forklore_core::format::names::chat_stem;
use forklore_core::format::revision::{self, Revision};
use forklore_core::story::lineage::Link;
use forklore_fs::{Part, PathError, VaultPath};
use forklore_journal as journal;
use forklore_journal::operation::{Edit, FileId, Json, JsonChange, Kind, Listed, Place};
use forklore_journal::{About, TxError, layout};
use forklore_json::Raw;
use forklore_vault::{Chat, ChatIx, Library, StoryKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::finder::finder;
use crate::chat_settings;
use crate::header::{edit_of, header_edit};
use crate::warning::{Warning, WarningCode};

/// What was renamed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RenameReport {
    /// Id of the operation; nothing if it was only planned
    pub operation: Option<String>,
    /// Address of the chat now
    pub chat: String,
    /// Its address before
    pub from: String,
    /// Files that were made, changed or taken away
    pub files: Vec<String>,
    /// What the user should know
    pub warnings: Vec<Warning>,
}

/// Why nothing was renamed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// The chat's file cannot be read.
    #[error("\"{chat}\" cannot be read: {why}")]
    CorruptChat {
        /// The chat
        chat: String,
        /// What is wrong
        why: String,
    },
    /// The name cannot be.
    #[error("\"{name}\" cannot be the name of a chat: {why}")]
    InvalidName {
        /// What was typed
        name: String,
        /// What is wrong with it
        why: NameError,
    },
    /// The name is not free.
    #[error("There is already a chat \"{0}\"")]
    NameTaken(String),
    /// It could not be done.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// A renaming that is worked out.
pub struct RenamePlan {
    /// What is told of it
    pub report: RenameReport,
    from: VaultPath,
    file: FileId,
    to: VaultPath,
    header: Vec<u8>,
    /// Where the rest of the file begins
    rest: u64,
    edits: Vec<Edit>,
}

/// Works out how chat `c` gets another name.
pub fn plan(library: &Library, c: ChatIx, typed: &str) -> Result<RenamePlan, RenameError> {
    let chat = library.chat(c);
    let corrupt = |why: String| RenameError::CorruptChat { chat: chat.name().to_owned(), why };
    let identity = chat.identity().filter(|_| chat.unreadable().is_none());
    let identity = identity.ok_or_else(|| corrupt(chat.unreadable().unwrap_or_default().to_owned()))?;
    let name = names::typed(typed).map_err(|why| RenameError::InvalidName { name: typed.to_owned(), why })?;
    let dir = chat.path().parent();
    let file = format!("{name}.jsonl");
    let same = |other: &str| other.to_lowercase() == file.to_lowercase();
    // A change of case alone is the same file on some systems.
    if library.fs().list(&dir)?.iter().any(|node| same(&node.name)) {
        return Err(RenameError::NameTaken(name));
    }
    let to = dir.join(&file).map_err(|_| RenameError::NameTaken(name.clone()))?;
    let (header, rest) = header(library, c, &name)?;
    let mut edits = Vec::new();
    for (of, other) in library.chats() {
        if other.lineage().parent == Some(c) {
            edits.extend(child(library, of, &name));
        }
    }
    if let Some(parent) = chat.lineage().parent {
        edits.extend(links(library, parent, chat.name(), &name));
    }
    edits.extend(groups(library, c, &name));
    edits.extend(chat_settings::follow(library, c, Fate::Renamed { from: chat.name(), to: &name })?);
    let mut warnings: Vec<Warning> = Warning::cleaned(typed, &name).into_iter().collect();
    let story = library.story(chat.story());
    let current = library.cards().get(story.folder()).and_then(|card| card.current_chat.as_deref());
    if story.kind() == StoryKind::Character && current.map(chat_stem).as_deref() == Some(chat.name()) {
        let message = "It is the chat that opens with the character: open it by its new name in SillyTavern, or it makes a new chat of the old name".to_owned();
        warnings.push(Warning::new(WarningCode::CurrentChat, message));
    }
    let mut files = vec![to.as_str().to_owned(), chat.path().as_str().to_owned()];
    files.extend(edits.iter().map(|edit| edit.target.as_str().to_owned()));
    files.dedup();
    let from = library.address(c);
    let report = RenameReport {
        operation: None,
        chat: forklore_vault::Address { chat: name, ..from.clone() }.to_string(),
        from: from.to_string(),
        files,
        warnings,
    };
    Ok(RenamePlan { report, from: chat.path().clone(), file: identity.into(), to, header, rest, edits })
}

/// Does it.
pub fn execute(library: &Library, plan: RenamePlan, now: i64) -> Result<RenameReport, RenameError> {
    let mut tx = library.begin(now)?;
    let file = library.fs().open(&plan.from)?;
    let fail = |source| PathError { path: plan.from.clone(), doing: "read", source };
    let len = file.identity().map_err(fail)?.len;
    let parts = [Part::Bytes(&plan.header), Part::Range(&*file, plan.rest..len)];
    tx.publish(plan.to, &parts, std::slice::from_ref(&plan.from))?;
    plan.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    tx.guard(plan.from.clone(), plan.file);
    tx.retire(plan.from)?;
    let mut report = plan.report;
    report.operation = Some(tx.id().to_owned());
    let about = About {
        kind: Kind::Rename,
        chat: Some(report.chat.clone()),
        summary: format!("{} is called {} now", report.from, report.chat),
        undoes: None,
    };
    tx.commit(about, &finder(library))?;
    Ok(report)
}

/// What still says the former name of a chat that SillyTavern has renamed.
pub struct Following {
    chat: ChatIx,
    from: String,
    edits: Vec<Edit>,
}

/// Works out what has to follow a chat that was renamed elsewhere: what its header says of itself, the links of its parent, the headers of
/// its forks, what an extension keeps under its name. Nothing, if another chat has the former name by now.
pub fn follow(library: &Library, c: ChatIx, from: &str) -> Result<Option<Following>, PathError> {
    let chat = library.chat(c);
    if chat.name() == from || chat.unreadable().is_some() || library.named(chat.story(), from).is_some() {
        return Ok(None);
    }
    let mut edits: Vec<Edit> = edit_of(chat, own_names(chat, from, chat.name()), false).into_iter().collect();
    edits.retain(|edit| !edit.changes.is_empty());
    for (of, other) in library.chats() {
        let says = other.main_chat().is_some_and(|name| chat_stem(name) == from);
        if other.lineage().parent == Some(c) && says {
            edits.extend(child(library, of, chat.name()));
        }
    }
    if let Some(parent) = chat.lineage().parent {
        edits.extend(links(library, parent, from, chat.name()));
    }
    edits.extend(chat_settings::follow(library, c, Fate::Renamed { from, to: chat.name() })?);
    Ok((!edits.is_empty()).then(|| Following { chat: c, from: from.to_owned(), edits }))
}

/// Lets everything follow; gives the operation.
pub fn execute_following(library: &Library, following: Following, now: i64) -> Result<String, TxError> {
    let mut tx = library.begin(now)?;
    following.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    let (id, chat) = (tx.id().to_owned(), library.address(following.chat).to_string());
    let about = About {
        kind: Kind::Rename,
        summary: format!("followed SillyTavern, where \"{}\" is called {chat} now", following.from),
        chat: Some(chat),
        undoes: None,
    };
    tx.commit(about, &finder(library))?;
    Ok(id)
}

/// The header with the new name where it tells its own, and where the rest of the file begins.
fn header(library: &Library, c: ChatIx, name: &str) -> Result<(Vec<u8>, u64), RenameError> {
    let chat = library.chat(c);
    let revisions = own_names(chat, chat.name(), name);
    if revisions.is_empty() || chat.kept().is_some() {
        return Ok((Vec::new(), 0));
    }
    let file = library.fs().open(chat.path())?;
    let fail = |source| PathError { path: chat.path().clone(), doing: "read", source };
    let line = journal::header_line(&*file).map_err(fail)?;
    let broken = |e: forklore_json::EditError| RenameError::CorruptChat {
        chat: chat.name().to_owned(),
        why: format!("its header cannot be edited ({e})"),
    };
    let mut bytes = revision::apply(Some(chat.header().raw()), &revisions).map_err(broken)?;
    journal::pad(&mut bytes, line.end);
    Ok((bytes, line.end))
}

/// The new name where the header tells its own, which was `old`.
fn own_names(chat: &Chat, old: &str, name: &str) -> Vec<Revision> {
    let metadata = chat.header().metadata();
    let own: [&[&str]; 1] = [&["forklore", "owner", "file"]];
    let noted = adapter::ALL.iter().flat_map(|adapter| adapter.places().own_name).copied();
    let places = own.into_iter().chain(noted);
    let named = places.filter(|path| metadata.at(path).is_some_and(|now| now.is_text(old)));
    named.map(|path| Revision::text(path, name)).collect()
}

/// A group of an older version keeps the chat's metadata under the new name.
fn kept_metadata(chat: &Chat, target: &VaultPath, name: &str) -> Option<Vec<JsonChange>> {
    let (_, kept) = chat.kept().filter(|(file, _)| file == target)?;
    let was = Json::new(kept.metadata.as_deref()?)?;
    let header = revision::apply(Some(chat.header().raw()), &own_names(chat, chat.name(), name)).ok()?;
    let is = Json::new(Raw::trust(&header).get("chat_metadata")?.bytes())?;
    let path: Vec<&str> = kept.path.iter().map(String::as_str).collect();
    Some(match path.len() {
        1 => vec![JsonChange::set(&path, Some(was), Some(is))],
        _ => vec![
            JsonChange::set(&["past_metadata", name], None, Some(is)),
            JsonChange::set(&path, Some(was), None),
        ],
    })
}

/// A fork of the chat says the new name.
fn child(library: &Library, of: ChatIx, name: &str) -> Option<Edit> {
    let chat = library.chat(of);
    let raw = chat.header().raw();
    let mut changes = Vec::new();
    for path in [&["chat_metadata", "main_chat"][..], &["chat_metadata", "forklore", "parent", "file"]] {
        if raw.at(path).is_some() {
            changes.extend(JsonChange::set_in(raw, path, Json::text(name)));
        }
    }
    let header = Header::new(raw).main_chat().is_some();
    (header && !changes.is_empty()).then(|| header_edit(chat, changes))
}

/// The links of the parent's messages lead to the new name.
fn links(library: &Library, parent: ChatIx, old: &str, name: &str) -> Vec<Edit> {
    let chat = library.chat(parent);
    let links = chat.facts().links().filter(|(_, _, linked)| chat_stem(linked) == *old);
    links.filter_map(|(message, link, linked)| relink(chat, message, link, linked, name)).collect()
}

/// A link of a message leads to another name.
pub(super) fn relink(chat: &Chat, message: usize, link: Link, linked: &str, name: &str) -> Option<Edit> {
    let row = chat.transcript().row(message)?;
    let changes = match link {
        Link::Bookmark => {
            vec![JsonChange::set(&["extra", "bookmark_link"], Json::text(linked), Json::text(name))]
        }
        Link::Branch => {
            let mut beside =
                chat.facts().links().filter(|(m, link, _)| *m == message && *link == Link::Branch);
            let at = beside.position(|(_, _, other)| other == linked);
            let listed = |text: &str| Listed::new(&["extra", "branches"], text).at(at);
            vec![JsonChange::Exclude(listed(linked)), JsonChange::Include(listed(name))]
        }
    };
    let place = Place::Message { index: message, id: row.id.0 };
    Some(Edit::new(chat.path().clone(), place, changes))
}

/// The group lists the new name.
fn groups(library: &Library, c: ChatIx, name: &str) -> Vec<Edit> {
    let chat = library.chat(c);
    if library.story(chat.story()).kind() != StoryKind::Group {
        return Vec::new();
    }
    let mut edits = Vec::new();
    for group in library.groups().values() {
        let Ok(target) = layout::folder(layout::GROUPS).join(&format!("{}.json", group.file)) else {
            continue;
        };
        let mut changes = Vec::new();
        if let Some(n) = group.chats.iter().position(|listed| chat_stem(listed) == chat.name()) {
            let listed = |text: &str| Listed::new(&["chats"], text).at(Some(n));
            changes.push(JsonChange::Exclude(listed(&group.chats[n])));
            changes.push(JsonChange::Include(listed(name)));
        }
        if let Some(current) = group.current_chat.as_ref().filter(|open| chat_stem(open) == chat.name()) {
            changes.push(JsonChange::set(&["chat_id"], Json::text(current), Json::text(name)));
        }
        changes.extend(kept_metadata(chat, &target, name).into_iter().flatten());
        if !changes.is_empty() {
            edits.push(Edit::new(target, Place::Document, changes));
        }
    }
    edits
}
