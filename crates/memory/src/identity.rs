//! Which of the names of a scene are somebody we know. Most are told by themselves: the same name is the same one, and a name that no
//! known one stands beside in the scene is new. Only the rest is asked, and only about names that the scene has: so what is learnt of
//! others makes no other question of it.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::entity::{normal, words};
use crate::facts::Facts;
use crate::line::Line;
use crate::question::{Ask, Named};
use std::ops::Range;

/// Names that came up in earlier scenes, whether they are the same or not.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    by_normal: HashMap<String, Named>,
    /// The words of each, to be found among those of a scene
    words: Vec<(Named, Vec<String>)>,
}

impl KnownNames {
    /// What is to be asked about the names of a scene; nothing if they tell themselves.
    pub(crate) fn ask(&self, line: &Line, scene: &Range<usize>, facts: &Facts) -> Option<Ask> {
        let new: BTreeSet<Named> = facts
            .learnt
            .iter()
            .filter(|learnt| !self.by_normal.contains_key(&normal(&learnt.name)))
            .map(|learnt| Named { kind: learnt.kind.clone(), name: learnt.name.clone() })
            .collect();
        if new.is_empty() {
            return None;
        }
        let said: HashSet<String> =
            line.part(scene.clone()).iter().flat_map(|m| words(&format!("{} {}", m.name, m.text))).collect();
        let kinds: HashSet<&str> = new.iter().map(|named| named.kind.as_str()).collect();
        let there = |words: &[String]| !words.is_empty() && words.iter().all(|word| said.contains(word));
        let known: BTreeSet<Named> = self
            .words
            .iter()
            .filter(|(named, words)| kinds.contains(named.kind.as_str()) && there(words))
            .map(|(named, _)| named.clone())
            .collect();
        if known.is_empty() {
            return None;
        }
        Some(Ask::Identity {
            scene: scene.clone(),
            new: new.into_iter().collect(),
            known: known.into_iter().collect(),
        })
    }

    /// Takes note of the names of a scene.
    pub(crate) fn add(&mut self, facts: &Facts) {
        for learnt in &facts.learnt {
            let named = Named { kind: learnt.kind.clone(), name: learnt.name.clone() };
            if let std::collections::hash_map::Entry::Vacant(place) =
                self.by_normal.entry(normal(&learnt.name))
            {
                place.insert(named.clone());
                let mut words: Vec<String> = words(&learnt.name).into_iter().collect();
                words.sort();
                self.words.push((named, words));
            }
        }
    }
}
