//! [`Stop`]: the way to end a question that is being asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Once it is stopped, it stays so. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends whatever looks at it. A connection is closed within a tenth of a second.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
