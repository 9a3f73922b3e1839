//! Forklore over HTTP: the calls of `forklore-api`, with the same documents as the command line (`docs/formats/http.md`).
//!
//! * [`Server`] listens; [`Options`] say where. It answers on the addresses that it knows to be its own (`guard`), and only to whom
//!   has a token: each token opens one vault (`vaults`) and reaches nothing else. Browsers get sessions instead (`doorman`, `entrance`),
//!   and nobody stays who says nothing (`listen`).
//! * `routes` is the table of everything that can be asked. A line of it is a path, a sentence, and a plain function from a request to
//!   an answer; the router and the OpenAPI description are both made from it (`table`). What a request says is taken out of it in one
//!   place (`extract`); what is refused becomes an answer in another (`answer`).
//! * `pages` are for people: the same reports, as HTML (`forklore-web`).
//! * `actions` are the changes, for the API and for the forms of pages alike.
//! * `events` are what pages are told while it happens, in a `stream`; `queued_forks` are forks that wait for a queue; `hook` is what
//!   SillyTavern's plugin asks before and after SillyTavern saves a chat, and `reported` what it tells of.
//!
//! There is no rule in here: a handler asks the vault and answers what it says. Work is done on threads of its own, since the engine
//! is not asynchronous; what changes a vault is done one after the other.

mod actions;
mod answer;
mod doorman;
mod entrance;
mod events;
mod extract;
mod form;
mod guard;
mod hello;
mod listen;
mod lock;
mod pages;
mod patience;
mod queued_forks;
mod recording;
mod routes;
mod secret;
mod setup;
mod st_forks;
mod st_reports;
mod stream;
mod table;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its files should stop")]
mod tests;
mod under_way;
mod vault;
mod vaults;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use forklore_api::Failure;
use tokio::net::TcpListener;

use crate::doorman::Right;
use crate::guard::Places;
pub use crate::setup::{First, Setup};
use crate::vaults::Vaults;

/// Where to listen, and for whom.
pub struct Options {
    /// Where to listen; port 0 takes any that is free
    pub listen: SocketAddr,
    /// Names besides the address itself that requests may call the server by
    pub hosts: Vec<String>,
    /// Path that everything is below, such as `/forklore`; usually empty
    pub prefix: String,
    /// What opens vaults, for whoever manages the server
    pub key: Option<String>,
    /// If there is no vault yet
    pub setup: Option<Setup>,
}

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: Options,
    vaults: Arc<Vaults>,
}

impl Server {
    /// Begins to listen.
    pub async fn bind(mut options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let setup = options.setup.take();
        let vaults = Vaults::new(options.key.clone(), address.port(), &prefix(&options), setup);
        let vaults = Arc::new(vaults);
        Ok(Self { listener, address, options, vaults })
    }

    /// The base of all addresses, with a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}{}/", self.address, prefix(&self.options))
    }

    /// Opens a vault, and gives the token that stands for it.
    pub fn open(&self, root: &Path) -> Result<String, Failure> {
        Ok(self.vaults.open(root)?.0)
    }

    /// Gives codes to let browsers in with, also while the server runs.
    pub fn codes(&self) -> Codes {
        Codes(self.vaults.clone())
    }

    /// Answers, until the process ends or `end` comes.
    pub async fn run(self, end: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let places = Arc::new(Places::new(self.address, &self.options.hosts));
        let prefix = prefix(&self.options);
        let app = routes::app(self.vaults.clone(), places, &prefix);
        let sweep = tokio::spawn(vaults::sweep(self.vaults.clone()));
        // Streams of events never end by themselves.
        let ending = || {
            self.vaults.ending.send_replace(true);
        };
        let served = listen::serve(self.listener, app, &prefix, end, ending).await;
        sweep.abort();
        served
    }
}

/// Gives codes, each of which lets one browser in once.
#[derive(Clone)]
pub struct Codes(Arc<Vaults>);

impl Codes {
    /// One for the vault that this token opens.
    pub fn code(&self, token: &str) -> Option<String> {
        Some(self.0.doorman.code(Right::Use(self.0.find(token)?)))
    }

    /// One for choosing a vault, if there is none yet.
    pub fn code_to_choose(&self) -> String {
        self.0.doorman.code(Right::Choose)
    }
}

/// A secret that nobody guesses, to let somebody in with.
pub fn secret() -> String {
    secret::secret()
}

/// The path that everything is below: empty, or with a slash before it and none behind.
fn prefix(options: &Options) -> String {
    let inner = options.prefix.trim_matches('/');
    if inner.is_empty() { String::new() } else { format!("/{inner}") }
}

/// The description of the API, as it is served.
pub fn openapi() -> serde_json::Value {
    routes::table().openapi()
}
