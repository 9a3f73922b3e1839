//! What does not work, as a page.

use forklore_api::Failure;
use maud::html;

use crate::{Here, Page, link};

/// A failure: what is wrong, and what to do next.
pub fn page(failure: &Failure) -> Page {
    let body = html! {
        article.lone {
            h1 { "This does not work" }
            p.lead { (failure.message) }
            @if !failure.to_do.is_empty() { p { (failure.to_do) } }
            p { a.button href=(link::stories()) { "Back to the stories" } }
            details.quiet { summary { "For who asks for help" } p { code { (failure.code) } } }
        }
    };
    Page { here: Here::Stories, title: "This does not work".to_owned(), styles: &[], scripts: &[], body }
}
