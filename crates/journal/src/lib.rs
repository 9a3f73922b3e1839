//! All or nothing: [`Tx`] turns the steps of an [operation] into changes on disk that can be cut off at any instruction.
//!
//! ```text
//! lock; recover what was cut off before
//! stage every new file out of SillyTavern's sight          sync each, sync the folder
//! write the intent: the operation, sealed                  sync, rename, sync the folder   <== from here on it happens
//! publish new files, what is referred to first             rename, sync
//! edit the files that SillyTavern writes, too              compare-and-swap (`swap`)
//! retire files: they become objects                        rename, sync
//! the intent becomes the entry in the log                  rename
//! ```
//!
//! Before the intent is durable a crash means that nothing happened; after it [`recover()`] finishes the work. Every step can be
//! done twice (`redo`). A fork that SillyTavern saves itself goes through [`Tx::prepare`] and [`resolve()`]: book published, intent sealed,
//! and then committed or taken back when the chat has, or has not, appeared.
//!
//! * [`Tx`] is an operation in the making, [`Right`] the right to make one.
//! * [`operation`]: what an operation is, as the log keeps it; [`seal`] its bytes.
//! * `redo` does its steps, `swap` the edits of files that SillyTavern writes, too; [`recover()`] is what the next start does.
//! * [`oplog::OpLog`] is everything that Forklore ever did, to be looked at and undone.
//! * [`layout`] knows where things are in a vault, [`folders`] where Forklore's own are.
//!
//! Nothing here knows a story: where a message is in a chat, whoever asks for the change tells ([`Locate`]).

mod awaited;
mod content;
mod edit;
mod error;
pub mod folders;
pub mod layout;
mod left_over;
mod lost;
mod models;
pub mod operation;
pub mod oplog;
mod recovery;
mod redo;
mod resolve;
mod right;
pub mod seal;
mod swap;
mod transaction;
mod work;

pub use content::hash;
pub use edit::{Locate, Would, header_line, pad, would_edit};
pub use error::TxError;
pub use folders::{log_path, object_path};
pub use recovery::{Recovered, recover};
pub use redo::Outcome;
pub use resolve::resolve;
pub use right::{Right, hold};
pub use swap::Swapped;
pub use transaction::{About, Tx};
pub use work::{Work, work};
