//! The use-cases: each takes a [`crate::Library`] and gives a report, plain data whose JSON form other programs rely on
//! (`docs/formats/json.md`).

pub mod blame;
pub mod check;
pub mod delete;
pub mod diff;
pub mod doctor;
pub mod export;
pub mod fork;
pub mod gained;
pub mod heal;
pub mod history;
pub mod hook;
pub mod import;
pub mod line;
pub mod messages;
pub mod needed;
pub mod pending;
pub mod rename;
pub mod restore;
pub mod retention;
pub mod search;
pub mod seen;
pub mod show;
pub mod stories;
pub mod trash;
pub mod tree;
pub mod undo;
