//! The messages around a moment, and what can be done there.

use forklore_engine::line::{Line, LineMessage, MarkKind};
use forklore_engine::show::ShowReport;
use forklore_vault::StoryKind;
use maud::{Markup, html};

use crate::pages::{marks, parts as shared};
use crate::{link, words};

/// How much of a message is shown unfolded: of the one that the moment is at, and of others.
const FOLD: (usize, usize) = (2400, 420);

/// What one can do here.
pub(super) fn head(line: &Line, here: &ShowReport) -> Markup {
    let chat = &line.chat;
    let last = here.at + 1 == here.messages;
    // At its last message a fork is compared with its parent; anywhere else with its last message.
    let compared = link::compare(chat, (!last).then_some(here.at), None, None);
    html! {
        div.doing {
            a.button.main href=(link::act("branch", chat, Some(here.at))) { "Branch here" }
            a.button href=(link::act("checkpoint", chat, Some(here.at))) { "Checkpoint here" }
            a.button href=(compared) { "Compare with …" }
            a.button href=(link::bring(chat, None)) { "Bring along …" }
            a.button href=(link::tree_at(&link::story_name(line.story_kind, &line.folder), chat, here.at)) { "See the tree" }
            (shared::open_in_sillytavern(chat))
        }
    }
}

pub(super) fn transcript(window: &[LineMessage], here: &ShowReport, line: &Line) -> Markup {
    let first = window.first().map_or(0, |message| message.message);
    let end = window.last().map_or(0, |message| message.message + 1);
    html! {
        @if first > 0 { p.edge.before { (words::count(first, "message")) " before" } }
        @for message in window { (said_there(message, here, line)) }
        @if end < here.messages { p.edge { (words::count(here.messages - end, "message")) " after" } }
    }
}

/// The other answers that were given here, each of which a branch can go on from.
fn swipes(message: &LineMessage, chat: &str) -> Markup {
    html! {
        details.swipes {
            summary { (words::count(message.swipes.len(), "swipe")) }
            ol {
                @for (i, text) in message.swipes.iter().enumerate() {
                    li {
                        p.which {
                            span.badge { (i + 1) " of " (message.swipes.len()) }
                            @if message.swipe == Some(i) { span.badge { "shown" } }
                            @else { a href=(link::branch_of_swipe(chat, message.message, i)) { "Branch from this swipe" } }
                        }
                        (marks::speech(text, FOLD.1))
                    }
                }
            }
        }
    }
}

/// Who speaks, as a picture: the story's own for its character, a letter for everybody else.
fn face(message: &LineMessage, line: &Line) -> Markup {
    let own = line.story_kind == StoryKind::Character && !message.user && message.speaker == line.story;
    shared::face(&message.speaker, own.then(|| link::story_name(line.story_kind, &line.folder)).as_deref())
}

fn said_there(message: &LineMessage, here: &ShowReport, line: &Line) -> Markup {
    let n = message.message;
    let is_here = n == here.at;
    let marks = line.marks.iter().filter(|mark| mark.message == n);
    let later = n > here.at;
    html! {
        article.message.here[is_here].before[n < here.at].later[later].user[message.user].veiled[message.hidden] aria-current=[is_here.then_some("location")] {
            header {
                (face(message, line))
                a.number data-at=(n) href=(link::step(&line.chat, n, here.at)) { span.unseen { "Message " } (n) }
                strong { bdi { @if message.speaker.is_empty() { "?" } @else { (message.speaker) } } }
                @if is_here { span.badge { "you are here" } }
                @if later { span.badge { "later" } }
                @if message.hidden { span.badge title="Hidden from the model" { "hidden" } }
                @if message.swipes.len() > 1 && !is_here { a.badge data-at=(n) href=(link::step(&line.chat, n, here.at)) { (message.swipes.len()) " swipes" } }
            }
            (marks::speech(&message.text, if is_here { FOLD.0 } else { FOLD.1 }))
            @if message.swipes.len() > 1 && is_here { (swipes(message, &line.chat)) }
            @for mark in marks {
                p.at {
                    @match mark.kind {
                        MarkKind::Scene => { "A scene ends here" },
                        MarkKind::Branch => { "Branched here" },
                        MarkKind::Checkpoint => { "Checkpoint made here" },
                        MarkKind::Origin => { "Forked here from" },
                        MarkKind::Note => { "Noted here" },
                    }
                    @if let Some(name) = &mark.name {
                        ": "
                        @match &mark.chat { Some(chat) => a href=(link::moment(chat, Some(n))) { bdi { (super::other_name(line, name)) } }, None => bdi { (name) } }
                    }
                }
            }
        }
    }
}
