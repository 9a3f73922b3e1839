//! [`Recording`]: a thread of each vault that records in history what has changed, as soon as somebody says that something has.
//!
//! Nobody waits for it: SillyTavern's saves pass at once, and what could not be recorded is found by the next look.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use forklore_api::now;
use forklore_engine::history::{self, By, HistoryError, Looked, Watch};
use forklore_engine::{Library, NoProgress};
use forklore_fs::{RealFs, Vfs};

/// How soon a file that was being written is looked at again.
const SOON: Duration = Duration::from_millis(500);

/// A thread that records.
pub(crate) struct Recording {
    nudges: Sender<String>,
}

impl Recording {
    /// Starts it. It ends with the vault.
    pub(crate) fn of(root: PathBuf) -> Self {
        let (nudges, heard) = channel();
        std::thread::spawn(move || record(&root, &heard));
        Self { nudges }
    }

    /// Says that something has changed, and by what.
    pub(crate) fn nudge(&self, cause: &str) {
        // A thread that died records no more; the vault works all the same.
        let _gone = self.nudges.send(cause.to_owned());
    }
}

fn record(root: &Path, heard: &Receiver<String>) {
    let mut watch: Option<Watch> = None;
    while let Ok(cause) = heard.recv() {
        let mut causes = vec![cause];
        causes.extend(heard.try_iter());
        causes.dedup();
        let by = By::Plugin(causes.join(", "));
        for again in 0..20 {
            match look(root, &mut watch, &by) {
                Ok(looked) if looked.unfinished.is_empty() => break,
                Ok(_) => std::thread::sleep(SOON),
                // Another Forklore is busy, or the disk is: what is there now is recorded a little later.
                Err(_) if again < 3 => std::thread::sleep(SOON),
                Err(_) => {
                    watch = None;
                    break;
                }
            }
        }
    }
}

fn look(root: &Path, watch: &mut Option<Watch>, by: &By) -> Result<Looked, HistoryError> {
    let unreadable = |e: &dyn std::fmt::Display| HistoryError::Unreadable(e.to_string());
    let watch = match watch {
        Some(watch) => watch,
        None => {
            let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(root).map_err(|e| unreadable(&e))?);
            let library = Library::load(fs.clone(), &NoProgress).map_err(|e| unreadable(&e))?;
            history::rescue(&library, now(), &NoProgress)?;
            watch.insert(Watch::open(fs)?)
        }
    };
    watch.sweep_as(by, now(), &NoProgress)
}
