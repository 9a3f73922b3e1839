//! Forks that SillyTavern saves itself: [`judge`] tells whether a save is a fork, [`prepare`] makes its book and the header to save,
//! [`pending`] the header of one that has to wait.
//!
//! SillyTavern's page sends the whole chat; the header and the last message of it tell enough. The fork gets what it would get from
//! Forklore, under the name that SillyTavern chose. What the page has in its memory and nobody revises (variables, notes, what other
//! extensions keep) is what was sent: it may be newer than the file.

use forklore_config::Config;
use forklore_core::adapter;
use forklore_core::adapter::bindings::{Bindings, CHAT_BOOK};
use forklore_core::fork::ForkKind;
use forklore_core::fork::header::handled;
use forklore_core::format::chat::{Header, Message};
use forklore_core::format::names::chat_stem;
use forklore_core::format::record::{ForkRecord, Pending};
use forklore_core::format::revision::{self, Revision};
use forklore_core::story::{identify, swipe_moments};
use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};

use super::fork::{ForkError, ForkReport, ForkRequest, plan_named, prepare as publish};

/// A chat that SillyTavern is about to save.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// Folder of the character's chats; nothing for a group's chat
    pub folder: Option<&'a str>,
    /// Its name, as sent
    pub chat: &'a str,
    /// Whether what is there is overwritten, whatever it is
    pub force: bool,
    /// The first line
    pub header: Raw<'a>,
    /// How many messages follow
    pub messages: usize,
    /// The last of them
    pub last: Raw<'a>,
}

/// What a save is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The fork that it makes, if it makes one
    pub fork: Option<Fork>,
    /// Number of the chat that it overwrites by force
    pub overwrites: Option<ChatIx>,
}

/// A fork that is about to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The chat that it is forked from
    pub parent: VaultPath,
    /// Its name, cleaned
    pub name: String,
    /// Its slug: the one that was sent, or a fresh one where SillyTavern (before 1.19) sent its parent's
    pub slug: String,
}

/// Tells what a save is. `None` if SillyTavern will not save such a thing either.
pub fn judge(library: &Library, sent: &Sent<'_>) -> Option<Verdict> {
    let dir = match sent.folder {
        Some(folder) => layout::folder(layout::CHATS).join(folder).ok()?,
        None => layout::folder(layout::GROUP_CHATS),
    };
    let file = |name: &str| dir.join(&format!("{}.jsonl", chat_stem(name))).ok();
    let name = chat_stem(sent.chat);
    let target = file(&name).filter(|_| !name.is_empty())?;
    let header = Header::new(sent.header);
    let there = library.chat_at(&target).map(|(c, _)| c);
    let other = |c: &ChatIx| library.chat(*c).header().slug() != header.slug();
    let overwrites = there.filter(|c| sent.force && other(c));
    let free = there.is_none() || overwrites.is_some();
    let parent = header.main_chat().and_then(|name| file(&name)).filter(|parent| *parent != target);
    let parent = parent.and_then(|path| library.chat_at(&path).map(|(c, _)| c));
    let fork = parent.filter(|_| free).and_then(|parent| {
        let parents = library.chat(parent).header().slug();
        let own = header.slug().filter(|slug| Some(slug) != parents.as_ref());
        // A page that still shows a fork which is gone saves it again: that is no new fork.
        let again = ForkRecord::read(header.metadata()).is_some_and(|r| r.belongs_to(own.as_deref()));
        let slug = own.map_or_else(crate::fresh_slug, std::borrow::Cow::into_owned);
        (!again).then(|| Fork { parent: library.chat(parent).path().clone(), name, slug })
    });
    Some(Verdict { fork, overwrites })
}

/// What a fork needs before SillyTavern writes its chat: the book is there, and the header that names it is the answer. `wish` is what the
/// user wants of it, where somebody has asked; what the page chooses, it has chosen.
pub fn prepare(
    library: &Library,
    sent: &Sent<'_>,
    fork: &Fork,
    wish: Option<&ForkRequest>,
    config: &Config,
    now: i64,
    until: i64,
) -> Result<(ForkReport, Vec<u8>), ForkError> {
    let not_there =
        || forklore_vault::AddressError::NoSuchChat { wanted: fork.parent.to_string(), like: Vec::new() };
    let parent = library.chat_at(&fork.parent).map(|(c, _)| c).ok_or_else(not_there)?;
    let (at, swipe) = place(library, parent, sent)?;
    let address = library.address(parent).to_string();
    let wished = wish.cloned().unwrap_or_else(|| ForkRequest::of(""));
    let mut request =
        ForkRequest { chat: address, at: Some(at), swipe, name: Some(fork.name.clone()), ..wished };
    // After a checkpoint the page saves the parent with the link; after a branch it forgets to.
    request.link = request.kind() == ForkKind::Branch;
    let plan = plan_named(library, &request, config, &fork.slug, now, &fork.name)?;
    let before = library.chat(parent).header().metadata();
    let header = merged(sent.header, Raw::parse(&plan.header).unwrap_or(Raw::NULL), before)
        .map_err(|why| ForkError::CorruptChat { chat: fork.name.clone(), why })?;
    Ok((publish(library, plan, now, until)?, header))
}

/// The header of a fork that is saved without a book, and why.
pub fn pending(
    library: &Library,
    sent: &Sent<'_>,
    fork: &Fork,
    code: &str,
    message: &str,
    now: i64,
) -> Option<Vec<u8>> {
    let header = Header::new(sent.header);
    let bindings = Bindings::of(header);
    let story = bindings.story(library.settings());
    let note = Pending {
        code: code.to_owned(),
        message: message.to_owned(),
        since: now,
        book: story.map(|(book, _)| book.to_owned()),
    };
    let mut revisions = vec![
        Revision::text(&["integrity"], &fork.slug),
        Revision::without(CHAT_BOOK),
        Revision::set(&["forklore"], note.write()),
    ];
    revisions.extend(adapter::ALL.iter().flat_map(|adapter| adapter.bind(header.metadata(), None)));
    // Also what is left over from another time: nobody may write for the fork into a book of its parent's.
    let notes = adapter::ALL.iter().filter_map(|adapter| adapter.places().memory_book);
    let there = notes.filter(|place| header.metadata().at(place).is_some());
    revisions.extend(there.map(|place| Revision::set(place, b"null".to_vec())));
    revision::apply(Some(sent.header), &revisions).ok()
}

/// The message of the parent that the fork ends with, and the swipe of it, if it shows another one.
fn place(library: &Library, parent: ChatIx, sent: &Sent<'_>) -> Result<(usize, Option<usize>), ForkError> {
    let chat = library.chat(parent);
    let at = sent.messages.saturating_sub(1);
    let not_saved = || ForkError::NotSaved { chat: chat.name().to_owned(), at };
    let row = chat.transcript().row(at).ok_or_else(not_saved)?;
    let last = Message::new(sent.last);
    let (role, text, _) = identify(last);
    let before = chat.transcript().moment_before(at);
    let moment = before.then(role, &text);
    if moment == row.moment {
        return Ok((at, None));
    }
    let line = library.message_line(parent, at)?.unwrap_or_default();
    let swipes = swipe_moments(before, Message::new(Raw::parse(&line).unwrap_or(Raw::NULL)));
    let swipe = swipes.iter().position(|other| *other == moment);
    swipe.map(|swipe| (at, Some(swipe))).ok_or_else(not_saved)
}

/// What was sent, with everything in it that is the fork's own.
fn merged(sent: Raw<'_>, planned: Raw<'_>, before: Raw<'_>) -> Result<Vec<u8>, String> {
    let planned = planned.get("chat_metadata").unwrap_or(Raw::NULL);
    let mut keys: Vec<String> = handled().map(str::to_owned).collect();
    let now = planned.members().chain(before.members()).filter_map(|(key, _)| key.as_text());
    for key in now {
        let revised = planned.get(&key).map(Raw::bytes) != before.get(&key).map(Raw::bytes);
        if revised && !keys.iter().any(|known| *known == *key) {
            keys.push(key.into_owned());
        }
    }
    let revisions: Vec<Revision> = keys
        .iter()
        .map(|key| match planned.get(key) {
            Some(value) => Revision::set(&[key], value.bytes().to_vec()),
            None => Revision::without(&[key]),
        })
        .collect();
    revision::apply(Some(sent), &revisions).map_err(|e| format!("its header cannot be edited ({e})"))
}
