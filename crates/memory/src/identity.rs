//! Which of the names of a scene are somebody we know. Most are told by themselves: the same name is the same one, and a name that no
//! known one stands beside in the scene is new. Only the rest is asked, and only about names that the scene has: so what is learnt of
//! others makes no other question of it.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::entity::{normal, words};
use crate::facts::Facts;
use crate::line::{Line, Utterance};
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
        let said = Spoken::new(line.part(scene.clone()));
        let kinds: HashSet<&str> = new.iter().map(|named| named.kind.as_str()).collect();
        let there = |words: &[String]| !words.is_empty() && said.has(words);
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

/// What was said in a scene, to be asked for words. Most names are not there, and that shows in a fraction of the time that it takes to
/// part a text into words as people write them.
struct Spoken<'a> {
    messages: &'a [Utterance],
    /// Runs of letters and digits, in lower case; nothing if there is more than ASCII, where a letter can be written in several ways
    runs: Option<HashSet<String>>,
    words: OnceCell<HashSet<String>>,
}

impl<'a> Spoken<'a> {
    fn new(messages: &'a [Utterance]) -> Self {
        let plain = messages.iter().all(|message| message.name.is_ascii() && message.text.is_ascii());
        let texts = messages.iter().flat_map(|message| [&message.name, &message.text]);
        let runs = plain.then(|| texts.flat_map(|text| runs(text)).map(str::to_ascii_lowercase).collect());
        Self { messages, runs, words: OnceCell::new() }
    }

    /// Whether all of these words were said.
    fn has(&self, wanted: &[String]) -> bool {
        // A word has no boundary inside of a run: where it is said, each of its runs is.
        let maybe = self.runs.as_ref().is_none_or(|there| {
            wanted.iter().all(|word| word.is_ascii() && runs(word).all(|run| there.contains(run)))
        });
        let said = || self.messages.iter().flat_map(|m| words(&format!("{} {}", m.name, m.text))).collect();
        maybe && wanted.iter().all(|word| self.words.get_or_init(said).contains(word))
    }
}

/// The runs of letters and digits in a text that is ASCII.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The quick look finds nothing else than the words do.
        #[test]
        fn properties_the_quick_look_is_right(
            said in prop::collection::vec("[A-Ca-c1é'._ -]{0,12}", 1..4),
            wanted in "[A-Ca-c1é'._ -]{1,6}",
        ) {
            let messages: Vec<Utterance> = said.iter().map(|text| Utterance::new("Ab", text.as_str())).collect();
            let there: HashSet<String> = messages.iter().flat_map(|m| words(&format!("{} {}", m.name, m.text))).collect();
            let wanted: Vec<String> = words(&wanted).into_iter().collect();
            prop_assert_eq!(Spoken::new(&messages).has(&wanted), wanted.iter().all(|word| there.contains(word)));
        }
    }
}
