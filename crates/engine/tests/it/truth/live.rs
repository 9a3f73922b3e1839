//! Who was there all the time knows everything: Forklore watches from the first save on, and nothing of the story is left to guess.

use forklore_testkit::play::{Act, Keeper, Setting, Story, Truth, Way};

use super::{Wrong, law, library, look, setting, states};

/// The story as somebody plays it who stays in a chat: Forklore watches from the first save on, and whoever goes to another chat says
/// something there. Who only opens a chat leaves no trace in any file.
pub(super) fn watched(story: &Story) -> Story {
    let mut acts = vec![Act::Watch];
    let mut open = None;
    for act in story.acts.iter().filter(|act| !matches!(act, Act::Look | Act::Watch | Act::Unwatch)) {
        let chat = act.chat();
        if let Some(chat) = chat.filter(|chat| open != Some(*chat)) {
            acts.push(Act::Say { chat, messages: 1 });
        }
        open = match act {
            Act::Fork { new, by: Way::Button | Way::Slash | Way::Swipe, .. } => Some(*new),
            _ => chat,
        };
        acts.push(act.clone());
    }
    // SillyTavern brings their first lines in order when it starts.
    let setting = Setting { headerless: false, ..story.setting };
    Story { setting, acts }
}

/// Each state is what was played, whole.
pub(super) fn everything(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = watched(story).play(1, look);
    let states = states(&library(&fs), &truth);
    let mut wrong = Vec::new();
    for (c, chat, _, messages) in truth.chats() {
        // At its last message a chat's own lorebook is what it is.
        for at in 0..messages.saturating_sub(1) {
            let bad = match &states[&(c, at)] {
                Ok(found) => truth.was_at(c, at).judge(found),
                Err(why) => Some((vec![why.clone()], Vec::new())),
            };
            wrong.extend(bad.map(|(missing, extra)| Wrong { chat, at, missing, extra }));
        }
    }
    (truth, wrong)
}

/// Stories in which something was wrong once.
fn right_now(keeper: Keeper, seeds: &[u64]) {
    for seed in seeds {
        let story = Story::random(*seed, setting(keeper, *seed, false), 40, false);
        let (_, wrong) = everything(&story);
        assert!(wrong.is_empty(), "seed {seed}: {}", wrong[0]);
    }
}

/// A side prompt that another line has deleted, and that our own line ran anew.
#[test]
fn regression_a_side_prompt_that_was_deleted_elsewhere_is_there_once() {
    right_now(Keeper::Memory, &[1, 310_020]);
}

/// Notes and memories that somebody made in a fork that shared the lorebook, before it was deleted.
#[test]
fn regression_what_was_made_in_a_chat_that_is_gone_is_nobodys() {
    right_now(Keeper::Recap, &[310_024]);
    right_now(Keeper::Memory, &[310_013, 310_024]);
}

/// A note that was deleted before there was a fork that has the lorebook, too.
#[test]
fn regression_a_fork_did_nothing_before_it_was_there() {
    right_now(Keeper::Recap, &[300_004]);
    right_now(Keeper::Hand, &[310_016]);
}

/// A note in a fork in which nobody has written yet, while others had gone on since the lorebook was changed last.
#[test]
fn regression_who_was_saved_last_had_the_book_before_them() {
    right_now(Keeper::Recap, &[300_005]);
    right_now(Keeper::Memory, &[300_002]);
    right_now(Keeper::Hand, &[310_007]);
}

#[test]
fn who_was_there_all_the_time_knows_everything_with_auto_recap() {
    law("live", (Keeper::Recap, false), &everything);
}

#[test]
fn who_was_there_all_the_time_knows_everything_with_memory_books() {
    law("live", (Keeper::Memory, false), &everything);
}

#[test]
fn who_was_there_all_the_time_knows_everything_by_hand() {
    law("live", (Keeper::Hand, false), &everything);
}
