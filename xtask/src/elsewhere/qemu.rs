//! [`Qemu`]: programs for arm64 run here, those that they start, too. qemu does not model what Android forbids: what passes in it was run on the
//! processor of a phone, not on a phone.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::dist::toolchain::{install, run};

const PROGRAM: &str = "/usr/bin/qemu-aarch64-static";
/// Where Linux is told what runs programs that are not its own.
const KNOWN: &str = "/proc/sys/fs/binfmt_misc";
const NAME: &str = "forklore-aarch64";
/// How programs for Linux on arm64 begin, and which of these bits count; the letters let qemu serve containers and open files itself.
const RULE: &str = concat!(
    r":forklore-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00",
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff",
    ":/usr/bin/qemu-aarch64-static:F"
);

/// As long as this lives, the system runs programs for arm64 as if they were its own.
pub(crate) struct Qemu {
    /// Whether it did not before
    ours: bool,
}

impl Qemu {
    pub(crate) fn ensure() -> Result<Self> {
        if !Path::new(PROGRAM).is_file() {
            install(&["qemu-user-static"])?;
        }
        let known = Path::new(KNOWN);
        if !known.join("register").exists() {
            run(Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", KNOWN]))
                .context("as root, with a Linux that has binfmt_misc")?;
        }
        // Debian's package has registered it where systemd runs.
        let ours = !known.join("qemu-aarch64").exists();
        if ours && !known.join(NAME).exists() {
            std::fs::write(known.join("register"), RULE).context("as root: to register qemu")?;
        }
        Ok(Self { ours })
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        if self.ours {
            // It says itself if it fails, and nobody else is harmed by a rule that stays.
            let _unregistered = std::fs::write(Path::new(KNOWN).join(NAME), "-1");
        }
    }
}
