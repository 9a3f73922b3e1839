//! Two lines brought together: what both knew, what each has learnt since, each thing with a button that takes it over; and questions
//! with the words of both sides.

use forklore_engine::history::Did;
use forklore_engine::line::Companion;
use forklore_engine::merge::OpenConflict;
use forklore_engine::merge::together::{TogetherEntry, TogetherReport};
use forklore_engine::tree;
use maud::{Markup, html};

use super::{marks, parts};
use crate::names::Names;
use crate::{Here, Page, link, words};

/// How much of a text is shown unfolded.
const FOLD: usize = 420;

/// What the two are called on the page: the part that tells them apart. The whole names are in the form above.
struct Pair {
    a: String,
    b: String,
}

impl Pair {
    fn of(report: &TogetherReport) -> Self {
        let story = link::story_of(&report.a.chat);
        let short = |name: &str, other: &str| {
            let short = tree::short_name(name, story, &[other]);
            words::chat_name(short.strip_prefix("… - ").unwrap_or(&short))
        };
        let (a, b) = (&report.a.name, &report.b.name);
        Self { a: short(a, b), b: short(b, a) }
    }
}

/// Two lines.
pub fn page(report: &TogetherReport, companions: &[Companion]) -> Page {
    let (a, b) = (&report.a, &report.b);
    let (pair, names) = (Pair::of(report), Names::of(companions));
    let body = html! {
        (parts::way(&a.chat, None, "Bring along"))
        h1 { "Bring along" }
        (form(companions, &names, &a.chat, Some(&b.chat)))
        p.lead { (since(report, &pair)) }
        (ill(report, &pair))
        (open(report, &pair))
        div.lines {
            section.line aria-labelledby="both" {
                h2 #both { "What both knew" }
                @if report.both.is_empty() { p.quiet { "Nothing that is still the same." } }
                @for entry in &report.both { (known(entry)) }
            }
            section.line data-side="A" aria-labelledby="ours" {
                h2 #ours title=(a.name) { "What " bdi { (pair.a) } " learnt" }
                @if report.ours.is_empty() { p.quiet { "Nothing since." } }
                @for entry in &report.ours { (learnt(entry, None)) }
            }
            section.line data-side="B" aria-labelledby="theirs" {
                h2 #theirs title=(b.name) { "What " bdi { (pair.b) } " learnt" }
                @if report.theirs.is_empty() { p.quiet { "Nothing since." } }
                @for entry in &report.theirs { (learnt(entry, Some((&a.chat, &b.chat)))) }
            }
        }
        (all(report, &pair))
    };
    made(body)
}

/// One line, and the other still to choose.
pub fn choose(chat: &str, companions: &[Companion]) -> Page {
    let others = companions.iter().any(|other| other.chat != chat);
    let names = Names::of(companions);
    let body = html! {
        (parts::way(chat, None, "Bring along"))
        h1 { "Bring along" }
        @if others {
            p.lead { "Choose the branch whose lore is to come along. Nothing is changed by looking." }
            (form(companions, &names, chat, None))
        } @else {
            p.lead { "This story has no other chat that something could be brought along from." }
        }
    };
    made(body)
}

fn made(body: Markup) -> Page {
    Page {
        here: Here::Stories,
        title: "Bring along".to_owned(),
        styles: &["act", "bring"],
        scripts: &["act", "bring"],
        body,
    }
}

fn form(companions: &[Companion], names: &Names, a: &str, b: Option<&str>) -> Markup {
    let first = companions.iter().map(|other| other.chat.as_str()).find(|other| *other != a);
    let choice = |name: &str, label: &str, chosen: Option<&str>| {
        html! {
            label { (label)
                select name=(name) {
                    @for other in companions {
                        option value=(other.chat) selected[Some(other.chat.as_str()) == chosen] { (names.get(&other.chat)) }
                    }
                }
            }
        }
    };
    html! {
        form.pair method="get" action="bring" {
            (choice("a", "The story goes on with", Some(a)))
            (choice("b", "and learns from", b.or(first)))
            button.main type="submit" { "Show" }
        }
    }
}

fn since(report: &TogetherReport, pair: &Pair) -> String {
    let Pair { a, b } = pair;
    match (report.base.kind, report.base.message) {
        ("parted", Some(message)) => format!("{a} and {b} parted after message {message}."),
        ("merged", Some(_)) => format!("What is new since {a} and {b} were last brought together."),
        _ => format!("Nothing tells what {a} and {b} had in common, so nothing counts as deleted."),
    }
}

/// The other's lorebook is not all its own: healing comes first, and leads back here.
fn ill(report: &TogetherReport, pair: &Pair) -> Markup {
    html! {
        @if let Some(chat) = &report.heal_first {
            div.say.warning role="note" {
                p {
                    strong { "Heal " bdi { (pair.b) } " first." }
                    " Its lorebook holds what is not its own, or lacks what is. Below is only what belongs to its own line."
                }
                p { a.button href=(link::rebuild(chat)) { "Heal it" } }
            }
        }
    }
}

fn known(entry: &TogetherEntry) -> Markup {
    html! {
        details.known {
            summary { (title(&entry.title, entry.uid)) }
            (marks::text(&entry.text, FOLD))
        }
    }
}

/// What an entry is called, as on every page.
fn title(title: &str, uid: Option<i64>) -> Markup {
    match (title, uid) {
        ("", Some(uid)) => html! { "Entry " (uid) },
        (title, _) => marks::title(title),
    }
}

/// What one side has learnt; `take` names the chat that can have it and the one that has it.
fn learnt(entry: &TogetherEntry, take: Option<(&str, &str)>) -> Markup {
    let (word, kind) = match entry.did {
        Some(Did::Added) => ("new", "new"),
        Some(Did::Removed) => ("deleted", "gone"),
        _ => ("changed", "changed"),
    };
    let can = entry.did != Some(Did::Removed);
    html! {
        article.entry data-change=(kind) tabindex="-1" {
            h3 { (title(&entry.title, entry.uid)) " " span.flag { (word) } }
            @if can { (marks::text(&entry.text, FOLD)) }
            @if let Some(before) = &entry.before {
                details { summary { "Before" } (marks::text(before, FOLD)) }
            }
            @if let Some((chat, from)) = take.filter(|_| can) {
                form method="post" action="act" {
                    input type="hidden" name="kind" value="pick";
                    input type="hidden" name="chat" value=(chat);
                    input type="hidden" name="from" value=(from);
                    input type="hidden" name="entry" value=(entry.uid.map_or_else(|| entry.title.clone(), |uid| uid.to_string()));
                    button { "Take this over" span.unseen { ": " (title(&entry.title, entry.uid)) } }
                }
            }
        }
    }
}

/// Everything at once, as a new branch.
fn all(report: &TogetherReport, pair: &Pair) -> Markup {
    if report.theirs.is_empty() {
        return html! {};
    }
    let (a, b) = (&report.a, &report.b);
    html! {
        section.all aria-labelledby="all" {
            h2 #all { "All of it" }
            p {
                "Makes a new branch of " bdi { (pair.a) } " that also knows what happened in " bdi { (pair.b) } ". Both chats stay as they are."
            }
            @if !report.conflicts.is_empty() {
                p {
                    (words::count(report.conflicts.len(), "question")) " will wait for you. Until you answer, the new branch says what "
                    bdi { (pair.a) } " says:"
                }
                @for conflict in &report.conflicts { (question(conflict, None)) }
            }
            form method="post" action="act" {
                input type="hidden" name="kind" value="learn";
                input type="hidden" name="chat" value=(a.chat);
                input type="hidden" name="from" value=(b.chat);
                label.check { input type="checkbox" name="all_scenes" value="1"; "Its scenes, too, as entries" }
                label.name { span { "Name" } input type="text" name="name" autocomplete="off" placeholder="made for you"; }
                button.main { "Bring all of it along" }
            }
            form method="post" action="act" {
                input type="hidden" name="kind" value="append";
                input type="hidden" name="chat" value=(a.chat);
                input type="hidden" name="from" value=(b.chat);
                button { "Play its messages after these" }
            }
        }
    }
}

/// Questions that wait.
fn open(report: &TogetherReport, pair: &Pair) -> Markup {
    if report.open.is_empty() {
        return html! {};
    }
    let from = report.open_from.as_deref().unwrap_or_default();
    let from = if from == report.b.name { pair.b.clone() } else { words::chat_name(from) };
    html! {
        section.questions aria-labelledby="questions" {
            h2 #questions { (words::count(report.open.len(), "question")) " of " bdi { (pair.a) } }
            p.quiet { "Both lines changed these. The lorebook has the words of this chat until you answer; nothing waits for it." }
            @for conflict in &report.open { (question(conflict, Some((&report.a.chat, &report.b.chat, &from)))) }
        }
    }
}

/// One question; `answer` names the chat that it waits in, the other that is shown, and the one that it is about.
fn question(conflict: &OpenConflict, answer: Option<(&str, &str, &str)>) -> Markup {
    let side = |word: &str, text: Option<&str>, none: &str| {
        html! {
            div.side {
                h4 { (word) }
                @match text { Some(text) => (marks::text(text, FOLD)), None => p.quiet { (none) } }
            }
        }
    };
    let field = conflict.field.as_deref();
    let is_text = field == Some("content");
    html! {
        article.question tabindex="-1" id={ "q-" (conflict.id) } {
            h3 {
                (title(&conflict.title, conflict.uid)) " "
                span.flag { (match field { Some("content") => "text", Some(field) => field, None => "deleted by one side" }) }
            }
            div.sides {
                (side("Before", conflict.base.as_deref(), "Not known."))
                (side("Here", conflict.ours.as_deref(), "Deleted."))
                (side(answer.map_or("There", |(.., from)| from), conflict.theirs.as_deref(), "Deleted."))
            }
            @if let Some((chat, other, _)) = answer {
                form method="post" action="act" {
                    input type="hidden" name="kind" value="resolve";
                    input type="hidden" name="chat" value=(chat);
                    input type="hidden" name="other" value=(other);
                    input type="hidden" name="id" value=(conflict.id);
                    button name="keep" value="ours" { "Keep ours" }
                    button name="keep" value="theirs" { "Take theirs" }
                    @if is_text { button name="keep" value="both" { "Both" } }
                }
                @if is_text {
                    details {
                        summary { "Other words" }
                        form method="post" action="act" {
                            input type="hidden" name="kind" value="resolve";
                            input type="hidden" name="chat" value=(chat);
                            input type="hidden" name="other" value=(other);
                            input type="hidden" name="id" value=(conflict.id);
                            textarea name="text" rows="4" aria-label="Other words" { (conflict.ours.as_deref().unwrap_or_default()) }
                            button { "Say this" }
                        }
                    }
                }
            }
        }
    }
}
