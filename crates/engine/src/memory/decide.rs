//! [`Choice`]: what an owner decides about a chat's memory, and [`decide`], which gives the record with it. Nothing is asked for it, and
//! nothing is written here.

use std::collections::HashSet;

use forklore_memory::{Answers as _, Decision, EntityId, Key, Kind, Question};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answers::AnswerStore;
use super::error::MemoryError;
use super::survey::Survey;
use crate::memory_record::MemoryRecord;

/// Something that is decided.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Choice {
    /// A scene ends with this message.
    Break(usize),
    /// No scene ends with this message.
    Join(usize),
    /// What was written of the scene that this message is in still holds, although the message was edited.
    Keep(usize),
    /// An entry stays as it is, by its title or a name in it.
    Lock(String),
    /// An entry is memory's again.
    Release(String),
    /// An entry is not wanted.
    Delete(String),
    /// An entry says this.
    Say {
        /// Its title or a name in it
        entry: String,
        /// What it says
        text: String,
    },
    /// An entry may be written as it is proposed.
    Approve(String),
    /// All of them may.
    ApproveAll,
}

/// The record with what was decided.
pub fn decide(
    survey: &Survey,
    answers: &AnswerStore,
    choices: &[Choice],
) -> Result<MemoryRecord, MemoryError> {
    let mut record = survey.record.clone();
    for choice in choices {
        match choice {
            Choice::Break(at) => {
                within(survey, *at)?;
                record.inputs.no_breaks.remove(at);
                record.inputs.breaks.insert(*at);
            }
            Choice::Join(at) => {
                within(survey, *at)?;
                if !record.inputs.breaks.remove(at) {
                    record.inputs.no_breaks.insert(*at);
                }
            }
            Choice::Keep(at) => keep(survey, answers, &mut record, *at)?,
            Choice::Lock(entry) => {
                let text = survey.entity(entry)?.text();
                about(survey, &mut record, entry, Decision::Locked(text))?;
            }
            Choice::Release(entry) => about(survey, &mut record, entry, Decision::Released)?,
            Choice::Delete(entry) => about(survey, &mut record, entry, Decision::Deleted)?,
            Choice::Say { entry, text } => about(survey, &mut record, entry, Decision::Text(text.clone()))?,
            Choice::Approve(entry) => {
                let found = survey.proposals.iter().find(|proposal| proposal.entity.is_called(entry));
                let found = found.ok_or_else(|| MemoryError::NoProposal(entry.clone()))?;
                record.approved.insert(found.entity.version());
            }
            Choice::ApproveAll => {
                record.approved.extend(survey.proposals.iter().map(|proposal| proposal.entity.version()));
            }
        }
    }
    Ok(record)
}

fn within(survey: &Survey, at: usize) -> Result<(), MemoryError> {
    let there = at < survey.line.len();
    if there { Ok(()) } else { Err(MemoryError::NoMessage { at, messages: survey.line.len() }) }
}

/// Decides about an entry, from the end of the chat on.
fn about(
    survey: &Survey,
    record: &mut MemoryRecord,
    entry: &str,
    decision: Decision,
) -> Result<(), MemoryError> {
    let id: EntityId = survey.entity(entry)?.id.clone();
    let head = survey.line.len().saturating_sub(1);
    record.inputs.entries.entry(head).or_default().push((id, decision));
    Ok(())
}

/// Keeps what was written of a scene: each question that is missing because of an edit in it has the answer of the question that the scene
/// was written from.
fn keep(
    survey: &Survey,
    answers: &AnswerStore,
    record: &mut MemoryRecord,
    at: usize,
) -> Result<(), MemoryError> {
    within(survey, at)?;
    let none = || MemoryError::NothingToKeep(at);
    let i = record.scenes.iter().position(|written| at <= written.last).ok_or_else(none)?;
    let mut tried = survey.again();
    tried.record = record.clone();
    tried.compute(answers);
    // Where the scene ends may be asked again as well, and where the one before it does: they end where they were written to end.
    while tried.memory.scenes.len() <= i {
        let last = record.scenes[tried.memory.scenes.len()].last;
        if !tried.record.inputs.breaks.insert(last) {
            return Err(none());
        }
        tried.compute(answers);
    }
    let mut old: Vec<(Kind, Key)> = Vec::new();
    for key in &record.scenes[i].keys {
        let kept = record.inputs.kept.get(key).unwrap_or(key);
        old.extend(answers.known().get(kept, 0).map(|answer| (answer.kind, *kept)));
    }
    let mut used: HashSet<Key> = HashSet::new();
    let mut kept = 0;
    // One that is kept may let the next one show itself: what was told, then who that was.
    loop {
        let scene = tried.memory.scenes.get(i).ok_or_else(none)?.messages.clone();
        let of_scene = |question: &&Question| {
            question.messages().is_some_and(|part| scene.contains(&part.start) && part.end <= scene.end)
        };
        let missing: Vec<Question> = tried.memory.missing.iter().filter(of_scene).cloned().collect();
        let mut more = false;
        for question in missing {
            let same = old.iter().find(|(kind, key)| *kind == question.kind() && !used.contains(key));
            if let Some((_, key)) = same {
                used.insert(*key);
                tried.record.inputs.kept.insert(question.key(), *key);
                (kept, more) = (kept + 1, true);
            }
        }
        if !more {
            break;
        }
        tried.compute(answers);
    }
    if kept == 0 {
        return Err(none());
    }
    record.inputs = tried.record.inputs;
    Ok(())
}
