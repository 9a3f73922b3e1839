//! How a model is asked: servers with every fault, and patience.

mod faults;
mod patience;
mod story;
