//! Everything that tells of a state tells of the same: `show`, `blame`, `diff`; and a story that is taken along tells what it told.

use std::collections::BTreeMap;
use std::sync::Arc;

use forklore_engine::blame::blame;
use forklore_engine::diff::{Chosen, Side, diff};
use forklore_engine::show::{ShowEntry, show};
use forklore_engine::{export, import};
use forklore_fs::{SimFs, VaultPath, Vfs};
use forklore_testkit::play::{Keeper, Story, Truth};
use forklore_vault::{NoProgress, StoryKind};

use super::{About, Wrong, judge, law, library, look, states, worse};

/// How often each title is there, the queue left out.
fn counted<'a>(titles: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counted = BTreeMap::new();
    titles.filter(|title| *title != "__operation_queue").for_each(|t| *counted.entry(t).or_default() += 1);
    counted
}

/// `blame` speaks of the entries that `show` shows, and dates none of them later; `diff` finds nothing where they are the same, and
/// otherwise turns the one into the other.
pub(super) fn one_tale(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let library = library(&fs);
    let mut wrong = Vec::new();
    for (_, label, address, messages) in truth.chats() {
        let Ok(chat) = library.find_chat(&address) else { continue };
        if library.chat(chat).book().is_none() {
            continue;
        }
        let mut before: Option<(usize, forklore_engine::show::ShowReport)> = None;
        for at in (0..messages).step_by(3).chain([messages - 1]) {
            let mut say = |text: String| {
                wrong.push(Wrong { chat: label, at, missing: vec![text], extra: Vec::new() });
            };
            let shown = show(&library, chat, Some(at)).unwrap();
            let titles = counted(shown.book.entries.iter().map(ShowEntry::comment));
            let blamed = blame(&library, chat, Some(at), None).unwrap();
            let never = usize::MAX.to_string();
            if serde_json::to_string(&(&shown, &blamed)).unwrap().contains(&never) {
                say("a message that cannot be".to_owned());
            }
            if counted(blamed.entries.iter().map(|e| &*e.comment)) != titles {
                say(format!(
                    "blame tells of others: {:?}",
                    counted(blamed.entries.iter().map(|e| &*e.comment))
                ));
            }
            let dated = |e: &&forklore_engine::blame::BlameEntry| e.last.message > Some(at);
            // Its switch may be today's: what nobody dates is carried, and says so.
            let undated = |title: &str| shown.book.entries.iter().any(|e| e.comment() == title && e.undated);
            if let Some(late) = blamed.entries.iter().find(dated).filter(|e| !undated(&e.comment)) {
                say(format!("blame dates {:?} at {:?}", late.comment, late.last.message));
            }
            if let Some((earlier, then)) = before.replace((at, shown)) {
                let now = &before.as_ref().unwrap().1;
                let sides = [earlier, at].map(|at| Side { chat, at: Some(at) });
                let found = diff(&library, sides[0], sides[1], Chosen::Asked).unwrap().book;
                let mut facts =
                    counted(then.book.entries.iter().map(ShowEntry::comment).filter(|t| About::Facts.is(t)));
                for gone in &found.removed {
                    *facts.entry(&gone.comment).or_default() -= 1;
                }
                for changed in &found.changed {
                    *facts.entry(&changed.a.comment).or_default() -= 1;
                    *facts.entry(&changed.b.comment).or_default() += 1;
                }
                for new in &found.added {
                    *facts.entry(&new.comment).or_default() += 1;
                }
                facts.retain(|_, count| *count > 0);
                let told =
                    counted(now.book.entries.iter().map(ShowEntry::comment).filter(|t| About::Facts.is(t)));
                if facts != told {
                    say(format!("diff from {earlier} leads to {facts:?}, shown is {told:?}"));
                }
            }
        }
    }
    (truth, wrong)
}

/// What was right in one vault is right in the one that the story is taken to.
pub(super) fn taken_along(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let here = library(&fs);
    let before = judge(&truth, &states(&here, &truth), About::Facts);
    let there = Arc::new(SimFs::new());
    for folder in ["chats", "worlds", "groups", "group chats", "characters"] {
        there.make_dir(&VaultPath::new(folder).unwrap()).unwrap();
    }
    there.create(&VaultPath::new("settings.json").unwrap(), b"{}").unwrap();
    for (n, story) in here.stories().filter(|(_, story)| !story.chats().is_empty()) {
        if story.kind() == StoryKind::Character {
            there.make_dir(&VaultPath::new(&format!("chats/{}", story.folder())).unwrap()).unwrap();
        }
        let request = export::ExportRequest {
            chats: export::Chats::Story(n),
            with_card: false,
            with_history: true,
            with_media: false,
        };
        let plan = export::plan(&here, &request, truth.clock()).unwrap();
        let mut bytes = Vec::new();
        export::execute(&here, plan, &mut bytes, &NoProgress).unwrap();
        let file = VaultPath::new("export").unwrap();
        there.create(&file, &bytes).unwrap();
        let archive = there.open(&file).unwrap();
        let target = library(&there);
        let plan = import::plan(&target, &*archive, &import::ImportRequest::default(), &NoProgress).unwrap();
        import::execute(&target, &*archive, plan, truth.clock(), &NoProgress).unwrap();
        there.unlink(&file).unwrap();
    }
    let after = judge(&truth, &states(&library(&there), &truth), About::Facts);
    (truth, worse(&before, after))
}

#[test]
fn everything_tells_the_same() {
    for kind in [(Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true)] {
        law("one tale", kind, &one_tale);
    }
}

#[test]
fn a_story_that_is_taken_along_tells_what_it_told() {
    for kind in [(Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true)] {
        law("taken along", kind, &taken_along);
    }
}
