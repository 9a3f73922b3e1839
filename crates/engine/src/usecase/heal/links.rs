//! [`renamed_links`]: links of messages follow forks that were renamed.

use forklore_core::format::names::chat_stem;
use forklore_core::story::lineage::Link;

use crate::tx::operation::{Change, Edit, Json, Listed, Place};
use crate::vault::Library;

/// Links of this chat's messages to forks that go by another name now.
pub(super) fn renamed_links(library: &Library, c: usize) -> Vec<Edit> {
    let chat = &library.chats[c];
    let mut edits = Vec::new();
    for (message, link, name) in chat.facts.links() {
        let stem = chat_stem(name);
        let story = &library.stories[chat.story];
        let inherited =
            chat.lineage.parent.is_some() && chat.lineage.fork_message.is_some_and(|fork| message <= fork);
        if inherited || story.chats.iter().any(|d| library.chats[*d].name == stem) {
            continue;
        }
        let was = |d: &&usize| {
            let other = &library.chats[**d];
            let record = other.record.as_ref().is_some_and(|record| record.owner_file == stem);
            record && other.lineage.parent == Some(c) && other.lineage.fork_message == Some(message)
        };
        let (Some(now), Some(row)) = (story.chats.iter().find(was), chat.transcript.row(message)) else {
            continue;
        };
        let now = &library.chats[*now].name;
        let changes = match link {
            Link::Bookmark => {
                vec![Change::set(&["extra", "bookmark_link"], Json::text(name), Json::text(now))]
            }
            Link::Branch => {
                let mut beside =
                    chat.facts.links().filter(|(m, link, _)| *m == message && *link == Link::Branch);
                let at = beside.position(|(_, _, other)| other == name);
                let listed = |text: &str| Listed::new(&["extra", "branches"], text).at(at);
                vec![Change::Exclude(listed(name)), Change::Include(listed(now))]
            }
        };
        let place = Place::Message { index: message, id: row.id.0 };
        edits.push(Edit::new(chat.path.clone(), place, changes));
    }
    edits
}
