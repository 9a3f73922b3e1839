//! Tests of the pure core. One test binary, one module a topic.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on should stop"
)]

mod adapters;
mod corpus;
mod diff_properties;
mod fork_book_properties;
mod fork_properties;
mod lineage_cases;
mod media_properties;
mod merge_properties;
mod moment_properties;
mod recap_properties;
mod state_properties;

use forklore_core::format::chat::Message;
use forklore_core::story::{Said, Transcript, TranscriptBuilder};

/// A transcript from message lines.
fn transcript<'a>(lines: impl IntoIterator<Item = &'a str>) -> Transcript {
    let mut builder = TranscriptBuilder::default();
    for line in lines {
        let message = Message::parse(line.as_bytes()).unwrap();
        builder.push(0, 0, Said::of(message));
    }
    builder.finish()
}
