//! The recaps of a chat: its running recap with what it has lost ([`KnownRecap`]), and the combined one at a message.
//!
//! An extension may wipe a running recap (one does when SillyTavern renames a chat) and begin it anew, with version 0. The scenes still
//! say that they were merged into one. Versions of such scenes are looked for in history, in SillyTavern's backups and with
//! relatives, and told from those that are there by scene and clock. What is not missing is not looked for: a version that somebody
//! has deleted beside another one of its scene stays deleted.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use forklore_core::adapter::recap::{self, CombinedRecap, Projection, RecapVersion, RunningRecap};
use forklore_core::adapter::{self, Adapter, Scene};
use forklore_core::format::revision::Revision;
use forklore_fs::PathError;
use forklore_json::Raw;

use crate::lineage::PutBehind;
use crate::{ChatIx, Library, history_error};

/// The running recap of a chat with the versions that it has lost.
pub struct KnownRecap {
    /// Who keeps it
    pub keeper: &'static dyn Adapter,
    /// All versions in the order of the clock, under numbers that the extension can tell apart
    pub running: RunningRecap,
    /// The message of the line at which the scene of each ends
    pub places: Vec<Option<usize>>,
    /// How many scenes each tells of, if it says
    pub scenes: Vec<Option<i64>>,
    /// Who still had those that were lost, in words; nothing if none was, or nobody has it
    pub found: Option<String>,
    /// The versions as they are stored
    stored: Vec<Vec<u8>>,
}

impl KnownRecap {
    /// What of it belongs to messages 0..=`at`.
    pub fn project(&self, at: usize) -> Projection {
        self.running.project_placed(at, &self.places)
    }

    /// A version that was lost or stands beside one, as it is stored.
    pub fn stored_version(&self, number: i64) -> Option<&[u8]> {
        let place = self.running.versions.iter().position(|version| version.version == number)?;
        self.stored.get(place).map(Vec::as_slice)
    }

    /// What becomes the header of a chat of this name, which is `metadata` now, for it to have these versions; and the others, to be
    /// archived.
    pub fn revisions(
        &self,
        metadata: Raw<'_>,
        projection: &Projection,
        owner: &str,
    ) -> (Vec<Revision>, Vec<Vec<u8>>) {
        if self.found.is_none() {
            return self.keeper.project_running(metadata, projection, owner);
        }
        let pick = |places: &[usize]| places.iter().map(|i| self.stored[*i].clone()).collect::<Vec<_>>();
        let (kept, mut dropped) = (pick(&projection.kept), pick(&projection.dropped));
        // What nobody can choose, because it has no number, is kept aside.
        let own = self.keeper.versions(metadata).len();
        let none = Projection { current: None, kept: Vec::new(), dropped: (0..own).collect() };
        let (_, all) = self.keeper.project_running(metadata, &none, owner);
        dropped.extend(all.into_iter().skip(own));
        let current = projection.current.map_or(0, |place| self.running.versions[place].version);
        (self.keeper.put_running(metadata, &kept, current, owner), dropped)
    }
}

/// What was found out.
#[derive(Default)]
struct KnownRecaps(Mutex<Recaps>);

/// By chat, and by who was asked.
type Recaps = HashMap<(ChatIx, Who), Option<Arc<KnownRecap>>>;

/// Who is asked for what a chat has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    /// Those who saw the chat itself: history and SillyTavern's backups
    Own,
    /// Relatives, too: they may have gone on with it
    Relatives,
}

/// The combined recaps that chats had.
#[derive(Default)]
struct CombinedLately(Mutex<HashMap<ChatIx, Arc<Vec<CombinedRecap>>>>);

/// A version of a running recap, from a header of the chat or from elsewhere.
struct Found {
    version: RecapVersion,
    stored: Vec<u8>,
    place: Option<usize>,
    scenes: Option<i64>,
    /// Whether the header of the chat lacks it
    lost: bool,
    /// Whether it was the one in use where it was found
    in_use: bool,
}

impl Library {
    /// The scenes of a chat that say they were merged into its running recap, while it has no version for them.
    pub fn untold_scenes(&self, c: ChatIx) -> Vec<usize> {
        self.with_ghosts().find_untold(c)
    }

    fn find_untold(&self, c: ChatIx) -> Vec<usize> {
        let chat = &self.chats[c];
        let combined = chat.facts.scenes.iter().filter(|(_, scene)| scene.is_real() && scene.is_combined());
        // What was played elsewhere was merged into that line's recap, not into this one.
        let put_behind = self.put_behind(c);
        let elsewhere = |message: usize, scene: &Scene| {
            let told = |put: &PutBehind| {
                scene.versions.iter().all(|version| put.tells_elsewhere(message, version.started))
            };
            put_behind.iter().any(told)
        };
        let mut untold: Vec<usize> = combined
            .filter(|(message, scene)| !elsewhere(*message, scene))
            .map(|(message, _)| *message)
            .collect();
        // Only a chat that has a recap can have lost some of it.
        let Some(running) = chat.running_outline().filter(|_| !untold.is_empty()) else { return Vec::new() };
        let told: BTreeSet<usize> =
            running.versions.iter().filter_map(|version| self.scene_of(c, version)).collect();
        untold.retain(|message| !told.contains(message));
        untold
    }

    /// The running recap of a chat with what it has lost, as far as it was seen there, if it has one.
    pub fn running_recap(&self, c: ChatIx) -> Result<Option<Arc<KnownRecap>>, PathError> {
        self.with_ghosts().recap_of(c, Who::Own)
    }

    /// The same with what only relatives have kept of it: what healing brings back.
    pub fn running_recap_to_heal(&self, c: ChatIx) -> Result<Option<Arc<KnownRecap>>, PathError> {
        self.with_ghosts().recap_of(c, Who::Relatives)
    }

    fn recap_of(&self, c: ChatIx, who: Who) -> Result<Option<Arc<KnownRecap>>, PathError> {
        let slot = &self.memo.slot::<KnownRecaps>().0;
        if let Some(known) = slot.lock().unwrap_or_else(PoisonError::into_inner).get(&(c, who)) {
            return Ok(known.clone());
        }
        let found = self.find_running_recap(c, who)?.map(Arc::new);
        slot.lock().unwrap_or_else(PoisonError::into_inner).insert((c, who), found.clone());
        Ok(found)
    }

    fn find_running_recap(&self, c: ChatIx, who: Who) -> Result<Option<KnownRecap>, PathError> {
        let chat = &self.chats[c];
        let metadata = chat.header().metadata();
        let (Some(running), Some(keeper)) = (chat.running(), recap::keeper(metadata)) else {
            return Ok(None);
        };
        let current = running.current_place();
        let own = running.versions.iter().zip(keeper.versions(metadata)).enumerate();
        let own: Vec<Found> = own
            .map(|(i, (version, stored))| Found {
                place: self.scene_of(c, version),
                version: version.clone(),
                stored: stored.raw.bytes().to_vec(),
                scenes: stored.scenes,
                lost: false,
                in_use: current == Some(i),
            })
            .collect();
        let (lost, found) = self.lost_versions(c, keeper, who)?;
        let known = |found: Option<String>, all: Vec<Found>, current: Option<i64>| {
            let (places, scenes) = all.iter().map(|found| (found.place, found.scenes)).unzip();
            let (versions, stored) = all.into_iter().map(|found| (found.version, found.stored)).unzip();
            let running = RunningRecap { chat_id: running.chat_id.clone(), current, versions };
            KnownRecap { keeper, running, places, scenes, found, stored }
        };
        if lost.is_empty() {
            return Ok(Some(known(None, own, running.current)));
        }
        let begun_anew = !own.is_empty();
        let all = renumbered(keeper, joined(own, lost));
        // The one in use stays in use; of a recap that is empty, it is the one that was.
        let in_use = all.iter().find(|found| found.in_use && found.lost != begun_anew);
        let current = in_use.map(|found| found.version.version).or(running.current);
        Ok(Some(known(Some(found.join(", and ")), all, current)))
    }

    /// The versions that a chat's running recap has lost, as far as anybody still has them, and who that is.
    fn lost_versions(
        &self,
        c: ChatIx,
        keeper: &'static dyn Adapter,
        who: Who,
    ) -> Result<(Vec<Found>, Vec<String>), PathError> {
        let open: BTreeSet<usize> = self.untold_scenes(c).into_iter().collect();
        let all = self.chats[c].running_outline().is_none_or(|running| running.versions.is_empty());
        let mut search = Search { library: self, c, keeper, open, all, lost: Vec::new(), from: Vec::new() };
        if let Some(history) = self.history()?.filter(|_| !search.is_done()) {
            let mut saw = None;
            let mut see = |message, metadata: Raw<'_>| {
                if search.see(metadata) {
                    saw.get_or_insert(message);
                }
                search.flow()
            };
            history.headers_back(self, c, &mut see).map_err(history_error)?;
            search.from.extend(saw.map(|message| format!("as history saw it at message {message}")));
        }
        if !search.is_done() {
            let mut saw = None;
            let mut see = |message, metadata: Raw<'_>| {
                if search.see(metadata) {
                    saw.get_or_insert(message);
                }
                search.flow()
            };
            self.backup_headers_back(c, &mut see);
            search.from.extend(saw.map(|message| format!("from a backup of message {message}")));
        }
        if who == Who::Relatives && !search.is_done() {
            let versions = |other: ChatIx| {
                self.chats[other].running_outline().map_or(0, |running| running.versions.len())
            };
            let others = self.family(c).iter().copied().filter(|other| *other != c && versions(*other) > 0);
            let mut others: Vec<ChatIx> = others.collect();
            others.sort_by_key(|other| std::cmp::Reverse(versions(*other)));
            for other in others {
                if search.see(self.chats[other].header().metadata()) {
                    search.from.push(format!("from \"{}\"", self.chats[other].name()));
                }
                if search.is_done() {
                    break;
                }
            }
        }
        Ok((search.lost, search.from))
    }

    /// The combined recap of a chat at a message: its own if it fits, else the last one that does in history or SillyTavern's backups.
    /// With the bytes of the value, to be put elsewhere.
    pub fn combined_at(&self, c: ChatIx, at: usize) -> Result<Option<(CombinedRecap, Vec<u8>)>, PathError> {
        self.with_ghosts().find_combined(c, at)
    }

    fn find_combined(&self, c: ChatIx, at: usize) -> Result<Option<(CombinedRecap, Vec<u8>)>, PathError> {
        let metadata = self.chats[c].header().metadata();
        let keeper = adapter::ALL.into_iter().find(|adapter| adapter.combined(metadata).is_some());
        let Some(keeper) = keeper else { return Ok(None) };
        let others = self.combined_of_others(c)?;
        let read = |metadata: Raw<'_>| {
            let recap = keeper.combined(metadata).filter(|recap| recap.fits(at))?;
            let own = !others.iter().any(|other| other.is(&recap));
            Some((recap, keeper.stored_combined(metadata)?.bytes().to_vec())).filter(|_| own)
        };
        if let Some(own) = read(metadata) {
            return Ok(Some(own));
        }
        match self.header_then(c, at, &read)? {
            Some((_, recap)) => Ok(Some(recap)),
            None => Ok(self.backup_header(c, at, &read).map(|(_, recap)| recap)),
        }
    }

    /// The chat whose later messages the combined recap of a fork tells of, if it is not the fork's own: it came with the header.
    /// With the last message that both share.
    pub fn combined_from(&self, c: ChatIx) -> Result<Option<(ChatIx, usize)>, PathError> {
        let Some(recap) = recap::combined(self.chats[c].header().metadata()) else { return Ok(None) };
        let others = self.with_ghosts().combined_of_others(c)?;
        Ok(others.into_iter().find(|other| other.is(&recap)).map(|other| (other.chat, other.shared)))
    }

    /// The combined recaps that the chats above a fork have, or had lately, of messages that the fork does not share with them.
    fn combined_of_others(&self, c: ChatIx) -> Result<Vec<Anothers>, PathError> {
        let here = &self.chats[c];
        let mut found: Vec<Anothers> = Vec::new();
        // Most chats have none, and then there is nothing that could be another's.
        if !here.lineage.is_fork() || recap::combined(here.header().metadata()).is_none() {
            return Ok(found);
        }
        let (mut below, mut shared) = (c, usize::MAX);
        for chat in self.ancestors(c) {
            // Where nobody knows what they share, nobody knows what is not.
            let Some(fork) = self.chats[below].lineage.shared() else { break };
            shared = fork.min(shared);
            below = chat;
            let there = &self.chats[chat];
            let now = recap::combined(there.header().metadata());
            let is_theirs = |recap: &CombinedRecap| {
                let told = usize::try_from(recap.message_count).unwrap_or(0);
                let has = now.as_ref() == Some(recap) && there.transcript.len() >= told;
                // It may have been made when that chat still had the messages that the fork has: that is so if it is younger than they are.
                let sent = told.checked_sub(1).and_then(|last| self.sent(c, last));
                has || (recap.clock > 0 && sent.is_some_and(|sent| recap.clock < sent))
            };
            let earlier = self.combined_lately(chat)?;
            let all = now.iter().chain(&*earlier).filter(|recap| !recap.fits(shared) && is_theirs(recap));
            found.extend(all.map(|recap| Anothers { chat, shared, recap: recap.clone() }));
        }
        Ok(found)
    }

    /// The combined recaps that history lately had of a chat.
    fn combined_lately(&self, chat: ChatIx) -> Result<Arc<Vec<CombinedRecap>>, PathError> {
        let slot = &self.memo.slot::<CombinedLately>().0;
        if let Some(known) = slot.lock().unwrap_or_else(PoisonError::into_inner).get(&chat) {
            return Ok(known.clone());
        }
        let all: RefCell<Vec<CombinedRecap>> = RefCell::default();
        let note = |metadata: Raw<'_>| {
            let mut all = all.borrow_mut();
            let new = recap::combined(metadata).filter(|recap| !all.contains(recap));
            all.extend(new);
            None::<()>
        };
        if let Some(history) = self.history()? {
            history.lately(&self.chats[chat].path, &note).map_err(history_error)?;
        }
        let all = Arc::new(all.into_inner());
        slot.lock().unwrap_or_else(PoisonError::into_inner).insert(chat, all.clone());
        Ok(all)
    }
}

/// Looks for versions of scenes that the recap of a chat has lost.
struct Search<'a> {
    library: &'a Library,
    c: ChatIx,
    keeper: &'static dyn Adapter,
    /// Scenes of which nothing was found yet
    open: BTreeSet<usize>,
    /// Whether the chat has nothing left: then other scenes that it is not said of were lost with these
    all: bool,
    lost: Vec<Found>,
    /// Who had them, in words
    from: Vec<String>,
}

impl Search<'_> {
    /// Takes what a header has of scenes that are still open. Whoever has one version of a scene has all of them.
    fn see(&mut self, metadata: Raw<'_>) -> bool {
        let Some(running) = self.keeper.running(metadata) else { return false };
        let current = running.current_place();
        let (before, open) = (self.lost.len(), self.open.clone());
        let is_first = before == 0;
        let versions = running.versions.into_iter().zip(self.keeper.versions(metadata));
        for (i, (version, stored)) in versions.enumerate() {
            let place = if version.is_whole() { self.library.scene_of(self.c, &version) } else { None };
            let known = |message| self.lost[..before].iter().any(|found| found.place == Some(message));
            let is_wanted = |message: &usize| open.contains(message) || (self.all && !known(*message));
            let Some(message) = place.filter(is_wanted) else { continue };
            self.open.remove(&message);
            self.lost.push(Found {
                version,
                stored: stored.raw.bytes().to_vec(),
                place,
                scenes: stored.scenes,
                lost: true,
                in_use: is_first && current == Some(i),
            });
        }
        self.lost.len() > before
    }

    fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A combined recap that another chat has.
struct Anothers {
    chat: ChatIx,
    /// The last message that the fork shares with it
    shared: usize,
    recap: CombinedRecap,
}

impl Anothers {
    fn is(&self, recap: &CombinedRecap) -> bool {
        recap.is_copy_of(&self.recap) && recap.message_count == self.recap.message_count
    }
}

/// What was lost joins what is there, in the order in which it was made: extensions go through them from the end.
fn joined(own: Vec<Found>, lost: Vec<Found>) -> Vec<Found> {
    let mut all = own;
    let mut lost = lost;
    lost.sort_by_key(|found| found.version.clock);
    for found in lost {
        let later = |other: &Found| other.version.clock > found.version.clock;
        let place = all.iter().position(later).unwrap_or(all.len());
        all.insert(place, found);
    }
    all
}

/// Gives them numbers that an extension can tell apart: the older keep theirs. What was made after one that was lost had been given a
/// later number than that, had nothing been lost; and an extension that deletes the version in use goes on with the highest number.
fn renumbered(keeper: &'static dyn Adapter, mut all: Vec<Found>) -> Vec<Found> {
    let mut given: Vec<i64> = Vec::new();
    let mut after_lost = false;
    for found in &mut all {
        let number = found.version.version;
        let top = given.iter().copied().max();
        let behind = after_lost && !found.lost && top.is_some_and(|top| number < top);
        if (given.contains(&number) || behind)
            && let Some(next) = top.and_then(|top| top.checked_add(1))
            && let Some(moved) = keeper.move_version(Raw::trust(&found.stored), next, None)
        {
            (found.version.version, found.stored) = (next, moved);
        }
        given.push(found.version.version);
        after_lost |= found.lost;
    }
    all
}
