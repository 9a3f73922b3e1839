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

use forklore_json::Raw;

use super::{Adapter, Mark};
use crate::format::book::{Book, EntryImage};

/// The MemoryBooks adapter.
#[derive(Debug)]
pub struct MemoryBooks;

/// How titles of side prompts end, newest first.
const SIDE_PROMPTS: [&str; 4] =
    [" (STMB SidePrompt)", " (STMB Plotpoints)", " (STMB Scoreboard)", " (STMB Tracker)"];

impl Adapter for MemoryBooks {
    fn name(&self) -> &'static str {
        "MemoryBooks"
    }

    fn keeps(&self, book: &Book<'_>) -> bool {
        book.entries().iter().any(|entry| {
            is_flagged(entry.raw) || SIDE_PROMPTS.iter().any(|end| entry.comment().ends_with(end))
        })
    }

    fn marks(&self, entries: &[EntryImage]) -> Vec<Option<Mark>> {
        entries.iter().map(|entry| mark(entry, entries, 0)).collect()
    }
}

fn is_flagged(raw: Raw<'_>) -> bool {
    raw.get("stmemorybooks").is_some_and(Raw::is_truthy)
}

/// The mark of one entry; a consolidation asks its sources, which can be consolidations themselves.
fn mark(entry: &EntryImage, all: &[EntryImage], depth: usize) -> Option<Mark> {
    let raw = entry.raw();
    let message = |path: &[&str]| raw.at(path).and_then(Raw::as_i64).and_then(|n| usize::try_from(n).ok());
    let chat = |path: &[&str]| {
        let name = raw.at(path).and_then(Raw::as_text)?;
        (!name.is_empty() && name != "unknown").then(|| name.into_owned())
    };
    if let Some(end) = message(&["STMB_end"]) {
        return Some(Mark { chat: chat(&["STMB_chatId"]), message: end });
    }
    let is_summary = ["stmbSummary", "stmbArc"].iter().any(|key| raw.get(key).is_some_and(Raw::is_truthy));
    if is_summary {
        // Tiers go to six; a deeper chain can only be a ring.
        return (depth < 8).then(|| {
            sources(entry, all).filter_map(|s| mark(s, all, depth + 1)).max_by_key(|m| m.message)
        })?;
    }
    if let Some(end) = message(&["STMB_sidePromptRegeneration", "sceneEnd"]) {
        return Some(Mark { chat: chat(&["STMB_sidePromptRegeneration", "chatId"]), message: end });
    }
    let last_run = raw.members().filter_map(|(key, value)| {
        let key = key.as_text()?;
        let counts = key.starts_with("STMB_") && key.ends_with("_lastMsgId");
        counts.then(|| value.as_i64().and_then(|n| usize::try_from(n).ok()))?
    });
    if let Some(end) = last_run.max() {
        return Some(Mark { chat: None, message: end });
    }
    let clip = ["data", "extensions", "aikobots", "topical_clip", "last_message_source"];
    let clip_path = |key: &'static str| -> Vec<&str> { clip.iter().copied().chain([key]).collect() };
    if let Some(end) = message(&clip_path("end")) {
        return Some(Mark { chat: chat(&clip_path("chat_id")), message: end });
    }
    message(&["STMB_clipReview", "sceneEnd"])
        .map(|end| Mark { chat: chat(&["STMB_clipReview", "chatId"]), message: end })
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
        if !named.is_empty() {
            return entry.uid.is_some_and(|uid| named.contains(&uid));
        }
        let raw = entry.raw();
        let by = raw.get("disabledBySummaryId").or_else(|| raw.get("disabledByArcId"));
        let by = by.and_then(|uid| uid.as_i64().or_else(|| uid.as_text()?.parse().ok()));
        by.is_some() && by == summary.uid
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(text: &str) -> Vec<EntryImage> {
        Book::parse(text.as_bytes()).unwrap().images()
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
        let at = |chat: Option<&str>, message| Some(Mark { chat: chat.map(str::to_owned), message });
        let expected = [at(Some("Ana"), 9), at(None, 19), at(None, 19), at(None, 22), at(None, 19), None];
        assert_eq!(MemoryBooks.marks(&entries), expected);
    }

    #[test]
    fn a_ring_of_sources_ends() {
        let entries = images(r#"{"entries":{"0":{"uid":0,"stmbSummary":true,"stmbSourceEntryUids":["0"]}}}"#);
        assert_eq!(MemoryBooks.marks(&entries), [None]);
    }
}
