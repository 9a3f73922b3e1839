//! [`page`]: how a report becomes a document. [`failed`] is the document for those who get none.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use forklore_api::Failure;
use forklore_web::{Frame, POLICY, Page, Through, pages};
use serde::de::DeserializeOwned;

use crate::answer::{Refused, status};
use crate::extract::Query;
use crate::vault::{Call, Work};
use crate::vaults::Vaults;

/// What a script says that waits for a page to be made.
const WAITS: &str = "x-forklore-waits";
/// What the plugin says of itself.
const THROUGH: &str = "x-forklore-through";

/// A page: what is asked stands in the query.
pub(super) fn page<Q: DeserializeOwned + Send + 'static>(
    make: fn(&Call, Q) -> Result<Page, Failure>,
) -> MethodRouter<Arc<Vaults>> {
    type Asked<T> = Result<T, Refused>;
    get(async move |uri: Uri, headers: HeaderMap, call: Asked<Call>, query: Asked<Query<Q>>| {
        let frame = frame(&headers, &call);
        let call = match call {
            Ok(call) => call,
            Err(Refused::Died) => return Refused::Died.into_response(),
            // Whoever has no token is told how to get one.
            Err(Refused::Failed(failure)) => {
                return answer(status(&failure), &frame, &pages::welcome::enter());
            }
        };
        let (vault, address) = (call.vault.clone(), uri.to_string());
        if headers.contains_key(WAITS) {
            vault.slow.over(&address).await;
            return StatusCode::NO_CONTENT.into_response();
        }
        let work = async move {
            match query {
                Ok(Query(query)) => call.work(Work::Look, move |call| make(call, query)).await,
                Err(refused) => Err(refused),
            }
        };
        // Who looks at a page is told when it takes long; a script waits.
        let looks = headers.get("sec-fetch-dest").is_some_and(|dest| dest.as_bytes() == b"document");
        let made = if looks { vault.slow.soon(&address, work).await } else { Some(work.await) };
        let Some(made) = made else { return wait(&frame) };
        match made {
            Ok(page) => answer(StatusCode::OK, &frame, &page),
            Err(refused) => failed(&frame, refused),
        }
    })
}

/// The page that says that another one is being made.
fn wait(frame: &Frame) -> Response {
    let mut response = answer(StatusCode::OK, frame, &pages::waiting::page());
    // Where no script waits for it.
    response.headers_mut().insert(header::REFRESH, HeaderValue::from_static("6"));
    response
}

/// What stands around a page.
pub(super) fn frame(headers: &HeaderMap, call: &Result<Call, Refused>) -> Frame {
    let vault = call.as_ref().map(|call| call.vault.name()).unwrap_or_default();
    Frame { vault, through: through(headers) }
}

/// The page that says why there is no other.
pub(super) fn failed(frame: &Frame, refused: Refused) -> Response {
    match refused {
        Refused::Failed(failure) => answer(status(&failure), frame, &pages::failure::page(&failure)),
        Refused::Died => refused.into_response(),
    }
}

fn through(headers: &HeaderMap) -> Through {
    match headers.get(THROUGH).map(HeaderValue::as_bytes) {
        Some(b"sillytavern") => Through::SillyTavern,
        _ => Through::Browser,
    }
}

/// A document, with everything that browsers must know about it.
fn answer(status: StatusCode, frame: &Frame, page: &Page) -> Response {
    let mut response = Response::new(Body::from(frame.around(page)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        // What a page shows may be another thing a moment later, and is for nobody else.
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
