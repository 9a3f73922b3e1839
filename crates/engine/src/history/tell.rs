//! [`Teller`]: what each observation of a chat's line, and of its books, has to tell.

use std::collections::{BTreeMap, HashMap, HashSet};

use forklore_core::state::{Cause, Change, Place};
use forklore_core::story::Touch;
use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_journal::oplog::{OpLog, time};
use forklore_vault::history::past::address_of;
use forklore_vault::history::{self, By, ChatSeen, HistoryError, Observed, Period, Seen, Timeline};
use forklore_vault::{ChatIx, Library};

use super::header::{differing, header_changes, parse_header};
use super::report::{Did, Elsewhere, EntryEvent, Event, Line, Span, Witness};
use super::{Gone, Wanted, fold};

/// A place in the history of a chat where there is something to tell.
pub(super) struct Stop {
    pub(super) clock: i64,
    /// Its rank among those of the same time
    rank: (usize, u8),
    pub(super) what: StopKind,
}

pub(super) enum StopKind {
    /// A save of a chat of the line: the period, the place in [`Timeline::seen`], and that of the save before
    Chat { period: usize, seen: usize, before: Option<usize> },
    /// What history saw of a book, by its number there
    Book(usize),
    /// A book that went
    Gone(usize),
    /// Changes that only scenes tell of
    Scene(Vec<usize>),
    /// The next period begins
    Fork(usize),
}

pub(super) struct Teller<'a> {
    pub(super) library: &'a Library,
    pub(super) chat: ChatIx,
    pub(super) timeline: &'a Timeline,
    pub(super) periods: &'a [Period],
    pub(super) log: &'a OpLog,
    pub(super) changes: &'a [Change],
    /// Which of them each observation shows
    pub(super) by_observation: HashMap<u64, Vec<usize>>,
    /// Observations in which a book was seen for the first time on this line
    pub(super) whole: HashSet<u64>,
}

impl Teller<'_> {
    /// Everything that there is to tell, in order.
    pub(super) fn stops(&self, looks: &[(usize, String, bool)], wanted: Wanted) -> Vec<Stop> {
        let mut stops = Vec::new();
        let clock = |i: usize| self.timeline.seen[i].observation.clock;
        let numbers: Vec<usize> = looks.iter().map(|(i, ..)| *i).collect();
        for (p, period) in self.periods.iter().enumerate() {
            // The book of a fork can have been seen before the fork.
            let own = |i: &&usize| self.timeline.player(**i).is_some_and(|chat| period.track.contains(&chat));
            let first = period.track.first().into_iter().chain(numbers.iter().filter(own)).min();
            if let Some(first) = first.filter(|_| p > 0) {
                stops.push(Stop { clock: clock(*first), rank: (*first, 0), what: StopKind::Fork(p) });
            }
            let mut before = None;
            for i in period.track.iter().copied().filter(|_| !wanted.books) {
                let what = StopKind::Chat { period: p, seen: i, before };
                stops.push(Stop { clock: clock(i), rank: (i, 1), what });
                before = self.timeline.seen[i].chat().map(|_| i).or(before);
            }
        }
        let mut books: Vec<&str> = Vec::new();
        let mut told = HashSet::new();
        for i in numbers {
            // A book that the chat was bound to twice is told once.
            if told.insert(i) {
                stops.push(Stop { clock: clock(i), rank: (i, 2), what: StopKind::Book(i) });
            }
        }
        for (_, book, _) in looks {
            if !books.contains(&book.as_str()) {
                books.push(book);
            }
        }
        for file in books.iter().filter_map(|book| layout::book(book).ok()) {
            let gone = self.timeline.track(&file).iter().copied();
            let gone = gone.filter(|i| self.timeline.seen[*i].observation.what == Observed::Gone);
            stops.extend(gone.map(|i| Stop { clock: clock(i), rank: (i, 2), what: StopKind::Gone(i) }));
        }
        let mut scenes: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (n, change) in self.changes.iter().enumerate() {
            let dated = change.clock > i64::MIN && change.clock < i64::MAX;
            if change.observed.is_none() && dated {
                scenes.entry(change.clock).or_default().push(n);
            }
        }
        let scene = |(clock, changes)| Stop { clock, rank: (0, 0), what: StopKind::Scene(changes) };
        stops.extend(scenes.into_iter().map(scene));
        stops.sort_by_key(|stop| (stop.clock, stop.rank));
        stops
    }

    pub(super) fn tell(&self, stop: &Stop) -> Result<Option<Line>, HistoryError> {
        Ok(match &stop.what {
            StopKind::Chat { period, seen, before } => self.chat(*period, *seen, *before)?,
            StopKind::Book(i) => Some(self.book(*i)),
            StopKind::Gone(i) => {
                let line = self.line(*i, "book", self.timeline.player(*i));
                Some(Line { events: vec![Event::Deleted], ..line })
            }
            StopKind::Scene(changes) => Some(self.scene(stop.clock, changes)),
            StopKind::Fork(p) => self.fork(*p),
        })
    }

    /// A line about an observation, still without events. `player` is the observation of the chat that was played.
    fn line(&self, i: usize, file: &'static str, player: Option<usize>) -> Line {
        let Seen { seq, observation } = &self.timeline.seen[i];
        let book = (file == "book").then(|| history::stem(&observation.file).to_owned());
        let then =
            player.and_then(|i| self.timeline.seen[i].chat()).and_then(|chat| chat.messages.checked_sub(1));
        let period = player.and_then(|i| self.periods.iter().position(|period| period.track.contains(&i)));
        let now = player
            .zip(period)
            .zip(then)
            .and_then(|((i, p), then)| self.timeline.now(self.periods, p, i, then));
        let played =
            player.map_or(self.library.chat(self.chat).path(), |i| &self.timeline.seen[i].observation.file);
        Line {
            observation: Some(*seq),
            last_observation: Some(*seq),
            saves: 1,
            at: time(observation.clock),
            until: time(observation.clock),
            file,
            chat: self.address(period.map_or(played, |p| &self.periods[p].file)),
            book,
            by: self.witness(&observation.by),
            then,
            now,
            events: Vec::new(),
        }
    }

    fn address(&self, file: &VaultPath) -> String {
        let chat = self.library.chat_at(file).map(|(c, _)| c);
        chat.map_or_else(|| address_of(file), |c| self.library.address(c).to_string())
    }

    fn witness(&self, by: &By) -> Witness {
        let (kind, name) = match by {
            By::Watch => ("watch", None),
            By::Operation(id) => ("operation", Some(id)),
            By::Plugin(what) => ("plugin", Some(what)),
            By::Backup(name) => ("backup", Some(name)),
            By::Import => ("import", None),
            By::Forget => ("forget", None),
        };
        let operation = self.log.operations.iter().find(|op| kind == "operation" && Some(&op.id) == name);
        Witness { kind, name: name.cloned(), operation: operation.map(|op| op.kind.as_str()) }
    }

    /// What a save of a chat did; nothing if all of it lies beyond the line.
    fn chat(&self, p: usize, i: usize, before: Option<usize>) -> Result<Option<Line>, HistoryError> {
        let mut line = self.line(i, "chat", Some(i));
        let last = p + 1 == self.periods.len();
        let Some(chat) = self.timeline.seen[i].chat() else {
            line.events.push(Event::Deleted);
            return Ok(Some(line));
        };
        if let Some(was) = &chat.was {
            line.events.push(Event::Renamed { from: address_of(was) });
        }
        let Some((b, old)) = before.and_then(|b| Some((b, self.timeline.seen[b].chat()?))) else {
            if chat.was.is_none() {
                let (messages, bound) = (Some(chat.messages), chat.book.clone());
                line.events.push(Event::FirstSeen { messages, entries: None, bound });
            }
            return Ok(Some(line));
        };
        match history::compare(self.timeline, &self.timeline.seen[b], &self.timeline.seen[i])? {
            Some(touches) => line.events.extend(self.messages(p, i, b, &touches)),
            None if old.messages != chat.messages => {
                line.events.push(Event::Unread { from: old.messages, to: chat.messages });
            }
            None => {}
        }
        // What was played in a parent beyond the message of the fork is another story.
        if last || line.now.is_some() {
            if old.book != chat.book {
                line.events.push(Event::Bound { from: old.book.clone(), to: chat.book.clone() });
            }
            line.events.extend(self.header(old, chat)?);
        } else if line.events.is_empty() {
            return Ok(None);
        }
        Ok(Some(line))
    }

    /// What happened to messages, in runs of messages that follow each other.
    fn messages(&self, p: usize, i: usize, before: usize, touches: &[(Touch, usize)]) -> Vec<Event> {
        let last = p + 1 == self.periods.len();
        let mut events: Vec<Event> = Vec::new();
        for (touch, number) in touches {
            // Who is gone had a number before this save.
            let from = if *touch == Touch::Deleted { before } else { i };
            if !last && self.timeline.now(self.periods, p, from, *number).is_none() {
                continue;
            }
            let now = self.timeline.follow(self.periods, p, from, *number);
            let named = now.filter(|_| *touch == Touch::Recapped);
            let name = named.and_then(|now| self.scene_name(now));
            let span = Span { from: *number, to: *number, now };
            match events.last_mut() {
                Some(Event::Messages { did, messages, scenes }) if did == touch => {
                    fold::join(messages, span);
                    scenes.extend(name);
                }
                _ => events.push(Event::Messages {
                    did: *touch,
                    messages: vec![span],
                    scenes: name.into_iter().collect(),
                }),
            }
        }
        events
    }

    fn scene_name(&self, message: usize) -> Option<String> {
        self.library.chat(self.chat).facts().scene(message)?.name.clone()
    }

    /// What changed in the header.
    fn header(&self, old: &ChatSeen, new: &ChatSeen) -> Result<Vec<Event>, HistoryError> {
        if old.header == new.header {
            return Ok(Vec::new());
        }
        let (old, new) = (self.timeline.store().get(&old.header)?, self.timeline.store().get(&new.header)?);
        Ok(header_changes(parse_header(&old), parse_header(&new)))
    }

    /// What history saw of a book.
    fn book(&self, i: usize) -> Line {
        let mut line = self.line(i, "book", self.timeline.player(i));
        let observed = self.timeline.seen[i].seq;
        let Observed::Book(book) = &self.timeline.seen[i].observation.what else { return line };
        if self.whole.contains(&observed) {
            line.events.push(Event::FirstSeen { messages: None, entries: book.entries, bound: None });
            return line;
        }
        let changes = self.by_observation.get(&observed).map_or(&[][..], Vec::as_slice);
        let changes: Vec<&Change> = changes.iter().map(|n| &self.changes[*n]).collect();
        line.events.extend(self.entries(&changes));
        line
    }

    /// What only a scene tells of.
    fn scene(&self, clock: i64, changes: &[usize]) -> Line {
        let changes: Vec<&Change> = changes.iter().map(|n| &self.changes[*n]).collect();
        let now = changes.iter().find_map(|change| match change.place {
            Place::Ours(message) => Some(message),
            _ => None,
        });
        let book = changes.first().map(|change| change.book.clone()).filter(|book| !book.is_empty());
        Line {
            observation: None,
            last_observation: None,
            saves: 1,
            at: time(clock),
            until: time(clock),
            file: "book",
            chat: self.library.address(self.chat).to_string(),
            book,
            by: Witness { kind: "scene", name: now.and_then(|now| self.scene_name(now)), operation: None },
            then: None,
            now,
            events: self.entries(&changes),
        }
    }

    fn entries(&self, changes: &[&Change]) -> Vec<Event> {
        let event = |change: &&Change| {
            let entry = change.entry()?;
            let did = match (&change.before, &change.after) {
                (None, _) => Did::Added,
                (_, None) => Did::Removed,
                _ => Did::Changed,
            };
            let was = change.before.as_ref().filter(|before| before.comment != entry.comment);
            let fields = match (&change.before, &change.after) {
                (Some(before), Some(after)) => differing(before.raw(), after.raw()),
                _ => Vec::new(),
            };
            let message = match change.place {
                Place::Ours(message)
                | Place::Between { until: message, .. }
                | Place::Met { until: message, .. } => Some(message),
                _ => None,
            };
            let elsewhere = match change.place {
                Place::Elsewhere(origin) => Some(Elsewhere {
                    chat: self.library.address(origin.chat).to_string(),
                    message: origin.message,
                }),
                _ => None,
            };
            let by_scene = change.cause == Cause::Scene;
            let scene = message.filter(|_| by_scene).and_then(|message| self.scene_name(message));
            Some(Event::Entry(EntryEvent {
                did,
                uid: entry.uid,
                title: entry.comment.to_string(),
                was: was.map(|before| before.comment.to_string()),
                fields,
                cause: change.cause,
                message,
                scene,
                elsewhere,
            }))
        };
        changes.iter().filter_map(event).collect()
    }

    /// A fork: the line goes on in another chat.
    fn fork(&self, p: usize) -> Option<Line> {
        let period = &self.periods[p];
        let first = *period.track.first()?;
        let mut line = self.line(first, "chat", Some(first));
        let chat = self.library.chat(period.chat?);
        let restored = chat.record().and_then(|record| record.restored);
        let from = &self.periods[p - 1];
        line.events = vec![Event::Forked { from: self.address(&from.file), message: from.limit, restored }];
        // It is told apart from what was seen of the file.
        line.saves = 0;
        Some(line)
    }

    /// The line that tells that the chat is gone.
    pub(super) fn went(&self, gone: &Gone) -> Option<Line> {
        let Seen { seq, observation } = gone.seen.as_ref()?;
        Some(Line {
            observation: Some(*seq),
            last_observation: Some(*seq),
            saves: 1,
            at: time(observation.clock),
            until: time(observation.clock),
            file: "chat",
            chat: self.library.address(self.chat).to_string(),
            book: None,
            by: self.witness(&observation.by),
            then: None,
            now: None,
            events: vec![Event::Deleted],
        })
    }

    /// Whether the chat is not as it was seen last.
    pub(super) fn is_unseen(&self) -> Result<bool, HistoryError> {
        let chat = self.library.chat(self.chat);
        let last = self.periods.last().and_then(|period| period.track.last());
        let Some(seen) = last.and_then(|i| self.timeline.seen[*i].chat()) else { return Ok(true) };
        let moment = chat.transcript().moment(chat.head()).unwrap_or_default().to_string();
        if (seen.messages, &seen.last) != (chat.transcript().len(), &moment) {
            return Ok(true);
        }
        let header = self.timeline.store().get(&seen.header)?;
        Ok(!parse_header(&header).says_the_same(chat.header().raw()))
    }
}
