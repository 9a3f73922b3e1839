//! [`Doorman`]: how browsers get in. An address that is printed has a code in it, which works once; for it a browser gets a session, as a
//! cookie. A session is no token: it is taken from browsers alone, and ends with the server.
//!
//! A browser sends its cookies to every server of a machine, whatever its port. So each session has a *room*: a path that nobody else
//! knows, below which the cookie is sent, and outside of which it opens nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::http::Uri;
use axum::http::uri::PathAndQuery;

use crate::lock::lock;
use crate::secret::secret;
use crate::vault::Vault;

/// How many codes and sessions there are at most; the oldest go first.
const MOST: usize = 256;

/// What a code stands for.
#[derive(Clone)]
pub(crate) enum Right {
    /// To use a vault
    Use(Arc<Vault>),
    /// To choose one, at the first visit
    Choose,
}

/// A browser that was let in.
pub(crate) struct Session {
    /// What the browser shows from now on
    pub(crate) id: String,
    /// Below which path
    pub(crate) room: String,
}

/// Lets browsers in.
pub(crate) struct Doorman {
    codes: Mutex<VecDeque<(blake3::Hash, Right)>>,
    sessions: Mutex<VecDeque<(blake3::Hash, String, Arc<Vault>)>>,
    /// Name of the cookie. Cookies are for all ports of a machine, so it has the port in its name.
    pub(crate) cookie: String,
    prefix: String,
}

/// The room that a request is in; its path does not have it any more.
#[derive(Debug, Clone)]
pub(crate) struct Room(pub(crate) String);

fn hash(text: &str) -> blake3::Hash {
    blake3::hash(text.as_bytes())
}

fn keep<T>(all: &mut VecDeque<T>, one: T) {
    all.push_back(one);
    if all.len() > MOST {
        all.pop_front();
    }
}

impl Doorman {
    pub(crate) fn new(port: u16, prefix: &str) -> Self {
        Self {
            codes: Mutex::default(),
            sessions: Mutex::default(),
            cookie: format!("forklore-{port}"),
            prefix: prefix.to_owned(),
        }
    }

    /// A code that works once.
    pub(crate) fn code(&self, right: Right) -> String {
        let code = secret();
        keep(&mut lock(&self.codes), (hash(&code), right));
        code
    }

    /// What a code stands for. It stands for nothing from then on.
    pub(crate) fn redeem(&self, code: &str) -> Option<Right> {
        let mut codes = lock(&self.codes);
        let place = codes.iter().position(|(known, _)| *known == hash(code))?;
        codes.remove(place).map(|(_, right)| right)
    }

    /// Lets a browser in.
    pub(crate) fn admit(&self, vault: Arc<Vault>) -> Session {
        let session = Session { id: secret(), room: secret() };
        keep(&mut lock(&self.sessions), (hash(&session.id), session.room.clone(), vault));
        session
    }

    /// The vault of a session, if it is shown in its room.
    pub(crate) fn find(&self, id: &str, room: &str) -> Option<Arc<Vault>> {
        let sessions = lock(&self.sessions);
        let found = sessions.iter().find(|(known, of, _)| *known == hash(id) && of == room);
        found.map(|(_, _, vault)| vault.clone())
    }

    /// The cookie of a session, as a browser is told it.
    pub(crate) fn set_cookie(&self, session: &Session) -> String {
        let Session { id, room } = session;
        format!("{}={id}; Path={}/~{room}/; HttpOnly; SameSite=Strict", self.cookie, self.prefix)
    }
}

/// Takes the room out of an address: what is left is the address that everybody knows.
pub(crate) fn leave_room(uri: &Uri, prefix: &str) -> Option<(Uri, Room)> {
    let path = uri.path().strip_prefix(prefix)?.strip_prefix("/~")?;
    let (room, rest) = path.split_once('/')?;
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path: PathAndQuery = format!("{prefix}/{rest}{query}").parse().ok()?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path);
    Some((Uri::from_parts(parts).ok()?, Room(room.to_owned())))
}
