//! The pages, one module each: functions from reports to [`Page`](crate::Page)s.

pub mod act;
pub mod bring;
pub mod compare;
pub mod failure;
pub mod health;
pub mod log;
mod marks;
pub mod memory;
pub mod moment;
pub mod parts;
pub mod past;
pub mod retention;
pub mod settings;
pub mod stories;
pub mod transfer;
pub mod tree;
pub mod waiting;
pub mod welcome;
