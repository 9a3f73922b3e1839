//! [`Setup`]: how a vault is found when the server starts without one. Whoever starts it knows; the server asks when a person has chosen.

use std::path::PathBuf;

use forklore_api::Failure;

/// What somebody wants to look at who has no vault open.
#[derive(Debug)]
pub enum First {
    /// A folder that they named: a user's, or one around it
    Folder(PathBuf),
    /// The demo story
    Demo,
}

/// How a vault is found when the server starts without one. Whoever starts it knows; the server asks when a person has chosen.
pub struct Setup {
    /// Vaults that were found on this machine
    pub folders: Vec<PathBuf>,
    /// Where the demo story would be made
    pub demo: PathBuf,
    /// Finds or makes what was chosen, and gives the vault's folder
    pub choose: Box<dyn Fn(First) -> Result<PathBuf, Failure> + Send + Sync>,
}
