//! [`Recording`]: a thread of each vault that records in history what has changed, as soon as somebody says that something has.
//!
//! Nobody waits for it: SillyTavern's saves pass at once, and what could not be recorded is found by the next look. If it cannot record at
//! all, that is told: in the log, to pages that listen, and to those who come later ([`Recording::trouble`]).

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forklore_api::{Failure, now};
use forklore_fs::{RealFs, Vfs};
use forklore_vault::history::{self, By, Closed, HistoryError, Looked, Watch};
use forklore_vault::{Library, NoProgress};
use tokio::sync::broadcast;

use crate::events::{Event, Recorded};
use crate::lock::lock;

/// How soon a file that was being written is looked at again.
const SOON: Duration = Duration::from_millis(500);

/// A thread that records.
pub(crate) struct Recording {
    nudges: Sender<String>,
    trouble: Trouble,
}

/// Why nothing is recorded at the moment.
#[derive(Clone)]
struct Trouble {
    why: Arc<Mutex<Option<String>>>,
    events: broadcast::Sender<Event>,
}

impl Trouble {
    fn is(&self, why: Option<String>) {
        let mut known = lock(&self.why);
        if *known == why {
            return;
        }
        match &why {
            Some(why) => tracing::warn!("history is not being recorded: {why}"),
            None => tracing::info!("history is being recorded again"),
        }
        known.clone_from(&why);
        drop(known);
        // Nobody may be listening.
        let _nobody = self.events.send(Event::Recording(Recorded { message: why }));
    }
}

impl Recording {
    /// Starts it. It ends with the vault.
    pub(crate) fn of(root: PathBuf, events: broadcast::Sender<Event>) -> Self {
        let (nudges, heard) = channel();
        let trouble = Trouble { why: Arc::default(), events };
        let told = trouble.clone();
        std::thread::spawn(move || record(&root, &heard, &told));
        Self { nudges, trouble }
    }

    /// Why nothing is recorded at the moment; nothing if all is well.
    pub(crate) fn trouble(&self) -> Option<String> {
        lock(&self.trouble.why).clone()
    }

    /// Says that something has changed, and by what.
    pub(crate) fn nudge(&self, cause: &str) {
        // A thread that died records no more; the vault works all the same.
        let _gone = self.nudges.send(cause.to_owned());
    }
}

fn record(root: &Path, heard: &Receiver<String>, trouble: &Trouble) {
    let mut watch: Option<Watch> = None;
    while let Ok(cause) = heard.recv() {
        let mut causes = vec![cause];
        causes.extend(heard.try_iter());
        causes.dedup();
        let by = By::Plugin(causes.join(", "));
        for again in 0..20 {
            match look(root, &mut watch, &by) {
                Ok(looked) if looked.unfinished.is_empty() => {
                    trouble.is(told_of(&looked.closed));
                    break;
                }
                Ok(_) => std::thread::sleep(SOON),
                // Another Forklore is busy, or the disk is: what is there now is recorded a little later.
                Err(_) if again < 3 => std::thread::sleep(SOON),
                Err(e) => {
                    trouble.is(Some(Failure::from(e).message));
                    watch = None;
                    break;
                }
            }
        }
    }
}

/// What is told of files and folders that cannot be read: the others are recorded all the same.
fn told_of(closed: &[Closed]) -> Option<String> {
    let first = closed.first()?;
    Some(match closed.len() {
        1 => format!("{} cannot be read ({}). All others are recorded.", first.path, first.why),
        n => format!(
            "{} and {} more cannot be read ({}). All others are recorded.",
            first.path,
            n - 1,
            first.why
        ),
    })
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
