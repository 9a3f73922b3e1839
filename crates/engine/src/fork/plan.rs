//! [`plan`]: everything about a fork, worked out; nothing done. [`Draft`] is what is known of it after each step, [`ForkPlan`] the result.

use std::ops::Range;
use std::sync::Arc;

use forklore_config::{Config, Undated};
use forklore_core::fork::ForkKind;
use forklore_core::format::names::chat_stem;
use forklore_core::format::record::Learnt;
use forklore_core::state::StateEntry;
use forklore_core::story::lineage::Link;
use forklore_fs::{PathError, VaultPath, Vfs};
use forklore_journal::operation::{Edit, FileId};
use forklore_vault::state::at::{BookAt, SourceKind, Wanted};
use forklore_vault::{Chat, ChatIx, Library};

use super::body::{Body, LastLine};
use super::book::{BookPlan, OwnBook, plan_book, warn_of_besides, warn_of_foreign};
use super::brought::{Brought, More};
use super::chat_name::{fork_name, place};
use super::edits::edits;
use super::queue;
use super::refuse::{Surroundings, before, judge};
use super::request::{ForkRequest, Spot};
use super::{ForkError, ForkReport};
use crate::bring::Bring;
use crate::header::{Revised, revise};
use crate::memory_record::MemoryRecord;
use crate::warning::{Warning, WarningCode};

/// A fork that is worked out and not yet made.
pub struct ForkPlan {
    /// What is told of it
    pub report: ForkReport,
    /// File of the fork
    pub(super) target: VaultPath,
    /// Its header line
    pub(crate) header: Vec<u8>,
    /// Number of the parent
    pub(super) chat: ChatIx,
    /// The parent's file, where to find it, which it was when the plan was made, and what of it comes along
    pub(super) fs: Arc<dyn Vfs>,
    pub(super) parent: VaultPath,
    pub(super) body: Range<u64>,
    /// Its last line, if not the parent's
    pub(super) last: Option<Vec<u8>>,
    /// File and content of its book
    pub(super) book: Option<(VaultPath, Arc<Vec<u8>>)>,
    /// Files that tell whose the book is to be
    pub(super) models: Vec<VaultPath>,
    /// Edits of files that SillyTavern writes, too
    pub(crate) edits: Vec<Edit>,
    /// Files that must not change before it happens
    pub(crate) guards: Vec<(VaultPath, FileId)>,
    /// The new chat's slug
    pub(super) slug: String,
    /// What it is a past state of, if it is one
    pub(super) restored: Option<Restored>,
    /// The chat whose lore came along, if one did
    pub(super) learnt: Option<String>,
    /// The messages of another chat that follow, if some do
    pub(super) more: Option<More>,
    /// Images and files that come back with a past state
    pub(crate) media: Bring,
}

impl ForkPlan {
    /// Everything that the fork links to and that is gone comes back with it, if history kept it with the chat `of`.
    pub(crate) fn bring(
        &mut self,
        library: &Library,
        of: &VaultPath,
        until: Option<u64>,
    ) -> Result<(), PathError> {
        let file = self.fs.open(&self.parent)?;
        self.media = Bring::with(library, &*file, Some(self.body.end), of, until)?;
        self.report.files.extend(self.media.paths().map(|path| path.as_str().to_owned()));
        self.report.warnings.extend(self.media.warning());
        Ok(())
    }

    /// The name of the fork.
    pub(crate) fn name(&self) -> &str {
        let file = self.target.name();
        file.strip_suffix(".jsonl").unwrap_or(file)
    }
}

/// What a fork brings back that is not in its parent any more.
#[derive(Debug, Clone)]
pub(crate) struct Restored {
    /// The observation that it is from
    pub(crate) seq: u64,
    /// The last message that the parent still has
    pub(crate) message: usize,
    /// The moment of that message
    pub(crate) moment: String,
    /// The parent's slug, as it is now
    pub(crate) parent_slug: String,
    /// Whether the book comes along as it was, whatever is known of it
    pub(crate) as_it_was: bool,
}

/// Works a fork out. `slug` is a fresh identity for it, `now` the time in milliseconds since 1970.
pub fn plan(
    library: &Library,
    request: &ForkRequest,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<ForkPlan, ForkError> {
    plan_of_past(library, request, config, slug, now, None)
}

/// As [`plan`], of a chat in a library of the past, if it is one.
pub(crate) fn plan_of_past(
    library: &Library,
    request: &ForkRequest,
    config: &Config,
    slug: &str,
    now: i64,
    restored: Option<Restored>,
) -> Result<ForkPlan, ForkError> {
    let spot = request.spot(library)?;
    let waiting = before(library, &spot)?;
    let name = &fork_name(library, &spot, config)?;
    work_out(library, config, Settled { spot, waiting, name, slug, now, restored, brought: None })
}

/// Works a fork out that something of another line comes along into.
pub(crate) fn plan_with(
    library: &Library,
    request: &ForkRequest,
    config: &Config,
    slug: &str,
    now: i64,
    brought: Brought,
) -> Result<ForkPlan, ForkError> {
    let spot = request.spot(library)?;
    let waiting = before(library, &spot)?;
    let name = &fork_name(library, &spot, config)?;
    work_out(
        library,
        config,
        Settled { spot, waiting, name, slug, now, restored: None, brought: Some(brought) },
    )
}

/// Works a fork out whose name SillyTavern has chosen already.
pub(crate) fn plan_named(
    library: &Library,
    request: &ForkRequest,
    config: &Config,
    slug: &str,
    now: i64,
    name: &str,
) -> Result<ForkPlan, ForkError> {
    let spot = request.spot(library)?;
    let waiting = before(library, &spot)?;
    work_out(library, config, Settled { spot, waiting, name, slug, now, restored: None, brought: None })
}

/// What is settled about a fork before it is worked out.
struct Settled<'a> {
    spot: Spot<'a>,
    /// How much work waits in the queue
    waiting: usize,
    name: &'a str,
    slug: &'a str,
    now: i64,
    /// What it is a past state of, if it is one
    restored: Option<Restored>,
    /// What another line's lore makes of its book, if that comes along
    brought: Option<Brought>,
}

/// A fork of which everything is known but how its files say it.
pub(super) struct Draft<'a> {
    pub(super) library: &'a Library,
    pub(super) spot: &'a Spot<'a>,
    /// How much work waits in the queue
    pub(super) waiting: usize,
    pub(super) name: &'a str,
    pub(super) slug: &'a str,
    pub(super) now: i64,
    pub(super) restored: Option<&'a Restored>,
    /// Where another line's lore comes from, if that came along
    pub(super) learnt: Option<&'a Learnt>,
    /// The messages of another line that follow
    pub(super) more: Option<&'a More>,
    /// Its last message
    pub(super) last: &'a LastLine,
    /// What that is in the story that extensions tell
    pub(super) around: &'a Surroundings<'a>,
    /// The state of the parent's book then
    pub(super) found: &'a BookAt,
    /// What becomes of the book
    pub(super) book: &'a BookPlan,
    /// The parent's metadata, as of then and for the fork
    pub(super) revised: Revised,
    /// What comes along of the parent's file
    pub(super) body: Body,
    pub(super) warnings: Vec<Warning>,
}

impl Draft<'_> {
    pub(super) fn parent(&self) -> &Chat {
        self.library.chat(self.spot.chat)
    }

    /// Files that must not change before the fork is made. The past does not change while we look at it.
    fn guards(&self) -> Vec<(VaultPath, FileId)> {
        if self.restored.is_some() {
            return Vec::new();
        }
        let chat = self.parent();
        let parent = chat.identity().map(|id| (chat.path().clone(), id.into()));
        let live = self.found.live.as_ref().filter(|_| self.book.own().is_some());
        let book = live.and_then(|live| {
            let path = self.library.books().get(live.name())?;
            Some((path.clone(), live.identity()?.into()))
        });
        parent.into_iter().chain(book).collect()
    }
}

/// The steps: each rests on those before it, and what is refused is refused before anything is written.
fn work_out(library: &Library, config: &Config, settled: Settled<'_>) -> Result<ForkPlan, ForkError> {
    let Settled { spot, waiting, name, slug, now, restored, brought } = settled;
    let c = spot.chat;
    let chat = library.chat(c);
    let last = LastLine::of(library, &spot)?;
    let state_at = last.state_at(spot.at);
    let mut found = match &restored {
        Some(Restored { as_it_was: true, .. }) => library.book_as_it_is(c)?,
        _ => library.book_at(c, state_at, wanted(config, waiting, last.swiped.is_none()))?,
    };
    let around = Surroundings::of(library, &spot, &last)?;
    let mut warnings = judge(&spot, config, &around, &found)?;
    warnings.extend(queue::ignored(waiting));
    warnings.extend(flag_replaced(library, config, &spot));
    warnings.extend(spot.request.name.as_deref().and_then(|typed| Warning::cleaned(typed, name)));
    warn_of_foreign(library, c, &found, &mut warnings)?;
    if let Some(brought) = &brought {
        with(&mut found, brought, spot.at);
    }
    let book = plan_book(library, &spot, config, name, &found, &mut warnings)?;
    warn_of_besides(library, c, &mut warnings)?;
    let mut revised = revise(library, c, state_at, name, &book.binding(), true)?;
    if let (Some(timers), Some(own)) =
        (brought.as_ref().and_then(|brought| brought.timers.as_ref()), book.own())
    {
        revised.revisions.extend(timers.revisions(library, (c, spot.at), &own.name)?);
    }
    let memory = brought.as_ref().and_then(|brought| brought.memory.as_ref());
    revised.revisions.extend(memory.map(MemoryRecord::revision));
    let body = Body::of(library, &spot, &last)?;
    let draft = Draft {
        library,
        spot: &spot,
        waiting,
        name,
        slug,
        now,
        restored: restored.as_ref(),
        learnt: brought.as_ref().and_then(|brought| brought.learnt.as_ref()),
        more: brought.as_ref().and_then(|brought| brought.more.as_ref()),
        last: &last,
        around: &around,
        found: &found,
        book: &book,
        revised,
        body,
        warnings,
    };
    let mut header = draft.header()?;
    let (target, address) = place(library, c, name)?;
    // Where older versions keep the metadata of a group's chats, a fork has it in the same place.
    let kept = chat.kept().is_some().then(|| std::mem::take(&mut header));
    let edits = edits(library, &spot, config, name, kept.as_deref())?;
    let (report, guards, body) = (draft.report(&target, &address, &edits), draft.guards(), draft.body.range);
    let book = match book {
        BookPlan::Own(OwnBook { path, bytes, .. }) => Some((path, bytes)),
        BookPlan::Shared | BookPlan::None => None,
    };
    Ok(ForkPlan {
        report,
        target,
        header,
        chat: c,
        models: library.models_of_book(c),
        fs: library.fs().clone(),
        parent: chat.path().clone(),
        body,
        last: last.swiped,
        book,
        edits,
        guards,
        slug: slug.to_owned(),
        restored,
        learnt: brought.as_ref().and_then(|brought| Some(brought.learnt.as_ref()?.file.clone())),
        more: brought.and_then(|brought| brought.more),
        media: Bring::default(),
    })
}

/// The state of the book with what comes along.
fn with(found: &mut BookAt, brought: &Brought, at: usize) {
    let unmarked = brought.more.as_ref().and_then(|_| More::unmarked(&found.entries, at));
    let Some(entries) = brought.entries.clone().or(unmarked) else { return };
    found.entries = entries.into_iter().map(StateEntry::plain).collect();
    found.name = found.name.take().or_else(|| brought.book.clone());
    // It is not the parent's book any more, as that is.
    if matches!(found.source.kind, SourceKind::Head | SourceKind::Degraded | SourceKind::None) {
        found.source.kind = SourceKind::Unchanged;
    }
}

/// What is asked of the state of the book.
fn wanted(config: &Config, waiting: usize, as_it_is: bool) -> Wanted {
    Wanted {
        undated: config.fork.undated == Undated::Carry,
        perhaps: true,
        unfinished: waiting == 0,
        head: as_it_is,
        fill: false,
    }
}

/// A message has room for one flag: the checkpoint that it led to loses it.
fn flag_replaced(library: &Library, config: &Config, spot: &Spot<'_>) -> Option<Warning> {
    if spot.kind != ForkKind::Checkpoint || !spot.request.link || !config.fork.link_parent {
        return None;
    }
    let chat = library.chat(spot.chat);
    let mut links = chat.facts().links();
    let (_, _, name) = links.find(|(message, link, _)| *message == spot.at && *link == Link::Bookmark)?;
    // One that leads nowhere is no loss.
    let old = library.chat(library.named(chat.story(), &chat_stem(name))?).name();
    let message = format!(
        "The flag of message {} led to \"{old}\", and leads to the new checkpoint now; \"{old}\" is still there",
        spot.at
    );
    Some(Warning::new(WarningCode::FlagReplaced, message))
}
