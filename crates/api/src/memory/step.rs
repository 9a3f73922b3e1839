//! One step of asking: [`next()`] tells the question, [`reply()`] takes what a model said to it. For whoever has a model that Forklore
//! does not talk to itself, such as SillyTavern's page with its user's own connection.

use forklore_engine::memory::projection;
use forklore_engine::memory::{MemoryError, MemoryStatus, Survey};
use forklore_engine::pending::PendingEdit;
use forklore_memory::{Again, Provenance, Question, Refusal, Reply};
use forklore_vault::Library;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Desk;
use crate::{Failure, OpenVault};

/// So often a model is asked before its question is parked.
const TRIES: u32 = 3;

/// A chat whose next question is wanted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asking {
    /// Address of the chat
    pub chat: String,
    /// A message whose scene is asked about again, although that was answered
    #[serde(default)]
    pub again: Option<usize>,
}

/// What is to be asked next.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NextReport {
    /// The question; nothing if nothing is missing
    pub question: Option<NextQuestion>,
    /// Why nothing is asked although something is missing
    pub stopped: Option<String>,
    /// Whether something that was answered is not written down yet: `reply` without a key writes it
    pub unwritten: bool,
    /// How memory stands
    pub status: MemoryStatus,
}

/// A question in words.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NextQuestion {
    /// What it is known by
    pub key: String,
    /// What is asked: `boundary`, `facts`, `identity`, `recap`, `compaction`, `combined`
    pub kind: &'static str,
    /// The messages that it is about: the first and the last
    pub about: Option<(usize, usize)>,
    /// What is sent
    pub messages: Vec<Spoken>,
    /// The shape of the reply, as a JSON schema
    pub schema: Value,
    /// How many tokens the reply may have
    pub reply_tokens: usize,
}

/// What somebody says.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Spoken {
    /// Who: `system`, `user` or `assistant`
    pub role: &'static str,
    /// What
    pub content: String,
}

/// What a model said.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replying {
    /// Address of the chat
    pub chat: String,
    /// The question; without one, only what is not written down yet is
    #[serde(default)]
    pub key: Option<String>,
    /// As it was asked for
    #[serde(default)]
    pub again: Option<usize>,
    /// What was said
    #[serde(default)]
    pub said: String,
    /// The question was too long for the model
    #[serde(default)]
    pub too_long: bool,
    /// Which model it was
    #[serde(default)]
    pub model: String,
    /// Tokens that were read, of all tries
    #[serde(default)]
    pub tokens_in: u64,
    /// Tokens that were written
    #[serde(default)]
    pub tokens_out: u64,
    /// How often it was asked until now, this time among them
    #[serde(default)]
    pub tries: u32,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReplyReport {
    /// Whether it is an answer
    pub accepted: bool,
    /// Why not
    pub why: Option<String>,
    /// What is to be sent so that the model says it better; nothing if it is not asked again
    pub ask_again: Option<Vec<Spoken>>,
    /// Ids of the operations that wrote something down
    pub operations: Vec<String>,
    /// What they changed in the chat's own file, for a page that has it in memory
    pub edits: Vec<PendingEdit>,
    /// Name of the chat's lorebook
    pub book: Option<String>,
    /// How memory stands now
    pub status: MemoryStatus,
}

/// What is to be asked next. Nothing is changed.
pub fn next(open: &OpenVault<'_>, asking: &Asking) -> Result<NextReport, Failure> {
    let desk = Desk::of(open)?;
    let shared = open.shared()?;
    let library = &shared.library;
    let found = desk.survey(library, &asking.chat)?;
    if !found.record.on {
        let off = MemoryError::Off(library.chat(found.c).name().to_owned());
        let status = desk.status(library, &found);
        return Ok(NextReport { question: None, stopped: Some(off.to_string()), unwritten: false, status });
    }
    let unwritten = !projection::plan(library, &found, crate::now())?.is_nothing();
    let question = match asking.again {
        Some(at) => Some(found.facts_again(&desk.answers, at)?),
        None => found.missing(&desk.answers).next().cloned(),
    };
    let stopped = question.as_ref().and_then(|_| desk.no_more_today());
    let question = question.filter(|_| stopped.is_none()).map(|question| told(&question, &found));
    Ok(NextReport { question, stopped, unwritten, status: desk.status(library, &found) })
}

/// Takes what was said, and writes down what is remembered then.
pub fn reply(open: &OpenVault<'_>, said: &Replying) -> Result<ReplyReport, Failure> {
    let mut desk = Desk::of(open)?;
    let mut refused = None;
    let mut operations = Vec::new();
    let mut edits = Vec::new();
    if let Some(key) = &said.key {
        let library = open.library()?;
        let found = desk.survey(&library, &said.chat)?;
        let question = asked(&desk, &found, key, said.again)?;
        refused = desk.hear(&library, &found, &question, said)?;
        if let Some(at) = said.again.filter(|_| refused.is_none()) {
            drop(library);
            let chosen = desk.choose_newest(open, &said.chat, at)?;
            operations.extend(chosen.operation);
            edits.extend(chosen.edits);
        }
    }
    let written = desk.write(open, &said.chat)?;
    operations.extend(written.operation);
    edits.extend(written.edits);
    let library = open.library()?;
    let found = desk.survey(&library, &said.chat)?;
    let (why, ask_again) = refused.unzip();
    Ok(ReplyReport {
        accepted: why.is_none(),
        why,
        ask_again: ask_again.flatten(),
        operations,
        edits,
        book: library.chat(found.c).book().map(|(name, _)| name.to_owned()),
        status: desk.status(&library, &found),
    })
}

/// The question that is answered, if it is asked.
fn asked(desk: &Desk, found: &Survey, key: &str, again: Option<usize>) -> Result<Question, Failure> {
    let question = match again {
        Some(at) => {
            Some(found.facts_again(&desk.answers, at)?).filter(|question| question.key().to_string() == key)
        }
        None => found.missing(&desk.answers).find(|question| question.key().to_string() == key).cloned(),
    };
    Ok(question.ok_or(MemoryError::NotAsked)?)
}

/// Why a reply is refused, and what is sent then.
type Refused = (String, Option<Vec<Spoken>>);

impl Desk {
    /// Keeps a reply if it is an answer. Else why not, and what is sent so that the next one is; after several tries it is parked.
    fn hear(
        &mut self,
        library: &Library,
        found: &Survey,
        question: &Question,
        said: &Replying,
    ) -> Result<Option<Refused>, Failure> {
        let silent = said.said.trim().is_empty();
        let read = match Reply::read(question, &said.said) {
            _ if said.too_long => Ok(Reply::TooLong),
            // A model that thinks may have come to the end before it said a word.
            Err(_) if silent => Err(Refusal::Cut),
            read => read,
        };
        let refusal = match read {
            Ok(reply) => {
                let (tokens_in, tokens_out) = (said.tokens_in, said.tokens_out);
                let provenance =
                    Provenance { model: said.model.clone(), tokens_in, tokens_out, ..Provenance::default() };
                self.keep(library, found, question, reply, provenance)?;
                return Ok(None);
            }
            Err(refusal) => refusal.to_string(),
        };
        if said.tries >= TRIES {
            self.park(library, found, question, refusal.clone(), (said.tokens_in, said.tokens_out))?;
            return Ok(Some((refusal, None)));
        }
        let again = Again::new(&said.said, refusal.clone());
        Ok(Some((refusal, Some(spoken(question, found, again.as_ref())))))
    }
}

fn told(question: &Question, found: &Survey) -> NextQuestion {
    let request = question.request(&found.line, &found.ways.prompts);
    NextQuestion {
        key: question.key().to_string(),
        kind: question.kind().as_str(),
        about: question.messages().map(|part| (part.start, part.end.saturating_sub(1))),
        messages: spoken(question, found, None),
        schema: request.schema,
        reply_tokens: request.reply_tokens,
    }
}

fn spoken(question: &Question, found: &Survey, again: Option<&Again>) -> Vec<Spoken> {
    let request = question.request(&found.line, &found.ways.prompts);
    request.messages(again).into_iter().map(|(role, content)| Spoken { role, content }).collect()
}
