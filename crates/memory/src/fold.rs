//! The fold of what scenes tell to entries: deterministic, in the order of the line. No model ever writes an entry as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use crate::entity::{Entity, EntityId, Fact, Hold, Source, normal};
use crate::facts::Facts;
use crate::inputs::Decision;
use crate::key::Key;
use crate::question::{Ask, Named};

/// All entities of a line up to a point. A copy costs a pointer for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entities {
    all: Vec<Arc<Entity>>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Entities {
    pub(crate) fn all(&self) -> &[Arc<Entity>] {
        &self.all
    }

    /// Adds what a scene tells. `same` says which new names are known ones.
    pub(crate) fn learn(&mut self, facts: &Facts, same: &[(String, String)], scene: usize) -> Vec<usize> {
        let mut touched = Vec::new();
        for learnt in &facts.learnt {
            // Somebody of that very name is meant first: a person may have made an entry for them before anybody told of them.
            let known = same.iter().find(|(new, _)| *new == learnt.name).map(|(_, known)| known);
            let found = self.find(&learnt.kind, &learnt.name).or_else(|| self.find(&learnt.kind, known?));
            let i = found.unwrap_or_else(|| {
                let id = EntityId { kind: learnt.kind.clone(), name: learnt.name.clone() };
                self.add(Entity::new(id, Some(scene)))
            });
            self.name(i, &learnt.name);
            if self.all[i].hold == Hold::Free {
                Arc::make_mut(&mut self.all[i]).learn(learnt, scene);
                if !touched.contains(&i) {
                    touched.push(i);
                }
            }
        }
        touched
    }

    /// Does what a person decided.
    pub(crate) fn decide(&mut self, id: &EntityId, decision: &Decision) {
        let i = self.find(&id.kind, &id.name).unwrap_or_else(|| self.add(Entity::new(id.clone(), None)));
        let entity = Arc::make_mut(&mut self.all[i]);
        match decision {
            Decision::Text(text) => {
                entity.facts = vec![Fact::by_hand(text)];
                entity.hold = Hold::Free;
            }
            Decision::Brought(brought) => entity.take(brought),
            Decision::Deleted => entity.hold = Hold::Deleted,
            Decision::Locked(text) => {
                // What was told before it was locked and read only then is not what was locked.
                if entity.text() != *text {
                    entity.facts = vec![Fact::by_hand(text)];
                }
                entity.hold = Hold::Locked;
            }
            Decision::Released => entity.hold = Hold::Free,
        }
    }

    /// What is asked to make an entity shorter, if it has grown too long. What a person wrote is theirs: it is not shortened, and does not
    /// count.
    pub(crate) fn too_long(&self, i: usize, tokens: impl Fn(usize) -> usize, budget: usize) -> Option<Ask> {
        let entity = &self.all[i];
        let lines: Vec<String> =
            entity.facts.iter().filter(|fact| fact.source != Source::Hand).map(Fact::line).collect();
        let length = lines.iter().map(|line| line.len() + 1).sum();
        // One line cannot be made shorter without losing what it says.
        (lines.len() > 1 && tokens(length) > budget).then(|| Ask::Compaction {
            entry: Named { kind: entity.id.kind.clone(), name: entity.id.name.clone() },
            lines,
            tokens: budget * 2 / 3,
        })
    }

    /// Takes the shorter lines.
    pub(crate) fn compact(&mut self, i: usize, lines: &[String], key: Key) {
        let entity = Arc::make_mut(&mut self.all[i]);
        let scenes = entity.scenes();
        let shorter = lines.iter().map(|line| Fact {
            text: line.clone(),
            about: String::new(),
            known_to: Vec::new(),
            source: Source::Compaction(key, scenes.clone()),
        });
        let shorter: Vec<Fact> = shorter.collect();
        entity.facts.retain(|fact| fact.source == Source::Hand);
        entity.facts.extend(shorter);
    }

    /// The entity of this name: one of the same kind first.
    fn find(&self, kind: &str, name: &str) -> Option<usize> {
        let named = self.by_name.get(&normal(name))?;
        named.iter().copied().find(|i| self.all[*i].id.kind == kind).or_else(|| named.first().copied())
    }

    fn add(&mut self, entity: Entity) -> usize {
        let i = self.all.len();
        let name = entity.id.name.clone();
        self.all.push(Arc::new(entity));
        self.name(i, &name);
        i
    }

    /// From now on this name is that entity's.
    fn name(&mut self, i: usize, name: &str) {
        let named = self.by_name.entry(normal(name)).or_default();
        if !named.contains(&i) {
            named.push(i);
        }
    }
}
