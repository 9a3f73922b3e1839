//! A past state of a chat as a new branch. What was deleted comes back under its name (`deleted`).

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_core::story::common_prefix;
use forklore_fs::VaultPath;
use forklore_journal::oplog::time;
use forklore_vault::history::past::stem_of;
use forklore_vault::history::{Past, PastError};
use forklore_vault::{Address, ChatIx, Library};

use super::{Act, RestoreError, RestorePlan, RestoreReport, RestoreRequest, RestoredBook, When, until};
use crate::fork::{self, ForkError, ForkReport, ForkRequest, Restored, plan_of_past};
use crate::links;
use crate::warning::{Warning, WarningCode};

/// Warnings about where a branch is made; what comes back as it was is made nowhere.
const OF_BRANCHES: [WarningCode; 3] =
    [WarningCode::NoSceneBreak, WarningCode::NoSceneRecap, WarningCode::NoRunningRecap];

pub(super) fn plan(
    library: &Library,
    request: &RestoreRequest,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<RestorePlan, RestoreError> {
    let missing = match library.find_chat(&request.chat) {
        Ok(c) => return there(library, c, request, config, slug, now),
        Err(e) => e,
    };
    match library.find_gone(&request.chat)? {
        Some(file) => gone(library, &file, request, config, slug, now),
        None => Err(missing.into()),
    }
}

/// A past state of a chat that is there.
fn there(
    library: &Library,
    c: ChatIx,
    request: &RestoreRequest,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<RestorePlan, RestoreError> {
    let chat = library.chat(c);
    let work = Work { library, request, config, slug, now };
    match request.when {
        When::Last => Err(RestoreError::WhichState(chat.name().to_owned())),
        When::Message(at) if at < chat.transcript().len() => {
            let request = work.branch(&library.address(c), at, request.ignore_queue, true);
            let mut plan = fork::plan(library, &request, config, slug, now)?;
            plan.bring(library, chat.path(), None)?;
            Ok(planned(plan, None))
        }
        // The story was there once, and has lost those messages since.
        When::Message(at) => {
            let history = library.history()?;
            let had = history.and_then(|history| {
                let mut track = history.track(chat.path()).iter().rev().map(|i| &history.seen[*i]);
                track.find(|seen| {
                    seen.chat().is_some_and(|chat| chat.messages > at) && history.content(seen).is_some()
                })
            });
            let Some(had) = had else {
                let messages = chat.transcript().len();
                return Err(ForkError::NoSuchMessage { at, chat: chat.name().to_owned(), messages }.into());
            };
            let past = library.find_past(chat.path(), Some(had.seq))?;
            work.past(Some(c), &past, Some(at))
        }
        When::Time(_) | When::Observation(_) => {
            let past = library.find_past(chat.path(), until(library, request.when)?)?;
            work.past(Some(c), &past, None)
        }
    }
}

/// A chat that is not there any more.
fn gone(
    library: &Library,
    file: &VaultPath,
    request: &RestoreRequest,
    config: &Config,
    slug: &str,
    now: i64,
) -> Result<RestorePlan, RestoreError> {
    let work = Work { library, request, config, slug, now };
    let last = library.find_past(file, None)?;
    match request.when {
        When::Last => work.back(&last),
        When::Message(at) => work.past(None, &last, Some(at)),
        When::Time(_) | When::Observation(_) => {
            let past = library.find_past(file, until(library, request.when)?)?;
            if past.seq == last.seq { work.back(&last) } else { work.past(None, &past, None) }
        }
    }
}

pub(super) struct Work<'a> {
    pub(super) library: &'a Library,
    pub(super) request: &'a RestoreRequest,
    config: &'a Config,
    pub(super) slug: &'a str,
    now: i64,
}

impl Work<'_> {
    fn branch(&self, chat: &Address, at: usize, ignore_queue: bool, link: bool) -> ForkRequest {
        ForkRequest {
            kind: Some(ForkKind::Branch),
            at: Some(at),
            name: self.request.name.clone(),
            strict: Some(false),
            ignore_queue,
            link,
            copy_book: !link,
            ..ForkRequest::of(chat.to_string())
        }
    }

    /// A branch with what a chat was, up to message `at` of it; without one, all of it, exactly as it was. `c` is the chat as it is.
    fn past(&self, c: Option<ChatIx>, past: &Past, at: Option<usize>) -> Result<RestorePlan, RestoreError> {
        let then = self.library.past(past)?;
        let t = find(&then, past)?;
        let chat = then.chat(t);
        let last = at.unwrap_or(chat.head());
        let mut restored = Restored {
            seq: past.seq,
            message: last,
            moment: String::new(),
            parent_slug: chat.header().slug().unwrap_or_default().into_owned(),
            as_it_was: at.is_none(),
        };
        let mut common = 0;
        if let Some(now) = c.map(|c| self.library.chat(c)) {
            common = common_prefix(chat.transcript(), now.transcript());
            restored.message = common.saturating_sub(1).min(last);
            restored.parent_slug = now.header().slug().unwrap_or_default().into_owned();
        }
        restored.moment = chat.transcript().moment(restored.message).unwrap_or_default().to_string();
        let message = restored.message;
        // What is only asked of new branches is not asked of the past.
        let mut config = self.config.clone();
        (config.fork.strict, config.checkpoint.require_scene_break) = (false, false);
        let request = self.branch(&then.address(t), last, true, false);
        let mut plan = plan_of_past(&then, &request, &config, self.slug, self.now, Some(restored))?;
        if let Some(c) = c.filter(|_| common > 0 && self.config.fork.link_parent) {
            let link = links::to_fork(self.library, c, message, ForkKind::Branch, plan.name())?;
            plan.report.files.extend(link.iter().map(|edit| edit.target.as_str().to_owned()));
            plan.edits.extend(link);
        }
        if at.is_none() {
            plan.report.warnings.retain(|warning| !OF_BRANCHES.contains(&warning.code));
        }
        plan.bring(self.library, &past.file, Some(past.until))?;
        Ok(planned(plan, Some((past, at.is_none()))))
    }
}

/// The chat in the library of the past.
pub(super) fn find(then: &Library, past: &Past) -> Result<ChatIx, RestoreError> {
    let found = then.chat_at(&past.file).map(|(c, _)| c);
    let chat = || stem_of(&past.file).to_owned();
    let t = found.ok_or_else(|| PastError::NeverSeen(chat()))?;
    match then.chat(t).unreadable() {
        None => Ok(t),
        Some(why) => Err(ForkError::CorruptChat { chat: chat(), why: why.to_owned() }.into()),
    }
}

pub(super) fn behind(past: &Past) -> Vec<Warning> {
    let message = format!(
        "What was saved after that is not stored, because it is large or was forgotten: this is the chat as it was at {}",
        time(past.clock)
    );
    if past.behind { vec![Warning::new(WarningCode::NotTheLast, message)] } else { Vec::new() }
}

/// A branch, told as what comes back.
fn planned(plan: fork::ForkPlan, past: Option<(&Past, bool)>) -> RestorePlan {
    let ForkReport { chat, parent, at, book, warnings, files, .. } = plan.report.clone();
    let exact = past.filter(|(_, whole)| *whole);
    let mut all = past.map(|(past, _)| behind(past)).unwrap_or_default();
    all.extend(warnings);
    let report = RestoreReport {
        operation: None,
        what: "branch",
        chat,
        of: parent,
        at,
        observation: exact.map(|(past, _)| past.seq),
        seen: exact.map(|(past, _)| time(past.clock)),
        book: RestoredBook {
            made: book.name.is_some() && !book.shared,
            name: book.name,
            from: book.from,
            entries: book.entries,
        },
        entries: Vec::new(),
        media: plan.media.paths().map(|path| path.as_str().to_owned()).collect(),
        warnings: all,
        files,
        pending: Vec::new(),
    };
    RestorePlan { report, act: Act::Branch(Box::new(plan)) }
}
