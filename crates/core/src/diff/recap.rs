//! [`RunningDiff`]: two running recaps, version by version.

use std::collections::HashMap;

use crate::adapter::recap::{RecapVersion, RunningRecap};

/// How one running recap becomes another.
#[derive(Debug, Clone, Default)]
pub struct RunningDiff {
    /// The version in use in the first one.
    pub before: Option<RecapVersion>,
    /// The version in use in the second one.
    pub after: Option<RecapVersion>,
    /// Versions that only the second one has.
    pub added: Vec<RecapVersion>,
    /// Versions that only the first one has.
    pub removed: Vec<RecapVersion>,
    /// Versions with one number that are not the same: each line has merged scenes of its own.
    pub changed: Vec<(RecapVersion, RecapVersion)>,
    /// How many versions are the same.
    pub same: usize,
}

impl RunningDiff {
    /// Compares two running recaps.
    pub fn of(a: &RunningRecap, b: &RunningRecap) -> Self {
        let in_use = |recap: &RunningRecap| recap.current_place().map(|i| recap.versions[i].clone());
        let mut diff = Self { before: in_use(a), after: in_use(b), ..Self::default() };
        // Numbers can stand twice: what is the same goes together first.
        let mut there: HashMap<i64, Vec<&RecapVersion>> = HashMap::new();
        b.versions.iter().for_each(|version| there.entry(version.version).or_default().push(version));
        let mut left = Vec::new();
        for version in &a.versions {
            let places = there.get_mut(&version.version);
            let same = places.and_then(|places| Some((places.iter().position(|v| *v == version)?, places)));
            match same {
                Some((i, places)) => {
                    places.remove(i);
                    diff.same += 1;
                }
                None => left.push(version),
            }
        }
        for version in left {
            match there.get_mut(&version.version).filter(|places| !places.is_empty()) {
                Some(places) => diff.changed.push((version.clone(), places.remove(0).clone())),
                None => diff.removed.push(version.clone()),
            }
        }
        let mut added: Vec<&RecapVersion> = there.into_values().flatten().collect();
        added.sort_by_key(|v| (v.version, v.clock));
        diff.added = added.into_iter().cloned().collect();
        diff
    }

    /// Whether the two are the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.before == self.after
    }
}
