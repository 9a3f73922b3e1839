//! [`Timeline::scenes_gone`]: scenes whose last message was deleted since history saw it.

use forklore_core::adapter::{Scene, recap};
use forklore_core::story::Shift;
use forklore_fs::VaultPath;

use super::HistoryError;
use super::document::scan_stored;
use super::observation::ChatSeen;
use super::stood::number_now;
use super::timeline::Timeline;

impl Timeline {
    /// The scenes of a chat whose last message was deleted since it was seen, each with the message that what belonged to it belongs to now:
    /// the one before. What they wrote into the lorebook is still there, so it must be somewhere on the line.
    pub fn scenes_gone(&self, file: &VaultPath, group: bool) -> Result<Vec<(usize, Scene)>, HistoryError> {
        let track = self.life(file, usize::MAX);
        let shift = |i: usize| self.seen[i].chat().and_then(|chat| chat.shift.as_ref());
        let shifts: Vec<(usize, &Shift)> = track.iter().filter_map(|i| Some((*i, shift(*i)?))).collect();
        let mut gone = Vec::new();
        for (before, after) in track.iter().zip(track.iter().skip(1)) {
            let (Some(was), Some(is)) = (self.seen[*before].chat(), self.seen[*after].chat()) else {
                continue;
            };
            let Some(shift) = &is.shift else { continue };
            // Another story stands in the file since: scenes of the one before are nothing to it.
            if shift.apply(0).is_none() {
                gone.clear();
                continue;
            }
            let is_gone = |message: usize| shift.follow(message).is_none();
            if !(0..was.messages).any(is_gone) || !self.has_lost_scenes(was, is, &is_gone)? {
                continue;
            }
            let Some(content) = self.content(&self.seen[*before]) else { continue };
            let scenes = scan_stored(self.store(), &content, group)?.facts.scenes;
            for (message, scene) in scenes.into_iter().filter(|(message, _)| is_gone(*message)) {
                let Some(there) = shift.apply(message) else { continue };
                gone.push((number_now(&shifts, *after, there), scene));
            }
        }
        Ok(gone)
    }

    /// Whether a scene was among the messages that were deleted, as the running recap tells: extensions take its versions out then. Headers
    /// are small; the whole chat of then is read only if there was one.
    fn has_lost_scenes(
        &self,
        was: &ChatSeen,
        is: &ChatSeen,
        is_gone: &dyn Fn(usize) -> bool,
    ) -> Result<bool, HistoryError> {
        let before = self.in_header(&was.header, &recap::running_outline)?;
        let Some(before) = before.filter(|before| !before.versions.is_empty()) else { return Ok(false) };
        let after = self.in_header(&is.header, &recap::running_outline)?;
        let kept = |clock: i64| after.iter().flat_map(|after| &after.versions).any(|v| v.clock == clock);
        Ok(before.versions.iter().any(|version| is_gone(version.scene) || !kept(version.clock)))
    }
}
