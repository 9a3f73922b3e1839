//! Something takes a while: how far it is, until it is there.

use maud::html;

use crate::{Here, Page};

/// The page that is seen meanwhile.
pub fn page() -> Page {
    let body = html! {
        div.waiting.lone {
            h1 { "One moment" }
            p #how-far role="status" { "Your stories are being looked at. This takes longer the first time." }
            progress aria-label="How far it is" {}
        }
    };
    Page { here: Here::Stories, title: "One moment".to_owned(), styles: &[], scripts: &["waiting"], body }
}
