//! [`is_here`]: whether this is Android, whose sandbox kills a program for a system call that it does not know. It cannot be asked: the
//! question would be the last one. So nothing is called there that is younger than the oldest Android which Termux runs on.

use std::sync::OnceLock;

/// Whether this is Android. A program for Linux runs there, too, so it is told by what Android sets for every program.
pub(crate) fn is_here() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    *HERE.get_or_init(|| {
        cfg!(target_os = "android")
            || (std::env::var_os("ANDROID_ROOT").is_some() && std::env::var_os("ANDROID_DATA").is_some())
    })
}
