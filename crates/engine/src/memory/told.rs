//! [`ToldReport`]: what is remembered at a message: its scene with what that tells, and everybody's entry with where each line comes from.

use forklore_memory::{Answers as _, Entity, Key, Kind};
use forklore_vault::Library;
use schemars::JsonSchema;
use serde::Serialize;

use super::answers::AnswerStore;
use super::status::{MemoryStatus, SceneStatus, WhyReport, of_entity, status};
use super::survey::Survey;

/// What is remembered at a message.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToldReport {
    /// Address of the chat
    pub chat: String,
    /// The message
    pub at: usize,
    /// The scene that the message is in, if it is over
    pub scene: Option<ToldScene>,
    /// What was known of whom when the last scene before the message was over
    pub entries: Vec<WhyReport>,
    /// How memory stands
    pub status: MemoryStatus,
}

/// A scene, and what it tells.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToldScene {
    /// How it stands
    pub scene: SceneStatus,
    /// Who was there
    pub present: Vec<String>,
    /// What happened
    pub happened: Vec<String>,
    /// What it leaves open
    pub open: Vec<String>,
    /// What it settles
    pub resolved: Vec<String>,
    /// How things stand at its end
    pub state: Vec<String>,
    /// What was learnt: of whom, and what
    pub learnt: Vec<(String, Vec<String>)>,
    /// The question that all this answers, and who answered
    pub answer: Option<ToldAnswer>,
}

/// Who has read a scene.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToldAnswer {
    /// Key of the question
    pub question: String,
    /// Who answered, as the model calls itself; or what it was taken over from
    pub model: String,
    /// Tokens that were read
    pub tokens_in: u64,
    /// Tokens that were written
    pub tokens_out: u64,
}

/// Tells what is remembered at a message, or at the last one.
pub fn told(library: &Library, survey: &Survey, answers: &AnswerStore, at: Option<usize>) -> ToldReport {
    let last = survey.line.len().saturating_sub(1);
    let at = at.unwrap_or(last).min(last);
    let status = status(library, survey, answers);
    let standing = &survey.memory.standing;
    let scene = status.scenes.iter().position(|scene| (scene.first..=scene.last).contains(&at)).map(|i| {
        let facts = standing.get(i).map(|standing| &standing.facts);
        let of = |part: fn(&forklore_memory::Facts) -> &Vec<String>| {
            facts.map(|facts| part(facts).clone()).unwrap_or_default()
        };
        let learnt = facts
            .iter()
            .flat_map(|facts| &facts.learnt)
            .map(|learnt| (learnt.name.clone(), learnt.facts.iter().map(|said| said.text.clone()).collect()));
        ToldScene {
            scene: status.scenes[i].clone(),
            present: of(|facts| &facts.present),
            happened: of(|facts| &facts.happened),
            open: of(|facts| &facts.open),
            resolved: of(|facts| &facts.resolved),
            state: of(|facts| &facts.state),
            learnt: learnt.collect(),
            answer: standing.get(i).and_then(|standing| answer(survey, answers, &standing.rests_on)),
        }
    });
    let over = standing.iter().take_while(|standing| standing.scene.last() <= at).last();
    // At the end there is also what was decided after the last scene.
    let known = if at == last {
        &survey.memory.entities[..]
    } else {
        over.map_or(&[][..], |over| &over.entities[..])
    };
    let has = |entity: &&std::sync::Arc<Entity>| !entity.facts.is_empty();
    let entries = known.iter().filter(has).map(|entity| of_entity(library, survey, entity)).collect();
    ToldReport { chat: status.chat.clone(), at, scene, entries, status }
}

/// The answer that tells what happened in a scene, among those that it rests on: the one that counts.
fn answer(survey: &Survey, answers: &AnswerStore, keys: &[Key]) -> Option<ToldAnswer> {
    let inputs = survey.inputs();
    keys.iter().find_map(|key| {
        let key = inputs.kept.get(key).unwrap_or(key);
        let variant = inputs.variants.get(key).copied().unwrap_or(0);
        let answer = answers.known().get(key, variant)?;
        (answer.kind == Kind::Facts).then(|| ToldAnswer {
            question: key.to_string(),
            model: answer.provenance.model.clone(),
            tokens_in: answer.provenance.tokens_in,
            tokens_out: answer.provenance.tokens_out,
        })
    })
}
