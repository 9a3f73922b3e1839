//! [`name`]: what the disk below a folder calls itself.

use std::os::fd::BorrowedFd;

/// By the numbers of Linux's manual (`statfs`).
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn name(dir: BorrowedFd<'_>) -> Option<String> {
    const KNOWN: [(u64, &str); 19] = [
        (0xEF53, "ext4"),
        (0x5846_5342, "xfs"),
        (0x9123_683E, "btrfs"),
        (0xF2F5_2010, "f2fs"),
        (0x2FC1_2FC1, "zfs"),
        (0xCA45_1A4E, "bcachefs"),
        (0x0102_1994, "tmpfs"),
        (0x794C_7630, "overlay"),
        (0x2011_BAB0, "exfat"),
        (0x4D44, "vfat"),
        // The drivers of Linux trade names in one instant, but this is not what anybody has tried on it.
        (0x7366_746E, "ntfs on Linux"),
        (0x5346_544E, "ntfs on Linux"),
        (0x6969, "nfs"),
        (0xFE53_4D42, "smb"),
        (0xFF53_4D42, "cifs"),
        (0x517B, "smb"),
        (0x0102_1997, "9p"),
        (0x6573_5546, "fuse"),
        (0x5DCA_2DF5, "sdcardfs"),
    ];
    #[allow(
        clippy::unnecessary_cast,
        trivial_numeric_casts,
        reason = "the types differ from system to system"
    )]
    let number = rustix::fs::fstatfs(dir).ok()?.f_type as u64 & 0xFFFF_FFFF;
    KNOWN.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned())
}

/// The system says it in words.
#[cfg(target_vendor = "apple")]
pub(crate) fn name(dir: BorrowedFd<'_>) -> Option<String> {
    let told = rustix::fs::fstatfs(dir).ok()?.f_fstypename;
    let letters = told.iter().map(|letter| letter.cast_unsigned()).take_while(|letter| *letter != 0);
    String::from_utf8(letters.collect()).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn name(_dir: BorrowedFd<'_>) -> Option<String> {
    None
}
