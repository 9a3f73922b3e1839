//! What is known of one book, gathered from the whole vault: snapshots in scenes, history, copies, the file as it is.

use crate::ChatIx;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use forklore_core::adapter::recap::RecapVersion;
use forklore_core::adapter::{self, Keepers, SceneSighting};
use forklore_core::format::book::EntryImage;
use forklore_core::format::chat::Message;
use forklore_core::format::names::{book_stem, chat_stem};
use forklore_core::state::{BookEvidence, Cast, Content, Heir, Log, Origin, Scene, Sight, Witness};
use forklore_fs::PathError;
use forklore_json::Raw;

use crate::history::{Steady, history_error};
use crate::library::Library;
use crate::read::snapshots::StoredSighting;
use crate::state::family::EARLIER;

/// When books were made, by their stems.
#[derive(Default)]
struct MadeAt(HashMap<String, i64>);

impl Library {
    /// What is known of a book.
    pub(crate) fn evidence(&self, stem: &str) -> Result<BookEvidence, PathError> {
        self.evidence_without(None, stem)
    }

    /// What is known of a book, without those entries of it that always were as they are, if they are to be left aside.
    pub(super) fn evidence_without(
        &self,
        steady: Option<&Steady>,
        stem: &str,
    ) -> Result<BookEvidence, PathError> {
        let told = self.scenes().get(stem).map_or(&[][..], Vec::as_slice);
        // Of a book of a chat that is gone those know who have a copy of it.
        let copied = || self.copies().iter().find(|copy| copy.source == stem).map(|copy| copy.chat);
        let owner = self.made_for(stem, &|_| true).or_else(copied);
        let mut evidence = BookEvidence {
            book: stem.into(),
            keepers: Keepers::default(),
            by_choice: false,
            owner,
            lost: !owner.is_some_and(|owner| self.has_kept(owner, stem)),
            heir: self.heir(owner, stem),
            users: self.names_of(stem).flat_map(|name| self.users_of(name)).copied().collect(),
            made: self.made_at(stem),
            scenes: told.iter().map(|told| told.scene.clone()).collect(),
            sights: Vec::new(),
            elsewhere: Vec::new(),
        };
        for (n, told) in told.iter().enumerate() {
            for (time, chat, place) in &told.snapshots {
                let entries = self.entries_of(*chat, &self.chats[*chat].snapshots.sightings[*place])?;
                // A book that extensions keep is never empty: this one has not been looked at yet.
                if entries.is_empty() {
                    continue;
                }
                let content = Content::Whole(entries);
                evidence.sights.push(Sight { time: *time, witness: Witness::Scene(n), content });
            }
        }
        if let Some(history) = self.history()? {
            for name in self.names_of(stem) {
                history.add_looks(name, &mut evidence, self, steady).map_err(history_error)?;
            }
        }
        let is_there = !stem.ends_with(EARLIER);
        let live =
            if is_there { self.book_known_as(stem)?.filter(|book| book.parse().is_ok()) } else { None };
        if let Some(live) = &live {
            let content = Content::Whole(steady.map_or_else(|| live.images(), Steady::others).into());
            evidence.sights.push(Sight { time: i64::MAX, witness: Witness::Now, content });
        }
        evidence.keepers = keepers(&evidence, live.is_some());
        evidence.by_choice = evidence.keepers.is_empty() && !self.made_by_forklore(stem);
        self.add_copies(&mut evidence)?;
        self.add_backups(&mut evidence);
        self.add_events(&mut evidence)?;
        Ok(evidence)
    }

    /// When a book was made, if the header of a chat tells. Headers are gone through once, not once for every book.
    fn made_at(&self, stem: &str) -> Option<i64> {
        let made = self.memo.slot::<OnceLock<MadeAt>>().get_or_init(|| {
            let mut made = MadeAt::default();
            for (book, time) in self.chats.iter().flat_map(crate::Chat::made) {
                made.0.entry(book_stem(book)).and_modify(|first| *first = time.min(*first)).or_insert(time);
            }
            made
        });
        made.0.get(stem).copied().or_else(|| self.made_before(stem))
    }

    /// The same from headers of then, for a book that nobody is bound to any more: whoever gets another one has that in his header instead.
    fn made_before(&self, stem: &str) -> Option<i64> {
        let history = self.history().ok().flatten()?;
        // Of a book that nothing keeps no extension has noted anything.
        if self.book(stem).ok().flatten().is_some_and(|book| book.keeper().is_none()) {
            return None;
        }
        let read = |metadata: Raw<'_>| {
            let mut made =
                adapter::made(metadata).filter(|(book, _)| self.known_as(&book_stem(book)) == stem);
            made.next().map(|(_, time)| time)
        };
        let bound = self.names_of(stem).flat_map(|name| history.bound_to(name).map(move |file| (name, file)));
        bound.filter_map(|(name, file)| history.while_bound(file, name, &read).ok().flatten()).min()
    }

    /// Whether a chat is bound to a book, or scenes were played in it that were written there.
    fn has_kept(&self, chat: ChatIx, stem: &str) -> bool {
        let told = self.scenes().get(stem).map_or(&[][..], Vec::as_slice);
        self.names_of(stem).any(|name| self.users_of(name).contains(&chat))
            || self.had(chat, stem)
            || told.iter().any(|told| self.is_played(&told.scene, chat))
    }

    /// Whether a chat was seen bound to a book, now or before.
    pub(crate) fn had(&self, chat: ChatIx, stem: &str) -> bool {
        let history = self.history().ok().flatten();
        history.is_some_and(|history| {
            self.names_of(stem).any(|name| history.bound_to(name).any(|file| *file == self.chats[chat].path))
        })
    }

    /// Who has a book after its owner, if that is gone.
    fn heir(&self, owner: Option<ChatIx>, stem: &str) -> Option<Heir> {
        let history = self.history().ok().flatten()?;
        let from = history.without(&self.chats[owner?].path)?;
        let chat = self.made_for(stem, &|chat| history.without(&self.chats[chat].path).is_none());
        Some(Heir { from, chat })
    }

    /// The chat that a book was made for, among some: the one that the others who name it come from, in their headers or in their scenes.
    fn made_for(&self, stem: &str, among: &dyn Fn(ChatIx) -> bool) -> Option<ChatIx> {
        let scenes = self.scenes().get(stem).map_or(&[][..], Vec::as_slice);
        let played = || scenes.iter().map(|told| told.scene.origin.chat);
        let wrote = |chat: ChatIx| played().filter(|played| *played == chat).count();
        let mut named: Vec<ChatIx> = played().collect();
        named.extend(self.names_of(stem).flat_map(|name| self.users_of(name)));
        named.extend(self.copies().iter().filter(|copy| copy.stem == stem).map(|copy| copy.chat));
        if named.is_empty() {
            named.extend(ChatIx::all(self.chats.len()).filter(|chat| self.had(*chat, stem)));
        }
        named.retain(|chat| among(*chat));
        named.sort_unstable();
        named.dedup();
        let recorded = |chat: &ChatIx| {
            let book = self.chats[*chat].record.as_ref().and_then(|record| record.book.as_deref());
            book.is_some_and(|book| book_stem(book) == stem)
        };
        // A record says whose it is. Where none does: of those that no other comes from, the one that copied it, else the one whose
        // scenes went there most, else the one whose name it has.
        if let Some(owner) = named.iter().copied().find(recorded) {
            return Some(owner);
        }
        let is_other = |above: ChatIx, c: ChatIx| above != c && named.binary_search(&above).is_ok();
        let top = |c: &ChatIx| !self.ancestors(*c).any(|above| is_other(above, *c));
        let titled = |c: ChatIx| stem.ends_with(self.chats[c].name.as_str());
        let copied = |c: ChatIx| self.copies().iter().any(|copy| copy.chat == c && copy.stem == stem);
        named.iter().copied().filter(top).max_by_key(|c| (copied(*c), wrote(*c), titled(*c), Reverse(*c)))
    }

    /// The entries of a state that a scene has kept.
    pub(crate) fn entries_of(
        &self,
        chat: ChatIx,
        stored: &StoredSighting,
    ) -> Result<Arc<[EntryImage]>, PathError> {
        if let Some(places) = &stored.entries {
            let images = &self.chats[chat].snapshots.images;
            return Ok(places.iter().filter_map(|place| images.get(*place as usize)).cloned().collect());
        }
        let line = self.message_line(chat, stored.message)?.unwrap_or_default();
        // The file may have changed since it was scanned; a line that no longer parses simply tells nothing.
        let scene = Message::parse(&line).ok().and_then(adapter::scene);
        let found = scene.map(|(_, sightings)| sightings).unwrap_or_default();
        let same = |s: &SceneSighting| (s.version, s.clock) == (stored.version, stored.clock);
        Ok(found.into_iter().find(same).map(|s| s.entries).unwrap_or_default().into())
    }

    /// The message of chat `target` that ends the scene which ends at `message` of chat `other`.
    pub fn shared_scene(&self, target: ChatIx, other: ChatIx, message: usize) -> Option<usize> {
        let here = self.counterpart(other, message, target)?;
        self.chats[target].facts.scene(here).is_some_and(|scene| scene.recapped).then_some(here)
    }

    /// Adds what only SillyTavern's backups still tell: scenes that were lost, texts of events.
    ///
    /// Backups can be fifty times as large as all chats together. So they are read only if something is missing, and one after the
    /// other.
    fn add_backups(&self, evidence: &mut BookEvidence) {
        let users = evidence.users.clone();
        for chat in users {
            let here = &self.chats[chat];
            let lost = |version: &RecapVersion| {
                let gone = here.facts.scene(version.scene).is_none_or(|scene| !scene.recapped);
                gone && version.scene <= here.head() && self.relatives_with(chat, version).next().is_none()
            };
            let lacks =
                lacking_events(evidence).any(|(scene, ..)| evidence.scenes[scene].carried_by(chat).is_some());
            if !lacks && !here.running_outline().into_iter().flat_map(|r| &r.versions).any(lost) {
                continue;
            }
            for scan in self.backups(chat) {
                for (message, scene) in &scan.facts.scenes {
                    for version in &scene.versions {
                        let book = version.book.as_deref().map(book_stem);
                        let on_line = here.transcript.moment(*message) == scan.transcript.moment(*message);
                        // What a relative still has was not lost: who does not have it never had it.
                        let known = |scene: &Scene| scene.started == version.started;
                        if !on_line
                            || book.is_none_or(|book| book != *evidence.book)
                            || evidence.scenes.iter().any(known)
                        {
                            continue;
                        }
                        let same = |s: &&StoredSighting| {
                            s.message == *message && (s.version, s.clock) == (version.number, version.clock)
                        };
                        let stored = scan.snapshots.sightings.iter().find(same);
                        let Some(places) = stored.and_then(|stored| stored.entries.as_ref()) else {
                            continue;
                        };
                        let images = &scan.snapshots.images;
                        let entries: Vec<EntryImage> =
                            places.iter().filter_map(|place| images.get(*place as usize)).cloned().collect();
                        evidence.scenes.push(Scene {
                            started: version.started,
                            finished: version.clock,
                            written: version.written.clone(),
                            events: Vec::new(),
                            carriers: vec![(chat, *message)],
                            origin: Origin { chat, message: *message },
                        });
                        let witness = Witness::Scene(evidence.scenes.len() - 1);
                        let content = Content::Whole(entries.into());
                        evidence.sights.push(Sight { time: version.clock, witness, content });
                    }
                }
            }
        }
    }

    /// Adds entries of related books that may be events of which this one has nothing left.
    fn add_events(&self, evidence: &mut BookEvidence) -> Result<(), PathError> {
        let lacking: Vec<(usize, String)> =
            lacking_events(evidence).map(|(scene, name)| (scene, name.to_owned())).collect();
        let mut stems: Vec<&str> = Vec::new();
        for (scene, _) in &lacking {
            // A relative may have the book by another name.
            let carriers = evidence.scenes[*scene].carriers.iter().flat_map(|(chat, _)| self.family(*chat));
            stems.extend(carriers.filter_map(|chat| self.chats[*chat].book_stem()));
        }
        stems.sort_unstable();
        stems.dedup();
        for stem in stems.into_iter().filter(|stem| *self.known_as(stem) != *evidence.book) {
            let Some(book) = self.book(stem)? else { continue };
            let Ok(parsed) = book.parse() else { continue };
            let named = |title: &str| lacking.iter().any(|(_, name)| is_titled(title, name));
            let entries = parsed.entries().iter().filter(|entry| named(&entry.comment()));
            evidence.elsewhere.extend(entries.map(|entry| entry.image()));
        }
        Ok(())
    }
}

/// Who writes into a book. What scenes have kept of it tells only if nothing else does: they know one extension.
fn keepers(evidence: &BookEvidence, is_there: bool) -> Keepers {
    let seen = |sight: &&Sight| !is_there || !matches!(sight.witness, Witness::Scene(_));
    Keepers::new(|adapter| {
        evidence.sights.iter().filter(seen).any(|sight| match &sight.content {
            Content::Whole(entries) => adapter.kept(entries),
            Content::Changed { new, .. } => new.iter().any(|(_, e)| adapter.wrote(&e.comment, e.raw())),
        })
    })
}

/// Events of scenes that no sight of the book shows.
fn lacking_events(evidence: &BookEvidence) -> impl Iterator<Item = (usize, &str)> {
    let shown = |name: &str| {
        evidence.sights.iter().any(|sight| match &sight.content {
            Content::Whole(entries) => entries.iter().any(|entry| is_titled(&entry.comment, name)),
            Content::Changed { new, .. } => new.iter().any(|(_, entry)| is_titled(&entry.comment, name)),
        })
    };
    let events = evidence.scenes.iter().enumerate();
    let events = events.flat_map(|(n, scene)| scene.events.iter().map(move |(name, _)| (n, name.as_str())));
    events.filter(move |(_, name)| !shown(name))
}

fn is_titled(title: &str, name: &str) -> bool {
    title.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('-'))
}

/// A vault as those see it who ask who wrote what.
pub(crate) struct VaultCast<'a>(pub(crate) &'a Library);

impl Cast for VaultCast<'_> {
    fn head(&self, chat: ChatIx) -> usize {
        self.0.chats[chat].head()
    }

    fn head_at(&self, chat: ChatIx, time: i64) -> Option<usize> {
        self.0.head_at(chat, time)
    }

    fn played(&self, chat: ChatIx, after: i64, until: i64) -> bool {
        let own = self.0.chats[chat].lineage.fork_message.map_or(0, |fork| fork + 1);
        // What a fork has from its parent was not played in it, whenever it was sent.
        let next = self.0.head_at(chat, after).map_or(own, |head| own.max(head + 1));
        self.0.next_sent(chat, next).is_some_and(|sent| after < sent && sent <= until)
    }

    fn sent_between(&self, chats: &[ChatIx], after: i64, until: i64) -> Vec<(i64, ChatIx, usize)> {
        let mut found = Vec::new();
        for chat in chats.iter().copied() {
            let here = &self.0.chats[chat];
            let own = here.lineage.fork_message.map_or(0, |fork| fork + 1);
            let from = self.0.head_at(chat, after).map_or(own, |head| own.max(head + 1));
            let rows = here.transcript.rows_from(from).zip(from..).map(|(row, n)| (row.sent, n));
            let sent = rows.filter_map(|(sent, n)| Some((sent?, n)));
            let sent = sent.take_while(|(sent, _)| *sent <= until).filter(|(sent, _)| *sent > after);
            found.extend(sent.map(|(sent, n)| (sent, chat, n)));
        }
        found.sort_unstable();
        found
    }

    fn noted(&self, chat: ChatIx, message: usize, book: &str) -> Option<Log> {
        let line = self.0.message_line(chat, message).ok()??;
        let mut noted = Message::parse(&line).ok().map(adapter::noted)?.into_iter();
        let noted = noted.find(|noted| self.0.known_as(&book_stem(&noted.book)) == book)?;
        // Another answer was noted anew, when there had been one already.
        let next = self.0.message_line(chat, message + 1).ok()?;
        let swiped =
            next.is_some_and(|line| Message::parse(&line).is_ok_and(|next| next.swipes().count() > 1));
        Some(Log {
            time: self.0.sent(chat, message)?,
            until: if swiped { None } else { self.0.sent(chat, message + 1) },
            chat,
            head: if swiped { message + 1 } else { message.checked_sub(1)? },
            entries: noted.entries,
            remembered: noted.remembered,
            told: Vec::new(),
        })
    }

    fn has_from(&self, chat: ChatIx, above: ChatIx, message: usize) -> bool {
        self.0.line_above(chat).iter().any(|other| other.chat == above && message <= other.limit)
    }

    fn related(&self, a: ChatIx, b: ChatIx) -> bool {
        let root = |chat: ChatIx| self.0.ancestors(chat).last().unwrap_or(chat);
        root(a) == root(b)
    }

    fn lost_place(&self, origin: Origin, chat: ChatIx) -> Option<usize> {
        self.0.lost_place(origin, chat)
    }

    fn place_of(&self, mark: &adapter::Mark, owner: Option<ChatIx>, users: &[ChatIx]) -> Option<Origin> {
        let mut owner = owner?;
        // A mark that names no chat is the owner's. If the owner has not got that far, it is the one user's who has; of several nobody
        // knows which.
        if mark.chat.is_none() && mark.message > self.head(owner) {
            let mut able = users.iter().copied().filter(|user| mark.message <= self.head(*user));
            owner = able.next().filter(|_| able.next().is_none()).unwrap_or(owner);
        }
        let here = &self.0.chats[owner];
        let name = mark.chat.as_deref().map(chat_stem);
        let found = name.as_deref().and_then(|name| self.0.meant(here.story, name, users));
        if !mark.sources.is_empty() {
            let origins: Option<Vec<Origin>> =
                mark.sources.iter().map(|source| self.place_of(source, Some(owner), users)).collect();
            let origins = origins?;
            let has_all = |chat: ChatIx| origins.iter().all(|origin| self.0.has_on_line(chat, *origin));
            if !std::iter::once(owner).chain(users.iter().copied()).any(has_all) {
                return None;
            }
        }
        // What a parent that is gone had up to where it was forked is what its forks have; beyond, it is nobody's.
        if let Some(name) = name.as_deref().filter(|_| found.is_none()) {
            let forks = self.0.forks_of_lost(here.story, name);
            let having = || forks.iter().filter(|(_, last)| mark.message <= *last).map(|(chat, _)| *chat);
            if !forks.is_empty() {
                owner = having().find(|chat| *chat == owner).or_else(|| having().next())?;
            }
        }
        // Under a name that is not known it is the owner's own, under whatever name that had then.
        let origin = Origin { chat: found.unwrap_or(owner), message: mark.message };
        if !mark.by_then {
            return Some(origin);
        }
        // What was there before a fork was there in the chat above. Of several who have got so far, each on a line of its own, nobody
        // knows whose text another one replaced.
        let first = self.0.first_place(origin);
        let able = users.iter().copied().filter(|user| mark.message <= self.head(*user));
        let mut lines = able.map(|chat| self.0.first_place(Origin { chat, ..origin }));
        lines.all(|line| line == first).then_some(first)
    }
}
