//! [`asked`]: what extensions noted of a book with messages, asked for where nothing else tells when a hand changed something.
//!
//! A memory extension may note with nearly every message of the user what is in the lorebook, for showing it. That is many times the
//! lorebook, so it is not read along with everything else: for each change by hand the first [`Log`] is looked for that shows it, by halves,
//! and it and the last one that does not become sights. They count for *when*; for *what* only where they show words that no sight has: a
//! step in between, what a hand had written before a scene wrote onto it, an event as it was before somebody wrote it anew.

use std::collections::HashMap;
use std::sync::Arc;

use super::author::Author;
use super::life::{Difference, Life, SeenBy};
use super::order::is_clock_wrong;
use super::sight::{Cast, Content, Log, Sight, Witness};
use super::thing::alike;
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;
use crate::story::ChatIx;

/// So many changes are looked for: a book in which hands have done more is edited by a program.
const MANY: usize = 2_000;

/// So often one entry was changed between two sights at most.
const STEPS: usize = 8;

/// So many messages beside one that nothing is noted with are looked at.
const NEAR: usize = 6;

/// The sights of a book with those logs of it between them that tell when hands changed it; nothing if there are none.
pub(super) fn asked(life: &Life, sights: &[Sight], cast: &dyn Cast) -> Option<Vec<Sight>> {
    if life.by_choice || !life.keepers.take_notes() {
        return None;
    }
    let base = life.sights.len().checked_sub(sights.len())?;
    let trusted = !is_clock_wrong(sights);
    let times: Vec<(i64, i64)> = sights.iter().map(|sight| told_time(sight, trusted)).collect();
    let mut asking = Asking { life, cast, logs: HashMap::new(), messages: HashMap::new() };
    let mut found: Vec<(usize, Log)> = Vec::new();
    let mut seen: HashMap<(ChatIx, usize), usize> = HashMap::new();
    for difference in life.differences.iter().filter(|difference| is_of_words(difference)).take(MANY) {
        let (Some(since), shown) =
            (difference.since.and_then(|n| n.checked_sub(base)), difference.shown.saturating_sub(base))
        else {
            continue;
        };
        if since >= shown {
            continue;
        }
        let step = Step { before: difference.before.clone(), after: difference.after.clone() };
        let (after, until) = (times[since].0, times[shown].1);
        let told = match difference.author {
            // What a scene made after its snapshot was taken may have been seen when others had changed it already.
            Author::Scene(scene)
                if step.before.is_none() && !life.sights[difference.shown].by.is_scene(scene) =>
            {
                asking.steps(step, after.max(life.scenes[scene].began()), until, STEPS)
            }
            // Before a scene wrote onto it somebody else may have.
            Author::Scene(scene) => asking.written_before(step, after, until.min(life.scenes[scene].began())),
            ref author if author.is_hand() => asking.steps(step, after, until, STEPS),
            _ => Vec::new(),
        };
        for (chat, message, step, shows) in told {
            let place = match seen.get(&(chat, message)) {
                Some(place) => *place,
                None => {
                    let Some(log) = asking.logs.get(&(chat, message)).cloned().flatten() else { continue };
                    let place = (since + 1..shown).find(|n| times[*n].1 >= log.time);
                    found.push((place.unwrap_or(shown), log));
                    seen.insert((chat, message), found.len() - 1);
                    found.len() - 1
                }
            };
            found[place].1.told.push((step.before, step.after, shows));
        }
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(place, log)| (*place, log.time));
    let mut found = found.into_iter().peekable();
    let mut all = Vec::with_capacity(sights.len() + found.len());
    for (n, sight) in sights.iter().enumerate() {
        while let Some((_, log)) = found.next_if(|(place, _)| *place <= n) {
            let content = Content::Whole(Arc::default());
            all.push(Sight { time: log.time, witness: Witness::Log(log), content });
        }
        all.push(sight.clone());
    }
    Some(all)
}

/// When a sight was taken, at the earliest and at the latest: whoever looked may have a clock that goes wrong.
fn told_time(sight: &Sight, trusted: bool) -> (i64, i64) {
    match &sight.witness {
        Witness::Look(look) => match look.looked.filter(|_| trusted) {
            Some(looked) => (looked, looked),
            None => (look.not_before, look.not_after),
        },
        Witness::Now => (i64::MAX, i64::MAX),
        Witness::Scene(_) | Witness::Copy | Witness::Log(_) => (sight.time, sight.time),
    }
}

/// Whether something was changed that logs show.
fn is_of_words(difference: &Difference) -> bool {
    !difference.line
        && difference.entry().is_some_and(|entry| entry_role(&entry.comment) == EntryRole::Fact)
        && difference.before.as_ref().map(said) != difference.after.as_ref().map(said)
}

fn said(entry: &EntryImage) -> (Option<i64>, Arc<str>, String) {
    (entry.uid, entry.comment.clone(), entry.content().trim().to_owned())
}

/// What became of one entry.
#[derive(Clone)]
struct Step {
    before: Option<EntryImage>,
    after: Option<EntryImage>,
}

/// Messages, each with when it was sent.
type Sent = Arc<[(i64, ChatIx, usize)]>;

/// A message, and what was noted with it of a step: whether that had happened by then.
type Told = (ChatIx, usize, Step, bool);

struct Asking<'a> {
    life: &'a Life,
    cast: &'a dyn Cast,
    logs: HashMap<(ChatIx, usize), Option<Log>>,
    /// Messages that were sent between two times: many changes lie between the same two sights
    messages: HashMap<(i64, i64), Sent>,
}

impl Asking<'_> {
    /// The last message whose log does not show a change, and the first whose does; and the same of what came in between, if the last one
    /// shows other words than there were before.
    fn steps(&mut self, step: Step, after: i64, until: i64, left: usize) -> Vec<Told> {
        let messages = self.sent(after, until);
        let (last, first) = self.around(&messages, &step);
        let place = |n: usize| (messages[n].1, messages[n].2);
        let between = last.and_then(|n| self.words(place(n), &step));
        let between = between.filter(|between| left > 0 && is_other(between, &step));
        let mut told = Vec::new();
        let mut rest = step.clone();
        if let (Some(n), Some(between)) = (last, between) {
            let earlier = Step { before: step.before, after: Some(between.clone()) };
            told = self.steps(earlier, after, messages[n].0, left - 1);
            rest.before = Some(between);
        }
        for (n, shows) in [(last, false), (first, true)] {
            told.extend(n.map(place).map(|(chat, message)| (chat, message, rest.clone(), shows)));
        }
        told
    }

    /// What hands had made of something before a scene wrote onto it.
    fn written_before(&mut self, step: Step, after: i64, until: i64) -> Vec<Told> {
        if step.after.is_none() {
            return Vec::new();
        }
        let messages = self.sent(after, until);
        let mut near = messages.iter().rev().take(NEAR);
        let Some((time, chat, message)) = near.find(|(_, chat, n)| self.log(*chat, *n).is_some()).copied()
        else {
            return Vec::new();
        };
        let between = self.words((chat, message), &step);
        let Some(between) = between.filter(|between| is_other(between, &step)) else { return Vec::new() };
        let earlier = Step { before: step.before, after: Some(between) };
        self.steps(earlier, after, time, STEPS)
    }

    fn sent(&mut self, after: i64, until: i64) -> Sent {
        let (cast, life) = (self.cast, self.life);
        // Whose it was may have another one by now.
        let owner = life.owner.filter(|owner| !life.users.contains(owner));
        let chats: Vec<ChatIx> = life.users.iter().copied().chain(owner).collect();
        let sent = || cast.sent_between(&chats, after, until).into();
        self.messages.entry((after, until)).or_insert_with(sent).clone()
    }

    fn log(&mut self, chat: ChatIx, message: usize) -> Option<&Log> {
        let (cast, book) = (self.cast, &self.life.book);
        self.logs.entry((chat, message)).or_insert_with(|| cast.noted(chat, message, book)).as_ref()
    }

    /// The last of these messages whose log does not show a step, and the first whose does.
    fn around(&mut self, messages: &[(i64, ChatIx, usize)], step: &Step) -> (Option<usize>, Option<usize>) {
        let (mut low, mut high) = (0, messages.len());
        let (mut last, mut first) = (None, None);
        while low < high {
            let middle = low + (high - low) / 2;
            let near = middle..high.min(middle + NEAR);
            let told = near.clone().find_map(|n| Some((n, self.shows(messages[n], step)?)));
            match told {
                Some((n, true)) => (first, high) = (Some(n), middle),
                Some((n, false)) => (last, low) = (Some(n), n + 1),
                None => high = middle,
            }
        }
        (last, first)
    }

    /// The entry that a step is about, as it was noted with a message. What is remembered may be as it was long before: it tells something
    /// only if nobody else has seen it.
    fn words(&mut self, (chat, message): (ChatIx, usize), step: &Step) -> Option<EntryImage> {
        let life = self.life;
        let log = self.log(chat, message)?;
        let titled = |noted: &&EntryImage| {
            { step.before.iter().chain(&step.after) }.any(|entry| {
                let goes_on = || step.before.is_none() && alike(&noted.content(), &entry.content());
                noted.uid == entry.uid && (noted.comment == entry.comment || goes_on())
            })
        };
        let is_seen = |noted: &EntryImage| {
            let states = life.differences.iter().flat_map(|other| other.before.iter().chain(&other.after));
            states.filter(|other| other.uid == noted.uid).any(|other| said(other) == said(noted))
        };
        let remembered = || log.remembered.iter().find(titled).filter(|noted| !is_seen(noted));
        log.entries.iter().find(titled).or_else(remembered).cloned()
    }

    /// Whether what was noted with a message shows what a step left behind, if it tells.
    fn shows(&mut self, (_, chat, message): (i64, ChatIx, usize), step: &Step) -> Option<bool> {
        let log = self.log(chat, message)?;
        let entry = step.after.as_ref().or(step.before.as_ref())?;
        let same = |noted: &&EntryImage| noted.uid == entry.uid && noted.comment == entry.comment;
        let mut there = log.entries.iter().filter(same);
        let is_changed = there.clone().next().is_some();
        // What is remembered has the words of now or of before.
        let mut remembered = log.remembered.iter().filter(same);
        let is_taken = entry.uid.is_none_or(|uid| log.remembered.iter().any(|other| other.uid == Some(uid)));
        match &step.after {
            Some(after) if there.any(|noted| noted.content() == after.content()) => Some(true),
            Some(after)
                if remembered.any(|noted| {
                    step.before.is_none() || noted.content().contains(after.content().trim())
                }) =>
            {
                Some(true)
            }
            Some(_) if is_changed => Some(false),
            Some(_) => Some(false).filter(|_| !is_taken && log.is_whole()),
            None if there.next().is_some() => Some(false),
            None => Some(true).filter(|_| !is_taken && log.is_whole()),
        }
    }
}

/// Whether an entry is neither what a step began with nor what it left behind.
fn is_other(between: &EntryImage, step: &Step) -> bool {
    ![&step.before, &step.after].into_iter().flatten().any(|entry| said(entry) == said(between))
}

impl SeenBy {
    /// The chat whose message it was noted with.
    pub(super) fn log(&self) -> Option<ChatIx> {
        match self {
            Self::Log(chat, ..) => Some(*chat),
            _ => None,
        }
    }
}
