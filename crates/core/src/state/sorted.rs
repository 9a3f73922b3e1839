//! [`sorted`]: what others who use a book did to the order of its entries.

use std::collections::{BTreeSet, HashMap};

use super::life::{Life, SeenBy};
use super::line::Line;
use super::thing::Thing;
use super::{Cause, Change, Place};
use crate::format::book::EntryImage;

/// Where our own scenes show entries in another order than our own changes left them in: others who use the book sorted it.
pub(super) fn sorted(life: &Life, line: &Line<'_>, changes: &[Change]) -> Vec<Change> {
    let mut sorted = Vec::new();
    // For each thing its order in the book, and as our line left it.
    let mut orders: HashMap<&Thing, [Option<Order<'_>>; 2]> = HashMap::new();
    let mut astray: BTreeSet<&Thing> = BTreeSet::new();
    let mut differences = life.differences.iter().zip(changes).peekable();
    for (here, sight) in life.sights.iter().enumerate() {
        while let Some((difference, change)) = differences.next_if(|(difference, _)| difference.shown <= here)
        {
            if difference.line {
                continue;
            }
            let order = difference.after.as_ref().and_then(Order::of);
            let known = orders.entry(&difference.thing).or_default();
            let ours =
                !matches!(change.place, Place::Elsewhere(_) | Place::Unattributed | Place::Perhaps { .. });
            *known = [order, if ours { order } else { known[1] }];
            let same = known[0].map(|order| order.value.bytes()) == known[1].map(|order| order.value.bytes());
            if same {
                astray.remove(&difference.thing)
            } else {
                astray.insert(&difference.thing)
            };
        }
        let SeenBy::Scene(scene) = sight.by else { continue };
        let Some(message) = life.scenes[scene].carried_by(line.chat) else { continue };
        for thing in std::mem::take(&mut astray) {
            let Some([Some(order), Some(ours)]) = orders.get(thing).copied() else { continue };
            orders.insert(thing, [Some(order), Some(order)]);
            sorted.push(Change {
                thing: thing.clone(),
                line: false,
                clock: sight.time,
                place: Place::Ours(message),
                book: life.book.to_string(),
                before: Some(ours.image()),
                // What others called it, or what number they gave it, is not ours.
                after: Some(Order { value: order.value, ..ours }.image()),
                observed: None,
                cause: Cause::Scene,
                rewrites: false,
                by: None,
                made_without: false,
            });
        }
    }
    sorted
}

/// Where an entry stands among the others.
#[derive(Clone, Copy)]
struct Order<'a> {
    entry: &'a EntryImage,
    value: forklore_json::Raw<'a>,
}

impl<'a> Order<'a> {
    fn of(entry: &'a EntryImage) -> Option<Self> {
        Some(Self { entry, value: entry.raw().get("order")? })
    }

    /// Nothing but that.
    fn image(self) -> EntryImage {
        let object = [b"{\"order\":".as_slice(), self.value.bytes(), b"}"].concat();
        EntryImage::new(self.entry.uid, &self.entry.comment, forklore_json::Raw::trust(&object))
    }
}
