//! [`stream()`]: a vault's events as they happen, for whoever listens (server-sent events).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{self, KeepAlive, Sse};
use forklore_api::Failure;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::watch;
use tokio_stream::wrappers::BroadcastStream;

use crate::events::event;
use crate::hello::Hello;
use crate::vault::Vault;

/// How often a line is sent although nothing happens, so that nobody along the way hangs up.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The stream of a vault's events.
pub(crate) fn stream(
    vault: &Arc<Vault>,
    mut ending: watch::Receiver<bool>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>> + use<>>, Failure> {
    let (events, permit) = vault.listen()?;
    let listening = BroadcastStream::new(events);
    vault.watch();
    let hello = event("hello", &Hello::of(vault));
    let events = listening.map(|event_or_lag| match event_or_lag {
        Ok(happened) => happened.write(),
        Err(_) => event("lagged", &serde_json::json!({})),
    });
    let end = async move { drop(ending.wait_for(|ends| *ends).await) };
    let all = stream::once(async move { hello }).chain(events).take_until(end);
    let all = all.map(move |event| {
        // As long as somebody listens.
        let _permit = &permit;
        Ok(event)
    });
    Ok(Sse::new(all).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}
