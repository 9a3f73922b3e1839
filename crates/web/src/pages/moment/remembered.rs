//! Where a moment shows what Forklore remembers of its scene. It is asked for when one has come to rest there (`moment-memory.js`): what is
//! remembered is computed, and travelling must not wait for it.

use maud::{Markup, html};

use crate::link;

/// The place for it; without scripts, the way to it.
pub(super) fn remembered(chat: &str, at: usize) -> Markup {
    html! {
        details.remembered data-remembered {
            summary { "What is remembered of this scene" }
            div.told { p { a href=(link::memory(chat, Some(at))) { "The scene, what was learnt, and where it comes from" } } }
        }
    }
}
