//! Answers do not depend on what has nothing to do with them, and knowing more never makes a right one wrong.

use forklore_testkit::play::{Act, Keeper, Story, Truth};

use super::whole::fork_and_undo;
use super::{About, Wrong, judge, law, library, look, states, worse};

/// The same files with other times of change: every answer is the same.
fn copied(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, &mut look);
    let (copy, _) = story.play(2, &mut look);
    let (a, b) = (states(&library(&fs), &truth), states(&library(&copy), &truth));
    let mut wrong = Vec::new();
    for (c, chat, _, messages) in truth.chats() {
        for at in 0..messages {
            let (a, b) = (&a[&(c, at)], &b[&(c, at)]);
            if a != b {
                let words = |state| vec![format!("{state:?}")];
                wrong.push(Wrong { chat, at, missing: words(a), extra: words(b) });
            }
        }
    }
    (truth, wrong)
}

/// A story without some of its acts.
fn without(story: &Story, act: &Act) -> Story {
    let acts = story.acts.iter().filter(|a| std::mem::discriminant(*a) != std::mem::discriminant(act));
    Story { acts: acts.cloned().collect(), ..story.clone() }
}

/// What was right without looking is right when Forklore has looked.
fn looked(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = without(story, &Act::Look).play(1, &mut look);
    let before = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    let (fs, _) = story.play(1, &mut look);
    let after = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    (truth, worse(&before, after))
}

/// What was right without backups is right with them.
fn backed_up(story: &Story) -> (Truth, Vec<Wrong>) {
    let plain = without(story, &Act::Backup { chat: 'A' });
    let (fs, truth) = plain.play(1, &mut look);
    let before = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    // After every third act, of the chat that it was about.
    let mut more = plain.clone();
    more.acts.clear();
    for (n, act) in plain.acts.iter().enumerate() {
        more.acts.push(act.clone());
        more.acts.extend(act.chat().filter(|_| n % 3 == 2).map(|chat| Act::Backup { chat }));
    }
    let (fs, _) = more.play(1, &mut look);
    let after = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    (truth, worse(&before, after))
}

/// What was right is right when a fork was made somewhere and undone.
fn forked_elsewhere(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, &mut look);
    let before = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    for (_, _, address, messages) in truth.chats() {
        let _refused = fork_and_undo(&fs, &address, messages / 2, truth.clock());
    }
    let after = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    (truth, worse(&before, after))
}

const ALL: [(Keeper, bool); 3] = [(Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true)];

#[test]
fn copying_a_vault_changes_no_answer() {
    for kind in ALL {
        law("copied", kind, 900, &copied);
    }
}

#[test]
fn looking_makes_no_answer_wrong() {
    for kind in ALL {
        law("looked at", kind, 800, &looked);
    }
}

#[test]
fn backups_make_no_answer_wrong() {
    for kind in [(Keeper::Recap, false), (Keeper::Memory, false)] {
        law("backed up", kind, 990, &backed_up);
    }
}

#[test]
fn a_fork_elsewhere_makes_no_answer_wrong() {
    for kind in [(Keeper::Recap, false), (Keeper::Memory, false), (Keeper::Hand, true)] {
        law("forked elsewhere", kind, 900, &forked_elsewhere);
    }
}
