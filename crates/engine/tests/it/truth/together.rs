//! Branches that are brought together: their own past stays what it was, and the new chat has the past of the one that goes on.
//!
//! What the state is at messages that were played elsewhere is a decision: what the chat knew when they were put behind it. Messages
//! follow, not what was learnt from them.

use std::collections::BTreeMap;
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
use super::{About, Wrong, judge, law, library, look, state, states, worse};

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

/// What the book of a chat says.
fn written(library: &Library, chat: &str) -> Book {
    let chat = library.find_chat(chat).unwrap();
    let end = library.chat(chat).transcript().len() - 1;
    let entries = library.book_at(chat, end, Wanted::default()).unwrap().entries;
    without_queue(entries.into_iter().map(|e| (e.image.comment.to_string(), e.image.content().into_owned())))
}

/// What is, or is not, among what follows, though the past and the book agree on something else. Where they differ the book may count:
/// what a hand did to a shared one while another chat was played is known from the next message on.
fn strange(now: &Book, past: &Book, book: &Book) -> Vec<(String, String)> {
    let all: Book = now.iter().chain(past).chain(book).cloned().collect();
    let told = |entry: &(String, String)| {
        let is = now.contains(entry);
        is != past.contains(entry) && is != book.contains(entry)
    };
    all.into_iter().filter(told).collect()
}

/// What is not right before a message of a chat that goes on, as another chat shows it.
fn wrong_before(
    library: &Library,
    truth: &Truth,
    (c, messages): (usize, usize),
    made: &str,
) -> BTreeMap<usize, String> {
    let told = |at: usize| {
        let (mut missing, mut extra) =
            truth.at(c, at).judge(&state(library, made, at).unwrap_or_default())?;
        missing.retain(|entry| About::Facts.is(entry));
        extra.retain(|entry| About::Facts.is(entry));
        let right = missing.is_empty() && extra.is_empty();
        (!right).then(|| (at, format!("missing {missing:?}, extra {extra:?}")))
    };
    (0..messages - 1).filter_map(told).collect()
}

/// Each chat with the next one, and all of it undone again. The new chat has the past of the one that goes on, as right as a branch has it;
/// messages that follow change nothing; and nobody else's past changes.
fn brought(story: &Story, recorded: bool, verb: Verb<'_>) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let before = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    let mut wrong = Vec::new();
    let chats = truth.chats();
    for ((c, chat, address, messages), (_, _, other, _)) in chats.iter().zip(chats.iter().cycle().skip(1)) {
        if address == other {
            continue;
        }
        let was = files(&fs);
        let mut say = |at: usize, text: String| {
            wrong.push(Wrong {
                chat: *chat,
                at,
                missing: vec![format!("with {other}: {text}")],
                extra: Vec::new(),
            });
        };
        let alone = branch(&fs, address, truth.clock()).and_then(|made| {
            let told = wrong_before(&library(&fs), &truth, (*c, *messages), &made);
            undo_last(&fs, truth.clock()).map(|()| told)
        });
        let (alone, made) = match (alone, verb(&fs, address, other, truth.clock())) {
            (Ok(alone), Ok(Some(made))) => (alone, made),
            (_, Ok(None)) => continue,
            (Err(e), _) | (_, Err(e)) => {
                say(0, format!("refused: {e}"));
                continue;
            }
        };
        // As the command does, if history is kept.
        if recorded {
            look(&fs, truth.clock());
        }
        let here = library(&fs);
        let told = wrong_before(&here, &truth, (*c, *messages), &made);
        told.into_iter().filter(|(at, _)| !alone.contains_key(at)).for_each(|(at, text)| say(at, text));
        let end = here.chat(here.find_chat(&made).unwrap()).transcript().len();
        let past = past(&here, &made, end - 1).unwrap_or_default();
        // At its end the book is what it is: an extension may have made it without something that its line had earned.
        let following = past.iter().enumerate().take(end - 1).skip(*messages);
        let given = written(&here, &made);
        for (at, now) in following {
            if *now != past[*messages] {
                say(at, format!("it changes among what follows: {:?}", differ(&past[*messages], now)));
            }
            let strange = strange(now, &past[messages - 1], &given);
            if !strange.is_empty() {
                say(at, format!("something else follows: {strange:?}"));
            }
        }
        // Nor does a branch of it take what was played elsewhere for its own.
        if end > *messages {
            let next = branch(&fs, &made, truth.clock());
            let again = next.and_then(|next| self::past(&library(&fs), &next, end - 1));
            match again.and_then(|again| undo_last(&fs, truth.clock()).map(|()| again)) {
                Ok(again) => {
                    for at in *messages..end - 1 {
                        let mut other = strange(&again[at], &past[at], &given);
                        other.retain(|(title, _)| About::Facts.is(title));
                        if !other.is_empty() {
                            say(at, format!("a branch of it knows something else: {other:?}"));
                        }
                    }
                }
                Err(e) => say(end, format!("branch of it: {e}")),
            }
        }
        let theirs = worse(&before, judge(&truth, &states(&here, &truth), About::Facts));
        if let Err(e) = undo_last(&fs, truth.clock()) {
            say(0, format!("undo: {e}"));
        }
        if recorded {
            look(&fs, truth.clock());
        }
        let left = changed(&was, &files(&fs));
        if !left.is_empty() {
            say(0, format!("undo leaves {left:?}"));
        }
        wrong.extend(theirs);
    }
    (truth, wrong)
}

const KINDS: [(Keeper, bool); 4] =
    [(Keeper::Recap, false), (Keeper::Recap, true), (Keeper::Memory, true), (Keeper::Hand, true)];

#[test]
fn messages_follow_and_what_was_learnt_from_them_does_not() {
    for kind in KINDS {
        law("appended", kind, &|story| brought(story, kind.1, &append));
    }
}

#[test]
fn what_is_brought_along_is_known_from_then_on() {
    for kind in KINDS {
        law("learnt", kind, &|story| brought(story, kind.1, &learn));
    }
}
