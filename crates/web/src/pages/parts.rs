//! Small parts that several pages have.

use forklore_core::check::Health;
use forklore_vault::StoryKind;
use maud::{Markup, html};

use crate::names::{self, name_of};
use crate::{link, words};

/// The ways of a chat's address: its story, and itself.
pub fn crumbs(steps: &[(&str, Option<String>)]) -> Markup {
    html! {
        nav.crumbs aria-label="Where you are" {
            ol {
                li { a href=(link::stories()) { "Stories" } }
                @for (text, address) in steps {
                    li {
                        @match address {
                            Some(address) => a href=(address) { bdi { (text) } },
                            None => span aria-current="page" { bdi { (text) } },
                        }
                    }
                }
            }
        }
    }
}

/// The way to a chat, and what is done there.
pub fn way(chat: &str, at: Option<usize>, what: &str) -> Markup {
    let story = link::story_of(chat);
    crumbs(&[
        (story, Some(link::tree(story))),
        (&names::in_story(chat), Some(link::moment(chat, at))),
        (what, None),
    ])
}

/// How well something is, as a word with a mark.
pub fn health(health: Health) -> Markup {
    let (class, text) = match health {
        Health::Ok => ("ok", "healthy"),
        Health::Warning => ("warning", "has warnings"),
        Health::Error => ("error", "needs attention"),
    };
    html! { span class={ "health " (class) } { (text) } }
}

/// The picture of a story; its initial below, should there be none.
pub fn picture(kind: StoryKind, folder: &str, name: &str) -> Markup {
    let story = link::story_name(kind, folder);
    html! {
        span class={ "picture c" (hue(name)) } aria-hidden="true" {
            span.initial { (initial(name)) }
            img src=(link::picture(&story)) alt="" loading="lazy" decoding="async" width="96" height="144";
        }
    }
}

/// A small picture of somebody who speaks: the one of a story if it is its character, else the initial.
pub fn face(name: &str, story: Option<&str>) -> Markup {
    html! {
        span class={ "picture face c" (hue(name)) } aria-hidden="true" {
            span.initial { (initial(name)) }
            @if let Some(story) = story { img src=(link::picture(story)) alt="" loading="lazy" decoding="async" width="32" height="32"; }
        }
    }
}

fn initial(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).into_iter().flat_map(char::to_uppercase).collect()
}

fn hue(name: &str) -> u32 {
    name.bytes().fold(0_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 8)
}

/// A time as RFC 3339, as people say it.
pub fn time(at: &str, now: i64) -> Markup {
    let then = at.parse::<jiff::Timestamp>().map_or(now, jiff::Timestamp::as_millisecond);
    html! { time datetime=(at) title=(at) { (words::ago(then, now)) } }
}

/// The way to a chat in SillyTavern; seen only on a page that came through its plugin.
pub fn open_in_sillytavern(chat: &str) -> Markup {
    html! { a.button.in-tavern href=(link::in_sillytavern(chat)) { "Open in SillyTavern" } }
}

/// What can be done with a chat, behind a button. `at` is the message that is meant, if one is.
pub fn menu(chat: &str, at: Option<usize>) -> Markup {
    let name = crop(name_of(chat), 80);
    html! {
        details.menu {
            summary.button { span aria-hidden="true" { "⋯" } span.unseen { "What to do with " (name) } }
            ul {
                li { a href=(link::moment(chat, at)) { "Open" } }
                li { a href=(link::act("branch", chat, at)) { "Branch" } }
                li { a href=(link::act("checkpoint", chat, at)) { "Checkpoint" } }
                li { a href=(link::compare(chat, at, None, None)) { "Compare" } }
                li { a href=(link::bring(chat, None)) { "Bring along …" } }
                li { a href=(link::act("rename", chat, None)) { "Rename" } }
                li { a href=(link::history(chat)) { "History" } }
                li { a href=(link::export(chat)) { "Export …" } }
                li { a href=(link::health(Some(chat))) { "Health" } }
                li.in-tavern { a href=(link::in_sillytavern(chat)) { "Open in SillyTavern" } }
                li { a.danger href=(link::act("delete", chat, None)) { "Delete" } }
            }
        }
    }
}

/// What a file is, in a word.
pub fn kind(path: &str) -> &'static str {
    match path.split('/').next() {
        Some("chats" | "group chats") => "chat",
        Some("worlds") => "lorebook",
        Some("groups") => "group",
        Some("characters") => "card",
        Some("settings.json") => "file of settings",
        _ => "image or file",
    }
}

/// What a file is called.
pub fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// At most this many letters, without anything that would turn the text around it.
pub fn crop(text: &str, most: usize) -> String {
    let is_bidi =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let tame = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown = text.chars().filter(|c| !is_bidi(*c)).map(tame);
    let mut kept: String = shown.by_ref().take(most).collect();
    if shown.next().is_some() {
        kept.push('…');
    }
    kept
}
