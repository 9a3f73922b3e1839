//! [`Memo`]: what was worked out about a library, kept where everybody who has the library finds it again.

use std::any::{Any, TypeId};

use elsa::sync::FrozenMap;

/// One slot for each type that asks for one.
///
/// Lineage, history and state build on the library and keep in it what they found out. If it had a field for each, it would know all
/// of them; so it knows none, and arrows point down only.
#[derive(Default)]
pub(crate) struct Memo {
    slots: FrozenMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Memo {
    /// The slot of a type, empty if nobody asked for it before.
    pub(crate) fn slot<T: Any + Default + Send + Sync>(&self) -> &T {
        let id = TypeId::of::<T>();
        let slot = self.slots.get(&id).unwrap_or_else(|| self.slots.insert(id, Box::new(T::default())));
        match slot.downcast_ref() {
            Some(slot) => slot,
            None => unreachable!("a slot holds the type that it is found by"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    #[derive(Default)]
    struct A(OnceLock<u8>);

    #[derive(Default)]
    struct B(OnceLock<u8>);

    #[test]
    fn every_type_has_its_own_slot_and_finds_it_again() {
        let memo = Memo::default();
        assert_eq!(*memo.slot::<A>().0.get_or_init(|| 1), 1);
        assert_eq!(*memo.slot::<B>().0.get_or_init(|| 2), 2);
        assert_eq!(*memo.slot::<A>().0.get_or_init(|| 3), 1);
    }

    /// Who comes second gets what the first has put there: two threads never have a slot each.
    #[test]
    fn all_threads_get_the_same_slot() {
        for _ in 0..100 {
            let memo = Memo::default();
            let slots: Vec<usize> = std::thread::scope(|scope| {
                let ask = || std::ptr::from_ref(memo.slot::<A>()).addr();
                let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                asking.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(slots.iter().all(|slot| *slot == slots[0]));
        }
    }
}
