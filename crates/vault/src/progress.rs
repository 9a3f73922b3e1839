//! [`Progress`]: how long work says how far it is. The command line draws a bar; the server sends events; tests do nothing.

/// Receives word of how far a piece of work is. Called from several threads.
pub trait Progress: Sync {
    /// Work begins: what it is, and how many steps it will have.
    fn start(&self, _what: &str, _steps: u64) {}

    /// So many more steps are done.
    fn advance(&self, _steps: u64) {}

    /// The work is over.
    fn finish(&self) {}
}

/// Nobody wants to know.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {}
