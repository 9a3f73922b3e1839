//! [`Model`]: whatever answers a [`Request`]; [`Said`] is what it said.

use forklore_memory::{Again, Request};

use crate::error::ModelError;
use crate::stop::Stop;

/// What a model said, and what it cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The words
    pub text: String,
    /// Which model it was, as the server calls it
    pub model: String,
    /// Tokens that it read
    pub tokens_in: u64,
    /// Tokens that it wrote, thoughts among them
    pub tokens_out: u64,
}

/// Whatever can be asked.
pub trait Model: Sync {
    /// Asks once, and waits for the whole reply. What it says is not looked at.
    fn ask(&self, request: &Request, again: Option<&Again>, stop: &Stop) -> Result<Said, ModelError>;
}
