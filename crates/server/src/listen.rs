//! [`serve`]: connections, and their limits. Whoever says nothing is not waited for long; when there are too many, those who say nothing
//! go first; when the server ends, what was asked is answered.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt as _;

use crate::doorman::leave_room;
use crate::lock::lock;

/// How long a connection may say nothing, or take to say what it wants.
const SILENCE: Duration = Duration::from_secs(10);
/// How long somebody may not take what is answered. Events send something every 15 seconds.
const DEAF: Duration = Duration::from_secs(30);
/// How many connections there can be: well below what a system lets a process open.
const MOST: usize = 400;
/// How long requests that are under way are waited for when the server ends.
const DRAIN: Duration = Duration::from_secs(10);

/// Those who are connected, oldest first.
#[derive(Default)]
struct Guests(Mutex<Vec<Arc<Guest>>>);

/// One connection.
#[derive(Default)]
struct Guest {
    /// How many answers it waits for, or is being sent
    busy: AtomicUsize,
    sent_away: Notify,
}

impl Guests {
    /// Lets one in. If there are too many, the oldest that wants nothing goes; if all want something, nobody comes in.
    fn admit(&self) -> Option<Arc<Guest>> {
        let mut all = lock(&self.0);
        if all.len() >= MOST {
            let idle = all.iter().position(|guest| guest.busy.load(Ordering::Relaxed) == 0)?;
            all.remove(idle).sent_away.notify_one();
        }
        let guest = Arc::new(Guest::default());
        all.push(guest.clone());
        Some(guest)
    }

    fn leave(&self, guest: &Arc<Guest>) {
        lock(&self.0).retain(|other| !Arc::ptr_eq(other, guest));
    }
}

/// An answer that is owed.
struct Busy(Arc<Guest>);

impl Busy {
    fn new(guest: &Arc<Guest>) -> Self {
        guest.busy.fetch_add(1, Ordering::Relaxed);
        Self(guest.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is sent, and that it is being sent.
struct Sending {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Answers until `end` comes. `ending` is called then: it ends what would never end by itself.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    prefix: &str,
    end: impl Future<Output = ()>,
    ending: impl FnOnce(),
) -> io::Result<()> {
    let guests = Arc::new(Guests::default());
    let connections = GracefulShutdown::new();
    let mut end = pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let Ok((stream, _)) = accepted else {
            // It was gone again, or the system has no more to give just now.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let Some(guest) = guests.admit() else { continue };
        let service = {
            let (app, guest, prefix) = (app.clone(), guest.clone(), prefix.to_owned());
            service_fn(move |request: Request<Incoming>| {
                let (app, busy) = (app.clone(), Busy::new(&guest));
                let request = enter(request.map(Body::new), &prefix);
                async move {
                    let Ok(response) = app.oneshot(request).await;
                    Ok::<_, Infallible>(response.map(|body| Body::new(Sending { body, _busy: busy })))
                }
            })
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(DEAF));
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(SILENCE);
        let connection = server.serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = connections.watch(connection);
        let guests = guests.clone();
        tokio::spawn(async move {
            tokio::select! {
                // However it ended: there is nobody left to tell.
                _over = connection => {}
                () = guest.sent_away.notified() => {}
            }
            guests.leave(&guest);
        });
    }
    drop(listener);
    ending();
    // Work that takes longer is finished or taken back by whoever comes next.
    let _late = tokio::time::timeout(DRAIN, connections.shutdown()).await;
    Ok(())
}

/// A request, with the room that it comes from beside it instead of in its path.
fn enter(mut request: Request, prefix: &str) -> Request {
    // Who shows a token needs no room, and must not get past anybody who looks at paths on the way.
    if request.headers().contains_key(header::AUTHORIZATION) {
        return request;
    }
    if let Some((uri, room)) = leave_room(request.uri(), prefix) {
        *request.uri_mut() = uri;
        request.extensions_mut().insert(room);
    }
    request
}
