//! [`lock`]: locks that nobody can spoil for others.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock. A thread that died while it had it left nothing half done: what is in there is only ever replaced as a whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
