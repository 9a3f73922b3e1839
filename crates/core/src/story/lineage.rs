//! [`trace`]: for every chat, which chat it was forked from, at which message, and how we know ([`Lineage`]).
//!
//! Three kinds of evidence, the first that speaks decides: the `forklore` record in the header; `main_chat`, if the
//! transcripts agree that it is true; the transcripts alone. Names prove nothing by themselves: chats are renamed, deleted,
//! imported, and SillyTavern's links are never mended.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::line::{Confidence, align, common_prefix};
use super::moment::{MessageId, Moment, Transcript};
use crate::format::names::ForkName;
use crate::format::record::ForkRecord;

/// One chat as lineage sees it. Names are file stems.
#[derive(Debug, Clone)]
pub struct Chat<'a> {
    /// Number of the story it belongs to; parents are looked for in the same story only.
    pub story: usize,
    /// Whether it is a group chat.
    pub group: bool,
    /// File stem.
    pub name: &'a str,
    /// `integrity` of the header.
    pub slug: Option<&'a str>,
    /// `main_chat` of the header, sanitised.
    pub main_chat: Option<String>,
    /// The record that Forklore wrote, if it was written for this chat.
    pub record: Option<&'a ForkRecord>,
    /// The messages.
    pub transcript: &'a Transcript,
    /// Names that the chat's metadata goes by: the bound book, the running recap's chat id. They can tell a former name.
    pub aliases: Vec<&'a str>,
    /// Chats that hang on its messages: (how, sanitised name).
    pub links: Vec<(Link, String)>,
}

/// How a message refers to a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Link {
    /// `extra.bookmark_link`
    Bookmark,
    /// `extra.branches`
    Branch,
}

/// What a chat is in its story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Not forked from anything
    Main,
    /// A fork to play on
    Branch,
    /// A fork to come back to
    Checkpoint,
    /// The same chat once more: imported, restored, copied by hand
    Copy,
}

/// How the lineage of a chat is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Forklore's record
    Recorded,
    /// `main_chat`, verified on the line
    MainChat,
    /// The transcripts alone
    Moments,
    /// There is nothing to know, or nothing known
    None,
}

/// What is odd about the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParentNote {
    /// The header names a chat that is gone.
    Missing(String),
    /// The header names a chat that goes by another name now.
    Renamed(String),
}

/// Where a chat comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// What it is
    pub kind: Kind,
    /// The chat it was forked from
    pub parent: Option<usize>,
    /// The last message that it has from its parent; a best guess where the parent is gone.
    pub fork_message: Option<usize>,
    /// How this is known
    pub basis: Basis,
    /// How sure it is
    pub confidence: Confidence,
    /// What is odd about the parent
    pub note: Option<ParentNote>,
}

impl Lineage {
    /// Whether the chat is a fork, its parent known or not.
    pub fn is_fork(&self) -> bool {
        matches!(self.kind, Kind::Branch | Kind::Checkpoint)
    }
}

/// Asks for the moments that a message of a chat would have, after the moment before it, with each of its swipes shown.
pub type Swipes<'a> = dyn Fn(usize, usize, Moment) -> Vec<Moment> + Sync + 'a;

/// Finds the lineage of every chat.
pub fn trace(chats: &[Chat<'_>], swipes: &Swipes<'_>) -> Vec<Lineage> {
    let tracer = Tracer::new(chats, swipes);
    let mut found: Vec<Lineage> = (0..chats.len()).map(|c| tracer.trace(c)).collect();
    for c in 0..chats.len() {
        tracer.cut_ring(c, &mut found);
    }
    found
}

struct Tracer<'a> {
    chats: &'a [Chat<'a>],
    swipes: &'a Swipes<'a>,
    /// What was asked of `swipes` before: it reads from disk, and chats of one family part at the same few messages.
    asked: RefCell<Asked>,
    /// Of each chat: lower comes first in the story, plain names before names of forks, longer chats before shorter ones.
    seniority: Vec<(bool, Reverse<usize>, &'a str)>,
    by_name: HashMap<(usize, &'a str), usize>,
    by_slug: HashMap<&'a str, Vec<usize>>,
    /// Chats of a story by their first few messages after the greeting: only those that share one can be related by their lines.
    by_start: HashMap<(usize, MessageId), Vec<usize>>,
    /// What messages of other chats of a story link to.
    linked: HashSet<(usize, Link, &'a str)>,
    /// Chats of a story by the names that their metadata goes by, unless they come from a chat of that name.
    called: HashMap<(usize, &'a str), Vec<usize>>,
}

/// By chat, message and the moment before it.
type Asked = HashMap<(usize, usize, Moment), Rc<[Moment]>>;

/// How many messages after the greeting are looked at to find relatives. More than one, because old messages get edited.
const START: usize = 4;

/// Where two chats parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meeting {
    /// The last message of the child that the other has too.
    fork: usize,
    confidence: Confidence,
}

impl<'a> Tracer<'a> {
    fn new(chats: &'a [Chat<'a>], swipes: &'a Swipes<'a>) -> Self {
        let mut tracer = Self {
            chats,
            swipes,
            asked: RefCell::default(),
            seniority: Vec::new(),
            by_name: HashMap::new(),
            by_slug: HashMap::new(),
            by_start: HashMap::new(),
            linked: HashSet::new(),
            called: HashMap::new(),
        };
        for (c, chat) in chats.iter().enumerate() {
            let named_as_fork = ForkName::read(chat.name) != ForkName::Plain || is_import(chat.name);
            tracer.seniority.push((named_as_fork, Reverse(chat.transcript.len()), chat.name));
            tracer.by_name.insert((chat.story, chat.name), c);
            if let Some(slug) = chat.slug {
                tracer.by_slug.entry(slug).or_default().push(c);
            }
            for row in chat.transcript.rows_from(1).take(START) {
                tracer.by_start.entry((chat.story, row.id)).or_default().push(c);
            }
            let others = chat.links.iter().filter(|(_, name)| name != chat.name);
            tracer.linked.extend(others.map(|(link, name)| (chat.story, *link, name.as_str())));
        }
        for (c, chat) in chats.iter().enumerate() {
            let came_from: HashSet<&str> =
                tracer.claimed_line(c).filter_map(|d| chats[d].main_chat.as_deref()).collect();
            let mut names: Vec<&str> = chat.aliases.iter().flat_map(|alias| names_in(alias)).collect();
            names.sort_unstable();
            names.dedup();
            for name in names.into_iter().filter(|name| !came_from.contains(name)) {
                tracer.called.entry((chat.story, name)).or_default().push(c);
            }
        }
        tracer
    }

    fn trace(&self, c: usize) -> Lineage {
        let chat = &self.chats[c];
        if let Some(record) = chat.record {
            return self.recorded(c, record);
        }
        if let Some(original) = self.original_of(c) {
            return self.copy_of(c, original);
        }
        match chat.main_chat.as_deref().filter(|claimed| *claimed != chat.name) {
            Some(claimed) => self.claimed(c, claimed),
            None => self.unclaimed(c),
        }
    }

    /// Chats cannot be each other's parents. Where names make it so, another chat has taken the name of a parent that is gone:
    /// the one that has more messages than the other had when it was forked is the elder, and its parent is the lost one.
    fn cut_ring(&self, c: usize, found: &mut [Lineage]) {
        let mut ring = vec![c];
        while let Some(p) = found[ring[ring.len() - 1]].parent {
            if p == c {
                let Some(elder) = ring.iter().copied().max_by_key(|d| (self.chats[*d].transcript.len(), *d))
                else {
                    return;
                };
                found[elder].parent = None;
                found[elder].basis = Basis::None;
                found[elder].confidence = Confidence::Guess;
                found[elder].note = self.chats[elder].main_chat.clone().map(ParentNote::Missing);
                return;
            }
            if ring.contains(&p) {
                return;
            }
            ring.push(p);
        }
    }

    fn recorded(&self, c: usize, record: &ForkRecord) -> Lineage {
        let chat = &self.chats[c];
        let same_story = |p: &usize| *p != c && self.chats[*p].story == chat.story;
        let by_name =
            self.by_name.get(&(chat.story, record.parent_file.as_str())).copied().filter(same_story);
        let by_slug = self.by_slug.get(record.parent_slug.as_str()).into_iter().flatten().copied();
        let by_slug: Vec<usize> = by_slug.filter(same_story).collect();
        // The slug decides; the name only chooses among copies, and stands in where the parent never had a slug, or was given another
        // one since and still holds the message.
        let holds = |p: usize| {
            let moment = self.chats[p].transcript.moment(record.message);
            moment.is_some_and(|moment| moment.to_string() == record.moment)
        };
        let parent = match by_name.filter(|p| by_slug.is_empty() || by_slug.contains(p)) {
            Some(p) if record.parent_slug.is_empty() || by_slug.contains(&p) || holds(p) => Some(p),
            _ => by_slug.first().copied(),
        };
        let note = match parent {
            None => Some(ParentNote::Missing(record.parent_file.clone())),
            Some(p) if self.chats[p].name != record.parent_file => {
                Some(ParentNote::Renamed(record.parent_file.clone()))
            }
            Some(_) => None,
        };
        Lineage {
            kind: match record.kind.as_str() {
                "checkpoint" => Kind::Checkpoint,
                "copy" => Kind::Copy,
                _ => Kind::Branch,
            },
            parent,
            fork_message: Some(record.message),
            basis: Basis::Recorded,
            confidence: Confidence::Certain,
            note,
        }
    }

    /// The chat that `c` is a mere copy of: same slug, same beginning, and `c` is not the one that the slug was made for.
    fn original_of(&self, c: usize) -> Option<usize> {
        let chat = &self.chats[c];
        let twins = self.by_slug.get(chat.slug?)?;
        let alike = |p: usize| {
            let other = &self.chats[p];
            // Before SillyTavern 1.19 forks had their parent's slug: a chat that names a parent is a copy only if it says so.
            let own_slug = || {
                let parent = chat.main_chat.as_deref().and_then(|name| self.by_name.get(&(chat.story, name)));
                parent.is_some_and(|p| self.chats[*p].slug != chat.slug)
            };
            let same_parent = || other.main_chat == chat.main_chat && (is_import(chat.name) || own_slug());
            let may_be = chat.main_chat.is_none() || same_parent();
            may_be && chat.transcript.moment(0).is_some_and(|first| other.transcript.moment(0) == Some(first))
        };
        let original =
            twins.iter().copied().filter(|p| *p == c || alike(*p)).max_by_key(|p| self.originality(*p))?;
        (original != c).then_some(original)
    }

    /// Of several chats with one slug, the one that it was made for ranks highest.
    fn originality(&self, c: usize) -> (bool, bool, bool, usize, Reverse<&str>) {
        let chat = &self.chats[c];
        let goes_by_its_name = chat.aliases.iter().any(|alias| names(alias, chat.name));
        // A group chat with a solo chat's slug was converted from it.
        (!is_import(chat.name), !chat.group, goes_by_its_name, chat.transcript.len(), Reverse(chat.name))
    }

    fn copy_of(&self, c: usize, original: usize) -> Lineage {
        let chat = &self.chats[c];
        let shared = self.meet(c, original).map_or(0, |meeting| meeting.fork + 1);
        let moved_on = shared < chat.transcript.len();
        Lineage {
            kind: Kind::Copy,
            parent: Some(original),
            fork_message: moved_on.then(|| shared.saturating_sub(1)),
            basis: Basis::Moments,
            confidence: if moved_on { Confidence::Likely } else { Confidence::Certain },
            note: None,
        }
    }

    fn claimed(&self, c: usize, claimed: &str) -> Lineage {
        let chat = &self.chats[c];
        let named = self.by_name.get(&(chat.story, claimed)).copied().filter(|p| *p != c);
        let met = named.and_then(|p| self.meet(c, p).map(|meeting| (p, meeting)));
        // A meeting at the greeting alone proves little: another chat may have taken the name since.
        if let Some((parent, meeting)) = met.filter(|(_, meeting)| meeting.fork > 0) {
            if let Some((former, meeting)) = self.former_owner(c, claimed, parent, meeting) {
                let note = Some(ParentNote::Renamed(claimed.to_owned()));
                return self.fork(c, former, meeting, Basis::Moments, note);
            }
            return self.fork(c, parent, meeting, Basis::MainChat, None);
        }
        if let Some((parent, meeting)) = self.renamed_parent(c, claimed) {
            let note = Some(ParentNote::Renamed(claimed.to_owned()));
            return self.fork(c, parent, meeting, Basis::Moments, note);
        }
        if let Some((parent, meeting)) = met {
            return self.fork(c, parent, meeting, Basis::MainChat, None);
        }
        let kind = self.kind(c, None);
        let guess = match kind {
            Kind::Checkpoint => chat.transcript.len().checked_sub(1),
            _ => self.siblings(c, claimed).filter_map(|s| self.meet(c, s)).map(|meeting| meeting.fork).max(),
        };
        Lineage {
            kind,
            parent: None,
            fork_message: guess,
            basis: Basis::None,
            confidence: Confidence::Guess,
            note: Some(ParentNote::Missing(claimed.to_owned())),
        }
    }

    /// The chat that used to be called `claimed`, if the lines show one.
    fn renamed_parent(&self, c: usize, claimed: &str) -> Option<(usize, Meeting)> {
        let chat = &self.chats[c];
        let candidates = self.on_line(c).filter(|p| {
            self.chats[*p].main_chat.as_deref() != Some(chat.name) && !self.comes_from(*p, c, claimed)
        });
        let met: Vec<(usize, Meeting)> =
            candidates.filter_map(|p| Some((p, self.meet_with_dates(c, p)?))).collect();
        let called = met.iter().filter(|(p, _)| self.was_called(*p, claimed));
        if let Some(found) = called.max_by_key(|(_, meeting)| meeting.fork) {
            return Some(*found);
        }
        // The lost name was derived from this chat's name: it was a fork of it, not it.
        let derived_from = ForkName::read(claimed).base();
        let links_to_it = |p: usize| self.chats[p].links.iter().any(|(_, name)| name == claimed);
        let best = met.iter().filter(|(p, _)| derived_from != Some(self.chats[*p].name) && !links_to_it(*p));
        let best = best.max_by_key(|(_, meeting)| meeting.fork)?;
        // If siblings have more of the lost parent than this chat has, it cannot be the parent.
        let ghost_knew =
            self.siblings(c, claimed).filter_map(|s| self.meet(c, s)).map(|meeting| meeting.fork).max();
        (ghost_knew.is_none_or(|more| more <= best.1.fork)).then_some(*best)
    }

    /// Whether the metadata of a chat goes by this name, which may be a former one.
    fn was_called(&self, p: usize, name: &str) -> bool {
        self.chats[p].aliases.iter().any(|alias| names(alias, name))
    }

    /// A chat that had the claimed name before `named` took it: it shares more with this one.
    fn former_owner(&self, c: usize, claimed: &str, named: usize, met: Meeting) -> Option<(usize, Meeting)> {
        let called = self.called.get(&(self.chats[c].story, claimed)).into_iter().flatten().copied();
        let candidates = called.filter(|p| {
            *p != named
                && *p != c
                && self.start_alike(c, *p)
                && self.chats[*p].slug != self.chats[named].slug
                && self.chats[*p].main_chat.as_deref() != Some(self.chats[c].name)
                && !self.comes_from(*p, c, claimed)
        });
        let met_more = candidates.filter_map(|p| Some((p, self.meet_with_dates(c, p)?)));
        met_more.filter(|(_, meeting)| meeting.fork > met.fork).max_by_key(|(_, meeting)| meeting.fork)
    }

    /// Whether chat `p` was made, over any number of forks, from chat `c` or from a sibling of it: one with the same lost parent.
    fn comes_from(&self, p: usize, c: usize, claimed: &str) -> bool {
        self.claimed_line(p).any(|d| d == c || self.chats[d].main_chat.as_deref() == Some(claimed))
    }

    /// A chat and those that it was made from, as records and headers say.
    fn claimed_line(&self, p: usize) -> impl Iterator<Item = usize> {
        let parent = |d: &usize| {
            let chat = &self.chats[*d];
            match (chat.record, chat.main_chat.as_deref()) {
                (Some(record), _) => self.recorded(*d, record).parent,
                (None, name) => self.by_name.get(&(chat.story, name?)).copied(),
            }
        };
        std::iter::successors(Some(p), parent).take(self.chats.len())
    }

    /// Other chats that name the same parent.
    fn siblings<'s>(&'s self, c: usize, parent: &'s str) -> impl Iterator<Item = usize> + 's {
        self.on_line(c).filter(move |s| self.chats[*s].main_chat.as_deref() == Some(parent))
    }

    /// Chats of the same story that share more than the greeting with this one, as far as moments tell.
    fn on_line(&self, c: usize) -> impl Iterator<Item = usize> + '_ {
        let chat = &self.chats[c];
        let starts = chat.transcript.rows_from(1).take(START).map(|row| (chat.story, row.id));
        let mut same: Vec<usize> =
            starts.filter_map(|start| self.by_start.get(&start)).flatten().copied().collect();
        same.sort_unstable();
        same.dedup();
        same.into_iter().filter(move |p| *p != c)
    }

    /// Whether two chats of a story share one of their first messages after the greeting.
    fn start_alike(&self, a: usize, b: usize) -> bool {
        let starts = |c: usize| self.chats[c].transcript.rows_from(1).take(START).map(|row| row.id);
        let there: Vec<MessageId> = starts(b).collect();
        starts(a).any(|id| there.contains(&id))
    }

    /// No record, no `main_chat`: only the lines can tell.
    fn unclaimed(&self, c: usize) -> Lineage {
        let chat = &self.chats[c];
        let candidates = self.on_line(c).filter(|p| {
            let other = &self.chats[*p];
            other.main_chat.is_none() && other.record.is_none() && self.seniority[*p] < self.seniority[c]
        });
        let met = candidates.filter_map(|p| Some((p, self.meet_with_dates(c, p)?)));
        // The longest common line; among equals the most senior.
        let best = met.max_by_key(|(p, meeting)| (meeting.fork, Reverse(self.seniority[*p])));
        match best {
            Some((parent, meeting)) => self.fork(c, parent, meeting, Basis::Moments, None),
            None => Lineage {
                kind: Kind::Main,
                parent: None,
                fork_message: None,
                basis: Basis::None,
                confidence: if chat.transcript.is_empty() { Confidence::Guess } else { Confidence::Certain },
                note: None,
            },
        }
    }

    fn fork(
        &self,
        c: usize,
        parent: usize,
        meeting: Meeting,
        basis: Basis,
        note: Option<ParentNote>,
    ) -> Lineage {
        Lineage {
            kind: self.kind(c, Some(meeting.fork)),
            parent: Some(parent),
            fork_message: Some(meeting.fork),
            basis,
            confidence: meeting.confidence,
            note,
        }
    }

    /// Branch or checkpoint: what links to it, what it is called, what it was called, whether it was played on.
    fn kind(&self, c: usize, fork: Option<usize>) -> Kind {
        let chat = &self.chats[c];
        let linked = |link: Link| self.linked.contains(&(chat.story, link, chat.name));
        let own_aliases = chat.aliases.iter().copied().filter(|alias| {
            // A fork inherits its parent's metadata: a name that is the parent's tells nothing of the child.
            !chat.main_chat.as_deref().is_some_and(|parent| names(alias, parent))
        });
        for name in [chat.name].into_iter().chain(own_aliases) {
            match ForkName::read(name) {
                ForkName::Branch(_) => return Kind::Branch,
                ForkName::Checkpoint(_) => return Kind::Checkpoint,
                ForkName::Plain => {}
            }
            if name == chat.name && linked(Link::Bookmark) {
                return Kind::Checkpoint;
            }
        }
        if linked(Link::Branch) {
            return Kind::Branch;
        }
        // SillyTavern asks for a name only for checkpoints; but one that was played on is a branch to its user.
        match fork {
            Some(fork) if fork + 1 < chat.transcript.len() => Kind::Branch,
            _ => Kind::Checkpoint,
        }
    }

    /// Where `c` parted from `p`, judged by moments, swipes and, where old messages were edited since, message identities.
    fn meet(&self, c: usize, p: usize) -> Option<Meeting> {
        let (child, parent) = (self.chats[c].transcript, self.chats[p].transcript);
        let shared = common_prefix(child, parent);
        if shared < child.len() && shared < parent.len() {
            if self.same_message((c, shared), (p, shared)) {
                return Some(Meeting { fork: shared, confidence: Confidence::Certain });
            }
            let aligned = align(child, parent, shared);
            if let Some((ours, theirs)) = aligned.pairs.last().copied().filter(|(ours, _)| *ours >= shared) {
                let confidence = aligned.confidence().min(Confidence::Likely);
                // The next one may be the same in another swipe.
                let fork = ours + usize::from(self.same_message((c, ours + 1), (p, theirs + 1)));
                return Some(Meeting { fork, confidence });
            }
        }
        // A parent that ends where the child goes on may have been cut since; a checkpoint ends there, too.
        let cut = shared == parent.len() && shared < child.len();
        let confidence = if cut { Confidence::Likely } else { Confidence::Certain };
        shared.checked_sub(1).map(|fork| Meeting { fork, confidence })
    }

    /// Whether two messages, each of a chat, are one of which different swipes are shown.
    fn same_message(&self, ours: (usize, usize), theirs: (usize, usize)) -> bool {
        let is_swipe = |one: (usize, usize), other: (usize, usize)| {
            let transcript = self.chats[one.0].transcript;
            let Some(shown) = transcript.moment(one.1) else { return false };
            self.swipes(other, transcript.moment_before(one.1)).contains(&shown)
        };
        is_swipe(ours, theirs) || is_swipe(theirs, ours)
    }

    fn swipes(&self, (chat, message): (usize, usize), before: Moment) -> Rc<[Moment]> {
        let mut asked = self.asked.borrow_mut();
        let ask = || (self.swipes)(chat, message, before).into();
        asked.entry((chat, message, before)).or_insert_with(ask).clone()
    }

    /// As [`Self::meet`], for chats that do not name each other: beyond the greeting, and sent at the same time.
    fn meet_with_dates(&self, c: usize, p: usize) -> Option<Meeting> {
        let meeting = self.meet(c, p)?;
        let (child, parent) = (self.chats[c].transcript, self.chats[p].transcript);
        let together = child.rows_from(1).zip(parent.rows_from(1)).take(meeting.fork);
        let dated = { together }.any(|(a, b)| a.id == b.id);
        (meeting.fork > 0 && dated).then_some(meeting)
    }
}

/// Whether an alias is a chat's name, or a book's name made from it (`z-AutoLB-Ana-<chat>`).
fn names(alias: &str, chat: &str) -> bool {
    alias.strip_suffix(chat).is_some_and(|rest| rest.is_empty() || rest.ends_with(['-', ' ']))
}

/// The names of chats that an alias could be: see [`names`].
fn names_in(alias: &str) -> impl Iterator<Item = &str> {
    std::iter::once(alias).chain(alias.match_indices(['-', ' ']).map(|(at, _)| &alias[at + 1..]))
}

fn is_import(name: &str) -> bool {
    name.ends_with(" imported")
}
