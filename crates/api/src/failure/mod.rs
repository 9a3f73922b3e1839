//! [`Failure`]: what a user is told when something does not work: a stable code, a sentence, and what to do next.
//!
//! Library errors say what was being done; kind, exit status and HTTP status are decided by the table of codes ([`ErrorCode`]),
//! and what to do next here and below, in one place a topic.

mod change;
mod code;
mod config;
mod export_import;
mod look;
mod merge;
mod past;

use std::error::Error;
use std::sync::Arc;
use std::{fmt, io};

use forklore_fs::PathError;
use forklore_vault::history::HistoryError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

pub use self::code::{ErrorCode, Kind};
use self::past::history_failure;

/// A failure, as a user sees it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Stable code
    pub code: ErrorCode,
    /// What went wrong, as a sentence
    pub message: String,
    /// What to do next
    pub hint: String,
    /// Boxed to keep the error small: it travels through every function.
    details: Box<Value>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// A failure as other programs read it: what is under `error`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FailureReport {
    /// Stable code; see docs/formats/findings.md
    #[schemars(with = "String")]
    pub code: ErrorCode,
    /// What went wrong, as a sentence
    pub message: String,
    /// What to do next; can be empty
    pub hint: String,
    /// Depends on the code
    pub details: Value,
}

impl Failure {
    /// A failure. What went wrong becomes a sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let message = sentence(&message.into());
        Self { code, message, hint: hint.into(), details: Box::default(), source: None }
    }

    /// A failure whose code tells what to do next.
    pub fn plain(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(code, message, code.hint())
    }

    /// A command line that makes no sense.
    pub fn usage(message: String) -> Self {
        Self::new(ErrorCode::Usage, message, "Run the command with --help to see how it is called.")
    }

    /// The same with what programs can make use of.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        *self.details = details;
        self
    }

    /// The same with the error that it comes from.
    #[must_use]
    fn because(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// Whether nobody reads what is printed any more.
    pub fn is_broken_pipe(&self) -> bool {
        let source = self.source.as_deref().and_then(|source| source.downcast_ref::<io::Error>());
        source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
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
        let hint = if e.leads_out() {
            "Forklore reads nothing outside the vault. Put the folder itself in the link's place."
        } else if e.is_missing() {
            "The vault changed while it was being read. Try again."
        } else {
            "Look at the file's permissions and at the disk. Nothing was changed."
        };
        let path = e.path.to_string();
        Self::new(ErrorCode::Io, capital(&e.to_string()), hint).with_details(json!({"path": path})).because(e)
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        Self::new(ErrorCode::Io, capital(&e.to_string()), "Look at the disk and at permissions.").because(e)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
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
