//! The slider: where one is on the line, and where one can go from there.

use std::collections::HashSet;

use forklore_engine::line::{Line, Mark, MarkKind};
use maud::{Markup, html};

use crate::pages::parts::crop;
use crate::{link, words};

/// So many scenes and forks are listed.
const LISTED: usize = 150;

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
                        div.ticking data-part="ticks" { (above(line, at)) }
                        input type="range" name="at" min="0" max=(last) step="1" value=(at) aria-label="Message" aria-valuetext={ "message " (at) " of 0 to " (last) } autocomplete="off";
                    }
                    (button("next", next, "›", "One message ahead"))
                    (button("mark-next", mark_next, "⇥", "Ahead to the next scene or fork"))
                    button.step.play #play type="button" hidden aria-pressed="false" title="Play the story from here" { span aria-hidden="true" { "▶" } span.unseen { "Play" } }
                    select.pace #pace hidden aria-label="How fast it plays" {
                        option value="3000" { "slow" }
                        option value="1500" selected { "calm" }
                        option value="500" { "fast" }
                    }
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

/// How many letters of a name stand at the slider.
const LETTERS: usize = 17;
/// How far names stand from each other, in thousandths of the slider, and how far on a phone.
const APART: (usize, usize) = (150, 360);

/// Names of scenes and forks above the slider, where there is room for them. The list below the slider has all of them, for everybody.
fn named(line: &Line, at: usize) -> Markup {
    let last = line.messages.saturating_sub(1).max(1);
    let mut free = (0, 0);
    let mut names = Vec::new();
    for mark in &line.marks {
        let x = mark.message * 1000 / last;
        // Near the end there is room to the left alone.
        let left = x > 1000 - APART.1;
        let room = |apart: usize| if left { (x.saturating_sub(apart), x) } else { (x, x + apart) };
        let Some(name) = mark.name.as_deref().filter(|name| !name.trim().is_empty()) else { continue };
        if room(APART.0).0 < free.0 {
            continue;
        }
        free.0 = room(APART.0).1;
        let narrow = room(APART.1).0 >= free.1;
        if narrow {
            free.1 = room(APART.1).1;
        }
        let name = if mark.chat.is_some() { super::other_name(line, name) } else { name.to_owned() };
        names.push((mark.message, crop(&name, LETTERS), x, narrow, left));
    }
    html! {
        @if !names.is_empty() {
            svg.names aria-hidden="true" focusable="false" height="15" {
                @for (message, name, x, narrow, left) in names {
                    a.narrow[narrow] data-at=(message) href=(link::step(&line.chat, message, at)) tabindex="-1" {
                        text x={ (x / 10) "." (x % 10) "%" } y="11" text-anchor=[left.then_some("end")] { (name) }
                    }
                }
            }
        }
    }
}

/// Scenes and forks, where they are.
fn ticks(line: &Line) -> Markup {
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
                    MarkKind::Note => svg.note x=(x) overflow="visible" { path d="M0 1l1.800 3.700 4 .600-2.900 2.800.700 4L0 10.200l-3.600 1.900.700-4L-5.800 5.300l4-.600z" {} },
                    MarkKind::Origin => svg.origin x=(x) overflow="visible" { path d="M-4 2h8L0 9z" {} },
                }
            }
        }
    }
}

/// All that stands above the rail.
pub(super) fn above(line: &Line, at: usize) -> Markup {
    html! { (named(line, at)) (ticks(line)) }
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
        MarkKind::Note => "noted",
    };
    // Of very many, what people and scenes left goes before forks, which the tree shows, and near ones before far ones.
    let mut near: Vec<&Mark> = line.marks.iter().collect();
    near.sort_by_key(|mark| {
        (matches!(mark.kind, MarkKind::Branch | MarkKind::Checkpoint), mark.message.abs_diff(at))
    });
    near.truncate(LISTED);
    near.sort_by_key(|mark| mark.message);
    html! {
        details.marks {
            summary { "Scenes and forks" span.quiet { " " (words::number(line.marks.len())) } }
            ol {
                @for mark in near {
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
