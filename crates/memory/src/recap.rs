//! The recap of a line: a tree of scenes, four to a node, so that an edit asks no more than one question on each level.

use std::sync::Arc;

use crate::facts::Digest;
use crate::question::Ask;

/// How many parts become one.
const PARTS: usize = 4;

/// What is told of a line up to a scene: the largest complete nodes, and what is left.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecapTree {
    /// From the largest to the smallest
    frontier: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    /// How often four became one; 0 is a scene
    level: u32,
    /// What it says: one part, or several as long as nobody has made one of them
    parts: Vec<Arc<Digest>>,
}

impl RecapTree {
    /// Adds a scene. `ask` is asked whenever four parts are complete; where it has no answer yet they stay side by side, which is longer
    /// and not wrong.
    pub(crate) fn push(&mut self, scene: Digest, mut ask: impl FnMut(Ask) -> Option<Digest>) {
        self.frontier.push(Node { level: 0, parts: vec![Arc::new(scene)] });
        while let Some(at) = self.complete() {
            let nodes = self.frontier.split_off(at);
            let level = nodes.first().map_or(0, |node| node.level) + 1;
            let each_one = nodes.iter().all(|node| node.parts.len() == 1);
            let parts: Vec<Arc<Digest>> = nodes.into_iter().flat_map(|node| node.parts).collect();
            let one = if each_one { ask(Ask::Recap { parts: parts.clone() }) } else { None };
            let parts = one.map_or(parts, |one| vec![Arc::new(one)]);
            self.frontier.push(Node { level, parts });
        }
    }

    /// From here on, what was told until now is this.
    pub(crate) fn say(&mut self, recap: Digest) {
        self.frontier = vec![Node { level: u32::MAX, parts: vec![Arc::new(recap)] }];
    }

    /// Where the last four nodes begin, if they are of one level.
    fn complete(&self) -> Option<usize> {
        let at = self.frontier.len().checked_sub(PARTS)?;
        let nodes = self.frontier.get(at..)?;
        // What a person or another extension has said of the beginning is not told again in other words.
        let level = nodes[0].level;
        (level != u32::MAX && nodes.iter().all(|node| node.level == level)).then_some(at)
    }

    /// What it says as a whole.
    pub(crate) fn digest(&self) -> Digest {
        self.frontier.iter().flat_map(|node| &node.parts).fold(Digest::default(), |all, part| all.and(part))
    }
}
