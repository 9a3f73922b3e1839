//! [`MemoryStatus`]: what is remembered of a chat and what is missing, with what it would cost; [`WhyReport`]: what an entry rests on.

use forklore_memory::{Answers as _, Ended, Entity, Kind, Memory, Proposal, Reply, Source};
use forklore_vault::Library;
use schemars::JsonSchema;
use serde::Serialize;

use super::answers::AnswerStore;
use super::error::MemoryError;
use super::survey::Survey;

/// How a chat's memory stands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MemoryStatus {
    /// Address of the chat
    pub chat: String,
    /// Whether it is kept
    pub on: bool,
    /// How many messages the chat has
    pub messages: usize,
    /// Its scenes
    pub scenes: Vec<SceneStatus>,
    /// The first message that belongs to no scene yet
    pub open_from: usize,
    /// How many entries memory has
    pub entries: usize,
    /// How many questions are to be asked next; more may follow from their answers
    pub questions: usize,
    /// How many had no acceptable reply, and why the last one had none
    pub parked: Vec<String>,
    /// About how many tokens would be read for all that is missing, also what is not known yet
    pub tokens_in: usize,
    /// About how many would be written
    pub tokens_out: usize,
    /// Tokens that were paid for what is remembered here, read and written
    pub paid: (u64, u64),
    /// What the tokens that would be read and written cost, at the prices that are set
    pub price: f64,
    /// What those cost that were paid
    pub paid_price: f64,
    /// Entries that wait to be approved
    pub proposals: Vec<ProposalStatus>,
    /// The extension that it was taken over from
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<String>,
}

/// How one scene stands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SceneStatus {
    /// Its first message
    pub first: usize,
    /// Its last message
    pub last: usize,
    /// What it is called, if that is known
    pub title: Option<String>,
    /// `ready`, `waiting` (something is to be asked), or `stale` (it was written, and its messages have changed since)
    pub state: &'static str,
    /// Why it ends there: `model`, `provisional`, `hand`, `length`
    pub ended: &'static str,
}

/// An entry that waits to be approved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProposalStatus {
    /// Its title
    pub title: String,
    /// What it says now; nothing if it is new
    pub before: Option<String>,
    /// What it would say
    pub text: String,
}

/// What an entry rests on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WhyReport {
    /// Address of the chat
    pub chat: String,
    /// Title of the entry
    pub title: String,
    /// Other names
    pub aliases: Vec<String>,
    /// Its lines
    pub lines: Vec<EntrySource>,
}

/// Where a line of an entry comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EntrySource {
    /// The line
    pub text: String,
    /// `scene`, `shortened`, `hand` or `elsewhere` (another line of the story has learnt it)
    pub from: &'static str,
    /// The scenes it rests on, with their messages
    pub scenes: Vec<SceneStatus>,
    /// Keys of the questions that were answered for those scenes
    pub questions: Vec<String>,
}

/// Tells how a chat's memory stands.
pub fn status(library: &Library, survey: &Survey, answers: &AnswerStore) -> MemoryStatus {
    let memory = &survey.memory;
    let (mut tokens_in, mut tokens_out) = (0, 0);
    for question in survey.missing(answers) {
        let (read, written) = question.tokens(&survey.line, &survey.ways.prompts, &survey.ways.settings);
        tokens_in += read;
        tokens_out += written;
    }
    let (later_in, later_out) = later(survey);
    let paid = memory.standing.iter().flat_map(|standing| &standing.rests_on).filter_map(|key| {
        answers.known().get(key, 0).map(|answer| (answer.provenance.tokens_in, answer.provenance.tokens_out))
    });
    let parked =
        memory.missing.iter().filter_map(|question| Some(answers.parked(&question.key())?.why.clone()));
    MemoryStatus {
        chat: library.address(survey.c).to_string(),
        on: survey.record.on,
        messages: survey.line.len(),
        scenes: scenes(survey, answers),
        open_from: memory.open(),
        entries: memory.entities.iter().filter(|entity| !entity.facts.is_empty()).count(),
        questions: survey.missing(answers).count(),
        parked: parked.collect(),
        tokens_in: tokens_in + later_in,
        tokens_out: tokens_out + later_out,
        paid: paid.fold((0, 0), |sum, paid| (sum.0 + paid.0, sum.1 + paid.1)),
        price: 0.0,
        paid_price: 0.0,
        proposals: survey.proposals.iter().map(proposed).collect(),
        taken: survey.record.taken.clone(),
    }
}

fn proposed(proposal: &Proposal) -> ProposalStatus {
    ProposalStatus {
        title: proposal.entity.title(),
        before: proposal.before.as_ref().map(|before| before.text()),
        text: proposal.entity.text(),
    }
}

/// About what will be read and written beyond the questions that are known: the messages whose scenes are not found yet, once to find
/// them and once to read them.
fn later(survey: &Survey) -> (usize, usize) {
    let settings = &survey.ways.settings;
    if survey.memory.missing.iter().all(|question| question.kind() != Kind::Boundary) {
        return (0, 0);
    }
    let open = survey.memory.open()..survey.line.len();
    let bytes: usize = survey.line.part(open.clone()).iter().map(|message| message.text.len()).sum();
    let scenes = open.len() / settings.window.max(1);
    (settings.tokens(bytes) * 5 / 2 + scenes * 1500, scenes * 1300)
}

/// All scenes: those whose ends are known, and those that were written and whose ends have to be asked about again.
fn scenes(survey: &Survey, answers: &AnswerStore) -> Vec<SceneStatus> {
    let memory = &survey.memory;
    let mut all: Vec<SceneStatus> = (0..memory.scenes.len()).map(|i| scene(survey, i)).collect();
    let written = &survey.record.scenes;
    if !memory.missing.is_empty() {
        for written in written.iter().skip(all.len()).take_while(|written| written.last < survey.line.len()) {
            let first = all.last().map_or(0, |scene| scene.last + 1);
            if first <= written.last {
                let (title, state, ended) = (None, "waiting", "model");
                all.push(SceneStatus { first, last: written.last, title, state, ended });
            }
        }
    }
    let mut begins = 0;
    for (scene, written) in all.iter_mut().zip(written) {
        // One that a person has made of it, by letting it begin elsewhere, is another.
        let same = (scene.first, scene.last) == (begins, written.last);
        begins = written.last + 1;
        if scene.state == "ready" || !same {
            continue;
        }
        // Where its own messages are what they were, it only waits for something else.
        if !Memory::is_told(survey.ground(answers), scene.first..scene.last + 1) {
            scene.state = "stale";
        }
        scene.title = written.keys.iter().find_map(|key| {
            let key = survey.record.inputs.kept.get(key).unwrap_or(key);
            let Reply::Facts(facts) = &answers.known().get(key, 0)?.reply else { return None };
            Some(facts.title.clone())
        });
    }
    all
}

fn scene(survey: &Survey, i: usize) -> SceneStatus {
    let scene = &survey.memory.scenes[i];
    let standing = survey.memory.standing.get(i);
    SceneStatus {
        first: scene.messages.start,
        last: scene.last(),
        title: standing.map(|standing| standing.facts.title.clone()),
        state: if standing.is_some() { "ready" } else { "waiting" },
        ended: match scene.ended {
            Ended::Answered(_) => "model",
            Ended::Provisional(_) => "provisional",
            Ended::ByHand => "hand",
            Ended::TooLong => "length",
        },
    }
}

/// Tells what an entry rests on: its title, or the name in it.
pub fn why(library: &Library, survey: &Survey, entry: &str) -> Result<WhyReport, MemoryError> {
    Ok(of_entity(library, survey, survey.entity(entry)?))
}

/// What an entity's entry rests on.
pub(super) fn of_entity(library: &Library, survey: &Survey, entity: &Entity) -> WhyReport {
    let lines = entity.facts.iter().map(|fact| {
        let scenes = fact.source.scenes();
        let keys = scenes.iter().filter_map(|i| survey.memory.standing.get(*i));
        EntrySource {
            text: fact.line(),
            from: match fact.source {
                Source::Scenes(_) => "scene",
                Source::Compaction(..) => "shortened",
                Source::Hand => "hand",
                Source::Elsewhere => "elsewhere",
            },
            scenes: scenes.iter().map(|i| scene(survey, *i)).collect(),
            questions: keys
                .filter_map(|standing| standing.rests_on.first())
                .map(ToString::to_string)
                .collect(),
        }
    });
    WhyReport {
        chat: library.address(survey.c).to_string(),
        title: entity.title(),
        aliases: entity.aliases.clone(),
        lines: lines.collect(),
    }
}
