//! Branches that are brought together: their own past stays what it was, and the new chat has the past of the one that goes on.
//!
//! What the state is at messages that were played elsewhere is a decision: what the chat knew when they were put behind it. Messages
//! follow, not what was learnt from them.

use std::sync::Arc;

use forklore_config::Config;
use forklore_engine::merge::{append, learn};
use forklore_fs::SimFs;
use forklore_testkit::play::{Keeper, Story, Truth};

use super::whole::{changed, differ, files, shown, undo_last};
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

/// Each chat with the next one, and all of it undone again. `last` is what the new chat shows at the last message of the first one: what that
/// shows there, or more.
fn brought(story: &Story, verb: Verb<'_>, last: Last) -> (Truth, Vec<Wrong>) {
    let (fs, truth) = story.play(1, look);
    let before = judge(&truth, &states(&library(&fs), &truth), About::Facts);
    let mut wrong = Vec::new();
    let chats = truth.chats();
    for ((c, chat, address, messages), (_, _, other, _)) in chats.iter().zip(chats.iter().cycle().skip(1)) {
        let was = files(&fs);
        let told =
            |at: usize, text: String| Wrong { chat: *chat, at, missing: vec![text], extra: Vec::new() };
        let made = match verb(&fs, address, other, truth.clock()) {
            _ if address == other => continue,
            Ok(Some(made)) => made,
            Ok(None) => continue,
            Err(e) => {
                wrong.push(told(0, format!("refused: {e}")));
                continue;
            }
        };
        let here = library(&fs);
        wrong.extend(worse(&before, judge(&truth, &states(&here, &truth), About::Facts)));
        // Before, it has the past of the one that goes on.
        let is_right = |at: &usize| !before.iter().any(|w| w.chat == *chat && w.at == *at);
        for at in (0..messages - 1).filter(is_right) {
            let found = state(&here, &made, at).unwrap_or_default();
            let Some((mut missing, mut extra)) = truth.at(*c, at).judge(&found) else { continue };
            missing.retain(|entry| About::Facts.is(entry));
            extra.retain(|entry| About::Facts.is(entry));
            if !missing.is_empty() || !extra.is_empty() {
                wrong.push(told(at, format!("with {other}: missing {missing:?}, extra {extra:?}")));
            }
        }
        let (a, new) = (here.find_chat(address).unwrap(), here.find_chat(&made).unwrap());
        let at = messages - 1;
        let then = shown(&here, new, at).unwrap_or_default();
        let ours = shown(&here, a, at).unwrap_or_default();
        if last == Last::Same && then != ours {
            wrong.push(told(at, format!("with {other} it shows something else: {:?}", differ(&ours, &then))));
        }
        // Messages that follow change nothing.
        for at in *messages..here.chat(new).transcript().len() {
            let now = shown(&here, new, at).unwrap_or_default();
            if now != then {
                wrong.push(told(
                    at,
                    format!("with {other} something else follows: {:?}", differ(&then, &now)),
                ));
            }
        }
        if let Err(e) = undo_last(&fs, truth.clock()) {
            wrong.push(told(0, format!("undo: {e}")));
        }
        let left = changed(&was, &files(&fs));
        if !left.is_empty() {
            wrong.push(told(0, format!("undo leaves {left:?}")));
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
