//! [`Survey`]: a chat with everything that is remembered of it.

use std::sync::Arc;

use forklore_config::id;
use forklore_core::format::chat::Message;
use forklore_fs::PathError;
use forklore_memory::{
    Answer, Answers as _, Entity, Ground, Inputs, Key, Line, Memory, Proposal, Provenance, Question, Reply,
    Utterance,
};
use forklore_vault::{ChatIx, Library};

use super::answers::AnswerStore;
use super::error::MemoryError;
use super::shape::noticed;
use super::ways::Ways;
use crate::memory_record::MemoryRecord;

/// A chat, and what is remembered of it.
pub struct Survey {
    /// The chat
    pub c: ChatIx,
    /// What its header says
    pub recorded: MemoryRecord,
    /// The same with what people have done since
    pub record: MemoryRecord,
    /// What was said
    pub line: Arc<Line>,
    /// What is remembered
    pub memory: Memory,
    /// Entries that wait to be approved
    pub proposals: Vec<Proposal>,
    /// A recap as one text that is to be written down: its key, its text, and how many messages it goes up to
    pub combined: Option<(Key, String, usize)>,
    /// How it is kept
    pub ways: Arc<Ways>,
    /// The question for a recap as one text, if it is to be asked
    ask_combined: Option<Question>,
}

/// Reads a chat and computes what is remembered of it.
pub fn survey(
    library: &Library,
    c: ChatIx,
    answers: &AnswerStore,
    ways: &Arc<Ways>,
) -> Result<Survey, MemoryError> {
    let chat = library.chat(c);
    if MemoryRecord::is_unreadable(chat.header()) {
        return Err(MemoryError::Unreadable(chat.name().to_owned()));
    }
    let mut recorded = MemoryRecord::of(chat.header()).unwrap_or_default();
    // A chat that comes from elsewhere costs nothing here before somebody here has turned it on and has seen what it would cost.
    recorded.on = recorded.on && recorded.vault.is_some() && recorded.vault == id::of(&**library.fs())?;
    let mut record = recorded.clone();
    if ways.approve {
        // What is in the book already was not to be approved.
        record.free.get_or_insert(recorded.scenes.len());
    }
    let line = Arc::new(line(library, c)?);
    let mut survey = Survey {
        c,
        recorded,
        record,
        line,
        memory: Memory::default(),
        proposals: Vec::new(),
        combined: None,
        ways: ways.clone(),
        ask_combined: None,
    };
    survey.compute(answers);
    let noticed = noticed(library, c, &survey.record, &survey.memory)?;
    if !noticed.is_empty() {
        let since = survey.record.head;
        survey.record.inputs.entries.entry(since).or_default().extend(noticed);
        survey.compute(answers);
    }
    Ok(survey)
}

impl Survey {
    /// Computes it anew: something was answered, or decided.
    pub fn compute(&mut self, answers: &AnswerStore) {
        let mut memory = Memory::of(self.ground(answers));
        (self.combined, self.ask_combined) = self.combine(&memory, answers);
        self.proposals = match self.record.free.filter(|_| self.ways.approve) {
            Some(free) => memory.only_approved(&self.record.approved, free),
            None => Vec::new(),
        };
        self.memory = memory;
    }

    /// All that memory is computed from.
    pub fn ground<'a>(&'a self, answers: &'a AnswerStore) -> Ground<'a> {
        Ground {
            line: &self.line,
            answers: answers.known(),
            inputs: &self.record.inputs,
            settings: &self.ways.settings,
            prompts: &self.ways.prompts,
        }
    }

    /// The recap as one text, or the question for it: once after each scene, when everything else is known.
    fn combine(
        &self,
        memory: &Memory,
        answers: &AnswerStore,
    ) -> (Option<(Key, String, usize)>, Option<Question>) {
        let last = memory.standing.last().map(|standing| standing.scene.last());
        if !self.ways.combined || !memory.missing.is_empty() || last.is_none() || last == self.record.combined
        {
            return (None, None);
        }
        let question = memory.combined(self.ground(answers));
        match answers.known().get(&question.key(), 0).map(|answer| &answer.reply) {
            Some(Reply::Combined(text)) => (Some((question.key(), text.clone(), self.line.len())), None),
            // It is too long for the model: there is none.
            Some(_) => (None, None),
            None => (None, Some(question)),
        }
    }

    /// The same chat, to be tried with other decisions.
    pub(super) fn again(&self) -> Self {
        Self {
            c: self.c,
            recorded: self.recorded.clone(),
            record: self.record.clone(),
            line: self.line.clone(),
            memory: Memory::default(),
            proposals: Vec::new(),
            combined: None,
            ways: self.ways.clone(),
            ask_combined: None,
        }
    }

    /// What has no answer, whether it is parked or not.
    pub fn unanswered(&self) -> impl Iterator<Item = &Question> {
        self.memory.missing.iter().chain(&self.ask_combined)
    }

    /// What is to be asked and is not parked.
    pub fn missing<'a>(&'a self, answers: &'a AnswerStore) -> impl Iterator<Item = &'a Question> {
        self.unanswered().filter(|question| answers.parked(&question.key()).is_none())
    }

    /// The question what the scene of a message tells, to be asked again.
    pub fn facts_again(&self, answers: &AnswerStore, at: usize) -> Result<Question, MemoryError> {
        let scene = self.memory.scene_of(at).ok_or(MemoryError::NoScene(at))?;
        self.memory.facts_of(self.ground(answers), scene).ok_or(MemoryError::NoScene(at))
    }

    /// The record in which the newest answer to that question is the one that counts.
    pub fn with_newest(&self, answers: &AnswerStore, at: usize) -> Result<MemoryRecord, MemoryError> {
        let key = self.facts_again(answers, at)?.key();
        let newest = answers.known().variants(&key).saturating_sub(1);
        let mut record = self.record.clone();
        record.inputs.variants.insert(key, u32::try_from(newest).unwrap_or(0));
        Ok(record)
    }

    /// The entity with this name, or with an entry of this title.
    pub fn entity(&self, name: &str) -> Result<&Arc<Entity>, MemoryError> {
        let titled = self.memory.entities.iter().find(|entity| entity.title() == name);
        let named = || self.memory.entities.iter().find(|entity| entity.is_called(name));
        titled.or_else(named).ok_or_else(|| MemoryError::NoEntry(name.to_owned()))
    }

    /// An accepted reply as what is kept of it: with the messages that were shown.
    pub fn answer(&self, question: &Question, reply: Reply, provenance: Provenance) -> Answer {
        let shown = question.messages().map(|part| self.line.part(part)).unwrap_or_default();
        let messages = shown.iter().map(Utterance::key).collect();
        Answer {
            key: question.key(),
            kind: question.kind(),
            reply,
            provenance: Provenance { messages, ..provenance },
        }
    }

    /// What the owner decided.
    pub fn inputs(&self) -> &Inputs {
        &self.record.inputs
    }
}

/// What was said in a chat.
fn line(library: &Library, c: ChatIx) -> Result<Line, PathError> {
    let mut said = Vec::new();
    library.each_message(c, 0, |_, bytes| {
        // What cannot be read says nothing, and is counted all the same.
        said.push(match Message::parse(bytes) {
            Ok(message) => Utterance::new(message.speaker(), message.text()),
            Err(_) => Utterance::new("", ""),
        });
    })?;
    Ok(said.into_iter().collect())
}
