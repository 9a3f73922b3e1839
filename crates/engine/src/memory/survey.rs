//! [`Survey`]: a chat with everything that is remembered of it.

use forklore_core::format::chat::Message;
use forklore_fs::PathError;
use forklore_memory::{
    Answer, Ground, Inputs, Line, Memory, Prompts, Provenance, Question, Reply, Settings, Utterance,
};
use forklore_vault::address::AddressError;
use forklore_vault::{ChatIx, Library};

use super::answers::{AnswerError, AnswerStore};
use super::shape::noticed;
use crate::memory_record::MemoryRecord;
use crate::restore::RestoreError;

/// Why nothing can be told or done about a chat's memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is no such chat.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// It is not on.
    #[error("Memory is off for \"{0}\"")]
    Off(String),
    /// Another extension keeps it.
    #[error("{keeper} keeps the memory of \"{chat}\"")]
    Kept {
        /// The chat
        chat: String,
        /// The extension
        keeper: String,
    },
    /// What its header says of it is of a newer Forklore, or damaged.
    #[error("What \"{0}\" says of its memory cannot be read")]
    Unreadable(String),
    /// There is no such entry.
    #[error("Memory has no entry \"{0}\"")]
    NoEntry(String),
    /// Answers cannot be read or kept.
    #[error(transparent)]
    Answers(#[from] AnswerError),
    /// The chat cannot be changed.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The system said no.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// A chat, and what is remembered of it.
pub struct Survey {
    /// The chat
    pub c: ChatIx,
    /// What its header says
    pub recorded: MemoryRecord,
    /// The same with what people have done since
    pub record: MemoryRecord,
    /// What was said
    pub line: Line,
    /// What is remembered
    pub memory: Memory,
    /// What is set
    pub settings: Settings,
    /// How it is asked
    pub prompts: Prompts,
}

/// Reads a chat and computes what is remembered of it.
pub fn survey(library: &Library, c: ChatIx, answers: &AnswerStore) -> Result<Survey, MemoryError> {
    let chat = library.chat(c);
    if MemoryRecord::is_unreadable(chat.header()) {
        return Err(MemoryError::Unreadable(chat.name().to_owned()));
    }
    let record = MemoryRecord::of(chat.header()).unwrap_or_default();
    let line = line(library, c)?;
    let mut survey = Survey {
        c,
        recorded: record.clone(),
        record,
        line,
        memory: Memory::default(),
        settings: Settings::default(),
        prompts: Prompts::default(),
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
        self.memory = Memory::of(Ground {
            line: &self.line,
            answers: answers.known(),
            inputs: &self.record.inputs,
            settings: &self.settings,
            prompts: &self.prompts,
        });
    }

    /// What is to be asked and is not parked.
    pub fn missing<'a>(&'a self, answers: &'a AnswerStore) -> impl Iterator<Item = &'a Question> {
        self.memory.missing.iter().filter(|question| answers.parked(&question.key()).is_none())
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
