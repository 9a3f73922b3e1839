//! [`Marks`]: what entries tell of themselves, also where they are seen without it.
//!
//! What one extension keeps of a book has nothing of what another has written into an entry. The mark is the entry's all the same: with
//! the same number and text it was made where the mark says, wherever it is seen and whatever it is called there.

use std::collections::HashMap;
use std::sync::Arc;

use forklore_json::Raw;

use super::sight::{Content, Sight, Witness, apply};
use crate::adapter::{Keepers, Mark};
use crate::format::book::EntryImage;

/// The states that an entry went through, each with where it was made.
type Layers = Vec<(Option<Mark>, EntryImage)>;

/// What entries of one book tell of themselves, by number; each with the title that it has there.
#[derive(Default)]
pub(super) struct Marks(HashMap<Option<i64>, Vec<(Arc<str>, Layers)>>);

impl Marks {
    /// Gathers it from where entries are seen whole. Where only one extension writes, they tell it themselves.
    pub(super) fn of(keepers: &Keepers, sights: &[Sight]) -> Self {
        let mut marks = Self::default();
        if !keepers.are_several() {
            return marks;
        }
        let mut look: Vec<EntryImage> = Vec::new();
        for sight in sights.iter().filter(|sight| !matches!(sight.witness, Witness::Scene(_))) {
            match &sight.content {
                Content::Whole(entries) => {
                    entries.iter().for_each(|entry| marks.add(keepers.layers(entry, entries), entry));
                    if matches!(sight.witness, Witness::Look(_)) {
                        look = entries.to_vec();
                    }
                }
                Content::Changed { gone, new } => {
                    apply(&mut look, gone, new.iter().map(|(at, entry)| (*at, entry.clone())));
                    new.iter().for_each(|(_, entry)| marks.add(keepers.layers(entry, &look), entry));
                }
            }
        }
        marks
    }

    fn add(&mut self, layers: Layers, entry: &EntryImage) {
        if layers.iter().any(|(mark, _)| mark.is_some()) {
            self.0.entry(entry.uid).or_default().push((entry.comment.clone(), layers));
        }
    }

    /// What an entry went through, as it tells itself here or elsewhere.
    pub(super) fn layers(&self, keepers: &Keepers, entry: &EntryImage, all: &[EntryImage]) -> Layers {
        let own = keepers.layers(entry, all);
        if self.0.is_empty() || own.iter().any(|(mark, _)| mark.is_some()) {
            return own;
        }
        let numbered = || self.0.get(&entry.uid).into_iter().flatten();
        let told = || numbered().filter(|(title, _)| *title == entry.comment).map(|(_, layers)| layers);
        let text = |layers: &Layers| layers.last().map(|(_, last)| last.content().into_owned());
        let exact = |layers: &&Layers| text(layers).is_some_and(|text| text == entry.content());
        let renamed = || numbered().map(|(_, layers)| layers).find(exact);
        if let Some(layers) = told().find(exact).or_else(renamed) {
            return shown(layers, entry);
        }
        // More was added since: it was made where it says all the same.
        let grown = |layers: &&Layers| text(layers).is_some_and(|text| text.starts_with(&*entry.content()));
        // A memory is made once, whatever is written over it later.
        let memory =
            |layers: &&Layers| layers.last().is_some_and(|(_, entry)| keepers.subject(entry).is_some());
        let made = told()
            .find(grown)
            .or_else(|| told().find(memory))
            .and_then(|layers| layers.iter().find_map(|(mark, _)| mark.clone().filter(|mark| !mark.by_then)));
        vec![(made, entry.clone())]
    }
}

/// The states of an entry as it tells elsewhere, here where it has the same text. Of earlier ones only the switch can be shown: another
/// text would be another entry.
fn shown(layers: &Layers, entry: &EntryImage) -> Layers {
    let here = layers.iter().filter(|(_, image)| image.content() == entry.content());
    let switched = |off: bool| match off == entry.is_disabled() {
        true => entry.clone(),
        false => entry.with_field("disable", Raw::trust(if off { b"true" } else { b"false" })),
    };
    let mut steps: Layers = here.map(|(mark, image)| (mark.clone(), switched(image.is_disabled()))).collect();
    // It may not have been switched yet.
    let reached = steps.iter().rposition(|(_, image)| image.is_disabled() == entry.is_disabled());
    steps.truncate(reached.map_or(1, |reached| reached + 1));
    steps
}
