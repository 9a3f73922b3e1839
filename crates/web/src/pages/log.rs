//! What Forklore did, with a way back, and what is in the trash.

use forklore_api::ops::{Action, Actions};
use forklore_engine::trash::{TrashItem, TrashReport};
use maud::{Markup, html};

use super::{act, parts};
use crate::{Here, Page, link, words};

/// The log and the trash.
pub fn page(actions: &Actions, trash: &TrashReport) -> Page {
    let body = html! {
        h1 { "Log" }
        p.lead { "Everything that Forklore did here. All of it can be undone, as long as nobody has played on." }
        nav.beside aria-label="On this page" {
            a href="#trash" { "Trash (" (words::count(trash.items.len(), "file")) ")" }
            a href=(link::keep(&[])) { "History and space" }
        }
        @for name in &actions.unreadable {
            div.say.warning { p { "The file " code { (name) } " of the log cannot be read: it is damaged, or was written by a newer Forklore." } }
        }
        section aria-label="Operations" {
            @if actions.actions.is_empty() { p.quiet { "Nothing yet. Make a checkpoint or a branch from any message of a story." } }
            ol.actions { @for action in &actions.actions { (row(action, actions.redo.as_deref())) } }
            @if actions.all > actions.actions.len() {
                p { a.button href="log?all=true" { "Show all " (words::number(actions.all)) } }
            }
        }
        section #trash aria-labelledby="trash-title" {
            h2 #trash-title { "Trash" }
            @if trash.items.is_empty() {
                p.quiet { "It is empty." }
            } @else {
                p.quiet { (words::count(trash.items.len(), "file")) ", " (words::size(trash.bytes)) "." }
                ul.trash { @for item in &trash.items { (trashed(item)) } }
            }
        }
    };
    Page { here: Here::Log, title: "Log".to_owned(), styles: &["act", "log"], scripts: &[], body }
}

fn row(action: &Action, redo: Option<&str>) -> Markup {
    let entry = &action.entry;
    let undone = entry.undone_by.is_some();
    html! {
        li.action.undone[undone] id={ "op-" (entry.id) } {
            span class={ "kind " (entry.kind) } { (entry.kind) }
            div.what {
                p { a href=(link::done(&entry.id)) { bdi { (entry.summary) } } @if undone { " " span.badge { "undone" } } @if entry.pending { " " span.badge { "links pending" } } }
                p.quiet {
                    (time(&entry.at))
                    @if let Some(chat) = &entry.chat { " · " bdi { (chat) } }
                }
                details id={ "files-" (entry.id) } {
                    summary { (words::count(action.made.len() + action.removed.len() + action.edited.len(), "file")) }
                    (act::touched(action))
                }
            }
            (act::turn(action, redo))
        }
    }
}

fn trashed(item: &TrashItem) -> Markup {
    html! {
        li {
            div.what {
                p { bdi { (item.path) } }
                p.quiet {
                    (words::size(item.bytes)) " · since " (time(&item.at))
                    @if let Some(expires) = &item.expires { " · may go from " (time(expires)) }
                }
            }
            form method="post" action="act" {
                input type="hidden" name="kind" value="restore";
                input type="hidden" name="item" value=(item.path);
                button { "Restore" span.unseen { ": " (item.path) } }
            }
        }
    }
}

/// A time, which scripts turn into the reader's own.
pub(super) fn time(at: &str) -> Markup {
    let shown = at.get(..16).unwrap_or(at).replace('T', " ");
    html! { time datetime=(at) { (shown) " UTC" } }
}

/// Where a page of the log's family stands.
pub(super) fn way(what: &str) -> Markup {
    parts::crumbs(&[("Log", Some(link::log())), (what, None)])
}
