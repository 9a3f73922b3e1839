//! Recaps: a version of the running one, and the combined one.

use forklore_core::adapter::recap;
use forklore_core::format::revision::apply;
use forklore_json::Raw;

use super::{PickError, PickPlan, Picking, shown};
use crate::history::Did;
use crate::merge::learn::scene_entry;

impl Picking<'_> {
    pub(super) fn recap(mut self, number: i64) -> Result<PickPlan, PickError> {
        let (theirs, version) = self.source.version(number)?;
        let chat = self.library.chat(self.c);
        if self.along().keeps() {
            return self.told_as_entry(number, Raw::trust(&version).get("content").unwrap_or(Raw::NULL));
        }
        let metadata = chat.header().metadata();
        let keeper = recap::keeper(metadata).unwrap_or(theirs);
        let known = keeper.versions(metadata);
        let mut versions: Vec<Vec<u8>> = known.iter().map(|one| one.raw.bytes().to_vec()).collect();
        let mut current = keeper.running(metadata).and_then(|running| running.current);
        let text = Raw::trust(&version).get("content").unwrap_or(Raw::NULL);
        let in_use = known.iter().find(|one| Some(one.number) == current);
        let before = in_use.and_then(|one| one.content);
        let same = known.iter().find(|one| one.content.is_some_and(|ours| ours.says_the_same(text)));
        match same {
            Some(same) if current == Some(same.number) => {
                return Err(PickError::Same("The running recap".to_owned()));
            }
            Some(same) => current = Some(same.number),
            None => {
                let taken = known.iter().any(|one| one.number == number);
                let next = known.iter().map(|one| one.number).max().unwrap_or(-1).saturating_add(1);
                let number = if taken { next } else { number };
                let moved = keeper.move_version(Raw::trust(&version), number, self.last_scene());
                let missing =
                    || PickError::NoSuchVersion { chat: self.source.there().name().to_owned(), number };
                versions.push(moved.ok_or_else(missing)?);
                current = Some(number);
            }
        }
        let current = current.unwrap_or_default();
        self.report.what = "recap";
        self.report.name = current.to_string();
        self.report.did = if same.is_some() { Did::Changed } else { Did::Added };
        (self.report.before, self.report.after) = (before.map(shown), shown(text));
        let revisions = keeper.put_running(metadata, &versions, current, chat.name());
        self.header(revisions)
    }

    /// A version for a chat whose running recap is computed from its messages, and would be so again: as an entry that is always active.
    fn told_as_entry(mut self, number: i64, text: Raw<'_>) -> Result<PickPlan, PickError> {
        let title = format!("From {}: running recap {number}", self.source.there().name());
        let mut images = self.live()?.map(|live| live.images()).unwrap_or_default();
        let place = images.iter().position(|entry| *entry.comment == *title);
        let free = (0..).find(|uid| !images.iter().any(|entry| entry.uid == Some(*uid)));
        let uid = place.and_then(|place| images[place].uid).or(free).unwrap_or(0);
        let entry = scene_entry(uid, &title, &shown(text));
        self.report.after = shown(text);
        self.report.did = if place.is_some() { Did::Changed } else { Did::Added };
        self.report.before = place.map(|place| images[place].content().into_owned());
        if self.report.before.as_ref() == Some(&self.report.after) {
            return Err(PickError::Same("The running recap".to_owned()));
        }
        match place {
            Some(place) => images[place] = entry,
            None => images.push(entry),
        }
        (self.report.name, self.report.uid) = (title, Some(uid));
        self.bind(&images, Vec::new(), None, None)
    }

    /// The scene that a version goes up to, if that of the other chat is none of this one's: the last one that is recapped.
    fn last_scene(&self) -> Option<usize> {
        let chat = self.library.chat(self.c);
        let mut recapped = chat.facts().scenes.iter().filter(|(_, scene)| scene.recapped);
        recapped.next_back().map(|(message, _)| *message).filter(|_| !self.source.is(chat))
    }

    pub(super) fn combined(mut self) -> Result<PickPlan, PickError> {
        let (keeper, stored) = self.source.combined()?;
        let chat = self.library.chat(self.c);
        let metadata = chat.header().metadata();
        let revisions = keeper.put_combined(metadata, Some(&stored), chat.name());
        let after = apply(Some(chat.header().raw()), &revisions).unwrap_or_default();
        let after = Raw::parse(&after).ok().and_then(|raw| raw.get("chat_metadata")).unwrap_or(Raw::NULL);
        let missing = || PickError::NoCombined(self.source.there().name().to_owned());
        let (now, then) = (keeper.combined(metadata), keeper.combined(after).ok_or_else(missing)?);
        if now.as_ref() == Some(&then) {
            return Err(PickError::Same("The combined recap".to_owned()));
        }
        if !then.fits(chat.head()) {
            let has = chat.transcript().len();
            return Err(PickError::TooFar { chat: chat.name().to_owned(), covers: then.message_count, has });
        }
        self.report.what = "combined_recap";
        self.report.did = if now.is_some() { Did::Changed } else { Did::Added };
        (self.report.before, self.report.after) = (now.map(|now| now.content), then.content);
        self.header(revisions)
    }
}
