//! What becomes of a [`Conflict`]: [`Answer`] is what its owner says.
//!
//! A conflict holds nothing up: the lorebook has A's until somebody answers ([`Conflict::held`]).

use forklore_json::{Raw, quote};

use super::text::{Preferred, TextMerge};
use crate::diff::Effort;
use crate::format::conflict::Conflict;

/// What the owner says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A's
    A,
    /// B's
    B,
    /// Both, A's first
    Both,
    /// Something else
    Text(String),
}

/// What an answer comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// This value
    Value(Vec<u8>),
    /// Nothing: the field or the entry goes
    Nothing,
}

impl Conflict {
    /// What the lorebook holds until it is answered.
    pub fn held(&self) -> Answered {
        if self.is_whole() {
            // The edit: what is deleted is easier to delete again than to write again.
            return Answered::Value(self.a.clone().or_else(|| self.b.clone()).unwrap_or_default());
        }
        self.answer(&Answer::A).unwrap_or(Answered::Nothing)
    }

    /// What an answer comes to; `None` if it makes no sense here: both of two numbers.
    pub fn answer(&self, answer: &Answer) -> Option<Answered> {
        let value = |side: &Option<Vec<u8>>| match side {
            Some(value) => Answered::Value(value.clone()),
            None => Answered::Nothing,
        };
        let text = |preferred| self.texts().map(|merge| Answered::Value(quote(&merge.text(preferred))));
        match answer {
            Answer::A => text(Preferred::A).or_else(|| Some(value(&self.a))),
            Answer::B => text(Preferred::B).or_else(|| Some(value(&self.b))),
            Answer::Both => text(Preferred::Both),
            Answer::Text(said) => self.is_text().then(|| Answered::Value(quote(said))),
        }
    }

    /// Whether it is about a text, so that it can be answered with another.
    pub fn is_text(&self) -> bool {
        let is_text =
            |side: &Option<Vec<u8>>| side.as_deref().is_none_or(|side| Raw::trust(side).as_text().is_some());
        !self.is_whole() && is_text(&self.a) && is_text(&self.b)
    }

    fn texts(&self) -> Option<TextMerge> {
        if self.field != ["content"] {
            return None;
        }
        let text = |side: &Option<Vec<u8>>| Some(Raw::trust(side.as_deref()?).as_text()?.into_owned());
        let (base, a, b) = (text(&self.base), text(&self.a)?, text(&self.b)?);
        Some(TextMerge::of(base.as_deref(), &a, &b, &mut Effort::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_has_no_middle() {
        let b = Some(b"{}".to_vec());
        let whole =
            Conflict { uid: None, title: String::new(), field: Vec::new(), base: b.clone(), a: None, b };
        assert_eq!(whole.answer(&Answer::A), Some(Answered::Nothing));
        assert_eq!(whole.answer(&Answer::Both), None);
    }
}
