//! [`Endpoint`]: which model is asked, where, and with which key.

use std::fmt;
use std::time::Duration;

/// A model on a server.
#[derive(Clone)]
pub struct Endpoint {
    /// Address of the server, with or without `/v1`
    pub url: String,
    /// Name of the model there; none for servers that have only one
    pub model: String,
    /// What the server lets one in with
    pub key: Option<String>,
    /// How many tokens question and reply may have together; 0 if that is not known. Some servers (Ollama, KoboldCpp) cut what is longer
    /// without a word, and are safe only with this.
    pub context: usize,
    /// How long the server may be silent
    pub timeout: Duration,
    /// Certificates of a server of one's own, as PEM: these are trusted, and no others
    pub certificate: Option<Vec<u8>>,
}

/// Whoever prints it does not print the key, nor what stands behind the address and may be another.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.url.split(['?', '#']).next().unwrap_or_default();
        let shown = if shown.contains('@') { "…" } else { shown };
        f.debug_struct("Endpoint")
            .field("url", &shown)
            .field("model", &self.model)
            .field("key", &self.key.as_ref().map(|_| "…"))
            .field("context", &self.context)
            .field("timeout", &self.timeout)
            .field("certificate", &self.certificate.as_ref().map(|_| "…"))
            .finish()
    }
}
