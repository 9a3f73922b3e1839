//! A story that goes to another SillyTavern, or comes from one: [`export`], [`import`], and [`arriving`], what would come in.

use forklore_api::FailureReport;
use forklore_api::export_import::Leaving;
use forklore_engine::export::ExportReport;
use forklore_engine::import::ImportReport;
use maud::{Markup, html};

use super::{act, parts};
use crate::{Here, Page, link, words};

const STYLES: &[&str] = &["act"];

/// A story, or a line of it, to take along. `story` is what it is called in addresses.
pub fn export(asked: &Leaving, plan: &Result<ExportReport, FailureReport>) -> Page {
    let story = link::story_of(&asked.what);
    let name = plan.as_ref().map_or(story, |report| &report.name);
    let body = html! {
        (parts::crumbs(&[(name, Some(link::tree(story))), ("Export", None)]))
        h1 { "Export " bdi { (name) } }
        p.lead { "One file with the chats, their lorebooks and who was forked from whom, for another SillyTavern or to keep." }
        div.sides {
            form.card #wish method="get" action="export" data-preview {
                h2 { "What goes along" }
                input type="hidden" name="what" value=(asked.what);
                @if asked.what.contains('/') {
                    fieldset {
                        legend { "Which chats" }
                        label.pick { input type="radio" name="line" value="" checked[!asked.line]; "All of the story" }
                        label.pick { input type="radio" name="line" value="true" checked[asked.line]; "Only this chat, and those that it was forked from" }
                    }
                }
                (check("with_card", "The character’s card", asked.with_card))
                (check("media", "Images and files that messages link to", asked.media))
                (check("no_history", "Leave out what Forklore remembers, such as messages that were deleted", asked.no_history))
                button { "Show the plan" }
            }
            section.card.plan aria-labelledby="plan" {
                @match plan {
                    Err(told) => (act::refusal(told)),
                    Ok(report) => {
                        h2 #plan { "What will be in the file" }
                        (leaving(report))
                        p.go { a.button.main href=(link::export_file(asked)) download { "Download the file" } }
                    }
                }
            }
        }
    };
    Page { here: Here::Stories, title: format!("Export {name}"), styles: STYLES, scripts: &[], body }
}

fn check(name: &str, text: &str, on: bool) -> Markup {
    html! { label.pick { input id={ "export-" (name) } type="checkbox" name=(name) value="true" checked[on]; (text) } }
}

fn leaving(report: &ExportReport) -> Markup {
    html! {
        dl {
            dt { "Chats" } dd { (words::number(report.chats.len())) }
            dt { "Lorebooks" } dd { @if report.books.is_empty() { "none" } @else { @for (i, book) in report.books.iter().take(20).enumerate() { @if i > 0 { ", " } bdi { (book) } } @if report.books.len() > 20 { " and " (words::number(report.books.len() - 20)) " more" } } }
            dt { "Card" } dd { (if report.card { "yes" } else { "no" }) }
            dt { "Images and files" } dd {
                @if report.media.linked == 0 { "none are linked to" } @else { (words::number(report.media.exported)) " of " (words::number(report.media.linked)) ", " (words::size(report.media.bytes)) " in all" }
            }
            dt { "What Forklore remembers" } dd { (words::count(report.observations, "save")) }
            dt { "Size" } dd { (words::size(report.content)) " before it is packed" }
        }
        @for warning in &report.warnings { div.say.warning { p { (warning.message) } } }
    }
}

/// A file that was exported, to be chosen.
pub fn import() -> Page {
    let body = html! {
        (parts::crumbs(&[("Import", None)]))
        h1 { "Import a story" }
        p.lead { "A file that Forklore exported, from another SillyTavern or kept earlier. Nothing that is here is overwritten." }
        form.card #arrival {
            label { span { "File" } input #file type="file" accept=".forklore" required; }
            p.quiet { "What is in it is shown first. A file can have 60 MB; a larger one is imported on the machine that Forklore runs on." }
            noscript { p { "Choosing a file needs scripts, which are switched off." } }
            button { "Look into the file" }
        }
        div #arriving aria-live="polite" {}
    };
    Page {
        here: Here::Stories,
        title: "Import a story".to_owned(),
        styles: STYLES,
        scripts: &["import"],
        body,
    }
}

/// What would come in from a file.
pub fn arriving(plan: &Result<ImportReport, FailureReport>) -> Markup {
    html! {
        section.card.plan aria-labelledby="plan" {
            @match plan {
                Err(told) => (act::refusal(told)),
                Ok(report) => {
                    h2 #plan { "What will come in" }
                    dl {
                        dt { "Story" } dd { bdi { (report.story) } @if report.new_story { ", which is new here" } }
                        dt { "Chats" } dd {
                            @if report.chats.is_empty() { "none that are not here already" }
                            ul { @for chat in report.chats.iter().take(30) { li { bdi { (words::chat_name(&chat.name)) } @if chat.name != chat.from { span.quiet { " called " bdi { (chat.from) } " in the file" } } } } }
                            @if report.chats.len() > 30 { "and " (words::number(report.chats.len() - 30)) " more" }
                        }
                        dt { "Lorebooks" } dd { @if report.books.is_empty() { "none" } @for (i, book) in report.books.iter().take(20).enumerate() { @if i > 0 { ", " } bdi { (book.name) } } }
                        @if report.card.is_some() { dt { "Card" } dd { "comes along" } }
                        @if !report.media.is_empty() { dt { "Images and files" } dd { (words::number(report.media.len())) } }
                        dt { "Size" } dd { (words::size(report.bytes)) }
                    }
                    @if !report.left.is_empty() { p.quiet { (words::count(report.left.len(), "thing")) " in the file " (if report.left.len() == 1 { "is" } else { "are" }) " here already, and left out." } }
                    @for warning in &report.warnings { div.say.warning { p { (warning.message) } } }
                    p.go { button.main #bring-in type="button" { "Import" } a.button href=(link::stories()) { "Not now" } }
                }
            }
        }
    }
}
