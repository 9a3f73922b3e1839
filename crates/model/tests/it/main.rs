//! How a model is asked: servers with every fault, patience, and a real server where there is one.

mod faults;
mod llama;
mod patience;
mod story;
