//! The drawing of a [`TreeDrawing`], as SVG. `tree.js` moves the same parts when the reader zooms or folds, by the same rules: whatever has
//! `data-m` stands at that message, and every row at the height that the rows above leave.

use forklore_core::check::{Code, Health};
use forklore_engine::tree::{TreeChat, TreeNote};
use maud::{Markup, html};

use super::plan::{Flag, Line, Row, TreeDrawing};
use crate::names::name_of;
use crate::pages::parts::crop;
use crate::{link, words};

/// Room to the left of the first message, above the first row, and behind the last message.
const LEFT: f64 = 18.0;
const TOP: f64 = 8.0;
const RIGHT: f64 = 410.0;
/// How wide the longest line is at first.
const ROOM: f64 = 800.0;
/// How far a line is rounded where it parts.
const ROUND: f64 = 11.0;
/// How far a flag is lifted that would stand behind the name of its line.
const LIFT: f64 = 16.0;
/// How wide a letter of a scene's name is, about.
const LETTER: f64 = 5.9;

/// A stem over more rows than this is faint where there are many: hundreds of them would be all that is seen.
const FAR: usize = 12;
/// Rows after so many are out of sight at first: a script shows them when they are not.
const LATER: usize = 120;
/// The mark of a scene's end.
const MARK: &str = "M0-5V5";
/// The mark of a star or a note.
pub(super) const STAR: &str =
    "M0-6L1.800-2 6-1.600 2.800 1.200 3.700 5.400 0 3.200-3.700 5.400-2.800 1.200-6-1.600-1.800-2z";

/// Sizes that depend on how much there is to draw.
struct Scale {
    /// Width of a message
    message: f64,
    /// Height of a row
    row: f64,
    /// Whether rows stand so close that there is no room for the names of scenes: whoever points at one is told
    dense: bool,
}

impl Scale {
    #[allow(clippy::cast_precision_loss, reason = "no chat is that long")]
    fn x(&self, message: usize) -> f64 {
        LEFT + message as f64 * self.message
    }

    #[allow(clippy::cast_precision_loss, reason = "no story has that many chats")]
    fn y(&self, row: usize) -> f64 {
        TOP + self.row * (row as f64 + 0.62)
    }
}

/// A number without more digits than can be seen.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn shift(x: f64, y: f64) -> String {
    format!("translate({} {})", px(x), px(y))
}

pub(super) fn draw(plan: &TreeDrawing<'_>) -> Markup {
    #[allow(clippy::cast_precision_loss, reason = "no chat is that long")]
    let message = (ROOM / plan.last.max(1) as f64).min(26.0);
    let scale = Scale { message, row: if plan.dense { 22.0 } else { 54.0 }, dense: plan.dense };
    let (width, height) = (scale.x(plan.last) + RIGHT, scale.y(plan.rows.len()));
    html! {
        svg #axis.axis width=(px(width)) height="24" aria-hidden="true" { (axis(plan.last, &scale)) }
        svg #trunk.trunk width=(px(width)) height="26" aria-hidden="true" hidden {}
        svg #tree class=[plan.dense.then_some("dense")] width=(px(width)) height=(px(height)) aria-hidden="true"
            data-left=(px(LEFT)) data-top=(px(TOP)) data-right=(px(RIGHT)) data-lift=(px(LIFT)) data-round=(px(ROUND)) data-letter=(LETTER)
            data-row=(px(scale.row)) data-scale=(message) data-last=(plan.last) {
            g.grid { (grid(plan.last, &scale, height)) }
            @for (i, row) in plan.rows.iter().enumerate() {
                (self::row(i, row, &plan.flags.iter().filter(|flag| flag.row == i).collect::<Vec<_>>(), &scale))
            }
            g.marks {}
            g.cursor hidden { circle r="6" {} }
        }
    }
}

/// Steps between messages that are good to read.
fn step(scale: &Scale) -> usize {
    let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    let wide = |step: &&usize| **step as f64 * scale.message >= 56.0;
    steps.iter().find(wide).copied().unwrap_or(1_000_000)
}

/// Numbers of messages: they stay in sight above the drawing.
fn axis(last: usize, scale: &Scale) -> Markup {
    html! {
        @for message in (0..=last).step_by(step(scale)) { text x=(px(scale.x(message))) y="16" { (message) } }
    }
}

/// A line down from each of those numbers.
fn grid(last: usize, scale: &Scale, height: f64) -> Markup {
    html! {
        @for message in (0..=last).step_by(step(scale)) { path d={ "M" (px(scale.x(message))) " 0V" (px(height)) } {} }
    }
}

fn row(i: usize, row: &Row<'_>, flags: &[&Flag<'_>], scale: &Scale) -> Markup {
    let (y, end) = (scale.y(i), scale.x(row.end));
    let start = row.from.map_or(LEFT, |from| scale.x(from));
    // A copy that has everything of its parent parts nowhere: it begins beside it.
    let stem = row.from.and(row.parent).map(|parent| {
        let (x, up) = (px(start), px(scale.y(parent) - y));
        format!("M{x} {up}V-{}Q{x} 0 {} 0", px(ROUND), px(start + ROUND))
    });
    let begin = if stem.is_some() { start + ROUND } else { start };
    let line = format!("M{} 0H{}", px(begin), px(end.max(begin + 4.0)));
    let label = if row.from.is_some() { start + ROUND + 5.0 } else { start };
    let own = row.from.map_or(0, |from| from + 1);
    let (class, name, chat) = match row.line {
        Line::Chat(chat) => (chat.kind, name_of(&chat.chat), Some(chat)),
        Line::Ghost(name) => ("ghost", name, None),
    };
    let from = row.from.or(row.parent.map(|_| 0));
    let (short, whole) = (crop(&row.name, 46), crop(name, 300));
    let played = chat.and_then(|chat| chat.changed.get(..10));
    let health = chat.map(|chat| chat.health.as_str()).filter(|health| *health != "ok");
    let scenes_here = chat.map_or(0, |chat| chat.scenes.iter().filter(|scene| **scene >= own).count());
    html! {
        g class={ "row c" (row.colour) " " (class) @if i >= LATER { " later" } @if row.latest { " latest" } @if chat.is_some_and(|chat| chat.open) { " open" } } data-health=[health] data-played=[played] data-scenes=[Some(scenes_here).filter(|n| *n > 0)] transform=(shift(0.0, y)) data-chat=[chat.map(|chat| &chat.chat)]
            data-parent=[row.parent] data-from=[from.filter(|_| row.from.is_some())] data-end=(row.end) data-below=[Some(row.below).filter(|n| *n > 0)] {
            @if let Some(stem) = &stem { path.stem.far[row.parent.is_some_and(|parent| i - parent > FAR)] d=(stem) {} }
            path.line d=(line) {}
            // Where it leads depends on where it is met: a script says it then, and without one there is the name.
            @if chat.is_some() { a.hit tabindex="-1" { path d=(line) {} } }
            @if row.from.is_some() && !scale.dense {
                circle.fork data-m=[row.from] transform=(shift(start, row.parent.map_or(0.0, |p| scale.y(p) - y))) r="3.4" {}
            } @else if row.from.is_none() {
                circle.start data-m="0" transform=(shift(start, 0.0)) r="4.5" {}
            }
            @if let Some(chat) = chat { (scenes(chat, own, flags, label + letters(&short) * 1.3 + 24.0, scale)) }
            @if let Some(chat) = chat { @for note in &chat.notes { (self::note(chat, note, scale)) } }
            // Before the name: the handle that folds stands above a flag, and can be met.
            @for flag in flags {
                @let x = scale.x(flag.at);
                (self::flag(flag, !scale.dense && x + 11.0 > label && x < label + letters(&short) * 1.3 + 24.0, scale))
            }
            g.label data-m=(row.from.unwrap_or(0)) transform=(shift(label, 0.0)) {
                @match chat {
                    Some(chat) => a.name href=(link::moment(&chat.chat, None)) tabindex="-1" { text { (short) @if short != whole { title { (whole) } } } },
                    None => text { (short) tspan { " (gone)" } @if short != whole { title { (whole) } } },
                }
            }
            @if let Some(chat) = chat { (badges(chat, row, end.max(if scale.dense { label + letters(&short) * 1.3 } else { label }))) }
        }
    }
}

/// What a chat carries, behind the end of its line.
fn badges(chat: &TreeChat, row: &Row<'_>, x: f64) -> Markup {
    let book = match chat.book.state {
        "shared" => Some("shared book"),
        "missing" => Some("book is missing"),
        "own" => Some("own book"),
        _ => None,
    };
    html! {
        g.badges data-m=(row.end) transform=(shift(x + 10.0, 0.0)) {
            text y="4" {
                tspan.count { (words::number(chat.messages)) }
                @if let Some(version) = chat.running_recap.current { tspan dx="7" { "recap " (version) } }
                @if let Some(book) = book { tspan dx="7" class={ "book " (if chat.health == Health::Ok { "fine" } else { chat.book.state }) } { (book) } }
                tspan.gained dx="0" {}
                @if row.latest { tspan.played dx="7" { "played last" } }
                @if chat.open { tspan.opened dx="7" { "open in SillyTavern" } }
                @if chat.health.as_str() != "ok" {
                    a href=(link::health(Some(&chat.chat))) tabindex="-1" {
                        tspan dx="7" class={ "health-" (chat.health.as_str()) } { "● " (chat.findings.first().map(|code| wrong(*code)).unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

/// The code of a finding in as few words as there is room for. The page about health has all of them.
fn wrong(code: Code) -> String {
    let words = match code {
        Code::BookShared => "writes into another's book",
        Code::BookMissing => "book gone",
        Code::BookForeign => "not its own book",
        Code::BookDamaged => "damaged book",
        Code::RecapFromFuture | Code::EntryFromFuture => "knows the future",
        Code::RecapForeign | Code::EntryForeign => "knows another line",
        Code::RecapVersionMissing => "recap has a gap",
        Code::QueueForeign | Code::QueueStuck => "queue is not right",
        Code::RegistryDangling | Code::RegistryIndexStale => "registry is not right",
        Code::ParentMissing => "parent gone",
        Code::LinkDangling => "a flag leads nowhere",
        Code::PendingFork => "waits for its book",
        Code::ChatDamaged => "damaged",
        other => return other.as_str().to_lowercase().replace('_', " "),
    };
    words.to_owned()
}

/// The scenes of a chat that are its own, with the names that there is room for. They stand above the line, where no fork passes, and
/// behind the name of the chat, which ends where `free` begins, and behind a flag that stands there.
fn scenes(chat: &TreeChat, own: usize, flags: &[&Flag<'_>], mut free: f64, scale: &Scale) -> Markup {
    let all = chat.scenes.iter().zip(&chat.scene_names).filter(|(message, _)| **message >= own);
    let placed: Vec<_> = all
        .map(|(message, name)| {
            let name = name.as_deref().filter(|_| !scale.dense).unwrap_or_default();
            let (x, name) = (scale.x(*message), crop(name, 34));
            let left = if flags.iter().any(|flag| flag.at == *message) { 14 } else { -3 };
            let end = x + f64::from(left) + letters(&name);
            let runs_into = |flag: &&Flag<'_>| flag.at > *message && scale.x(flag.at) < end;
            let shy = x < free || flags.iter().any(runs_into);
            if !shy && !name.is_empty() {
                free = end;
            }
            (message, x, name, left, shy)
        })
        .collect();
    html! {
        @for (message, x, name, left, shy) in placed {
            @if name.is_empty() {
                path.scene data-m=(message) transform=(shift(x, 0.0)) d=(MARK) {}
            } @else {
                g.scene.shy[shy] data-m=(message) transform=(shift(x, 0.0)) { path d=(MARK) {} text x=(left) y="-9" { (name) } }
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "34 letters at most")]
fn letters(name: &str) -> f64 {
    name.chars().count() as f64 * LETTER + 10.0
}

/// A star or a note, below the line.
fn note(chat: &TreeChat, note: &TreeNote, scale: &Scale) -> Markup {
    html! {
        a.noted href=(link::moment(&chat.chat, Some(note.message))) tabindex="-1" data-m=(note.message) data-dy="9" transform=(shift(scale.x(note.message), 9.0)) {
            path d=(STAR) {}
            title { @if note.text.is_empty() { "A star" } @else { "Noted: " (crop(&note.text, 300)) } }
        }
    }
}

fn flag(flag: &Flag<'_>, lifted: bool, scale: &Scale) -> Markup {
    #[allow(clippy::cast_precision_loss, reason = "a handful")]
    let level = -(7.0 * flag.level as f64);
    let lift = if lifted { LIFT } else { 0.0 };
    let up = level - lift;
    html! {
        a.flag href=(link::moment(&flag.chat.chat, None)) tabindex="-1" data-m=(flag.at) data-dy=(px(level)) data-flag=(flag.chat.chat)
            transform=(shift(scale.x(flag.at), up)) {
            path.pole d={ "M0 " (px(lift)) "V-17" } {}
            path.cloth d="M0-17h11l-3 3.500 3 3.500h-11z" {}
            rect x="-3" y="-19" width="17" height="20" {}
            title { "Checkpoint: " (crop(name_of(&flag.chat.chat), 300)) }
        }
    }
}
