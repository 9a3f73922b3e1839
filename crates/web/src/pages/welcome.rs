//! Before a vault is open: how to get in, and the first visit.

use maud::html;

use crate::{Here, Page};

/// For a browser that was not let in. `enter.js` takes the code from the address, behind `#`, where only the browser sees it. If the server
/// has no vault yet, it shows the second part instead: which vault it shall be.
pub fn enter() -> Page {
    let body = html! {
        article.lone #enter {
            h1 { "Forklore" }
            p.lead { "This page opens with the address that Forklore printed when it was started." }
            p { "It ends with " code { "#code=…" } ". Copy all of it into the address bar of this browser." }
            p.quiet { "Each address works once. Press Enter where Forklore runs, and it prints another one." }
        }
        article.first #first hidden {
            h1 { "Welcome to Forklore" }
            p.lead { "Fork your story, keep its lore. Which story shall it be?" }
            div.choices {
                section.card {
                    h2 { "My SillyTavern" }
                    p { "The folder that SillyTavern is in, or the folder of a user in it. Your chats are only read until you ask for a change." }
                    ul #folders {}
                    form #folder {
                        label for="path" { "Folder" }
                        input #path name="path" required autocomplete="off" spellcheck="false" placeholder="/home/you/SillyTavern";
                        button.main { "Open" }
                    }
                }
                section.card {
                    h2 { "The demo story" }
                    p { "A short story with branches, a checkpoint, and one fork as SillyTavern makes them, which spoils its parent's lorebook. Everything can be tried on it." }
                    p.quiet { "It is made in " code #demo-place {} " and nowhere else. Delete it whenever you like." }
                    button #demo { "Look at the demo story" }
                }
            }
            p #problem role="alert" {}
        }
    };
    Page { here: Here::Outside, title: "Welcome".to_owned(), styles: &["welcome"], scripts: &["enter"], body }
}
