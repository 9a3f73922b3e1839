//! [`Fields`]: the fields of an entry, looked through once; [`means_the_same`]: whether two values of one are taken alike.

use forklore_json::Raw;

/// Fields that mean the same whether they are null, 0, false or empty: SillyTavern takes each of them for "nothing", and whoever writes
/// entries down has another word for it.
const NOTHING: [&str; 8] =
    ["role", "sticky", "cooldown", "delay", "delayUntilRecursion", "automationId", "group", "outletName"];

/// Whether two values of a field of an entry mean the same, whatever they say.
pub fn means_the_same(key: Raw<'_>, a: Raw<'_>, b: Raw<'_>) -> bool {
    a.says_the_same(b) || (!a.is_truthy() && !b.is_truthy() && NOTHING.iter().any(|field| key.is_text(field)))
}

/// The fields of an object, looked through once.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    members: Vec<(Raw<'a>, Raw<'a>)>,
    /// For each slot the number of a member, from 1. Of a key that stands twice, the last. Empty if keys cannot be found so: there
    /// are very many, or one is written with escapes and has to be compared as a text.
    slots: Option<[u8; SLOTS]>,
}

/// Several times the fields that SillyTavern gives an entry.
const SLOTS: usize = 128;

impl<'a> Fields<'a> {
    /// Looks through an object.
    pub fn of(object: Raw<'a>) -> Self {
        let mut members = Vec::with_capacity(48);
        members.extend(object.members());
        let slots = Self::find_slots(&members);
        Self { members, slots }
    }

    fn find_slots(members: &[(Raw<'a>, Raw<'a>)]) -> Option<[u8; SLOTS]> {
        let mut slots = [0; SLOTS];
        if members.len() > SLOTS / 2 {
            return None;
        }
        for (number, (key, _)) in (1..).zip(members) {
            if has_escapes(*key) {
                return None;
            }
            let mut slot = first_slot(*key);
            while slots[slot] != 0 && members[usize::from(slots[slot]) - 1].0.bytes() != key.bytes() {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = number;
        }
        Some(slots)
    }

    /// The value of a key that stands in another object.
    pub fn get(&self, key: Raw<'_>) -> Option<Raw<'a>> {
        let Some(slots) = self.slots.as_ref().filter(|_| !has_escapes(key)) else {
            let text = key.as_text()?;
            return self.members.iter().rfind(|(k, _)| k.is_text(&text)).map(|(_, value)| *value);
        };
        let mut slot = first_slot(key);
        loop {
            let (k, value) = self.members.get(usize::from(slots[slot]).checked_sub(1)?)?;
            if k.bytes() == key.bytes() {
                return Some(*value);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// Keys and values in file order.
    pub fn iter(&self) -> impl Iterator<Item = (Raw<'a>, Raw<'a>)> {
        self.members.iter().copied()
    }
}

/// Where a key is looked for first. Keys of entries differ in length, and in letters around the middle.
fn first_slot(key: Raw<'_>) -> usize {
    let bytes = key.bytes();
    let letter = |at: usize| usize::from(bytes.get(at).copied().unwrap_or(0));
    (bytes.len() * 5 + letter(1) + letter(bytes.len() / 2) * 3 + letter(bytes.len().saturating_sub(2)) * 7)
        % SLOTS
}

fn has_escapes(key: Raw<'_>) -> bool {
    memchr::memchr(b'\\', key.bytes()).is_some()
}
