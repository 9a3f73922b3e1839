//! Tests of the store, one module a topic.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot set up its files should stop"
)]

mod crashes;
mod damage;
mod help;
mod model;
mod prune;
mod sequence;
mod together;
