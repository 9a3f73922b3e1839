//! The pages that change something: each shows first what would come of it. [`router`] has them, and the one place that forms are
//! sent to.
//!
//! A form is sent to `act` as browsers send forms, and answered with the way to the page that shows what came of it; a script sends
//! the same fields as JSON and is answered with JSON. Both need what every change needs: the token, and if it comes as a cookie, an
//! `Origin` that is ours (`guard`).

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use forklore_api::fork::{self, Possible};
use forklore_api::look::{self, AnyChat, OneChat};
use forklore_api::ops::{self, Cleaning, Deletion, Limit, Renaming};
use forklore_api::{ErrorCode, Failure, FailureReport, config, heal, retention};
use forklore_config::Value;
use forklore_web::pages::act::{Waiting, Wish};
use forklore_web::pages::retention::Said;
use forklore_web::{Frame, Page, pages};
use serde::Serialize;

use super::{answer, page, through};
use crate::actions::{self, Fields};
use crate::answer::{failed, json, refused, status, usage};
use crate::queued_forks;
use crate::table::{ORDINARY, body, bytes, called};
use crate::vaults::{Call, Vaults, Work, work};

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
}

type Asked = BTreeMap<String, String>;

fn act(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let fields = Fields(asked);
    let chat = fields.needed("chat")?;
    if let Some(kind) = fields.fork_kind() {
        let wish = Wish {
            kind,
            chat,
            at: fields.number("at")?,
            name: fields.text("name").map(str::to_owned),
            swipe: fields.number("swipe")?,
            strict: fields.choice("strict"),
            copy_book: fields.flag("copy_book"),
            ignore_queue: fields.flag("ignore_queue"),
        };
        let possible = Possible {
            kind,
            chat: wish.chat.clone(),
            at: wish.at,
            name: wish.name.clone(),
            swipe: wish.swipe,
            ignore_queue: wish.ignore_queue,
            strict: wish.strict,
            copy_book: wish.copy_book,
        };
        let mut plan = call.ask(|open| fork::plan(open, &possible))?;
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
fn told<T>(done: Result<T, Failure>) -> Result<T, FailureReport> {
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
    let of = AnyChat { chat: Fields(asked).text("chat").map(str::to_owned) };
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
    Ok(pages::log::page(&actions, &trash))
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
async fn perform(State(vaults): State<Arc<Vaults>>, request: Request) -> Response {
    let through = through(request.headers());
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let script = accept.is_some_and(|accept| accept.contains("application/json"));
    let call = match called(&vaults, &request) {
        Ok(call) => call,
        Err(failure) if script => return failed(&failure),
        Err(failure) => {
            let frame = Frame { vault: String::new(), through };
            return answer(status(&failure), &frame, &pages::failure::page(&failure));
        }
    };
    let frame = Frame { vault: call.vault.name(), through };
    let done = match fields(request).await {
        Ok(fields) => work(call.vault.clone(), Work::Change, move || actions::perform(&call, &fields)).await,
        Err(failure) => Ok(Err(failure)),
    };
    match done {
        Ok(Ok(to)) if script => json(StatusCode::OK, &Next { to }),
        Ok(Ok(to)) => match HeaderValue::from_str(&to) {
            Ok(to) => (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        },
        Ok(Err(failure)) if script => failed(&failure),
        Ok(Err(failure)) => answer(status(&failure), &frame, &pages::failure::page(&failure)),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The fields that are sent, as a form or as JSON.
async fn fields(request: Request) -> Result<Fields, Failure> {
    let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !media.is_some_and(|media| media.starts_with("application/x-www-form-urlencoded")) {
        return Ok(Fields(body(request, ORDINARY).await?));
    }
    let too_large = || refused(ErrorCode::TooLarge, "The form is too large", "Send less at once.");
    let bytes = bytes(request, ORDINARY).await?.ok_or_else(too_large)?;
    Ok(Fields(form_urlencoded::parse(&bytes).into_owned().collect()))
}
