//! Stories that leave, and stories that arrive: the pages, the file that is downloaded, and the one that is sent.

use std::io::{self, Write};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use forklore_api::export_import::{self, Arriving, Leaving};
use forklore_api::{ErrorCode, Failure};
use forklore_core::format::names::sanitize;
use forklore_engine::import::ImportReport;
use forklore_fs::{Identity, OpenFile};
use forklore_web::{Page, link, pages};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::act::{Asked, told};
use super::frame::page;
use crate::answer::{Refused, json, refused};
use crate::events::{Event, VaultChange};
use crate::extract::{Query, bytes};
use crate::form::Fields;
use crate::vault::{Call, Work};
use crate::vaults::Vaults;

/// The largest file that is taken: all of it is in memory.
const LARGEST: usize = 60 << 20;
/// So much of a file is sent at once.
const PIECE: usize = 256 << 10;

pub(super) fn router() -> Router<Arc<Vaults>> {
    Router::new().route("/export", page(export)).route("/export-file", get(file)).route(
        "/import",
        page(|_, _: Asked| Ok(pages::transfer::import())).merge(axum::routing::post(import)),
    )
}

fn leaving(asked: Asked) -> Result<Leaving, Failure> {
    let fields = Fields(asked);
    Ok(Leaving {
        what: fields.needed("what")?,
        line: fields.flag("line"),
        with_card: fields.flag("with_card"),
        no_history: fields.flag("no_history"),
        media: fields.flag("media"),
    })
}

fn export(call: &Call, asked: Asked) -> Result<Page, Failure> {
    let leaving = leaving(asked)?;
    let plan = call.ask(|open| Ok(export_import::export(open, &leaving)?.report().clone()));
    Ok(pages::transfer::export(&leaving, &told(plan)))
}

/// Writes into a channel, piece by piece: the file can be larger than the memory that there is.
struct Pieces {
    out: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Pieces {
    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        if piece.is_empty() {
            return Ok(());
        }
        // Nobody takes it any more: whoever downloads has gone.
        self.out.blocking_send(Ok(piece.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Pieces {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(buf);
        if self.piece.len() >= PIECE {
            self.send()?;
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

/// The file. A connection that ends before the file does leaves one that says that it is not whole.
async fn file(call: Call, Query(asked): Query<Asked>) -> Result<Response, Refused> {
    let leaving = leaving(asked)?;
    let (out, pieces) = mpsc::channel::<io::Result<Bytes>>(4);
    let (name_out, name) = tokio::sync::oneshot::channel::<Result<String, Failure>>();
    let work = call.work(Work::Look, move |call| {
        call.ask(|open| {
            let ready = match export_import::export(open, &leaving) {
                Ok(ready) => ready,
                Err(failure) => {
                    let _gone = name_out.send(Err(failure));
                    return Ok(());
                }
            };
            let _gone = name_out.send(Ok(named_after(&ready.report().name)));
            let mut pieces = Pieces { out: out.clone(), piece: Vec::new() };
            let written = ready.write(open, &mut pieces).map(|_| ());
            if written.is_err() || pieces.flush().is_err() {
                let _gone = out.blocking_send(Err(io::ErrorKind::Other.into()));
            }
            Ok(())
        })
    });
    tokio::spawn(work);
    let gone = || refused(ErrorCode::Io, "The file could not be made", "Try again.");
    let name = name.await.map_err(|_| gone())??;
    let body = stream::unfold(pieces, async |mut pieces| pieces.recv().await.map(|piece| (piece, pieces)));
    // Whoever sends it asks once more after its end.
    let body = body.fuse();
    let told = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename*=UTF-8''{}", percent(&name))),
    ];
    Ok((told, Body::from_stream(body)).into_response())
}

fn named_after(story: &str) -> String {
    let name = sanitize(story);
    format!("{}.forklore", if name.is_empty() { "story" } else { &name })
}

/// As names of files stand in headers.
fn percent(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// A file that was sent.
struct Sent(Bytes);

impl OpenFile for Sent {
    fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { file: 0, len: self.0.len() as u64, modified: 0, changed: 0 })
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.0.len(), |at| at.min(self.0.len()));
        let n = (self.0.len() - start).min(buf.len());
        buf[..n].copy_from_slice(&self.0[start..start + n]);
        Ok(n)
    }
}

/// How a file is taken.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Taking {
    #[serde(default)]
    dry_run: bool,
}

/// What would come in, or where to look at what did.
#[derive(Debug, Serialize)]
struct Taken {
    html: Option<String>,
    to: Option<String>,
}

async fn import(
    _: HeaderMap,
    call: Call,
    Query(taking): Query<Taking>,
    request: Request,
) -> Result<Response, Refused> {
    let too_large = || {
        refused(
            ErrorCode::TooLarge,
            "The file is larger than 60 MB",
            "Import it on the machine that Forklore runs on.",
        )
    };
    let sent = Sent(bytes(request, LARGEST).await?.ok_or_else(too_large)?);
    let work = if taking.dry_run { Work::Look } else { Work::Change };
    let taken = call.work(work, move |call| {
        let arriving = Arriving { into: None, dry_run: taking.dry_run };
        if taking.dry_run {
            let plan = call.ask(|open| export_import::import(open, &arriving, &sent));
            return Ok(Taken { html: Some(pages::transfer::arriving(&told(plan)).into_string()), to: None });
        }
        let report: ImportReport = call.change(|open| export_import::import(open, &arriving, &sent))?;
        call.vault.tell(Event::Change(VaultChange::vault()));
        let to = report.operation.as_deref().map_or_else(link::stories, link::done);
        Ok(Taken { html: None, to: Some(to) })
    });
    Ok(json(StatusCode::OK, &taken.await?))
}
