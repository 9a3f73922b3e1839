//! [`Files`]: the chat and its book, and what happens to them: see [`SaveKind`].

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use forklore_testkit::generate::{self, Random, Size};

/// What is saved.
pub(super) struct Files {
    pub(super) folder: PathBuf,
}

/// What happens to the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveKind {
    First,
    Append,
    Same,
    Rewritten,
    Flips,
    Extra,
    Entry,
    Fork,
}

impl SaveKind {
    pub(super) const ALL: [Self; 8] = [
        Self::First,
        Self::Append,
        Self::Same,
        Self::Rewritten,
        Self::Flips,
        Self::Extra,
        Self::Entry,
        Self::Fork,
    ];

    pub(super) fn saves(self) -> u32 {
        match self {
            Self::Append => 20,
            Self::Entry => 5,
            _ => 1,
        }
    }

    pub(super) fn what(self) -> &'static str {
        match self {
            Self::First => "The first time",
            Self::Append => "A message and its answer appended, 20 saves of the whole file",
            Self::Same => "The whole file saved again, the same bytes",
            Self::Rewritten => {
                "The whole file written in another spelling (\\u00eb for ë), the same in meaning"
            }
            Self::Flips => "1,000 messages hidden, all over the chat",
            Self::Extra => "An extension writes something into the extra of every message",
            Self::Entry => "One entry of the book changed, 5 saves",
            Self::Fork => "A fork: the first half of the chat with another header, and a copy of the book",
        }
    }
}

impl Files {
    /// Makes them, as they are in the beginning.
    pub(super) fn make(folder: &Path, bytes: u64, entries: usize) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let files = Self { folder: folder.to_owned() };
        let mut out = std::io::BufWriter::new(fs::File::create(files.chat())?);
        let size = Size { bytes, entries, scenes: 40, seed: 7 };
        let book = generate::chat(&mut out, size, "11111111-1111-4111-8111-111111111111")?;
        out.into_inner()?.sync_all()?;
        fs::write(files.book(), pretty(&book)?)?;
        Ok(files)
    }

    pub(super) fn chat(&self) -> PathBuf {
        self.folder.join("Long.jsonl")
    }

    pub(super) fn book(&self) -> PathBuf {
        self.folder.join("Long.json")
    }

    pub(super) fn chat_len(&self) -> Result<u64> {
        Ok(fs::metadata(self.chat())?.len())
    }

    pub(super) fn book_len(&self) -> Result<u64> {
        Ok(fs::metadata(self.book())?.len())
    }

    /// Saves what the step makes of the files, for the `number`-th time.
    pub(super) fn save(&self, step: SaveKind, number: u32) -> Result<()> {
        match step {
            SaveKind::First => Ok(()),
            SaveKind::Append => self.change_chat(|text| {
                let mut random = Random::new(1000 + u64::from(number));
                for user in [true, false] {
                    let mes = random.words(if user { 60 } else { 230 });
                    let line = serde_json::json!({"name": "Gen", "is_user": user, "is_system": false, "mes": mes,
                        "send_date": format!("2026-03-01T10:{number:02}:{:02}.000Z", u32::from(user)),
                        "swipes": [mes], "extra": {"api": "custom", "model": "generated", "reasoning": ""}});
                    text.push('\n');
                    text.push_str(&line.to_string());
                }
            }),
            SaveKind::Same => self.change_chat(|_| ()),
            SaveKind::Rewritten => self.change_chat(|text| *text = text.replace('ë', "\\u00eb").replace('—', "\\u2014")),
            SaveKind::Flips => self.change_chat(|text| {
                let lines = text.lines().count();
                let every = (lines / 1000).max(1);
                let flip = |(n, line): (usize, &str)| {
                    if n % every == every / 2 {
                        line.replacen("\"is_system\":false", "\"is_system\":true", 1)
                    } else {
                        line.to_owned()
                    }
                };
                *text = text.lines().enumerate().map(flip).collect::<Vec<_>>().join("\n");
            }),
            SaveKind::Extra => self.change_chat(|text| {
                let add = |(n, line): (usize, &str)| {
                    let tokens = format!("\"token_count\":{},\"model\":\"generated\"", 100 + n * 7919 % 400);
                    line.replacen("\"model\":\"generated\"", &tokens, 1)
                };
                *text = text.lines().enumerate().map(add).collect::<Vec<_>>().join("\n");
            }),
            SaveKind::Entry => {
                let text = fs::read_to_string(self.book())?;
                let name = format!("character-Person {}", 40 + number * 90);
                let at = text.find(&format!("\"comment\": \"{name}\"")).context("the book has no such entry")?;
                let (before, after) = text.split_at(at);
                let words = Random::new(u64::from(number)).words(12);
                let after = after.replacen("\"content\": \"", &format!("\"content\": {words:?} \""), 1);
                // The words were put in as a text of their own: take the quotes between away.
                save(&self.book(), &format!("{before}{}", after.replacen("\" \"", " ", 1)))
            }
            SaveKind::Fork => {
                let text = fs::read_to_string(self.chat())?;
                let half = text.lines().count() / 2;
                let header = text.lines().next().unwrap_or_default();
                let header =
                    header.replacen("{\"integrity\":\"1111", "{\"main_chat\":\"Long\",\"integrity\":\"2222", 1);
                let rest = text.lines().skip(1).take(half);
                let fork = std::iter::once(header.as_str()).chain(rest).collect::<Vec<_>>().join("\n");
                save(&self.folder.join("Long - Branch #1.jsonl"), &fork)?;
                save(&self.folder.join("Long - Branch #1.json"), &fs::read_to_string(self.book())?)
            }
        }
    }

    fn change_chat(&self, change: impl FnOnce(&mut String)) -> Result<()> {
        let mut text = fs::read_to_string(self.chat())?;
        change(&mut text);
        save(&self.chat(), &text)
    }
}

/// As SillyTavern does: a new file takes the name.
fn save(path: &Path, text: &str) -> Result<()> {
    let temporary = path.with_extension("saving");
    fs::write(&temporary, text)?;
    Ok(fs::rename(&temporary, path)?)
}

/// As SillyTavern writes books.
fn pretty(value: &serde_json::Value) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    serde::Serialize::serialize(value, &mut serializer)?;
    Ok(out)
}
