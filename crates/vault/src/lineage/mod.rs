//! Who is related to whom: `trace` finds it out when a vault is read, `kin` aligns relatives, `line` are the chats above one, `traced` remembers what was found out about all of them, `appended` knows what was
//! played elsewhere.

mod appended;
mod kin;
mod line;
mod lost;
mod trace;
mod traced;

pub use appended::PutBehind;
