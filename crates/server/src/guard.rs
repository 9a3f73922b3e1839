//! Who is answered at all: [`Places`] are the names that the server goes by. A request that calls it by another name, or comes from
//! another page, is refused before anything is looked at: a page on the internet cannot let a browser talk to a server at home.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use forklore_api::Failure;

use crate::answer::{failed, refused};

/// The names that the server goes by: `127.0.0.1:8377`, `localhost:8377`.
#[derive(Debug)]
pub(crate) struct Places {
    names: Vec<String>,
}

impl Places {
    pub(crate) fn new(address: SocketAddr, hosts: &[String]) -> Self {
        let port = address.port();
        let mut names: Vec<String> = vec![address.to_string().to_lowercase()];
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            names.extend(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")));
        }
        for host in hosts {
            let host = host.to_lowercase();
            // A proxy in front may have another port, or the usual one, which browsers leave out.
            if !has_port(&host) {
                names.push(format!("{host}:{port}"));
            }
            names.push(host);
        }
        Self { names }
    }

    fn knows(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.names.contains(&name)
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let one = |name| {
            let mut all = headers.get_all(name).iter();
            let first = all.next().map(|value| value.to_str().unwrap_or("?"));
            // Two of them mean that somebody along the way read the other one.
            (first, all.next().is_some())
        };
        match one(header::HOST) {
            (Some(host), false) if self.knows(host) => {}
            (host, _) => {
                let message = format!("This server is not called {:?}", host.unwrap_or_default());
                let hint = "Use the address that `forklore serve` prints; other names are given with --host.";
                return Err(refused("WRONG_HOST", message, hint));
            }
        }
        let own = |origin: &str| {
            let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            name.is_some_and(|name| self.knows(name))
        };
        match one(header::ORIGIN) {
            (None, _) => Ok(()),
            (Some(origin), false) if own(origin) => Ok(()),
            (Some(origin), _) => {
                let message = format!("The page {origin:?} may not ask this server");
                Err(refused("WRONG_ORIGIN", message, "Open Forklore's own page, or go through SillyTavern."))
            }
        }
    }
}

fn has_port(host: &str) -> bool {
    host.parse::<IpAddr>().is_err()
        && host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

/// Lets a request pass, or not.
pub(crate) async fn guard(State(places): State<Arc<Places>>, request: Request, next: Next) -> Response {
    match places.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(failure) => failed(&failure),
    }
}

/// The token that a request shows.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// The token that a browser shows as a cookie. A browser sends cookies also for other pages' sake; it never lets such a page read what
/// is answered, but it would let it change something. So whoever changes anything must say which page it is, which every browser
/// does by itself; that it is one of ours has been looked at by then.
pub(crate) fn session<'a>(
    headers: &'a HeaderMap,
    method: &Method,
    cookie: &str,
) -> Result<Option<&'a str>, Failure> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let Some((_, token)) = pairs.find(|(name, _)| *name == cookie) else { return Ok(None) };
    if *method != Method::GET && !headers.contains_key(header::ORIGIN) {
        let message = "Nothing says which page asks for this change";
        return Err(refused(
            "WRONG_ORIGIN",
            message,
            "Use Forklore's own page, or send the token as a header.",
        ));
    }
    Ok(Some(token))
}
