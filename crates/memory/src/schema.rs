//! The shapes of replies, as they are sent to servers that hold a model to them. What counts is [`crate::Reply::read`].

use serde_json::{Value, json};

use crate::kind::Kind;

/// Changes with every change of a shape below: a reply of another shape is the answer to another question.
pub(crate) const VERSION: &str = "1";

/// What something that is learnt of can be.
pub const TYPES: [&str; 8] =
    ["character", "location", "item", "faction", "lore", "event", "document", "rule"];

/// The shape of replies to questions of a kind. Every field is there always and there are no lengths: that is what all servers can do.
pub(crate) fn of(kind: Kind) -> Value {
    match kind {
        Kind::Boundary => object(&[("because", text()), ("ends_at", json!({"type": "integer"}))]),
        Kind::Facts => {
            let said = object(&[("text", text()), ("about", text()), ("known_to", texts())]);
            let learnt = object(&[
                ("type", json!({"type": "string", "enum": TYPES})),
                ("name", text()),
                ("aliases", texts()),
                ("facts", array(&said)),
            ]);
            object(&[
                ("title", text()),
                ("present", texts()),
                ("happened", texts()),
                ("open", texts()),
                ("resolved", texts()),
                ("state", texts()),
                ("learnt", array(&learnt)),
            ])
        }
        Kind::Identity => object(&[("same", array(&object(&[("name", text()), ("is", text())])))]),
        Kind::Recap => {
            object(&[("developments", texts()), ("open", texts()), ("resolved", texts()), ("state", texts())])
        }
        Kind::Compaction => object(&[("lines", texts())]),
        Kind::Combined => object(&[("recap", text())]),
    }
}

fn object(fields: &[(&str, Value)]) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|(name, shape)| ((*name).to_owned(), shape.clone())).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn array(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn texts() -> Value {
    array(&text())
}
