//! MemoryBooks (STMB): each memory is an entry that carries the range of messages it was made from.
//!
//! | entry | story position |
//! |---|---|
//! | memory (`stmemorybooks`) | `STMB_end`, in the chat `STMB_chatId` |
//! | consolidation (`stmbSummary`, older `stmbArc`) | the furthest of its sources |
//! | side prompt (`… (STMB SidePrompt)` and older titles) | end of the scene of its last run |
//! | topical clip (`… [STMB Clip]`) | end of its last source |
//!
//! Numbers are message indexes from 0, inclusive. It has no queue on disk and no snapshots of books: entries that it rewrote
//! can be dated, their earlier texts are gone.

use std::collections::HashSet;

use forklore_json::Raw;

use super::places::{EVERY, Places};
use super::{Adapter, BookCopy, Mark};
use crate::format::book::EntryImage;
use crate::format::chat::Header;
use crate::format::revision::Revision;

/// The MemoryBooks adapter.
#[derive(Debug)]
pub struct MemoryBooks;

/// How titles of side prompts end, newest first.
const SIDE_PROMPTS: [&str; 4] =
    [" (STMB SidePrompt)", " (STMB Plotpoints)", " (STMB Scoreboard)", " (STMB Tracker)"];

/// Where a header names the book that the user has chosen for the chat's memories ("manual lorebook mode").
const MANUAL: [&str; 2] = ["STMemoryBooks", "manualLorebook"];

impl Adapter for MemoryBooks {
    fn name(&self) -> &'static str {
        "MemoryBooks"
    }

    fn wrote(&self, comment: &str, entry: Raw<'_>) -> bool {
        is_flagged(entry) || SIDE_PROMPTS.iter().any(|end| comment.ends_with(end))
    }

    fn touched(&self, comment: &str, entry: Raw<'_>) -> bool {
        let own = |key: &str| {
            key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("stmb"))
                || key.starts_with("disabledBy")
        };
        // A clip that somebody has given another name says what it is inside of this.
        self.wrote(comment, entry)
            || entry.get("data").is_some()
            || entry.members().any(|(key, _)| key.as_text().is_some_and(|key| own(&key)))
    }

    fn layers(&self, entry: &EntryImage, all: &[EntryImage]) -> Vec<(Option<Mark>, EntryImage)> {
        let made = mark(entry, all);
        // A run of a side prompt keeps the text that it replaced.
        let run = entry.raw().get("STMB_sidePromptRegeneration");
        let prior = run.and_then(|run| run.get("priorContent")).and_then(Raw::as_text);
        if let Some(prior) = prior.filter(|prior| !prior.trim().is_empty() && *prior != entry.content()) {
            let was = replaced(entry, made.as_ref(), all);
            return vec![(was, without_run(entry).with_content(&prior)), (made, entry.clone())];
        }
        match switched_off_by(entry) {
            // The switch goes with the summary: where that is left out, its sources are on.
            Some(summary) => vec![(made, switched_on(entry)), (summed_up(summary, all), entry.clone())],
            None => vec![(made, entry.clone())],
        }
    }

    fn subject(&self, entry: &EntryImage) -> Option<(i64, i64)> {
        let number = |key: &str| entry.raw().get(key).and_then(Raw::as_i64);
        number("STMB_start").zip(number("STMB_end"))
    }

    fn template(&self, entry: &EntryImage) -> Option<String> {
        let raw = entry.raw();
        let run = raw.at(&["STMB_sidePromptRegeneration", "templateKey"]).and_then(Raw::as_text);
        let noted = || {
            raw.members().find_map(|(key, _)| {
                let key = key.as_text()?;
                Some(key.strip_prefix("STMB_sp_")?.strip_suffix("_lastMsgId")?.to_owned())
            })
        };
        run.map(std::borrow::Cow::into_owned).filter(|key| !key.is_empty()).or_else(noted)
    }

    fn titled(&self, entry: &EntryImage) -> bool {
        self.number(entry).is_some() || SIDE_PROMPTS.iter().any(|end| entry.comment.ends_with(end))
    }

    fn number(&self, entry: &EntryImage) -> Option<u64> {
        // Memories are numbered, whatever the template of their titles; so are consolidations, by themselves.
        self.subject(entry)?;
        let from = entry.comment.find(|c: char| c.is_ascii_digit())?;
        let digits = &entry.comment[from..];
        digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
    }

    fn summed_up_by(&self, entry: &EntryImage) -> Option<i64> {
        switched_off_by(entry)
    }

    fn chat_of(&self, entry: &EntryImage) -> Option<String> {
        entry.raw().get("STMB_chatId").and_then(Raw::as_text).map(std::borrow::Cow::into_owned)
    }

    fn hand_over(&self, entry: &EntryImage, chat: &str) -> EntryImage {
        match entry.raw().get("STMB_chatId") {
            Some(_) => entry.with_field("STMB_chatId", Raw::trust(&forklore_json::quote(chat))),
            None => entry.clone(),
        }
    }

    fn without_mark(&self, entry: &EntryImage) -> EntryImage {
        without_run(entry)
    }

    fn taken_over(&self, entry: &EntryImage) -> EntryImage {
        // The extension takes the messages that a memory is about for summarised, and makes no memory of them.
        ["STMB_start", "STMB_end"].iter().fold(without_run(entry), |entry, key| entry.without_field(key))
    }

    fn reached(&self, header: Header<'_>) -> Option<i64> {
        header.metadata().at(&["STMemoryBooks", "highestMemoryProcessed"]).and_then(Raw::as_i64)
    }

    fn revisions(&self, metadata: Raw<'_>, entries: &[EntryImage], at: usize) -> Vec<Revision> {
        // A header of before the first memory has none.
        let notes = metadata.get("STMemoryBooks").unwrap_or(Raw::NULL);
        let number = |key: &str| notes.get(key).and_then(Raw::as_i64);
        // Which messages are in memories already: with a number from later the extension would wait until the story is there again.
        let known = entries.iter().filter_map(|entry| self.subject(entry)).map(|(_, end)| end).max();
        let mut revisions = Vec::new();
        let path = ["STMemoryBooks", "highestMemoryProcessed"];
        match known {
            Some(end) if number(path[1]) != Some(end) => {
                revisions.push(Revision::set(&path, end.to_string().into_bytes()));
            }
            None if number(path[1]).is_some() => revisions.push(Revision::without(&path)),
            _ => {}
        }
        // Marks of a scene that lies in the future keep the extension from making memories by itself.
        for key in ["sceneStart", "sceneEnd"] {
            let later = number(key).is_some_and(|message| usize::try_from(message).is_ok_and(|m| m > at));
            if later {
                revisions.push(Revision::set(&["STMemoryBooks", key], b"null".to_vec()));
            }
        }
        revisions
    }

    fn places(&self) -> Places {
        Places {
            memory_book: Some(&MANUAL),
            memory_switch: Some(&["STMemoryBooks", "moduleSettings", "manualModeEnabled"]),
            // Of a group's members, and of the cast of a narrator.
            more_books: &[
                &["STMemoryBooks", "manualCharacterLorebooks", EVERY],
                &["STMemoryBooks", "narratorMode", "members", EVERY, "lorebookName"],
            ],
            settings_books: &[&["STMemoryBooks", "characterMemoryBookLocks", EVERY, "lorebookName"]],
            entry_chats: &[
                &["STMB_chatId"],
                &["STMB_sidePromptRegeneration", "chatId"],
                &["data", "extensions", "aikobots", "topical_clip", "last_message_source", "chat_id"],
                &["STMB_clipReview", "chatId"],
            ],
            ..Places::default()
        }
    }

    fn copies(&self, header: Header<'_>) -> Vec<BookCopy> {
        let note = header.metadata().at(&["STMemoryBooks", "branchLorebookCopies"]).unwrap_or(Raw::NULL);
        let time = note.get("completedAt").and_then(Raw::as_text);
        let time =
            time.and_then(|time| time.parse::<jiff::Timestamp>().ok()).map(jiff::Timestamp::as_millisecond);
        let Some(time) = time else { return Vec::new() };
        let text =
            |raw: Raw<'_>, key: &str| raw.get(key).and_then(Raw::as_text).map(std::borrow::Cow::into_owned);
        let parent = text(note, "parentChatId").unwrap_or_default();
        let chat = text(note, "branchChatId").unwrap_or_default();
        let copy = |mapping: Raw<'_>| {
            let (copy, source) = text(mapping, "copyName").zip(text(mapping, "sourceName"))?;
            Some(BookCopy { copy, source, chat: chat.clone(), parent: parent.clone(), time })
        };
        note.get("mappings").unwrap_or(Raw::NULL).elements().filter_map(copy).collect()
    }
}

/// Where the text was written that a run of a side prompt has replaced, at the latest.
///
/// A run begins where the one before it ended; nothing is run on the greeting alone, so what begins at the first message does because
/// somebody said so. A run with a memory leaves what a run of another kind has noted, and replaces what was written with the memory before:
/// in a book that several chats use, that can be another chat's.
fn replaced(entry: &EntryImage, run: Option<&Mark>, all: &[EntryImage]) -> Option<Mark> {
    let run = run?;
    let start = entry.raw().at(&["STMB_sidePromptRegeneration", "sceneStart"]).and_then(Raw::as_i64)?;
    let before = start.checked_sub(1).and_then(|message| usize::try_from(message).ok());
    let noted = last_run(entry.raw());
    let at = |message: Option<usize>| {
        let message = message.filter(|message| (1..run.message).contains(message))?;
        Some(Mark { message, by_then: true, ..run.clone() })
    };
    if noted == Some(run.message) {
        return at(before);
    }
    let memories = || all.iter().filter_map(|entry| Some((MemoryBooks.number(entry)?, mark(entry, all)?)));
    let own = memories().filter(|(_, mark)| mark == run).map(|(number, _)| number).max();
    let earlier = own.and_then(|own| memories().filter(|(number, _)| *number < own).max_by_key(|(n, _)| *n));
    match earlier {
        Some((_, made)) if made.chat == run.chat => at(Some(made.message).max(noted)),
        Some((_, made)) => noted.is_none().then_some(Mark { by_then: true, ..made }),
        None if memories().all(|(_, made)| made.chat == run.chat) => at(before.max(noted)),
        None => None,
    }
}

/// The last message of the last run of a side prompt that was not made with a memory.
fn last_run(raw: Raw<'_>) -> Option<usize> {
    let noted = raw.members().filter_map(|(key, value)| {
        let key = key.as_text()?;
        let counts = key.starts_with("STMB_") && key.ends_with("_lastMsgId");
        counts.then(|| value.as_i64().and_then(|n| usize::try_from(n).ok()))?
    });
    noted.max()
}

/// The summary that switched an entry off.
fn switched_off_by(entry: &EntryImage) -> Option<i64> {
    let raw = entry.raw();
    let by = raw.get("disabledBySummaryId").or_else(|| raw.get("disabledByArcId"))?;
    by.as_i64().or_else(|| by.as_text()?.parse().ok()).filter(|_| entry.is_disabled())
}

/// Where a summary belongs that has switched entries off. One that was deleted is still told of by them; its number may be another entry's by now.
fn summed_up(uid: i64, all: &[EntryImage]) -> Option<Mark> {
    if let Some(summary) = all.iter().find(|other| other.uid == Some(uid) && is_summary(other.raw())) {
        return mark(summary, all);
    }
    let switched = all.iter().filter(|entry| switched_off_by(entry) == Some(uid));
    switched.filter_map(|entry| mark(entry, all)).max_by_key(|mark| mark.message)
}

/// Whether an entry sums up others.
fn is_summary(raw: Raw<'_>) -> bool {
    ["stmbSummary", "stmbArc"].iter().any(|key| raw.get(key).is_some_and(Raw::is_truthy))
}

/// An entry before a summary switched it off.
fn switched_on(entry: &EntryImage) -> EntryImage {
    let on = entry.with_field("disable", Raw::trust(b"false"));
    on.without_field("disabledBySummaryId").without_field("disabledByArcId")
}

/// An entry without what it says of its last run.
fn without_run(entry: &EntryImage) -> EntryImage {
    let of_run = |key: &str| {
        key == "STMB_sidePromptRegeneration"
            || (key.starts_with("STMB_") && (key.ends_with("_lastMsgId") || key.ends_with("_lastRunAt")))
    };
    let keys = entry.raw().members().filter_map(|(key, _)| key.as_text().map(std::borrow::Cow::into_owned));
    let keys: Vec<String> = keys.filter(|key| of_run(key)).collect();
    keys.iter().fold(entry.clone(), |entry, key| entry.without_field(key))
}

fn is_flagged(raw: Raw<'_>) -> bool {
    raw.get("stmemorybooks").is_some_and(Raw::is_truthy)
}

/// The mark of one entry; a consolidation asks its sources, which can be consolidations themselves.
fn mark(entry: &EntryImage, all: &[EntryImage]) -> Option<Mark> {
    let raw = entry.raw();
    let message = |path: &[&str]| raw.at(path).and_then(Raw::as_i64).and_then(|n| usize::try_from(n).ok());
    let chat = |path: &[&str]| {
        let name = raw.at(path).and_then(Raw::as_text)?;
        (!name.is_empty() && name != "unknown").then(|| name.into_owned())
    };
    if let Some(end) = message(&["STMB_end"]) {
        return Some(Mark::new(chat(&["STMB_chatId"]), end));
    }
    if is_summary(raw) {
        let sources = leaves(entry, all);
        let furthest = sources.iter().max_by_key(|mark| mark.message).cloned()?;
        return Some(Mark { sources, ..furthest });
    }
    if let Some(end) = message(&["STMB_sidePromptRegeneration", "sceneEnd"]) {
        return Some(Mark::new(chat(&["STMB_sidePromptRegeneration", "chatId"]), end));
    }
    if let Some(end) = last_run(raw) {
        return Some(Mark::new(None, end));
    }
    let clip = ["data", "extensions", "aikobots", "topical_clip", "last_message_source"];
    let clip_path = |key: &'static str| -> Vec<&str> { clip.iter().copied().chain([key]).collect() };
    if let Some(end) = message(&clip_path("end")) {
        return Some(Mark::new(chat(&clip_path("chat_id")), end));
    }
    message(&["STMB_clipReview", "sceneEnd"]).map(|end| Mark::new(chat(&["STMB_clipReview", "chatId"]), end))
}

/// Where everything was made that a consolidation sums up, also by way of others. Files can hold rings of them.
fn leaves(summary: &EntryImage, all: &[EntryImage]) -> Vec<Mark> {
    let mut found: Vec<Mark> = Vec::new();
    let (mut open, mut seen) = (vec![summary], HashSet::from([summary.uid]));
    while let Some(entry) = open.pop() {
        for source in sources(entry, all).filter(|source| seen.insert(source.uid)) {
            let ends = source.raw().get("STMB_end").is_some_and(|end| end.as_i64().is_some());
            match is_summary(source.raw()) && !ends {
                true => open.push(source),
                false => found.extend(mark(source, all)),
            }
        }
    }
    found
}

/// The entries that a consolidation was made from: those it names, else those that it switched off.
fn sources<'a>(summary: &'a EntryImage, all: &'a [EntryImage]) -> impl Iterator<Item = &'a EntryImage> {
    let named: Vec<i64> = summary
        .raw()
        .get("stmbSourceEntryUids")
        .unwrap_or(Raw::NULL)
        .elements()
        .filter_map(|uid| uid.as_i64().or_else(|| uid.as_text()?.parse().ok()))
        .collect();
    all.iter().filter(move |entry| {
        let raw = entry.raw();
        if !named.is_empty() {
            // The number of a source that was deleted is given again: what is no memory was none.
            let is_memory = is_flagged(raw) || raw.get("STMB_end").is_some();
            return is_memory && entry.uid.is_some_and(|uid| named.contains(&uid));
        }
        let by = raw.get("disabledBySummaryId").or_else(|| raw.get("disabledByArcId"));
        let by = by.and_then(|uid| uid.as_i64().or_else(|| uid.as_text()?.parse().ok()));
        by.is_some() && by == summary.uid
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::book::Book;

    fn images(text: &str) -> Vec<EntryImage> {
        Book::parse(text.as_bytes()).unwrap().images()
    }

    fn marks(entries: &[EntryImage]) -> Vec<Option<Mark>> {
        let made = |entry| MemoryBooks.layers(entry, entries).into_iter().map(|(mark, _)| mark).next();
        let alone = |mark: Mark| Mark { sources: Vec::new(), ..mark };
        entries.iter().map(|entry| made(entry).flatten().map(alone)).collect()
    }

    #[test]
    fn dates_every_kind_of_entry() {
        let entries = images(
            r#"{"entries":{
            "0":{"uid":0,"comment":"001 - Dawn","stmemorybooks":true,"STMB_start":0,"STMB_end":9,"STMB_chatId":"Ana"},
            "1":{"uid":1,"comment":"002 - Noon","stmemorybooks":true,"STMB_start":10,"STMB_end":19,"STMB_chatId":"unknown","disabledByArcId":4},
            "2":{"uid":2,"comment":"[ARC 001] - Day","stmemorybooks":true,"stmbSummary":true,"stmbSourceEntryUids":["0","1"]},
            "3":{"uid":3,"comment":"Mood (STMB SidePrompt)","STMB_sp_mood_lastMsgId":22,"STMB_tracker_lastMsgId":21},
            "4":{"uid":4,"comment":"[ARC 002]","stmemorybooks":true,"stmbArc":true},
            "5":{"uid":5,"comment":"by hand"}}}"#,
        );
        let at = |chat: Option<&str>, message| Some(Mark::new(chat.map(str::to_owned), message));
        let expected = [at(Some("Ana"), 9), at(None, 19), at(None, 19), at(None, 22), at(None, 19), None];
        assert_eq!(marks(&entries), expected);
    }

    /// A note has the number of the summary that was deleted: it has switched nothing off.
    #[test]
    fn regression_a_summary_that_is_gone_is_told_of_by_what_it_switched_off() {
        let entries = images(
            r#"{"entries":{
            "0":{"uid":0,"comment":"001 - Dawn","stmemorybooks":true,"STMB_start":0,"STMB_end":9,"disable":true,"disabledBySummaryId":2},
            "1":{"uid":1,"comment":"002 - Noon","stmemorybooks":true,"STMB_start":10,"STMB_end":19,"disable":true,"disabledBySummaryId":2},
            "2":{"uid":2,"comment":"by hand"}}}"#,
        );
        let dawn: Vec<(Option<usize>, bool)> = MemoryBooks
            .layers(&entries[0], &entries)
            .into_iter()
            .map(|(mark, entry)| (mark.map(|mark| mark.message), entry.is_disabled()))
            .collect();
        assert_eq!(dawn, [(Some(9), false), (Some(19), true)]);
    }

    /// Every one names all: the ways through them are more than anybody can go.
    #[test]
    fn regression_summaries_that_sum_each_other_up_end() {
        let uids: Vec<String> = (0..13).map(|uid| format!("\"{uid}\"")).collect();
        let summary = |uid: usize| {
            let sources = uids.join(",");
            format!(
                r#""{uid}":{{"uid":{uid},"stmemorybooks":true,"stmbSummary":true,"stmbSourceEntryUids":[{sources}]}}"#
            )
        };
        let memory = r#""12":{"uid":12,"stmemorybooks":true,"STMB_start":0,"STMB_end":9}"#.to_owned();
        let entries: Vec<String> = (0..12).map(summary).chain([memory]).collect();
        let entries = images(&format!("{{\"entries\":{{{}}}}}", entries.join(",")));
        assert_eq!(marks(&entries), vec![Some(Mark::new(None, 9)); 13]);
    }

    #[test]
    fn a_ring_of_sources_ends() {
        let entries = images(r#"{"entries":{"0":{"uid":0,"stmbSummary":true,"stmbSourceEntryUids":["0"]}}}"#);
        assert_eq!(marks(&entries), [None]);
    }
}
