//! How a model is asked: servers with every fault, patience, and a real server where there is one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod faults;
mod llama;
mod patience;
mod safe;
mod story;
