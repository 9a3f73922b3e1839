//! The pages for people, beside the API: each asks the vault what the API would ask, and hands the report to `forklore-web`.
//!
//! A page is answered to whoever the API answers. A browser shows a session as a cookie, which it gets for a code that works once
//! (`POST api/session`); a page asked for without one is the page that tells how to get in.

mod act;
mod slider;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use forklore_api::{ErrorCode, Failure, look};
use forklore_web::{Frame, POLICY, Page, Through, assets, pages};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::answer::{failed, refused, status};
use crate::table::{called, query};
use crate::vaults::{Call, Vaults, Work, work};

/// What the plugin says of itself.
pub(crate) const THROUGH: &str = "x-forklore-through";

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
        .merge(slider::router())
        .merge(act::router())
}

/// A page: what is asked stands in the query.
fn page<Q: DeserializeOwned + Send + 'static>(
    make: fn(&Call, Q) -> Result<Page, Failure>,
) -> MethodRouter<Arc<Vaults>> {
    let handler = move |State(vaults): State<Arc<Vaults>>, request: Request| async move {
        let through = through(request.headers());
        let call = match called(&vaults, &request) {
            Ok(call) => call,
            // Whoever has no token is told how to get one.
            Err(failure) => {
                let frame = Frame { vault: String::new(), through };
                return answer(status(&failure), &frame, &pages::welcome::enter());
            }
        };
        let frame = Frame { vault: call.vault.name(), through };
        let asked = query::<Q>(&request);
        let made = work(call.vault.clone(), Work::Look, move || make(&call, asked?)).await;
        match made {
            Ok(Ok(page)) => answer(StatusCode::OK, &frame, &page),
            Ok(Err(failure)) => answer(status(&failure), &frame, &pages::failure::page(&failure)),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    };
    get(handler)
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

/// A picture of one point that cannot be seen.
const NO_PICTURE: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// The picture of a story.
async fn picture(State(vaults): State<Arc<Vaults>>, request: Request) -> Response {
    let asked = called(&vaults, &request).and_then(|call| Ok((call, query::<look::OneStory>(&request)?)));
    let (call, of) = match asked {
        Ok(asked) => asked,
        Err(failure) => return failed(&failure),
    };
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let known = known.map(str::to_owned);
    let vault = call.vault.clone();
    let found = move || call.ask(|open| forklore_api::picture(open, &of, known.as_deref()));
    let picture = match work(vault, Work::Look, found).await {
        Ok(Ok(picture)) => picture,
        // No picture is nothing to complain about: one that cannot be seen lets what stands below it be seen.
        Ok(Err(failure)) if failure.code == ErrorCode::NoPicture => {
            return ([(header::CONTENT_TYPE, "image/gif"), (header::CACHE_CONTROL, "no-store")], NO_PICTURE)
                .into_response();
        }
        Ok(Err(failure)) => return failed(&failure),
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
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
    response
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
