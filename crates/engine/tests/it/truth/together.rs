//! Branches that are brought together: their own past stays what it was, and the new chat has the past of the one that goes on.
//!
//! What the state is at messages that were played elsewhere is a decision: what the chat knew when they were put behind it. Messages
//! follow, not what was learnt from them.

use std::sync::Arc;

use forklore_config::Config;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{self, ForkRequest};
use forklore_engine::merge::{append, learn};
use forklore_fs::SimFs;
use forklore_testkit::play::{Keeper, Story, Truth};
use forklore_vault::Library;
use forklore_vault::state::at::Wanted;

use super::whole::{Book, changed, differ, files, undo_last, without_queue};
use super::{About, Wrong, judge, law, library, look, states, worse};

/// What brings two chats together. Gives the address of the new one, if there is one.
type Verb<'a> = &'a dyn Fn(&Arc<SimFs>, &str, &str, i64) -> Result<Option<String>, String>;

fn append(fs: &Arc<SimFs>, chat: &str, from: &str, now: i64) -> Result<Option<String>, String> {
    let library = library(fs);
    let request = append::AppendRequest {
        chat: chat.to_owned(),
        from: from.to_owned(),
        ignore_queue: true,
        ..append::AppendRequest::default()
    };
    let plan = match append::plan(&library, &request, &Config::default(), "slug of both", now) {
        Err(append::AppendError::NothingNew { .. }) => return Ok(None),
        plan => plan.map_err(|e| e.to_string())?,
    };
    Ok(Some(append::execute(&library, plan, now).map_err(|e| e.to_string())?.chat))
}

fn learn(fs: &Arc<SimFs>, chat: &str, from: &str, now: i64) -> Result<Option<String>, String> {
    let library = library(fs);
    let request = learn::LearnRequest {
        chat: chat.to_owned(),
        from: from.to_owned(),
        ignore_queue: true,
        ..learn::LearnRequest::default()
    };
    let plan = learn::plan(&library, &request, &Config::default(), "slug of both", now);
    let report = learn::execute(&library, plan.map_err(|e| e.to_string())?, now);
    Ok(report.map_err(|e| e.to_string())?.chat)
}

fn branch(fs: &Arc<SimFs>, chat: &str, now: i64) -> Result<String, String> {
    let library = library(fs);
    let request =
        ForkRequest { kind: Some(ForkKind::Branch), ignore_queue: true, ..ForkRequest::of(chat.to_owned()) };
    let plan = fork::plan(&library, &request, &Config::default(), "slug of both", now);
    let report = fork::execute(&library, plan.map_err(|e| e.to_string())?, now);
    Ok(report.map_err(|e| e.to_string())?.chat)
}

/// What evidence tells of the messages of a chat, up to one.
fn past(library: &Library, chat: &str, upto: usize) -> Result<Vec<Book>, String> {
    let chat = library.find_chat(chat).map_err(|e| e.to_string())?;
    let told = |at: usize| {
        let book = library.book_at(chat, at, Wanted { head: false, ..Wanted::default() });
        let entries = book.map_err(|e| e.to_string())?.entries.into_iter();
        Ok(without_queue(entries.map(|e| (e.image.comment.to_string(), e.image.content().into_owned()))))
    };
    (0..=upto).map(told).collect()
}

/// Each chat with the next one, and all of it undone again. What it was before, the new chat has as a branch would have it: without its last
/// message, where something came along.
fn brought(story: &Story, verb: Verb<'_>, last: Last) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let before = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    let mut wrong = Vec::new();
    let chats = truth.chats();
    for ((_, chat, address, messages), (_, _, other, _)) in chats.iter().zip(chats.iter().cycle().skip(1)) {
        if address == other {
            continue;
        }
        let was = files(&fs);
        let mut say = |at: usize, text: String| {
            wrong.push(Wrong { chat: *chat, at, missing: vec![text], extra: Vec::new() });
        };
        let upto = match last {
            Last::Same => Some(messages - 1),
            Last::More => messages.checked_sub(2),
        };
        let alone = branch(&fs, address, truth.clock()).and_then(|made| {
            let told = upto.map_or(Ok(Vec::new()), |upto| past(&library(&fs), &made, upto))?;
            undo_last(&fs, truth.clock())?;
            Ok(told)
        });
        let (alone, made) = match (alone, verb(&fs, address, other, truth.clock())) {
            (Ok(alone), Ok(Some(made))) => (alone, made),
            (_, Ok(None)) => continue,
            (Err(e), _) | (_, Err(e)) => {
                say(0, format!("refused: {e}"));
                continue;
            }
        };
        let here = library(&fs);
        let told = upto.map_or(Ok(Vec::new()), |upto| past(&here, &made, upto)).unwrap_or_default();
        for (at, alone) in alone.iter().enumerate() {
            let told = told.get(at).cloned().unwrap_or_default();
            if told != *alone {
                say(at, format!("with {other} it is not what a branch has: {:?}", differ(alone, &told)));
            }
        }
        // Messages that follow change nothing.
        let new = here.find_chat(&made).unwrap();
        let end = here.chat(new).transcript().len();
        for (at, now) in past(&here, &made, end - 1).unwrap_or_default().iter().enumerate().skip(*messages) {
            if alone.last().is_some_and(|then| then != now) {
                say(
                    at,
                    format!(
                        "with {other} something else follows: {:?}",
                        differ(&alone[alone.len() - 1], now)
                    ),
                );
            }
        }
        wrong.extend(worse(&before, judge(&truth, &states(&here, &truth), About::Facts)));
        let mut say = |at: usize, text: String| {
            wrong.push(Wrong { chat: *chat, at, missing: vec![text], extra: Vec::new() });
        };
        if let Err(e) = undo_last(&fs, truth.clock()) {
            say(0, format!("undo: {e}"));
        }
        let left = changed(&was, &files(&fs));
        if !left.is_empty() {
            say(0, format!("undo leaves {left:?}"));
        }
    }
    (truth, wrong)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Same,
    More,
}

const KINDS: [(Keeper, bool); 4] =
    [(Keeper::Recap, false), (Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true)];

#[test]
fn messages_follow_and_what_was_learnt_from_them_does_not() {
    for kind in KINDS {
        law("appended", kind, &|story| brought(story, &append, Last::Same));
    }
}

#[test]
fn what_is_brought_along_is_known_from_then_on() {
    for kind in KINDS {
        law("learnt", kind, &|story| brought(story, &learn, Last::More));
    }
}
