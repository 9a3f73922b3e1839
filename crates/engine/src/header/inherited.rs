//! [`note`]: what of a chat's metadata is as of later than the message, in words.

use forklore_json::Raw;
use forklore_vault::state::at::{MetadataAt, MetadataSource};

/// What people call keys of the metadata.
const NAMES: [(&str, &str); 9] = [
    ("note_prompt", "author's note"),
    ("variables", "variables"),
    ("persona", "persona"),
    ("custom_background", "background"),
    ("attachments", "attachments"),
    ("quickReply", "quick replies"),
    ("script_injects", "injected prompts"),
    ("objective", "objective"),
    ("scenario", "scenario"),
];

/// A sentence about what is not known to have been so at message `at`. Nothing, if all of that is empty.
pub(super) fn note(then: &MetadataAt, at: usize) -> Option<String> {
    let holds =
        |key: &str| then.members.iter().any(|(known, value)| known == key && is_filled(Raw::trust(value)));
    let names: Vec<&str> = NAMES.iter().filter(|(key, _)| holds(key)).map(|(_, name)| *name).collect();
    let (last, others) = names.split_last()?;
    let all =
        if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    let many = !others.is_empty() || last.ends_with('s');
    let (are, they) = if many { ("are", "they were") } else { ("is", "it was") };
    Some(match (then.source, then.message) {
        (MetadataSource::First, Some(message)) => {
            format!(
                "The {all} {are} as of message {message}, when Forklore first saw this chat: nothing tells what {they} at message {at}."
            )
        }
        _ => format!("The {all} {are} today's: nothing tells what {they} at message {at}."),
    })
}

fn is_filled(value: Raw<'_>) -> bool {
    value.is_truthy() && !matches!(value.bytes(), b"{}" | b"[]")
}
