//! `forget`: the rules by which old contents go; `prune` then frees the space.
//!
//! What an observation *says* (positions, header, changed entries) is small and stays for ever, so the state at a message never
//! becomes less exact. What can go is the whole content of a file as it was at some save: it is needed only to bring exactly that save
//! back.

use forklore_vault::StoryIx;
use std::collections::{BTreeMap, HashMap, HashSet};

use forklore_fs::VaultPath;
use forklore_journal::layout;
use forklore_store::Id;
use forklore_vault::history::{By, HistoryError, Observation, Observed, Timeline, store};
use forklore_vault::{Library, StoryKind};
use schemars::JsonSchema;
use serde::Serialize;

/// What is kept of each file. Whatever any rule keeps is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rules {
    /// This many of the last saves
    pub last: usize,
    /// The last save of each of this many days
    pub daily: usize,
    /// The last save of each of this many weeks
    pub weekly: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { last: 50, daily: 30, weekly: 52 }
    }
}

/// What would be forgotten.
#[derive(Debug, Clone)]
pub struct ForgetPlan {
    /// What it comes to
    pub report: ForgetReport,
    contents: Vec<u64>,
}

/// What was forgotten, or would be, and how large history is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForgetReport {
    /// The rules
    pub rules: Rules,
    /// Story by story
    pub stories: Vec<StoryUsage>,
    /// How many saves are in history
    pub saves: usize,
    /// Of those, how many whole contents are kept
    pub kept: usize,
    /// How many whole contents are forgotten by this
    pub forgotten: usize,
    /// Bytes of history on disk
    pub bytes: u64,
}

/// What history holds of a story.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct StoryUsage {
    /// Name of the story, or nothing for books that no chat of a story uses
    pub name: String,
    /// How many files
    pub files: usize,
    /// How many saves
    pub saves: usize,
    /// Bytes that it takes on disk, about; what several stories share is counted for each
    pub bytes: u64,
}

/// Works out what the rules let go.
pub fn plan(library: &Library, rules: Rules) -> Result<ForgetPlan, HistoryError> {
    let Some(timeline) = library.history()? else {
        let report = ForgetReport { rules, stories: Vec::new(), saves: 0, kept: 0, forgotten: 0, bytes: 0 };
        return Ok(ForgetPlan { report, contents: Vec::new() });
    };
    let needed = needed_by_forks(library, timeline);
    let mut contents = Vec::new();
    let (mut saves, mut kept) = (0, 0);
    for (_, track) in timeline.tracks() {
        let there: Vec<usize> =
            track.iter().copied().filter(|i| timeline.content(&timeline.seen[*i]).is_some()).collect();
        saves += track.len();
        let keep = kept_by(rules, timeline, track, &there);
        for i in there {
            if keep.contains(&i) || needed.contains(&i) {
                kept += 1;
            } else {
                contents.push(timeline.seen[i].seq);
            }
        }
    }
    contents.sort_unstable();
    let report = ForgetReport {
        rules,
        stories: usage(library, timeline)?,
        saves,
        kept,
        forgotten: contents.len(),
        bytes: timeline.store().size(),
    };
    Ok(ForgetPlan { report, contents })
}

/// Forgets. The space is free after `prune`.
pub fn execute(library: &Library, plan: ForgetPlan, now: i64) -> Result<ForgetReport, HistoryError> {
    if plan.contents.is_empty() {
        return Ok(plan.report);
    }
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for seq in plan.contents {
        match runs.last_mut() {
            Some((_, to)) if *to + 1 == seq => *to = seq,
            _ => runs.push((seq, seq)),
        }
    }
    let what = Observed::Forget { contents: runs };
    let note = Observation {
        v: what.version(),
        file: VaultPath::root(),
        clock: now,
        looked: None,
        by: By::Forget,
        what,
    };
    let payload = serde_json::to_vec(&note).map_err(|e| HistoryError::Unreadable(e.to_string()))?;
    let mut store = store(library.fs())?;
    let mut writer = store.writer()?;
    writer.record(&payload);
    writer.commit()?;
    Ok(plan.report)
}

/// What pruning freed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PruneReport {
    /// Pieces that nothing needed any more
    pub objects: usize,
    /// Bytes of history on disk before
    pub before: u64,
    /// Bytes of history on disk after
    pub after: u64,
}

/// How large history is.
pub fn size(library: &Library) -> Result<PruneReport, HistoryError> {
    let bytes = library.history()?.map_or(0, |timeline| timeline.store().size());
    Ok(PruneReport { objects: 0, before: bytes, after: bytes })
}

/// Removes what nothing needs any more.
pub fn prune(library: &Library) -> Result<PruneReport, HistoryError> {
    let Some(timeline) = Timeline::load(library.fs())? else {
        return Ok(PruneReport { objects: 0, before: 0, after: 0 });
    };
    let mut store = store(library.fs())?;
    let pruned = store.prune(&|store, record| timeline.roots(store, record.seq, record.payload))?;
    Ok(PruneReport { objects: pruned.objects, before: pruned.before, after: pruned.after })
}

/// What the rules keep of one file.
fn kept_by(rules: Rules, timeline: &Timeline, track: &[usize], there: &[usize]) -> HashSet<usize> {
    const DAY: i64 = 86_400_000;
    // The last one is what the next save is compared with, and the first one of a book is where its changes start.
    let mut keep: HashSet<usize> = there.iter().rev().take(rules.last.max(1)).copied().collect();
    keep.extend(track.first());
    for (length, many) in [(DAY, rules.daily), (7 * DAY, rules.weekly)] {
        let mut spans: BTreeMap<i64, usize> = BTreeMap::new();
        for i in there {
            spans.insert(timeline.seen[*i].observation.clock.div_euclid(length), *i);
        }
        keep.extend(spans.values().rev().take(many));
    }
    // After a while in which it was gone or unreadable a book starts anew.
    for pair in track.windows(2) {
        if matches!(timeline.seen[pair[0]].observation.what, Observed::Gone) {
            keep.insert(pair[1]);
        }
    }
    keep.extend(track.iter().filter(|i| match &timeline.seen[**i].observation.what {
        Observed::Book(book) => book.delta.is_none(),
        _ => false,
    }));
    keep
}

/// What each fork was made from: the last save of its parent and of its parent's book before it, and its own first one.
fn needed_by_forks(library: &Library, timeline: &Timeline) -> HashSet<usize> {
    let mut needed = HashSet::new();
    for (_, chat) in library.chats().filter(|(_, chat)| chat.lineage().fork_message.is_some()) {
        let Some(first) = timeline.track(chat.path()).first() else { continue };
        needed.insert(*first);
        let Some(parent) = chat.lineage().parent.map(|parent| library.chat(parent)) else { continue };
        let book = parent.book_stem().and_then(|stem| layout::book(stem).ok());
        for file in [Some(parent.path().clone()), book].into_iter().flatten() {
            let before = timeline.track(&file).iter().rev().find(|i| *i < first);
            needed.extend(before);
        }
    }
    needed
}

fn usage(library: &Library, timeline: &Timeline) -> Result<Vec<StoryUsage>, HistoryError> {
    let mut owner: HashMap<VaultPath, StoryIx> = HashMap::new();
    for (_, chat) in library.chats() {
        owner.insert(chat.path().clone(), chat.story());
        if let Some(book) = chat.book_stem().and_then(|stem| layout::book(stem).ok()) {
            owner.entry(book).or_insert(chat.story());
        }
    }
    let nobody = library.stories().len();
    let mut found: Vec<StoryUsage> = vec![StoryUsage::default(); nobody + 1];
    let mut roots: Vec<Vec<Id>> = vec![Vec::new(); nobody + 1];
    for (file, track) in timeline.tracks() {
        let owner = owner.get(file).map_or(nobody, |story| story.place());
        let usage = &mut found[owner];
        usage.files += 1;
        usage.saves += track.len();
        let seen = track.iter().map(|i| &timeline.seen[*i]);
        for seen in seen {
            roots[owner].extend(timeline.needs(timeline.store(), seen.seq, &seen.observation)?);
        }
    }
    for (usage, roots) in found.iter_mut().zip(roots) {
        usage.bytes = timeline.store().footprint(roots)?.stored;
    }
    for ((_, story), usage) in library.stories().zip(&mut found) {
        let group = if story.kind() == StoryKind::Group { " (group)" } else { "" };
        usage.name = format!("{}{group}", story.name());
    }
    found.retain(|usage| usage.files > 0);
    found.sort_by_key(|usage| std::cmp::Reverse(usage.bytes));
    Ok(found)
}
