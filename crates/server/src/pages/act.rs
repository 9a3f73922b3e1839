//! The pages that change something: each shows first what would come of it. [`router`] has them, and the one place that forms are
//! sent to.
//!
//! A form is sent to `act` as browsers send forms, and answered with the way to the page that shows what came of it; a script sends
//! the same fields as JSON and is answered with JSON. Both need what every change needs: the token, and if it comes as a cookie, an
//! `Origin` that is ours (`guard`).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequest as _, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use forklore_api::look::{self, OneChat};
use forklore_api::ops::{self, Cleaning, Deletion, Limit, Renaming};
use forklore_api::{Failure, FailureReport, config, fork, heal, retention};
use forklore_config::Value;
use forklore_web::pages::act::Waiting;
use forklore_web::pages::retention::Said;
use forklore_web::{Page, pages};
use serde::Serialize;

use super::frame::{failed, frame, page};
use crate::answer::{Refused, json, usage};
use crate::form::Fields;
use crate::vault::{Call, Work};
use crate::vaults::Vaults;
use crate::{actions, queued_forks};

/// How many operations the log shows at first.
const SHOWN: usize = 100;

pub(super) fn router() -> Router<Arc<Vaults>> {
    Router::new()
        .route("/act", page(act).merge(post(perform)))
        .route("/done", page(done))
        .route("/health", page(health))
        .route("/heal", page(preview))
        .route("/log", page(log))
        .route("/keep", page(history))
        .route("/settings", page(settings))
}

pub(super) type Asked = BTreeMap<String, String>;

fn act(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let fields = Fields(asked);
    if let Some(wish) = fields.fork()? {
        let mut plan = call.ask(|open| fork::plan(open, &wish))?;
        let warned = "checkpoint.show_warnings";
        if call.ask(|open| config::setting(open, config::Who::Anybody, warned))?.value == Value::Flag(false)
            && let Some(report) = &mut plan.report
        {
            report.warnings.clear();
        }
        let waits = queued_forks::list(call).waits.into_iter().filter(|wait| wait.chat == wish.chat);
        let waits: Vec<Waiting> =
            waits.map(|wait| Waiting { id: wait.id, kind: wait.kind, at: wait.at }).collect();
        return Ok(pages::act::fork(&wish, &plan, &waits));
    }
    let chat = fields.needed("chat")?;
    match fields.text("kind").unwrap_or_default() {
        "rename" => {
            call.ask(|open| look::queue(open, &OneChat { chat: chat.clone() }))?;
            let name = fields.text("name");
            #[allow(clippy::result_large_err, reason = "one for a page")]
            let plan = name.map(|name| {
                let of = Renaming { chat: chat.clone(), name: name.to_owned(), dry_run: true };
                told(call.ask(|open| ops::rename(open, &of)))
            });
            Ok(pages::act::rename(&chat, name, plan.as_ref()))
        }
        "delete" => {
            let of = Deletion { chat: chat.clone(), dry_run: true };
            Ok(pages::act::delete(&chat, &told(call.ask(|open| ops::delete(open, &of)))))
        }
        other => Err(usage(format!("Nobody knows how to {other:?}"))),
    }
}

#[allow(clippy::result_large_err, reason = "one for a page")]
pub(super) fn told<T>(done: Result<T, Failure>) -> Result<T, FailureReport> {
    done.map_err(|failure| failure.told())
}

fn done(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let id = Fields(asked).needed("operation")?;
    let (action, redo) = call.ask(|open| ops::action(open, &id))?;
    let chat = action.entry.chat.clone();
    let there = |chat: String| call.ask(|open| look::queue(open, &OneChat { chat: chat.clone() })).is_ok();
    let is_there = chat.is_some_and(there);
    Ok(pages::act::done(&action, redo.as_deref(), is_there))
}

fn health(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let fields = Fields(asked);
    let [chat, story] = ["chat", "story"].map(|name| fields.text(name).map(str::to_owned));
    let of = look::Patient { chat, story };
    let report = call.ask(|open| look::health(open, &of))?;
    Ok(pages::health::page(&report, of.chat.as_deref()))
}

fn preview(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let fields = Fields(asked);
    let (chat, choices) = (fields.text("chat").map(str::to_owned), fields.choices()?);
    let cure = heal::Cure { chat, choices, dry_run: true, ..heal::Cure::default() };
    let plan = told(call.ask(|open| heal::heal(open, &cure)));
    Ok(pages::health::preview(cure.chat.as_deref(), &cure.choices, &plan))
}

fn log(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let limit = Limit { limit: (!Fields(asked).flag("all")).then_some(SHOWN) };
    let actions = call.ask(|open| ops::actions(open, &limit))?;
    let (trash, _) = call.ask(ops::trash)?;
    let earlier = call.ask(forklore_api::notes::earlier)?;
    Ok(pages::log::page(&actions, &trash, &earlier))
}

fn settings(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let report = call.ask(|open| config::settings(open, config::Who::Anybody))?;
    Ok(pages::settings::page(&report, Fields(asked).text("saved")))
}

fn history(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let fields = Fields(asked);
    let plan = call.ask(|open| retention::forget(open, &fields.rules(true)?))?;
    let clean = call.ask(|open| ops::gc(open, &Cleaning { dry_run: true, ..Cleaning::default() }))?;
    let days = match call.ask(|open| config::setting(open, config::Who::Anybody, "trash.days"))?.value {
        Value::Number(days) => days,
        _ => 0,
    };
    let said = if let Some(forgot) = fields.number("forgot")? {
        Some(Said::Forgot(forgot))
    } else if let (Some(before), Some(after)) = (fields.number("before")?, fields.number("after")?) {
        Some(Said::Pruned(before, after))
    } else if let Some(freed) = fields.number("cleaned")? {
        Some(Said::Cleaned(freed))
    } else {
        fields.flag("set").then_some(Said::Set)
    };
    Ok(pages::retention::page(&plan, &clean, days, said))
}

/// Where to look at what was done.
#[derive(Debug, Serialize)]
struct Next {
    to: String,
}

/// Does what a form asks for.
async fn perform(headers: HeaderMap, call: Result<Call, Refused>, request: Request) -> Response {
    let frame = frame(&headers, &call);
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let script = accept.is_some_and(|accept| accept.contains("application/json"));
    match performed(call, request).await {
        Ok(to) if script => json(StatusCode::OK, &Next { to }),
        Ok(to) => match HeaderValue::from_str(&to) {
            Ok(to) => (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        },
        Err(refused) if script => refused.into_response(),
        Err(refused) => failed(&frame, refused),
    }
}

async fn performed(call: Result<Call, Refused>, request: Request) -> Result<String, Refused> {
    // Nobody reads what a stranger sends.
    let call = call?;
    let fields = Fields::from_request(request, &()).await?;
    call.work(Work::Change, move |call| actions::perform(call, &fields)).await
}
