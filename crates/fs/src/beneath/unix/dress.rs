//! [`dress`]: a file gets the owner, the mode and the extended attributes that another has.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{Gid, Mode, Stat, Uid};
use rustix::io::Errno;

use crate::attributes::Attributes;

#[allow(clippy::unnecessary_cast, trivial_numeric_casts, reason = "the types differ from system to system")]
pub(super) fn of(stat: &Stat) -> Attributes {
    let mode = stat.st_mode as u32 & 0o7777;
    Attributes { mode, owner: (stat.st_uid as u32, stat.st_gid as u32), extended: Vec::new() }
}

/// Only root can give a file to another user. Where the owner or the group cannot be the same, nobody may read the file who could not
/// read the other.
pub(super) fn dress(file: BorrowedFd<'_>, wanted: &Attributes) -> io::Result<()> {
    let mut is = of(&rustix::fs::fstat(file)?);
    if is.owner != wanted.owner {
        let [user, group] = [wanted.owner.0, wanted.owner.1];
        let group = Some(Gid::from_raw(group));
        // As far as it goes: what came of it is looked at below.
        let _refused = rustix::fs::fchown(file, Some(Uid::from_raw(user)), group)
            .or_else(|_| rustix::fs::fchown(file, None, group));
        is = of(&rustix::fs::fstat(file)?);
    }
    // In the folders of some groups, new folders inherit this bit, and lose it nowhere else.
    let mut mode = wanted.mode | (is.mode & 0o2000);
    if is.owner.1 != wanted.owner.1 {
        mode &= !0o2070 | ((mode & 0o007) << 3);
    }
    if is.owner.0 != wanted.owner.0 {
        mode &= !0o4000;
    }
    if is.mode != mode {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode as _))?;
    }
    let have = extended(file)?;
    for (name, _) in have.iter().filter(|(name, _)| !wanted.extended.iter().any(|(wanted, _)| wanted == name))
    {
        allowed(rustix::fs::fremovexattr(file, &name[..]))?;
    }
    for (name, value) in wanted.extended.iter().filter(|both| !have.contains(both)) {
        allowed(rustix::fs::fsetxattr(file, &name[..], value, rustix::fs::XattrFlags::empty()))?;
    }
    Ok(())
}

/// What only root may set, or what this file system does not know, cannot be kept.
fn allowed(done: rustix::io::Result<()>) -> io::Result<()> {
    match done {
        Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP | Errno::NODATA) => Ok(()),
        other => Ok(other?),
    }
}

/// The extended attributes that belong to a file whatever its content is. Others are the system's own, such as sums over the content.
pub(super) fn extended(file: BorrowedFd<'_>) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let names = match read(|buf| match buf {
        None => rustix::fs::flistxattr_query(file),
        Some(buf) => rustix::fs::flistxattr(file, buf),
    }) {
        // A file system without such things.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => return Ok(Vec::new()),
        other => other?,
    };
    let mut all = Vec::new();
    for name in names.split(|byte| *byte == 0).filter(|name| is_kept(name)) {
        let value = read(|buf| match buf {
            None => rustix::fs::fgetxattr_query(file, name),
            Some(buf) => rustix::fs::fgetxattr(file, name, buf),
        });
        match value {
            Ok(value) => all.push((name.to_owned(), value)),
            // Taken away meanwhile, or not for us.
            Err(Errno::NODATA | Errno::PERM | Errno::ACCESS) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(all)
}

fn is_kept(name: &[u8]) -> bool {
    let kept: [&[u8]; 4] = [b"user.", b"trusted.", b"system.posix_acl_access", b"security.selinux"];
    let elsewhere = !cfg!(any(target_os = "linux", target_os = "android"));
    !name.is_empty() && (elsewhere || kept.iter().any(|kept| name.starts_with(kept)))
}

/// Asks how much there is, then for all of it, again if it grew in between.
fn read(ask: impl Fn(Option<&mut [u8]>) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    loop {
        let mut buf = vec![0; ask(None)?];
        if buf.is_empty() {
            return Ok(buf);
        }
        match ask(Some(&mut buf)) {
            Err(Errno::RANGE) => {}
            Err(e) => return Err(e),
            Ok(len) => {
                buf.truncate(len);
                return Ok(buf);
            }
        }
    }
}
