//! Who is related to whom: `kin` aligns relatives, `traced` remembers what was found out about all of them, `appended` knows what was
//! played elsewhere.

mod appended;
mod kin;
mod lost;
mod traced;

pub use appended::PutBehind;
pub(crate) use traced::{Key, is_worthwhile, recall, remember};
