//! [`ModelError`]: why a model gave no reply.

use std::time::Duration;

/// Why there is no reply. None of them ever holds the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Question and reply do not fit into what the model can read at once.
    #[error(
        "The question is longer than the model can read at once. Ask it in parts, or choose a model with more context."
    )]
    TooLong,
    /// The server has no time now.
    #[error("The model's server is busy{}. Try again later.", for_how_long(*.wait))]
    Busy {
        /// How long it asks to be left alone
        wait: Option<Duration>,
    },
    /// The key is not accepted.
    #[error(
        "The model's server does not accept the key. See whether it is set, and whether it is one for this server."
    )]
    Unauthorized,
    /// The server does not want to.
    #[error("The model's server refused with {status}: {said} {}", next(*.status))]
    Refused {
        /// Status of HTTP, or 200 where an error came under that
        status: u16,
        /// What the server says about it
        said: String,
    },
    /// There is no connection, or it broke off.
    #[error(
        "The model's server cannot be reached: {0}. See whether it runs, and whether the address is right."
    )]
    Unreachable(String),
    /// Nothing came for too long.
    #[error(
        "The model's server has said nothing for too long. See whether it still works, or allow it more time."
    )]
    Silent,
    /// What came is not what such servers say.
    #[error(
        "What the model's server said cannot be read: {0}. See whether the address is that of an OpenAI-compatible server."
    )]
    Unreadable(String),
    /// Somebody stopped it.
    #[error("The question was stopped.")]
    Stopped,
    /// Nothing can be asked at this address.
    #[error("The address of the model cannot be used: {0}.")]
    BadAddress(String),
}

impl ModelError {
    /// Whether it may be otherwise in a moment, with nobody doing anything.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Unreachable(_) | Self::Silent => true,
            Self::Refused { status, .. } => *status >= 500 && *status != 501,
            _ => false,
        }
    }
}

fn for_how_long(wait: Option<Duration>) -> String {
    wait.map(|wait| format!(" for another {} s", wait.as_secs().max(1))).unwrap_or_default()
}

fn next(status: u16) -> &'static str {
    match status {
        402 => "Look at what you have left to pay with there.",
        404 | 405 => "See whether address and name of the model are right.",
        500.. => "See what the server itself logs.",
        _ => "See whether the model is right for this.",
    }
}
