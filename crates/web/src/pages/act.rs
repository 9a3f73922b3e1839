//! Doing something: [`fork`], [`rename`] and [`delete`] show what would come of it before it is done; [`done`] shows what was done.
//!
//! Each is one form. Asked with GET it shows the plan, sent with POST it is done; scripts only make both quicker (`act.js`).

use forklore_api::fork::PlanReport;
use forklore_api::ops::Action;
use forklore_api::{ErrorCode, FailureReport};
use forklore_core::fork::ForkKind;
use forklore_engine::delete::DeleteReport;
use forklore_engine::fork::{ForkReport, ForkRequest};
use forklore_engine::rename::RenameReport;
use forklore_engine::show::{ShowLeftOut, ShowSource};
use forklore_engine::warning::Warning;
use maud::{Markup, html};

use super::parts;
use crate::names::name_of;
use crate::{Here, Page, link, words};

/// A fork that waits for the queue.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// What it is called
    pub id: String,
    /// Checkpoint or branch
    pub kind: ForkKind,
    /// The last message
    pub at: Option<usize>,
}

fn word(kind: ForkKind) -> &'static str {
    match kind {
        ForkKind::Branch => "branch",
        ForkKind::Checkpoint => "checkpoint",
    }
}

fn page(title: String, body: Markup) -> Page {
    Page { here: Here::Stories, title, styles: &["act"], scripts: &[], body }
}

/// A checkpoint or branch that could be made.
pub fn fork(wish: &ForkRequest, plan: &PlanReport, waits: &[Waiting]) -> Page {
    let what = word(wish.kind());
    let title = match wish.kind() {
        ForkKind::Branch => "Branch here",
        ForkKind::Checkpoint => "Checkpoint here",
    };
    let body = html! {
        (parts::way(&wish.chat, wish.at, title))
        h1 { (title) }
        p.lead {
            @match wish.kind() {
                ForkKind::Branch => "A branch is a new chat that goes on from this message, with a lorebook of its own as it was then.",
                ForkKind::Checkpoint => "A checkpoint keeps the story as it is at this message, with a lorebook of its own, for coming back to.",
            }
        }
        @for wait in waits {
            div.say.info {
                p { "A " (word(wait.kind)) @if let Some(at) = wait.at { " at message " (words::number(at)) } " waits until the memory extension has finished. It is made by itself then." }
                form method="post" action="act" {
                    input type="hidden" name="kind" value="cancel";
                    input type="hidden" name="id" value=(wait.id);
                    input type="hidden" name="chat" value=(wish.chat);
                    button { "Do not make it" }
                }
            }
        }
        div.sides {
            form.card #wish method="get" action="act" data-preview {
                h2 { "What you want" }
                input type="hidden" name="chat" value=(wish.chat);
                @if let Some(swipe) = wish.swipe { input type="hidden" name="swipe" value=(swipe); }
                fieldset {
                    legend { "What" }
                    (radio("kind", "branch", "Branch", wish.kind() == ForkKind::Branch))
                    (radio("kind", "checkpoint", "Checkpoint", wish.kind() == ForkKind::Checkpoint))
                }
                label { span { "Name" }
                    input #wish-name name="name" value=[wish.name.as_deref()] placeholder=[plan.report.as_ref().map(|report| name_of(&report.chat))] autocomplete="off" maxlength="200";
                }
                label { span { "Last message" }
                    input #wish-at type="number" name="at" min="0" value=[wish.at] placeholder=[plan.report.as_ref().map(|report| report.at)] inputmode="numeric";
                }
                details open[wish.strict.is_some() || wish.copy_book || wish.ignore_queue] #wish-more {
                    summary { "More" }
                    label { span { "Only at the end of a finished scene, when the lorebook of then is known" }
                        select #wish-strict name="strict" {
                            option value="" selected[wish.strict.is_none()] { "As the settings say" }
                            option value="true" selected[wish.strict == Some(true)] { "Yes" }
                            option value="false" selected[wish.strict == Some(false)] { "No: this one may be less exact" }
                        }
                    }
                    (check("copy_book", "Copy the lorebook even if it is shared by choice", wish.copy_book))
                    (check("ignore_queue", "Although the memory extension is still at work", wish.ignore_queue))
                }
                button { "Show the plan" }
            }
            section.card.plan aria-labelledby="plan" {
                @match (&plan.report, &plan.refusal) {
                    (Some(report), _) => {
                        h2 #plan { "What will be made" }
                        (planned(report, wish.name.as_deref()))
                        p.go { button.main form="wish" formmethod="post" { "Make the " (what) } }
                    }
                    (None, Some(told)) => {
                        h2 #plan { "This cannot be made now" }
                        (refusal(told))
                        @if told.code == ErrorCode::QueueNotEmpty {
                            p { "The memory extension still works on this chat: " (words::count(plan.queue.count, "operation")) " (" (plan.queue.types.join(", ")) ")." }
                            p.go {
                                button.main form="wish" formmethod="post" name="when_ready" value="true" { "Make it when that is finished" }
                                button form="wish" formmethod="post" name="ignore_queue" value="true" { "Make it now, without that work" }
                            }
                        }
                    }
                    (None, None) => {}
                }
            }
        }
    };
    page(title.to_owned(), body)
}

fn radio(name: &str, value: &str, text: &str, checked: bool) -> Markup {
    html! { label.pick { input id={ "wish-" (value) } type="radio" name=(name) value=(value) checked[checked]; (text) } }
}

fn check(name: &str, text: &str, checked: bool) -> Markup {
    html! { label.pick { input id={ "wish-" (name) } type="checkbox" name=(name) value="true" checked[checked]; (text) } }
}

/// What a fork will be.
fn planned(report: &ForkReport, wished: Option<&str>) -> Markup {
    let book = &report.book;
    let recap = &report.running_recap;
    html! {
        dl {
            dt { "Chat" }
            dd { strong { bdi { (name_of(&report.chat)) } } (stripped(wished, name_of(&report.chat))) " with the messages 0 to " (words::number(report.at)) " of " bdi { (name_of(&report.parent)) } }
            dt { "Lorebook" }
            dd {
                @match (&book.name, book.shared) {
                    (None, _) => "None: the chat has none.",
                    (Some(book_name), true) => { bdi { (book_name) } ", shared with the chat it comes from." },
                    (Some(book_name), false) => { strong { bdi { (book_name) } } " with " (words::count(book.facts, "entry")) "." },
                }
                @if book.name.is_some() { " " span.quiet { (source(&book.source)) } }
                @if book.undated > 0 { " " span.quiet { (words::count(book.undated, "entry")) " of unknown age." } }
            }
            dt { "Running recap" }
            dd {
                @match recap.current_version {
                    Some(version) => {
                        "Version " (version)
                        @if let Some(scenes) = recap.scenes { ", which tells of " (words::count(usize::try_from(scenes).unwrap_or(0), "scene")) }
                        "."
                    }
                    None => "None.",
                }
                @if recap.archived > 0 { " " span.quiet { (words::count(recap.archived, "later version")) " put aside." } }
            }
        }
        @if !book.left_out.is_empty() { (left_out(&book.left_out)) }
        @for note in &report.notes { p.quiet { (note) } }
        (warnings(&report.warnings))
        (files("Files that are made or changed", "files", &report.files))
    }
}

/// That a name cannot be what was typed, if so.
fn stripped(wished: Option<&str>, becomes: &str) -> Markup {
    let other = wished.map(str::trim).is_some_and(|wished| !wished.is_empty() && wished != becomes);
    html! { @if other { " " span.stripped { "(not quite what you typed: SillyTavern's files cannot be called that)" } } }
}

fn source(source: &ShowSource) -> String {
    let from = source.message.map(|at| format!(" of message {}", words::number(at))).unwrap_or_default();
    match source.kind {
        "head" | "unchanged" => "It is exactly as it was then.".to_owned(),
        "history" => format!("It is exactly as history saw it{from}."),
        "scene" if source.message.is_none() => "No scene has ended yet.".to_owned(),
        "scene" => match source.distance {
            Some(0) | None => format!("It is as the scene{from} tells."),
            Some(far) => format!("It is as the scene{from} tells, {} earlier.", words::count(far, "message")),
        },
        "none" => String::new(),
        _ => match source.message {
            Some(first) => {
                let had = words::count(first + 1, "message");
                format!(
                    "Nothing tells how it was then: it is as Forklore first saw it, when the chat had {had}."
                )
            }
            None => "Nothing tells how it was then: it is as it is now.".to_owned(),
        },
    }
}

fn left_out(all: &[ShowLeftOut]) -> Markup {
    html! {
        details #left-out {
            summary { (words::count(all.len(), "entry")) " left out: not written yet at this message" }
            ul.rows {
                @for entry in all {
                    li {
                        bdi { (entry.comment) }
                        @if entry.lines > 0 { " (" (words::count(entry.lines, "line")) ")" }
                        span.quiet { (entry.why) }
                    }
                }
            }
        }
    }
}

fn warnings(all: &[Warning]) -> Markup {
    html! {
        @for warning in all {
            div.say.warning { p { (warning.message.trim_end_matches('.')) "." @if !warning.to_do.is_empty() { " " (warning.to_do) } } }
        }
    }
}

/// Files, folded.
pub(super) fn files(title: &str, id: &str, all: &[String]) -> Markup {
    html! {
        @if !all.is_empty() {
            details id=(id) {
                summary { (title) " (" (words::number(all.len())) ")" }
                ul.rows.files { @for file in all { li { bdi { (file) } } } }
            }
        }
    }
}

/// Why something is not done, and what to do.
pub fn refusal(told: &FailureReport) -> Markup {
    html! {
        div.say.error role="alert" {
            p { strong { (told.message) } }
            @if !told.to_do.is_empty() { p { (told.to_do) } }
            p.quiet { "Nothing was changed." }
        }
    }
}

/// Another name for a chat.
pub fn rename(chat: &str, typed: Option<&str>, plan: Option<&Result<RenameReport, FailureReport>>) -> Page {
    let body = html! {
        (parts::way(chat, None, "Rename"))
        h1 { "Rename" }
        p.lead { "The chat keeps its lorebook and its place in the tree. What points to it follows." }
        div.sides {
            form.card #wish method="get" action="act" data-preview {
                h2 { "What you want" }
                input type="hidden" name="kind" value="rename";
                input type="hidden" name="chat" value=(chat);
                p { "It is called " strong { bdi { (name_of(chat)) } } "." }
                label { span { "New name" } input #wish-name name="name" value=[typed] required autocomplete="off" maxlength="200"; }
                button { "Show the plan" }
            }
            section.card.plan aria-labelledby="plan" {
                @match plan {
                    None => {
                        h2 #plan { "What will change" }
                        p.quiet { "Type a name first." }
                    }
                    Some(Ok(report)) => {
                        h2 #plan { "What will change" }
                        p { bdi { (name_of(&report.from)) } " becomes " strong { bdi { (name_of(&report.chat)) } } "." (stripped(typed, name_of(&report.chat))) }
                        (warnings(&report.warnings))
                        (files("Files that are made or changed", "files", &report.files))
                        p.go { button.main form="wish" formmethod="post" { "Rename" } }
                    }
                    Some(Err(told)) => {
                        h2 #plan { "This cannot be done now" }
                        (refusal(told))
                    }
                }
            }
        }
    };
    page("Rename".to_owned(), body)
}

/// A chat that goes to the trash.
pub fn delete(chat: &str, plan: &Result<DeleteReport, FailureReport>) -> Page {
    let body = html! {
        (parts::way(chat, None, "Delete"))
        h1 { "Delete " bdi { (name_of(chat)) } }
        p.lead { "It goes to Forklore's trash with the lorebook that is its own. It can come back from there." }
        section.card.plan aria-labelledby="plan" {
            @match plan {
                Ok(report) => {
                    h2 #plan { "What will go" }
                    dl {
                        dt { "Chat" } dd { bdi { (name_of(&report.chat)) } }
                        dt { "Lorebooks" }
                        dd {
                            @if report.books.is_empty() { "None." }
                            @for book in &report.books { p { bdi { (book) } } }
                        }
                        @for book in &report.kept { dt { "Stays" } dd { bdi { (book.name) } " " span.quiet { (book.why) } } }
                    }
                    (warnings(&report.warnings))
                    (files("Files that go or are changed", "files", &report.files))
                    form.go method="post" action="act" {
                        input type="hidden" name="kind" value="delete";
                        input type="hidden" name="chat" value=(chat);
                        button.danger { "Move to the trash" }
                        a.button href=(link::moment(chat, None)) { "Keep it" }
                    }
                }
                Err(told) => {
                    h2 #plan { "This cannot be done now" }
                    (refusal(told))
                }
            }
        }
    };
    page("Delete".to_owned(), body)
}

/// A button that takes an operation back, or does it again.
pub(super) fn turn(action: &Action, redo: Option<&str>) -> Markup {
    let entry = &action.entry;
    html! {
        @if redo == Some(entry.id.as_str()) {
            form method="post" action="act" {
                input type="hidden" name="kind" value="redo";
                button { "Redo" span.unseen { ": " (entry.summary) } }
            }
        } @else if let Some(why) = &action.stays {
            p.stays.quiet { (why) }
        } @else if action.is_offered() {
            form method="post" action="act" {
                input type="hidden" name="kind" value="undo";
                input type="hidden" name="operation" value=(entry.id);
                button { "Undo" span.unseen { ": " (entry.summary) } }
            }
        }
    }
}

/// What was done.
pub fn done(action: &Action, redo: Option<&str>, is_there: bool) -> Page {
    let entry = &action.entry;
    let title = match entry.kind {
        "branch" => "The branch is made",
        "checkpoint" => "The checkpoint is made",
        "heal" => "Healed",
        "delete" => "It is in the trash",
        "rename" => "Renamed",
        "restore" => "It is back",
        "gc" => "Cleaned up",
        "undo" => "Undone",
        "redo" => "Done again",
        _ => "Done",
    };
    let chat = entry.chat.as_deref().filter(|_| is_there);
    let body = html! {
        @match &entry.chat {
            Some(chat) => (parts::way(chat, None, title)),
            None => (parts::crumbs(&[("Log", Some(link::log())), (title, None)])),
        }
        h1 { (title) }
        p.lead { bdi { (entry.summary) } }
        @if entry.undone_by.is_some() { div.say.info { p { "This was undone since." } } }
        @if entry.pending { div.say.warning { p { "Some links could not be set yet, because a file is in use. Forklore tries again by itself." } } }
        section.card.plan {
            h2 { "What changed" }
            (touched(action))
            div.go {
                @if let Some(chat) = chat {
                    a.button.main href=(link::moment(chat, None)) { "Look at it" }
                    a.button href=(link::tree(link::story_of(chat))) { "See the tree" }
                }
                (turn(action, redo))
                a.button href=(link::log()) { "The log" }
            }
        }
        @if let Some(chat) = chat.filter(|_| matches!(entry.kind, "branch" | "checkpoint" | "rename" | "restore" | "redo")) {
            (open(chat))
        }
    };
    page(title.to_owned(), body)
}

/// How to get to a chat in SillyTavern. It has no addresses for chats: a page that came through the plugin has a way all the same.
fn open(chat: &str) -> Markup {
    let story = link::story_of(chat);
    html! {
        section.card.open {
            h2 { "Open in SillyTavern" }
            (parts::open_in_sillytavern(chat))
            p.beside-tavern {
                @if story.starts_with("group:") { "Choose the group" } @else { "Choose " strong { bdi { (story) } } }
                ", then the menu at the lower left, “Manage chat files”, and there " strong { bdi { (name_of(chat)) } } "."
            }
        }
    }
}

/// So many names are in sight; the others are unfolded.
const NAMED: usize = 6;

/// What an operation touched, in words: how many chats, lorebooks and other files, and what they are called.
pub(super) fn touched(action: &Action) -> Markup {
    let groups = [
        ("＋", "new", &action.made),
        ("−", "in the trash", &action.removed),
        ("~", "changed", &action.edited),
    ];
    html! {
        ul.touched {
            @for (sign, word, all) in groups {
                @for (kind, names) in by_kind(all) {
                    li {
                        span.sign aria-hidden="true" { (sign) }
                        div {
                            strong { (words::count(names.len(), kind)) " " (word) } ": "
                            @for (i, name) in names.iter().take(NAMED).enumerate() { @if i > 0 { ", " } bdi { (name) } }
                            @if names.len() > NAMED {
                                details { summary { "and " (words::number(names.len() - NAMED)) " more" } ul { @for name in &names[NAMED..] { li { bdi { (name) } } } } }
                            }
                        }
                    }
                }
            }
        }
        @if groups.iter().all(|(_, _, all)| all.is_empty()) { p.quiet { "No file." } }
    }
}

/// Names of files by what they are.
fn by_kind(files: &[String]) -> Vec<(&'static str, Vec<String>)> {
    let mut kinds: Vec<(&'static str, Vec<String>)> = Vec::new();
    for file in files {
        let (kind, name) = (parts::kind(file), words::chat_name(parts::stem(file)));
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, names)) => names.push(name),
            None => kinds.push((kind, vec![name])),
        }
    }
    kinds.sort_by_key(|(kind, _)| *kind);
    kinds
}
