//! [`Pending`]: what a writer has put and not committed.
//!
//! Objects that stand for themselves are collected into frames of some size and compressed together, because what they have in common
//! is then stored once; and so are differences. Compressed bytes go to a file when they become many, so that memory stays
//! bounded.

use std::collections::HashMap;

use forklore_fs::{OpenFile, Part};
use rayon::prelude::*;

use crate::backend::{Backend, PackName};
use crate::codec::{Compressor, LEVEL};
use crate::pack::{self, Frame, HEAD, Index, Link, Object, Records};
use crate::{Id, StoreError};

/// A frame of objects that stand for themselves has about this many bytes: enough to compress well, and not too many to be decoded
/// for the sake of one object.
const SOLID: usize = 512 << 10;

/// A frame of differences has about this many: they are for many objects already.
const DIFFERENCES: usize = 32 << 10;

/// So many compressed bytes are held in memory.
const HELD: usize = 4 << 20;

/// Where a frame is that is not compressed yet.
const QUEUED: u64 = u64::MAX;

#[derive(Default)]
pub(crate) struct Pending {
    /// In the order in which they were begun. `first_object` means nothing here.
    frames: Vec<Frame>,
    objects: Vec<Object>,
    pub(crate) records: Records,
    pub(crate) forgotten: Vec<(u64, u64)>,
    replaces: Vec<PackName>,
    /// Frames of objects that are not compressed yet, by number. The last one can still grow.
    wholes: Vec<(u32, Vec<u8>)>,
    /// Frames of differences, likewise.
    differences: Vec<(u32, Vec<u8>)>,
    /// Compressed bytes that are not in the draft yet.
    tail: Vec<u8>,
    /// How many are.
    drafted: u64,
    draft: Option<Box<dyn OpenFile>>,
    /// Whether there is a file to be removed if nothing comes of it.
    begun: bool,
    /// What belongs to the old versions of objects besides their bases: names that will be in the index.
    contexts: HashMap<Id, Vec<u8>>,
}

/// How an object is stored.
pub(crate) enum Form<'a> {
    /// It stands for itself.
    Whole(&'a [u8]),
    /// It is what this difference makes of its bases.
    Difference(Vec<u8>, Link),
    /// It was compressed as what follows its bases.
    Follows(Vec<u8>, Link),
}

impl Pending {
    /// What is to take the place of a pack.
    pub(crate) fn replacing(name: PackName) -> Self {
        Self { replaces: vec![name], ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.records.len() == 0 && self.forgotten.is_empty()
    }

    /// Gives up the file, if one was begun.
    pub(crate) fn abandon(&mut self, backend: &Backend) {
        if std::mem::take(&mut self.begun) {
            backend.drop_draft();
        }
    }

    pub(crate) fn frame(&self, number: u32) -> Option<&Frame> {
        self.frames.get(number as usize)
    }

    /// Adds an object of `len` bytes. All lengths are at most LONGEST, which fits.
    pub(crate) fn add(&mut self, id: Id, len: usize, form: Form<'_>, context: Vec<u8>) -> Object {
        if !context.is_empty() {
            self.contexts.insert(id, context);
        }
        let object = match form {
            Form::Whole(bytes) => {
                let (frame, start) = queue(&mut self.frames, &mut self.wholes, bytes, SOLID);
                Object { id, len: len as u32, frame, start, stored: len as u32, link: None }
            }
            Form::Difference(bytes, link) => {
                let (frame, start) = queue(&mut self.frames, &mut self.differences, &bytes, DIFFERENCES);
                Object { id, len: len as u32, frame, start, stored: bytes.len() as u32, link: Some(link) }
            }
            Form::Follows(packed, link) => {
                let frame = self.frames.len() as u32;
                self.frames.push(Frame { raw_len: len as u32, objects: 1, follows: true, ..EMPTY });
                self.write(frame, &packed);
                Object { id, len: len as u32, frame, start: 0, stored: len as u32, link: Some(link) }
            }
        };
        self.objects.push(object);
        object
    }

    /// Takes over a frame of another pack as it is.
    pub(crate) fn copy(&mut self, frame: &Frame, objects: &[Object], packed: &[u8]) {
        let number = self.frames.len() as u32;
        self.frames.push(*frame);
        self.write(number, packed);
        self.objects.extend(objects.iter().map(|object| Object { frame: number, ..*object }));
    }

    fn write(&mut self, frame: u32, packed: &[u8]) {
        let offset = self.end();
        let frame = &mut self.frames[frame as usize];
        frame.offset = offset;
        frame.len = packed.len() as u32;
        self.tail.extend_from_slice(packed);
    }

    /// Where the next frame will be.
    pub(crate) fn end(&self) -> u64 {
        HEAD as u64 + self.drafted + self.tail.len() as u64
    }

    /// Compresses frames that are full, or all; and lets go of what is compressed if it is much.
    pub(crate) fn settle(&mut self, backend: &Backend, all: bool) -> Result<(), StoreError> {
        let mut ready = Vec::new();
        for (queue, full) in [(&mut self.wholes, SOLID), (&mut self.differences, DIFFERENCES)] {
            let keep = usize::from(!all && queue.last().is_some_and(|(_, raw)| raw.len() < full / 2));
            ready.extend(queue.drain(..queue.len() - keep));
        }
        let packed: Result<Vec<Vec<u8>>, _> = ready
            .par_iter()
            .map_init(Compressor::new, |compressor, (_, raw)| compressor.compress(raw, &[], LEVEL))
            .collect();
        for ((frame, _), packed) in ready.iter().zip(packed?) {
            self.write(*frame, &packed);
        }
        if self.tail.len() < HELD {
            return Ok(());
        }
        if self.draft.is_none() {
            self.begun = true;
            backend.begin_draft(&[Part::Bytes(&pack::head()), Part::Bytes(&self.tail)])?;
        } else {
            backend.add_to_draft(&self.tail)?;
        }
        self.drafted += self.tail.len() as u64;
        self.tail.clear();
        self.draft = Some(backend.open_draft()?);
        Ok(())
    }

    /// The raw bytes of a frame that is not compressed yet.
    pub(crate) fn queued(&self, number: u32) -> Option<&[u8]> {
        let mut queues = self.wholes.iter().chain(&self.differences);
        queues.find(|(queued, _)| *queued == number).map(|(_, raw)| raw.as_slice())
    }

    /// The compressed bytes of a frame.
    pub(crate) fn packed(&self, frame: &Frame) -> std::io::Result<Vec<u8>> {
        let (start, len) = (frame.offset, u64::from(frame.len));
        let held_from = HEAD as u64 + self.drafted;
        match (&self.draft, start.checked_sub(held_from)) {
            (_, Some(at)) => {
                let at = at as usize;
                let bytes = self.tail.get(at..at + len as usize);
                bytes.map(<[u8]>::to_vec).ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
            }
            (Some(draft), None) => draft.read_range(start..start + len),
            (None, None) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// What belongs to the old version of an object besides its bases.
    pub(crate) fn context_of(&self, id: &Id) -> Option<&[u8]> {
        self.contexts.get(id).map(Vec::as_slice)
    }

    /// The names of all objects that were written from `offset` on, in the order in which the pack will have them. Everything must be
    /// settled.
    pub(crate) fn written_since(&self, offset: u64) -> Vec<Id> {
        self.in_order(offset).1.iter().map(|object| object.id).collect()
    }

    /// Frames and objects in the order in which they are in the file.
    fn in_order(&self, from: u64) -> (Vec<Frame>, Vec<Object>) {
        let mut order: Vec<u32> = (0..self.frames.len() as u32).collect();
        order.retain(|number| self.frames[*number as usize].offset >= from);
        order.sort_by_key(|number| self.frames[*number as usize].offset);
        let renumbered: HashMap<u32, u32> = order.iter().zip(0..).map(|(old, new)| (*old, new)).collect();
        let moved = |object: &Object| Some(Object { frame: *renumbered.get(&object.frame)?, ..*object });
        let mut objects: Vec<Object> = self.objects.iter().filter_map(moved).collect();
        objects.sort_by_key(|object| (object.frame, object.start));
        let mut first_object = 0;
        let frames = order.iter().map(|number| {
            let frame = Frame { first_object, ..self.frames[*number as usize] };
            first_object += frame.objects;
            frame
        });
        (frames.collect(), objects)
    }

    /// Makes all of it a pack, durable when this returns.
    pub(crate) fn publish(&mut self, backend: &Backend, first: u64, last: u64) -> Result<(), StoreError> {
        self.settle(backend, true)?;
        let (frames, objects) = self.in_order(0);
        let records = std::mem::take(&mut self.records);
        let forgotten = std::mem::take(&mut self.forgotten);
        let replaces = std::mem::take(&mut self.replaces);
        let index = Index { frames, objects, records, forgotten, replaces };
        let (sealed, seal) = index.encode()?;
        if self.draft.is_none() {
            let head = pack::head();
            self.begun = true;
            backend.begin_draft(&[Part::Bytes(&head), Part::Bytes(&self.tail), Part::Bytes(&sealed)])?;
        } else {
            self.tail.extend(sealed);
            backend.add_to_draft(&self.tail)?;
        }
        backend.publish_draft(PackName { first, last, seal })?;
        self.begun = false;
        Ok(())
    }
}

const EMPTY: Frame =
    Frame { offset: QUEUED, len: 0, raw_len: 0, first_object: 0, objects: 0, follows: false };

/// Puts bytes into the last frame of a queue, or into a new one if that would be too large; says which, and where in it.
fn queue(frames: &mut Vec<Frame>, queue: &mut Vec<(u32, Vec<u8>)>, bytes: &[u8], most: usize) -> (u32, u32) {
    if queue.last().is_none_or(|(_, raw)| raw.len() + bytes.len() > most) {
        queue.push((frames.len() as u32, Vec::new()));
        frames.push(EMPTY);
    }
    let Some((number, raw)) = queue.last_mut() else { return (0, 0) };
    let frame = &mut frames[*number as usize];
    let start = frame.raw_len;
    frame.raw_len += bytes.len() as u32;
    frame.objects += 1;
    raw.extend_from_slice(bytes);
    (*number, start)
}
