//! What is shown, what a fork holds and what `heal` leaves are one state; and undo takes back every byte.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_engine::show::show;
use forklore_engine::{check, heal, undo};
use forklore_fs::{NodeKind, SimFs, VaultPath, Vfs};
use forklore_journal::oplog::OpLog;
use forklore_testkit::play::{Keeper, Story, Truth};
use forklore_vault::{ChatIx, Library, NoProgress, history};

use super::{About, Wrong, judge, law, library, look, states, worse};

/// Every file that is SillyTavern's.
pub(super) fn files(fs: &SimFs) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut todo = vec![VaultPath::root()];
    while let Some(dir) = todo.pop() {
        for node in fs.list(&dir).unwrap() {
            let path = dir.join(&node.name).unwrap();
            if node.name == ".forklore" {
                continue;
            }
            match node.kind {
                NodeKind::Dir => todo.push(path),
                _ => drop(found.insert(path.to_string(), fs.read(&path).unwrap().unwrap())),
            }
        }
    }
    found
}

/// What differs between two sets of files.
pub(super) fn changed(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

pub(super) fn undo_last(fs: &Arc<SimFs>, now: i64) -> Result<(), String> {
    let library = library(fs);
    let log = OpLog::read(&**fs).map_err(|e| e.to_string())?;
    let plan = undo::plan(&library, &log, None, false).map_err(|e| e.to_string())?;
    undo::execute(&library, plan, now).map_err(|e| e.to_string())?;
    Ok(())
}

/// Titles and texts, the queue left out.
pub(super) type Book = BTreeSet<(String, String)>;

pub(super) fn without_queue(entries: impl Iterator<Item = (String, String)>) -> Book {
    entries.filter(|(title, _)| title != "__operation_queue").collect()
}

fn shown(library: &Library, chat: ChatIx, at: usize) -> Result<Book, String> {
    let report = show(library, chat, Some(at)).map_err(|e| e.to_string())?;
    Ok(without_queue(report.book.entries.iter().map(|e| (e.comment().to_owned(), e.content().into_owned()))))
}

/// A fork of a chat, and nothing of it: what is wrong with what it held, or why it was refused.
pub(super) fn fork_and_undo(
    fs: &Arc<SimFs>,
    address: &str,
    at: usize,
    now: i64,
    recorded: bool,
) -> Result<Vec<String>, String> {
    let before = files(fs);
    let here = library(fs);
    let chat = here.find_chat(address).map_err(|e| e.to_string())?;
    let told = shown(&here, chat, at)?;
    let request = ForkRequest {
        kind: Some(ForkKind::Branch),
        at: Some(at),
        ignore_queue: true,
        ..ForkRequest::of(here.address(chat).to_string())
    };
    let plan =
        fork::plan(&here, &request, &Config::default(), "slug of a fork", now).map_err(|e| e.to_string())?;
    let report = fork::execute(&here, plan, now).map_err(|e| e.to_string())?;
    let mut wrong = Vec::new();
    if let Some(name) = report.book.name.as_ref().filter(|_| !report.book.shared) {
        let there = library(fs);
        let book = there.book(name).map_err(|e| e.to_string())?.ok_or("the fork has no book")?;
        let parsed = book.parse().map_err(|e| e.to_string())?;
        let entries = parsed.entries().iter().map(|e| (e.comment().into_owned(), e.content().into_owned()));
        let file = without_queue(entries);
        if file != told {
            wrong.push(format!("the file of the fork is not what is shown: {:?}", differ(&told, &file)));
        }
        let fork = there.find_chat(&report.chat).map_err(|e| e.to_string())?;
        let shown = shown(&there, fork, at)?;
        if shown != told {
            wrong.push(format!("the fork shows something else: {:?}", differ(&told, &shown)));
        }
    }
    // As the command does, if history is kept.
    if recorded {
        look(fs, now);
    }
    undo_last(fs, now)?;
    if recorded {
        look(fs, now);
    }
    let left = changed(&before, &files(fs));
    if !left.is_empty() {
        wrong.push(format!("undo leaves {left:?}"));
    }
    Ok(wrong)
}

pub(super) fn differ(a: &Book, b: &Book) -> Vec<(String, String)> {
    a.symmetric_difference(b).cloned().collect()
}

/// Forks at some messages hold what is shown there, and undo takes all of them back.
pub(super) fn one_state(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let mut wrong = Vec::new();
    for (_, chat, address, messages) in truth.chats() {
        for at in [messages / 3, messages * 2 / 3, messages - 1] {
            let missing = match fork_and_undo(&fs, &address, at, truth.clock(), false) {
                Ok(missing) => missing,
                Err(e) => vec![format!("refused: {e}")],
            };
            if !missing.is_empty() {
                wrong.push(Wrong { chat, at, missing, extra: Vec::new() });
            }
        }
    }
    (truth, wrong)
}

/// Heals everything; what was done, in words.
fn heal_all(fs: &Arc<SimFs>, now: i64) -> Result<Vec<String>, String> {
    let library = library(fs);
    let decide = |_: &heal::Question| Some(heal::Choice::Rebuild);
    let plan = heal::plan(&library, None, &Config::default(), &decide, now, &NoProgress)
        .map_err(|e| e.to_string())?;
    if plan.is_empty() {
        return Ok(Vec::new());
    }
    let did = plan.report.actions.iter().map(|action| format!("{}: {}", action.chat, action.did)).collect();
    let vault: Arc<dyn Vfs> = fs.clone();
    history::before(&vault, &plan.files(&library), now).map_err(|e| e.to_string())?;
    let healed = heal::execute(&library, plan, now).map_err(|e| e.to_string())?;
    // As the program does.
    let log = OpLog::read(&**fs).map_err(|e| e.to_string())?;
    if let Some(id) = &healed.operation {
        history::note(&vault, log.find(id).map_err(|e| e.to_string())?, now).map_err(|e| e.to_string())?;
    }
    Ok(did)
}

/// Every chat has the truth at its end, or `check` says something about it; the second time there is nothing to do; undo takes back all.
pub(super) fn healed(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let before = files(&fs);
    let mut wrong = Vec::new();
    let mut say = |chat: char, at: usize, text: String| {
        wrong.push(Wrong { chat, at, missing: vec![text], extra: Vec::new() });
    };
    match heal_all(&fs, truth.clock()) {
        Err(e) => say('-', 0, format!("heal: {e}")),
        Ok(did) if did.is_empty() => {}
        Ok(_) => {
            match heal_all(&fs, truth.clock()) {
                Ok(again) if again.is_empty() => {}
                other => say('-', 0, format!("heal has something to do again: {other:?}")),
            }
            let library = library(&fs);
            let findings = check::check(&library, None, truth.clock()).findings;
            let found = states(&library, &truth);
            for (c, chat, address, messages) in truth.chats() {
                let at = messages - 1;
                let mut expected = truth.at(c, at);
                expected.live = None;
                let said = findings.iter().any(|f| f.chat.as_deref() == Some(&address));
                if let Ok(found) = &found[&(c, at)]
                    && let Some((mut missing, mut extra)) = expected.judge(found).filter(|_| !said)
                {
                    missing.retain(|entry| About::Facts.is(entry));
                    extra.retain(|entry| About::Facts.is(entry));
                    if !missing.is_empty() || !extra.is_empty() {
                        say(chat, at, format!("after heal missing {missing:?}, extra {extra:?}"));
                    }
                }
            }
            match undo_last(&fs, truth.clock()) {
                Err(e) => say('-', 0, format!("undo of heal: {e}")),
                Ok(()) => {
                    let left = changed(&before, &files(&fs));
                    if !left.is_empty() {
                        say('-', 0, format!("undo of heal leaves {left:?}"));
                    }
                }
            }
        }
    }
    (truth, wrong)
}

/// What was right before `heal` is right afterwards.
pub(super) fn right_after_heal(story: &Story) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let before = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    let _nothing_to_do = heal_all(&fs, truth.clock());
    let after = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    (truth, worse(&before, after))
}

#[test]
fn a_fork_is_what_is_shown() {
    for kind in [(Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true), (Keeper::Hand, false)] {
        law("one state", kind, &one_state);
    }
}

#[test]
fn heal_brings_the_truth_or_says_why() {
    for kind in
        [(Keeper::Recap, false), (Keeper::Recap, true), (Keeper::Memory, false), (Keeper::Memory, true)]
    {
        law("healed", kind, &healed);
    }
}

#[test]
fn heal_makes_no_answer_wrong() {
    for kind in
        [(Keeper::Recap, false), (Keeper::Recap, true), (Keeper::Memory, false), (Keeper::Memory, true)]
    {
        law("right after heal", kind, &right_after_heal);
    }
}
