//! [`scan`]: one pass over a chat file, of any size, in bounded memory. The result is a [`Scan`]: header, transcript, and
//! the few facts about messages that questions about the whole vault need.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::{io, mem};

use forklore_core::adapter::{self, Scene, SceneSighting};
use forklore_core::format::book::EntryImage;
use forklore_core::format::chat::{self, Line};
use forklore_core::story::{Said, Transcript, TranscriptBuilder};
use forklore_fs::OpenFile;

use super::alike::Alike;
use super::blocks::{BLOCK, Block, Blocks};
use super::facts::{Damage, Facts, links_of};
use super::outline::Outline;
use super::snapshots::{Snapshots, StoredSighting};
use crate::cache::view::View;

/// Chats from here on are worth several threads.
const LARGE: u64 = 4 << 20;

/// So many bytes of entries are kept of one chat; a book that is larger and changes all over is read again when needed.
const KEPT: usize = 12 << 20;

/// What one pass over a chat file gives.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// The header line; `None` if the file has none.
    pub header: Option<Vec<u8>>,
    /// What questions about the whole vault need of it.
    pub outline: Outline,
    /// The messages.
    pub transcript: Transcript,
    /// Facts about some messages.
    pub facts: Facts,
    /// States of the book that scenes have kept.
    pub snapshots: Snapshots,
    /// Where this is remembered, if others can be remembered as a part of it.
    pub view: Option<View>,
}

/// What is found out about one line, independent of all others.
#[derive(Clone)]
enum Found {
    Nothing,
    /// The mark before the first line, which is no line itself.
    Bom,
    Broken(String),
    Element(Element),
}

#[derive(Clone)]
struct Element {
    said: Said,
    /// When it was sent, as a hash; nothing if that is not known.
    date: Option<u64>,
    /// What few messages have.
    more: Option<Box<More>>,
}

#[derive(Clone, Default)]
struct More {
    scene: Option<Scene>,
    links: Vec<(bool, String)>,
    sightings: Vec<SceneSighting>,
    /// The bytes, if this would be a header as the first of a solo or a group chat.
    header: Option<(Vec<u8>, [bool; 2])>,
}

/// A line: where it is, how long it is, what it is.
type Seen = (u64, u32, Found);

/// Reads a chat file. `group` tells how its first line is to be taken.
pub fn scan(file: &dyn OpenFile, group: bool) -> io::Result<Scan> {
    if is_large(file.identity()?.len) { scan_on_all_cores(file, group) } else { scan_here(file, group) }
}

thread_local! {
    /// What this thread has found out about the lines of the small chats that it read last.
    static SEEN: RefCell<Alike<Found>> = const { RefCell::new(Alike::NEW) };
}

/// Forgets the lines that were seen by all threads that chats are read with: nobody needs them but one who reads many chats.
pub(super) fn forget_lines() {
    rayon::broadcast(|_| SEEN.set(Alike::NEW));
}

fn scan_here(file: &dyn OpenFile, group: bool) -> io::Result<Scan> {
    // Fresh memory for every small chat would cost as much as reading it.
    thread_local!(static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let mut builder = Builder { group, ..Builder::default() };
    let mut blocks = Blocks::of(file);
    while !blocks.is_done() {
        let Some(block) = blocks.next_into(BUFFER.take()).transpose()? else { break };
        let seen = SEEN
            .with_borrow_mut(|alike| look_at(&block, |n, line| alike.look(builder.lines + n, line, look)));
        seen.into_iter().for_each(|line| builder.add(line));
        // What a line of many megabytes has blown up is not kept.
        BUFFER.set(if block.bytes.len() > 4 * BLOCK { Vec::new() } else { block.bytes });
    }
    Ok(builder.finish())
}

/// On all cores: every hand reads a block of whole lines in its turn and looks at them itself, while they are near to its
/// core; here the messages are chained in the order of the file. Nobody runs far ahead of the others, so memory stays bounded.
fn scan_on_all_cores(file: &dyn OpenFile, group: bool) -> io::Result<Scan> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from).min(MOST);
    let blocks = Mutex::new(Blocks::of(file));
    let mut builder = Builder { group, ..Builder::default() };
    std::thread::scope(|scope| {
        let (takes, order) = channel::<usize>();
        // One hand more than cores: one of them mostly waits for the disk.
        let hands = (0..=cores).map(|hand| {
            let (to_chain, seen) = sync_channel::<io::Result<Vec<Seen>>>(2);
            let (blocks, takes) = (&blocks, takes.clone());
            scope.spawn(move || {
                let mut buffer = Vec::new();
                let take = |buffer| {
                    let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
                    let block = blocks.next_into(buffer)?;
                    takes.send(hand).ok().map(|()| block)
                };
                while let Some(block) = take(mem::take(&mut buffer)) {
                    let seen = block.map(|block| {
                        let seen = look_at(&block, |_, line| look(line));
                        // Fresh memory for every block would cost more than looking at it. But what a line of many megabytes has
                        // blown up is not kept.
                        buffer = block.bytes;
                        if buffer.len() > 4 * BLOCK {
                            buffer = Vec::new();
                        }
                        seen
                    });
                    if to_chain.send(seen).is_err() {
                        break;
                    }
                }
            });
            seen
        });
        let hands: Vec<_> = hands.collect();
        drop(takes);
        for hand in order {
            // A hand that is gone has failed, and takes all of us with it.
            let Ok(block) = hands[hand].recv() else { break };
            block?.into_iter().for_each(|line| builder.add(line));
        }
        Ok(())
    })
    .map(|()| builder.finish())
}

/// No more cores than this: a disk does not give more.
const MOST: usize = 8;

/// Whether a chat of so many bytes is worth several threads.
pub fn is_large(bytes: u64) -> bool {
    bytes >= LARGE
}

/// Looks at the lines of a block, each by `look`, which is told how many came before it.
fn look_at(block: &Block, look: impl FnMut(usize, &[u8]) -> Found) -> Vec<Seen> {
    let lines = &block.bytes[..block.len];
    match lines.strip_prefix(chat::BOM).filter(|_| block.start == 0) {
        Some(rest) => {
            let mut seen = vec![(0, 0, Found::Bom)];
            seen.extend(look_at_lines(chat::BOM.len() as u64, rest, look));
            seen
        }
        None => look_at_lines(block.start, lines, look),
    }
}

fn look_at_lines(mut offset: u64, mut rest: &[u8], mut look: impl FnMut(usize, &[u8]) -> Found) -> Vec<Seen> {
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        let found = look(seen.len(), line);
        seen.push((offset, u32::try_from(line.len()).unwrap_or(u32::MAX), found));
        let next = (end + 1).min(rest.len());
        offset += next as u64;
        rest = &rest[next..];
    }
    seen
}

#[derive(Default)]
struct Builder {
    group: bool,
    lines: usize,
    started: bool,
    header: Option<Vec<u8>>,
    transcript: TranscriptBuilder,
    facts: Facts,
    images: Vec<EntryImage>,
    sightings: Vec<StoredSighting>,
    places: HashMap<EntryImage, u32>,
    kept: usize,
    /// When the last two messages were sent.
    dates: [Option<u64>; 2],
}

impl Builder {
    fn add(&mut self, (at, len, found): Seen) {
        self.lines += 1;
        let element = match found {
            Found::Nothing => return,
            Found::Bom => {
                self.lines -= 1;
                self.facts.damage.push(Damage::Bom);
                return;
            }
            Found::Broken(what) => {
                let line = self.lines;
                self.facts.damage.push(Damage::BrokenLine { line, what, last: false });
                return;
            }
            Found::Element(element) => element,
        };
        let more = element.more.map(|more| *more).unwrap_or_default();
        if !self.started {
            self.started = true;
            match more.header {
                Some((bytes, counts)) if counts[usize::from(self.group)] => {
                    self.header = Some(bytes);
                    return;
                }
                // Chats of groups had no header in older versions, and all versions read them.
                _ if self.group => {}
                _ => self.facts.damage.push(Damage::Headerless),
            }
        }
        let message = self.transcript.len();
        self.facts.scenes.extend(more.scene.map(|scene| (message, scene)));
        self.facts.links.extend(more.links.into_iter().map(|(mark, name)| (message, mark, name)));
        for sighting in more.sightings {
            self.keep(message, sighting);
        }
        if element.date.is_none() || self.dates == [element.date; 2] {
            self.facts.undated.get_or_insert(message);
        }
        self.dates = [self.dates[1], element.date];
        self.transcript.push(at, len, element.said);
    }

    fn keep(&mut self, message: usize, sighting: SceneSighting) {
        let SceneSighting { version, clock, book, entries } = sighting;
        let mut places = Vec::with_capacity(entries.len());
        for image in entries {
            // Most are what and where they were in the state before: to see that takes less than to look for them among all.
            let before = self.sightings.last().and_then(|last| last.entries.as_ref()?.get(places.len()));
            if let Some(place) = before.filter(|place| self.images.get(**place as usize) == Some(&image)) {
                places.push(*place);
                continue;
            }
            let next = u32::try_from(self.images.len()).unwrap_or(u32::MAX);
            let place = *self.places.entry(image.clone()).or_insert(next);
            if place == next {
                self.kept += image.size();
                self.images.push(image);
            }
            places.push(place);
        }
        let entries = (self.kept <= KEPT).then_some(places);
        self.sightings.push(StoredSighting { message, version, clock, book, entries });
        if self.kept > KEPT {
            // What was just added is of no use without its sighting.
            let used = self.sightings.iter().filter_map(|s| s.entries.as_ref()).flatten().max();
            self.images.truncate(used.map_or(0, |last| *last as usize + 1));
            self.places.retain(|_, place| (*place as usize) < self.images.len());
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
        Scan {
            outline: Outline::of(self.header.as_deref()),
            header: self.header,
            transcript: self.transcript.finish(),
            facts: self.facts,
            snapshots: Snapshots { images: self.images.into(), sightings: self.sightings.into() },
            view: None,
        }
    }
}

fn look(line: &[u8]) -> Found {
    let message = match Line::read(line) {
        Line::Blank | Line::Falsy => return Found::Nothing,
        Line::Broken(e) => return Found::Broken(e.to_string()),
        Line::Element(message) => message,
    };
    let links = links_of(message);
    let (scene, sightings) = adapter::scene(message).unzip();
    let counts = [false, true].map(|group| chat::is_header(message, group));
    let header = counts.contains(&true).then(|| (message.raw().bytes().to_vec(), counts));
    let plain = links.is_empty() && scene.is_none() && header.is_none();
    let more = More { scene, links, sightings: sightings.unwrap_or_default(), header };
    Found::Element(Element {
        said: Said::of(message),
        date: message.send_date().filter(|date| date.is_truthy()).map(|date| short_hash(date.bytes())),
        more: (!plain).then(|| Box::new(more)),
    })
}

/// A hash that only has to tell a few times apart.
fn short_hash(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
