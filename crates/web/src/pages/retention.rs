//! How large history is, by which rules it is kept, and what the trash holds: with what would go shown first.

use forklore_engine::retention::ForgetReport;
use forklore_engine::trash::GcReport;
use maud::{Markup, html};

use super::log;
use crate::{Here, Page, link, words};

/// What was just done, by the names of fields in the address.
#[derive(Debug, Clone, Copy)]
pub enum Said {
    /// This many contents were forgotten
    Forgot(usize),
    /// Bytes before and after
    Pruned(u64, u64),
    /// Bytes that left the trash
    Cleaned(u64),
    /// A setting
    Set,
}

/// History and space. `plan` is what the rules in the form would let go, `clean` what cleaning up would remove.
pub fn page(plan: &ForgetReport, clean: &GcReport, days: u32, said: Option<Said>) -> Page {
    let rules = plan.rules;
    let total = plan.stories.iter().map(|story| story.bytes).max().unwrap_or(0).max(1);
    let body = html! {
        (log::way("History and space"))
        h1 { "History and space" }
        p.lead { "Forklore remembers how every chat and lorebook was, so that it can show and bring back any moment." }
        @if let Some(said) = said { (told(said)) }
        div.facts {
            (fact(&words::size(plan.bytes), "history on disk"))
            (fact(&words::number(plan.saves), "saves remembered"))
            (fact(&words::number(plan.kept + plan.forgotten), "kept whole"))
        }
        section.card aria-labelledby="by-story" {
            h2 #by-story { "By story" }
            @if plan.stories.is_empty() { p.quiet { "Nothing is recorded yet. It is as soon as something changes." } }
            ul.usage {
                @for story in &plan.stories {
                    li {
                        span.name { @if story.name.is_empty() { "Lorebooks that no chat uses" } @else { bdi { (story.name) } } }
                        meter min="0" max=(total) value=(story.bytes) aria-label={ "Size of " (story.name) } { (words::size(story.bytes)) }
                        span.quiet { (words::size(story.bytes)) ", " (words::count(story.files, "file")) ", " (words::count(story.saves, "save")) }
                    }
                }
            }
        }
        section.card.plan aria-labelledby="rules" {
            h2 #rules { "What is kept" }
            p { "What a save said stays for ever: moments stay exact. What can go is the whole file as it was at an old save, which is needed only to bring exactly that save back. Whatever one of these rules keeps is kept." }
            form #wish method="get" action="keep" data-preview {
                input type="hidden" name="kind" value="forget";
                div.rules {
                    (rule("last", "Last saves of each file", rules.last))
                    (rule("daily", "Days with one save each", rules.daily))
                    (rule("weekly", "Weeks with one save each", rules.weekly))
                }
                button { "Show the plan" }
                p.verdict {
                    @if plan.forgotten == 0 { "These rules let nothing go: all " (words::number(plan.kept)) " stay." }
                    @else { "These rules let " strong { (words::number(plan.forgotten)) } " of " (words::number(plan.kept + plan.forgotten)) " whole files go. This cannot be undone." }
                }
                @if plan.forgotten > 0 { p.go { button.danger formmethod="post" formaction="act" { "Forget " (words::number(plan.forgotten)) } } }
            }
            form.go method="post" action="act" {
                input type="hidden" name="kind" value="prune";
                button { "Free the space" }
                span.quiet { "Removes what is forgotten from the disk, and nothing else." }
            }
        }
        section.card.plan aria-labelledby="trash-title" {
            h2 #trash-title { "Trash" }
            form.days method="post" action="act" {
                input type="hidden" name="kind" value="days";
                label { span { "Days until something may leave the trash for good; 0: never" } input #trash-days type="number" name="days" min="0" max="36500" value=(days) inputmode="numeric"; }
                button { "Save" }
            }
            p {
                @if clean.expired.is_empty() { "Nothing in the trash is that old." }
                @else { (words::count(clean.expired.len(), "file")) " in the trash " (if clean.expired.len() == 1 { "is" } else { "are" }) " that old: " (words::size(clean.freed)) "." }
                @if !clean.books.is_empty() { " " (words::count(clean.books.len(), "lorebook")) " that Forklore made and nothing uses would go to the trash." }
                @if !clean.orphans.is_empty() { " " (words::count(clean.orphans.len(), "lorebook")) " of memory extensions that nothing uses stay." }
            }
            form.go method="post" action="act" {
                input type="hidden" name="kind" value="gc";
                button { "Clean up" }
                @if !clean.orphans.is_empty() { label.pick { input #orphans type="checkbox" name="orphans" value="true"; "the lorebooks of memory extensions, too" } }
                a.button href={ (link::log()) "#trash" } { "Look at the trash" }
            }
        }
    };
    Page {
        here: Here::Log,
        title: "History and space".to_owned(),
        styles: &["act", "retention"],
        scripts: &[],
        body,
    }
}

fn told(said: Said) -> Markup {
    html! {
        div.say.good role="status" {
            p {
                @match said {
                    Said::Forgot(n) => { (words::count(n, "whole file")) " forgotten. The space is free after “Free the space”." },
                    Said::Pruned(before, after) => { "History takes " (words::size(after)) " now; it took " (words::size(before)) "." },
                    Said::Cleaned(freed) => { "Cleaned up: " (words::size(freed)) " are free." },
                    Said::Set => "Saved.",
                }
            }
        }
    }
}

fn fact(value: &str, what: &str) -> Markup {
    html! { p.fact { strong { (value) } " " span { (what) } } }
}

fn rule(name: &str, text: &str, value: usize) -> Markup {
    html! { label { span { (text) } input id={ "rule-" (name) } type="number" name=(name) min="0" max="100000" value=(value) inputmode="numeric"; } }
}
