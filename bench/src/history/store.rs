//! Forklore's store as a keeper: `cargo xtask keep STORE FILES` keeps every file of a folder, once, in a process of its own.
//!
//! Units come from a plain look at lines, which is all that a benchmark of the store needs: the message's date, the entry's number.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use forklore_fs::{OpenFile, RealFs, VaultPath, Vfs};
use forklore_store::{Id, Store, Unit};

use super::saves::Files;

const CHAT_SEGMENT: usize = 64 << 10;
const BOOK_SEGMENT: usize = 16 << 10;

/// Keeps all files that have changed, in one commit.
pub(crate) fn keep(store: &Path, files: &Path) -> Result<()> {
    let mut store = open(store)?;
    let known = known(&store)?;
    let fs = RealFs::new(files)?;
    let mut writer = store.writer()?;
    for node in fs.list(&VaultPath::root())? {
        let file = fs.open(&VaultPath::new(&node.name)?)?;
        let identity = file.identity()?;
        let before = known.get(&node.name);
        if before.is_some_and(|(_, modified)| *modified == identity.modified) {
            continue;
        }
        // A fork is made from what it is called after.
        let parent = node.name.split(" - ").next().unwrap_or_default();
        let extension = node.name.rsplit('.').next().unwrap_or_default();
        let previous = before.or_else(|| known.get(&format!("{parent}.{extension}"))).map(|(id, _)| *id);
        let chat = extension == "jsonl";
        let target = if chat { CHAT_SEGMENT } else { BOOK_SEGMENT };
        let mut units = Units::new(&*file, identity.len, chat);
        let id = writer.put_document(&*file, &mut units, target, previous.as_ref())?;
        units.finish()?;
        let record = serde_json::json!({"file": node.name, "content": id, "modified": identity.modified});
        writer.record(record.to_string().as_bytes());
    }
    Ok(writer.commit()?)
}

/// Whether the newest versions of all files come back.
pub(super) fn verify(store: &Path, files: &Files) -> Result<()> {
    let start = Instant::now();
    let store = open(store)?;
    let opened = start.elapsed();
    for (name, (id, _)) in known(&store)? {
        let mut check = Check { expected: fs::File::open(files.folder.join(&name))?, name };
        store.read_document(&id, &mut check)?;
    }
    println!(
        "\n  All files came back as they are: opened in {:.1} ms, read in {:.0} ms.",
        opened.as_secs_f64() * 1000.0,
        (start.elapsed() - opened).as_secs_f64() * 1000.0
    );
    Ok(())
}

struct Check {
    expected: fs::File,
    name: String,
}

impl Write for Check {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut expected = vec![0; bytes.len()];
        std::io::Read::read_exact(&mut self.expected, &mut expected)?;
        if expected != bytes {
            return Err(std::io::Error::other(format!("{} is not what it was", self.name)));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn open(store: &Path) -> Result<Store> {
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::make(store)?);
    Ok(Store::open(fs, VaultPath::new("history")?)?)
}

/// The newest version of each file, and when it was saved.
fn known(store: &Store) -> Result<BTreeMap<String, (Id, i64)>> {
    let mut known = BTreeMap::new();
    for record in store.records() {
        let record: serde_json::Value = serde_json::from_slice(record.payload)?;
        let (Some(file), Some(modified)) = (record["file"].as_str(), record["modified"].as_i64()) else {
            bail!("a record that this benchmark did not write");
        };
        let id = record["content"].as_str().context("no content")?.parse()?;
        known.insert(file.to_owned(), (id, modified));
    }
    Ok(known)
}

/// The units of a file, found by streaming through it.
struct Units<'a> {
    file: &'a dyn OpenFile,
    chat: bool,
    len: u64,
    /// Where the block begins, and how much of it was looked at.
    at: u64,
    seen: usize,
    block: Vec<u8>,
    error: Option<std::io::Error>,
}

impl<'a> Units<'a> {
    fn new(file: &'a dyn OpenFile, len: u64, chat: bool) -> Self {
        Self { file, chat, len, at: 0, seen: 0, block: Vec::new(), error: None }
    }

    fn finish(self) -> std::io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    /// The end of the unit that begins at `seen`, in a block that reaches as far as it has to.
    fn end(&mut self) -> std::io::Result<usize> {
        let mut from = self.seen;
        loop {
            let found = if self.chat {
                memchr::memchr(b'\n', &self.block[from..]).map(|at| from + at + 1)
            } else {
                // Entries are indented by eight blanks, and what is in them by more.
                memchr::memmem::find_iter(&self.block[from..], b"\n        \"")
                    .map(|at| from + at + 1)
                    .find(|at| *at > self.seen)
            };
            if let Some(end) = found {
                return Ok(end);
            }
            let whole = self.at + self.block.len() as u64 == self.len;
            if whole {
                return Ok(self.block.len());
            }
            // From here on, with more.
            let rest = self.block.len() - self.seen;
            self.block.drain(..self.seen);
            self.at += self.seen as u64;
            self.seen = 0;
            let more = (self.len - self.at - rest as u64).min(4 << 20) as usize;
            self.block.resize(rest + more, 0);
            let got = self.file.read_at(&mut self.block[rest..], self.at + rest as u64)?;
            if got < more {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            from = rest.saturating_sub(16);
        }
    }
}

impl Iterator for Units<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        if self.at + self.seen as u64 >= self.len {
            return None;
        }
        let end = match self.end() {
            Ok(end) => end,
            Err(e) => {
                self.error = Some(e);
                return None;
            }
        };
        let unit = &self.block[self.seen..end];
        let name = if self.chat {
            memchr::memmem::rfind(unit, b"\"send_date\":\"")
                .map_or(&unit[..0], |at| &unit[at..(at + 40).min(unit.len())])
        } else {
            unit.split(|byte| *byte == b':').next().unwrap_or_default()
        };
        let hash = blake3::hash(name);
        let key = hash.as_bytes().iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte));
        let len = unit.len() as u64;
        self.seen = end;
        Some(Unit { len, key })
    }
}
