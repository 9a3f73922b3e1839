//! [`Page`] and [`Frame`]: what a page says, and what stands around it on every page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{assets, link};

/// Which part of the pages one belongs to, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// Stories, trees, moments
    Stories,
    /// What is wrong
    Health,
    /// What Forklore did
    Log,
    /// How it works
    Settings,
    /// Before a vault is open: there is nowhere to go
    Outside,
}

/// What brought the request here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// A browser that asks the server itself
    Browser,
    /// SillyTavern's plugin: changes need SillyTavern's token, and SillyTavern is three folders up
    SillyTavern,
}

impl Through {
    fn word(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::SillyTavern => "sillytavern",
        }
    }
}

/// What a page has to say.
pub struct Page {
    /// Where it belongs
    pub here: Here,
    /// Its title, without "Forklore"
    pub title: String,
    /// The names of its style sheets and scripts, without endings: `tree` stands for `tree.css` or `tree.js`
    pub styles: &'static [&'static str],
    /// See `styles`
    pub scripts: &'static [&'static str],
    /// What is in it, below `<main>`
    pub body: Markup,
}

/// What stands around a page.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Name of the vault's folder; empty if none is open
    pub vault: String,
    /// What brought the request here
    pub through: Through,
}

/// The mark: a line that parts.
const MARK: &str = r#"<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path d="M3 17.5h18"/><path d="M7 17.5c5 0 4-10 9.500-10H21"/><circle cx="7" cy="17.500" r="2.400"/><circle cx="20.500" cy="7.500" r="1.700"/></svg>"#;

impl Frame {
    /// The whole document.
    pub fn around(&self, page: &Page) -> String {
        let Page { here, title, styles, scripts, body } = page;
        let inside = *here != Here::Outside;
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · Forklore" }
                    link rel="icon" type="image/svg+xml" href=(assets::address("icon.svg"));
                    @for name in ["base"].iter().chain(*styles) {
                        link rel="stylesheet" href=(assets::address(&format!("{name}.css")));
                    }
                    script src=(assets::address("theme.js")) {}
                    @for name in inside.then_some("app").iter().chain(*scripts) {
                        script type="module" src=(assets::address(&format!("{name}.js"))) {}
                    }
                }
                body data-through=(self.through.word()) {
                    a.skip href="#main" { "Skip to the content" }
                    header.top {
                        a.home href=(link::stories()) { (PreEscaped(MARK)) "Forklore" }
                        @if inside {
                            nav aria-label="Forklore" {
                                (item(*here, Here::Stories, &link::stories(), "Stories"))
                                (item(*here, Here::Health, &link::health(None), "Health"))
                                (item(*here, Here::Log, &link::log(), "Log"))
                                a.gear href=(link::settings(None)) aria-current=[(*here == Here::Settings).then_some("page")] { "Settings" }
                            }
                            button.tool #finder type="button" aria-keyshortcuts="Control+K /" { "Search" kbd { "Ctrl K" } }
                            button.tool #theme type="button" { span aria-hidden="true" { "◐" } span.unseen { "Light or dark" } }
                            span.vault title="The SillyTavern folder that you look at" { bdi { (self.vault) } }
                        }
                    }
                    main #main tabindex="-1" { (body) }
                    div #notices role="status" aria-live="polite" {}
                }
            }
        };
        document.into_string()
    }
}

fn item(here: Here, there: Here, address: &str, text: &str) -> Markup {
    html! { a href=(address) aria-current=[(here == there).then_some("page")] { (text) } }
}
