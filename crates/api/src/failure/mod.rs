//! [`Failure`]: what a user is told when something does not work: a stable code, a sentence, and what to do next.
//!
//! Library errors say what was being done; kind, exit status and HTTP status are decided by the table of codes ([`ErrorCode`]),
//! and what to do next here and below, in one place a topic.

mod change;
mod code;
mod config;
mod export_import;
mod look;
mod memory;
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
    /// What to do next, for who types commands
    pub hint: String,
    /// What to do next, for who is at a page
    pub to_do: String,
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
    /// What to do next at a command line; can be empty
    pub hint: String,
    /// What to do next at a page; can be empty
    pub to_do: String,
    /// Depends on the code
    pub details: Value,
}

impl Failure {
    /// A failure. What went wrong becomes a sentence. What to do is the same for everybody: it names no command.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (sentence(&message.into()), hint.into());
        Self { code, message, to_do: hint.clone(), hint, details: Box::default(), source: None }
    }

    /// A failure whose hint names a command. At a page, the code tells what to do.
    pub fn typed(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let to_do = code.to_do().unwrap_or_default().to_owned();
        Self { hint: hint.into(), to_do, ..Self::new(code, message, "") }
    }

    /// A failure whose code tells what to do next.
    pub fn plain(code: ErrorCode, message: impl Into<String>) -> Self {
        let to_do = code.to_do().unwrap_or_else(|| code.hint()).to_owned();
        Self { hint: code.hint().to_owned(), to_do, ..Self::new(code, message, "") }
    }

    /// A command line that makes no sense.
    pub fn usage(message: String) -> Self {
        Self::typed(ErrorCode::Usage, message, "Run the command with --help to see how it is called.")
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
        let Self { code, message, hint, to_do, .. } = self.clone();
        FailureReport { code, message, hint, to_do, details }
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
            return history_failure(history).because(history.clone());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a text tells to type something. What is done at a terminal and nowhere else may be named anywhere.
    fn names_command(text: &str) -> bool {
        let known = ["serve", "install", "doctor"];
        let mut named = text.split("forklore ").skip(1);
        text.contains(" --") || named.any(|command| !known.iter().any(|known| command.starts_with(known)))
    }

    #[test]
    fn at_a_page_nobody_is_told_to_type_a_command() {
        let sources = [
            include_str!("change.rs"),
            include_str!("config.rs"),
            include_str!("export_import.rs"),
            include_str!("look.rs"),
            include_str!("merge.rs"),
            include_str!("past.rs"),
        ];
        // What everybody is told stands in the rest of its arm.
        let openers = ["refused(", "told(", "Self::new(", "Failure::new("];
        let calls = sources.iter().flat_map(|source| openers.map(|opener| source.split(opener).skip(1)));
        for call in calls.flatten().filter_map(|text| text.split("=>").next()) {
            assert!(!names_command(call), "{call}");
        }
        for code in [
            ErrorCode::ChatNotFound,
            ErrorCode::ConflictNotFound,
            ErrorCode::CorruptChat,
            ErrorCode::MovedOn,
            ErrorCode::PickNotFound,
            ErrorCode::QueueNotEmpty,
        ] {
            let failure = Failure::typed(code, "It did not work", "Run `forklore check`.");
            assert!(!failure.to_do.is_empty() && !names_command(&failure.to_do), "{code}");
        }
    }
}
