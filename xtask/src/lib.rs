//! What the chores and the benchmarks find or install: [`tools`].
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a chore talks to the disk and to the terminal"
)]

pub mod llama;
pub mod tools;
