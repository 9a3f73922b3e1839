//! [`Http`]: as little HTTP as tests need, with nothing in between: they also send what no decent client would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Nothing that a test waits for takes this long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server, and what is sent to it with every request.
#[derive(Debug, Clone)]
pub struct Http {
    /// Where it listens, as `host:port`
    pub address: String,
    /// Path that comes before every other
    pub prefix: String,
    /// Headers of every request
    pub headers: Vec<(String, String)>,
}

/// What was answered.
#[derive(Debug, Clone)]
#[must_use = "an answer that nobody looks at proves nothing"]
pub struct Answer {
    /// The status
    pub status: u16,
    /// Headers, names in lower case
    pub headers: Vec<(String, String)>,
    /// The body
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| {
            panic!("{} with no JSON ({e}): {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    /// The body of an answer that must be a success.
    pub fn ok(&self) -> Value {
        assert!(self.status < 300, "{}: {}", self.status, String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// Status and code of an answer that must be a failure.
    pub fn code(&self) -> (u16, String) {
        (self.status, self.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

impl Http {
    /// A server at an address such as `http://127.0.0.1:8377/forklore/`.
    pub fn new(url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let (address, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        Self { address: address.to_owned(), prefix, headers: Vec::new() }
    }

    /// The same with another header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with a token.
    #[must_use]
    pub fn token(self, token: &str) -> Self {
        self.with("Authorization", &format!("Bearer {token}"))
    }

    /// Looks.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// Looks, with arguments.
    pub fn query(&self, path: &str, arguments: &[(&str, &str)]) -> Answer {
        let encoded: Vec<String> =
            arguments.iter().map(|(key, value)| format!("{key}={}", percent(value))).collect();
        self.get(&format!("{path}?{}", encoded.join("&")))
    }

    /// Changes.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// Anything.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut reader = self.begin(method, path, headers, body);
        let (status, headers) = head(&mut reader);
        let mut body = Vec::new();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        if chunked {
            while let Some(chunk) = chunk(&mut reader) {
                body.extend(chunk);
            }
        } else {
            // A server that refuses before it has read everything closes the door in our face.
            let _reset = reader.read_to_end(&mut body);
        }
        Answer { status, headers, body }
    }

    fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!("{method} {}/{} HTTP/1.1\r\n", self.prefix, path.trim_start_matches('/'));
        let all = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(headers.iter().copied());
        let all: Vec<(&str, &str)> = all.collect();
        let has = |wanted: &str| all.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let mut more = vec![("Connection", "close".to_owned())];
        if !has("Host") {
            more.push(("Host", self.address.clone()));
        }
        if !body.is_empty() && !has("Content-Length") {
            more.push(("Content-Length", body.len().to_string()));
        }
        let more = more.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in all.iter().copied().filter(|(_, value)| !value.is_empty()).chain(more) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        // It may be refused before all of it is sent.
        let _reset = stream.write_all(body);
        BufReader::new(stream)
    }

    /// A stream of events.
    pub fn events(&self, path: &str) -> Events {
        let mut reader = self.begin("GET", path, &[("Accept", "text/event-stream")], b"");
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200);
        let media = headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str());
        assert_eq!(media, Some("text/event-stream"));
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        Events { reader, chunked, rest: String::new() }
    }
}

fn head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let line = |reader: &mut dyn BufRead| {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line(reader);
    let status = first.split(' ').nth(1).and_then(|text| text.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no HTTP: {first:?}"));
    let mut headers = Vec::new();
    loop {
        let line = line(reader);
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    (status, headers)
}

fn chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let len = usize::from_str_radix(line.trim().split(';').next()?, 16).ok().filter(|len| *len > 0)?;
    let mut bytes = vec![0; len + 2];
    reader.read_exact(&mut bytes).ok()?;
    bytes.truncate(len);
    Some(bytes)
}

/// Everything but plain letters and digits, as an address has it.
pub fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let each = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(each).collect()
}

/// Events as they come.
#[derive(Debug)]
pub struct Events {
    reader: BufReader<TcpStream>,
    chunked: bool,
    rest: String,
}

impl Events {
    /// The next event: its name and data.
    pub fn any(&mut self) -> (String, Value) {
        loop {
            if let Some(end) = self.rest.find("\n\n") {
                let event: String = self.rest.drain(..end + 2).collect();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return (name.to_owned(), serde_json::from_str(data).unwrap());
                }
                continue;
            }
            let bytes = if self.chunked {
                chunk(&mut self.reader)
                    .unwrap_or_else(|| panic!("the stream ended; the rest: {:?}", self.rest))
            } else {
                let got = self.reader.fill_buf().unwrap().to_vec();
                assert!(!got.is_empty(), "the stream ended; the rest: {:?}", self.rest);
                self.reader.consume(got.len());
                got
            };
            self.rest.push_str(&String::from_utf8(bytes).unwrap());
        }
    }

    /// The next event for which something holds; others are passed over.
    pub fn wait(&mut self, name: &str, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (other, data) = self.any();
            if other == name && holds(&data) {
                return data;
            }
        }
    }
}
