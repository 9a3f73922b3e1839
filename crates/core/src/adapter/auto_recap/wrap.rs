//! [`wrapped`]: the text of an entry in the `<setting_lore>` tag that the extension puts around it before SillyTavern hashes it.

use forklore_json::{Kind, Raw};

use crate::format::js::{Units, is_null, shown, trimmed, units, with_plain_newlines};

/// A text in the tag. What is blank or has the tag already stays: `None`.
pub(super) fn wrapped(content: &[u16], entry: Raw<'_>, world: &str) -> Option<Units> {
    let newline = u16::from(b'\n');
    let lines = with_plain_newlines(content);
    let decorated = if lines.starts_with(&units("@@")) {
        let all = lines.split(|unit| *unit == newline);
        all.take_while(|line| line.starts_with(&units("@@"))).map(|line| line.len() + 1).sum()
    } else {
        0
    };
    let body = trimmed(lines.get(decorated..).unwrap_or_default());
    let has_tag = body.starts_with(&units("<setting_lore ")) && body.ends_with(&units("</setting_lore>"));
    if body.is_empty() || has_tag {
        return None;
    }
    let parts = [
        &lines[..decorated],
        &open_tag(entry, world),
        &[newline],
        body,
        &[newline],
        &units("</setting_lore>"),
    ];
    Some(parts.concat())
}

/// The opening tag, with those of the entry's fields that it shows to the model.
fn open_tag(entry: Raw<'_>, world: &str) -> Units {
    let some = |field: &str| entry.get(field).filter(|value| !is_null(*value));
    let numeric = |field: &str| some(field).filter(|value| value.kind() == Kind::Number);
    let comment = entry.get("comment").filter(|comment| comment.is_truthy());
    // An entry can have a field of this name, which then counts.
    let world = entry.get("world").map_or_else(|| units(world), shown);
    let keys: Vec<Units> =
        entry.get("key").map(|keys| keys.elements().map(shown).collect()).unwrap_or_default();
    let attributes = [
        ("name", Some(comment.map_or_else(|| units("Unnamed Entry"), shown))),
        ("uid", Some(some("uid").map_or_else(|| units("unknown"), shown))),
        ("world", Some(world).filter(|world| !world.is_empty())),
        ("position", numeric("position").map(shown)),
        ("order", numeric("order").map(shown)),
        ("depth", some("depth").map(shown)),
        ("role", some("role").map(shown)),
        ("keys", (!keys.is_empty()).then(|| keys.join(&u16::from(b'|')))),
    ];
    let mut tag = units("<setting_lore");
    for (name, value) in attributes {
        let Some(value) = value else { continue };
        tag.extend(format!(" {name}=\"").encode_utf16());
        tag.extend(escaped(&value));
        tag.push(u16::from(b'"'));
    }
    tag.push(u16::from(b'>'));
    tag
}

fn escaped(text: &[u16]) -> Units {
    let mut out = Units::new();
    for unit in text {
        match u8::try_from(*unit) {
            Ok(b'&') => out.extend("&amp;".encode_utf16()),
            Ok(b'<') => out.extend("&lt;".encode_utf16()),
            Ok(b'>') => out.extend("&gt;".encode_utf16()),
            Ok(b'"') => out.extend("&quot;".encode_utf16()),
            Ok(b'\'') => out.extend("&apos;".encode_utf16()),
            _ => out.push(*unit),
        }
    }
    out
}
