//! [`Failure`]: what a user is told when something does not work: a stable code, a sentence, and what to do next.
//!
//! Library errors say what was being done; the kind, the exit code and the hint are decided here and below, in one place a topic.

mod change;
mod config;
mod look;
mod past;
mod travel;

use std::io;
use std::sync::Arc;

use forklore_fs::PathError;
use forklore_vault::history::HistoryError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use self::past::history_failure;

/// What sort of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The call makes no sense.
    Usage,
    /// The vault, or the state of the story, does not allow it.
    Refused,
    /// The system said no.
    Io,
}

impl Kind {
    /// The exit status of a command that fails like this.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Refused | Self::Io => 1,
            Self::Usage => 2,
        }
    }
}

/// A failure, as a user sees it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What sort of failure it is
    pub kind: Kind,
    /// Stable code
    pub code: &'static str,
    /// What went wrong, as a sentence
    pub message: String,
    /// What to do next
    pub hint: String,
    /// Boxed to keep the error small: it travels through every function.
    details: Box<Value>,
    broken_pipe: bool,
}

/// A failure as other programs read it: what is under `error`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FailureReport {
    /// Stable code; see docs/formats/findings.md
    pub code: &'static str,
    /// What went wrong, as a sentence
    pub message: String,
    /// What to do next; can be empty
    pub hint: String,
    /// Depends on the code
    pub details: Value,
}

impl Failure {
    /// A failure. What went wrong becomes a sentence.
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            message: sentence(&message.into()),
            hint: hint.into(),
            details: Box::default(),
            broken_pipe: false,
        }
    }

    /// A command line that makes no sense.
    pub fn usage(message: String) -> Self {
        Self::new(Kind::Usage, "USAGE", message, "Run the command with --help to see how it is called.")
    }

    /// The same with what programs can make use of.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        *self.details = details;
        self
    }

    /// Whether nobody reads what is printed any more.
    pub fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }

    /// For other programs.
    pub fn told(&self) -> FailureReport {
        let details = (*self.details).clone();
        FailureReport { code: self.code, message: self.message.clone(), hint: self.hint.clone(), details }
    }

    /// The document that is printed, and answered.
    pub fn as_json(&self) -> Value {
        json!({"error": self.told()})
    }
}

/// Errors from the libraries are phrases; people get sentences.
fn sentence(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

impl From<PathError> for Failure {
    fn from(e: PathError) -> Self {
        let inner = e.source.get_ref().and_then(|inner| inner.downcast_ref::<Arc<HistoryError>>());
        if let Some(history) = inner {
            return history_failure(history);
        }
        let hint = if e.source.to_string().contains("leads out of the vault") {
            "Forklore reads nothing outside the vault. Put the folder itself in the link's place."
        } else if e.is_missing() {
            "The vault changed while it was being read. Try again."
        } else {
            "Look at the file's permissions and at the disk. Nothing was changed."
        };
        let path = e.path.to_string();
        Self::new(Kind::Io, "IO", capital(&e.to_string()), hint).with_details(json!({"path": path}))
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        let broken_pipe = e.kind() == io::ErrorKind::BrokenPipe;
        let error =
            Self::new(Kind::Io, "IO", capital(&e.to_string()), "Look at the disk and at permissions.");
        Self { broken_pipe, ..error }
    }
}

/// A phrase with a capital letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
