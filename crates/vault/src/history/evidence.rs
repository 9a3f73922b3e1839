//! What history knows about the state of a chat at a message: looks at its books, and where its chats stood then.

use forklore_core::adapter;
use forklore_core::adapter::recap::{self, RunningRecap};
use forklore_core::format::book::EntryImage;
use forklore_core::state::{
    BookEvidence, Content, Head, Look, Origin, Scene, Sight, Witness, is_clock_wrong,
};
use forklore_core::story::Shift;
use forklore_core::story::lineage::Kind;
use forklore_fs::VaultPath;
use forklore_journal::layout;

use super::book_replay::BookReplay;
use super::few::Steady;
use super::players::{Player, last_played};
use super::stood::{number_now, stood};
use super::timeline::{Period, Timeline};
use super::{By, HistoryError};
use crate::{ChatIx, Library};

/// Of more looks the headers of then are not read.
const FEW: usize = 256;

impl Timeline {
    /// Adds every look at a book by one of its names, without what is to be left aside of it.
    pub(crate) fn add_looks(
        &self,
        name: &str,
        evidence: &mut BookEvidence,
        library: &Library,
        aside: Option<&Steady>,
    ) -> Result<(), HistoryError> {
        let Ok(file) = layout::book(name) else { return Ok(()) };
        let track = self.track(&file);
        if track.is_empty() {
            return Ok(());
        }
        let mut players = self.players_of(name, library);
        players.retain(|player| player.was_other || !player.has_passed(library));
        let users = players.iter().filter(|player| !player.was_other);
        evidence.users.extend(users.map(|player| player.chat));
        evidence.users.sort_unstable();
        evidence.users.dedup();
        let bound = self.first_bound(name);
        let mut replay = match aside {
            Some(steady) => BookReplay::of_few(self, steady),
            None => BookReplay::at(self, &[])?,
        };
        let mut before = false;
        let none = evidence.sights.len();
        for (n, i) in track.iter().copied().enumerate() {
            let mut work = replay.work.clone();
            let turn = replay.step(i)?;
            let Some(entries) = &replay.entries else {
                before = false;
                // A book that went before any of its chats was there was another one of that name.
                if players.iter().all(|player| player.heads.first().is_none_or(|(first, ..)| *first > i)) {
                    evidence.sights.truncate(none);
                }
                continue;
            };
            let next = track.get(n + 1).copied().unwrap_or(usize::MAX);
            // Nobody was bound to it yet: an extension writes a new book entry by entry. What it has made in the end counts.
            if bound.is_some_and(|bound| next < bound) {
                before = false;
                continue;
            }
            let done = work.iter().filter(|work| !replay.work.contains(work)).count();
            let live = before && !work.is_empty() && !replay.work.is_empty() && done <= 1;
            work.extend(replay.work.iter().cloned());
            let content = match turn {
                Some(turn) if before => Content::Changed { gone: turn.delta.gone, new: turn.delta.new },
                _ => Content::Whole(entries.as_slice().into()),
            };
            let look = Look { live, ..self.look((i, next), &players, work, !before, library) };
            before = true;
            evidence.sights.push(Sight { time: look.not_before, witness: Witness::Look(look), content });
        }
        self.add_others(&mut evidence.sights[none..], &players, library);
        self.bound_by_recaps(&mut evidence.sights[none..], &evidence.scenes, &players, library)
    }

    /// Whoever watches looks at everything, but an operation only at what it is about: others who are bound to the book may have gone on since
    /// they were seen, or were never seen. Where clocks can be relied on, they had come as far as their messages by then.
    fn add_others(&self, sights: &mut [Sight], players: &[Player<'_>], library: &Library) {
        if is_clock_wrong(sights) {
            return;
        }
        for sight in sights {
            let Witness::Look(look) = &mut sight.witness else { continue };
            let (Some(looked), Some(i)) = (look.looked, self.partial(look.seq)) else { continue };
            let is_there = |player: &&Player<'_>| player.went.is_none_or(|went| went > i);
            let others = players.iter().filter(|player| !player.was_other && !self.is_beside(player, i));
            for player in others.filter(is_there) {
                // What a fork has from its parent was not played in it, whenever it was sent.
                let fork = library.chats[player.chat].lineage.fork_message;
                let played = |to: &usize| fork.is_none_or(|fork| *to > fork);
                let Some(to) = library.head_at(player.chat, looked).filter(played) else { continue };
                let new = player.heads.first().is_none_or(|(first, _, bound)| *first > i && *bound);
                match look.heads.iter_mut().find(|(chat, _)| *chat == player.chat) {
                    Some((_, head)) => head.to = head.to.max(to),
                    None if new => look.heads.push((player.chat, Head { from: None, to, later: false })),
                    None => {}
                }
            }
        }
    }

    /// The place of an observation, if it is an operation's.
    fn partial(&self, seq: u64) -> Option<usize> {
        let i = self.seen.binary_search_by_key(&seq, |seen| seen.seq).ok()?;
        matches!(self.seen[i].observation.by, By::Operation(_)).then_some(i)
    }

    /// Whether a chat was looked at together with what an observation shows.
    fn is_beside(&self, player: &Player<'_>, i: usize) -> bool {
        let looked = |j: usize| self.seen[j].observation.looked;
        player.heads.iter().any(|(j, ..)| looked(*j).is_some() && looked(*j) == looked(i))
    }

    /// The first observation of a chat that is bound to a book, also of one that is gone.
    fn first_bound(&self, book: &str) -> Option<usize> {
        let is_bound =
            |i: &usize| self.seen[*i].chat().is_some_and(|chat| chat.book.as_deref() == Some(book));
        let first = |file: &VaultPath| self.track(file).iter().copied().find(is_bound);
        self.bound_to(book).filter_map(first).min()
    }

    /// Where clocks of looks go wrong, the running recaps that the chats had tell more of when that was than messages do: a scene is
    /// recapped while nobody writes. Headers are large, so of ordinary histories none is read.
    fn bound_by_recaps(
        &self,
        sights: &mut [Sight],
        scenes: &[Scene],
        players: &[Player<'_>],
        library: &Library,
    ) -> Result<(), HistoryError> {
        // It was made while its scene was at work, which is done only afterwards.
        let done = |made: i64| {
            let of = scenes.iter().filter(|scene| scene.started <= made && made <= scene.finished);
            of.map(|scene| scene.finished).filter(|finished| *finished < i64::MAX).min().unwrap_or(made)
        };
        if sights.len() > FEW || !is_clock_wrong(sights) {
            return Ok(());
        }
        for sight in sights {
            let Witness::Look(look) = &mut sight.witness else { continue };
            let Ok(i) = self.seen.binary_search_by_key(&look.seq, |seen| seen.seq) else { continue };
            for player in players {
                let known = player.heads.iter().rev().map(|(j, ..)| *j).find(|j| {
                    let looked = |i: usize| self.seen[i].observation.looked;
                    *j <= i || (looked(*j).is_some() && looked(*j) == looked(i))
                });
                let Some(seen) = known.and_then(|j| self.seen[j].chat()) else { continue };
                let made = |recap: &RunningRecap| recap.versions.iter().map(|v| v.clock).max();
                let held =
                    self.in_header(&seen.header, &|metadata| made(&recap::running_outline(metadata)?))?;
                let Some(held) = held else { continue };
                look.not_before = look.not_before.max(done(held));
                // Those that it did not have yet. Of a chat that had none somebody may have wiped them.
                let now = library.chats[player.chat].running_outline();
                let later = now.into_iter().flat_map(|recap| &recap.versions).map(|v| v.clock);
                let next = later.filter(|clock| *clock > held).min().unwrap_or(i64::MAX);
                look.not_after = look.not_after.min(next);
            }
            look.not_after = look.not_after.max(look.not_before);
            sight.time = look.not_before;
        }
        Ok(())
    }

    /// The number of the first observation of a chat that is there; and the first one whose changes were certainly made later: everything
    /// had been looked at in between.
    pub fn first_seen(&self, file: &VaultPath) -> Option<(u64, u64)> {
        let seen = *self.life(file, usize::MAX).first()?;
        let looked = |i: usize| self.seen[i].observation.looked;
        // What was looked at together was there together, in whatever order it was written down.
        let before = (0..seen).rev().take_while(|i| looked(*i).is_some() && looked(*i) == looked(seen));
        let first = before.last().unwrap_or(seen);
        let sweep = (first..self.seen.len())
            .find(|i| matches!(self.seen[*i].observation.by, By::Watch) && looked(*i).is_some());
        let later = sweep.and_then(|sweep| (sweep..self.seen.len()).find(|i| looked(*i) != looked(sweep)));
        Some((self.seen[first].seq, later.map_or(u64::MAX, |later| self.seen[later].seq)))
    }

    /// The first observation after the one that a chat is the past state of, and the books that the other chat had until then.
    pub fn restored(&self, library: &Library, chat: ChatIx) -> Option<(u64, Vec<String>)> {
        let (file, seen) = self.restored_from(library, chat)?;
        let track = self.life(&file, seen + 1);
        let books = track.iter().filter_map(|i| self.seen[*i].chat()?.book.clone());
        Some((self.seen[seen].seq + 1, books.collect()))
    }

    /// The number that the last message has now that a chat had when it was seen first, if it had so many messages then.
    pub fn first_head(&self, file: &VaultPath, messages: usize) -> Option<usize> {
        let track = self.life(file, usize::MAX);
        let first = *track.first()?;
        let shifts: Vec<(usize, &Shift)> =
            track.iter().filter_map(|i| Some((*i, self.seen[*i].chat()?.shift.as_ref()?))).collect();
        let seen = self.seen[first].chat().filter(|seen| seen.messages == messages)?;
        Some(number_now(&shifts, first, seen.messages.saturating_sub(1)))
    }

    /// The books that a chat was seen bound to, one after the other: each with the first observation that shows it, and the message that
    /// the chat had last then, as messages are numbered now.
    pub fn bindings_of(&self, file: &VaultPath) -> Vec<(&str, u64, usize)> {
        let track = self.life(file, usize::MAX);
        let shifts: Vec<(usize, &Shift)> =
            track.iter().filter_map(|i| Some((*i, self.seen[*i].chat()?.shift.as_ref()?))).collect();
        let mut bindings: Vec<(&str, u64, usize)> = Vec::new();
        for i in track {
            let Some((chat, book)) = self.seen[i].chat().and_then(|chat| Some((chat, chat.book.as_deref()?)))
            else {
                continue;
            };
            if bindings.last().is_none_or(|(last, ..)| *last != book) {
                let head = number_now(&shifts, i, chat.messages.saturating_sub(1));
                bindings.push((book, self.seen[i].seq, head));
            }
        }
        bindings
    }

    /// A book as history saw it first, and when that was; the largest number if nobody noted it.
    pub fn first_look(&self, book: &str) -> Result<Option<(i64, Vec<EntryImage>)>, HistoryError> {
        let Ok(file) = layout::book(book) else { return Ok(None) };
        let track = self.track(&file);
        let looked = track.first().and_then(|first| self.seen[*first].observation.looked);
        let entries = BookReplay::at(self, track.get(..1).unwrap_or_default())?.entries;
        Ok(entries.map(|entries| (looked.unwrap_or(i64::MAX), entries)))
    }

    /// A book as history saw it first after a copy of it was made: at that time or later, and when one of the files that were made then had
    /// been seen, too. Clocks of looks alone tell little: whoever restores a vault looks at its past today.
    pub fn look_after(
        &self,
        book: &str,
        time: i64,
        made: &[VaultPath],
    ) -> Result<Option<Vec<EntryImage>>, HistoryError> {
        let Ok(file) = layout::book(book) else { return Ok(None) };
        let track = self.track(&file);
        let looked = |i: usize| self.seen[i].observation.looked;
        let Some(first) = made.iter().filter_map(|file| self.life(file, usize::MAX).first().copied()).min()
        else {
            return Ok(None);
        };
        let later = |i: &usize| {
            let is_made = *i >= first || looked(*i) == looked(first);
            is_made && looked(*i).is_some_and(|looked| looked >= time)
        };
        let Some(end) = track.iter().position(later) else { return Ok(None) };
        Ok(BookReplay::at(self, &track[..=end])?.entries)
    }

    /// A book as history saw it last.
    pub fn last_look(&self, book: &str) -> Result<Option<Vec<EntryImage>>, HistoryError> {
        let Ok(file) = layout::book(book) else { return Ok(None) };
        let track = self.track(&file);
        let is_book = |i: &usize| matches!(self.seen[*i].observation.what, super::Observed::Book(_));
        let end = track.iter().rposition(is_book).map_or(0, |last| last + 1);
        Ok(BookReplay::at(self, &track[..end])?.entries)
    }

    /// The chats that were ever bound to a book, and where they stood at each of their observations, as messages are numbered now.
    fn players_of(&self, book: &str, library: &Library) -> Vec<Player<'_>> {
        let bound = |file: &VaultPath| self.bound_to(book).any(|bound| bound == file);
        let player = |(chat, here): (ChatIx, &crate::Chat)| {
            // What was restored was another chat before.
            let was = self.restored_from(library, chat).filter(|(file, _)| bound(file));
            let own = here.book_stem() == Some(book) || bound(&here.path);
            if !own && was.is_none() {
                return None;
            }
            let was = was.map(|(file, seen)| self.life(&file, seen + 1)).unwrap_or_default();
            let track: Vec<usize> = was.into_iter().chain(self.life(&here.path, usize::MAX)).collect();
            let shifts: Vec<(usize, &Shift)> =
                track.iter().filter_map(|i| Some((*i, self.seen[*i].chat()?.shift.as_ref()?))).collect();
            let head = |i: &usize| {
                let seen = self.seen[*i].chat()?;
                let head = number_now(&shifts, *i, seen.messages.saturating_sub(1));
                // What the headers of chats of older groups would say stands in another file, which nobody watches.
                let bound = match &here.kept {
                    Some(_) => here.book_stem(),
                    None => seen.book.as_deref(),
                };
                Some((*i, head, bound == Some(book)))
            };
            let heads = track.iter().filter_map(head).collect();
            let (went, is_checkpoint) = (self.went(&here.path), here.lineage.kind == Kind::Checkpoint);
            Some(Player { chat, was_other: !own, heads, shifts, went, is_checkpoint })
        };
        ChatIx::each(&library.chats).filter_map(player).collect()
    }

    /// Where the chats stood when a book was looked at. It is told from the next look at it.
    fn look(
        &self,
        (i, next): (usize, usize),
        players: &[Player<'_>],
        work: Vec<adapter::Work>,
        is_first: bool,
        library: &Library,
    ) -> Look {
        let looked = |j: usize| self.seen.get(j).and_then(|seen| seen.observation.looked);
        let together = |j: usize| looked(i).is_some() && looked(i) == looked(j);
        let is_whole = !matches!(self.seen[i].observation.by, By::Operation(_));
        let (mut not_before, mut not_after) = (i64::MIN, i64::MAX);
        let mut heads: Vec<(ChatIx, Head)> = Vec::new();
        let mut begun_later = Vec::new();
        for player in players.iter().filter(|player| !player.is_gone(i, &together)) {
            let (known, then) = stood(&player.heads, i, &together);
            let Some(then) = then else {
                // A book can be seen before the first chat that is bound to it. It still was so when that came, if it had not been
                // looked at anew by then.
                let begun = player.heads.iter().find(|(j, ..)| *j >= i).filter(|(j, _, bound)| {
                    *bound && *j < next && (looked(*j) != looked(next) || looked(*j).is_none())
                });
                begun_later
                    .extend(begun.map(|(_, to, _)| (player.chat, Head { from: None, to: *to, later: true })));
                continue;
            };
            if !then.2 && !known.is_some_and(|known| known.2) {
                continue;
            }
            // Where nobody noted what was looked at together, it may have been the first look at both.
            let apart = looked(i).is_some() || !is_first;
            let from = known.filter(|(j, ..)| apart && self.looked_around(*j, i));
            let from = from.map(|known| known.1.min(then.1));
            heads.push((player.chat, Head { from, to: then.1, later: false }));
            not_before = not_before.max(library.sent(player.chat, then.1).unwrap_or(i64::MIN));
            // Who was not looked at then may have gone on.
            if is_whole || self.is_beside(player, i) {
                not_after = not_after.min(library.next_sent(player.chat, then.1 + 1).unwrap_or(i64::MAX));
            }
        }
        // For one that was forked since, of what was played later still, the chat above tells where its line was.
        begun_later.retain(|(chat, _)| {
            let (mut below, mut limit) = (*chat, usize::MAX);
            !library.ancestors(*chat).any(|above| {
                limit = limit.min(library.chats[below].lineage.shared().unwrap_or(0));
                below = above;
                heads.iter().any(|(known, head)| *known == above && head.to <= limit)
            })
        });
        heads.extend(begun_later);
        // Who saw a chat that was given a copy of the book looked after that was made, and who looked at everything and did not, before.
        for copy in library.copies() {
            let seen = || self.life(&library.chats[copy.chat].path, usize::MAX).first().copied();
            let is_seen =
                |book: &str| layout::book(book).is_ok_and(|book| book == self.seen[i].observation.file);
            if !library.names_of(&copy.source).any(is_seen) {
                continue;
            }
            if seen().is_some_and(|first| first <= i || together(first)) {
                not_before = not_before.max(copy.time);
            } else if matches!(self.seen[i].observation.by, By::Watch) {
                not_after = not_after.min(copy.time);
            }
        }
        let seq = self.seen[i].seq;
        // An operation looks only at what it is about: others may have been saved since they were seen.
        let is_known = |player: &Player<'_>| player.is_gone(i, &together) || self.is_beside(player, i);
        let is_all = || is_whole || players.iter().all(is_known);
        let player = if self.is_first_look(i) || !is_all() {
            None
        } else {
            last_played(players, i, &together, &looked)
        };
        // Who was saved last is at work.
        let owner = match self.player(i) {
            Some(saved) => {
                let is_it =
                    |player: &&Player<'_>| player.heads.binary_search_by_key(&saved, |(j, ..)| *j).is_ok();
                players.iter().find(is_it).map(|player| player.chat)
            }
            None => heads.first().map(|(chat, _)| *chat),
        };
        let shifts = players.iter().find(|player| Some(player.chat) == owner).map(|player| &player.shifts);
        let work = work.into_iter().map(|work| {
            let message = shifts.map_or(work.scene, |shifts| number_now(shifts, i, work.scene));
            let origin = owner.map(|chat| Origin { chat, message });
            (work, origin)
        });
        Look {
            seq,
            not_before,
            not_after: not_after.max(not_before),
            looked: looked(i),
            heads,
            player,
            work: work.collect(),
            live: false,
        }
    }

    /// Whether books were looked at while a chat was as an observation shows it, before the look that another belongs to. A backup tells
    /// where a chat stood, and nothing of the books.
    fn looked_around(&self, chat: usize, before: usize) -> bool {
        let backup = |i: &usize| matches!(self.seen[*i].observation.by, By::Backup(_));
        let looked = |i: usize| self.seen[i].observation.looked;
        let first = (chat..before).find(|i| !backup(i));
        first.is_some_and(|first| first == chat || looked(first).is_none() || looked(first) != looked(before))
    }

    /// Whether nobody had looked before the look that an observation belongs to. Then everything is new, whatever backups tell of some
    /// chats: those that are as their last backup has them are not the ones that were played last.
    pub(crate) fn is_first_look(&self, i: usize) -> bool {
        let looked = |i: usize| self.seen[i].observation.looked;
        let earlier = |j: usize| {
            !matches!(self.seen[j].observation.by, By::Backup(_))
                && (looked(j).is_none() || looked(j) != looked(i))
        };
        !(0..i).any(earlier)
    }

    /// The looks at the books of a chat's line while it was bound to them, in their order: places in [`Timeline::seen`], with the book,
    /// and whether it was the first one.
    pub fn looks_of_line(&self, library: &Library, chat: ChatIx) -> Vec<(usize, String, bool)> {
        let periods = self.periods(library, chat);
        let mut looks: Vec<(usize, usize, String, bool)> = Vec::new();
        for binding in bindings(self, &periods) {
            let Ok(file) = layout::book(&binding.book) else { continue };
            let track = self.track(&file);
            // As it was when it was bound, or as it was seen first.
            let start = track.partition_point(|i| *i < binding.from).saturating_sub(1);
            let shown = track.get(start..).unwrap_or_default().iter().enumerate();
            for (n, i) in shown.take_while(|(n, i)| *n == 0 || **i < binding.until) {
                let is_book = matches!(self.seen[*i].observation.what, super::Observed::Book(_));
                if is_book {
                    looks.push(((*i).max(binding.from), *i, binding.book.clone(), n == 0));
                }
            }
        }
        looks.sort_by_key(|(order, i, ..)| (*order, *i));
        looks.into_iter().map(|(_, i, book, first)| (i, book, first)).collect()
    }
}

/// A time during which a chat of the line was bound to a book.
struct Binding {
    book: String,
    /// The observation that shows it first
    from: usize,
    /// The observation that shows it no more, or that the period ended with
    until: usize,
}

/// Which books a line had, one after the other. A fork that goes on with its parent's book goes on with its parent's binding.
fn bindings(timeline: &Timeline, periods: &[Period]) -> Vec<Binding> {
    let mut bindings: Vec<Binding> = Vec::new();
    for (p, period) in periods.iter().enumerate() {
        for i in &period.track {
            let Some(book) = timeline.seen[*i].chat().map(|chat| chat.book.as_ref()) else {
                continue;
            };
            match bindings.last_mut() {
                Some(last) if Some(&last.book) == book => last.until = usize::MAX,
                last => {
                    if let Some(last) = last {
                        last.until = last.until.min(*i);
                    }
                    let book = book.cloned();
                    bindings.extend(book.map(|book| Binding { book, from: *i, until: usize::MAX }));
                }
            }
        }
        // What the parent's book became after the fork is not ours, unless we go on with it.
        if let (Some(last), Some(next)) = (bindings.last_mut(), periods.get(p + 1)) {
            let next = next.track.first().copied().unwrap_or(usize::MAX);
            last.until = last.until.min(next).min(period.end);
        }
    }
    bindings
}
