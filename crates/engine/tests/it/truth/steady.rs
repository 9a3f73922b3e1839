//! Answers do not depend on what has nothing to do with them, and knowing more never makes a right one wrong.

use forklore_testkit::play::{Act, Found, Keeper, Setting, Story, Truth};

use super::whole::fork_and_undo;
use super::{About, States, Wrong, judge, law, library, look, state, states, worse};

/// The same files with other times of change: every answer is the same.
pub(super) fn copied(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let (copy, _) = story.play(2, look);
    let (a, b) = (states(&library(&fs), &truth), states(&library(&copy), &truth));
    let mut wrong = Vec::new();
    for (c, chat, _, messages) in truth.chats() {
        for at in 0..messages {
            let (a, b) = (&a[&(c, at)], &b[&(c, at)]);
            if a != b {
                wrong.push(Wrong { chat, at, missing: only(a, b), extra: only(b, a) });
            }
        }
    }
    (truth, wrong)
}

/// What one state has and the other has not.
fn only(a: &Result<Vec<Found>, String>, b: &Result<Vec<Found>, String>) -> Vec<String> {
    match (a, b) {
        (Ok(a), Ok(b)) => a.iter().filter(|e| !b.contains(e)).map(|e| format!("{e:?}")).collect(),
        (a, _) => vec![format!("{a:?}")],
    }
}

/// Whichever chat is asked about first: every answer is the same as if nothing else had been asked.
pub(super) fn asked(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let together = library(&fs);
    // From the last chat to the first, so that what is kept for the next question was found in another order.
    let mut chats = truth.chats();
    chats.reverse();
    let mut wrong = Vec::new();
    for (_, chat, address, messages) in chats {
        let alone = library(&fs);
        for at in (0..messages).rev() {
            let (a, b) = (state(&together, &address, at), state(&alone, &address, at));
            if a != b {
                wrong.push(Wrong { chat, at, missing: only(&a, &b), extra: only(&b, &a) });
            }
        }
    }
    (truth, wrong)
}

/// A story without some of its acts.
fn without(story: &Story, is: impl Fn(&Act) -> bool) -> Story {
    Story { acts: story.acts.iter().filter(|act| !is(act)).cloned().collect(), ..story.clone() }
}

/// What was right without looking is right when Forklore has looked, and nothing that was there and was shown is left out altogether.
pub(super) fn looked(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) =
        without(story, |act| matches!(act, Act::Look | Act::Watch | Act::Unwatch)).play(1, look);
    let before = states(&library(&fs), &truth);
    let (fs, _) = story.play(1, look);
    let after = states(&library(&fs), &truth);
    let mut wrong = worse(&judge(&truth, &before, About::Facts), judge(&truth, &after, About::Facts));
    wrong.extend(lost(&truth, &before, &after, &|found, (title, text)| {
        found.iter().any(|found| found.title == *title || found.text == *text)
    }));
    (truth, wrong)
}

/// Whoever goes through old copies of a vault looks at its past today: what is right when the vault itself was looked at in time is
/// right then, too.
pub(super) fn looked_late(story: &Story) -> (Truth, Vec<Wrong>) {
    const MONTH: i64 = 30 * 24 * 3600 * 1000;
    let (fs, truth) = story.play(1, look);
    let before = states(&library(&fs), &truth);
    let (fs, _) = story.play(1, |fs, now| look(fs, now + MONTH));
    let after = states(&library(&fs), &truth);
    let wrong = spoilt(&truth, &before, &after);
    (truth, wrong)
}

/// What was right without backups is right with them.
pub(super) fn backed_up(story: &Story) -> (Truth, Vec<Wrong>) {
    let plain = without(story, |act| matches!(act, Act::Backup { .. }));
    let (fs, truth) = plain.play(1, look);
    let before = states(&library(&fs), &truth);
    // After every third act, of the chat that it was about.
    let mut more = plain.clone();
    more.acts.clear();
    for (n, act) in plain.acts.iter().enumerate() {
        more.acts.push(act.clone());
        more.acts.extend(act.chat().filter(|_| n % 3 == 2).map(|chat| Act::Backup { chat }));
    }
    let (fs, _) = more.play(1, look);
    let wrong = spoilt(&truth, &before, &states(&library(&fs), &truth));
    (truth, wrong)
}

/// Forklore comes to a vault for the first time in which SillyTavern has made a backup with nearly every save, so that the last backups of most
/// chats are what the chats are: what was right without looking is right, and of what was there nothing is left out that was shown.
pub(super) fn met(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = unmet(story).play(1, look);
    let before = states(&library(&fs), &truth);
    let (fs, _) = and_met(story).play(1, look);
    let wrong = spoilt(&truth, &before, &states(&library(&fs), &truth));
    (truth, wrong)
}

fn unmet(story: &Story) -> Story {
    without(story, |act| matches!(act, Act::Backup { .. } | Act::Look | Act::Watch | Act::Unwatch))
}

/// The story with backups after nearly every act, and a look at its end.
pub(super) fn and_met(story: &Story) -> Story {
    let plain = unmet(story);
    // SillyTavern makes one a while later, and not if the next save comes before that.
    let backup = |n: usize, act: &Act| act.chat().filter(|_| n % 4 < 3).map(|chat| Act::Backup { chat });
    let acts = plain.acts.iter().enumerate();
    let acts = acts.flat_map(|(n, act)| std::iter::once(act.clone()).chain(backup(n, act)));
    Story { acts: acts.chain([Act::Look]).collect(), ..plain.clone() }
}

/// What was right and has become wrong; and what was there, and shown, and is shown no more.
fn spoilt(truth: &Truth, before: &States, after: &States) -> Vec<Wrong> {
    let mut wrong = worse(&judge(truth, before, About::Facts), judge(truth, after, About::Facts));
    wrong.extend(lost(truth, before, after, &|found, (title, text)| {
        found.iter().any(|found| found.title == *title && found.text == *text)
    }));
    wrong
}

/// Whether an entry that was there, by title and text, is still shown.
type Still<'a> = &'a dyn Fn(&[Found], &(String, String)) -> bool;

/// What was there at a message, and shown, and is shown no more as `still` says.
fn lost(truth: &Truth, before: &States, after: &States, still: Still<'_>) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (c, chat, _, messages) in truth.chats() {
        for at in 0..messages {
            let (Ok(before), Ok(after)) = (&before[&(c, at)], &after[&(c, at)]) else { continue };
            let has = |found: &[Found], (title, text): &(String, String)| {
                found.iter().any(|found| found.title == *title && found.text == *text)
            };
            let there = truth.there(c, at);
            let gone = there.iter().filter(|entry| has(before, entry) && !still(after, entry));
            let missing: Vec<String> = gone.map(|(title, text)| format!("{title}: {text:?}")).collect();
            if !missing.is_empty() {
                wrong.push(Wrong { chat, at, missing, extra: Vec::new() });
            }
        }
    }
    wrong
}

/// The messages that forks were made at get other words, in the fork or in the chat above: people branch because of a message. What was right is right.
pub(super) fn edited(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let before = states(&library(&fs), &truth);
    let chats = truth.chats();
    let mut more = story.clone();
    for (n, (c, ..)) in chats.iter().enumerate() {
        let place =
            if n % 2 == 0 { truth.forked_above(*c) } else { truth.parent(*c).map(|(_, at)| (*c, at)) };
        let Some((_, label, _, messages)) =
            place.and_then(|(chat, _)| chats.iter().find(|(c, ..)| *c == chat))
        else {
            continue;
        };
        let at = place.map_or(0, |(_, at)| at);
        more.acts.push(Act::EditMessage { chat: *label, back: messages - 1 - at });
    }
    let (fs, _) = more.play(1, look);
    let wrong = spoilt(&truth, &before, &states(&library(&fs), &truth));
    (truth, wrong)
}

/// Another story is in the vault whose chats have the same names: what was right in either is right.
pub(super) fn beside(story: &Story) -> (Truth, Vec<Wrong>) {
    // All groups' chats are in one folder.
    let setting = Setting { group: false, headerless: false, ..story.setting };
    let story = Story { setting, ..story.clone() };
    let alone = |acts: &[Act]| Story { acts: acts.to_vec(), ..story.clone() };
    let other = without(&story, |act| matches!(act, Act::Look | Act::Watch | Act::Unwatch));
    let (fs, truth) = story.play(1, look);
    let before = states(&library(&fs), &truth);
    let (fs, _, others) = alone(&[]).play_beside(&other, look);
    let others_before = states(&library(&fs), &others);
    let (fs, ..) = story.play_beside(&other, look);
    let library = library(&fs);
    let mut wrong = spoilt(&truth, &before, &states(&library, &truth));
    wrong.extend(spoilt(&others, &others_before, &states(&library, &others)));
    (truth, wrong)
}

/// A chat is deleted that nothing was forked from: what was right in the others is right, and of what was there nothing is left out that was shown.
pub(super) fn deleted(story: &Story) -> (Truth, Vec<Wrong>) {
    without_chat(story, false)
}

/// The same of one that others were forked from.
pub(super) fn parent_deleted(story: &Story) -> (Truth, Vec<Wrong>) {
    without_chat(story, true)
}

/// The story with a chat deleted at its end, if there is one that others were forked from, or that nothing was forked from.
pub(super) fn and_deleted(story: &Story, parent: bool) -> Option<Story> {
    let acts = || story.acts.iter().cloned().chain([Act::Look]);
    let (_, truth) = Story { acts: acts().collect(), ..story.clone() }.play(1, look);
    let chats = truth.chats();
    let is_above =
        |c: usize| chats.iter().any(|(below, ..)| truth.parent(*below).is_some_and(|(above, _)| above == c));
    let (_, chat, ..) = chats
        .iter()
        .rev()
        .find(|(c, ..)| (parent || truth.parent(*c).is_some()) && is_above(*c) == parent)?;
    Some(Story {
        acts: acts().chain([Act::DeleteChat { chat: *chat, book: false }]).collect(),
        ..story.clone()
    })
}

fn without_chat(story: &Story, parent: bool) -> (Truth, Vec<Wrong>) {
    let looked = Story { acts: story.acts.iter().cloned().chain([Act::Look]).collect(), ..story.clone() };
    let (fs, truth) = looked.play(1, look);
    let before = states(&library(&fs), &truth);
    let Some(story) = and_deleted(story, parent) else { return (truth, Vec::new()) };
    let (fs, truth) = story.play(1, look);
    let mut wrong = spoilt(&truth, &before, &states(&library(&fs), &truth));
    // Who is alone with a lorebook then has at his last message what is in it.
    let last = |wrong: &Wrong| {
        truth.chats().iter().any(|(_, label, _, messages)| *label == wrong.chat && wrong.at + 1 == *messages)
    };
    wrong.retain(|wrong| !last(wrong));
    (truth, wrong)
}

/// What was right is right when a fork was made somewhere and undone.
pub(super) fn forked_elsewhere(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let before = states(&library(&fs), &truth);
    for (_, _, address, messages) in truth.chats() {
        let _refused = fork_and_undo(&fs, &address, messages / 2, truth.clock(), true);
    }
    let wrong = spoilt(&truth, &before, &states(&library(&fs), &truth));
    (truth, wrong)
}

#[test]
fn regression_editing_the_message_of_a_fork_makes_no_answer_wrong() {
    for kind in [(Keeper::Recap, false), (Keeper::Memory, false), (Keeper::Recap, true)] {
        law("edited", kind, &edited);
    }
}

const ALL: [(Keeper, bool); 3] = [(Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true)];

#[test]
fn copying_a_vault_changes_no_answer() {
    for kind in ALL {
        law("copied", kind, &copied);
    }
}

#[test]
fn the_order_of_questions_changes_no_answer() {
    for kind in ALL {
        law("asked", kind, &asked);
    }
}

#[test]
fn looking_makes_no_answer_wrong() {
    for kind in ALL {
        law("looked at", kind, &looked);
    }
}

#[test]
fn looking_at_old_copies_makes_no_answer_wrong() {
    for kind in ALL {
        law("looked at late", kind, &looked_late);
    }
}

#[test]
fn backups_make_no_answer_wrong() {
    for kind in [(Keeper::Recap, false), (Keeper::Memory, false)] {
        law("backed up", kind, &backed_up);
    }
}

#[test]
fn meeting_a_vault_with_backups_makes_no_answer_wrong_with_auto_recap() {
    law("met", (Keeper::Recap, false), &met);
}

#[test]
fn meeting_a_vault_with_backups_makes_no_answer_wrong_with_memory_books() {
    law("met", (Keeper::Memory, false), &met);
}

#[test]
fn meeting_a_vault_with_backups_makes_no_answer_wrong_by_hand() {
    law("met", (Keeper::Hand, false), &met);
}

#[test]
fn deleting_a_chat_makes_no_answer_wrong_in_the_others() {
    for kind in ALL {
        law("deleted", kind, &deleted);
    }
}

#[test]
fn deleting_a_parent_makes_no_answer_wrong_in_the_others_with_auto_recap() {
    law("parent deleted", ALL[0], &parent_deleted);
}

#[test]
fn deleting_a_parent_makes_no_answer_wrong_in_the_others_with_memory_books() {
    law("parent deleted", ALL[1], &parent_deleted);
}

#[test]
fn deleting_a_parent_makes_no_answer_wrong_in_the_others_by_hand() {
    law("parent deleted", ALL[2], &parent_deleted);
}

#[test]
fn another_story_with_chats_of_the_same_names_makes_no_answer_wrong() {
    for kind in ALL.into_iter().chain([(Keeper::Memory, false)]) {
        law("beside", kind, &beside);
    }
}

#[test]
fn a_fork_elsewhere_makes_no_answer_wrong() {
    for kind in [(Keeper::Recap, false), (Keeper::Memory, false), (Keeper::Hand, true)] {
        law("forked elsewhere", kind, &forked_elsewhere);
    }
}
