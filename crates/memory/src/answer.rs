//! [`Answer`]: an accepted reply to a question, and [`Answers`], where they are looked up.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::kind::Kind;
use crate::reply::Reply;

/// Where an answer comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The messages that were shown, by their keys
    pub messages: Vec<Key>,
    /// Who answered, as the model calls itself; or what it was taken over from
    pub model: String,
    /// Tokens that were read
    pub tokens_in: u64,
    /// Tokens that were written
    pub tokens_out: u64,
    /// When, in milliseconds since 1970
    pub at: i64,
    /// The story it was asked for, for the bill
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub story: String,
}

/// What was answered. The first one to a key counts, unless the owner chose another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it answers
    pub key: Key,
    /// The kind of that question
    pub kind: Kind,
    /// What it says
    pub reply: Reply,
    /// Where it comes from
    pub provenance: Provenance,
}

/// Where answers are.
pub trait Answers {
    /// An answer to a question: the first is number 0, those that were asked for again follow.
    fn get(&self, key: &Key, variant: u32) -> Option<&Answer>;

    /// Answers to questions of the kind [`Kind::Boundary`] whose window begins with this message, in the order in which they came.
    fn boundaries(&self, first: &Key) -> Vec<&Answer>;
}

/// Answers in memory.
#[derive(Debug, Default, Clone)]
pub struct KnownAnswers {
    by_key: HashMap<Key, Vec<Answer>>,
    by_first: HashMap<Key, Vec<(Key, usize)>>,
}

impl KnownAnswers {
    /// Adds an answer, after those to the same question.
    pub fn add(&mut self, answer: Answer) {
        let known = self.by_key.entry(answer.key).or_default();
        if answer.kind == Kind::Boundary
            && let Some(first) = answer.provenance.messages.first()
        {
            self.by_first.entry(*first).or_default().push((answer.key, known.len()));
        }
        known.push(answer);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_key.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// All of them, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Answer> {
        self.by_key.values().flatten()
    }

    /// How many answers a question has.
    pub fn variants(&self, key: &Key) -> usize {
        self.by_key.get(key).map_or(0, Vec::len)
    }
}

impl Answers for KnownAnswers {
    fn get(&self, key: &Key, variant: u32) -> Option<&Answer> {
        self.by_key.get(key)?.get(variant as usize)
    }

    fn boundaries(&self, first: &Key) -> Vec<&Answer> {
        let known = self.by_first.get(first).map(Vec::as_slice).unwrap_or_default();
        known.iter().filter_map(|(key, i)| self.by_key.get(key)?.get(*i)).collect()
    }
}
