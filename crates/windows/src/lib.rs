//! What Forklore asks of Windows that Rust's own library does not: see `calls`. Elsewhere there is nothing in here.
//!
//! This is the one crate in which `unsafe` is allowed. Each function is one call of the system with safe arguments and a safe answer; what
//! is done with them is decided in `forklore-fs`.

#[cfg(windows)]
mod calls;

#[cfg(windows)]
pub use calls::{
    Information, Volume, information, move_without_replacing, open_to_rename, rename_opened, room, volume,
};
