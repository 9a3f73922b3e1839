//! The state is what it was, and a fork is a fork of what it was made from.

use forklore_engine::show::show;
use forklore_engine::tree::tree;
use forklore_testkit::play::{Keeper, Story, Truth};

use super::{About, Wrong, judge, law, library, look, setting, states};

pub(super) fn as_it_is(about: About) -> impl Fn(&Story) -> (Truth, Vec<Wrong>) {
    move |story| {
        let (fs, truth) = story.play(1, look);
        let wrong = judge(&truth, &states(&library(&fs), &truth), about);
        (truth, wrong)
    }
}

/// Stories in which something was wrong once, and which the fixed ones do not have the like of.
fn right_now(keeper: Keeper, looks: bool, seeds: &[u64]) {
    for seed in seeds {
        let story = Story::random(*seed, setting(keeper, *seed, looks), 40, looks);
        let (_, wrong) = as_it_is(About::Facts)(&story);
        assert!(wrong.is_empty(), "seed {seed}: {}", wrong[0]);
    }
}

/// A shared book renamed in one chat; an edit in the original after it was copied; a memory that both consolidated after that.
#[test]
fn regression_renamed_edited_and_consolidated_after_a_copy() {
    right_now(Keeper::Memory, false, &[911, 914, 923]);
}

/// Memories deleted and numbers given again around a copy, a consolidation whose source is gone, notes and words of either side.
#[test]
fn regression_what_either_side_did_after_a_copy() {
    right_now(Keeper::Memory, false, &[50001, 50011, 50015, 50025, 50029, 60018, 60041, 60045, 60073]);
    right_now(Keeper::Memory, false, &[80038, 80054, 80094, 80101]);
}

/// A chat renamed since the last look; a fork of a fork whose book was built without what its line had.
#[test]
fn regression_a_chat_has_another_name_since_the_last_look() {
    right_now(Keeper::Recap, true, &[80033, 80101]);
}

/// Of three who share a book two went on, and the third had made it.
#[test]
fn regression_a_hand_was_one_of_those_who_went_on() {
    right_now(Keeper::Recap, true, &[60038]);
}

/// A book renamed after a look; an original changed by hand between a look and now; a side prompt deleted and run again.
#[test]
fn regression_renamed_changed_and_run_again_around_a_look() {
    right_now(Keeper::Memory, true, &[129, 133, 511, 519, 532, 935]);
}

/// A consolidation that was deleted, with its number given to a note: what it had switched off is off in a fork.
#[test]
fn regression_a_consolidation_that_is_gone_has_switched_off_its_sources() {
    right_now(Keeper::Memory, true, &[206]);
}

/// A side prompt that the chat above had switched off, in the book that was copied from it, run anew from the branch's own messages.
#[test]
fn regression_what_is_written_anew_is_not_switched_off_by_another_line() {
    right_now(Keeper::Memory, true, &[7]);
}

/// A note that nobody knows who wrote, in the book that a fork's own was built from; a memory that a fork has written over.
#[test]
fn regression_a_book_built_from_another_holds_what_that_held() {
    right_now(Keeper::Recap, false, &[120, 908, 909]);
    right_now(Keeper::Recap, true, &[908]);
}

/// Books that got another name: in the chat itself, whose scenes name the old one; in a fork of a fork that shares it.
#[test]
fn regression_a_renamed_book_is_still_the_book_of_those_above() {
    right_now(Keeper::Recap, false, &[133, 901]);
}

/// What a hand did in a shared book while only another chat was played; a fork that was made after the look; one of a message long past.
#[test]
fn regression_a_hand_was_at_the_message_of_the_chat_that_was_played() {
    right_now(Keeper::Hand, true, &[508, 511, 933]);
}

/// A fork that worked in the shared book and was deleted: what it wrote is not the work of the chat that is left.
#[test]
fn regression_work_of_a_deleted_chat_is_not_another_chats() {
    right_now(Keeper::Recap, true, &[60_035, 60_073]);
}

/// Both extensions in one vault: a fork's book that one of them built from a snapshot of before the other's memory.
#[test]
fn regression_snapshots_of_one_extension_say_nothing_of_the_others_memories() {
    right_now(Keeper::Recap, false, &[60_013, 60_041, 80_045, 80_105]);
}

/// One look between two scenes that wrote into what a hand had made.
#[test]
fn regression_a_look_was_when_whoever_looked_says() {
    right_now(Keeper::Recap, true, &[60_047]);
}

/// A book that a chat shares with those above and below, and that got another name in one of them alone.
#[test]
fn regression_a_shared_book_has_another_name_in_one_chat() {
    right_now(Keeper::Recap, true, &[50_029]);
    right_now(Keeper::Memory, false, &[50_040]);
}

/// A scene far back whose snapshot the book of a fork was built from.
#[test]
fn regression_built_from_a_scene_far_back() {
    right_now(Keeper::Recap, false, &[121_011]);
    right_now(Keeper::Recap, true, &[121_035]);
}

/// A copy of an earlier message later on: whoever renames an entry there takes no text of the other line along.
#[test]
fn regression_a_rename_takes_no_text_along() {
    right_now(Keeper::Memory, true, &[121_011]);
}

/// A lorebook that got another name twice: what was seen of it under the name in between counts.
#[test]
fn regression_a_book_had_three_names() {
    right_now(Keeper::Hand, true, &[200_041]);
    right_now(Keeper::Memory, true, &[200_041]);
}

/// A branch adds a line to a side prompt in the shared book and runs it: what it has replaced is younger than its last run.
#[test]
fn regression_what_was_replaced_was_written_by_hand_since_the_last_run() {
    right_now(Keeper::Memory, true, &[200_033]);
}

/// A line by hand, and a branch of an earlier message afterwards, whose scene adds to the same entry of the shared book.
#[test]
fn regression_lines_of_later_messages_do_not_come_along_with_ours() {
    right_now(Keeper::Recap, true, &[200_000]);
}

#[test]
fn the_state_is_what_it_was_with_auto_recap() {
    law("state", (Keeper::Recap, false), &as_it_is(About::Facts));
}

#[test]
fn the_state_is_what_it_was_with_auto_recap_watched() {
    law("state", (Keeper::Recap, true), &as_it_is(About::Facts));
}

#[test]
fn the_state_is_what_it_was_with_memory_books() {
    law("state", (Keeper::Memory, false), &as_it_is(About::Facts));
}

#[test]
fn the_state_is_what_it_was_with_memory_books_watched() {
    law("state", (Keeper::Memory, true), &as_it_is(About::Facts));
}

#[test]
fn the_state_is_what_it_was_by_hand_watched() {
    law("state", (Keeper::Hand, true), &as_it_is(About::Facts));
}

#[test]
fn registries_are_what_they_were() {
    law("registries", (Keeper::Recap, false), &as_it_is(About::Registries));
    law("registries", (Keeper::Recap, true), &as_it_is(About::Registries));
}

/// The running recap is what it was.
pub(super) fn recaps(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let library = library(&fs);
    let mut wrong = Vec::new();
    for (c, chat, address, messages) in truth.chats() {
        let Ok(found) = library.find_chat(&address) else { continue };
        for at in 0..messages {
            let Some(was) = truth.recap(c, at) else { continue };
            let shown = show(&library, found, Some(at)).map(|report| report.running_recap.content);
            if shown.as_ref().ok() != Some(&was) {
                let (missing, extra) = (vec![format!("{was:?}")], vec![format!("{shown:?}")]);
                wrong.push(Wrong { chat, at, missing, extra });
            }
        }
    }
    (truth, wrong)
}

#[test]
fn the_running_recap_is_what_it_was() {
    law("recaps", (Keeper::Recap, false), &recaps);
    law("recaps", (Keeper::Recap, true), &recaps);
}

/// Forks whose parent is there: it is the one that they were made from, and they share what they shared.
pub(super) fn lineage(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let library = library(&fs);
    let trees = tree(&library, None, &[]).unwrap();
    let mut wrong = Vec::new();
    let chats = truth.chats();
    for (c, label, address, _) in &chats {
        let Some((parent, at)) = truth.parent(*c).filter(|_| !truth.is_mistaken(*c)) else { continue };
        let Some((.., parent, _)) = chats.iter().find(|(p, ..)| *p == parent) else { continue };
        let found = trees.stories.iter().flat_map(|story| &story.chats).find(|chat| chat.chat == *address);
        let got = found.map(|chat| (chat.parent.clone(), chat.fork_message));
        if got != Some((Some(parent.clone()), Some(at))) {
            let missing = vec![format!("fork of {parent} at {at}")];
            wrong.push(Wrong { chat: *label, at, missing, extra: vec![format!("{got:?}")] });
        }
    }
    (truth, wrong)
}

#[test]
fn forks_are_of_what_they_were_made_from() {
    law("lineage", (Keeper::Recap, false), &lineage);
    law("lineage", (Keeper::Hand, true), &lineage);
}
