//! What a request says, taken out of it by axum's extractors: [`Call`] is the vault that it is about, [`Query`] what stands in its address,
//! [`Body`] what it sends, [`Key`] that it may open vaults. What they refuse is refused as everything is ([`Refused`]).

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{self, FromRequest, FromRequestParts, Request};
use axum::http::header;
use axum::http::request::Parts;
use forklore_api::{ErrorCode, Failure};
use serde::de::DeserializeOwned;

use crate::answer::{Refused, refused, usage};
use crate::doorman::Room;
use crate::guard::{session, token};
use crate::vault::Call;
use crate::vaults::Vaults;

/// The largest body of an ordinary request.
pub(crate) const ORDINARY: usize = 1 << 20;
/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

impl FromRequestParts<Arc<Vaults>> for Call {
    type Rejection = Refused;

    /// Which vault a request is about: its token says it, or a browser's session.
    async fn from_request_parts(parts: &mut Parts, vaults: &Arc<Vaults>) -> Result<Self, Refused> {
        let shown = token(&parts.headers);
        let vault = match (shown, parts.extensions.get::<Room>()) {
            (Some(token), _) => vaults.find(token),
            (None, Some(Room(room))) => {
                let doorman = &vaults.doorman;
                let sessions = session(&parts.headers, &parts.method, &doorman.cookie)?;
                sessions.into_iter().find_map(|id| doorman.find(id, room))
            }
            (None, None) => None,
        };
        let Some(vault) = vault else {
            return Err(no_vault(shown.is_some_and(|token| vaults.is_key(token))).into());
        };
        let request = parts.headers.get("x-forklore-request").and_then(|value| value.to_str().ok());
        let request = request.map(|text| text.chars().take(64).collect());
        Ok(Self { vault, request })
    }
}

fn no_vault(shows_key: bool) -> Failure {
    if shows_key {
        let message = "The key opens vaults and nothing else";
        return refused(ErrorCode::NotAllowed, message, "Use the token of a vault.");
    }
    let hint = "Send the header \"Authorization: Bearer TOKEN\"; `forklore serve --json` prints the token.";
    refused(ErrorCode::NoToken, "No vault is opened by this request", hint)
}

/// Lets only whoever has the key pass.
pub(crate) struct Key;

impl FromRequestParts<Arc<Vaults>> for Key {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, vaults: &Arc<Vaults>) -> Result<Self, Refused> {
        let shown = token(&parts.headers);
        if shown.is_some_and(|shown| vaults.is_key(shown)) {
            return Ok(Self);
        }
        let failure = match shown.and_then(|token| vaults.find(token)) {
            Some(_) => refused(ErrorCode::NotAllowed, "A vault's token opens no other vault", "Use the key."),
            None => {
                let hint = "Start `forklore serve --managed`.";
                refused(ErrorCode::NoToken, "Vaults are opened with the key", hint)
            }
        };
        Err(failure.into())
    }
}

/// What is asked in the address.
pub(crate) struct Query<Q>(pub(crate) Q);

impl<Q: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<Q> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let query = extract::Query::<Q>::try_from_uri(&parts.uri);
        let wrong = |e: extract::rejection::QueryRejection| {
            usage(format!("The query is not understood: {}", e.body_text()))
        };
        let extract::Query(query) = query.map_err(wrong)?;
        Ok(Self(query))
    }
}

/// What a request sends, if it is JSON and not larger than `MOST` bytes.
pub(crate) struct Body<B, const MOST: usize = ORDINARY>(pub(crate) B);

impl<B: DeserializeOwned, S: Sync, const MOST: usize> FromRequest<S> for Body<B, MOST> {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        Ok(Self(body(request, MOST).await?))
    }
}

async fn body<B: DeserializeOwned>(request: Request, most: usize) -> Result<B, Failure> {
    let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_lowercase();
    let too_large = || {
        let message = format!("The body is larger than {most} bytes");
        refused(ErrorCode::TooLarge, message, "Send less at once.")
    };
    let told = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if told.and_then(|text| text.parse::<usize>().ok()).is_some_and(|len| len > most) {
        return Err(too_large());
    }
    let bytes = bytes(request, most).await?.ok_or_else(too_large)?;
    if bytes.is_empty() {
        return serde_json::from_slice(b"{}").map_err(|e| usage(format!("The body is empty: {e}")));
    }
    if media != "application/json" {
        return Err(usage("The body is no JSON: its Content-Type is not application/json"));
    }
    serde_json::from_slice(&bytes).map_err(|e| usage(format!("The body is not understood: {e}")))
}

/// All bytes of a body, if they come in time; nothing if they are too many.
pub(crate) async fn bytes(request: Request, most: usize) -> Result<Option<Bytes>, Failure> {
    let all = tokio::time::timeout(PATIENCE, axum::body::to_bytes(request.into_body(), most));
    let late =
        |_| refused(ErrorCode::TooSlow, "The body did not arrive in time", "Send it again, all at once.");
    Ok(all.await.map_err(late)?.ok())
}
