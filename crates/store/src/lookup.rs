//! [`Lookup`]: where objects are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::Id;
use crate::pack::Object;

/// Where an object is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The number of its pack in the store, or [`PENDING`].
    pub(crate) pack: u32,
    pub(crate) object: Object,
    next: u32,
}

/// The number of the pack that is being written.
pub(crate) const PENDING: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

/// Where objects are, by name and by the beginning of the name.
#[derive(Default)]
pub(crate) struct Lookup {
    heads: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
    places: Vec<Place>,
}

impl Lookup {
    /// The numbers of all objects whose names begin like this, newest first: it is one, as good as always.
    pub(crate) fn numbers(&self, head: u64) -> impl Iterator<Item = usize> {
        let mut at = self.heads.get(&head).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let number = at as usize;
            at = self.places.get(number)?.next;
            Some(number)
        })
    }

    /// All objects whose names begin like this.
    pub(crate) fn by_head(&self, head: u64) -> impl Iterator<Item = &Place> {
        self.numbers(head).map(|number| &self.places[number])
    }

    /// An object; more than one if it was put again because it was damaged.
    pub(crate) fn all(&self, id: &Id) -> impl Iterator<Item = &Place> {
        self.by_head(id.head()).filter(move |place| place.object.id == *id)
    }

    /// All objects, in the order in which they were added: pack by pack.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    pub(crate) fn add(&mut self, pack: u32, object: Object) {
        // Fewer than 2^32 objects: their places alone would not fit into memory.
        let new = self.places.len() as u32;
        let next = self.heads.insert(object.id.head(), new).unwrap_or(NONE);
        self.places.push(Place { pack, object, next });
    }

    /// Takes back what was added since there were `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.places.len() > len {
            let Some(place) = self.places.pop() else { break };
            match place.next {
                NONE => self.heads.remove(&place.object.id.head()),
                next => self.heads.insert(place.object.id.head(), next),
            };
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Beginnings of names are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
