//! What is remembered of a chat at a message: its scene and what that tells, entries with where each line comes from, scenes that have
//! changed since, and what all of it has cost.

use forklore_api::memory::{Bill, BillLine};
use forklore_engine::memory::{EntrySource, MemoryStatus, SceneStatus, ToldReport, ToldScene, WhyReport};
use maud::{Markup, html};

use super::parts;
use crate::{Here, Page, link, names, words};

/// What is remembered there.
pub fn page(told: &ToldReport, bill: &Bill) -> Page {
    let (chat, status) = (&*told.chat, &told.status);
    let body = html! {
        (parts::way(chat, Some(told.at), "Memory"))
        h1 { "What is remembered" }
        @if !status.on && status.scenes.iter().all(|scene| scene.state != "ready") {
            p.lead { "Memory is off for this chat. It is turned on in SillyTavern, in Forklore's drawer, or with " code { "forklore memory on" } "." }
        } @else {
            p.lead { (standing(status)) }
            (decisions(told))
            div.memory {
                section aria-labelledby="scene" { h2 #scene { "At message " (told.at) } (scene(chat, told.scene.as_ref())) (scenes(chat, told)) }
                section aria-labelledby="known" {
                    h2 #known { "Who and what is known" }
                    @if told.entries.is_empty() { p.quiet { (nobody(status)) } }
                    @for entry in &told.entries { (known(chat, entry)) }
                }
            }
        }
        (paid(bill))
    };
    let title = format!("What is remembered of {}", names::in_story(chat));
    Page { here: Here::Stories, title, styles: &["act", "memory"], scripts: &[], body }
}

/// Why there is nothing to tell.
fn nobody(status: &MemoryStatus) -> &'static str {
    if status.scenes.iter().any(|scene| scene.state == "stale") {
        "The lorebook has what was remembered before. Where it comes from is told when it is decided what becomes of the scene that has changed."
    } else {
        "Nothing yet."
    }
}

fn standing(status: &MemoryStatus) -> Markup {
    let ready = status.scenes.iter().filter(|scene| scene.state == "ready").count();
    let stale = status.scenes.iter().filter(|scene| scene.state == "stale").count();
    html! {
        @if stale > 0 { (words::count(status.scenes.len(), "scene")) ", " (stale) " of which " (if stale == 1 { "has" } else { "have" }) " changed since. " }
        @else { (words::count(ready, "scene")) ", " (words::count(status.entries, "entry")) ". " }
        @if status.questions == 0 { "Nothing has to be asked." }
        @else {
            (words::count(status.questions, "question")) (if status.questions == 1 { " waits" } else { " wait" })
            ": about " (words::number(status.tokens_in + status.tokens_out)) " tokens" (price(status.price)) ". "
            "SillyTavern asks when the chat is open there and a connection is chosen; without it, " code { "forklore memory run" } " does."
        }
        @if !status.on { " It is off: nothing is asked any more." }
    }
}

/// What waits for somebody to say something.
fn decisions(told: &ToldReport) -> Markup {
    let status = &told.status;
    html! {
        @for scene in status.scenes.iter().filter(|scene| scene.state == "stale") {
            div.say.warning {
                p { (between(&told.chat, scene)) ": what is remembered of it was made from other words than it has now." }
                (form(told, &html! {
                    input type="hidden" name="keep" value=(scene.last);
                    button { "Keep what is remembered" }
                    span.quiet { "Or ask again: in SillyTavern, at the end of the scene, or with " code { "forklore memory run" } "." }
                }))
            }
        }
        @if let Some(why) = status.parked.last() {
            div.say.warning {
                p { (words::count(status.parked.len(), "question")) " had no reply that could be used: " (why) }
                (form(told, &html! { input type="hidden" name="retry" value="true"; button { "Let it be asked again" } }))
            }
        }
        @for proposal in &status.proposals {
            div.say {
                p { bdi { (proposal.title) } (if proposal.before.is_some() { " would say something else:" } else { " would be new:" }) }
                @if let Some(before) = &proposal.before { pre.before { (before) } }
                pre { (proposal.text) }
                (form(told, &html! { input type="hidden" name="approve" value=(proposal.title); button { "Approve" span.unseen { ": " (proposal.title) } } }))
            }
        }
    }
}

fn form(told: &ToldReport, fields: &Markup) -> Markup {
    html! {
        form.decide method="post" action="act" {
            input type="hidden" name="kind" value="memory";
            input type="hidden" name="chat" value=(told.chat);
            input type="hidden" name="at" value=(told.at);
            (fields)
        }
    }
}

fn scene(chat: &str, scene: Option<&ToldScene>) -> Markup {
    let Some(told) = scene else {
        return html! { p.quiet { "This message belongs to no scene yet: the story goes on." } };
    };
    let lists = [
        ("There", &told.present),
        ("What happened", &told.happened),
        ("Left open", &told.open),
        ("Settled", &told.resolved),
        ("In the end", &told.state),
    ];
    html! {
        p.name { (between(chat, &told.scene)) " " (state(&told.scene)) }
        @for (what, list) in lists {
            @if !list.is_empty() { h3 { (what) } ul { @for line in list { li { (line) } } } }
        }
        @if !told.learnt.is_empty() {
            h3 { "What was learnt" }
            dl { @for (name, said) in &told.learnt { dt { bdi { (name) } } @for line in said { dd { (line) } } } }
        }
        @if let Some(answer) = &told.answer {
            p.quiet.asked {
                "One question, which " bdi { (answer.model) } " answered"
                @if answer.tokens_in + answer.tokens_out > 0 { ": " (tokens(answer.tokens_in)) " tokens read, " (tokens(answer.tokens_out)) " written" }
                ". " span.key title="Its key: whoever asks the same has the same answer" { (answer.question.chars().take(12).collect::<String>()) }
            }
        }
    }
}

fn scenes(chat: &str, told: &ToldReport) -> Markup {
    html! {
        details.scenes {
            summary { "All scenes (" (told.status.scenes.len()) ")" }
            ol { @for scene in &told.status.scenes { li { (between(chat, scene)) " " (state(scene)) } } }
        }
    }
}

/// A scene, with a way to it.
fn between(chat: &str, scene: &SceneStatus) -> Markup {
    html! {
        a href=(link::memory(chat, Some(scene.last))) { bdi { (scene.title.as_deref().unwrap_or("A scene")) } }
        " (messages " a href=(link::moment(chat, Some(scene.first))) { (scene.first) } " to " a href=(link::moment(chat, Some(scene.last))) { (scene.last) } ")"
    }
}

fn state(scene: &SceneStatus) -> Markup {
    let (class, text) = match scene.state {
        "ready" => ("ok", "remembered"),
        "stale" => ("warning", "has changed since"),
        _ => ("", "waits"),
    };
    let ended = match scene.ended {
        "hand" => ", ended by hand",
        "provisional" => ", as another branch has found it",
        "length" => ", ended by its length",
        _ => "",
    };
    html! { span class={ "standing " (class) } { (text) (ended) } }
}

fn known(chat: &str, entry: &WhyReport) -> Markup {
    html! {
        details.known data-title=(entry.title) open[entry.lines.len() < 8] {
            summary { bdi { (entry.title) } @if !entry.aliases.is_empty() { span.quiet { " also " (entry.aliases.join(", ")) } } }
            ul { @for line in &entry.lines { li { (line.text) " " span.quiet { (source(chat, line)) } } } }
        }
    }
}

fn source(chat: &str, line: &EntrySource) -> Markup {
    html! {
        @match line.from {
            "hand" => "written by you",
            "elsewhere" => "from another branch",
            from => {
                @if from == "shortened" { "in short, from " } @else { "from " }
                @for (i, scene) in line.scenes.iter().enumerate() {
                    @if i > 0 { ", " }
                    a href=(link::memory(chat, Some(scene.last))) { bdi { (scene.title.as_deref().unwrap_or("a scene")) } }
                }
            }
        }
    }
}

fn paid(bill: &Bill) -> Markup {
    let row = |line: &BillLine| {
        html! {
            tr {
                th scope="row" { bdi { (line.of) } }
                td { (words::number(line.questions)) }
                td { (tokens(line.tokens_in)) }
                td { (tokens(line.tokens_out)) }
                td { @if line.price > 0.0 { (amount(line.price)) } @else { "–" } }
            }
        }
    };
    html! {
        section.bill #bill aria-labelledby="bill-title" {
            h2 #bill-title { "What it has cost" }
            @if bill.all.questions == 0 { p.quiet { "Nothing was asked in this vault yet." } } @else {
                @if bill.daily_tokens > 0 { p { "Today " (tokens(bill.today)) " of " (tokens(u64::from(bill.daily_tokens))) " tokens." } }
                div.wide {
                    table {
                        thead { tr { th scope="col" { "Day" } th scope="col" { "Questions" } th scope="col" { "Tokens read" } th scope="col" { "written" } th scope="col" { "Price" } } }
                        tbody { @for day in bill.days.iter().take(31) { (row(day)) } }
                        tbody { @for story in &bill.stories { (row(story)) } }
                        tfoot { (row(&BillLine { of: "Altogether".to_owned(), ..bill.all.clone() })) }
                    }
                }
            }
        }
    }
}

fn tokens(n: u64) -> String {
    words::number(usize::try_from(n).unwrap_or(usize::MAX))
}

fn price(price: f64) -> String {
    if price > 0.0 { format!(", {} at your prices", amount(price)) } else { String::new() }
}

fn amount(price: f64) -> String {
    if price < 0.1 { format!("{price:.4}") } else { format!("{price:.2}") }
}
