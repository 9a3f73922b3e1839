//! What only Unix has and tests need, in one place: links ([`symlink`]), modes and owners
//! of files, sockets, users of processes.
//!
//! A test that uses any of it is `#[cfg(unix)]`: there is no link on Windows that everybody may make, no mode and no such owner. Everything
//! else compiles for Windows, and `cargo xtask test --wine` runs it there. That nobody goes around this module is a test, too
//! (`structure` of the command's tests).

pub use std::os::unix::ffi::OsStrExt;
pub use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
pub use std::os::unix::net::UnixListener;
pub use std::os::unix::process::CommandExt;
