//! What was in lorebooks when a message was answered: noted on the user's message, for showing.
//!
//! What is active may be remembered from before, with a text in a wrapper, of an entry that is gone by now; the rest is read from the lorebook
//! at that moment.

use forklore_json::Raw;

use super::scene::any_i64;
use crate::adapter::Noted;
use crate::format::book::EntryImage;
use crate::format::chat::Message;

/// What was noted of each lorebook.
pub(super) fn noted(message: Message<'_>) -> Vec<Noted> {
    let [active, inactive] = message.extra().pick(["activeLorebookEntries", "inactiveLorebookEntries"]);
    let Some(inactive) = inactive else { return Vec::new() };
    let mut found: Vec<Noted> = Vec::new();
    for (raw, is_remembered) in { inactive.elements().map(|raw| (raw, false)) }
        .chain(active.unwrap_or(Raw::NULL).elements().map(|raw| (raw, true)))
    {
        let [world, uid, comment, content] = raw.pick(["world", "uid", "comment", "content"]);
        let Some(book) = world.and_then(Raw::as_text) else { continue };
        let title = comment.and_then(Raw::as_text).unwrap_or_default();
        let entry = EntryImage::of_words(uid.and_then(any_i64), &title, content.unwrap_or(Raw::NULL));
        let entry = if is_remembered { unwrapped(entry) } else { entry };
        let noted = of(&mut found, &book);
        if is_remembered { &mut noted.remembered } else { &mut noted.entries }.push(entry);
    }
    found
}

/// An entry without the tag that its text was put into for the model.
fn unwrapped(entry: EntryImage) -> EntryImage {
    let content = entry.content();
    let text = content.strip_suffix("\n</setting_lore>").and_then(|text| {
        let start = text.find("<setting_lore ")?;
        let (tag, body) = text[start..].split_once('\n')?;
        tag.ends_with('>').then(|| format!("{}{body}", &text[..start]))
    });
    match text {
        Some(text) => entry.with_content(&text),
        None => entry,
    }
}

fn of<'a>(found: &'a mut Vec<Noted>, book: &str) -> &'a mut Noted {
    let place = found.iter().position(|noted| noted.book == book).unwrap_or_else(|| {
        found.push(Noted { book: book.to_owned(), entries: Vec::new(), remembered: Vec::new() });
        found.len() - 1
    });
    &mut found[place]
}
