//! [`waiting`]: threads that read many files for the first time.

use crate::cache::MANY;

/// More threads than there are cores, if so many files are worth them: while one waits for the disk, another one works.
pub(super) fn waiting(files: usize) -> Option<rayon::ThreadPool> {
    let threads = (2 * rayon::current_num_threads()).min(MOST_WAITING);
    (files >= MANY).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten()
}

/// A disk does not give more at once.
const MOST_WAITING: usize = 16;
