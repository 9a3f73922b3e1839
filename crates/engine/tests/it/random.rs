//! Random numbers that are the same on every machine.

pub(crate) use forklore_testkit::random::Random;
