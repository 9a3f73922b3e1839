//! What is promised of memory, whatever is said, asked and answered.

mod gate;
mod laws;
mod teller;
