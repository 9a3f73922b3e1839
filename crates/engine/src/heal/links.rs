//! [`renamed_links`]: links of messages follow forks that were renamed.

use forklore_core::format::names::chat_stem;
use forklore_journal::operation::Edit;
use forklore_vault::{ChatIx, Library};

use crate::rename::relink;

/// Links of this chat's messages to forks that go by another name now.
pub(super) fn renamed_links(library: &Library, c: ChatIx) -> Vec<Edit> {
    let chat = library.chat(c);
    let mut edits = Vec::new();
    for (message, link, name) in chat.facts().links() {
        let stem = chat_stem(name);
        let story = library.story(chat.story());
        let inherited = chat.lineage().parent.is_some()
            && chat.lineage().fork_message.is_some_and(|fork| message <= fork);
        if inherited || story.chats().iter().any(|d| library.chat(*d).name() == stem) {
            continue;
        }
        let was = |d: &&ChatIx| {
            let other = library.chat(**d);
            let record = other.record().is_some_and(|record| record.owner_file == stem);
            record && other.lineage().parent == Some(c) && other.lineage().fork_message == Some(message)
        };
        let now = story.chats().iter().find(was).map(|d| library.chat(*d).name());
        edits.extend(now.and_then(|now| relink(chat, message, link, name, now)));
    }
    edits
}
