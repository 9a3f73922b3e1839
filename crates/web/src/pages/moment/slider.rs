//! The slider: where one is on the line, and where one can go from there.

use std::collections::HashSet;

use forklore_engine::line::{Line, Mark, MarkKind};
use maud::{Markup, html};

use crate::{link, words};

/// So many scenes and forks are listed.
const LISTED: usize = 400;

pub(super) fn steps(line: &Line, at: usize) -> [Option<usize>; 4] {
    let back = line.marks.iter().rev().map(|mark| mark.message).find(|message| *message < at);
    let ahead = line.marks.iter().map(|mark| mark.message).find(|message| *message > at);
    let last = line.messages.saturating_sub(1);
    [at.checked_sub(1), (at < last).then_some(at + 1), back, ahead]
}

pub(super) fn slider(line: &Line, at: usize, said: &str) -> Markup {
    let last = line.messages.saturating_sub(1);
    let [back, next, mark_back, mark_next] = steps(line, at);
    let button = |name: &str, to: Option<usize>, sign: &str, text: &str| {
        let address = to.map(|to| link::step(&line.chat, to, at));
        html! {
            a.button.step data-step=(name) href=[address] aria-disabled=[to.is_none().then_some("true")] role=[to.is_none().then_some("link")] title=(text) {
                span aria-hidden="true" { (sign) } span.unseen { (text) }
            }
        }
    };
    html! {
        section.slider aria-label="Travel along the line" data-chat=(line.chat) data-last=(last) {
            form method="get" action="moment" {
                input type="hidden" name="chat" value=(line.chat);
                input type="hidden" name="from" value=(at);
                div.track {
                    (button("mark-back", mark_back, "⇤", "Back to the last scene or fork"))
                    (button("back", back, "‹", "One message back"))
                    div.rail {
                        div.ticking data-part="ticks" { (ticks(line)) }
                        input type="range" name="at" min="0" max=(last) step="1" value=(at) aria-label="Message" aria-valuetext={ "message " (at) " of 0 to " (last) } autocomplete="off";
                    }
                    (button("next", next, "›", "One message ahead"))
                    (button("mark-next", mark_next, "⇥", "Ahead to the next scene or fork"))
                }
                div.reading {
                    strong { "Message " output { (at) } }
                    span.quiet { "of 0 to " span.last { (last) } }
                    button type="submit" { "Go there" }
                    p #said role="status" aria-live="polite" { (said) }
                }
            }
        }
    }
}

/// Scenes and forks, where they are.
pub(super) fn ticks(line: &Line) -> Markup {
    let last = line.messages.saturating_sub(1).max(1);
    let mut drawn = HashSet::new();
    // A thousandth of the line is less than a pixel.
    let ticks: Vec<(&Mark, usize)> = line
        .marks
        .iter()
        .map(|mark| (mark, mark.message * 1000 / last))
        .filter(|(mark, x)| drawn.insert((mark.kind as u8, *x)))
        .collect();
    html! {
        svg.ticks aria-hidden="true" focusable="false" height="16" {
            @for (mark, x) in ticks {
                @let x = format!("{}.{}%", x / 10, x % 10);
                @match mark.kind {
                    MarkKind::Scene => line.scene x1=(x) x2=(x) y1="7" y2="16" {},
                    MarkKind::Branch => circle.branch cx=(x) cy="6" r="3.6" {},
                    MarkKind::Checkpoint => svg.checkpoint x=(x) overflow="visible" { path d="M0 16V1l8 3.200-8 3.200" {} },
                    MarkKind::Origin => svg.origin x=(x) overflow="visible" { path d="M-4 2h8L0 9z" {} },
                }
            }
        }
    }
}

pub(super) fn listed(line: &Line, at: usize) -> Markup {
    if line.marks.is_empty() {
        return html! {};
    }
    let word = |mark: &Mark| match mark.kind {
        MarkKind::Scene => "scene",
        MarkKind::Branch => "branch",
        MarkKind::Checkpoint => "checkpoint",
        MarkKind::Origin => "forked from",
    };
    html! {
        details.marks {
            summary { "Scenes and forks" span.quiet { " " (words::number(line.marks.len())) } }
            ol {
                @for mark in line.marks.iter().take(LISTED) {
                    li class=(word(mark).split(' ').next().unwrap_or_default()) {
                        a data-at=(mark.message) href=(link::step(&line.chat, mark.message, at)) { span.unseen { "Message " } (mark.message) }
                        " " span.kind { (word(mark)) } " "
                        @match (&mark.chat, &mark.name) {
                            (Some(chat), Some(name)) => a href=(link::moment(chat, Some(mark.message))) { bdi { (super::other_name(line, name)) } },
                            (_, Some(name)) => bdi { (name) },
                            _ => span.quiet { "without a name" },
                        }
                    }
                }
                @if line.marks.len() > LISTED { li { "… and " (words::number(line.marks.len() - LISTED)) " more; the tree shows them all." } }
            }
        }
    }
}
