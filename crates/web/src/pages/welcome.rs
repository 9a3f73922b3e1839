//! Before a vault is open: how to get in.

use maud::html;

use crate::{Here, Page};

/// For a browser that has not shown a token. `enter.js` takes it from the address, behind `#`, where only the browser sees it.
pub fn enter() -> Page {
    let body = html! {
        article.lone #enter {
            h1 { "Forklore" }
            p.lead { "This page opens with the address that " code { "forklore serve" } " prints." }
            p { "It ends with " code { "#token=…" } ". Copy all of it into the address bar of this browser." }
            p.quiet { "The token is new each time Forklore is started." }
        }
    };
    Page { here: Here::Outside, title: "Welcome".to_owned(), styles: &["welcome"], scripts: &["enter"], body }
}
