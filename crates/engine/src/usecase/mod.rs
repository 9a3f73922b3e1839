//! The use-cases: each takes a [`crate::Library`] and gives a report, plain data whose JSON form other programs rely on
//! (`docs/formats/json.md`).

pub mod blame;
pub mod check;
pub mod delete;
pub mod fork;
pub mod heal;
pub mod history;
pub mod restore;
pub mod show;
pub mod stories;
pub mod trash;
pub mod tree;
pub mod undo;
