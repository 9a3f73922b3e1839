//! [`Pending`]: what a writer has put and not committed.
//!
//! Objects that stand for themselves are collected into frames of some size and compressed together, because what they have in common
//! is then stored once. Compressed bytes go to a file when they become many, so that memory stays bounded.

use std::collections::HashMap;

use forklore_fs::{OpenFile, Part};
use rayon::prelude::*;

use crate::backend::{Backend, PackName};
use crate::codec::{Compressor, LEVEL};
use crate::pack::{self, Base, Frame, HEAD, Index, Object, Records};
use crate::{Id, StoreError};

/// A frame of objects that stand for themselves has about this many bytes: enough to compress well, and not too many to be decoded
/// for the sake of one object.
const SOLID: usize = 512 << 10;

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
    /// Frames that are not compressed yet, by number. The last one can still grow.
    queue: Vec<(u32, Vec<u8>)>,
    /// Compressed bytes that are not in the draft yet.
    tail: Vec<u8>,
    /// How many are.
    drafted: u64,
    draft: Option<Box<dyn OpenFile>>,
    /// Whether there is a file to be removed if nothing comes of it.
    begun: bool,
    /// What came before frames, besides their bases: names that will be in the index.
    contexts: HashMap<u32, Vec<u8>>,
}

impl Pending {
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

    /// Adds an object that stands for itself.
    pub(crate) fn add_whole(&mut self, id: Id, bytes: &[u8]) -> Object {
        // All lengths are at most LONGEST, which fits; so does a frame, which has one object or is small.
        let len = bytes.len() as u32;
        let fits = self.queue.last().is_some_and(|(_, raw)| raw.len() + bytes.len() <= SOLID);
        if !fits {
            self.queue.push((self.frames.len() as u32, Vec::new()));
            self.frames.push(Frame {
                offset: QUEUED,
                len: 0,
                raw_len: 0,
                first_object: 0,
                objects: 0,
                base: None,
            });
        }
        let mut object = Object { id, frame: 0, start: 0, len };
        if let Some((number, raw)) = self.queue.last_mut() {
            let frame = &mut self.frames[*number as usize];
            (object.frame, object.start) = (*number, frame.raw_len);
            frame.raw_len += len;
            frame.objects += 1;
            raw.extend_from_slice(bytes);
        }
        self.objects.push(object);
        object
    }

    /// Adds an object that was compressed against others.
    pub(crate) fn add_packed(
        &mut self,
        id: Id,
        len: usize,
        packed: &[u8],
        base: Base,
        context: Vec<u8>,
    ) -> Object {
        let frame = self.frames.len() as u32;
        if !context.is_empty() {
            self.contexts.insert(frame, context);
        }
        let object = Object { id, frame, start: 0, len: len as u32 };
        self.frames.push(Frame {
            offset: QUEUED,
            len: 0,
            raw_len: len as u32,
            first_object: 0,
            objects: 1,
            base: Some(base),
        });
        self.write(frame, packed);
        self.objects.push(object);
        object
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
        let keep = usize::from(!all && self.queue.last().is_some_and(|(_, raw)| raw.len() < SOLID / 2));
        let ready: Vec<(u32, Vec<u8>)> = self.queue.drain(..self.queue.len() - keep).collect();
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
        self.queue.iter().find(|(queued, _)| *queued == number).map(|(_, raw)| raw.as_slice())
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

    /// What came before a frame, besides its bases.
    pub(crate) fn context_of(&self, frame: u32) -> Option<&[u8]> {
        self.contexts.get(&frame).map(Vec::as_slice)
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
        let mut objects: Vec<Object> = self.objects.clone();
        objects.retain_mut(|object| renumbered.get(&object.frame).map(|new| object.frame = *new).is_some());
        objects.sort_by_key(|object| (object.frame, object.start));
        let mut first_object = 0;
        let frames = order.iter().map(|number| {
            let frame = Frame { first_object, ..self.frames[*number as usize] };
            first_object += frame.objects;
            frame
        });
        (frames.collect(), objects)
    }

    /// Makes all of it a pack, durable when this returns. `next` is the number of its first record.
    pub(crate) fn publish(&mut self, backend: &Backend, next: u64) -> Result<(), StoreError> {
        let last = next + self.records.len() as u64 - 1;
        self.settle(backend, true)?;
        let (frames, objects) = self.in_order(0);
        let records = std::mem::take(&mut self.records);
        let forgotten = std::mem::take(&mut self.forgotten);
        let index = Index { frames, objects, records, forgotten, replaces: Vec::new() };
        let (sealed, seal) = index.encode()?;
        if self.draft.is_none() {
            let head = pack::head();
            self.begun = true;
            backend.begin_draft(&[Part::Bytes(&head), Part::Bytes(&self.tail), Part::Bytes(&sealed)])?;
        } else {
            self.tail.extend(sealed);
            backend.add_to_draft(&self.tail)?;
        }
        backend.publish_draft(PackName { first: next, last, seal })?;
        self.begun = false;
        Ok(())
    }
}
