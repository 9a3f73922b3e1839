//! A small story, and the questions about it.

use std::time::Duration;

use forklore_memory::{
    Ground, Inputs, Kind, KnownAnswers, Line, Memory, Prompts, Question, Settings, Utterance,
};
use forklore_model::{AskError, Endpoint, OpenAi, Said, Stop, ask};

/// Long enough for every machine, however busy.
pub(crate) const PATIENT: Duration = Duration::from_secs(300);

pub(crate) struct Story {
    pub(crate) line: Line,
    pub(crate) prompts: Prompts,
}

impl Story {
    pub(crate) fn new() -> Self {
        let said = [
            "The tide took the lower pier, and Captain Mara lives in Old Harbor since.",
            "I have heard that Tolan owes the guild a ship.",
            "Nobody has seen Tolan this week, says Ilse.",
            "Then we look for Tolan before the guild does, says Mara.",
        ];
        let names = ["Mara", "You"].into_iter().cycle();
        let line = names.zip(said).map(|(name, text)| Utterance::new(name, text)).collect();
        Self { line, prompts: Prompts::default() }
    }

    /// What happened in the scene, which ends with the last message.
    pub(crate) fn question(&self) -> Question {
        let inputs = Inputs { breaks: [self.line.len() - 1].into(), ..Inputs::default() };
        let (answers, settings) = (KnownAnswers::default(), Settings::default());
        let ground = Ground {
            line: &self.line,
            answers: &answers,
            inputs: &inputs,
            settings: &settings,
            prompts: &self.prompts,
        };
        Memory::of(ground).missing.into_iter().find(|question| question.kind() == Kind::Facts).unwrap()
    }

    /// Asks, with no pause between tries.
    pub(crate) fn ask(&self, model: &OpenAi) -> Result<(forklore_memory::Reply, Said), AskError> {
        ask(model, &self.question(), &self.line, &self.prompts, &Stop::default(), &|_| {})
    }
}

pub(crate) fn endpoint(url: String) -> Endpoint {
    Endpoint { url, model: "tale".to_owned(), key: None, context: 0, timeout: PATIENT, certificate: None }
}

pub(crate) fn open(url: String) -> OpenAi {
    OpenAi::new(endpoint(url)).unwrap()
}
