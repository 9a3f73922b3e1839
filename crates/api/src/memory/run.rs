//! [`run`]: asks what is missing until nothing is.

use forklore_engine::memory::projection::{self, MemoryReport};
use forklore_engine::memory::{MemoryError, MemoryStatus, Parked, Spent, Survey};
use forklore_memory::{Provenance, Question, Reply};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Desk, bill};
use crate::{Failure, OpenVault, now};

/// A chat whose missing questions are asked.
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// Address of the chat
    pub chat: String,
    /// How many questions at most; all if left out
    pub at_most: Option<usize>,
    /// Whether questions that had no acceptable reply are asked again
    pub retry: bool,
    /// A message whose scene is asked about again, although that was answered
    pub again: Option<usize>,
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
    /// What that costs at the prices that are set
    pub price: f64,
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
    /// No acceptable reply, why, and the tokens that were read and written for it
    Parked(String, u64, u64),
    /// It cannot be asked now: nothing else is asked either
    Stopped(String),
}

/// Asks what is missing and writes it down, scene by scene. The vault is held only while something is written, not while a model thinks.
/// Every answer is kept at once: whoever is stopped goes on where they were.
pub fn run(
    open: &OpenVault<'_>,
    running: &Running,
    ask: &mut dyn FnMut(&Question, &Survey) -> Asked,
    told: &dyn Fn(&MemoryStatus, usize),
) -> Result<RunReport, Failure> {
    let mut desk = Desk::of(open)?;
    let (mut asked, mut tokens_in, mut tokens_out) = (0, 0, 0);
    let mut operations = Vec::new();
    let mut stopped = None;
    let mut again = running.again;
    loop {
        let library = open.library()?;
        let mut found = desk.survey(&library, &running.chat)?;
        if !found.record.on {
            return Err(MemoryError::Off(library.chat(found.c).name().to_owned()).into());
        }
        projection::allowed(&library, &found)?;
        if running.retry && asked == 0 {
            desk.unpark(&found)?;
        }
        // As long as nothing new can be written, there is no need to read the vault again.
        while projection::plan(&library, &found, now())?.is_nothing() && stopped.is_none() {
            told(&desk.status(&library, &found), asked);
            let question = match again {
                Some(at) => Some(found.facts_again(&desk.answers, at)?),
                None => found.missing(&desk.answers).next().cloned(),
            };
            let Some(question) = question else { break };
            if running.at_most.is_some_and(|most| asked >= most) {
                stopped = Some("as many questions were asked as were allowed".to_owned());
                break;
            }
            if let Some(why) = desk.no_more_today() {
                stopped = Some(why);
                break;
            }
            asked += 1;
            match ask(&question, &found) {
                Asked::Answered(answered) => {
                    let (reply, provenance) = *answered;
                    tokens_in += provenance.tokens_in;
                    tokens_out += provenance.tokens_out;
                    desk.keep(&library, &found, &question, reply, provenance)?;
                }
                Asked::Parked(why, read, wrote) => {
                    tokens_in += read;
                    tokens_out += wrote;
                    desk.park(&library, &found, &question, why, (read, wrote))?;
                }
                Asked::Stopped(why) => stopped = Some(why),
            }
            if again.is_some() && stopped.is_none() {
                // Which of the answers counts is a decision, and is written down as one.
                break;
            }
            found.compute(&desk.answers);
        }
        drop(library);
        if let Some(at) = again.take().filter(|_| stopped.is_none()) {
            operations.extend(desk.choose_newest(open, &running.chat, at)?.operation);
            continue;
        }
        match desk.write(open, &running.chat)?.operation {
            Some(operation) => operations.push(operation),
            None => {
                let library = open.library()?;
                let found = desk.survey(&library, &running.chat)?;
                let status = desk.status(&library, &found);
                let price = desk.config.memory.price(tokens_in, tokens_out);
                return Ok(RunReport { asked, tokens_in, tokens_out, price, operations, stopped, status });
            }
        }
    }
}

impl Desk {
    /// Why nothing more may be asked today.
    pub(super) fn no_more_today(&self) -> Option<String> {
        let most = u64::from(self.config.memory.daily_tokens);
        (most > 0 && bill::today(&self.answers) >= most)
            .then(|| format!("the {most} tokens that memory may use on a day are used up"))
    }

    /// Keeps an answer.
    pub(super) fn keep(
        &mut self,
        library: &forklore_vault::Library,
        found: &Survey,
        question: &Question,
        reply: Reply,
        provenance: Provenance,
    ) -> Result<(), Failure> {
        let story = library.story(library.chat(found.c).story()).name().to_owned();
        let answer = found.answer(question, reply, Provenance { story, at: now(), ..provenance });
        Ok(self.answers.add(answer).map_err(MemoryError::from)?)
    }

    /// Keeps that there is none.
    pub(super) fn park(
        &mut self,
        library: &forklore_vault::Library,
        found: &Survey,
        question: &Question,
        why: String,
        (tokens_in, tokens_out): (u64, u64),
    ) -> Result<(), Failure> {
        let story = library.story(library.chat(found.c).story()).name().to_owned();
        let spent = Spent { at: now(), story, tokens_in, tokens_out };
        let parked = Parked { key: question.key(), why, at: now(), spent };
        Ok(self.answers.park(parked).map_err(MemoryError::from)?)
    }

    /// From now on the newest answer counts to the question what the scene of a message tells.
    pub(super) fn choose_newest(
        &self,
        open: &OpenVault<'_>,
        chat: &str,
        at: usize,
    ) -> Result<MemoryReport, Failure> {
        let library = open.library_to_change(false)?;
        let found = self.survey(&library, chat)?;
        let record = found.with_newest(&self.answers, at)?;
        let what = "took another answer for the memory of";
        Ok(projection::decided(&library, &found, &record, what, now())?)
    }
}
