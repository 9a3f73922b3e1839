//! All stories of a vault.

use forklore_engine::stories::{StoriesReport, StoryRow};
use forklore_vault::StoryKind;
use maud::{Markup, html};

use super::parts;
use crate::{Here, Page, link, words};

/// The stories; `now` is the time in milliseconds since 1970.
pub fn page(report: &StoriesReport, now: i64) -> Page {
    // What was played last is what a reader looks for.
    let mut rows: Vec<&StoryRow> = report.stories.iter().collect();
    rows.sort_by(|a, b| (&b.changed, &a.name).cmp(&(&a.changed, &b.name)));
    let chats: usize = rows.iter().map(|row| row.chats).sum();
    let body = html! {
        div.listhead {
            div {
                h1 { "Stories" }
                p.quiet { (words::count(rows.len(), "story")) " with " (words::count(chats, "chat")) " · " a href=(link::import()) { "Import a story" } }
            }
            @if !rows.is_empty() {
                form.tools #filter role="search" {
                    label {
                        span.unseen { "Find a story by its name" }
                        input type="search" name="text" placeholder="Find a story" autocomplete="off";
                    }
                    label {
                        span.unseen { "Order" }
                        select name="order" {
                            option value="changed" { "Played last" }
                            option value="name" { "Name" }
                            option value="chats" { "Most chats" }
                            option value="forks" { "Most forks" }
                            option value="bytes" { "Largest" }
                            option value="health" { "Needs attention" }
                        }
                    }
                }
            }
        }
        @if rows.is_empty() {
            article.lone {
                h2 { "There is no story here yet" }
                p { "Write with a character in SillyTavern, then come back." }
                p { "Or " a href=(link::import()) { "import a story" } " that was exported elsewhere." }
            }
        } @else {
            ul #stories.stories { @for row in &rows { (story(row, now)) } }
            p #nothing.lead hidden { "No story has such a name. " button type="button" #all { "Show all" } }
            p #found.unseen aria-live="polite" {}
        }
    };
    Page {
        here: Here::Stories,
        title: "Stories".to_owned(),
        styles: &["stories"],
        scripts: &["stories"],
        body,
    }
}

fn story(row: &StoryRow, now: i64) -> Markup {
    let (name, story) = (parts::crop(&row.name, 120), link::story_name(row.kind, &row.folder));
    let health = row.health.as_str();
    html! {
        li.story data-name=(name) data-chats=(row.chats) data-forks=(row.forks) data-bytes=(row.bytes) data-health=(health)
            data-changed=(row.changed.as_deref().unwrap_or_default()) {
            (parts::picture(row.kind, &row.folder, &row.name))
            div.about {
                a.name href=(link::tree(&story)) { bdi { (name) } }
                p.facts {
                    @if row.kind == StoryKind::Group { span.badge { "group" } }
                    span { (words::count(row.chats, "chat")) }
                    @if row.forks > 0 { span { (words::count(row.forks, "fork")) } }
                    @if row.longest > 0 { span { "longest " (words::number(row.longest)) } }
                }
                p.facts.last {
                    @if let Some(changed) = &row.changed { span { (parts::time(changed, now)) } }
                    span { (words::size(row.bytes)) }
                    @if health != "ok" { (parts::health(row.health)) }
                }
            }
        }
    }
}
