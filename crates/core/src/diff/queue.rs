//! [`QueueDiff`]: the work that waits in two chats' queues.

use std::collections::HashMap;

use crate::adapter::Operation;

/// How one queue becomes another.
#[derive(Debug, Clone, Default)]
pub struct QueueDiff {
    /// Operations that only the second queue has.
    pub added: Vec<Operation>,
    /// Operations that only the first queue has.
    pub removed: Vec<Operation>,
    /// Operations that both have, and that have got on or failed.
    pub changed: Vec<(Operation, Operation)>,
}

impl QueueDiff {
    /// Compares two queues. An operation is known by its id; those without one by what they do, in their order.
    pub fn of(a: &[Operation], b: &[Operation]) -> Self {
        let mut there: HashMap<(&str, &str), Vec<&Operation>> = HashMap::new();
        fn name(op: &Operation) -> (&str, &str) {
            (&op.id, if op.id.is_empty() { &op.kind } else { "" })
        }
        b.iter().rev().for_each(|op| there.entry(name(op)).or_default().push(op));
        let mut diff = Self::default();
        for op in a {
            match there.get_mut(&name(op)).and_then(Vec::pop) {
                Some(other) if other == op => {}
                Some(other) => diff.changed.push((op.clone(), other.clone())),
                None => diff.removed.push(op.clone()),
            }
        }
        for op in b {
            let left = there.get_mut(&name(op)).and_then(Vec::pop);
            diff.added.extend(left.cloned());
        }
        diff
    }

    /// Whether the two are the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}
