//! [`Attributes`]: whose a file is and who may read it.

/// Owner, mode and extended attributes of a file or folder. Where the system has no such thing, they are all alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attributes {
    /// The bits of the mode, without the kind of the file
    pub mode: u32,
    /// Numbers of user and group
    pub owner: (u32, u32),
    /// Names and values of what else is said of it, lists of access rights included
    pub extended: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Attributes {
    /// What a new file gets in a folder with these: it is not more readable than the folder is, and only its owner writes.
    pub fn of_new_file(&self) -> Self {
        Self { mode: self.mode & 0o644, owner: self.owner, extended: Vec::new() }
    }

    /// What a new folder gets in a folder with these.
    pub fn of_new_dir(&self) -> Self {
        Self { mode: self.mode & 0o755, owner: self.owner, extended: Vec::new() }
    }

    /// What is made from several files can be read only by those who may read each of them.
    pub fn and(self, other: &Self) -> Self {
        Self { mode: self.mode & other.mode, ..self }
    }

    /// The same for nobody but the owner.
    pub fn private(self) -> Self {
        Self { mode: self.mode & 0o700, owner: self.owner, extended: Vec::new() }
    }
}
