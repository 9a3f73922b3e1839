//! [`Writer::put_document`]: from a file to segments, a few megabytes at a time, on all cores.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use forklore_fs::OpenFile;
use rayon::prelude::*;

use crate::codec::Compressor;
use crate::document::{Cut, Cutter, Manifest, Segment, Sizes, Unit};
use crate::pending::Form;
use crate::writer::Against;
use crate::{Id, StoreError, Writer};

/// So much of a document is in memory at once.
const BATCH: usize = 4 << 20;

impl Writer<'_> {
    /// Puts a document: its bytes are cut into segments of about `target` bytes at the boundaries of `units`, and what is put last is
    /// the list of them, whose name is returned.
    ///
    /// `previous` is the earlier version, or the document that this one was made from. It is cut where that was cut, so that
    /// segments that have not changed are the same objects, and those that have are stored as differences. If nothing has
    /// changed, `previous` is returned.
    ///
    /// If the units end before the content does, the rest counts as one more; content that ends before the units do is
    /// [`StoreError::Shrunk`].
    pub fn put_document(
        &mut self,
        content: &dyn OpenFile,
        units: &mut dyn Iterator<Item = Unit>,
        target: usize,
        previous: Option<&Id>,
    ) -> Result<Id, StoreError> {
        // A previous version that is damaged or gone only costs space.
        let before = previous.and_then(|id| self.store.manifest(id).ok());
        let before = before.as_deref();
        let begin = self.store.pending.end();
        let len = content.identity().map_err(StoreError::Content)?.len;
        let mut cutter = Cutter::new(content, len, units, Sizes::around(target), before);
        let mut segments: Vec<Segment> = Vec::new();
        let mut buffer = Vec::new();
        let mut fresh = 0;
        loop {
            let mut cuts: Vec<Cut> = Vec::new();
            let mut bytes = 0;
            while bytes < BATCH
                && let Some(cut) = cutter.next().transpose()?
            {
                // What is the same as before and not there any more has to be read and put again.
                let cut = Cut { known: cut.known.filter(|id| self.has(id)), ..cut };
                bytes += if cut.known.is_some() { 0 } else { cut.len as usize };
                cuts.push(cut);
            }
            if cuts.is_empty() {
                break;
            }
            buffer.resize(bytes, 0);
            let (put, new) = self.put_batch(content, &cuts, &mut buffer, before)?;
            segments.extend(put);
            fresh += new;
        }
        let manifest =
            Manifest { len: segments.iter().map(|segment| u64::from(segment.len)).sum(), segments };
        let encoded = manifest.encode();
        let id = Id::of(&encoded);
        if self.has(&id) {
            return Ok(id);
        }
        if let (Some(previous), Some(before)) = (previous, before)
            && self.is_same(before, &manifest)?
        {
            return Ok(*previous);
        }
        // The list of segments refers to the names in the index instead of repeating them.
        let context = if before.is_some() && fresh > 0 {
            self.store.pending.settle(&self.store.backend, true)?;
            self.store.pending.written_since(begin)
        } else {
            Vec::new()
        };
        let against = self.store.against([previous.copied(), None], &context);
        self.add(id, &encoded, against)?;
        if !context.is_empty() {
            // Written now, so that nothing that is put later comes between the names and what refers to them.
            self.store.pending.settle(&self.store.backend, true)?;
        }
        Ok(id)
    }

    /// Whether two documents have the same bytes, though they are cut differently.
    fn is_same(&self, one: &Manifest, other: &Manifest) -> Result<bool, StoreError> {
        let (mut one_left, mut other_left) = (&*one.segments, &*other.segments);
        if one.len != other.len {
            return Ok(false);
        }
        loop {
            // As far as a place where both are cut.
            let (mut a, mut b) = (0, 0);
            let (mut a_len, mut b_len) = (0, 0);
            while a_len != b_len || a == 0 {
                let (side, count, len) = if a_len <= b_len {
                    (one_left, &mut a, &mut a_len)
                } else {
                    (other_left, &mut b, &mut b_len)
                };
                let Some(segment) = side.get(*count) else { return Ok(one_left.is_empty()) };
                *count += 1;
                *len += u64::from(segment.len);
            }
            let ((a, a_rest), (b, b_rest)) = (one_left.split_at(a), other_left.split_at(b));
            let same = match (a, b) {
                ([a], [b]) => a.id == b.id,
                _ => self.hash(a)? == self.hash(b)?,
            };
            if !same {
                return Ok(false);
            }
            (one_left, other_left) = (a_rest, b_rest);
        }
    }

    fn hash(&self, segments: &[Segment]) -> Result<blake3::Hash, StoreError> {
        let mut hasher = blake3::Hasher::new();
        for segment in segments {
            hasher.update(&self.store.get(&segment.id)?);
        }
        Ok(hasher.finalize())
    }

    /// Puts a few megabytes of a document. Says how many of the segments are new.
    fn put_batch(
        &mut self,
        content: &dyn OpenFile,
        cuts: &[Cut],
        buffer: &mut [u8],
        before: Option<&Manifest>,
    ) -> Result<(Vec<Segment>, usize), StoreError> {
        let mut rest = buffer;
        let mut pieces: Vec<(&Cut, &mut [u8])> = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let len = if cut.known.is_some() { 0 } else { cut.len as usize };
            let (piece, others) = std::mem::take(&mut rest).split_at_mut(len);
            pieces.push((cut, piece));
            rest = others;
        }
        let read: Result<Vec<(Id, &[u8])>, StoreError> = pieces
            .into_par_iter()
            .map(|(cut, piece)| match cut.known {
                Some(id) => Ok((id, &*piece)),
                None => {
                    read(content, piece, cut.at)?;
                    Ok((Id::of(piece), &*piece))
                }
            })
            .collect();
        let read = read?;
        let segments = cuts.iter().zip(&read).map(|(cut, (id, _))| Segment {
            id: *id,
            len: cut.len,
            units: cut.units,
            key: cut.key,
        });
        let segments: Vec<Segment> = segments.collect();

        let mut seen = HashSet::new();
        let mut is_new = |id: &Id| !self.has(id) && seen.insert(*id);
        let new: Vec<(Id, &[u8], &Cut)> = read
            .iter()
            .zip(cuts)
            .filter(|((id, _), _)| is_new(id))
            .map(|((id, raw), cut)| (*id, *raw, cut))
            .collect();
        let olds = self.old_versions(&new, before);
        let forms: Result<Vec<Form<'_>>, StoreError> = new
            .par_iter()
            .zip(&olds)
            .map_init(Compressor::new, |compressor, ((_, raw, _), old)| match old {
                Some((old, against)) => against.form(old, raw, compressor),
                None => Ok(Form::Whole(raw)),
            })
            .collect();
        let fresh = new.len();
        for ((id, raw, _), form) in new.into_iter().zip(forms?) {
            self.push(id, raw.len(), form, Vec::new());
        }
        self.store.pending.settle(&self.store.backend, false)?;
        Ok((segments, fresh))
    }

    /// What each segment is a new version of, if anything.
    fn old_versions(
        &self,
        new: &[(Id, &[u8], &Cut)],
        before: Option<&Manifest>,
    ) -> Vec<Option<(Arc<[u8]>, Against)>> {
        let store = &*self.store;
        let old = |cut: &Cut| {
            let bases = cut.bases.map(|base| Some(before?.segments.get(base?)?.id));
            let against = store.against(bases, &[])?;
            // Bases that cannot be read are no reason to lose what can.
            Some((store.old_version(&against).ok()?, against))
        };
        new.par_iter().map(|(_, _, cut)| old(cut)).collect()
    }
}

fn read(content: &dyn OpenFile, into: &mut [u8], at: u64) -> Result<(), StoreError> {
    match content.read_at(into, at) {
        Ok(got) if got < into.len() => Err(StoreError::Shrunk),
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(StoreError::Shrunk),
        Err(e) => Err(StoreError::Content(e)),
    }
}
