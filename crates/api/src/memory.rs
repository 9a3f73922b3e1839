//! `memory`: what is remembered of a chat; turning it on and off, asking what is missing, and what an entry rests on.

use forklore_engine::memory::projection::{self, MemoryReport};
use forklore_engine::memory::{
    AnswerStore, MemoryError, MemoryStatus, Parked, Survey, WhyReport, status, survey, why,
};
use forklore_memory::{Provenance, Question, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Failure, OpenVault, now};

/// A chat whose memory is turned on or off.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switching {
    /// Address of the chat
    pub chat: String,
    /// Whether it is kept from now on
    pub on: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// A chat whose missing questions are asked.
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// Address of the chat
    pub chat: String,
    /// How many questions at most; all if left out
    pub at_most: Option<usize>,
    /// Whether questions that had no acceptable reply are asked again
    pub again: bool,
}

/// What came of asking.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunReport {
    /// How many questions were asked
    pub asked: usize,
    /// Tokens that were read for them
    pub tokens_in: u64,
    /// Tokens that were written
    pub tokens_out: u64,
    /// Ids of the operations that wrote it down
    pub operations: Vec<String>,
    /// Why it did not go on; nothing if it is done
    pub stopped: Option<String>,
    /// How memory stands now
    pub status: MemoryStatus,
}

/// What came of one question.
pub enum Asked {
    /// An accepted reply
    Answered(Box<(Reply, Provenance)>),
    /// No acceptable reply, and why
    Parked(String),
    /// It cannot be asked now: nothing else is asked either
    Stopped(String),
}

/// How memory stands.
pub fn memory_status(open: &OpenVault<'_>, chat: &str) -> Result<MemoryStatus, Failure> {
    let library = open.library()?;
    let answers = AnswerStore::open(&open.fs).map_err(MemoryError::from)?;
    let found = survey(&library, library.find_chat(chat)?, &answers)?;
    Ok(status(&library, &found, &answers))
}

/// What an entry rests on.
pub fn memory_why(open: &OpenVault<'_>, chat: &str, entry: &str) -> Result<WhyReport, Failure> {
    let library = open.library()?;
    let answers = AnswerStore::open(&open.fs).map_err(MemoryError::from)?;
    let found = survey(&library, library.find_chat(chat)?, &answers)?;
    Ok(why(&library, &found, entry)?)
}

/// Turns it on or off. What it would cost is told with it.
pub fn switch(open: &OpenVault<'_>, switching: &Switching) -> Result<MemoryStatus, Failure> {
    let library = open.library_to_change(switching.dry_run)?;
    let answers = AnswerStore::open(&open.fs).map_err(MemoryError::from)?;
    let found = survey(&library, library.find_chat(&switching.chat)?, &answers)?;
    if switching.on {
        projection::allowed(&library, &found)?;
    }
    if found.record.on != switching.on && !switching.dry_run {
        projection::switch(&library, &found, switching.on, now())?;
    }
    Ok(MemoryStatus { on: switching.on, ..status(&library, &found, &answers) })
}

/// Asks what is missing and writes it down, scene by scene. The vault is held only while something is written, not while a model thinks.
/// Every answer is kept at once: whoever is stopped goes on where they were.
pub fn run(
    open: &OpenVault<'_>,
    running: &Running,
    ask: &mut dyn FnMut(&Question, &Survey) -> Asked,
    told: &dyn Fn(&MemoryStatus, usize),
) -> Result<RunReport, Failure> {
    let mut answers = AnswerStore::open(&open.fs).map_err(MemoryError::from)?;
    let (mut asked, mut tokens_in, mut tokens_out) = (0, 0, 0);
    let mut operations = Vec::new();
    let mut stopped = None;
    loop {
        let library = open.library()?;
        let c = library.find_chat(&running.chat)?;
        let mut found = survey(&library, c, &answers)?;
        if !found.record.on {
            return Err(MemoryError::Off(library.chat(c).name().to_owned()).into());
        }
        projection::allowed(&library, &found)?;
        if running.again && asked == 0 {
            let parked: Vec<_> = found.memory.missing.iter().map(Question::key).collect();
            parked.into_iter().try_for_each(|key| answers.unpark(key)).map_err(MemoryError::from)?;
        }
        // As long as nothing new can be written, there is no need to read the vault again.
        while projection::plan(&library, &found, now())?.is_nothing() && stopped.is_none() {
            told(&status(&library, &found, &answers), asked);
            let Some(question) = found.missing(&answers).next().cloned() else { break };
            if running.at_most.is_some_and(|most| asked >= most) {
                stopped = Some("as many questions were asked as were allowed".to_owned());
                break;
            }
            asked += 1;
            match ask(&question, &found) {
                Asked::Answered(answered) => {
                    let (reply, provenance) = *answered;
                    tokens_in += provenance.tokens_in;
                    tokens_out += provenance.tokens_out;
                    let answer = found.answer(&question, reply, provenance);
                    answers.add(answer).map_err(MemoryError::from)?;
                }
                Asked::Parked(why) => {
                    let parked = Parked { key: question.key(), why, at: now() };
                    answers.park(parked).map_err(MemoryError::from)?;
                }
                Asked::Stopped(why) => stopped = Some(why),
            }
            found.compute(&answers);
        }
        drop(library);
        match write(open, &running.chat, &answers)?.operation {
            Some(operation) => operations.push(operation),
            None => {
                let library = open.library()?;
                let found = survey(&library, library.find_chat(&running.chat)?, &answers)?;
                let status = status(&library, &found, &answers);
                return Ok(RunReport { asked, tokens_in, tokens_out, operations, stopped, status });
            }
        }
    }
}

/// Writes down what is remembered by now, of the chat as it is by now.
fn write(open: &OpenVault<'_>, chat: &str, answers: &AnswerStore) -> Result<MemoryReport, Failure> {
    let library = open.library_to_change(false)?;
    let found = survey(&library, library.find_chat(chat)?, answers)?;
    let plan = projection::plan(&library, &found, now())?;
    Ok(projection::execute(&library, &found, plan, now())?)
}
