//! The use-cases: each takes a [`crate::Library`] and gives a report, plain data whose JSON form other programs rely on
//! (`docs/formats/json.md`).

pub mod check;
pub mod fork;
pub mod show;
pub mod stories;
pub mod tree;
