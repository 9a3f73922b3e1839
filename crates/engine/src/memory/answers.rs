//! [`AnswerStore`]: what models have answered, on disk, and what that cost ([`Spent`]). Every answer is durable before the next question is asked, so that nothing is
//! bought twice.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_fs::Vfs;
use forklore_memory::{Answer, Key, KnownAnswers, Provenance};
use forklore_store::{Store, StoreError};
use forklore_vault::history::{self, HistoryError};
use serde::{Deserialize, Serialize};

/// The version of what is written here; see `docs/formats/memory.md`.
const VERSION: u32 = 1;

/// A question that no accepted reply came to, and why. It is not asked again unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The question
    pub key: Key,
    /// Why its replies were refused
    pub why: String,
    /// When, in milliseconds since 1970
    pub at: i64,
    /// What its replies cost all the same
    #[serde(default)]
    pub spent: Spent,
}

/// What was paid, when and for which story.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// When, in milliseconds since 1970
    pub at: i64,
    /// The story
    pub story: String,
    /// Tokens that were read
    pub tokens_in: u64,
    /// Tokens that were written
    pub tokens_out: u64,
}

/// Why answers cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// Where history is cannot be told, or it is another vault's.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A newer Forklore wrote them.
    #[error(
        "what models have answered was written by a newer Forklore (format {0}): update Forklore to go on"
    )]
    Newer(u32),
    /// Something is not what Forklore writes.
    #[error("an answer that was kept cannot be read: {0}")]
    Unreadable(serde_json::Error),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Answer(Box<Answer>),
    Parked(Parked),
    /// It is to be asked again.
    Unparked(Key),
}

/// All that was answered in a vault.
pub struct AnswerStore {
    store: Option<Store>,
    fs: Arc<dyn Vfs>,
    known: KnownAnswers,
    parked: HashMap<Key, Parked>,
    spent: Vec<Spent>,
}

impl AnswerStore {
    /// Reads them. Nothing is made where nothing was answered yet.
    pub fn open(fs: &Arc<dyn Vfs>) -> Result<Self, AnswerError> {
        let (known, parked, spent) = Default::default();
        let mut answers = Self { store: None, fs: fs.clone(), known, parked, spent };
        let Some(store) = history::answers(fs)? else { return Ok(answers) };
        for record in store.records() {
            answers.note(read(record.payload)?);
        }
        answers.store = Some(store);
        Ok(answers)
    }

    /// What is known.
    pub fn known(&self) -> &KnownAnswers {
        &self.known
    }

    /// Why a question is parked; `None` if it is not.
    pub fn parked(&self, key: &Key) -> Option<&Parked> {
        self.parked.get(key)
    }

    /// All that was paid, in order.
    pub fn spent(&self) -> &[Spent] {
        &self.spent
    }

    /// Keeps an answer.
    pub fn add(&mut self, answer: Answer) -> Result<(), AnswerError> {
        self.write(What::Answer(Box::new(answer)))
    }

    /// Keeps that a question has no answer.
    pub fn park(&mut self, parked: Parked) -> Result<(), AnswerError> {
        self.write(What::Parked(parked))
    }

    /// Lets a question be asked again.
    pub fn unpark(&mut self, key: Key) -> Result<(), AnswerError> {
        if self.parked.contains_key(&key) { self.write(What::Unparked(key)) } else { Ok(()) }
    }

    fn write(&mut self, what: What) -> Result<(), AnswerError> {
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(history::answers_to_add(&self.fs)?),
        };
        let stored = Stored { version: VERSION, what };
        let payload = serde_json::to_vec(&stored).map_err(AnswerError::Unreadable)?;
        let mut writer = store.writer()?;
        writer.record(&payload);
        writer.commit()?;
        self.note(stored.what);
        Ok(())
    }

    fn note(&mut self, what: What) {
        match what {
            What::Answer(answer) => {
                self.parked.remove(&answer.key);
                self.spent.push(Spent::of(&answer.provenance));
                self.known.add(*answer);
            }
            What::Parked(parked) => {
                self.spent.push(parked.spent.clone());
                self.parked.insert(parked.key, parked);
            }
            What::Unparked(key) => {
                self.parked.remove(&key);
            }
        }
    }
}

impl Spent {
    /// What an answer cost.
    pub fn of(provenance: &Provenance) -> Self {
        let Provenance { at, story, tokens_in, tokens_out, .. } = provenance.clone();
        Self { at, story, tokens_in, tokens_out }
    }
}

fn read(payload: &[u8]) -> Result<What, AnswerError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let Version { version } = serde_json::from_slice(payload).map_err(AnswerError::Unreadable)?;
    if version > VERSION {
        return Err(AnswerError::Newer(version));
    }
    let stored: Stored = serde_json::from_slice(payload).map_err(AnswerError::Unreadable)?;
    Ok(stored.what)
}
