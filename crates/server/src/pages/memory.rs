//! What is remembered of a chat, and what it has cost.

use std::sync::Arc;

use axum::Router;
use forklore_api::Failure;
use forklore_api::memory::{self, MomentOf};
use forklore_web::{Page, pages};

use super::frame::page;
use crate::vault::Call;
use crate::vaults::Vaults;

pub(super) fn router() -> Router<Arc<Vaults>> {
    Router::new().route("/memory", page(remembered))
}

#[allow(clippy::needless_pass_by_value, reason = "a page takes what was asked")]
fn remembered(call: &Call, of: MomentOf) -> Result<Page, Failure> {
    let told = call.ask(|open| memory::memory_told(open, &of))?;
    let bill = call.ask(memory::bill)?;
    Ok(pages::memory::page(&told, &bill))
}
