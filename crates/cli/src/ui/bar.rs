//! [`Bar`]: a progress bar on a terminal, nothing elsewhere.

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::time::Duration;

use forklore_vault::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Draws how far reading is. Short work never shows it.
pub(crate) struct Bar {
    shown: bool,
    bar: OnceLock<ProgressBar>,
}

/// Work below this size is over before a bar could be read.
const WORTH_SHOWING: u64 = 64 << 20;

impl Bar {
    /// None where a program reads `json`.
    pub(crate) fn new(json: bool) -> Self {
        Self { shown: !json && std::io::stderr().is_terminal(), bar: OnceLock::new() }
    }
}

impl Progress for Bar {
    fn start(&self, what: &str, steps: u64) {
        if self.shown && steps >= WORTH_SHOWING {
            let bar = ProgressBar::new(steps).with_message(what.to_owned());
            let template = "{msg} {bar:30} {bytes}/{total_bytes} {eta}";
            bar.set_style(
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar.enable_steady_tick(Duration::from_millis(100));
            // A second start on the same bar is not meant to happen; the first one stays.
            let _second = self.bar.set(bar);
        }
    }

    fn advance(&self, steps: u64) {
        if let Some(bar) = self.bar.get() {
            bar.inc(steps);
        }
    }

    fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
