//! [`Ground`]: all that memory is computed from, and the one way to look an answer up.

use crate::answer::{Answer, Answers};
use crate::inputs::{Inputs, Settings};
use crate::line::Line;
use crate::prompt::Prompts;
use crate::question::{Ask, Question};

/// What memory is computed from. There is nothing else.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// What was said
    pub line: &'a Line,
    /// What was answered
    pub answers: &'a dyn Answers,
    /// What the owner decided
    pub inputs: &'a Inputs,
    /// What is set
    pub settings: &'a Settings,
    /// How it is asked
    pub prompts: &'a Prompts,
}

impl<'a> Ground<'a> {
    pub(crate) fn question(self, ask: Ask) -> Question {
        Question::new(ask, self.line, self.prompts, self.settings)
    }

    /// The answer that counts: to this question, or to another one that the owner wants to keep the answer of.
    pub(crate) fn answer(self, question: &Question) -> Option<&'a Answer> {
        let key = question.key();
        let of = |key| self.answers.get(key, self.inputs.variants.get(key).copied().unwrap_or(0));
        of(&key).or_else(|| of(self.inputs.kept.get(&key)?))
    }
}
