//! Forklore's pages: pure functions from the reports of `forklore-api` to HTML.
//!
//! * [`Page`] is what a page has to say; [`Frame`] is what stands around it (`layout`). Together they are a document.
//! * [`pages`] has one module a page. None of them asks anything: the server asks the vault and hands over the report.
//! * [`link`] knows the addresses of pages. All of them are relative and none has a slash in it, so that everything works below any
//!   path prefix.
//! * [`assets`] are the style sheets and scripts. They are in the program; there is nothing to install and nothing to build.
//!
//! What a story says is text. It goes through `maud`, which escapes everything, and a page can neither run nor load anything that is
//! not Forklore's own ([`POLICY`]): no page has a script, a style or a handler inside.

pub mod assets;
mod layout;
pub mod link;
mod names;
pub mod pages;
mod policy;
mod prose;
pub mod words;

pub use layout::{Frame, Here, Page, Through};
pub use maud::{Markup, html};
pub use policy::POLICY;
