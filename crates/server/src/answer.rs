//! How failures become answers: [`status`] decides the HTTP status of every code, in one place.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use forklore_api::{Failure, Kind, document};
use serde::Serialize;

/// The status that goes with a failure.
pub(crate) fn status(failure: &Failure) -> StatusCode {
    match (failure.code, failure.kind) {
        ("NO_TOKEN" | "CODE_USED", _) => StatusCode::UNAUTHORIZED,
        ("WRONG_HOST" | "WRONG_ORIGIN" | "NOT_ALLOWED", _) => StatusCode::FORBIDDEN,
        ("WRONG_METHOD", _) => StatusCode::METHOD_NOT_ALLOWED,
        ("TOO_LARGE", _) => StatusCode::PAYLOAD_TOO_LARGE,
        ("TOO_SLOW", _) => StatusCode::REQUEST_TIMEOUT,
        ("OVERLOADED", _) => StatusCode::SERVICE_UNAVAILABLE,
        (
            "NO_ROUTE"
            | "CHAT_NOT_FOUND"
            | "STORY_NOT_FOUND"
            | "MESSAGE_NOT_FOUND"
            | "SWIPE_NOT_FOUND"
            | "OPERATION_NOT_FOUND"
            | "NOT_IN_TRASH"
            | "WAIT_NOT_FOUND"
            | "NO_PICTURE"
            | "CONFIG_UNKNOWN_KEY",
            _,
        ) => StatusCode::NOT_FOUND,
        (_, Kind::Usage) => StatusCode::BAD_REQUEST,
        (_, Kind::Refused) => StatusCode::CONFLICT,
        (_, Kind::Io) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// A call that makes no sense.
pub(crate) fn usage(message: impl Into<String>) -> Failure {
    Failure::new(
        Kind::Usage,
        "USAGE",
        message,
        "docs/formats/http.md and api/openapi.json tell how it is called.",
    )
}

/// A refusal that is the server's own.
pub(crate) fn refused(code: &'static str, message: impl Into<String>, hint: &str) -> Failure {
    Failure::new(Kind::Refused, code, message, hint)
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
