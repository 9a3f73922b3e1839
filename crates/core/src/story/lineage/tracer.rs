//! [`Tracer`]: weighs what is known of each chat.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::super::chat_ix::ChatIx;
use super::super::line::{Confidence, common_prefix};
use super::super::moment::MessageId;
use super::lines::Lines;
use super::meet::{Meeter, Meeting};
use super::names::{Seniority, folded, is_import, names, names_in, seniority};
use super::{Basis, Beyond, Chat, Kind, Lineage, Link, ParentNote, Swipes};
use crate::format::names::ForkName;
use crate::format::record::ForkRecord;

/// Everything that is asked of all chats together.
pub(super) struct Tracer<'a> {
    pub(super) chats: &'a [Chat<'a>],
    pub(super) meeter: Meeter<'a>,
    pub(super) seniority: Vec<Seniority<'a>>,
    pub(super) by_name: HashMap<(usize, &'a str), ChatIx>,
    /// As file systems see names that do not tell everything apart; nothing where several chats have one.
    pub(super) by_folded_name: HashMap<(usize, String), Option<ChatIx>>,
    /// Chats of any story by name.
    pub(super) anywhere: HashMap<&'a str, Vec<ChatIx>>,
    pub(super) by_slug: HashMap<&'a str, Vec<ChatIx>>,
    /// For each chat the family that it may be of: chats of a story that share one of their first messages after the greeting, also
    /// over others. Only they can be related by their lines.
    pub(super) family: Vec<usize>,
    pub(super) families: Vec<(Vec<ChatIx>, OnceCell<Lines>)>,
    /// What messages of other chats of a story link to.
    pub(super) linked: HashSet<(usize, Link, &'a str)>,
    /// Chats of a story by the names that their metadata goes by, unless they come from a chat of that name.
    pub(super) called: HashMap<(usize, &'a str), Vec<ChatIx>>,
}

/// How many messages after the greeting are looked at to find relatives. More than one, because old messages get edited.
const START: usize = 4;

impl<'a> Tracer<'a> {
    pub(super) fn new(chats: &'a [Chat<'a>], swipes: &'a Swipes<'a>) -> Self {
        let mut tracer = Self {
            chats,
            meeter: Meeter::new(chats, swipes),
            seniority: chats
                .iter()
                .map(|chat| seniority(chat.name, chat.transcript.len(), chat.silent))
                .collect(),
            by_name: HashMap::new(),
            by_folded_name: HashMap::new(),
            anywhere: HashMap::new(),
            by_slug: HashMap::new(),
            family: Vec::new(),
            families: Vec::new(),
            linked: HashSet::new(),
            called: HashMap::new(),
        };
        for (c, chat) in ChatIx::each(chats) {
            // Of several, as when one of them is gone and its name was given again, the first.
            tracer.by_name.entry((chat.story, chat.name)).or_insert(c);
            tracer.anywhere.entry(chat.name).or_default().push(c);
            let folded = tracer.by_folded_name.entry((chat.story, folded(chat.name)));
            folded.and_modify(|one| *one = None).or_insert(Some(c));
            if let Some(slug) = chat.slug {
                tracer.by_slug.entry(slug).or_default().push(c);
            }
            let others = chat.links.iter().filter(|(_, name)| name != chat.name);
            tracer.linked.extend(others.map(|(link, name)| (chat.story, *link, name.as_str())));
        }
        tracer.find_families();
        for (c, chat) in ChatIx::each(chats) {
            if chat.aliases.is_empty() {
                continue;
            }
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

    fn find_families(&mut self) {
        let mut first: HashMap<(usize, MessageId), ChatIx> = HashMap::new();
        let mut family: Vec<ChatIx> = ChatIx::all(self.chats.len()).collect();
        fn root(family: &mut [ChatIx], mut c: ChatIx) -> ChatIx {
            while family[c] != c {
                family[c] = family[family[c]];
                c = family[c];
            }
            c
        }
        for (c, chat) in ChatIx::each(self.chats) {
            for row in chat.transcript.rows_from(1).take(START) {
                let other = *first.entry((chat.story, row.id)).or_insert(c);
                let (a, b) = (root(&mut family, c), root(&mut family, other));
                family[a] = b;
            }
        }
        let mut numbers: HashMap<ChatIx, usize> = HashMap::new();
        for c in ChatIx::all(self.chats.len()) {
            let number = *numbers.entry(root(&mut family, c)).or_insert(self.families.len());
            if number == self.families.len() {
                self.families.push((Vec::new(), OnceCell::new()));
            }
            self.families[number].0.push(c);
            self.family.push(number);
        }
    }

    /// The lineage of every chat. Those that say where they come from go first: they tell which of the others they do not come from.
    pub(super) fn trace(&self) -> Vec<Lineage> {
        let said: Vec<Option<Lineage>> = ChatIx::all(self.chats.len()).map(|c| self.said(c)).collect();
        let traced = |c: ChatIx| said[c].clone().unwrap_or_else(|| self.unclaimed(c, &said));
        let mut found: Vec<Lineage> = ChatIx::all(self.chats.len()).map(traced).collect();
        for c in ChatIx::all(self.chats.len()) {
            self.cut_ring(c, &mut found);
        }
        self.look_beyond(&mut found);
        found
    }

    /// Several whose parents are gone can be beyond each other, and nobody comes from himself. So those that share most find each other first,
    /// the younger one the older one.
    fn look_beyond(&self, found: &mut [Lineage]) {
        let alone = |c| Some((self.beyond_of(c, found)?.message, self.seniority[c], c));
        let mut lost: Vec<_> = ChatIx::all(self.chats.len()).filter_map(alone).collect();
        lost.sort_by_key(|(message, seniority, _)| Reverse((*message, *seniority)));
        for (.., c) in lost {
            found[c].beyond = self.beyond_of(c, found);
        }
    }

    /// Where the parent of a chat is gone, who else has the line that it had. Of those the one that it was played in.
    fn beyond_of(&self, c: ChatIx, found: &[Lineage]) -> Option<Beyond> {
        let Lineage { parent: None, note: Some(ParentNote::Missing(lost)), .. } = &found[c] else {
            return None;
        };
        let line =
            |p: ChatIx| std::iter::successors(Some(p), |d: &ChatIx| found[*d].above()).take(self.chats.len());
        let (mut chat, message) = self.beyond(c, lost, &|p| line(p).all(|d| d != c))?;
        for _ in 0..self.chats.len() {
            let Some(p) = found[chat].parent.filter(|p| *p != c) else { break };
            let shared = self.meeter.meet_with_dates(c, p).is_some_and(|meeting| meeting.fork >= message);
            if !shared {
                break;
            }
            chat = p;
        }
        Some(Beyond { chat, message })
    }

    /// What a chat, or its twin, says of itself; nothing if only the lines can tell.
    fn said(&self, c: ChatIx) -> Option<Lineage> {
        let chat = &self.chats[c];
        if let Some(record) = chat.record {
            return Some(self.recorded(c, record));
        }
        if let Some(original) = self.original_of(c) {
            return Some(self.copy_of(c, original));
        }
        Some(self.claimed(c, self.claim(c)?))
    }

    /// The parent that a chat names.
    pub(super) fn claim(&self, c: ChatIx) -> Option<&'a str> {
        let chat = &self.chats[c];
        chat.main_chat.as_deref().filter(|claimed| *claimed != chat.name)
    }

    /// Chats cannot be each other's parents. Where names make it so, another chat has taken the name of a parent that is gone:
    /// the one that has more messages than the other had when it was forked is the elder, and its parent is the lost one.
    fn cut_ring(&self, c: ChatIx, found: &mut [Lineage]) {
        let mut ring = vec![c];
        let mut on_the_way: HashSet<ChatIx> = HashSet::from([c]);
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
            if !on_the_way.insert(p) {
                return;
            }
            ring.push(p);
        }
    }

    fn recorded(&self, c: ChatIx, record: &ForkRecord) -> Lineage {
        let parent = self.recorded_parent(c, record);
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
            beyond: None,
        }
    }

    pub(super) fn recorded_parent(&self, c: ChatIx, record: &ForkRecord) -> Option<ChatIx> {
        let chat = &self.chats[c];
        let same_story = |p: &ChatIx| *p != c && self.chats[*p].story == chat.story;
        let by_name = self.named(chat.story, record.parent_file.as_str()).filter(same_story);
        let by_slug = self.by_slug.get(record.parent_slug.as_str()).into_iter().flatten().copied();
        let by_slug: Vec<ChatIx> = by_slug.filter(same_story).collect();
        // The slug decides; the name only chooses among copies, and stands in where the parent never had a slug, or was given another
        // one since and still holds the message.
        let holds = |p: ChatIx| {
            let moment = self.chats[p].transcript.moment(record.message);
            moment.is_some_and(|moment| moment.to_string() == record.moment)
        };
        match by_name.filter(|p| by_slug.is_empty() || by_slug.contains(p)) {
            Some(p) if record.parent_slug.is_empty() || by_slug.contains(&p) || holds(p) => Some(p),
            // Forks that old versions made of the parent have its slug, too: they name one that has it.
            _ => by_slug.iter().copied().max_by_key(|p| {
                let claims = |d: ChatIx| by_slug.contains(&d) && d != *p;
                let forked = self.claim(*p).and_then(|name| self.named(chat.story, name)).is_some_and(claims);
                (holds(*p), !forked, !is_import(self.chats[*p].name), Reverse(*p))
            }),
        }
    }

    /// The chat that `c` is a mere copy of: same slug, same beginning, and `c` is not the one that the slug was made for.
    pub(super) fn original_of(&self, c: ChatIx) -> Option<ChatIx> {
        let chat = &self.chats[c];
        let twins = self.by_slug.get(chat.slug?).filter(|twins| twins.len() > 1)?;
        // Before SillyTavern 1.19 forks had their parent's slug: a chat that names a parent is a copy only if it says so, or if the
        // slug was made for a fork.
        let own_slug = || {
            let parent = self.claim(c).and_then(|name| self.named(chat.story, name));
            parent.is_some_and(|p| self.chats[p].slug != chat.slug)
        };
        if self.claim(c).is_some() && !is_import(chat.name) && !own_slug() {
            return None;
        }
        let alike = |p: ChatIx| {
            let other = &self.chats[p];
            // And a chat that names none is not the copy of one that does: that one was made from it, or from one like it. But a solo
            // chat that became a group's lost what it was forked from.
            let may_be =
                other.main_chat == chat.main_chat || (chat.main_chat.is_none() && chat.group && !other.group);
            may_be && chat.transcript.moment(0).is_some_and(|first| other.transcript.moment(0) == Some(first))
        };
        // Of those that come before it the nearest: forks of one parent, with its slug, can be copied, too.
        let before = |p: &ChatIx| *p != c && self.originality(*p) > self.originality(c) && alike(*p);
        let shared = |p: ChatIx| common_prefix(chat.transcript, self.chats[p].transcript);
        let whole = |p: ChatIx, shared: usize| shared == self.chats[p].transcript.len();
        twins.iter().copied().filter(before).max_by_key(|p| {
            let shared = shared(*p);
            (shared, whole(*p, shared), self.originality(*p))
        })
    }

    /// Of several chats with one slug, the one that it was made for ranks highest.
    pub(super) fn originality(&self, c: ChatIx) -> (bool, bool, bool, bool, bool, Reverse<Seniority<'a>>) {
        let chat = &self.chats[c];
        let linked = [Link::Bookmark, Link::Branch]
            .iter()
            .any(|link| self.linked.contains(&(chat.story, *link, chat.name)));
        let goes_by_its_name = chat.aliases.iter().any(|alias| names(alias, chat.name));
        // A fork that still has the name that SillyTavern gave it was not copied to it.
        let named_as_made = (ForkName::read(chat.name) != ForkName::Plain) == chat.main_chat.is_some();
        // A group chat with a solo chat's slug was converted from it.
        (
            !is_import(chat.name),
            !chat.group,
            goes_by_its_name,
            linked,
            named_as_made,
            Reverse(self.seniority[c]),
        )
    }

    fn copy_of(&self, c: ChatIx, original: ChatIx) -> Lineage {
        let chat = &self.chats[c];
        let shared = self.meeter.meet(c, original).map_or(0, |meeting| meeting.fork + 1);
        let moved_on = shared < chat.transcript.len();
        Lineage {
            kind: Kind::Copy,
            parent: Some(original),
            fork_message: moved_on.then(|| shared.saturating_sub(1)),
            basis: Basis::Moments,
            confidence: if moved_on { Confidence::Likely } else { Confidence::Certain },
            note: None,
            beyond: None,
        }
    }

    /// The chat of a story that a name means.
    pub(super) fn named(&self, story: usize, name: &str) -> Option<ChatIx> {
        let exactly = |name: &str| self.by_name.get(&(story, name)).copied();
        let bare = name.strip_suffix(".jsonl");
        exactly(name).or_else(|| bare.and_then(exactly)).or_else(|| {
            let folded = folded(bare.unwrap_or(name));
            self.by_folded_name.get(&(story, folded)).copied().flatten()
        })
    }

    /// No record, no `main_chat`: only the lines can tell. `said` is what others say of themselves.
    fn unclaimed(&self, c: ChatIx, said: &[Option<Lineage>]) -> Lineage {
        let chat = &self.chats[c];
        let links =
            |a: ChatIx, b: ChatIx| self.chats[a].links.iter().any(|(_, name)| name == self.chats[b].name);
        let senior = |p: ChatIx| match (links(p, c), links(c, p)) {
            (true, false) => true,
            (false, true) => false,
            _ => self.seniority[p] < self.seniority[c],
        };
        let may_be = |p: ChatIx| said[p].is_none() && senior(p);
        let best = self.best(c, &may_be);
        match best {
            Some((parent, meeting)) => self.fork(c, parent, meeting, Basis::Moments, None),
            None => Lineage {
                kind: Kind::Main,
                parent: None,
                fork_message: None,
                basis: Basis::None,
                confidence: if chat.transcript.is_empty() { Confidence::Guess } else { Confidence::Certain },
                note: None,
                beyond: None,
            },
        }
    }

    /// Of the chats of the family that may be, the one with which `c` shares most, beyond the greeting and sent at the same time; among
    /// equals the most senior.
    pub(super) fn best(&self, c: ChatIx, may_be: &dyn Fn(ChatIx) -> bool) -> Option<(ChatIx, Meeting)> {
        let (members, lines) = &self.families[self.family[c]];
        if members.len() < 2 {
            return None;
        }
        let lines = lines.get_or_init(|| Lines::new(self.chats, members));
        let len = self.chats[c].transcript.len();
        let mut best: Option<(ChatIx, Meeting)> = None;
        let better = |p: ChatIx, meeting: Meeting, best: Option<(ChatIx, Meeting)>| {
            let rank = |p: ChatIx, meeting: Meeting| (meeting.fork, Reverse(self.seniority[p]));
            let more = best.is_none_or(|(q, found)| rank(p, meeting) > rank(q, found));
            more && meeting.fork > 0 && self.meeter.dated(c, p, meeting)
        };
        // Those with the longest common beginning, and where that ends, those in which another swipe is shown.
        let mut level = None;
        for near in lines.nearest(c) {
            if level.is_some_and(|level| near.shared < level) {
                break;
            }
            let eldest = near.chats.iter().copied().filter(|p| may_be(*p)).min_by_key(|p| self.seniority[*p]);
            let Some(p) = eldest else { continue };
            level = Some(near.shared);
            let goes_on = near.shared < len && near.shared < self.chats[p].transcript.len();
            let meeting = if goes_on && self.meeter.same_message((c, near.shared), (p, near.shared)) {
                Meeting { fork: near.shared, confidence: Confidence::Certain }
            } else {
                let cut = near.shared < len && !goes_on;
                let confidence = if cut { Confidence::Likely } else { Confidence::Certain };
                let Some(fork) = self.meeter.sent_together(c, p, near.shared).checked_sub(1) else {
                    continue;
                };
                Meeting { fork, confidence }
            };
            if better(p, meeting, best) {
                best = Some((p, meeting));
            }
        }
        // Those that have a later message, too, although something before it was edited or deleted.
        let level = level?;
        let mut tried: HashSet<ChatIx> = HashSet::new();
        for (message, having) in lines.with_messages(self.chats, c, level) {
            if best.is_some_and(|(_, found)| found.fork >= message) || tried.len() >= TRIED {
                break;
            }
            let eldest =
                having.iter().copied().filter(|p| *p != c && may_be(*p)).min_by_key(|p| self.seniority[*p]);
            if let Some(p) = eldest.filter(|p| tried.insert(*p))
                && let Some(meeting) = self.meeter.meet(c, p)
                && better(p, meeting, best)
            {
                best = Some((p, meeting));
            }
        }
        best
    }

    pub(super) fn fork(
        &self,
        c: ChatIx,
        parent: ChatIx,
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
            beyond: None,
        }
    }

    /// Branch or checkpoint: what links to it, what it is called, what it was called, whether it was played on.
    pub(super) fn kind(&self, c: ChatIx, fork: Option<usize>) -> Kind {
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
}

/// So many chats are compared message by message for one that shares messages with them after something that differs.
const TRIED: usize = 8;
