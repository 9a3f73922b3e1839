//! [`GonePlayer`]: a chat that used a book, and that is gone. What was done in it after everybody who came from it had left it is nobody's.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use forklore_core::format::chat::Header;
use forklore_core::format::names::chat_stem;
use forklore_fs::VaultPath;
use forklore_json::Raw;

use super::timeline::Timeline;
use crate::{Chat, Library};

/// The chats that are gone and that history has seen, each with the first observation of the last one who came from it, directly or over
/// others that are gone: nothing if nobody did.
#[derive(Default)]
pub(crate) struct Gone(HashMap<VaultPath, Option<usize>>);

/// A chat that is gone, and when it was seen.
pub(super) struct GonePlayer {
    /// Its observations
    seen: Vec<usize>,
    /// The observation by which everybody who came from it had left it
    left: Option<usize>,
}

impl GonePlayer {
    /// The last time that it was saved by the look that an observation belongs to, and whether it was new then.
    pub(super) fn last(&self, i: usize, together: &dyn Fn(usize) -> bool) -> Option<(usize, bool)> {
        let last = self.seen.iter().rposition(|j| *j < i || together(*j))?;
        Some((self.seen[last], last == 0))
    }

    /// Whether it was new in the observation before this one, in which SillyTavern saves the link to it.
    pub(super) fn is_linked(&self, save: usize) -> bool {
        self.seen.first().is_some_and(|first| first + 1 == save)
    }

    /// Whether what was done in it by then is nobody's.
    pub(super) fn is_nobodys(&self, i: usize) -> bool {
        self.left.is_none_or(|left| left < i)
    }
}

impl Timeline {
    /// The chats that were bound to a book and are gone.
    pub(super) fn gone_players(&self, book: &str, library: &Library) -> Vec<GonePlayer> {
        let gone = library.chats_gone(self);
        let player = |file: &VaultPath| {
            let left = *gone.0.get(file)?;
            let seen = self.track(file).iter().copied().filter(|i| self.seen[*i].chat().is_some());
            Some(GonePlayer { seen: seen.collect(), left })
        };
        self.bound_to(book).filter_map(player).collect()
    }

    /// The chat that one names as its parent, as it was seen last.
    fn parent_of(&self, file: &VaultPath) -> Option<VaultPath> {
        let last = self.track(file).iter().rev().find_map(|i| self.seen[*i].chat())?;
        let line = self.store().get(&last.header).ok()?;
        let name = Header::new(Raw::parse(line.trim_ascii()).ok()?).main_chat()?;
        file.parent().join(&format!("{}.jsonl", chat_stem(&name))).ok()
    }
}

impl Library {
    /// Whether history has seen a chat of this name beside another one that is gone, and that nobody comes from.
    pub(crate) fn is_gone_for_good(&self, beside: &Chat, name: &str) -> bool {
        let Some(history) = self.history().ok().flatten() else { return false };
        let file = beside.path.parent().join(&format!("{name}.jsonl"));
        file.is_ok_and(|file| self.chats_gone(history).0.get(&file).is_some_and(Option::is_none))
    }

    fn chats_gone(&self, history: &Timeline) -> &Gone {
        self.memo.slot::<OnceLock<Gone>>().get_or_init(|| {
            let there: HashSet<&VaultPath> = self.chats.iter().map(|chat| &chat.path).collect();
            let is_gone = |file: &&VaultPath| !there.contains(*file) && !self.is_in_closed(file);
            let files: Vec<&VaultPath> = history.chats().filter(is_gone).collect();
            let mut gone = Gone(files.iter().map(|file| ((*file).clone(), None)).collect());
            let parents: HashMap<&VaultPath, VaultPath> =
                files.iter().filter_map(|file| Some((*file, history.parent_of(file)?))).collect();
            let first = |file: &VaultPath| history.life(file, usize::MAX).first().copied();
            for chat in &self.chats {
                let parent = chat.main_chat().map(|name| format!("{}.jsonl", chat_stem(name)));
                let mut above = parent.and_then(|name| chat.path.parent().join(&name).ok());
                let mut left = first(&chat.path).unwrap_or(usize::MAX);
                let mut passed: HashSet<VaultPath> = HashSet::new();
                while let Some(file) = above.take().filter(|file| passed.insert(file.clone())) {
                    let Some(last) = gone.0.get_mut(&file) else { break };
                    *last = (*last).max(Some(left));
                    left = history.track(&file).first().copied().unwrap_or(left);
                    above = parents.get(&file).cloned();
                }
            }
            gone
        })
    }
}
