//! [`Guarantee`]: what the disk below a vault promises, in one sentence.

/// What can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarantee {
    /// How much
    pub grade: Grade,
    /// What the disk calls itself; nothing if it does not say
    pub disk: Option<String>,
}

/// How much can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// Files trade names in one instant, and names are durable when they are synced.
    Whole,
    /// Files trade names in steps; the disk keeps a journal of them.
    InSteps,
    /// No journal: a power cut can damage what was written last.
    NoJournal,
    /// The disk is another computer's, or a layer that passes on to one.
    Elsewhere,
    /// Nobody has looked.
    Unknown,
}

impl Guarantee {
    /// Of a disk that calls itself so.
    pub(crate) fn of(disk: Option<&str>) -> Self {
        let grade = match disk.unwrap_or_default().to_lowercase().as_str() {
            "ext4" | "xfs" | "btrfs" | "f2fs" | "zfs" | "bcachefs" | "tmpfs" | "overlay" | "apfs" => {
                Grade::Whole
            }
            "ntfs" | "refs" => Grade::InSteps,
            "exfat" | "fat" | "fat32" | "vfat" | "msdos" => Grade::NoJournal,
            "network" | "nfs" | "smb" | "smbfs" | "cifs" | "9p" | "fuse" | "sdcardfs" => Grade::Elsewhere,
            _ => Grade::Unknown,
        };
        Self { grade, disk: disk.filter(|disk| !disk.is_empty()).map(str::to_owned) }
    }

    /// What that means for the vault.
    pub fn sentence(&self) -> String {
        let disk = self.disk.as_deref().unwrap_or("unknown");
        let what = match self.grade {
            // What the disk is called is of use to nobody then.
            Grade::Whole => {
                return "Every change is whole or not at all, also if the power goes, and no save of SillyTavern's is lost."
                    .to_owned();
            }
            Grade::InSteps => {
                "no save is lost and what was cut off is finished or taken back; while a shared file is changed, its name is missing for an instant"
            }
            Grade::NoJournal => {
                "a kill harms nothing, but a power cut can damage what was written last: keep a backup, or move the vault to another disk"
            }
            Grade::Elsewhere => {
                "a kill harms nothing, but how long a save stays in the memory of the other side is not known: a vault is safest on a disk of this machine"
            }
            Grade::Unknown => "what the disk promises is not known; a kill harms nothing",
        };
        format!("On this disk ({disk}) {what}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_a_disk_is_and_what_that_means() {
        assert!(Guarantee::of(Some("ext4")).sentence().contains("also if the power goes"));
        assert!(Guarantee::of(Some("NTFS")).sentence().contains("missing for an instant"));
        assert!(Guarantee::of(Some("exFAT")).sentence().contains("keep a backup"));
        assert_eq!(Guarantee::of(Some("nfs")).grade, Grade::Elsewhere);
        assert_eq!(Guarantee::of(None).grade, Grade::Unknown);
    }
}
