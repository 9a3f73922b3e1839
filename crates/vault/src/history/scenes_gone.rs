//! [`Timeline::scenes_gone`]: scenes whose last message was deleted since history saw it.

use forklore_core::adapter::Scene;
use forklore_core::story::Shift;
use forklore_fs::VaultPath;

use super::HistoryError;
use super::document::scan_stored;
use super::players::number_now;
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
            let (Some(shift), Some(was)) = (shift(*after), self.seen[*before].chat()) else { continue };
            let is_gone = |message: usize| shift.follow(message).is_none();
            if !(0..was.messages).any(is_gone) {
                continue;
            }
            let Some(content) = self.content(&self.seen[*before]) else { continue };
            let scenes = scan_stored(self.store(), &content, group)?.facts.scenes;
            for (message, scene) in scenes.into_iter().filter(|(message, _)| is_gone(*message)) {
                let there = shift.apply(message).unwrap_or_default();
                gone.push((number_now(&shifts, *after, there), scene));
            }
        }
        Ok(gone)
    }
}
