//! [`Line`]: what was said in a chat, message by message, as far as memory is concerned.

use std::ops::Range;

use crate::key::Key;

/// One message.
#[derive(Debug, Clone)]
pub struct Utterance {
    /// Who said it
    pub name: String,
    /// What was said, in the swipe that is shown
    pub text: String,
    key: Key,
}

impl Utterance {
    /// A message that `name` said.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        let key = Key::of("message").text(&name).text(&text).done();
        Self { name, text, key }
    }

    /// What it is known by: who said it and what. Dates, hidden marks and extensions' data make no other message of it.
    pub fn key(&self) -> Key {
        self.key
    }
}

/// What was said, in order.
#[derive(Debug, Clone, Default)]
pub struct Line(Vec<Utterance>);

impl Line {
    /// How many messages it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its messages.
    pub fn messages(&self) -> &[Utterance] {
        &self.0
    }

    /// The messages of a part of it, as many as there are.
    pub fn part(&self, part: Range<usize>) -> &[Utterance] {
        let end = part.end.min(self.0.len());
        self.0.get(part.start.min(end)..end).unwrap_or_default()
    }

    /// What a part of it is known by, message by message.
    pub(crate) fn keys(&self, part: Range<usize>) -> impl ExactSizeIterator<Item = Key> {
        self.part(part).iter().map(Utterance::key)
    }

    /// A part of it for a prompt. Messages are counted from 1 in each part: where it stands in the chat is nothing that a question may
    /// depend on, else a message that is deleted at the beginning would make all that follows another question.
    pub(crate) fn told(&self, part: Range<usize>) -> String {
        let mut told = String::new();
        for (i, message) in self.part(part).iter().enumerate() {
            told.push_str(&format!("#{} {}:\n{}\n\n", i + 1, message.name, message.text.trim()));
        }
        told.truncate(told.trim_end().len());
        told
    }
}

impl FromIterator<Utterance> for Line {
    fn from_iter<I: IntoIterator<Item = Utterance>>(messages: I) -> Self {
        Self(messages.into_iter().collect())
    }
}
