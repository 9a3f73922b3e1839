//! Sliding along a line: a moment, the steps of its slider, two moments side by side, and two lines to bring together.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use forklore_api::moment::{self, SliderStep};
use forklore_api::{Failure, look, merge};
use forklore_web::pages::moment::Shown;
use forklore_web::{Page, pages};
use serde::Deserialize;

use super::frame::page;
use crate::answer::{Refused, json};
use crate::extract::Query;
use crate::vault::{Call, Work};
use crate::vaults::Vaults;

pub(super) fn router() -> Router<Arc<Vaults>> {
    Router::new()
        .route("/moment", page(moment))
        .route("/step", get(step))
        .route("/compare", page(compare))
        .route("/bring", page(bring))
}

#[allow(clippy::needless_pass_by_value, reason = "a page takes what was asked")]
fn moment(call: &Call, step: SliderStep) -> Result<Page, Failure> {
    let moment = call.ask(|open| moment::moment(open, &step))?;
    Ok(pages::moment::page(&moment, &Shown { entries: step.entries, find: step.find }))
}

/// What becomes another when the slider is moved.
async fn step(call: Call, Query(step): Query<SliderStep>) -> Result<Response, Refused> {
    let all = step.from.is_none();
    let made = move |call: &Call| {
        let moment = call.ask(|open| moment::moment(open, &step))?;
        let known = step.known.as_deref().unwrap_or_default().split(',').collect();
        Ok(pages::moment::step(&moment, &known, all))
    };
    Ok(json(StatusCode::OK, &call.work(Work::Look, made).await?))
}

/// Two moments: as the API names them. A form sends what was left empty as an empty text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    a: String,
    a_at: Option<String>,
    b: Option<String>,
    b_at: Option<String>,
}

fn compare(call: &Call, pair: Pair) -> Result<Page, Failure> {
    let number = |text: Option<String>| {
        let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let not = |text: &str| Failure::usage(format!("\"{text}\" is no number of a message"));
        text.map(|text| text.parse().map_err(|_| not(&text))).transpose()
    };
    let pair = look::Pair {
        a_at: number(pair.a_at)?,
        b_at: number(pair.b_at)?,
        a: pair.a,
        b: pair.b.filter(|b| !b.is_empty()),
    };
    let companions = call.ask(|open| moment::companions(open, &pair.a))?;
    match call.ask(|open| look::diff(open, &pair.spots())) {
        Ok(report) => {
            let onward = call.ask(|open| moment::onward(open, &report))?;
            Ok(pages::compare::page(&report, &onward, &companions))
        }
        // A chat that is no fork, and no second one: there is something to choose first.
        Err(_) if pair.b.is_none() && pair.b_at.is_none() => {
            Ok(pages::compare::choose(&pair.a, pair.a_at, &companions))
        }
        Err(failure) => Err(failure),
    }
}

/// The line that goes on, and the one whose lore comes along.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    a: String,
    b: Option<String>,
}

fn bring(call: &Call, lines: Lines) -> Result<Page, Failure> {
    let companions = call.ask(|open| moment::companions(open, &lines.a))?;
    match lines.b.filter(|b| !b.is_empty() && *b != lines.a) {
        Some(b) => {
            let pair = merge::Together { chat: lines.a, from: b };
            Ok(pages::bring::page(&call.ask(|open| merge::together(open, &pair))?, &companions))
        }
        None => Ok(pages::bring::choose(&lines.a, &companions)),
    }
}
