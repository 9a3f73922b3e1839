//! SillyTavern's links from a message to the forks that were made there, as edits of the parent: [`to_fork`] puts one, [`without`] takes
//! those away that lead to a chat.

use forklore_core::fork::ForkKind;
use forklore_core::format::names::chat_stem;
use forklore_core::story::lineage::Link;
use forklore_fs::PathError;
use forklore_journal::operation::{Edit, Json, JsonChange, Listed, Place};
use forklore_json::Raw;
use forklore_vault::{ChatIx, Library};

/// The link on the parent's message.
pub(crate) fn to_fork(
    library: &Library,
    c: ChatIx,
    at: usize,
    kind: ForkKind,
    name: &str,
) -> Result<Option<Edit>, PathError> {
    let chat = library.chat(c);
    let Some(row) = chat.transcript().row(at) else { return Ok(None) };
    let line = library.message_line(c, at)?.unwrap_or_default();
    let raw = Raw::parse(&line).unwrap_or(Raw::NULL);
    let change = match kind {
        ForkKind::Branch => {
            let path = ["extra", "branches"];
            JsonChange::Include(Listed::new_in(raw, &path, name))
        }
        ForkKind::Checkpoint => {
            let set = JsonChange::set_in(raw, &["extra", "bookmark_link"], Json::text(name));
            let Some(set) = set else { return Ok(None) };
            set
        }
    };
    let place = Place::Message { index: at, id: row.id.0 };
    Ok(Some(Edit::new(chat.path().clone(), place, vec![change])))
}

/// The links of the parent's messages that lead to this chat.
pub(crate) fn without(library: &Library, c: ChatIx) -> Result<Vec<Edit>, PathError> {
    let chat = library.chat(c);
    let Some(p) = chat.lineage().parent else { return Ok(Vec::new()) };
    let parent = library.chat(p);
    let mut edits = Vec::new();
    for (message, link, name) in parent.facts().links().filter(|(_, _, name)| chat_stem(name) == chat.name())
    {
        let Some(row) = parent.transcript().row(message) else { continue };
        let change = match link {
            Link::Bookmark => {
                let line = library.message_line(p, message)?.unwrap_or_default();
                let raw = Raw::parse(&line).unwrap_or(Raw::NULL);
                let path = ["extra", "bookmark_link"];
                let set = JsonChange::set_in(raw, &path, None)
                    .filter(|_| raw.at(&path).is_some_and(|now| now.is_text(name)));
                set.unwrap_or_else(|| JsonChange::set(&path, Json::text(name), None))
            }
            Link::Branch => {
                let mut beside =
                    parent.facts().links().filter(|(m, link, _)| *m == message && *link == Link::Branch);
                let at = beside.position(|(_, _, other)| other == name);
                JsonChange::Exclude(Listed::new(&["extra", "branches"], name).at(at))
            }
        };
        let place = Place::Message { index: message, id: row.id.0 };
        edits.push(Edit::new(parent.path().clone(), place, vec![change]));
    }
    Ok(edits)
}
