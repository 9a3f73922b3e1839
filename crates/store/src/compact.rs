//! Small packs become larger ones: a save makes a pack, and nobody wants to open a thousand files.
//!
//! Packs of about the same size are put together when there are [`FAN`] of them, so every byte is copied a few times at most. The new
//! pack names those that it takes the place of. From the moment it is there they do not count, and whether they are removed
//! at once, later or not at all makes no difference.

use forklore_fs::Part;

use crate::backend::PackName;
use crate::pack::{self, Frame, HEAD, Health, Index, Object};
use crate::{Store, StoreError};

/// So many packs of a size become one.
const FAN: usize = 8;

/// The smallest size; each next one is [`FAN`] times as large.
const SMALL: u64 = 4 << 10;

/// Nothing larger is made: copying it would keep a save waiting.
const LARGE: u64 = 64 << 20;

impl Store {
    /// Removes packs that do not count any more, and puts small ones together. Needs the right to write.
    pub(crate) fn tidy(&mut self) -> Result<(), StoreError> {
        loop {
            self.remove_replaced()?;
            let Some(group) = self.too_many() else { return Ok(()) };
            self.merge(&group)?;
        }
    }

    /// Removes packs that others have taken the place of.
    pub(crate) fn remove_replaced(&mut self) -> Result<(), StoreError> {
        for name in std::mem::take(&mut self.replaced) {
            self.backend.remove(name)?;
        }
        Ok(())
    }

    /// The numbers of packs that should be one.
    fn too_many(&self) -> Option<Vec<usize>> {
        let size = |len: u64| (len / SMALL).checked_ilog(FAN as u64).map_or(0, |level| level + 1);
        (0..size(LARGE)).find_map(|wanted| {
            let packs = self.packs.iter().enumerate();
            let group = packs.filter(|(_, pack)| size(pack.len) == wanted && pack.health == Health::Good);
            let (numbers, lens): (Vec<usize>, Vec<u64>) =
                group.map(|(number, pack)| (number, pack.len)).unzip();
            (numbers.len() >= FAN && lens.iter().sum::<u64>() <= LARGE).then_some(numbers)
        })
    }

    /// Makes one pack of several.
    fn merge(&mut self, group: &[usize]) -> Result<(), StoreError> {
        let mut numbers = group.to_vec();
        numbers.sort_by_key(|number| self.packs[*number].name);
        let mut index = Index::default();
        let mut records: Vec<(u64, &[u8])> = Vec::new();
        let head = pack::head();
        let mut parts = vec![Part::Bytes(&head)];
        let mut end = HEAD as u64;
        let mut name = PackName { first: u64::MAX, last: 0, seal: 0 };
        for pack in numbers.iter().map(|number| &self.packs[*number]) {
            let body = pack.body();
            // Frames of small packs: neither they nor their objects are anywhere near 2^32.
            let (frames, objects) = (index.frames.len() as u32, index.objects.len() as u32);
            index.frames.extend(pack.index.frames.iter().map(|frame| Frame {
                offset: frame.offset - body.start + end,
                first_object: frame.first_object + objects,
                ..*frame
            }));
            let moved = |object: &Object| Object { frame: object.frame + frames, ..*object };
            index.objects.extend(pack.index.objects.iter().map(moved));
            records.extend(pack.index.records.iter());
            index.forgotten.extend(&pack.index.forgotten);
            index.replaces.push(pack.name);
            end += body.end - body.start;
            parts.push(Part::Range(&*pack.file, body));
            name.first = name.first.min(pack.name.first);
            name.last = name.last.max(pack.name.last);
        }
        records.sort_by_key(|(seq, _)| *seq);
        records.dedup_by_key(|(seq, _)| *seq);
        records.iter().for_each(|(seq, payload)| index.records.push(*seq, payload));
        let (sealed, seal) = index.encode()?;
        parts.push(Part::Bytes(&sealed));
        let made = self
            .backend
            .begin_draft(&parts)
            .and_then(|()| self.backend.publish_draft(PackName { seal, ..name }));
        if let Err(e) = made {
            self.backend.drop_draft();
            return Err(e);
        }
        self.refresh()
    }
}
