//! The laws, where stories cross: all lines speak of the same people and places, models write whole texts anew, and people go back, make
//! checkpoints, bring chats in again, and close Forklore for a while.

use forklore_testkit::play::{Keeper, Story, Truth};

use super::{About, Wrong, exact, law_in, live, steady, told, whole};

type Told = fn(&Story) -> (Truth, Vec<Wrong>);

const PLAIN: [(Keeper, bool); 2] = [(Keeper::Recap, false), (Keeper::Memory, false)];
const WATCHED: [(Keeper, bool); 3] = [(Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true)];

fn laws(name: &str, kinds: &[(Keeper, bool)], wrong: Told) {
    for kind in kinds {
        law_in(name, *kind, true, &wrong);
    }
}

#[test]
fn the_state_is_what_it_was() {
    for kind in PLAIN.iter().chain(&WATCHED) {
        law_in("state", *kind, true, &exact::as_it_is(About::Facts));
    }
}

#[test]
fn the_running_recap_is_what_it_was() {
    laws("recaps", &[PLAIN[0], WATCHED[0]], exact::recaps);
}

#[test]
fn forks_are_of_what_they_were_made_from() {
    laws("lineage", &[PLAIN[0], WATCHED[2]], exact::lineage);
}

#[test]
fn who_was_there_all_the_time_knows_everything() {
    laws("live", &[PLAIN[0], PLAIN[1], (Keeper::Hand, false)], live::everything);
}

#[test]
fn looking_makes_no_answer_wrong() {
    laws("looked at", &WATCHED, steady::looked);
}

#[test]
fn meeting_a_vault_with_backups_makes_no_answer_wrong() {
    laws("met", &[PLAIN[0], PLAIN[1], (Keeper::Hand, false)], steady::met);
}

#[test]
fn deleting_a_chat_makes_no_answer_wrong_in_the_others() {
    laws("deleted", &WATCHED, steady::deleted);
}

#[test]
fn a_fork_is_what_is_shown() {
    laws("one state", &WATCHED, whole::one_state);
}

#[test]
fn everything_tells_the_same() {
    laws("one tale", &WATCHED, told::one_tale);
}
