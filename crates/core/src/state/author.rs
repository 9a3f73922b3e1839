//! [`Author`]: who made a change, and [`attribute`], which finds out.
//!
//! A **claim** is evidence that somebody made a change: what a scene says it wrote, a mark on the entry, work in the queue. A claimed
//! change belongs to that scene or place, wherever it became visible first. What nobody claims was made by hand: by the one chat that
//! was bound to the book and moved while it happened; by the chat that the book was made for if there were several, or none.

use crate::story::ChatIx;
use std::collections::{HashMap, HashSet};

use super::Origin;
use super::life::{Deed, Life, SeenBy, is_titled};
use super::sight::{Cast, Scene};
use super::thing::words;
use crate::adapter::{EntryRole, Mark, Work, entry_role};
use crate::format::book::{EntryImage, means_the_same};

/// Who made a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// Nobody: it is part of an empty book.
    Start,
    /// The processing of a scene, by its place in [`Life::scenes`].
    Scene(usize),
    /// The entry says itself from which messages it was made, all of it.
    Mark(Origin),
    /// The entry says from which messages of a chat it was made, but that chat is gone, and they are not ours.
    Lost,
    /// Work on this scene was seen.
    Work(Origin),
    /// Somebody's hand, in this chat.
    Hand(ChatIx),
    /// Somebody's hand, in a book that all who use it share by choice.
    Anybody,
    /// Nobody knows.
    Unknown,
}

/// What was at work in a book at a sight of it.
#[derive(Debug, Clone, Default)]
pub(super) struct AtWork {
    /// The work, each piece with the scene that it is for
    pub(super) work: Vec<(Work, Origin)>,
    /// Whether that is all that can have been done since the sight before
    pub(super) live: bool,
    /// The chat that was played last before
    pub(super) player: Option<ChatIx>,
}

/// Finds out who made each change in a book.
pub(super) fn attribute(life: &mut Life, marked: &HashMap<usize, Mark>, works: &[AtWork], cast: &dyn Cast) {
    let mut authors: Vec<Author> = life.deeds.iter().map(|deed| deed.author.clone()).collect();
    let claims = Claims { life, works };
    let mut told: HashSet<(usize, String, bool)> = HashSet::new();
    for (n, deed) in life.deeds.iter().enumerate().filter(|(_, deed)| deed.author == Author::Unknown) {
        let mark = marked.get(&n).map(|mark| (mark, cast.place_of(mark, life.owner, &life.users)));
        authors[n] = match mark {
            Some((_, Some(origin))) => Author::Mark(origin),
            Some((mark, None)) if mark.chat.is_some() => Author::Lost,
            _ => claims.claim(deed, &authors[..n], &mut told).unwrap_or(Author::Unknown),
        };
    }
    // Registries are written by scenes alone: a line that went made way for the one that has its number now.
    for (n, deed) in life.deeds.iter().enumerate().filter(|(_, deed)| deed.line) {
        if authors[n] == Author::Unknown {
            authors[n] = claims.lister(deed, &authors).unwrap_or(Author::Unknown);
        }
    }
    // Whoever wrote the first line wrote the list around it, too.
    for (n, deed) in life.deeds.iter().enumerate().filter(|(_, deed)| is_list(deed)) {
        if let Some(first) = claims.first_lister(deed, &authors) {
            authors[n] = first;
        }
    }
    for (n, deed) in life.deeds.iter().enumerate() {
        if authors[n] == Author::Unknown {
            authors[n] = by_hand(life, deed, works, cast);
        }
    }
    life.deeds.iter_mut().zip(authors).for_each(|(deed, author)| deed.author = author);
}

struct Claims<'a> {
    life: &'a Life,
    works: &'a [AtWork],
}

impl Claims<'_> {
    /// The time in which a change was made. What a look saw may be younger than the look's own time says.
    fn window(&self, deed: &Deed) -> (i64, i64) {
        let sights = &self.life.sights;
        let begin = deed.since.map_or(i64::MIN, |since| sights[since].time);
        let end = match sights[deed.shown].by {
            SeenBy::Look(..) | SeenBy::Now => {
                let later = sights[deed.shown + 1..].iter();
                let mut scenes = later.filter(|sight| matches!(sight.by, SeenBy::Scene(_)));
                scenes.next().map_or(i64::MAX, |sight| sight.time)
            }
            _ => sights[deed.shown].time,
        };
        (begin, end)
    }

    /// Who claims a change: a scene that was processed at the time and says that it wrote this, else work that was seen.
    fn claim(
        &self,
        deed: &Deed,
        authors: &[Author],
        told: &mut HashSet<(usize, String, bool)>,
    ) -> Option<Author> {
        let (begin, end) = self.window(deed);
        let entry = deed.entry().filter(|_| !is_switched(deed))?;
        let title = entry.comment.to_string();
        let mut found: Vec<usize> = Vec::new();
        for (n, scene) in self.life.scenes.iter().enumerate() {
            if scene.began() >= end || self.is_idle(deed, scene) || self.is_done(deed, authors, n) {
                continue;
            }
            let at_work = scene.finished > begin;
            let claims = match &deed.after {
                None => at_work && self.swallowed(deed, n, scene),
                Some(after) if at_work && self.wrote(deed, n, scene, after) => true,
                Some(_) => {
                    let event = scene.events.iter().any(|(name, _)| is_titled(&title, name));
                    event
                        && !told.contains(&(n, title.clone(), deed.line))
                        && (deed.before.is_none() || (begin <= scene.finished && scene.finished <= end))
                }
            };
            if claims {
                found.push(n);
            }
        }
        let scene = if deed.before.is_none() { found.first() } else { found.last() };
        if let Some(scene) = scene {
            if self.life.scenes[*scene].events.iter().any(|(name, _)| is_titled(&title, name)) {
                told.insert((*scene, title, deed.line));
            }
            return Some(Author::Scene(*scene));
        }
        self.at_work(deed, entry)
    }

    /// Whether the processing of a scene was watched while a change was made, and nothing of it did that.
    fn is_idle(&self, deed: &Deed, scene: &Scene) -> bool {
        let next = deed.since.is_some_and(|since| since + 1 == deed.shown);
        let (Some(at), Some(entry)) = (self.works.get(deed.shown).filter(|at| next && at.live), deed.entry())
        else {
            return false;
        };
        let of_scene = |(_, origin): &&(Work, Origin)| scene.carried_by(origin.chat) == Some(origin.message);
        let mut work = at.work.iter().filter(of_scene).peekable();
        work.peek().is_some() && !work.any(|(work, _)| does(work, deed, entry))
    }

    /// Whether a scene was seen to have written a thing before, and nothing was at work when it was changed again.
    fn is_done(&self, deed: &Deed, authors: &[Author], scene: usize) -> bool {
        let is_look = |sight: usize| matches!(self.life.sights[sight].by, SeenBy::Look(..));
        let idle = |sight: usize| self.works.get(sight).is_some_and(|at| at.work.is_empty());
        let quiet = deed.since.is_some_and(|since| {
            let now = matches!(self.life.sights[deed.shown].by, SeenBy::Now);
            let next = is_look(since) && since + 1 == deed.shown;
            next && ((is_look(deed.shown) && idle(deed.shown)) || (now && idle(since)))
        });
        quiet
            && self.life.deeds.iter().zip(authors).any(|(other, author)| {
                *author == Author::Scene(scene)
                    && other.thing == deed.thing
                    && !other.line
                    && is_look(other.shown)
            })
    }

    /// Whether a scene says that it wrote this.
    fn wrote(&self, deed: &Deed, n: usize, scene: &Scene, after: &EntryImage) -> bool {
        let named = [deed.before.as_ref(), Some(after)].into_iter().flatten().any(|e| scene.written.names(e));
        let numbered = |uid: Option<i64>| {
            uid.is_some_and(|u| scene.written.uids.contains(&u) || scene.written.told.contains(&u))
        };
        let own = self.life.sights[deed.shown].by.is_scene(n);
        // Numbers are used again: a scene's number means this entry only in its own snapshot, or if it is not new.
        let wrote = named
            || (numbered(after.uid) && (own || deed.before.is_some() || self.is_in_snapshot(deed, n)))
            || (own && is_moved(deed));
        // A look may have seen a scene's work before the chat was saved. But if the scene's own write came later, this was not it.
        let time = self.life.sights[deed.shown].time;
        wrote && (scene.began() < time || own || !self.is_written_later(deed, n))
    }

    /// Whether the snapshot of a scene shows what this deed made, under the same number.
    fn is_in_snapshot(&self, deed: &Deed, scene: usize) -> bool {
        let mut until = deed.until;
        // To be moved about among the others makes nothing else of it.
        let moved = |until: usize| {
            let same = |other: &&Deed| other.thing == deed.thing && other.shown == until && is_moved(other);
            self.life.deeds.iter().find(same).map(|other| other.until)
        };
        while let Some(later) = moved(until) {
            until = later;
        }
        let sights = self.life.sights.get(deed.shown..until).unwrap_or_default();
        sights.iter().any(|sight| sight.by.is_scene(scene))
    }

    /// Whether a thing was changed again before a scene was done.
    fn is_written_later(&self, deed: &Deed, scene: usize) -> bool {
        let done = self.life.sights.iter().position(|sight| sight.by.is_scene(scene));
        let finished = self.life.scenes[scene].finished;
        let before = |sight: usize| match done {
            Some(done) => sight <= done,
            None => self.life.sights[sight].time < finished,
        };
        let mut later = self.life.deeds.iter().filter(|other| other.shown > deed.shown);
        later.any(|other| {
            other.thing == deed.thing && other.line == deed.line && before(other.shown) && !is_moved(other)
        })
    }

    /// Whether a scene merged an entry that went into another: its words are in what was added there.
    fn swallowed(&self, deed: &Deed, n: usize, scene: &Scene) -> bool {
        let Some(gone) = deed.before.as_ref().filter(|_| !deed.line) else { return false };
        if !self.life.sights[deed.shown].by.is_scene(n) {
            return false;
        }
        let gone = words(&gone.content());
        let grew = |other: &Deed| {
            let (Some(before), Some(after)) = (&other.before, &other.after) else { return false };
            if other.line || other.shown != deed.shown || !scene.written.has(after) {
                return false;
            }
            let (before, after) = (words(&before.content()), words(&after.content()));
            let added = after.difference(&before).filter(|word| gone.contains(*word)).count();
            !gone.is_empty() && added * 2 >= gone.len()
        };
        self.life.deeds.iter().any(grew)
    }

    /// Work in the queue that was seen at the time and says that it writes this, or can.
    fn at_work(&self, deed: &Deed, entry: &EntryImage) -> Option<Author> {
        let mut works = self.works.get(deed.shown).into_iter().flat_map(|at| &at.work);
        works.find(|(work, _)| does(work, deed, entry)).map(|(_, origin)| Author::Work(*origin))
    }

    /// The first of those who changed lines of a registry while the rest of it was changed.
    fn first_lister(&self, deed: &Deed, authors: &[Author]) -> Option<Author> {
        let lines = self
            .life
            .deeds
            .iter()
            .zip(authors)
            .filter(|(other, _)| other.line && other.thing == deed.thing && other.shown == deed.shown);
        let scenes = lines.filter_map(|(_, author)| match author {
            Author::Scene(scene) => Some(*scene),
            _ => None,
        });
        scenes.min_by_key(|scene| self.life.scenes[*scene].finished).map(Author::Scene)
    }

    /// Who changed a line of a registry that nobody claims: whoever gave its number away, else the scene at work.
    fn lister(&self, deed: &Deed, authors: &[Author]) -> Option<Author> {
        let uid = deed.entry()?.uid;
        let mut heirs = self.life.deeds.iter().zip(authors).filter(|(other, author)| {
            let same = other.shown == deed.shown && other.thing == deed.thing && other.line;
            same && **author != Author::Unknown && other.after.as_ref().is_some_and(|after| after.uid == uid)
        });
        if let Some((_, author)) = heirs.next_back() {
            return Some(author.clone());
        }
        let (begin, end) = self.window(deed);
        let scene = self.life.scenes.iter().rposition(|scene| scene.began() < end && scene.finished > begin);
        scene.map(Author::Scene)
    }
}

/// Whether a piece of work says that it does this, or can.
fn does(work: &Work, deed: &Deed, entry: &EntryImage) -> bool {
    let lists = deed.line && work.lists.is_some() && work.lists == entry.uid;
    let made = deed.before.is_none() && is_entity(&entry.comment);
    lists || work.names(entry) || (work.makes && (made || is_moved(deed)))
}

/// Whether a registry itself was changed, whatever it lists.
fn is_list(deed: &Deed) -> bool {
    let (Some(before), Some(after)) = (&deed.before, &deed.after) else { return false };
    !deed.line && before.content() == after.content() && entry_role(&after.comment) == EntryRole::Registry
}

/// Whether an entry was only switched on or off. Scenes write; the switch is turned by hand.
fn is_switched(deed: &Deed) -> bool {
    let (Some(old), Some(new)) = (&deed.before, &deed.after) else { return false };
    old.is_disabled() != new.is_disabled() && old.comment == new.comment && old.content() == new.content()
}

/// Whether an entry was only moved about among the others, as an extension does that sorts its book.
fn is_moved(deed: &Deed) -> bool {
    let (Some(old), Some(new)) = (&deed.before, &deed.after) else { return false };
    let (before, after) = (old.raw(), new.raw());
    let same = |(key, value): (forklore_json::Raw<'_>, forklore_json::Raw<'_>)| {
        let moved = key.is_text("order") || key.is_text("displayIndex");
        let known = || key.as_text().and_then(|key| before.get(&key));
        moved || known().is_none_or(|old| means_the_same(key, old, value))
    };
    !deed.line
        && old.comment == new.comment
        && old.is_disabled() == new.is_disabled()
        && after.members().all(same)
}

/// Whether a title is of the form that memory extensions give to what they find in a scene: "character-Mara".
fn is_entity(comment: &str) -> bool {
    entry_role(comment) == EntryRole::Fact
        && comment.split_once('-').is_some_and(|(kind, name)| {
            !kind.is_empty() && !name.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
}

/// Whose hand it was.
fn by_hand(life: &Life, deed: &Deed, works: &[AtWork], cast: &dyn Cast) -> Author {
    if life.by_choice {
        return Author::Anybody;
    }
    let sights = &life.sights;
    let since = deed.since.map_or(i64::MIN, |since| sights[since].time);
    let shown = sights[deed.shown].time;
    let moved = |chat: ChatIx| {
        if let (Some(SeenBy::Look(_, before)), SeenBy::Look(_, after)) =
            (deed.since.map(|since| &sights[since].by), &sights[deed.shown].by)
        {
            let head = |heads: &[(ChatIx, super::sight::Head)]| {
                heads.iter().find(|(c, _)| *c == chat).map(|(_, head)| head.to)
            };
            return head(before) != head(after);
        }
        cast.played(chat, since, shown)
    };
    let mut movers = life.users.iter().copied().filter(|chat| moved(*chat));
    // Who processes a scene has its chat before him, whatever book that has since.
    let processed = match sights[deed.shown].by {
        SeenBy::Scene(scene) => Some(life.scenes[scene].origin.chat),
        _ => None,
    };
    let played = works.get(deed.shown).and_then(|at| at.player).filter(|chat| life.users.contains(chat));
    let player = played.or(processed);
    match (movers.next(), movers.next(), player.or(life.owner.filter(|_| !life.lost))) {
        (Some(one), None, _) | (_, _, Some(one)) => Author::Hand(one),
        _ => Author::Unknown,
    }
}
