//! The laws: no future, no waste, nothing asked twice, nothing lost.

use std::collections::{BTreeMap, HashSet};

use forklore_memory::{Decision, Ended, Entity, EntityId, Inputs, Key, Kind, Line, Memory};
use proptest::prelude::*;

use crate::teller::{Teller, line, message, utterance};

type Said = (usize, usize, usize, u32);

fn story() -> impl Strategy<Value = Vec<Said>> {
    prop::collection::vec(message(), 0..90)
}

/// Everything that is remembered, in words.
fn told(memory: &Memory) -> Vec<String> {
    let scenes = memory.standing.iter().map(|standing| {
        let entities = standing
            .entities
            .iter()
            .map(|entity| format!("{}|{:?}|{}", entity.title(), entity.aliases, entity.text()));
        format!(
            "{:?}\n{}\n{}",
            standing.scene.messages,
            standing.recap.text(),
            entities.collect::<Vec<_>>().join("\n")
        )
    });
    scenes.collect()
}

fn first(_: usize) -> usize {
    0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// A second run asks nothing, nor does a fork at any message; and what a fork remembers is what the story remembered there.
    #[test]
    fn properties_a_fork_asks_nothing(said in story(), n in 0..90_usize) {
        let mut teller = Teller::default();
        let whole = line(&said);
        teller.run(&whole, &Inputs::default(), first);
        prop_assert_eq!(teller.run(&whole, &Inputs::default(), first), 0);
        let fork = line(&said[..n.min(said.len())]);
        let there = teller.memory(&fork, &Inputs::default());
        prop_assert!(there.missing.is_empty(), "{:?}", there.missing);
        let here = teller.memory(&whole, &Inputs::default());
        // All scenes that are over by then, also those whose end only showed itself in what followed.
        let over = here.standing.iter().filter(|standing| standing.scene.last() < n).count();
        prop_assert_eq!(&told(&there)[..], &told(&here)[..over]);
    }

    /// Nothing of what comes after a message is in what is remembered at it: other words there change nothing before them, and no
    /// question about a scene shows them. Where a scene ends is told by what follows, within the look-ahead.
    #[test]
    fn properties_no_future(said in story(), other in prop::collection::vec(message(), 1..30), n in 0..90_usize) {
        let mut teller = Teller::default();
        let n = n.min(said.len());
        let whole = line(&said);
        teller.run(&whole, &Inputs::default(), first);
        let before = teller.memory(&whole, &Inputs::default());
        for (i, standing) in before.standing.iter().enumerate() {
            let keys: HashSet<&Key> = standing.rests_on.iter().collect();
            for (kind, _, words) in teller.asked.iter().filter(|(_, key, _)| keys.contains(key)) {
                for (_, _, _, mark) in said.iter().skip(standing.scene.messages.end) {
                    let mark = format!("Word w{mark}.");
                    let earlier = said[..standing.scene.messages.end].iter().any(|s| mark == format!("Word w{}.", s.3));
                    prop_assert!(earlier || !words.contains(&mark), "{} of scene {i} shows {mark}", kind.as_str());
                }
            }
        }
        let elsewhere: Line = said[..n].iter().chain(&other).map(utterance).collect();
        let after = teller.memory(&elsewhere, &Inputs::default());
        let settled = before.scenes.iter().take_while(|scene| {
            // Its end was found without a look at anything that is different now.
            scene.messages.start + 24 + 3 <= n
        }).count();
        let same = settled.min(before.standing.len());
        prop_assert!(after.standing.len() >= same);
        prop_assert_eq!(&told(&after)[..same], &told(&before)[..same]);
    }

    /// In whatever order questions are answered, and however often it is begun again, the same is remembered, and nothing was asked that
    /// is not needed.
    #[test]
    fn properties_order_is_nothing(said in story(), order in prop::collection::vec(any::<usize>(), 1..40)) {
        let whole = line(&said);
        let (mut a, mut b) = (Teller::default(), Teller::default());
        a.run(&whole, &Inputs::default(), first);
        let mut i = 0;
        b.run(&whole, &Inputs::default(), |_| { i += 1; order[i % order.len()] });
        let (one, other) = (a.memory(&whole, &Inputs::default()), b.memory(&whole, &Inputs::default()));
        prop_assert_eq!(told(&one), told(&other));
        prop_assert_eq!(a.asked.len(), b.asked.len());
        let needed: HashSet<Key> = other.standing.iter().flat_map(|standing| standing.rests_on.iter().copied()).collect();
        for (kind, key, words) in &b.asked {
            prop_assert!(*kind == Kind::Boundary || needed.contains(key), "{} in vain:\n{words}", kind.as_str());
        }
        let mut keys: Vec<Key> = b.asked.iter().map(|(_, key, _)| *key).collect();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(keys.len(), b.asked.len(), "something was asked twice");
    }

    /// After an edit nothing is asked but what depends on it, the result is what it would have been from the start, and going back
    /// asks nothing.
    #[test]
    fn properties_an_edit_asks_what_depends_on_it(said in story(), at in any::<prop::sample::Index>(), new in message()) {
        prop_assume!(!said.is_empty());
        let mut edited = said.clone();
        let at = at.index(said.len());
        edited[at] = new;
        let (before, after) = (line(&said), line(&edited));
        let mut teller = Teller::default();
        teller.run(&before, &Inputs::default(), first);
        let first_asked = teller.asked.len();
        let scenes_before = teller.memory(&before, &Inputs::default()).scenes;
        teller.run(&after, &Inputs::default(), first);
        let memory = teller.memory(&after, &Inputs::default());
        let mut fresh = Teller::default();
        fresh.run(&after, &Inputs::default(), first);
        prop_assert_eq!(told(&memory), told(&fresh.memory(&after, &Inputs::default())));
        prop_assert_eq!(teller.run(&before, &Inputs::default(), first), 0, "going back asks");
        // Where the edit moved no end of a scene, facts are asked of its scene alone, and recaps on the way up alone.
        if memory.scenes.iter().map(|scene| &scene.messages).eq(scenes_before.iter().map(|scene| &scene.messages)) {
            let count = |kind| teller.asked[first_asked..].iter().filter(|(asked, ..)| *asked == kind).count();
            prop_assert!(count(Kind::Facts) <= 1);
            let levels = (memory.scenes.len().max(1)).ilog(4) as usize;
            prop_assert!(count(Kind::Recap) <= levels, "{} recaps of {} scenes", count(Kind::Recap), memory.scenes.len());
        }
    }

    /// What the owner decided is there, whatever is told: written text stays, what was deleted stays away, what is locked stays as it is;
    /// and it is not there before it was decided.
    #[test]
    fn properties_decisions_always_win(said in story(), at in 0..90_usize, which in 0..3_usize) {
        let whole = line(&said);
        let id = EntityId { kind: "character".into(), name: "Mara".into() };
        let decision = [Decision::Text("She is my sister.".into()), Decision::Deleted, Decision::Locked("As it was.".into())][which].clone();
        let inputs = Inputs { entries: BTreeMap::from([(at, vec![(id, decision)])]), ..Inputs::default() };
        let mut teller = Teller::default();
        teller.run(&whole, &Inputs::default(), first);
        let plain = teller.memory(&whole, &Inputs::default());
        teller.run(&whole, &inputs, first);
        let decided = teller.memory(&whole, &inputs);
        let before = decided.standing.iter().take_while(|standing| standing.scene.last() < at).count();
        prop_assert_eq!(&told(&decided)[..before], &told(&plain)[..before]);
        // She may have come up as somebody else first.
        let is_she = |entity: &Entity| entity.names().any(|name| name == "Mara");
        let mara = decided.entities.iter().find(|entity| is_she(entity)).expect("decided about");
        match which {
            0 => prop_assert!(mara.text().starts_with("She is my sister.")),
            1 => prop_assert_eq!(mara.hold, forklore_memory::Hold::Deleted),
            _ => prop_assert_eq!(mara.text(), "As it was."),
        }
    }

    /// Where entries have to be approved, nobody is shown with words that were not, at any scene; what was approved before stays until then.
    #[test]
    fn properties_nothing_is_shown_unapproved(said in story(), chosen in proptest::collection::vec(any::<bool>(), 64), free in 0..4_usize) {
        let whole = line(&said);
        let mut teller = Teller::default();
        teller.run(&whole, &Inputs::default(), first);
        let plain = teller.memory(&whole, &Inputs::default());
        let mut approved = std::collections::BTreeSet::new();
        let all = plain.standing.iter().flat_map(|standing| &standing.entities);
        approved.extend(all.zip(chosen.iter().cycle()).filter(|(_, yes)| **yes).map(|(entity, _)| entity.version()));
        let mut shown = plain.clone();
        let proposals = shown.only_approved(&approved, free);
        for (i, (standing, before)) in shown.standing.iter().zip(&plain.standing).enumerate() {
            for entity in &standing.entities {
                let was_free = plain.standing[..=i].iter().take(free).any(|s| s.entities.contains(entity));
                prop_assert!(was_free || approved.contains(&entity.version()), "{}", entity.title());
            }
            for entity in before.entities.iter().filter(|entity| approved.contains(&entity.version())) {
                prop_assert!(standing.entities.contains(entity), "{} is approved", entity.title());
            }
        }
        for entity in &plain.entities {
            let waits = proposals.iter().any(|proposal| proposal.entity.id == entity.id);
            prop_assert!(waits != shown.entities.contains(entity), "{}", entity.title());
        }
    }

    /// What a person says of the beginning is what the recap begins with, and no question is asked about what it stands for.
    #[test]
    fn properties_a_recap_by_hand_stays(said in story(), which in 0..6_usize) {
        let whole = line(&said);
        let mut teller = Teller::default();
        teller.run(&whole, &Inputs::default(), first);
        let plain = teller.memory(&whole, &Inputs::default());
        prop_assume!(which < plain.standing.len());
        let at = plain.standing[which].scene.last();
        let recap = forklore_memory::Digest::read("DEVELOPMENTS:\nAll that was.\n\nOPEN:\nWhat will be.");
        let inputs = Inputs { recaps: BTreeMap::from([(at, recap)]), ..Inputs::default() };
        teller.run(&whole, &inputs, first);
        let told = teller.memory(&whole, &inputs);
        for (standing, before) in told.standing.iter().zip(&plain.standing) {
            if standing.scene.last() < at {
                prop_assert_eq!(&standing.recap, &before.recap);
            } else {
                prop_assert_eq!(&standing.recap.developments[0], "All that was.");
            }
        }
    }

    /// Scenes end where a person said, and not where a person said no.
    #[test]
    fn properties_breaks_by_hand(said in story(), yes in 0..90_usize, no in 0..90_usize) {
        prop_assume!(yes != no);
        let whole = line(&said);
        let inputs = Inputs { breaks: [yes].into(), no_breaks: [no].into(), ..Inputs::default() };
        let mut teller = Teller::default();
        teller.run(&whole, &inputs, first);
        let memory = teller.memory(&whole, &inputs);
        let at = |n: usize| memory.scenes.iter().find(|scene| scene.last() == n);
        if memory.open() > yes && yes < said.len() {
            prop_assert_eq!(at(yes).map(|scene| scene.ended), Some(Ended::ByHand));
        }
        if let Some(scene) = at(no) {
            prop_assert_eq!(scene.ended, Ended::TooLong);
        }
    }
}

/// "Keep" after an edit: the answer to the old question counts for the new one, and nothing is asked.
#[test]
fn what_is_kept_is_not_asked() {
    let said: Vec<Said> = (0..40)
        .map(|i| (i % 3, if i % 7 == 6 { 0 } else { 1 + i % 3 }, i % 5, u32::try_from(i).expect("small")))
        .collect();
    let before = line(&said);
    let mut teller = Teller::default();
    teller.run(&before, &Inputs::default(), first);
    let plain = teller.memory(&before, &Inputs::default());
    let mut edited = said;
    edited[2].3 = 999;
    let after = line(&edited);
    let mut inputs = Inputs::default();
    // Message 2 is of the first scene: each question that shows itself is the first of its kind.
    let mut kept = 0;
    loop {
        let memory = teller.memory(&after, &inputs);
        let Some(question) = memory.missing.first() else { break };
        let old = teller.asked.iter().find(|(kind, ..)| *kind == question.kind());
        inputs.kept.insert(question.key(), old.expect("asked before").1);
        kept += 1;
        assert!(kept < 50);
    }
    let memory = teller.memory(&after, &inputs);
    assert!(memory.missing.is_empty());
    assert_eq!(memory.standing.len(), plain.standing.len());
    assert_eq!(told(&memory)[0], told(&plain)[0], "the first scene is remembered as before");
}

/// Somebody else in an early scene makes no other question of later ones, which do not tell of them.
#[test]
fn who_is_not_in_a_scene_is_not_asked_about_there() {
    let names = ["Tolan", "Ilse", "Karsk", "Bren", "Sela", "Wick"];
    let told = |early: &str| -> Line {
        let said = (0..48).map(|i| {
            let name = if i < 8 { early } else { names[i / 8 % names.len()] };
            let text = match i % 8 {
                0 if i > 0 => format!("Later that day they met {name} again."),
                2 => format!("It is said that {name} lives in house {i}."),
                _ => format!("Nothing to see, {i}."),
            };
            forklore_memory::Utterance::new("ana", text)
        });
        said.collect()
    };
    let mut teller = Teller::default();
    teller.run(&told("Tolan"), &Inputs::default(), first);
    let before = teller.asked.len();
    teller.run(&told("Zorba"), &Inputs::default(), first);
    let identity = teller.asked[before..].iter().filter(|(kind, ..)| *kind == Kind::Identity).count();
    assert!(teller.asked.len() > before && identity == 0, "{identity} questions about who is who");
    assert!(teller.memory(&told("Zorba"), &Inputs::default()).scenes.len() > 3);
}
