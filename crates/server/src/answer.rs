//! How failures become answers. The table of codes has the HTTP status of each.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use forklore_api::{ErrorCode, Failure, document};
use serde::Serialize;

/// The status that goes with a failure.
pub(crate) fn status(failure: &Failure) -> StatusCode {
    StatusCode::from_u16(failure.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A call that makes no sense.
pub(crate) fn usage(message: impl Into<String>) -> Failure {
    Failure::new(
        ErrorCode::Usage,
        message,
        "docs/formats/http.md and api/openapi.json tell how it is called.",
    )
}

/// A refusal that is the server's own.
pub(crate) fn refused(code: ErrorCode, message: impl Into<String>, hint: &str) -> Failure {
    Failure::new(code, message, hint)
}

/// One JSON document.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Response {
    let body = Body::from(
        document(value).unwrap_or_else(|e| document(&Failure::from(e).as_json()).unwrap_or_default()),
    );
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The answer that tells of a failure.
pub(crate) fn failed(failure: &Failure) -> Response {
    json(status(failure), &failure.as_json())
}
