//! [`asked`]: what extensions noted of a book with messages, asked for where nothing else tells when a hand changed something.
//!
//! A memory extension may note with nearly every message of the user what is in the lorebook, for showing it. That is many times the lorebook, so it is
//! not read along with everything else: for each change by hand the first [`Log`] is looked for that shows it, by halves, and it and the
//! last one that does not become sights. What they say counts for *when* alone: what is there is told by others.

use std::collections::HashMap;
use std::sync::Arc;

use super::life::{Difference, Life, SeenBy};
use super::order::is_clock_wrong;
use super::sight::{Cast, Content, Log, Sight, Witness};
use crate::adapter::{EntryRole, entry_role};
use crate::format::book::EntryImage;
use crate::story::ChatIx;

/// So many changes are looked for: a book in which hands have done more is edited by a program.
const MANY: usize = 2_000;

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
    for difference in life.differences.iter().filter(|difference| is_by_hand(difference)).take(MANY) {
        let (Some(since), shown) =
            (difference.since.and_then(|n| n.checked_sub(base)), difference.shown.saturating_sub(base))
        else {
            continue;
        };
        if since >= shown {
            continue;
        }
        let (after, until) = (times[since].0, times[shown].1);
        for (chat, message, shows) in asking.around(difference, after, until) {
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
            found[place].1.told.push((difference.before.clone(), difference.after.clone(), shows));
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

/// Whether a hand changed what logs show.
fn is_by_hand(difference: &Difference) -> bool {
    let said = |entry: &EntryImage| (entry.comment.clone(), entry.content().into_owned());
    !difference.line
        && difference.author.is_hand()
        && difference.entry().is_some_and(|entry| entry_role(&entry.comment) == EntryRole::Fact)
        && difference.before.as_ref().map(said) != difference.after.as_ref().map(said)
}

/// Messages, each with when it was sent.
type Sent = Arc<[(i64, ChatIx, usize)]>;

struct Asking<'a> {
    life: &'a Life,
    cast: &'a dyn Cast,
    logs: HashMap<(ChatIx, usize), Option<Log>>,
    /// Messages that were sent between two times: many changes lie between the same two sights
    messages: HashMap<(i64, i64), Sent>,
}

impl Asking<'_> {
    /// The last message whose log does not show a change, and the first whose does.
    fn around(&mut self, difference: &Difference, after: i64, until: i64) -> Vec<(ChatIx, usize, bool)> {
        let (cast, users) = (self.cast, &self.life.users);
        let sent = || cast.sent_between(users, after, until).into();
        let messages = self.messages.entry((after, until)).or_insert_with(sent).clone();
        let (mut low, mut high) = (0, messages.len());
        let (mut last, mut first) = (None, None);
        while low < high {
            let middle = low + (high - low) / 2;
            let near = middle..high.min(middle + NEAR);
            let told = near.clone().find_map(|n| Some((n, self.shows(messages[n], difference)?)));
            match told {
                Some((n, true)) => (first, high) = (Some(n), middle),
                Some((n, false)) => (last, low) = (Some(n), n + 1),
                None => high = middle,
            }
        }
        let found = [(last, false), (first, true)];
        let place = |(n, shows): (Option<usize>, bool)| n.map(|n| (messages[n].1, messages[n].2, shows));
        found.into_iter().filter_map(place).collect()
    }

    /// Whether what was noted with a message shows what a change left behind, if it tells.
    fn shows(&mut self, (_, chat, message): (i64, ChatIx, usize), difference: &Difference) -> Option<bool> {
        let book = &self.life.book;
        let cast = self.cast;
        let log = self.logs.entry((chat, message)).or_insert_with(|| cast.noted(chat, message, book));
        let log = log.as_ref()?;
        let entry = difference.entry()?;
        let same = |noted: &&EntryImage| noted.uid == entry.uid && noted.comment == entry.comment;
        let mut there = log.entries.iter().filter(same);
        let is_changed = there.clone().next().is_some();
        // What is remembered has the words of now or of before.
        let mut remembered = log.remembered.iter().filter(same);
        let is_taken = entry.uid.is_none_or(|uid| log.remembered.iter().any(|other| other.uid == Some(uid)));
        match &difference.after {
            Some(after) if there.any(|noted| noted.content() == after.content()) => Some(true),
            Some(after)
                if remembered.any(|noted| {
                    difference.before.is_none() || noted.content().contains(&*after.content())
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

impl SeenBy {
    /// The chat whose message it was noted with.
    pub(super) fn log(&self) -> Option<ChatIx> {
        match self {
            Self::Log(chat, _) => Some(*chat),
            _ => None,
        }
    }
}
