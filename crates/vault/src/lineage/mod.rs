//! Who is related to whom: `kin` aligns relatives, `traced` remembers what was found out about all of them.

mod kin;
mod traced;

pub(crate) use traced::{Key, is_worthwhile, recall, remember};
