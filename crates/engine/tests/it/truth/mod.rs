//! Truth, against a machine that plays stories and knows what they were (`forklore_testkit::play`): the state at every message of every
//! chat, for everything that the files tell.
//!
//! `FORKLORE_STORIES` sets how many stories each law is tried on, `FORKLORE_SEED` where they begin. `FORKLORE_SHOW=3` prints the first
//! three that fail, made as short as they get, also where a law is known not to hold everywhere yet. `FORKLORE_DUMP` names a new folder
//! for the vault of the first one, for looking into it with the program itself.

mod crossed;
mod exact;
mod live;
mod steady;
mod together;
mod told;
mod whole;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forklore_fs::{SimFs, Vfs};
use forklore_testkit::play::{Found, Keeper, Setting, Story, Truth};
use forklore_vault::history::{Watch, rescue};
use forklore_vault::state::at::Wanted;
use forklore_vault::{Library, NoProgress};

use crate::explain::explain;

/// The state at every message of a chat.
type States = BTreeMap<(usize, usize), Result<Vec<Found>, String>>;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Forklore looks at the vault, as `watch --once` does.
fn look(fs: &Arc<SimFs>, now: i64) {
    let library = library(fs);
    rescue(&library, now, &NoProgress).unwrap();
    let fs: Arc<dyn Vfs> = fs.clone();
    Watch::open(fs).unwrap().sweep(now, &NoProgress).unwrap();
}

fn library(fs: &Arc<SimFs>) -> Library {
    let fs: Arc<dyn Vfs> = fs.clone();
    Library::load(fs, &NoProgress).unwrap()
}

fn states(library: &Library, truth: &Truth) -> States {
    let mut found = States::new();
    for (c, _, address, messages) in truth.chats() {
        for at in 0..messages {
            found.insert((c, at), state(library, &address, at));
        }
    }
    found
}

/// The state at a message of a chat, or why there is none.
fn state(library: &Library, address: &str, at: usize) -> Result<Vec<Found>, String> {
    let chat = library.find_chat(address).map_err(|e| e.to_string())?;
    let book = library.book_at(chat, at, Wanted::default()).map_err(|e| e.to_string())?;
    let entry = |e: &forklore_core::state::StateEntry| Found {
        title: e.image.comment.to_string(),
        text: e.image.content().into_owned(),
        off: e.image.is_disabled(),
        undated: e.undated,
    };
    Ok(book.entries.iter().map(entry).collect())
}

/// A state that is not what it was.
#[derive(Debug, Clone)]
struct Wrong {
    chat: char,
    at: usize,
    missing: Vec<String>,
    extra: Vec<String>,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.chat, self.at)?;
        for (word, entries) in [("missing", &self.missing), ("extra", &self.extra)] {
            for entry in entries {
                write!(f, "\n    {word} {entry}")?;
            }
        }
        Ok(())
    }
}

/// Which entries a law is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// What the story tells
    Facts,
    /// The lists of it that Auto-Recap keeps
    Registries,
}

impl About {
    fn is(self, entry: &str) -> bool {
        entry.starts_with("_registry_") == (self == Self::Registries)
    }
}

/// Every state that is not what it was.
fn judge(truth: &Truth, states: &States, about: About) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (c, label, _, messages) in truth.chats() {
        for at in 0..messages {
            let expected = truth.at(c, at);
            let bad = match &states[&(c, at)] {
                Err(e) => Some((vec![e.clone()], Vec::new())),
                Ok(found) => expected.judge(found),
            };
            if let Some((mut missing, mut extra)) = bad {
                missing.retain(|entry| about.is(entry));
                extra.retain(|entry| about.is(entry));
                if missing.is_empty() && extra.is_empty() {
                    continue;
                }
                wrong.push(Wrong { chat: label, at, missing, extra });
            }
        }
    }
    wrong
}

/// Those of the second that are not among the first: what has become wrong.
fn worse(before: &[Wrong], after: Vec<Wrong>) -> Vec<Wrong> {
    let was = |w: &Wrong| before.iter().any(|b| b.chat == w.chat && b.at == w.at);
    after.into_iter().filter(|w| !was(w)).collect()
}

/// How a law fared.
#[derive(Debug, Default)]
struct Score {
    stories: usize,
    whole: usize,
    states: usize,
    wrong: usize,
    known: usize,
    free: usize,
}

/// Writes a vault to the disk.
#[allow(clippy::disallowed_methods, reason = "whoever looks into it has a disk")]
fn dump(fs: &SimFs, dir: &Path) {
    for (file, bytes) in whole::files(fs) {
        let file = dir.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
}

fn setting(keeper: Keeper, seed: u64, looks: bool) -> Setting {
    Setting {
        keeper,
        old_slugs: seed % 5 == 4,
        group: seed % 7 == 6 || seed % 7 == 3,
        others: seed % 3 == 2,
        // SillyTavern brings their first lines in order when it starts; so they are old ones that nobody plays.
        headerless: seed % 7 == 3 && !looks,
        both: keeper == Keeper::Recap && seed % 4 == 1,
        crossed: false,
    }
}

/// The states of the fixed stories that are not right today: exactly so many, so that whatever changes one of them is seen. To be
/// lowered, and emptied.
const WRONG: &[(&str, usize)] = &[("looked at, Memory, watched", 8)];

/// So many stories each law is tried on.
const STORIES: usize = 12;
/// So many of a thousand states must be right where other stories are tried.
const UNSEEN: usize = 970;

/// A law: what of a story is not as it should be.
type Law<'a> = &'a dyn Fn(&Story) -> (Truth, Vec<Wrong>);

/// Tries a law on many stories. In the fixed ones everything is right but for what [`WRONG`] says.
fn law(name: &str, kind: (Keeper, bool), wrong: Law<'_>) {
    law_in(name, kind, false, wrong);
}

/// The same, where all lines speak of the same things and people do what else they do, if they are `crossed`.
fn law_in(name: &str, (keeper, looks): (Keeper, bool), crossed: bool, wrong: Law<'_>) {
    let crosses = if crossed { ", crossed" } else { "" };
    let name = &format!("{name}, {keeper:?}{}{crosses}", if looks { ", watched" } else { "" });
    let stories = number("FORKLORE_STORIES", STORIES);
    let mut score = Score::default();
    let first = number("FORKLORE_SEED", 1) as u64;
    let show = number("FORKLORE_SHOW", 0);
    let mut failed: Vec<(u64, Story)> = Vec::new();
    for seed in (first..).take(stories) {
        let setting = Setting { crossed, ..setting(keeper, seed, looks) };
        let story = Story::random(seed, setting, 40, looks);
        let (truth, bad) = wrong(&story);
        score.stories += 1;
        score.whole += usize::from(bad.is_empty());
        for (c, _, _, messages) in truth.chats() {
            score.states += messages;
            for at in 0..messages {
                let (known, free) = truth.weight(c, at);
                score.known += known;
                score.free += free;
            }
        }
        score.wrong += bad.len();
        if !bad.is_empty() {
            failed.push((seed, story));
        }
    }
    // Where stories cross not everything is right yet.
    let is_fixed = !crossed && (first, stories) == (1, STORIES);
    let known = WRONG.iter().find(|(law, _)| law == name).map_or(0, |(_, wrong)| *wrong);
    let right = score.states - score.wrong;
    let low = if is_fixed { score.wrong > known } else { right * 1000 < UNSEEN * score.states };
    println!("{name}: {score:?}");
    for (seed, story) in failed.into_iter().take(if low { show.max(1) } else { show }) {
        let short = story.shrink(&mut |story| !wrong(story).1.is_empty());
        let (_, bad) = wrong(&short);
        println!("{name}: seed {seed} {short}  -> {}", bad[0]);
        // As the vault is when the story is told, whatever else the law does to it.
        let told = match name {
            _ if name.starts_with("live") => Some(live::watched(&short)),
            _ if name.starts_with("deleted") => steady::and_deleted(&short, false),
            _ if name.starts_with("met") => Some(steady::and_met(&short)),
            _ if name.starts_with("parent deleted") => steady::and_deleted(&short, true),
            _ => None,
        };
        let (fs, truth) = told.unwrap_or_else(|| short.clone()).play(1, look);
        if let Some(dir) = std::env::var_os("FORKLORE_DUMP").map(PathBuf::from).filter(|dir| !dir.exists()) {
            dump(&fs, &dir);
        }
        let library = library(&fs);
        let chats = truth.chats();
        let chat = chats.iter().find(|(_, label, ..)| *label == bad[0].chat);
        if let Some(c) = chat.and_then(|(_, _, address, _)| library.find_chat(address).ok()) {
            println!("{}", explain(&library, c));
        }
    }
    assert!(!low, "{name}: {} of {} states are not right", score.wrong, score.states);
    assert!(
        !is_fixed || score.wrong == known,
        "{name}: only {} states are not right: lower WRONG",
        score.wrong
    );
}
