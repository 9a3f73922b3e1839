//! The running recap: projecting it to a message.

use forklore_core::adapter::recap::{Projection, RecapVersion, RunningRecap};
use proptest::prelude::*;

fn recap() -> impl Strategy<Value = RunningRecap> {
    let version = (0..6i64, 0..20usize, 0..50i64, any::<bool>()).prop_map(|(version, scene, clock, full)| {
        RecapVersion {
            version,
            scene,
            clock,
            content: full.then(|| format!("{version}@{scene}")),
            events: vec![],
        }
    });
    (prop::collection::vec(version, 0..8), 0..6i64).prop_map(|(versions, current)| RunningRecap {
        chat_id: None,
        current: (!versions.is_empty()).then_some(current),
        versions,
    })
}

/// What a projection leaves, as a running recap of its own.
fn kept(recap: &RunningRecap, projection: &Projection) -> RunningRecap {
    RunningRecap {
        chat_id: None,
        current: projection.current.map(|i| recap.versions[i].version),
        versions: projection.kept.iter().map(|i| recap.versions[*i].clone()).collect(),
    }
}

proptest! {
    #[test]
    fn nothing_from_after_the_message_or_off_the_line_is_kept(recap in recap(), at in 0..20usize, on_line in prop::collection::vec(any::<bool>(), 20)) {
        let projection = recap.project(at, &|v| on_line[v.scene].then_some(v.scene));
        for i in &projection.kept {
            prop_assert!(recap.versions[*i].scene <= at && on_line[recap.versions[*i].scene]);
        }
        if let Some(current) = projection.current {
            prop_assert!(projection.kept.contains(&current));
        }
        prop_assert_eq!(projection.kept.len() + projection.dropped.len(), recap.versions.len());
    }

    #[test]
    fn projecting_twice_is_projecting_once(recap in recap(), n in 0..20usize, m in 0..20usize, on_line in prop::collection::vec(any::<bool>(), 20)) {
        let (n, m) = (n.max(m), n.min(m));
        let carries = |v: &RecapVersion| on_line[v.scene].then_some(v.scene);
        // A version number that stands twice leads to the first of them: then the number alone does not tell which was meant.
        let mut recap = recap;
        for (i, version) in recap.versions.iter_mut().enumerate() {
            version.version = i as i64;
        }
        let direct = kept(&recap, &recap.project(m, &carries));
        let first = kept(&recap, &recap.project(n, &carries));
        let second = kept(&first, &first.project(m, &carries));
        prop_assert_eq!(second, direct);
    }
}
