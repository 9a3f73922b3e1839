//! What SillyTavern did by itself, and what follows from it: a fork that was [`deleted`] there loses its own book to the trash, and so
//! do the forks of a story that is [`gone`], and those that were [`missed`]; a chat that is about to be overwritten by force goes to the trash first ([`overwrite`]).
//!
//! A chat that SillyTavern has deleted can no longer be asked which book was its own. So its header is told by whoever saw it, and
//! the log knows what was made for it; who refers to a book is counted from the files, as always.

use std::collections::BTreeSet;

use forklore_core::adapter::bindings::Bindings;
use forklore_core::format::chat::Header;
use forklore_core::format::names::book_stem;
use forklore_core::format::record::ForkRecord;
use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_journal::operation::{Kind, Operation};
use forklore_journal::oplog::OpLog;
use forklore_journal::{About, TxError, layout};
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library, StoryKind};

use super::delete::own_books;
use super::finder::finder;

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Id of the operation; nothing if there was nothing to do
    pub operation: Option<String>,
    /// Books that went to the trash
    pub books: Vec<String>,
}

/// A chat was deleted in SillyTavern: if it was a fork, its own books go to the trash. `folder` is nothing for a group's chat.
pub fn deleted(
    library: &Library,
    log: &OpLog,
    folder: Option<&str>,
    name: &str,
    metadata: Raw<'_>,
    now: i64,
) -> Result<Cleared, TxError> {
    let dir = match folder {
        Some(folder) => layout::folder(layout::CHATS).join(folder),
        None => Ok(layout::folder(layout::GROUP_CHATS)),
    };
    // No file system has longer names: nothing can have been there.
    let possible = |name: &str| name.len() <= 255;
    let path = dir.and_then(|dir| dir.join(&format!("{name}.jsonl"))).ok();
    let Some(path) = path.filter(|path| possible(path.name()) && folder.is_none_or(possible)) else {
        return Ok(Cleared::default());
    };
    // It is there (again): nothing was deleted.
    if library.fs().identity(&path)?.is_some() {
        return Ok(Cleared::default());
    }
    let mut own = BTreeSet::new();
    let header = Header::new_metadata(metadata);
    let record = ForkRecord::read(metadata).filter(|record| record.belongs_to(header.slug().as_deref()));
    let bindings = Bindings::of(header);
    let story = bindings.story(library.settings()).map(|(book, _)| book);
    if let Some(book) = story.filter(|_| record.is_some() || header.main_chat().is_some())
        && library.book(book)?.is_some_and(|book| book.keeper().is_some())
    {
        own.insert(book_stem(book));
    }
    own.extend(record.and_then(|record| record.book).map(|book| book_stem(&book)));
    let meant = |address: &str| match (folder, address.split_once('/')) {
        (Some(folder), Some((of, chat))) => of == folder && chat == name,
        (None, Some((of, chat))) => of.starts_with("group:") && chat == name,
        _ => false,
    };
    own.extend(made_for(log, &meant));
    let chat = folder.map(|folder| format!("{folder}/{name}"));
    let summary = format!("\"{name}\" was deleted in SillyTavern");
    clear(library, own, chat, &summary, now)
}

/// A character or group was deleted in SillyTavern with its chats: so go the books that were made for its forks.
pub fn gone(
    library: &Library,
    log: &OpLog,
    kind: StoryKind,
    folder: &str,
    now: i64,
) -> Result<Cleared, TxError> {
    let story = match kind {
        StoryKind::Character => folder.to_owned(),
        StoryKind::Group => format!("group:{folder}"),
    };
    let is_there = |address: &str| {
        let chats = library.chats();
        chats.map(|(c, _)| library.address(c).to_string()).any(|there| there == address)
    };
    let meant =
        |address: &str| address.split_once('/').is_some_and(|(of, _)| of == story) && !is_there(address);
    let own = made_for(log, &meant);
    clear(library, own, None, &format!("\"{folder}\" was deleted in SillyTavern"), now)
}

/// Forks that are gone without anybody having said so: their own books go to the trash, too.
pub fn missed(library: &Library, log: &OpLog, now: i64) -> Result<Cleared, TxError> {
    let chats: BTreeSet<String> = library.chat_ixs().map(|c| library.address(c).to_string()).collect();
    let fs = &**library.fs();
    let meant = |address: &str| !chats.contains(address) && is_gone(fs, address).unwrap_or(false);
    clear(library, made_for(log, &meant), None, "Forks were deleted in SillyTavern", now)
}

/// Whether there can be such forks, as far as a look at names tells.
pub fn may_have_missed(fs: &dyn Vfs, log: &OpLog) -> Result<bool, PathError> {
    for book in made_for(log, &|address| is_gone(fs, address).unwrap_or(false)) {
        if let Ok(path) = layout::book(&book)
            && fs.identity(&path)?.is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the file of a chat is gone, and the folder that it was in is not: a disk that is not there has deleted nothing.
fn is_gone(fs: &dyn Vfs, address: &str) -> Result<bool, PathError> {
    let Some((story, name)) = address.split_once('/') else { return Ok(false) };
    let dir = match story.starts_with("group:") {
        true => Ok(layout::folder(layout::GROUP_CHATS)),
        false => layout::folder(layout::CHATS).join(story),
    };
    let Ok((dir, path)) = dir.and_then(|dir| Ok((dir.clone(), dir.join(&format!("{name}.jsonl"))?))) else {
        return Ok(false);
    };
    Ok(fs.identity(&path)?.is_none() && !fs.list(&dir)?.is_empty())
}

/// Moves a chat to the trash that SillyTavern is about to overwrite; with the books of its own, if another fork takes its place.
pub fn overwrite(library: &Library, c: ChatIx, by_fork: bool, now: i64) -> Result<String, TxError> {
    let chat = library.chat(c);
    let mut tx = library.begin(now)?;
    tx.retire(chat.path().clone())?;
    if by_fork {
        for stem in own_books(library, c)? {
            let unused = library.referring_to(&stem, &[c]).is_empty();
            if let (Some(path), true) = (library.books().get(&stem), unused) {
                tx.retire(path.clone())?;
            }
        }
    }
    let id = tx.id().to_owned();
    let about = About {
        kind: Kind::Delete,
        chat: Some(library.address(c).to_string()),
        summary: format!("{} was overwritten in SillyTavern", library.address(c)),
        undoes: None,
    };
    tx.commit(about, &finder(library))?;
    Ok(id)
}

/// The books that Forklore made for chats with these addresses.
fn made_for(log: &OpLog, meant: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let makes = |op: &&Operation| {
        let made = matches!(
            op.kind,
            Kind::Checkpoint
                | Kind::Branch
                | Kind::Heal
                | Kind::Restore
                | Kind::Learn
                | Kind::Append
                | Kind::Resolve
                | Kind::Pick
                | Kind::Memory
        );
        made && log.undone_by(&op.id).is_none() && op.chat.as_deref().is_some_and(meant)
    };
    let worlds = layout::folder(layout::WORLDS);
    let books = log.operations.iter().filter(makes).flat_map(Operation::publishes).map(|p| &p.target);
    let books = books.filter(|path| path.parent() == worlds);
    books.filter_map(|path| path.name().strip_suffix(".json")).map(str::to_owned).collect()
}

/// Moves those of the books to the trash that are there and that nothing refers to.
fn clear(
    library: &Library,
    own: BTreeSet<String>,
    chat: Option<String>,
    summary: &str,
    now: i64,
) -> Result<Cleared, TxError> {
    let unused = |stem: &String| library.referring_to(stem, &[]).is_empty();
    let there: Vec<(String, VaultPath)> = own
        .into_iter()
        .filter_map(|stem| Some((stem.clone(), library.books().get(&stem)?.clone())))
        .filter(|(stem, _)| unused(stem))
        .collect();
    if there.is_empty() {
        return Ok(Cleared::default());
    }
    let mut tx = library.begin(now)?;
    let mut books = Vec::new();
    for (stem, path) in there {
        match tx.retire(path) {
            Ok(_) => books.push(stem),
            Err(TxError::Path(PathError { source, .. })) if source.kind() == std::io::ErrorKind::NotFound => {
            }
            Err(e) => return Err(e),
        }
    }
    let operation = Some(tx.id().to_owned());
    let summary = format!("{summary}: {} went to the trash", books.join(", "));
    tx.commit(About { kind: Kind::Delete, chat, summary, undoes: None }, &finder(library))?;
    Ok(Cleared { operation, books })
}
