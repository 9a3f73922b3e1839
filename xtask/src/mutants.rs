//! [`mutants`]: for each rule that the state of a story, or its memory, is worked out by, a deliberate break. The truth machine, or memory's laws,
//! must find every one of them: a rule that can be broken unseen is one that nobody has proven.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// A rule, and what breaks it: a text of a file that is there once, and what stands in its place.
struct Mutant {
    rule: &'static str,
    file: &'static str,
    was: &'static str,
    becomes: &'static str,
}

/// The laws that are tried first find most.
const LAWS: [&str; 7] = [
    "truth::exact",
    "truth::live",
    "truth::steady",
    "truth::told",
    "truth::whole",
    "truth::together",
    "strangers::",
];

const MUTANTS: &[Mutant] = &[
    Mutant {
        rule: "what a scene wrote belongs to those who have the scene",
        file: "crates/core/src/state/view.rs",
        was: "ours.unwrap_or(Place::Elsewhere(scene.origin))",
        becomes: "ours.unwrap_or(Place::Ours(scene.origin.message))",
    },
    Mutant {
        rule: "a memory of messages after the fork is not the fork's",
        file: "crates/core/src/state/told.rs",
        was: "filter(|above| origin.message <= above.limit && (shares || !self.is_after(difference, above)))",
        becomes: "filter(|above| shares || !self.is_after(difference, above))",
    },
    Mutant {
        rule: "a hand is seen between two looks, not anywhere",
        file: "crates/core/src/state/view.rs",
        was: "let place = self.by_hand(*chat, difference);",
        becomes: "let place = Place::Ours(0);",
    },
    Mutant {
        rule: "before a scene wrote onto an entry a hand may have",
        file: "crates/core/src/state/logs.rs",
        was: "if step.after.is_none() {",
        becomes: "if step.after.is_some() {",
    },
    Mutant {
        rule: "an event was made once, whatever has its title later",
        file: "crates/core/src/state/attribute.rs",
        was: "told.insert((scene, entry.comment.to_string(), difference.line));",
        becomes: "let _ = (scene, entry);",
    },
    Mutant {
        rule: "a renamed chat is the one that its forks call by its old name",
        file: "crates/vault/src/lineage/lost.rs",
        was: "self.named(story, name).or_else(|| self.called_by_forks(story, name))",
        becomes: "self.named(story, name)",
    },
    Mutant {
        rule: "who has not seen a copy came before it",
        file: "crates/vault/src/history/evidence.rs",
        was: "not_after = not_after.min(copy.time);",
        becomes: "not_after = not_after.max(copy.time);",
    },
    Mutant {
        rule: "a chat that is gone is there when a state is worked out",
        file: "crates/vault/src/state/lore.rs",
        was: "let all = self.with_ghosts();",
        becomes: "let all = self;",
    },
    Mutant {
        rule: "who went before a look was not played then",
        file: "crates/vault/src/history/players.rs",
        was: "went < i && !together(went)",
        becomes: "went > i && !together(went)",
    },
    Mutant {
        rule: "who is gone wrote nothing afterwards",
        file: "crates/core/src/state/attribute.rs",
        was: "SeenBy::Look(seq, _) => *seq >= heir.from,",
        becomes: "SeenBy::Look(seq, _) => *seq < heir.from,",
    },
    Mutant {
        rule: "who had the name of a fork's parent when that came is its parent",
        file: "crates/vault/src/history/ghosts.rs",
        was: "begun.is_some_and(|begun| !history.is_before(first, begun))",
        becomes: "begun.is_some_and(|begun| history.is_before(first, begun))",
    },
    Mutant {
        rule: "nobody comes from a chat that went before he came",
        file: "crates/vault/src/history/ghosts.rs",
        was: "is_none_or(|went| !history.is_before(went, first))",
        becomes: "is_none_or(|went| went != first)",
    },
    Mutant {
        rule: "who had an earlier book of a name has nothing to do with this one",
        file: "crates/vault/src/history/timeline.rs",
        was: "again.is_some_and(|again| self.is_before(went, *again))",
        becomes: "again.is_some_and(|again| self.is_before(*again, went))",
    },
    Mutant {
        rule: "a chat that came after a look did nothing before it",
        file: "crates/core/src/state/attribute.rs",
        was: "is_there && head(before) != head(after)",
        becomes: "(is_there || after.len() > 1) && head(before) != head(after)",
    },
    Mutant {
        rule: "who was saved last had the book before them",
        file: "crates/core/src/state/attribute.rs",
        was: "(hand(Some(last)), vec![*one])",
        becomes: "(hand(Some(*one)), vec![last])",
    },
    Mutant {
        rule: "what others did to a thing since it was made does not come along with what is written anew",
        file: "crates/core/src/state/fold.rs",
        was: "let image = write(made, before, after);",
        becomes: "let image = write(before, before, after).called(made.uid, after.comment.clone());",
    },
    Mutant {
        rule: "a note that has the number of a deleted consolidation has switched nothing off",
        file: "crates/core/src/adapter/memory_books.rs",
        was: "other.uid == Some(uid) && is_summary(other.raw())",
        becomes: "other.uid == Some(uid)",
    },
    Mutant {
        rule: "two memories of other messages are two, whatever their titles",
        file: "crates/core/src/state/thing.rs",
        was: "(Some(a), Some(b)) => a != b,",
        becomes: "(Some(_), Some(_)) => false,",
    },
    Mutant {
        rule: "lines of another line are not taken over with our own",
        file: "crates/core/src/state/merge.rs",
        was: "let foreign = |line: &&str| has(before, line) && !has(ours, line);",
        becomes: "let foreign = |line: &&str| line.is_empty() && !has(ours, line);",
    },
    Mutant {
        rule: "what was in a copy's original only later is not in the copy",
        file: "crates/core/src/state/build.rs",
        was: "difference.shown > copied && !difference.line",
        becomes: "difference.shown > copied && difference.line",
    },
    Mutant {
        rule: "an extension's mark dates an entry also where another extension has kept it",
        file: "crates/core/src/state/mark.rs",
        was: "if !keepers.are_several() {",
        becomes: "if keepers.are_several() {",
    },
    Mutant {
        rule: "the switch of an arc's sources goes with the arc",
        file: "crates/core/src/adapter/memory_books.rs",
        was: "Some(summary) => vec![(made, switched_on(entry)), (summed_up(summary, all), entry.clone())],",
        becomes: "Some(summary) => vec![(summed_up(summary, all).and(made), entry.clone())],",
    },
    Mutant {
        rule: "a side prompt keeps the text that it replaced",
        file: "crates/core/src/adapter/memory_books.rs",
        was: "prior.filter(|prior| !prior.trim().is_empty() && *prior != entry.content())",
        becomes: "prior.filter(|prior| prior.trim().is_empty() && *prior != entry.content())",
    },
    Mutant {
        rule: "an event is the scene's whose running recap names it",
        file: "crates/vault/src/state/family.rs",
        was: "self.find_events(&mut found);",
        becomes: "let _ = Self::find_events;",
    },
    Mutant {
        rule: "a running recap that was wiped still names its events in history",
        file: "crates/vault/src/state/family.rs",
        was: "lately(&chat.path, &older)",
        becomes: "lately(&chat.path, &|_| None)",
    },
    Mutant {
        rule: "what was looked at together was there together",
        file: "crates/vault/src/history/evidence.rs",
        was: "let first = before.last().unwrap_or(seen);",
        becomes: "let first = before.last().map_or(seen, |_| seen);",
    },
    Mutant {
        rule: "who looked at two chats at once does not know who was played",
        file: "crates/vault/src/history/players.rs",
        was: "if others.clone().count() == 1 {",
        becomes: "if others.peek().is_some() {",
    },
    Mutant {
        rule: "a note between two looks is carried and marked, as it was before the second one",
        file: "crates/core/src/state/fold.rs",
        was: "if (change.rewrites || is_first_looked_at(change))",
        becomes: "if (change.rewrites && is_first_looked_at(change))",
    },
    Mutant {
        rule: "where clocks go wrong, recaps tell when a look was",
        file: "crates/vault/src/history/evidence.rs",
        was: "|| !is_clock_wrong(sights)",
        becomes: "|| is_clock_wrong(sights)",
    },
    Mutant {
        rule: "who makes a fork goes on in the fork, although its parent is saved once more",
        file: "crates/vault/src/history/players.rs",
        was: "fork.filter(|fork| head == parent.heads[n].1 && !fork.is_checkpoint)",
        becomes: "fork.filter(|fork| head > parent.heads[n].1 && !fork.is_checkpoint)",
    },
    Mutant {
        rule: "a swipe dates its message anew, but it was there before",
        file: "crates/core/src/story/moment.rs",
        was: "map_or(shown, |first| first.min(shown))",
        becomes: "map_or(shown, |first| first.max(shown))",
    },
    Mutant {
        rule: "the text of a copy tells of its original only if it is older",
        file: "crates/vault/src/state/copied.rs",
        was: "!self.fresh && !self.is_younger(there, &image)",
        becomes: "!self.fresh && self.is_younger(there, &image)",
    },
    Mutant {
        rule: "a shared book that another chat renamed goes on under its new name",
        file: "crates/vault/src/state/lore.rs",
        was: "fork.is_none_or(|fork| message <= fork) || gone(book);",
        becomes: "fork.is_none_or(|fork| message <= fork) && !gone(book);",
    },
    Mutant {
        rule: "a fork's own scenes are not its parent's",
        file: "crates/vault/src/lineage/line.rs",
        was: "left = gone.unwrap_or(i64::MAX).min(left);",
        becomes: "left = gone.map_or(i64::MAX, |_| i64::MAX).min(left);",
    },
    Mutant {
        rule: "a book that was built from another holds what that held, whoever wrote it",
        file: "crates/core/src/state/view.rs",
        was: "&& difference.shown <= built.sight",
        becomes: "&& difference.shown < built.message.min(0)",
    },
    Mutant {
        rule: "a book that a fork renamed is known by what was made of messages that the fork does not have",
        file: "crates/vault/src/state/renamed.rs",
        was: "Ok(proven.then(|| before.to_owned()))",
        becomes: "Ok((proven && users.is_empty()).then(|| before.to_owned()))",
    },
    Mutant {
        rule: "a book that had three names is one",
        file: "crates/vault/src/state/renamed.rs",
        was: "std::iter::successors(later.get(first), |name| later.get(*name))",
        becomes: "std::iter::successors(later.get(first), |_| None)",
    },
    Mutant {
        rule: "what was replaced is younger than a look that saw the book without it",
        file: "crates/core/src/state/attribute.rs",
        was: "mark.by_then && !claims.is_younger(difference, origin)",
        becomes: "mark.by_then && !(claims.is_younger(difference, origin) && origin.message == usize::MAX)",
    },
    Mutant {
        rule: "what the chat above added later is not in what a branch writes onto it",
        file: "crates/core/src/state/fold.rs",
        was: "filter(|(chat, _)| Some(*chat) != change.by)",
        becomes: "filter(|(chat, _)| Some(*chat) == change.by && false)",
    },
    Mutant {
        rule: "memory: an answer that is kept for another question is its answer",
        file: "crates/memory/src/ground.rs",
        was: "of(&key).or_else(|| of(self.inputs.kept.get(&key)?))",
        becomes: "of(&key)",
    },
    Mutant {
        rule: "memory: a locked entry learns nothing",
        file: "crates/memory/src/fold.rs",
        was: "if self.all[i].hold == Hold::Free {",
        becomes: "if self.all[i].hold != Hold::Deleted {",
    },
    Mutant {
        rule: "memory: a fork inside the look-ahead knows the end that was found",
        file: "crates/memory/src/boundary.rs",
        was: "return self.provisional();",
        becomes: "return Next::Open;",
    },
    Mutant {
        rule: "memory: a question is about names that its scene has",
        file: "crates/memory/src/identity.rs",
        was: "kinds.contains(named.kind.as_str()) && there(words)",
        becomes: "kinds.contains(named.kind.as_str()) && (there(words) || !words.is_empty())",
    },
    Mutant {
        rule: "memory: a reply chooses among what was asked",
        file: "crates/memory/src/reply.rs",
        was: "Ok(at) if (from..=to).contains(&at) =>",
        becomes: "Ok(at) if at >= from.min(to) =>",
    },
    Mutant {
        rule: "memory: four make one",
        file: "crates/memory/src/recap.rs",
        was: "const PARTS: usize = 4;",
        becomes: "const PARTS: usize = 2;",
    },
    Mutant {
        rule: "memory: nothing is shown that was not approved",
        file: "crates/memory/src/approve.rs",
        was: "if free || approved.contains(&entity.version()) {",
        becomes: "if free || !approved.is_empty() {",
    },
    Mutant {
        rule: "memory: scenes end where a person says",
        file: "crates/memory/src/boundary.rs",
        was: "if let Some(at) = by_hand.filter(|at| *at < end) {",
        becomes: "if let Some(at) = by_hand.filter(|at| *at + 1 < end && i > 0) {",
    },
];

/// Breaks one rule after the other, or those that say `only`, in a copy of the sources.
pub(crate) fn mutants(only: Option<&str>) -> Result<()> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the chores have a folder above them")?;
    let copy = root.join("target/mutants");
    let listed = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output()?;
    ensure!(listed.status.success(), "git does not say which files there are");
    for file in listed.stdout.split(|byte| *byte == 0).filter(|file| !file.is_empty()) {
        let file = std::str::from_utf8(file)?;
        let (from, to) = (root.join(file), copy.join(file));
        std::fs::create_dir_all(to.parent().unwrap_or(&copy))?;
        // Only what has changed is built again.
        if std::fs::read(&to).ok() != Some(std::fs::read(&from)?) {
            std::fs::copy(from, to)?;
        }
    }
    let mut unseen = Vec::new();
    let chosen = || MUTANTS.iter().filter(|mutant| only.is_none_or(|only| mutant.rule.contains(only)));
    for laws in [Laws::TruthMachine, Laws::Memory] {
        if chosen().any(|mutant| Laws::of(mutant) == laws) {
            ensure!(!laws.find(&copy)?, "something is found where nothing is broken");
        }
    }
    for mutant @ Mutant { rule, file, was, becomes } in chosen() {
        let path = copy.join(file);
        let whole = std::fs::read_to_string(&path)?;
        ensure!(whole.matches(was).count() == 1, "{file} has not exactly one {was:?}: {rule}");
        std::fs::write(&path, whole.replace(was, becomes))?;
        let found = Laws::of(mutant).find(&copy);
        std::fs::write(&path, whole)?;
        let word = if found? { "found" } else { "NOT FOUND" };
        println!("== {word}: {rule}");
        if word != "found" {
            unseen.push(*rule);
        }
    }
    if !unseen.is_empty() {
        bail!("{} of {} broken rules were not found: {}", unseen.len(), chosen().count(), unseen.join("; "));
    }
    println!("== all {} broken rules were found", chosen().count());
    Ok(())
}

/// Who has to find it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Laws {
    TruthMachine,
    Memory,
}

impl Laws {
    fn of(mutant: &Mutant) -> Self {
        if mutant.file.starts_with("crates/memory/") { Self::Memory } else { Self::TruthMachine }
    }

    /// Whether a law does not hold.
    fn find(self, copy: &Path) -> Result<bool> {
        let (package, laws): (&str, &[&str]) = match self {
            Self::TruthMachine => ("forklore-engine", &LAWS),
            Self::Memory => ("forklore-memory", &[""]),
        };
        let cargo = |args: &[&str]| {
            let mut command = Command::new("cargo");
            command.current_dir(copy).env("CARGO_TARGET_DIR", copy.join("target")).args(args);
            command.args(["--package", package, "--test", "it"]);
            command
        };
        ensure!(cargo(&["test", "--no-run"]).status()?.success(), "what is broken does not build");
        for law in laws {
            let out = cargo(&["test"]).args(["--", law]).output()?;
            if !out.status.success() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_broken_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for Mutant { rule, file, was, .. } in MUTANTS {
            let text = std::fs::read_to_string(root.join(file)).unwrap();
            assert_eq!(text.matches(was).count(), 1, "{file} has not exactly one {was:?}: {rule}");
        }
    }
}
