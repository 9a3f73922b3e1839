//! `memory`: what is remembered of a chat; turning it on and off, asking what is missing, deciding about it, and what it cost.
//!
//! * [`memory_status`], [`memory_told`], [`memory_why`], [`memory_prompts`], [`bill()`] look; [`switch`], [`decide`], [`retry`] change.
//! * [`run()`] asks a model until nothing is missing; [`next()`] and [`reply()`] are one step of the same, for who asks a model elsewhere.

mod bill;
mod run;
mod step;

use std::sync::Arc;

use forklore_config::Config;
use forklore_engine::memory::projection::{self, MemoryReport};
use forklore_engine::memory::{
    AnswerStore, Choice, MemoryError, MemoryStatus, PromptReport, Survey, ToldReport, Ways, WhyReport,
    status, survey, told, why,
};
use forklore_engine::pending::PendingEdit;
use forklore_memory::Question;
use forklore_vault::{Library, history};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use bill::{Bill, BillLine, bill};
pub use run::{Asked, RunReport, Running, run};
pub use step::{Asking, NextQuestion, NextReport, ReplyReport, Replying, Spoken, next, reply};

use crate::{Failure, OpenVault, now};

/// A chat whose memory is turned on or off.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switching {
    /// Address of the chat
    pub chat: String,
    /// Whether it is kept from now on
    pub on: bool,
    /// Where another extension keeps it: go on from what that has kept
    #[serde(default)]
    pub take_over: bool,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// A chat, and an entry of its memory.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryOf {
    /// Address of the chat
    pub chat: String,
    /// The entry's title, or a name in it
    pub entry: String,
}

/// What is decided about a chat's memory.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deciding {
    /// Address of the chat
    pub chat: String,
    /// What
    pub choices: Vec<Choice>,
    /// Change nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// How memory stands after something was decided.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DecisionReport {
    /// Ids of the operations that wrote it down
    pub operations: Vec<String>,
    /// What they changed in the chat's own file, for a page that has it in memory
    pub edits: Vec<PendingEdit>,
    /// Name of the chat's lorebook
    pub book: Option<String>,
    /// How memory stands now, or would
    pub status: MemoryStatus,
}

/// The words in which memory's questions are asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PromptsReport {
    /// By kind of question
    pub prompts: Vec<PromptReport>,
}

/// All that is needed to tell about memory, besides the chats.
struct Desk {
    config: Config,
    ways: Arc<Ways>,
    answers: AnswerStore,
}

impl Desk {
    fn of(open: &OpenVault<'_>) -> Result<Self, Failure> {
        let config = Config::load(&*open.fs)?;
        let ways = Arc::new(Ways::of(&*open.fs, &config)?);
        let answers = AnswerStore::open(&open.fs).map_err(MemoryError::from)?;
        Ok(Self { config, ways, answers })
    }

    fn survey(&self, library: &Library, chat: &str) -> Result<Survey, Failure> {
        Ok(survey(library, library.find_chat(chat)?, &self.answers, &self.ways)?)
    }

    /// How it stands, with what that costs.
    fn status(&self, library: &Library, found: &Survey) -> MemoryStatus {
        let mut status = status(library, found, &self.answers);
        status.price = self.config.memory.price(status.tokens_in as u64, status.tokens_out as u64);
        status.paid_price = self.config.memory.price(status.paid.0, status.paid.1);
        status
    }

    /// Writes down what is remembered by now, of the chat as it is by now.
    fn write(&self, open: &OpenVault<'_>, chat: &str) -> Result<MemoryReport, Failure> {
        let library = open.library_to_change(false)?;
        let found = self.survey(&library, chat)?;
        let plan = projection::plan(&library, &found, now())?;
        Ok(projection::execute(&library, &found, plan, now())?)
    }
}

/// How memory stands.
pub fn memory_status(open: &OpenVault<'_>, chat: &str) -> Result<MemoryStatus, Failure> {
    let desk = Desk::of(open)?;
    let shared = open.shared()?;
    let found = desk.survey(&shared.library, chat)?;
    Ok(desk.status(&shared.library, &found))
}

/// What an entry rests on.
pub fn memory_why(open: &OpenVault<'_>, of: &EntryOf) -> Result<WhyReport, Failure> {
    let desk = Desk::of(open)?;
    let shared = open.shared()?;
    let found = desk.survey(&shared.library, &of.chat)?;
    Ok(why(&shared.library, &found, &of.entry)?)
}

/// A chat, and a message of it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MomentOf {
    /// Address of the chat
    pub chat: String,
    /// The message; the last one without it
    #[serde(default)]
    pub at: Option<usize>,
}

/// What is remembered at a message.
pub fn memory_told(open: &OpenVault<'_>, of: &MomentOf) -> Result<ToldReport, Failure> {
    let desk = Desk::of(open)?;
    let shared = open.shared()?;
    let found = desk.survey(&shared.library, &of.chat)?;
    let mut report = told(&shared.library, &found, &desk.answers, of.at);
    report.status = desk.status(&shared.library, &found);
    Ok(report)
}

/// The words in which questions are asked.
pub fn memory_prompts(open: &OpenVault<'_>) -> Result<PromptsReport, Failure> {
    Ok(PromptsReport { prompts: forklore_engine::memory::prompts(&*open.fs)? })
}

/// Turns it on or off. What it would cost is told with it.
pub fn switch(open: &OpenVault<'_>, switching: &Switching) -> Result<MemoryStatus, Failure> {
    let library = open.library_to_change(switching.dry_run)?;
    let mut desk = Desk::of(open)?;
    let mut found = desk.survey(&library, &switching.chat)?;
    if switching.on && switching.take_over && found.record.taken.is_none() {
        return desk.take_over(open, &library, &mut found, switching.dry_run);
    }
    if switching.on {
        projection::allowed(&library, &found)?;
    }
    if found.record.on != switching.on && !switching.dry_run {
        let mut record = found.record.clone();
        record.on = switching.on;
        record.vault = if switching.on { Some(history::name(&open.fs)?) } else { record.vault };
        let what = if switching.on { "turned memory on for" } else { "turned memory off for" };
        projection::decided(&library, &found, &record, what, now())?;
    }
    Ok(MemoryStatus { on: switching.on, ..desk.status(&library, &found) })
}

/// Decides something, and writes down what follows from it.
pub fn decide(open: &OpenVault<'_>, of: &Deciding) -> Result<DecisionReport, Failure> {
    let desk = Desk::of(open)?;
    let library = open.library_to_change(of.dry_run)?;
    let mut found = desk.survey(&library, &of.chat)?;
    let record = forklore_engine::memory::decide(&found, &desk.answers, &of.choices)?;
    let mut operations = Vec::new();
    let mut edits = Vec::new();
    if !of.dry_run {
        let done = projection::decided(&library, &found, &record, "decided about the memory of", now())?;
        operations.extend(done.operation);
        edits.extend(done.edits);
        drop(library);
        if record.on {
            let written = desk.write(open, &of.chat)?;
            operations.extend(written.operation);
            edits.extend(written.edits);
        }
        let library = open.library()?;
        let found = desk.survey(&library, &of.chat)?;
        let book = library.chat(found.c).book().map(|(name, _)| name.to_owned());
        return Ok(DecisionReport { operations, edits, book, status: desk.status(&library, &found) });
    }
    found.record = record;
    found.compute(&desk.answers);
    let book = library.chat(found.c).book().map(|(name, _)| name.to_owned());
    Ok(DecisionReport { operations, edits, book, status: desk.status(&library, &found) })
}

/// Lets questions be asked again that had no reply which could be used.
pub fn retry(open: &OpenVault<'_>, chat: &str) -> Result<MemoryStatus, Failure> {
    let mut desk = Desk::of(open)?;
    let library = open.library()?;
    let found = desk.survey(&library, chat)?;
    desk.unpark(&found)?;
    Ok(desk.status(&library, &found))
}

impl Desk {
    /// Goes on from what another extension has kept: its answers are kept first, which by themselves change nothing; then all is written
    /// as one operation.
    fn take_over(
        &mut self,
        open: &OpenVault<'_>,
        library: &Library,
        found: &mut Survey,
        dry_run: bool,
    ) -> Result<MemoryStatus, Failure> {
        let taken = forklore_engine::memory::take_over(library, found, &self.answers)?;
        if dry_run {
            let mut status = self.status(library, found);
            (status.on, status.taken) = (true, taken.record.taken);
            return Ok(status);
        }
        for answer in taken.answers {
            self.answers.add(answer).map_err(MemoryError::from)?;
        }
        found.record = taken.record;
        found.record.vault = Some(history::name(&open.fs)?);
        found.compute(&self.answers);
        let plan = projection::plan(library, found, now())?;
        projection::execute(library, found, plan, now())?;
        Ok(self.status(library, found))
    }

    fn unpark(&mut self, found: &Survey) -> Result<(), Failure> {
        let keys: Vec<_> = found.unanswered().map(Question::key).collect();
        keys.into_iter().try_for_each(|key| self.answers.unpark(key)).map_err(MemoryError::from)?;
        Ok(())
    }
}
