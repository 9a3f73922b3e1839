//! [`finder`]: where the message is that an edit is about, for whoever lets a transaction happen.

use std::io;
use std::ops::Range;

use forklore_fs::OpenFile;
use forklore_journal::operation::Edit;
use forklore_vault::Library;
use forklore_vault::read::locate::{locate, locate_in};
/// Finds messages in chats that the library has read; others are looked through.
pub(crate) fn finder(library: &Library) -> impl Fn(&Edit, &dyn OpenFile) -> io::Result<Option<Range<u64>>> {
    |edit, file| {
        let chat = library.chat_at(&edit.target).map(|(_, chat)| chat);
        match chat.filter(|chat| chat.identity().is_some() && chat.identity() == file.identity().ok()) {
            Some(chat) => Ok(locate_in(chat.transcript(), edit)),
            None => locate(&**library.fs(), edit, file),
        }
    }
}
