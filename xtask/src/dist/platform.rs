//! [`Platform`]: what people run SillyTavern on, and what that is called by cargo and by npm.

use anyhow::{Context as _, Result};

/// One kind of machine that gets a program of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Platform {
    /// As archives are named
    pub(crate) name: &'static str,
    /// As cargo calls it
    pub(crate) triple: &'static str,
    /// What npm calls it: the values of `process.platform` and `process.arch`. A static program serves more than one.
    pub(crate) npm: &'static [(&'static str, &'static str)],
    /// Whether the program can be run where it is built, with or without an emulator
    pub(crate) tried: bool,
}

/// All of them.
pub(crate) const ALL: [Platform; 5] = [
    Platform { name: "windows-x64", triple: "x86_64-pc-windows-gnu", npm: &[("win32", "x64")], tried: true },
    Platform {
        name: "linux-x64",
        triple: "x86_64-unknown-linux-musl",
        npm: &[("linux", "x64")],
        tried: true,
    },
    Platform {
        name: "linux-arm64",
        triple: "aarch64-unknown-linux-musl",
        // Termux says that it is `android`; it has no libc of its own kind that a static program would miss.
        npm: &[("linux", "arm64"), ("android", "arm64")],
        tried: true,
    },
    Platform { name: "darwin-x64", triple: "x86_64-apple-darwin", npm: &[("darwin", "x64")], tried: false },
    Platform {
        name: "darwin-arm64",
        triple: "aarch64-apple-darwin",
        npm: &[("darwin", "arm64")],
        tried: false,
    },
];

impl Platform {
    /// The one with this name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let names = || ALL.map(|platform| platform.name).join(", ");
        let found = ALL.into_iter().find(|platform| platform.name == name);
        found.with_context(|| format!("there is no platform {name:?}; there are {}", names()))
    }

    /// Which system it is for.
    pub(crate) fn is_windows(&self) -> bool {
        self.triple.contains("windows")
    }

    /// Which system it is for.
    pub(crate) fn is_darwin(&self) -> bool {
        self.triple.contains("darwin")
    }

    /// What is said behind its name where it could not be run.
    pub(crate) fn caution(&self) -> &'static str {
        if self.tried { "" } else { " (built, and never run)" }
    }

    /// The file name of the program there.
    pub(crate) fn program(&self) -> &'static str {
        if self.is_windows() { "forklore.exe" } else { "forklore" }
    }
}
