//! [`Proposal`]: an entry that waits for its owner to approve it. Until then it is as it was when it was last approved.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::entity::{Entity, EntityId, Hold};
use crate::key::Key;
use crate::memory::Memory;

/// An entry that is not approved as it stands.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// As it would be
    pub entity: Arc<Entity>,
    /// As it was when it was last approved; nothing if it never was
    pub before: Option<Arc<Entity>>,
}

impl Memory {
    /// Leaves of every entity, after every scene, what its owner has approved of by its version; what a person wrote or deleted needs
    /// nobody's approval, nor do the first `free` scenes, which were there before approving was asked for. What waits for it is given
    /// back.
    pub fn only_approved(&mut self, approved: &BTreeSet<Key>, free: usize) -> Vec<Proposal> {
        let mut good: HashMap<EntityId, Arc<Entity>> = HashMap::new();
        let mut sift = |entities: &mut Vec<Arc<Entity>>, all: bool| {
            for entity in entities.iter() {
                let free = all || entity.hold == Hold::Deleted || entity.is_by_hand();
                if free || approved.contains(&entity.version()) {
                    good.insert(entity.id.clone(), entity.clone());
                }
            }
            let now = std::mem::take(entities);
            let proposals = now.iter().filter_map(|entity| {
                let before = good.get(&entity.id);
                let same = before.is_some_and(|before| before == entity);
                (!same).then(|| Proposal { entity: entity.clone(), before: before.cloned() })
            });
            let proposals: Vec<Proposal> = proposals.collect();
            *entities = now.iter().filter_map(|entity| good.get(&entity.id).cloned()).collect();
            proposals
        };
        for (i, standing) in self.standing.iter_mut().enumerate() {
            sift(&mut standing.entities, i < free);
            if i < free {
                continue;
            }
            // A scene that was written before something was approved is not what it is now.
            standing.rests_on.extend(standing.entities.iter().map(|entity| entity.version()));
        }
        let free = self.standing.len() <= free;
        sift(&mut self.entities, free)
    }
}
