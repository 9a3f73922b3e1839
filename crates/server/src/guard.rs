//! Who is answered at all: [`Places`] are the names that the server goes by. A request that calls it by another name, or comes from
//! another page, is refused before anything is looked at: a page on the internet cannot let a browser talk to a server at home.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use forklore_api::{ErrorCode, Failure};

use crate::answer::{Refused, refused};

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
                return Err(Failure::typed(ErrorCode::WrongHost, message, hint));
            }
        }
        let own = |origin: &str| {
            let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            name.is_some_and(|name| self.knows(name))
        };
        let stranger = |who: &str| {
            let message = format!("{who} may not ask this server");
            refused(ErrorCode::WrongOrigin, message, "Open Forklore's own page, or go through SillyTavern.")
        };
        match one(header::ORIGIN) {
            (None, _) => {}
            (Some(origin), false) if own(origin) => {}
            (Some(origin), _) => return Err(stranger(&format!("The page {origin:?}"))),
        }
        // Browsers say it by themselves, also where they name no origin: a picture, a script, a frame on another page. Only following a
        // link is everybody's right; it shows nothing to the page that has the link.
        let said = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
        let follows =
            said("sec-fetch-mode") == Some(b"navigate") && said("sec-fetch-dest") == Some(b"document");
        match said("sec-fetch-site") {
            Some(b"cross-site" | b"same-site") if !follows => Err(stranger("Another page")),
            _ => Ok(()),
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
        Err(failure) => Refused::from(failure).into_response(),
    }
}

/// The token that a request shows.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// The session that a browser shows as a cookie. A browser sends cookies also for other pages' sake; it never lets such a page read what
/// is answered, but it would let it change something. So whoever changes anything must say which page it is, which every browser
/// does by itself; that it is one of ours has been looked at by then.
pub(crate) fn session<'a>(
    headers: &'a HeaderMap,
    method: &Method,
    cookie: &str,
) -> Result<Vec<&'a str>, Failure> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let shown: Vec<&str> = pairs.filter(|(name, _)| *name == cookie).map(|(_, value)| value).collect();
    if !shown.is_empty() && *method != Method::GET && !headers.contains_key(header::ORIGIN) {
        let message = "Nothing says which page asks for this change";
        return Err(refused(
            ErrorCode::WrongOrigin,
            message,
            "Use Forklore's own page, or send the token as a header.",
        ));
    }
    Ok(shown)
}
