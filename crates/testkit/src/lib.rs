//! Vaults for tests: [`TestVault`] is a SillyTavern user folder in a temporary place, [`Run`] what the real binary said about it.
//!
//! [`TestVault::harbor`] is a copy of the vault that the real SillyTavern and the real Auto-Recap made (see `fixtures/README.md`);
//! [`generate`] makes large ones, [`story`] small ones with everything in them, [`play`] ones whose truth is known at every message. [`http`] talks to servers, [`tavern`] is the real
//! SillyTavern, [`model_server`] a server of a model with every fault that one can have, [`llama`] a real
//! one, [`unix`] what tests need that Windows has not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set up its files should stop"
)]

pub mod generate;
pub mod http;
pub mod lineage;
pub mod llama;
pub mod model;
pub mod model_server;
pub mod noise;
pub mod play;
pub mod random;
pub mod story;
#[cfg(unix)]
pub mod tavern;
#[cfg(unix)]
pub mod unix;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// The folder of the fixtures, which are never changed.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A vault of its own, gone when dropped.
#[derive(Debug)]
pub struct TestVault {
    dir: TempDir,
}

impl Default for TestVault {
    fn default() -> Self {
        Self::new()
    }
}

impl TestVault {
    /// An empty vault: the folders, and settings without anything in them.
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// An empty vault in a folder below this one, for tests that care about the disk that it is on.
    pub fn within(parent: &Path) -> Self {
        let vault = Self { dir: tempfile::tempdir_in(parent).unwrap() };
        for folder in ["chats", "group chats", "groups", "worlds", "characters"] {
            fs::create_dir_all(vault.root().join(folder)).unwrap();
        }
        vault.file("settings.json", b"{}")
    }

    /// A copy of the fixture vault `harbor`.
    pub fn harbor() -> Self {
        Self::real("harbor")
    }

    /// A copy of one of the vaults in `fixtures` that the real software made.
    pub fn real(name: &str) -> Self {
        let vault = Self { dir: tempfile::tempdir().unwrap() };
        copy(&fixtures().join(name), &vault.root());
        vault
    }

    /// A copy of one of the small vaults in `fixtures/cases`.
    pub fn case(name: &str) -> Self {
        let vault = Self { dir: tempfile::tempdir().unwrap() };
        copy(&fixtures().join("cases").join(name), &vault.root());
        vault
    }

    /// The demo story.
    pub fn demo() -> Self {
        let vault = Self { dir: tempfile::tempdir().unwrap() };
        forklore_demo::build(&vault.root()).unwrap();
        vault
    }

    /// The vault's folder.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("vault")
    }

    /// Puts a file into the vault.
    #[must_use]
    pub fn file(self, path: &str, bytes: &[u8]) -> Self {
        self.write(path, bytes);
        self
    }

    /// Puts a solo chat into the vault: its metadata, and messages as texts, by turns of the character and the user.
    #[must_use]
    pub fn chat(self, folder: &str, name: &str, metadata: &Value, texts: &[&str]) -> Self {
        let mut lines = vec![
            serde_json::json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"})
                .to_string(),
        ];
        for (i, text) in texts.iter().enumerate() {
            let user = i % 2 == 1;
            let name = if user { "Ana" } else { folder };
            let date = format!("2026-01-01T00:{:02}:{:02}.000Z", i / 60, i % 60);
            lines.push(
                serde_json::json!({"name": name, "is_user": user, "is_system": false, "send_date": date, "mes": text, "extra": {}})
                    .to_string(),
            );
        }
        self.file(&format!("chats/{folder}/{name}.jsonl"), lines.join("\n").as_bytes())
    }

    /// Puts a lorebook into the vault: entries as (title, text).
    #[must_use]
    pub fn book(self, name: &str, entries: &[(&str, &str)]) -> Self {
        let entries: serde_json::Map<String, Value> = entries
            .iter()
            .enumerate()
            .map(|(uid, (comment, content))| {
                (
                    uid.to_string(),
                    serde_json::json!({"uid": uid, "comment": comment, "content": content, "key": []}),
                )
            })
            .collect();
        let book = serde_json::to_vec_pretty(&serde_json::json!({"entries": entries})).unwrap();
        self.file(&format!("worlds/{name}.json"), &book)
    }

    /// Writes a file of the vault, as another program would.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Reads a file of the vault.
    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    /// Every file of the vault that is not Forklore's own, with its content: what must not change under a reader's hands.
    pub fn snapshot(&self) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        let mut todo = vec![self.root()];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(".forklore") {
                    continue;
                }
                if path.is_dir() {
                    todo.push(path);
                } else {
                    let name = path.strip_prefix(self.root()).unwrap().to_string_lossy();
                    // As Forklore names files, on every system.
                    let name = if cfg!(windows) { name.replace('\\', "/") } else { name.into_owned() };
                    found.push((name, fs::read(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    /// Forgets what Forklore remembers.
    pub fn forget_cache(&self) {
        let _was_there = fs::remove_dir_all(self.root().join(".forklore/cache"));
    }

    /// Runs the binary on this vault, in a world that knows nothing else.
    pub fn run(&self, binary: &str, args: &[&str]) -> Run {
        self.finish(self.command(binary).args(args))
    }

    /// A program that is yet to be run on this vault, in a world that knows nothing else.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("FORKLORE_VAULT", self.root()).env("HOME", self.dir.path());
        if cfg!(windows) {
            // Where Windows looks for a home, and what none of its programs does without.
            for home in ["USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
                command.env(home, self.dir.path());
            }
            let needed = ["SystemRoot", "TEMP", "TMP", "PATH"];
            command.envs(needed.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command.current_dir(self.dir.path());
        command
    }

    /// Runs it to its end.
    pub fn finish(&self, command: &mut Command) -> Run {
        let output = started(command);
        let text = |bytes: Vec<u8>| {
            String::from_utf8_lossy(&bytes).replace(&*self.dir.path().to_string_lossy(), "$TMP")
        };
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs the binary with `--json` and reads the one document it prints.
    pub fn json(&self, binary: &str, args: &[&str]) -> Value {
        let run = self.run(binary, &[args, &["--json"]].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("not one JSON document ({e}):\n{run}"))
    }
}

/// Runs a program to its end. Wine says that something inside went wrong where a process did not come up in time, on a machine that is busy: nothing of
/// the program has run then.
fn started(command: &mut Command) -> std::process::Output {
    const INTERNAL_ERROR: i32 = 1359;
    for _ in 0..4 {
        match command.output() {
            Err(e) if cfg!(windows) && e.raw_os_error() == Some(INTERNAL_ERROR) => {}
            done => return done.unwrap(),
        }
    }
    command.output().unwrap()
}

/// What a run of the binary gave.
#[derive(Debug, Clone)]
#[must_use = "a run that nobody looks at proves nothing"]
pub struct Run {
    /// Exit status; `None` if it was killed.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stdout)?;
        if !self.stderr.is_empty() {
            write!(f, "--- stderr\n{}", self.stderr)?;
        }
        match self.code {
            Some(0) => Ok(()),
            Some(code) => write!(f, "--- exit {code}"),
            None => write!(f, "--- killed"),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}
