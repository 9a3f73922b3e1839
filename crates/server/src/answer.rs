//! How failures become answers: [`Refused`]. The table of codes has the HTTP status of each.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use forklore_api::{ErrorCode, Failure, document};
use serde::Serialize;

/// The status that goes with a failure.
pub(crate) fn status(failure: &Failure) -> StatusCode {
    StatusCode::from_u16(failure.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A call that makes no sense.
pub(crate) fn usage(message: impl Into<String>) -> Failure {
    Failure::typed(
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

/// Why a request is not answered with what it asks for. Handlers and extractors give it up with `?`.
#[derive(Debug)]
pub(crate) enum Refused {
    /// For a reason that can be told
    Failed(Box<Failure>),
    /// The thread that worked on it died
    Died,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::Failed(failure) => json(status(&failure), &failure.as_json()),
            Self::Died => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}
