//! [`Exchange`]: one request over HTTP, and what comes back.

use std::io::Read as _;
use std::time::Duration;

use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Timeout};

use crate::address::Address;
use crate::answer::Complaint;
use crate::error::ModelError;
use crate::hear::Heard;

/// Who has not let us in by then does not run.
const CONNECT: Duration = Duration::from_secs(10);
/// Nobody speaks longer than this, not even who says something every minute.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// No more of an error is read.
const COMPLAINT: u64 = 64 << 10;
/// A server sends us on so often at most.
const SENT_ON: usize = 3;

/// Everything for one request. It is used up in a thread of its own, so that whoever waits for it can also stop it.
pub(crate) struct Exchange {
    pub(crate) agent: Agent,
    pub(crate) address: Address,
    pub(crate) key: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Why nothing was heard.
pub(crate) enum Trouble {
    /// The server says so
    Complaint(Complaint),
    /// Something else
    Error(ModelError),
}

impl From<ModelError> for Trouble {
    fn from(error: ModelError) -> Self {
        Self::Error(error)
    }
}

/// What makes connections for one request: shutting it down ends this one and no other.
pub(crate) fn agent(address: &Address, timeout: Duration, trusted: &RootCerts) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // Sent on is only who may be: see `Address::sent_on`.
        .max_redirects(0)
        .user_agent(concat!("forklore/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_per_read(Some(timeout))
        .timeout_per_write(Some(timeout))
        .timeout_global(Some(LONGEST))
        .tls_config(TlsConfig::builder().root_certs(trusted.clone()).build());
    // A proxy is for the way out. What is near is not asked through it.
    let config = if address.is_local() { config.proxy(None) } else { config };
    config.build().new_agent()
}

/// Whom is believed that a server is who it says: those of the certificates, or whom everybody believes.
pub(crate) fn trusted(certificates: Option<&[u8]>) -> Result<RootCerts, ModelError> {
    let Some(pem) = certificates else { return Ok(RootCerts::WebPki) };
    let found = parse_pem(pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        let why = "there is no certificate in the file that is to be trusted; it begins with \"-----BEGIN CERTIFICATE-----\"";
        return Err(ModelError::BadAddress(why.to_owned()));
    }
    Ok(RootCerts::new_with_certs(&found))
}

impl Exchange {
    pub(crate) fn run(mut self) -> Result<Heard, Trouble> {
        for _ in 0..=SENT_ON {
            let answer = self.send()?;
            let status = answer.status().as_u16();
            match (status, header(&answer, "location")) {
                (200..=299, _) => {
                    let body = answer.into_body().into_with_config().limit(u64::MAX).reader();
                    return Ok(Heard::from(body, |e| error(&ureq::Error::from(e)))?);
                }
                (301 | 302 | 307 | 308, Some(to)) => self.address = self.address.sent_on(to)?,
                _ => {
                    let wait = header(&answer, "retry-after").and_then(seconds);
                    let mut said = Vec::new();
                    // The status tells enough where the rest of it does not come.
                    let _read = answer.into_body().into_reader().take(COMPLAINT).read_to_end(&mut said);
                    let said = String::from_utf8_lossy(&said).into_owned();
                    return Err(Trouble::Complaint(Complaint::new(status, said, wait)));
                }
            }
        }
        Err(ModelError::BadAddress("the server sends on in a circle".to_owned()).into())
    }

    fn send(&self) -> Result<Response<Body>, ModelError> {
        let mut request = self.agent.post(self.address.uri()).header("content-type", "application/json");
        request = request.header("accept", "text/event-stream, application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        request.send(self.body.as_slice()).map_err(|e| error(&e))
    }
}

fn header<'a>(answer: &'a Response<Body>, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// A number of seconds. Servers of models give no dates.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// Why a server is not believed, in words where it is one of the mistakes that people make with certificates of their own.
fn doubt(said: &str) -> String {
    let stranger = "nobody who is trusted has signed its certificate; name that of a server of your own with --certificate";
    let known = [
        ("UnknownIssuer", stranger),
        // Signed by somebody who only has the name of one who is trusted.
        ("BadSignature", stranger),
        (
            "CaUsedAsEndEntity",
            "its certificate is one of an authority; the guide tells how to make one of a server",
        ),
        ("not valid for name", "its certificate is for another name than the one in the address"),
        ("NotValidForName", "its certificate is for another name than the one in the address"),
        ("expired", "its certificate has expired"),
    ];
    known.iter().find(|(code, _)| said.contains(code)).map_or(said, |(_, words)| words).to_owned()
}

/// What went wrong below HTTP. None of these texts holds anything that was sent.
fn error(error: &ureq::Error) -> ModelError {
    match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            ModelError::Unreachable(format!("there is no connection after {} s", CONNECT.as_secs()))
        }
        ureq::Error::Timeout(_) => ModelError::Silent,
        ureq::Error::HostNotFound => ModelError::Unreachable("nobody knows a host of this name".to_owned()),
        ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            ModelError::Unreachable("the connection ended in the middle of a reply".to_owned())
        }
        // A certificate that is not trusted will not be trusted in a moment either.
        ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::InvalidData => {
            ModelError::BadAddress(format!("there is no safe connection to it: {}", doubt(&e.to_string())))
        }
        ureq::Error::Io(e) => ModelError::Unreachable(e.to_string()),
        ureq::Error::Protocol(e) => ModelError::Unreadable(e.to_string()),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
            ModelError::BadAddress("it or the key has characters that cannot be sent".to_owned())
        }
        other => ModelError::Unreachable(other.to_string()),
    }
}
