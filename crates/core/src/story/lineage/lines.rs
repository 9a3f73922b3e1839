//! [`Lines`]: the chats of a family in the order of their lines, so that those which share most with one are its neighbours. To find
//! them nobody compares every two.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::super::chat_ix::ChatIx;
use super::super::line::common_prefix;
use super::super::moment::MessageId;
use super::Chat;

/// Chats, sorted by their moments as words are by their letters.
pub(super) struct Lines {
    order: Vec<ChatIx>,
    /// Where each chat stands in the order.
    place: HashMap<ChatIx, usize>,
    /// How many messages each shares with the one before it; what two chats share is the least between them.
    shared: Vec<usize>,
    /// Where messages stand, by their own identity: place of the first chat that has it with all that comes before it, and its number.
    by_id: HashMap<MessageId, Vec<(usize, usize)>>,
}

/// Chats that share so many messages with one, all of them with the same message next.
pub(super) struct Neighbours<'a> {
    pub(super) shared: usize,
    pub(super) chats: &'a [ChatIx],
}

/// So many places are looked at where a message stands at many: each is another edit of what comes before.
const PLACES: usize = 8;

impl Lines {
    pub(super) fn new(chats: &[Chat<'_>], members: &[ChatIx]) -> Self {
        let mut order = members.to_vec();
        order.sort_by(|a, b| compare(chats, *a, *b).then(a.cmp(b)));
        let before = std::iter::once(None).chain(order.iter().copied().map(Some));
        let with = |(before, c): (Option<ChatIx>, &ChatIx)| {
            before.map_or(0, |b| common_prefix(chats[b].transcript, chats[*c].transcript))
        };
        let shared: Vec<usize> = before.zip(&order).map(with).collect();
        let mut by_id: HashMap<MessageId, Vec<(usize, usize)>> = HashMap::new();
        for (place, c) in order.iter().enumerate() {
            let first = shared[place].max(1);
            for (message, row) in (first..).zip(chats[*c].transcript.rows_from(first)) {
                let places = by_id.entry(row.id).or_default();
                if places.len() < PLACES {
                    places.push((place, message));
                }
            }
        }
        let place = order.iter().enumerate().map(|(place, c)| (*c, place)).collect();
        Self { order, place, shared, by_id }
    }

    /// The others, those that share most with `c` first.
    pub(super) fn nearest(&self, c: ChatIx) -> impl Iterator<Item = Neighbours<'_>> {
        let here = self.place[&c];
        let (mut from, mut to) = (here, here + 1);
        let before = |from: usize| (from > 0).then(|| self.shared[from]);
        let after = |to: usize| self.shared.get(to).copied();
        let (mut least_before, mut least_after) = (usize::MAX, usize::MAX);
        std::iter::from_fn(move || {
            let left = before(from).map(|shared| shared.min(least_before));
            let right = after(to).map(|shared| shared.min(least_after));
            // Those that go on alike among themselves come together.
            match (left, right) {
                (Some(shared), right) if right.is_none_or(|right| shared >= right) => {
                    least_before = shared;
                    let end = from;
                    from -= 1;
                    while from > 0 && self.shared[from] > shared {
                        from -= 1;
                    }
                    Some(Neighbours { shared, chats: &self.order[from..end] })
                }
                (_, Some(shared)) => {
                    least_after = shared;
                    let start = to;
                    to += 1;
                    while self.shared.get(to).is_some_and(|next| *next > shared) {
                        to += 1;
                    }
                    Some(Neighbours { shared, chats: &self.order[start..to] })
                }
                _ => None,
            }
        })
    }

    /// Chats that have one of the messages of `c` from `first` on, although something before it differs; the last messages first.
    /// With each the number of that message in `c`.
    pub(super) fn with_messages<'s>(
        &'s self,
        chats: &'s [Chat<'s>],
        c: ChatIx,
        first: usize,
    ) -> impl Iterator<Item = (usize, &'s [ChatIx])> + 's {
        let transcript = chats[c].transcript;
        let rows = (first.max(1)..transcript.len()).rev().filter_map(move |i| Some((i, transcript.row(i)?)));
        rows.flat_map(move |(i, row)| {
            let places = self.by_id.get(&row.id).map_or(&[][..], Vec::as_slice);
            places.iter().filter_map(move |(place, message)| {
                let elsewhere = chats[self.order[*place]].transcript.moment(*message) != Some(row.moment);
                elsewhere.then(|| (i, self.having(*place, *message)))
            })
        })
    }

    /// The chats that have a message with all that comes before it, of which the first stands at `place`.
    fn having(&self, place: usize, message: usize) -> &[ChatIx] {
        let mut end = place + 1;
        while self.shared.get(end).is_some_and(|shared| *shared > message) {
            end += 1;
        }
        &self.order[place..end]
    }
}

fn compare(chats: &[Chat<'_>], a: ChatIx, b: ChatIx) -> Ordering {
    let (a, b) = (chats[a].transcript, chats[b].transcript);
    let shared = common_prefix(a, b);
    a.moment(shared).cmp(&b.moment(shared))
}
