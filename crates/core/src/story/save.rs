//! [`touches`]: what a save did to the messages of a chat, one [`Touch`] a message.

use forklore_json::Raw;
use schemars::JsonSchema;
use serde::Serialize;

use super::{MessageId, Shift, identify};
use crate::adapter;
use crate::format::chat::Message;

/// What a save did to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Touch {
    /// It is new.
    Added,
    /// Its text is another.
    Edited,
    /// Another swipe of it is shown.
    Swiped,
    /// It is gone.
    Deleted,
    /// It is hidden from the model now.
    Hidden,
    /// It is no longer hidden from the model.
    Shown,
    /// A scene ends with it now, or that scene's recap is another.
    Recapped,
    /// Something was noted in it that is not part of the story: by an extension, mostly.
    Noted,
}

/// A message as a save has it.
#[derive(Debug, Clone, Copy)]
pub struct SavedMessage<'a> {
    /// Its number
    pub number: usize,
    /// Its identity
    pub id: MessageId,
    /// Its line
    pub message: Message<'a>,
}

impl<'a> SavedMessage<'a> {
    /// Looks at a message.
    pub fn new(number: usize, message: Message<'a>) -> Self {
        Self { number, id: identify(message).2, message }
    }
}

/// What happened between two stretches of a chat in two saves, each with the number that the message has after it; before it, if it
/// is gone. `akin` says that something before or after the stretches is the same in both.
pub fn touches(before: &[SavedMessage<'_>], after: &[SavedMessage<'_>], akin: bool) -> Vec<(Touch, usize)> {
    // Where something else is the same, an unknown message is known by its place.
    let anchor = akin.then_some(ANCHOR);
    let ids = |messages: &[SavedMessage<'_>]| -> Vec<MessageId> {
        anchor.into_iter().chain(messages.iter().map(|message| message.id)).collect()
    };
    let shift = Shift::between(&ids(before), &ids(after));
    let skip = usize::from(akin);
    let (mut old, mut new) = (vec![false; before.len()], vec![false; after.len()]);
    let mut found = Vec::new();
    for (i, j) in shift.pairs() {
        let Some((i, j)) = i.checked_sub(skip).zip(j.checked_sub(skip)) else { continue };
        (old[i], new[j]) = (true, true);
        found.extend(touched(&before[i], &after[j]).into_iter().map(|touch| (touch, after[j].number)));
    }
    let gone = before.iter().zip(old).filter(|(_, kept)| !kept);
    found.extend(gone.map(|(message, _)| (Touch::Deleted, message.number)));
    let fresh = after.iter().zip(new).filter(|(_, kept)| !kept);
    for (message, _) in fresh {
        found.push((Touch::Added, message.number));
    }
    found.sort_unstable();
    found
}

/// An identity that no message has: those are hashes.
const ANCHOR: MessageId = MessageId(0);

fn touched(before: &SavedMessage<'_>, after: &SavedMessage<'_>) -> Vec<Touch> {
    let (a, b) = (before.message, after.message);
    if a.raw().bytes() == b.raw().bytes() {
        return Vec::new();
    }
    let mut found = Vec::new();
    if before.id != after.id && a.text() != b.text() {
        let swipe = |message: Message<'_>| message.raw().get("swipe_id").and_then(Raw::as_i64).unwrap_or(0);
        found.push(if swipe(a) == swipe(b) { Touch::Edited } else { Touch::Swiped });
    }
    match (a.is_hidden(), b.is_hidden()) {
        (false, true) => found.push(Touch::Hidden),
        (true, false) => found.push(Touch::Shown),
        _ => {}
    }
    let scene = |message| adapter::scene(message).map(|(scene, _)| scene);
    let (was, is) = (scene(a), scene(b));
    if is.is_some() && was != is {
        found.push(Touch::Recapped);
    }
    if found.is_empty() && !a.raw().says_the_same(b.raw()) {
        found.push(Touch::Noted);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, more: &str) -> String {
        format!("{{\"name\":\"Ana\",\"is_user\":false,\"send_date\":\"{text}\",\"mes\":\"{text}\"{more}}}")
    }

    fn read(lines: &[String]) -> Vec<SavedMessage<'_>> {
        lines
            .iter()
            .enumerate()
            .map(|(n, line)| SavedMessage::new(n, Message::parse(line.as_bytes()).unwrap()))
            .collect()
    }

    fn plain(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| line(text, "")).collect()
    }

    #[test]
    fn messages_come_change_and_go() {
        let before = plain(&["a", "b", "c", "d"]);
        let after = plain(&["a", "B", "d", "e"]);
        let found = touches(&read(&before), &read(&after), false);
        assert_eq!(found, [(Touch::Added, 3), (Touch::Edited, 1), (Touch::Deleted, 2)]);
    }

    #[test]
    fn a_swipe_is_no_edit_and_a_note_is_neither() {
        let before = [line("a", ""), line("b", ",\"swipe_id\":0"), line("c", ""), line("d", "")];
        let after = [
            line("a", ",\"extra\":{\"x\":1}"),
            line("B", ",\"swipe_id\":1"),
            line("c", ",\"is_system\":true"),
            line("d", " "),
        ];
        let found = touches(&read(&before), &read(&after), false);
        assert_eq!(found, [(Touch::Swiped, 1), (Touch::Hidden, 2), (Touch::Noted, 0)]);
    }

    #[test]
    fn a_lone_message_is_known_by_its_place_only_in_a_chat_that_is_known() {
        let (before, after) = (plain(&["a", "b", "c"]), plain(&["x", "y", "z"]));
        let edited = [(Touch::Edited, 0), (Touch::Edited, 1), (Touch::Edited, 2)];
        assert_eq!(touches(&read(&before), &read(&after), true), edited);
        assert_eq!(touches(&read(&before), &read(&after), false).len(), 6);
    }
}
