//! [`Hints`]: the system says that something below a folder may have changed.
//!
//! Only a hint: reports can be lost, doubled or late. Whoever acts on them looks for himself.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Reports of changes below some folders.
pub struct Hints {
    events: Receiver<()>,
    /// Kept because it ends with its drop; `None` where the system does not report.
    _watcher: Option<RecommendedWatcher>,
}

impl std::fmt::Debug for Hints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hints")
    }
}

impl Hints {
    /// Asks the system to report changes below these folders. Where it cannot, waiting simply takes its full time.
    pub fn of(folders: &[&Path]) -> Self {
        let (sender, events) = channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Whoever acts on a hint reads the files: that they were read is no news, or it would never end.
            if event.is_ok_and(|event| event.kind.is_access()) {
                return;
            }
            // Nobody listens any more: then nobody needs to know.
            let _gone = sender.send(());
        });
        let watcher = watcher.ok().map(|mut watcher| {
            for folder in folders {
                // A folder that is not there yet is found by the next sweep, like everything else.
                let _unwatched = watcher.watch(folder, RecursiveMode::Recursive);
            }
            watcher
        });
        Self { events, _watcher: watcher }
    }

    /// Waits until something may have changed and then was quiet for a moment, at most for `longest`. Gives whether the system
    /// reported something.
    pub fn wait(&self, longest: Duration) -> bool {
        const QUIET: Duration = Duration::from_millis(50);
        match self.events.recv_timeout(longest) {
            Ok(()) => {
                // Saves come in bursts: a temporary file, a rename, the book right after the chat.
                for _ in 0..10 {
                    if self.events.recv_timeout(QUIET).is_err() {
                        break;
                    }
                    while self.events.try_recv().is_ok() {}
                }
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(longest);
                false
            }
        }
    }
}
