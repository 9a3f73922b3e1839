//! All stories of a vault.

use forklore_engine::usecase::stories::{StoriesReport, StoryRow};
use maud::{Markup, html};

use super::parts;
use crate::{Here, Page, link, words};

/// The stories.
pub fn page(report: &StoriesReport) -> Page {
    let body = html! {
        h1 { "Stories" }
        ul.stories { @for row in &report.stories { (story(row)) } }
    };
    Page {
        here: Here::Stories,
        title: "Stories".to_owned(),
        styles: &["stories"],
        scripts: &["stories"],
        body,
    }
}

fn story(row: &StoryRow) -> Markup {
    html! {
        li.story {
            a href=(link::tree(&link::story_name(row.kind, &row.folder))) {
                (parts::picture(row.kind, &row.folder, &row.name))
                strong { bdi { (row.name) } }
            }
            p { (words::count(row.chats, "chat")) ", " (words::count(row.forks, "fork")) }
            (parts::health(row.health))
        }
    }
}
