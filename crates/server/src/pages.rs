//! The pages for people, beside the API: each asks the vault what the API would ask, and hands the report to `forklore-web`.
//!
//! A page is answered to whoever the API answers. A browser shows a session as a cookie, which it gets for a code that works once
//! (`POST api/session`); a page asked for without one is the page that tells how to get in.

mod act;
mod frame;
mod memory;
mod past;
mod slider;
mod transfer;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use forklore_api::{ErrorCode, look};
use forklore_web::{assets, pages};
use serde::Deserialize;

use self::frame::{failed, page};
use crate::answer::{Refused, refused};
use crate::extract::Query;
use crate::vault::{Call, Work};
use crate::vaults::Vaults;

/// Nothing is asked.
#[derive(Debug, Deserialize)]
struct Nothing {}

/// The first page. It is apart from the others because its path depends on what everything is below: it ends with a slash there, or
/// the addresses in it, which are relative, would lead elsewhere.
pub(crate) fn home() -> MethodRouter<Arc<Vaults>> {
    page(|call, _: Nothing| {
        let report = call.ask(look::stories)?;
        Ok(pages::stories::page(&report, forklore_api::now()))
    })
}

/// All other pages.
pub(crate) fn router() -> Router<Arc<Vaults>> {
    let tree = page(|call, of: look::AnyStory| {
        let report = call.ask(|open| look::tree(open, &of))?;
        let none =
            || refused(ErrorCode::StoryNotFound, "There is no such story", "Choose one of the stories.");
        pages::tree::page(&report, forklore_api::now()).ok_or_else(none)
    });
    Router::new()
        .route("/assets/{edition}/{name}", get(asset))
        .route("/picture", get(picture))
        .route("/tree", tree)
        .merge(memory::router())
        .merge(slider::router())
        .merge(act::router())
        .merge(past::router())
        .merge(transfer::router())
}

/// There is nothing at an address: a page for people, a document for programs.
pub(crate) fn nothing(headers: &HeaderMap, call: &Result<Call, Refused>) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !accept.is_some_and(|accept| accept.contains("text/html")) {
        let hint = "docs/formats/http.md and api/openapi.json tell what there is.";
        return Refused::from(refused(ErrorCode::NoRoute, "There is nothing here", hint)).into_response();
    }
    let hint = "The address may be mistyped, or of another version of Forklore.";
    failed(&frame::frame(headers, call), refused(ErrorCode::NoRoute, "There is no such page", hint).into())
}

/// A picture of one point that cannot be seen.
const NO_PICTURE: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// The picture of a story.
async fn picture(
    headers: HeaderMap,
    call: Call,
    Query(of): Query<look::OneStory>,
) -> Result<Response, Refused> {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
    let found = move |call: &Call| call.ask(|open| forklore_api::picture(open, &of, known.as_deref()));
    let picture = match call.work(Work::Look, found).await {
        Ok(picture) => picture,
        // No picture is nothing to complain about: one that cannot be seen lets what stands below it be seen.
        Err(Refused::Failed(failure)) if failure.code == ErrorCode::NoPicture => {
            let told = [(header::CONTENT_TYPE, "image/gif"), (header::CACHE_CONTROL, "no-store")];
            return Ok((told, NO_PICTURE).into_response());
        }
        Err(refused) => return Err(refused),
    };
    let mut response = match picture.bytes {
        Some(bytes) => Response::new(Body::from(bytes)),
        None => StatusCode::NOT_MODIFIED.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(picture.media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=60"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    if let Ok(tag) = HeaderValue::from_str(&picture.tag) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}

/// A style sheet or a script. There is nothing secret in them.
async fn asset(Path((edition, name)): Path<(String, String)>) -> Response {
    let Some(asset) = assets::find(&name) else { return StatusCode::NOT_FOUND.into_response() };
    let mut response = Response::new(Body::from(asset.bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media));
    // A page that was open during an update asks for the old ones, gets the new ones, and must not keep them under that name.
    let keep = if edition == assets::edition() { "public, max-age=31536000, immutable" } else { "no-store" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    response
}
