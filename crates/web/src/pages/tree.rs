//! The fork tree of a story.

use forklore_engine::usecase::tree::TreeReport;
use maud::html;

use super::parts;
use crate::{Here, Page, link};

/// The tree of the first story in a report.
pub fn page(report: &TreeReport) -> Option<Page> {
    let story = report.stories.first()?;
    let body = html! {
        (parts::crumbs(&[(&story.name, None)]))
        h1 { bdi { (story.name) } }
        ul { @for chat in &story.chats { li { a href=(link::moment(&chat.chat, None)) { (chat.chat) } } } }
    };
    Some(Page { here: Here::Stories, title: story.name.clone(), styles: &["tree"], scripts: &["tree"], body })
}
