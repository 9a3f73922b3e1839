//! [`Roll`]: the order in which registries list their lines, learnt from every text of them that was seen; [`split`] and [`join`].
//!
//! Extensions sort registries by the rules of the browser's language. Those need not be known: what was seen in an order keeps it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use forklore_json::{Raw, quote};

use crate::adapter::registry;
use crate::format::book::EntryImage;

/// The order of lines by registry: names in the order in which they stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Roll(HashMap<Arc<str>, Names>);

/// Names in the order in which they stand, and who is among them.
type Names = (Vec<Arc<str>>, HashSet<Arc<str>>);

impl Roll {
    /// Learns from a registry's text: who is not known yet comes after the one that it was seen after.
    pub(super) fn learn<'a>(&mut self, title: &Arc<str>, names: impl Iterator<Item = &'a str>) {
        let (order, known) = self.0.entry(title.clone()).or_default();
        let mut before: Option<Arc<str>> = None;
        for name in names {
            let name: Arc<str> = match known.get(name) {
                Some(name) => name.clone(),
                None => {
                    let name: Arc<str> = name.into();
                    let place = before.as_ref().and_then(|before| order.iter().position(|n| n == before));
                    order.insert(place.map_or(0, |place| place + 1), name.clone());
                    known.insert(name.clone());
                    name
                }
            };
            before = Some(name);
        }
    }

    /// Learns what another has learnt.
    pub(super) fn learn_from(&mut self, other: &Self) {
        for (title, (names, _)) in &other.0 {
            self.learn(title, names.iter().map(|name| &**name));
        }
    }

    /// The lines of a registry in their order.
    pub(super) fn sort(&self, title: &str, lines: &mut [EntryImage]) {
        let Some((order, _)) = self.0.get(title) else { return };
        let ranks: HashMap<&str, usize> = order.iter().enumerate().map(|(i, name)| (&**name, i)).collect();
        lines.sort_by_key(|line| ranks.get(&*line.comment).copied().unwrap_or(usize::MAX));
    }
}

/// A registry without its lines, and each line as an entry of its own: number and name of what it lists, and the line as its text.
/// `None` if it holds anything else.
pub(super) fn split(image: &EntryImage) -> Option<(EntryImage, Vec<EntryImage>)> {
    let content = image.content();
    let (head, rest) = content.split_once('\n').unwrap_or((&content, ""));
    registry::kind_of(head)?;
    let mut lines = Vec::new();
    if content.len() > head.len() {
        for text in rest.split('\n') {
            let line = registry::line(text)?;
            let object = [b"{\"content\":".to_vec(), quote(text), b"}".to_vec()].concat();
            lines.push(EntryImage::new(line.uid, &line.name, Raw::trust(&object)));
        }
    }
    Some((image.with_content(head), lines))
}

/// A registry with its lines.
pub(super) fn join(head: &EntryImage, lines: &[EntryImage]) -> EntryImage {
    if lines.is_empty() {
        return head.clone();
    }
    let mut text = head.content().into_owned();
    for line in lines {
        text.push('\n');
        text.push_str(&line.content());
    }
    head.with_content(&text)
}
