//! What Forklore did, with a way back, and what is in the trash.

use forklore_api::ops::{Action, Actions};
use forklore_engine::notes::Note;
use forklore_engine::trash::{TrashItem, TrashReport};
use maud::{Markup, html};

use super::{act, moment, parts};
use crate::{Here, Page, link, words};

/// So many notes that are not there any more are listed.
const NOTES: usize = 20;

/// The log and the trash, and `notes` that were changed or taken away.
pub fn page(actions: &Actions, trash: &TrashReport, notes: &[Note]) -> Page {
    let body = html! {
        h1 { "Log" }
        p.lead { "Everything that Forklore did here, and the way back." }
        nav.beside aria-label="On this page" {
            a href="#trash" { "Trash (" (words::count(trash.items.len(), "file")) ")" }
            @if !notes.is_empty() { a href="#notes" { "Notes" } }
            a href=(link::retention(&[])) { "History and space" }
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
                ul.trash { @for items in together(&trash.items) { (trashed(&items, actions)) } }
            }
        }
        @if !notes.is_empty() {
            section #notes aria-labelledby="notes-title" {
                h2 #notes-title { "Notes" }
                p.quiet { "What was written at a moment before it was changed or taken away." }
                ul.trash { @for note in notes.iter().take(NOTES) { (earlier(note)) } }
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
                    @if let Some(chat) = &entry.chat { " · " @if entry.kind == "delete" { bdi { (chat) } } @else { a href=(link::moment(chat, None)) { bdi { (chat) } } } }
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

/// What one operation took away belongs together, and comes back together.
fn together(items: &[TrashItem]) -> Vec<Vec<&TrashItem>> {
    let mut groups: Vec<Vec<&TrashItem>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| group[0].operation == item.operation) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    // A chat before the lorebook that is its own.
    groups.iter_mut().for_each(|group| group.sort_by_key(|item| parts::kind(&item.path)));
    groups
}

fn trashed(items: &[&TrashItem], actions: &Actions) -> Markup {
    let first = items[0];
    let action = actions.actions.iter().find(|action| action.entry.id == first.operation);
    let name = action.and_then(|action| action.entry.chat.as_deref()).unwrap_or(&first.path);
    let bytes = items.iter().map(|item| item.bytes).sum();
    html! {
        li id={ "trash-" (first.operation) } {
            div.what {
                p { @if let Some(action) = action { bdi { (action.entry.summary) } } @else { bdi { (first.path) } } }
                p.quiet {
                    (words::size(bytes)) " · since " (time(&first.at))
                    @if let Some(expires) = &first.expires { " · may go from " (time(expires)) }
                }
                ul.rows.files { @for item in items { li { span.sign aria-hidden="true" { "−" } span { (capital(parts::kind(&item.path))) " " bdi { (words::chat_name(parts::stem(&item.path))) } } } } }
            }
            form method="post" action="act" {
                input type="hidden" name="kind" value="restore";
                input type="hidden" name="item" value=(first.operation);
                button { "Restore" @if items.len() > 1 { " all " (items.len()) } span.unseen { ": " (name) } }
            }
        }
    }
}

fn earlier(note: &Note) -> Markup {
    html! {
        li {
            div.what {
                p dir="auto" { bdi { (parts::crop(&note.text, 300)) } }
                p.quiet { a href=(link::moment(&note.chat, Some(note.message))) { bdi { (words::chat_name(&note.chat)) } ", message " (note.message) } }
            }
            form method="post" action="act" { (moment::again(&note.chat, note, false)) }
        }
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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
