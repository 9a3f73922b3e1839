//! What SillyTavern's plugin reports: [`reported`] does what follows from something that SillyTavern has changed, [`catch_up`] what should have
//! followed while nobody could be told.

use forklore_api::{ErrorCode, Failure, FailureReport, Kind, OpenVault, now};
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_engine::rename;
use forklore_engine::st_deleted::{self, Cleared};
use forklore_journal::oplog::OpLog;
use forklore_json::Raw;
use forklore_vault::{ChatIx, StoryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::events::{Event, VaultChange};
use crate::vault::Call;

/// Things that SillyTavern has done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// In the order in which they happened
    events: Vec<ReportedChange>,
    /// Whether others were lost: what can be found out about them from the disk is done
    #[serde(default)]
    lost: bool,
}

/// One thing that SillyTavern has done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportedChange {
    /// What it was done with
    what: Subject,
    /// What was done
    act: Act,
    /// A group's chat
    #[serde(default)]
    group: bool,
    /// Folder of the character's chats
    folder: Option<String>,
    /// Its present name: of the chat, the book, the folder of the character, the id of the group
    name: Option<String>,
    /// Its former name
    from: Option<String>,
    /// `chat_metadata` that a deleted chat had
    #[schemars(with = "Option<serde_json::Value>")]
    metadata: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Subject {
    Chat,
    Book,
    Group,
    Character,
    Settings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Act {
    Saved,
    Renamed,
    Deleted,
}

/// What followed from it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Followed {
    /// What was done, if anything
    did: Vec<Did>,
    /// What could not be done
    failed: Vec<Undone>,
}

/// What did not follow from one thing.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Undone {
    /// Number of the event
    event: usize,
    /// Whether to tell it again later
    again: bool,
    /// Why
    error: FailureReport,
}

/// What followed from one thing.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Did {
    /// Number of the event
    event: usize,
    /// The operation
    operation: Option<String>,
    /// Books that went to the trash
    books: Vec<String>,
}

/// SillyTavern has changed something.
pub(crate) fn reported(call: &Call, report: &Report) -> Followed {
    let (mut did, mut failed) = (Vec::new(), Vec::new());
    if report.lost {
        // What cannot be done now is done when the vault is next opened.
        let _later = catch_up(call);
    }
    let mut busy: Option<Failure> = None;
    for (event, seen) in report.events.iter().enumerate() {
        let change = change(seen);
        call.vault.recording.nudge(&format!("{} {}", change.what, change.act));
        call.vault.tell(Event::Change(change));
        // Each waits for another Forklore for a while: once is enough for all.
        let followed = match &busy {
            Some(failure) if seen.act == Act::Deleted => Err(failure.clone()),
            _ => follow(call, seen),
        };
        let cleared = match followed {
            Ok(cleared) => cleared,
            Err(failure) => {
                let again = failure.code.kind() != Kind::Usage;
                failed.push(Undone { event, again, error: failure.told() });
                busy = busy.or(Some(failure).filter(|failure| failure.code == ErrorCode::Busy));
                continue;
            }
        };
        if cleared.operation.is_some() {
            for book in &cleared.books {
                let change = VaultChange::operation("deleted", None, cleared.operation.as_deref());
                call.vault.tell(Event::Change(VaultChange {
                    what: "book",
                    book: Some(book.clone()),
                    ..change
                }));
            }
            did.push(Did { event, operation: cleared.operation, books: cleared.books });
        }
    }
    Followed { did, failed }
}

/// Does what should have followed from deletions that nobody told of: while there was no engine, or too much to tell.
pub(crate) fn catch_up(call: &Call) -> Result<(), Failure> {
    let missed = call.ask(|open| Ok(st_deleted::may_have_missed(&*open.fs, &OpLog::read(&*open.fs)?)?))?;
    if !missed {
        return Ok(());
    }
    let cleared = call.change(|open| {
        let library = open.library_to_change(false)?;
        Ok(st_deleted::missed(&library, &OpLog::read(&*open.fs)?, now())?)
    })?;
    if cleared.operation.is_some() {
        call.vault.tell(Event::Change(VaultChange::vault()));
    }
    Ok(())
}

fn change(seen: &ReportedChange) -> VaultChange {
    let name = seen.name.clone();
    let chat = |name: &String| match &seen.folder {
        Some(folder) if !seen.group => format!("{folder}/{}", chat_stem(name)),
        _ => format!("group:-/{}", chat_stem(name)),
    };
    VaultChange {
        what: match seen.what {
            Subject::Chat => "chat",
            Subject::Book => "book",
            Subject::Group => "group",
            Subject::Character => "character",
            Subject::Settings => "settings",
        },
        act: match seen.act {
            Act::Saved => "saved",
            Act::Renamed => "renamed",
            Act::Deleted => "deleted",
        },
        chat: match seen.what {
            Subject::Chat => name.as_ref().map(chat),
            Subject::Group | Subject::Character => name.clone(),
            Subject::Book | Subject::Settings => None,
        },
        book: name.filter(|_| seen.what == Subject::Book).map(|name| book_stem(&name)),
        from: seen.from.clone(),
        operation: None,
        by: "sillytavern",
    }
}

/// A chat has another name: what still says the former one follows, before a page reads it.
fn follow_rename(
    open: &OpenVault<'_>,
    seen: &ReportedChange,
    name: &str,
    from: &str,
) -> Result<Cleared, Failure> {
    let library = open.library_to_change(false)?;
    let is_it = |c: &ChatIx| {
        let story = library.story(library.chat(*c).story());
        let here = match story.kind() {
            StoryKind::Character => !seen.group && seen.folder.as_deref() == Some(story.folder()),
            StoryKind::Group => seen.group,
        };
        here && library.chat(*c).name() == name
    };
    let Some(c) = library.chat_ixs().find(is_it) else { return Ok(Cleared::default()) };
    let Some(following) = rename::follow(&library, c, from)? else { return Ok(Cleared::default()) };
    let operation = rename::execute_following(&library, following, now())?;
    Ok(Cleared { operation: Some(operation), ..Cleared::default() })
}

/// What follows from what SillyTavern did.
fn follow(call: &Call, seen: &ReportedChange) -> Result<Cleared, Failure> {
    if let (Act::Renamed, Subject::Chat, Some(name), Some(from)) =
        (seen.act, seen.what, &seen.name, &seen.from)
    {
        return call.change(|open| follow_rename(open, seen, &chat_stem(name), &chat_stem(from)));
    }
    let (Act::Deleted, Some(name)) = (seen.act, &seen.name) else { return Ok(Cleared::default()) };
    let kind = match seen.what {
        Subject::Chat => None,
        Subject::Character => Some(StoryKind::Character),
        Subject::Group => Some(StoryKind::Group),
        Subject::Book | Subject::Settings => return Ok(Cleared::default()),
    };
    let metadata = seen.metadata.as_deref().map(|raw| raw.get().as_bytes().to_vec()).unwrap_or_default();
    let metadata = Raw::parse(&metadata).unwrap_or(Raw::NULL);
    call.change(|open| {
        let library = open.library_to_change(false)?;
        let log = OpLog::read(&*open.fs)?;
        let folder = seen.folder.as_deref().filter(|_| !seen.group);
        Ok(match kind {
            Some(kind) => st_deleted::gone(&library, &log, kind, name, now())?,
            None if folder.is_none() && !seen.group => Cleared::default(),
            None => st_deleted::deleted(&library, &log, folder, &chat_stem(name), metadata, now())?,
        })
    })
}
