//! [`scan`]: one pass over a chat file, of any size, in bounded memory. The result is a [`Scan`]: header, transcript, and
//! the few facts about messages that questions about the whole vault need.

use std::io;
use std::sync::mpsc::sync_channel;

use forklore_core::adapter::{self, Scene};
use forklore_core::format::chat::{self, Line, Message};
use forklore_core::story::lineage::Link;
use forklore_core::story::{Transcript, TranscriptBuilder, identify};
use forklore_fs::OpenFile;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How much is read at once. Three blocks are alive at most: one being read, one waiting, one being looked at.
const BLOCK: usize = 4 << 20;

/// What one pass over a chat file gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scan {
    /// The header line; `None` if the file has none.
    pub header: Option<Vec<u8>>,
    /// The messages.
    pub transcript: Transcript,
    /// Facts about some messages.
    pub facts: Facts,
}

/// Facts about some messages of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Scenes, by the message they end with.
    pub scenes: Vec<(usize, Scene)>,
    /// Links to forks: message, whether a bookmark (else a branch), name as typed.
    pub links: Vec<(usize, bool, String)>,
    /// What is wrong with the file.
    pub damage: Vec<Damage>,
}

impl Facts {
    /// Links in lineage's words.
    pub fn links(&self) -> impl Iterator<Item = (usize, Link, &str)> {
        let kind = |bookmark: bool| if bookmark { Link::Bookmark } else { Link::Branch };
        self.links.iter().map(move |(message, bookmark, name)| (*message, kind(*bookmark), name.as_str()))
    }

    /// The scene that ends with a message.
    pub fn scene(&self, message: usize) -> Option<&Scene> {
        self.scenes.iter().find(|(at, _)| *at == message).map(|(_, scene)| scene)
    }
}

/// Something wrong with a chat file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Damage {
    /// The file starts with a byte order mark.
    Bom,
    /// Nothing in it.
    Empty,
    /// The first line is a message.
    Headerless,
    /// A line that is not JSON; SillyTavern drops it. The last one of a file is usually cut off.
    BrokenLine {
        /// Line number from 1
        line: usize,
        /// What is wrong with it
        what: String,
        /// Whether it is the last
        last: bool,
    },
}

/// What is found out about one line, independent of all others.
enum Found {
    Nothing,
    Broken(String),
    Element {
        identity: Identity,
        hidden: bool,
        scene: Option<Scene>,
        links: Vec<(bool, String)>,
        header: [bool; 2],
    },
}

type Identity = (chat::Role, forklore_core::story::TextHash, forklore_core::story::MessageId);

/// Reads a chat file. `group` tells how its first line is to be taken.
pub fn scan(file: &dyn OpenFile, group: bool) -> io::Result<Scan> {
    let mut builder = Builder { group, ..Builder::default() };
    // A line that spans blocks is carried over; so each message handed on holds whole lines only.
    std::thread::scope(|scope| {
        let (send, blocks) = sync_channel::<io::Result<(u64, Vec<u8>)>>(1);
        scope.spawn(move || {
            let mut carry: Vec<u8> = Vec::new();
            let mut offset = 0u64;
            loop {
                let start = offset - carry.len() as u64;
                let have = carry.len();
                let mut block = std::mem::take(&mut carry);
                block.resize(have + BLOCK, 0);
                let read = match file.read_at(&mut block[have..], offset) {
                    Ok(read) => read,
                    Err(e) => {
                        // The receiver is gone only if it failed already; then nobody is left to tell.
                        let _told = send.send(Err(e));
                        return;
                    }
                };
                block.truncate(have + read);
                offset += read as u64;
                let end = read < BLOCK;
                if !end {
                    // Keep what follows the last newline for the next block; without any newline the line just grows.
                    let cut = memchr::memrchr(b'\n', &block).map_or(0, |n| n + 1);
                    carry = block.split_off(cut);
                }
                if (!block.is_empty() && send.send(Ok((start, block))).is_err()) || end {
                    return;
                }
            }
        });
        for block in blocks {
            let (start, bytes) = block?;
            builder.add(start, &bytes);
        }
        Ok(())
    })
    .map(|()| builder.finish())
}

#[derive(Default)]
struct Builder {
    group: bool,
    lines: usize,
    started: bool,
    header: Option<Vec<u8>>,
    transcript: TranscriptBuilder,
    facts: Facts,
}

impl Builder {
    fn add(&mut self, start: u64, block: &[u8]) {
        let mut offset = start;
        let mut lines: Vec<(u64, &[u8])> = Vec::new();
        for line in block.split_inclusive(|c| *c == b'\n') {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            lines.push((offset, text));
            offset += line.len() as u64;
        }
        if start == 0
            && let Some((at, first)) = lines.first_mut()
            && let Some(rest) = first.strip_prefix(chat::BOM)
        {
            self.facts.damage.push(Damage::Bom);
            (*at, *first) = (chat::BOM.len() as u64, rest);
        }
        let found: Vec<Found> = lines.par_iter().with_min_len(64).map(|(_, line)| look(line)).collect();
        for ((at, line), found) in lines.into_iter().zip(found) {
            self.lines += 1;
            match found {
                Found::Nothing => {}
                Found::Broken(what) => {
                    let line = self.lines;
                    self.facts.damage.push(Damage::BrokenLine { line, what, last: false });
                }
                Found::Element { header, .. } if !self.started && header[usize::from(self.group)] => {
                    self.started = true;
                    self.header = forklore_json::Raw::parse(line).ok().map(|raw| raw.bytes().to_vec());
                }
                Found::Element { identity, hidden, scene, links, .. } => {
                    if !self.started {
                        self.started = true;
                        self.facts.damage.push(Damage::Headerless);
                    }
                    let message = self.transcript.len();
                    self.facts.scenes.extend(scene.map(|scene| (message, scene)));
                    self.facts.links.extend(links.into_iter().map(|(mark, name)| (message, mark, name)));
                    let len = u32::try_from(line.len()).unwrap_or(u32::MAX);
                    self.transcript.push(at, len, hidden, identity);
                }
            }
        }
    }

    fn finish(mut self) -> Scan {
        let lines = self.lines;
        if let Some(Damage::BrokenLine { line, last, .. }) = self.facts.damage.last_mut() {
            *last = *line == lines;
        }
        if !self.started {
            self.facts.damage.push(Damage::Empty);
        }
        Scan { header: self.header, transcript: self.transcript.finish(), facts: self.facts }
    }
}

fn look(line: &[u8]) -> Found {
    let raw = match Line::read(line) {
        Line::Blank | Line::Falsy => return Found::Nothing,
        Line::Broken(e) => return Found::Broken(e.to_string()),
        Line::Element(raw) => raw,
    };
    let message = Message::new(raw);
    let mut links: Vec<(bool, String)> = message.branches().map(|name| (false, name.into_owned())).collect();
    links.extend(message.bookmark().map(|name| (true, name.into_owned())));
    Found::Element {
        identity: identify(message),
        hidden: message.is_hidden(),
        scene: adapter::ALL.iter().find_map(|adapter| adapter.scene(message)),
        links,
        header: [false, true].map(|group| chat::is_header(raw, group)),
    }
}
