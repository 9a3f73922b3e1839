//! [`Strace`]: runs the real binary and interferes with chosen system calls of its main thread, which is the one that writes.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use forklore_testkit::{Run, TestVault};

use crate::FORKLORE;

/// Calls that change what is on disk, and those around them. A question mark lets strace pass over what a processor does not have.
const WATCHED: &str = "openat,?openat2,?open,?creat,write,?pwrite64,?writev,fsync,?fdatasync,?copy_file_range,?sendfile,?rename,?renameat,\
    ?renameat2,?unlink,unlinkat,?mkdir,mkdirat,?rmdir,ftruncate,?link,linkat,?symlink,symlinkat,fchown,fchmod,?fsetxattr,\
    close,getdents64";

/// Says why a test does not run, past the harness, which would keep it to itself.
pub(crate) fn skipped(test: &str, why: &str) {
    let _unheard = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

/// The long form: `cargo xtask soak`.
pub(crate) fn soaking() -> bool {
    std::env::var_os("FORKLORE_SOAK").is_some()
}

pub(crate) struct Strace(pub(crate) String);

/// One call of a run.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The how-manieth of its name, from 1
    pub(crate) nth: usize,
    /// Everything about it
    pub(crate) text: String,
    /// Whether it is about the vault
    pub(crate) in_vault: bool,
}

impl Call {
    /// Whether the vault is another one after it.
    pub(crate) fn changes(&self) -> bool {
        match &*self.name {
            "openat" => self.text.contains("O_CREAT"),
            "openat2" | "close" | "getdents64" => false,
            _ => self.in_vault,
        }
    }
}

impl Strace {
    /// `None` where there is no strace that works. What `xtask` has found must work.
    pub(crate) fn find(test: &str) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            skipped(test, "strace is for Linux");
            return None;
        }
        if std::env::var_os("FORKLORE_EMULATED").is_some() {
            skipped(test, "strace would trace the emulator");
            return None;
        }
        let named = std::env::var("FORKLORE_STRACE").ok();
        let strace = Self(named.clone().unwrap_or_else(|| "strace".to_owned()));
        let probe = Command::new(&strace.0).args(["-o", "/dev/null", "true"]).output();
        if probe.is_ok_and(|output| output.status.success()) {
            return Some(strace);
        }
        assert!(named.is_none(), "FORKLORE_STRACE={} does not work", strace.0);
        skipped(test, "strace is not there or may not trace; `cargo xtask test` installs it where it can");
        None
    }

    /// Runs a command with these interferences.
    pub(crate) fn run(&self, vault: &TestVault, options: &[&str], args: &[&str]) -> Run {
        let mut command = vault.command(&self.0);
        // Threads that finish in another order would be another run.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin")));
        if !options.contains(&"-o") {
            command.args(["-o", "/dev/null"]);
        }
        vault.finish(command.args(["-qq"]).args(options).arg(FORKLORE).args(args))
    }

    /// Runs a command that must work, and lists what its main thread does from the first look at the vault on. Nothing else
    /// may change anything.
    pub(crate) fn census(&self, vault: &TestVault, options: &[&str], args: &[&str]) -> Vec<Call> {
        let log = vault.root().with_extension("strace");
        let name = log.to_string_lossy().into_owned();
        let watch = format!("trace={WATCHED}");
        let run = self.run(
            vault,
            &[&["-f", "-y", "-o", &name, "-e", &watch, "-e", "signal=none"], options].concat(),
            args,
        );
        assert_eq!(run.code, Some(0), "{args:?}: {run}");
        let root = vault.root().canonicalize().unwrap().to_string_lossy().into_owned();
        let (mut counts, mut calls) = (HashMap::new(), Vec::new());
        let log = fs::read_to_string(PathBuf::from(name)).unwrap();
        let main = log.split_whitespace().next().unwrap().to_owned();
        for line in log.lines() {
            let (thread, rest) = line.split_once(' ').unwrap();
            let Some((name, text)) =
                rest.trim_start().split_once('(').filter(|(name, _)| !name.contains(' '))
            else {
                continue;
            };
            let in_vault = text.contains(&root);
            if thread == main {
                let nth = counts.entry(name.to_owned()).or_insert(0);
                *nth += 1;
                calls.push(Call { name: name.to_owned(), nth: *nth, text: text.to_owned(), in_vault });
            } else {
                let call = Call { name: name.to_owned(), nth: 0, text: text.to_owned(), in_vault };
                assert!(!call.changes(), "another thread writes: {line}");
            }
        }
        let first = calls.iter().position(|call| call.in_vault).unwrap_or(calls.len());
        calls.split_off(first)
    }
}

/// How many calls there are of each name, for people.
pub(crate) fn tally<'a>(calls: impl Iterator<Item = &'a Call>) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    calls.for_each(|call| *names.entry(&call.name).or_default() += 1);
    names.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}
