//! [`Conflict`]: what two lines do not agree on, as data: both sides and what both come from. It is kept in the record of a fork.

use forklore_json::{Raw, list, object, quote};
use serde::{Deserialize, Serialize};

/// What two lines do not agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Number of the entry in the lorebook that holds A's.
    pub uid: Option<i64>,
    /// Its title there.
    pub title: String,
    /// The field, and what leads to it inside; nothing if it is about the whole entry: one side deleted it, the other went on with it.
    pub field: Vec<String>,
    /// What both come from; `None` if there was nothing, or nobody knows.
    pub base: Option<Vec<u8>>,
    /// What A has; `None` if nothing.
    pub a: Option<Vec<u8>>,
    /// What B has; `None` if nothing.
    pub b: Option<Vec<u8>>,
}

impl Conflict {
    /// A short name for it, the same wherever it is worked out.
    pub fn id(&self) -> String {
        blake3::hash(&self.write_without_id()).to_hex()[..6].to_owned()
    }

    /// Whether it is about the whole entry.
    pub fn is_whole(&self) -> bool {
        self.field.is_empty()
    }

    /// As it is kept.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = object(&[("id", quote(&self.id()))]);
        bytes.pop();
        bytes.push(b',');
        bytes.extend_from_slice(&self.write_without_id()[1..]);
        bytes
    }

    fn write_without_id(&self) -> Vec<u8> {
        let side = |side: &Option<Vec<u8>>| side.clone().unwrap_or_else(|| b"null".to_vec());
        let field: Vec<Vec<u8>> = self.field.iter().map(|name| quote(name)).collect();
        let mut members = vec![
            ("uid", self.uid.map_or(b"null".to_vec(), |uid| uid.to_string().into_bytes())),
            ("title", quote(&self.title)),
            ("field", list(&field)),
        ];
        // A field can hold null: a side that has nothing is not there.
        let sides = [("base", &self.base), ("a", &self.a), ("b", &self.b)];
        members.extend(
            sides.into_iter().filter(|(_, value)| value.is_some()).map(|(name, value)| (name, side(value))),
        );
        object(&members)
    }

    /// Reads one that was kept.
    pub fn read(kept: Raw<'_>) -> Option<Self> {
        let side = |name: &str| kept.get(name).map(|value| value.bytes().to_vec());
        let field = kept.get("field")?.elements();
        Some(Self {
            uid: kept.get("uid").and_then(Raw::as_i64),
            title: kept.get("title")?.as_text()?.into_owned(),
            field: field.map(|name| Some(name.as_text()?.into_owned())).collect::<Option<_>>()?,
            base: side("base"),
            a: side("a"),
            b: side("b"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_read_as_it_was_written() {
        let quoted = |text: &str| Some(quote(text));
        let conflict = Conflict {
            uid: Some(7),
            title: "Ana".to_owned(),
            field: vec!["content".to_owned()],
            base: quoted("One."),
            a: quoted("Two."),
            b: Some(b"null".to_vec()),
        };
        let written = conflict.write();
        assert_eq!(Conflict::read(Raw::parse(&written).unwrap()).as_ref(), Some(&conflict));
        let whole = Conflict { field: Vec::new(), a: None, ..conflict };
        assert_eq!(Conflict::read(Raw::parse(&whole.write()).unwrap()).as_ref(), Some(&whole));
    }
}
