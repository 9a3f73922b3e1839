//! Looking back: the timeline of an entry, what happened to a chat, and what would come back.

use std::sync::Arc;

use axum::Router;
use forklore_api::past::{self, Blaming, Looking};
use forklore_api::{ErrorCode, Failure};
use forklore_web::{Page, pages};

use super::act::{Asked, told};
use super::frame::page;
use crate::form::Fields;
use crate::vault::Call;
use crate::vaults::Vaults;

/// How many lines of history are shown at first.
const SHOWN: usize = 60;

pub(super) fn router() -> Router<Arc<Vaults>> {
    Router::new()
        .route("/entry", page(entry))
        .route("/past", page(history))
        .route("/bring-back", page(bring_back))
}

fn entry(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let fields = Fields(asked);
    let of = Blaming {
        chat: fields.needed("chat")?,
        entry: Some(fields.needed("entry")?),
        at: fields.number("at")?,
    };
    let blamed = call.ask(|open| past::blame(open, &of));
    let report = match blamed {
        // It is gone by now: as it was before it went.
        Err(failure) if failure.code == ErrorCode::EntryNotFound && of.at.is_none() => {
            let removed = failure.told().details["removed"].as_u64().and_then(|at| usize::try_from(at).ok());
            let Some(at) = removed.and_then(|at| at.checked_sub(1)) else { return Err(failure) };
            let earlier = Blaming { at: Some(at), ..of.clone() };
            call.ask(|open| past::blame(open, &earlier))?
        }
        blamed => blamed?,
    };
    let looking = Looking { chat: of.chat, book: true, ..Looking::default() };
    let past = call.ask(|open| past::history(open, &looking))?;
    Ok(pages::past::entry(&report, &past))
}

fn history(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let fields = Fields(asked);
    let limit = (!fields.flag("all")).then_some(SHOWN);
    let looking = Looking { chat: fields.needed("chat")?, limit, ..Looking::default() };
    Ok(pages::past::history(&call.ask(|open| past::history(open, &looking))?))
}

fn bring_back(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let of = Fields(asked).bringing(true)?;
    Ok(pages::past::restore(&of, &told(call.ask(|open| past::restore(open, &of)))))
}
