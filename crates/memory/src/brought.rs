//! [`Brought`]: what one line's memory tells another's.

use serde::{Deserialize, Serialize};

use crate::facts::Said;

/// What another line has learnt of somebody or something. Where nothing is said, it is only the names that are taken over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brought {
    /// Other names
    pub aliases: Vec<String>,
    /// What a person wrote there: it comes first, and nobody makes it shorter
    pub text: String,
    /// What was learnt there
    pub facts: Vec<Said>,
}
