//! The real binary, killed for real before every system call that changes something, while the kernel keeps what was done; then a
//! harmless command, which puts things in order. What is there then is what was there before, or all of what was to come.
//!
//! The short form tries every call that changes the vault, and a part of the others; `cargo xtask soak` tries all, and a second
//! kill at every call that changes something in the command that puts things in order.
#![allow(clippy::print_stdout, reason = "the numbers are the result")]

mod crowd;
mod errors;
mod history;
mod race;
mod scenario;
pub(crate) mod strace;

use std::collections::{BTreeMap, BTreeSet};

use self::scenario::{GROUP, IMPORT, MERGES, Outcome, Picture, Reference, SCENARIOS, SOLO, Scenario, UNDO};
use self::strace::{Call, Strace, soaking, tally};
use crate::FORKLORE;

/// Kills a command before this call.
fn killed_before(call: &Call) -> String {
    format!("inject={}:signal=KILL:when={}", call.name, call.nth)
}

/// What a series of kills has come to.
#[derive(Default)]
struct Tried {
    points: usize,
    changing: usize,
    second: usize,
    missed: usize,
    outcomes: BTreeMap<Outcome, usize>,
    wrong: Vec<String>,
}

impl Tried {
    fn count(&mut self, at: &str, judged: Result<Outcome, String>) {
        match judged {
            Ok(outcome) => *self.outcomes.entry(outcome).or_default() += 1,
            Err(why) => self.wrong.push(format!("{at}: {why}")),
        }
    }

    fn must_be_fine(&self, scenario: &Scenario, calls: &[Call]) {
        let told = format!(
            "{}: {} calls ({}); killed at {} points, {} of which change something, and {} times again: {:?}",
            scenario.name,
            calls.len(),
            tally(calls.iter()),
            self.points,
            self.changing,
            self.second,
            self.outcomes
        );
        println!("{told}");
        assert!(self.wrong.is_empty(), "{told}\n{} violations:\n{}", self.wrong.len(), self.wrong.join("\n"));
        // Both must have been met, or the kills came nowhere near the point where it counts.
        let met: BTreeSet<Outcome> = self.outcomes.keys().copied().collect();
        assert_eq!(met, BTreeSet::from([Outcome::Nothing, Outcome::All]), "{told}");
        assert!(self.missed * 5 <= self.points, "{} missed: {told}", self.missed);
        assert!(self.changing >= 20 && self.points >= self.changing + 10, "{told}");
    }
}

/// Every `n`-th of the calls that change nothing, and all others.
fn chosen(calls: &[Call], n: usize) -> Vec<&Call> {
    let mut quiet = 0;
    let mut keep = |call: &&Call| {
        quiet += usize::from(!call.changes());
        call.changes() || quiet % n == 0
    };
    calls.iter().filter(|call| keep(call)).collect()
}

fn kill_everywhere(strace: &Strace, scenario: &Scenario, options: &[&str]) {
    let reference = scenario.reference();
    let calls = strace.census(&scenario.vault(), options, scenario.args);
    let mut tried = Tried::default();
    for call in chosen(&calls, if soaking() { 1 } else { 9 }) {
        let Some((vault, before)) = kill(strace, scenario, options, call) else {
            tried.missed += 1;
            continue;
        };
        tried.points += 1;
        tried.changing += usize::from(call.changes());
        let judged = scenario.judge(&vault, &before, &reference);
        let judged = match judged {
            Ok(Outcome::Nothing) if scenario.name == IMPORT.name => scenario.again(&vault, &reference),
            judged => judged,
        };
        tried.count(&format!("{} {}", call.name, call.nth), judged);
    }
    tried.must_be_fine(scenario, &calls);
}

/// A vault on which the scenario was killed before this call. A call that only looks may not come: which thread reads a chat is not the
/// same each time; what changes something is.
fn kill(
    strace: &Strace,
    scenario: &Scenario,
    options: &[&str],
    call: &Call,
) -> Option<(forklore_testkit::TestVault, Picture)> {
    let vault = scenario.vault();
    let before = Picture::of(&vault);
    let run = strace.run(&vault, &[options, &["-e", &killed_before(call)]].concat(), scenario.args);
    assert!(run.code.is_none() || !call.changes(), "{}: not killed at {call:?}: {run}", scenario.name);
    run.code.is_none().then_some((vault, before))
}

/// Kills the command that puts things in order, too; if it is to be quick, after one of `every` first kills.
fn kill_twice(strace: &Strace, scenario: &Scenario, every: usize) {
    let reference: Reference = scenario.reference();
    let calls = strace.census(&scenario.vault(), &[], scenario.args);
    let mut tried = Tried::default();
    // Between two changes nothing happens that a second kill could tell apart: those that change nothing are for good measure.
    for (n, call) in calls.iter().filter(|call| call.changes()).enumerate() {
        if !soaking() && n % every != 0 {
            continue;
        }
        tried.points += 1;
        let Some((vault, _)) = kill(strace, scenario, &[], call) else { continue };
        let again = strace.census(&vault, &[], &["tree"]);
        let again: Vec<&Call> = chosen(&again, if soaking() { 6 } else { usize::MAX });
        tried.changing += again.len();
        for second in again.iter().skip(n % 3).step_by(if soaking() { 1 } else { 5 }) {
            let Some((vault, before)) = kill(strace, scenario, &[], call) else { continue };
            let run = strace.run(&vault, &["-e", &killed_before(second)], &["tree"]);
            let at = format!("{} {}, then {} {}", call.name, call.nth, second.name, second.nth);
            if run.code.is_some() {
                // Which thread reads a chat is not the same each time; what changes something is.
                tried.missed += 1;
                if second.changes() {
                    tried.wrong.push(format!("{at}: not killed: {run}"));
                }
                continue;
            }
            tried.second += 1;
            tried.count(&at, scenario.judge(&vault, &before, &reference));
        }
    }
    println!(
        "{}: {} first kills, {} second ones: {:?}",
        scenario.name, tried.points, tried.second, tried.outcomes
    );
    assert!(tried.wrong.is_empty(), "{} violations:\n{}", tried.wrong.len(), tried.wrong.join("\n"));
    assert!(tried.missed * 20 <= tried.second, "{}: {} missed", scenario.name, tried.missed);
    assert!(tried.second >= 8, "{}: {} second kills", scenario.name, tried.second);
    assert!(tried.outcomes.len() == 2, "{}: {:?}", scenario.name, tried.outcomes);
}

#[test]
fn branches_that_are_brought_together_by_a_killed_command_are_whole_or_as_before() {
    let Some(strace) =
        Strace::find("branches_that_are_brought_together_by_a_killed_command_are_whole_or_as_before")
    else {
        return;
    };
    for scenario in &MERGES {
        kill_everywhere(&strace, scenario, &[]);
    }
}

#[test]
fn branches_that_are_brought_together_by_a_killed_command_whose_recovery_is_killed() {
    let test = "branches_that_are_brought_together_by_a_killed_command_whose_recovery_is_killed";
    let Some(strace) = Strace::find(test) else { return };
    for scenario in &MERGES {
        kill_twice(&strace, scenario, 6);
    }
}

macro_rules! killed {
    ($($test:ident, $twice:ident: $n:literal;)*) => {$(
        #[test]
        fn $test() {
            let Some(strace) = Strace::find(stringify!($test)) else { return };
            kill_everywhere(&strace, &SCENARIOS[$n], &[]);
        }

        #[test]
        fn $twice() {
            let Some(strace) = Strace::find(stringify!($twice)) else { return };
            kill_twice(&strace, &SCENARIOS[$n], 4);
        }
    )*};
}

killed! {
    a_killed_checkpoint_is_whole_or_not_there, a_killed_checkpoint_whose_recovery_is_killed: 0;
    a_killed_checkpoint_of_a_group_is_whole_or_not_there, a_killed_checkpoint_of_a_group_whose_recovery_is_killed: 1;
    a_killed_healing_is_whole_or_not_there, a_killed_healing_whose_recovery_is_killed: 2;
    a_killed_deletion_is_whole_or_not_there, a_killed_deletion_whose_recovery_is_killed: 3;
    a_killed_undo_is_whole_or_not_there, a_killed_undo_whose_recovery_is_killed: 4;
}

#[test]
fn a_killed_import_is_whole_or_not_there() {
    let Some(strace) = Strace::find("a_killed_import_is_whole_or_not_there") else { return };
    kill_everywhere(&strace, &IMPORT, &[]);
}

#[test]
fn a_killed_import_whose_recovery_is_killed() {
    let Some(strace) = Strace::find("a_killed_import_whose_recovery_is_killed") else { return };
    // Little is left to be done when an import counts.
    kill_twice(&strace, &IMPORT, 1);
}

/// Where files cannot be renamed without replacing, a file has two names for a moment. The exchange, the fifth rename of a fork and
/// the third of an undo, is let through.
#[test]
fn killed_where_a_rename_takes_two_steps() {
    let Some(strace) = Strace::find("killed_where_a_rename_takes_two_steps") else { return };
    for (scenario, when) in [(SOLO, "1..4"), (UNDO, "1..2"), (UNDO, "4+")] {
        kill_everywhere(&strace, &scenario, &["-e", &format!("inject=renameat2:error=EINVAL:when={when}")]);
    }
}

/// A link that could not be set yet is not set any more once its fork is gone.
#[test]
fn a_late_link_does_not_outlive_its_fork() {
    let Some(strace) = Strace::find("a_late_link_does_not_outlive_its_fork") else { return };
    // Every exchange finds that the file is gone in this instant; all other renames work.
    for (scenario, first, again) in [(SOLO, "5+2", "4..14+2"), (GROUP, "5+2", "4..26+2")] {
        for gone in [&["undo"][..], &["delete", "Fork"]] {
            let vault = scenario.vault();
            let before = vault.snapshot();
            for (when, args) in [(first, scenario.args), (again, gone)] {
                let disturbed = format!("inject=renameat2:error=ENOENT:when={when}");
                let run = strace.run(&vault, &["-e", &disturbed], args);
                assert_eq!(run.code, Some(0), "{run}");
                let left = std::fs::read_dir(vault.root().join(".forklore/tx")).unwrap().count();
                assert_eq!(left, 1, "{} {args:?} leaves no link for later: {run}", scenario.name);
            }
            let tree = vault.run(FORKLORE, &["tree"]);
            assert_eq!(tree.code, Some(0), "{tree}");
            let left = std::fs::read_dir(vault.root().join(".forklore/tx")).unwrap().count();
            assert_eq!(left, 0, "{} {gone:?}: {tree}", scenario.name);
            crate::disk::unchanged(&before, &vault);
        }
    }
}
