//! What can be asked of a vault, and what is answered. The command line and the server both ask here, so that neither has a rule or a
//! document of its own.
//!
//! * [`Desk`] is a vault that can be asked: it reads the [`Library`](forklore_engine::Library), with or without the right to change.
//!   [`Shelf`] keeps what was read as long as it holds.
//! * The calls are functions on a desk, one module a topic: [`look`], [`fork`], [`heal`], [`enter`], [`ops`], [`past`], [`keep`],
//!   [`travel`], [`config`], [`doctor`]. What they need is a plain struct that a JSON body or the flags of a command become; what they give is
//!   the engine's report, whose JSON others rely on (`docs/formats/json.md`).
//! * [`note`] keeps history of what was done.
//! * [`Failure`] is what a user is told when something does not work.

pub mod config;
mod desk;
pub mod doctor;
pub mod enter;
mod failure;
pub mod fork;
pub mod heal;
pub mod keep;
pub mod look;
pub mod moment;
pub mod note;
pub mod ops;
pub mod past;
mod picture;
mod shelf;
pub mod travel;

pub use desk::{Desk, now};
pub use failure::{Failure, Kind, Told, capital};
pub use picture::{Picture, picture};
use serde::Serialize;
pub use shelf::{Shelf, Shelved};

/// A document as it is printed, and answered: indented, with a newline at its end.
pub fn document<T: Serialize + ?Sized>(value: &T) -> std::io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}
