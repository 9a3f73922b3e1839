//! [`ModelServer`]: the scripted model of [`crate::model`] behind HTTP, as OpenAI's servers talk, with every [`Fault`] that such servers
//! have. It keeps what it was asked, and knows who hung up on it.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::model;

/// Nothing that a test waits for takes this long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);
/// So often a thread that waits looks whether the server is to end.
const LOOK: Duration = Duration::from_millis(20);
/// More at the same time are turned away.
const CONNECTIONS: usize = 32;
/// Nor is a longer request read.
const LONGEST: usize = 16 << 20;

/// What can be wrong with a server.
#[derive(Debug, Clone)]
pub enum Fault {
    /// So long for every piece of a reply
    Slow(Duration),
    /// The connection is closed after so many pieces
    Cut(usize),
    /// Nothing more comes after so many pieces, and the connection stays
    Stuck(usize),
    /// Nothing comes at all
    Silent,
    /// 429, with so many seconds to wait
    Busy(Option<u64>),
    /// 500
    Broken,
    /// Another status, with this text
    Status(u16, String),
    /// Status 200, and this as the error
    Hidden(Value),
    /// 307 to another address
    SentOn(String),
    /// A reply of another shape than was asked for
    WrongShape,
    /// Courtesies and fences around the reply
    Chatter,
    /// Bytes in the reply that are no text
    BadUtf8,
    /// 400 where the request is longer, in bytes
    TooLongAbove(usize),
    /// 400 where a schema is sent
    NoSchema,
    /// 400 where any form of the reply is sent
    NoFormat,
    /// 422 where tokens are asked for
    NoStreamOptions,
    /// So many tokens of thoughts before the reply; a shorter limit cuts it off there
    Thinks(u64),
    /// The reply in one piece, however it was asked for
    NoStream,
    /// Nothing about tokens
    NoUsage,
}

/// Which faults come when.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    always: Vec<Fault>,
    calls: VecDeque<Fault>,
}

impl Faults {
    /// No fault at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// One with every call.
    #[must_use]
    pub fn always(mut self, fault: Fault) -> Self {
        self.always.push(fault);
        self
    }

    /// One with the next call that has none yet, and not with those after it.
    #[must_use]
    pub fn then(mut self, fault: Fault) -> Self {
        self.calls.push_back(fault);
        self
    }
}

/// What it was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method and path
    pub target: String,
    /// Headers, names in lower case
    pub headers: Vec<(String, String)>,
    /// The body
    pub body: Value,
}

impl Asked {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// The server, on this machine alone. It ends when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    faults: Mutex<Faults>,
    asked: Mutex<Vec<Asked>>,
    /// How often somebody hung up in the middle of a reply
    hung_up: Mutex<usize>,
    changed: Condvar,
    over: AtomicBool,
}

impl ModelServer {
    /// Starts one with these faults, at a free port.
    pub fn start(faults: Faults) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { faults: Mutex::new(faults), ..Shared::default() });
        let serving = Arc::clone(&shared);
        let listener = Some(thread::spawn(move || listen(&listener, &serving)));
        Self { address, shared, listener }
    }

    /// Its address, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that it was asked so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.shared.asked).clone()
    }

    /// How often it was asked.
    pub fn calls(&self) -> usize {
        locked(&self.shared.asked).len()
    }

    /// Waits until it was asked so often.
    pub fn await_calls(&self, calls: usize) {
        self.wait("is asked", || self.calls() >= calls);
    }

    /// Waits until somebody has hung up in the middle of a reply.
    pub fn await_hang_up(&self) {
        self.wait("notices that the connection is closed", || *locked(&self.shared.hung_up) > 0);
    }

    fn wait(&self, what: &str, done: impl Fn() -> bool) {
        let start = Instant::now();
        let lock = Mutex::new(());
        while !done() {
            assert!(start.elapsed() < PATIENCE, "the server never {what}");
            let waited = self.shared.changed.wait_timeout(locked(&lock), LOOK);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // It waits for a connection.
        let _woken = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ended = listener.join();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming().flatten() {
        if shared.over.load(Ordering::Relaxed) {
            break;
        }
        serving.retain(|thread| !thread.is_finished());
        if serving.len() < CONNECTIONS {
            let shared = Arc::clone(shared);
            serving.push(thread::spawn(move || {
                let _gone = Connection { stream, shared: &shared }.serve();
                shared.changed.notify_all();
            }));
        }
    }
    for thread in serving {
        let _ended = thread.join();
    }
}

/// One request, and its answer.
struct Connection<'a> {
    stream: TcpStream,
    shared: &'a Shared,
}

impl Connection<'_> {
    fn serve(mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(PATIENCE))?;
        self.stream.set_write_timeout(Some(PATIENCE))?;
        let asked = self.read()?;
        let body = asked.body.clone();
        if asked.target.starts_with("GET ") {
            return self.answer(
                200,
                &[],
                &json!({"object": "list", "data": [{"id": "scripted", "object": "model"}]}),
            );
        }
        let faults = {
            let mut faults = locked(&self.shared.faults);
            let next = faults.calls.pop_front();
            next.into_iter().chain(faults.always.iter().cloned()).collect::<Vec<_>>()
        };
        locked(&self.shared.asked).push(asked);
        self.shared.changed.notify_all();
        for fault in &faults {
            if let Some(answered) = self.refuse(fault, &body) {
                return answered;
            }
        }
        self.reply(&body, &faults)
    }

    fn read(&mut self) -> io::Result<Asked> {
        let mut reader = BufReader::new(self.stream.try_clone()?).take(LONGEST as u64);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let mut lines = lines.into_iter();
        let target = lines.next().unwrap_or_default();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| {
                line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            })
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let mut body = vec![0; usize::min(length, LONGEST)];
        reader.read_exact(&mut body)?;
        Ok(Asked { target, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
    }

    /// The answer where a fault allows no reply.
    fn refuse(&mut self, fault: &Fault, body: &Value) -> Option<io::Result<()>> {
        let complain =
            |message: &str| json!({"error": {"message": message, "type": "invalid_request_error"}});
        let format = body.pointer("/response_format/type").and_then(Value::as_str);
        let answered = match fault {
            Fault::Silent => self.say_nothing(),
            Fault::Busy(seconds) => {
                let wait: Vec<String> =
                    seconds.iter().map(|seconds| format!("Retry-After: {seconds}")).collect();
                self.answer(429, &wait, &complain("slow down"))
            }
            Fault::Broken => self.answer(500, &[], &complain("out of order")),
            Fault::Status(status, text) => self.answer(*status, &[], &complain(text)),
            Fault::Hidden(error) => self.answer(200, &[], &json!({"error": error})),
            Fault::SentOn(to) => self.answer(307, &[format!("Location: {to}")], &Value::Null),
            Fault::TooLongAbove(longest) if body.to_string().len() > *longest => self.answer(
                400,
                &[],
                &json!({"error": {"code": 400, "type": "exceed_context_size_error", "message":
                    "the request exceeds the available context size, try increasing it"}}),
            ),
            Fault::NoSchema if format == Some("json_schema") => {
                self.answer(400, &[], &complain("response_format type json_schema is not supported"))
            }
            Fault::NoFormat if format.is_some() => {
                self.answer(501, &[], &complain("unknown field response_format"))
            }
            Fault::NoStreamOptions if body.get("stream_options").is_some() => self.answer(
                422,
                &[],
                &json!({"detail": [{"loc": ["body", "stream_options"], "type": "extra_forbidden"}]}),
            ),
            _ => return None,
        };
        Some(answered)
    }

    fn reply(&mut self, body: &Value, faults: &[Fault]) -> io::Result<()> {
        let has = |wanted: fn(&Fault) -> bool| faults.iter().any(wanted);
        let user = body.pointer("/messages/1/content").and_then(Value::as_str).unwrap_or_default();
        let mut text = if has(|fault| matches!(fault, Fault::WrongShape)) {
            json!({"hello": "world"}).to_string()
        } else {
            model::reply(&schema(body), user).to_string()
        };
        if has(|fault| matches!(fault, Fault::Chatter)) {
            text = format!("Of course! Here it is:\n\n```json\n{text}\n```\n\nIs there anything else?");
        }
        if has(|fault| matches!(fault, Fault::BadUtf8)) {
            text = text.replacen(":\"", &format!(":\"{NO_TEXT}"), 1);
        }
        let mut finish = "stop";
        let thinks =
            faults.iter().find_map(|fault| if let Fault::Thinks(n) = fault { Some(*n) } else { None });
        let most = ["max_tokens", "max_completion_tokens"].iter().find_map(|name| body.get(name)?.as_u64());
        if thinks > most.or(Some(u64::MAX)) {
            text.clear();
            finish = "length";
        }
        let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
        let written = tokens(text.len()) + thinks.unwrap_or(0).min(most.unwrap_or(u64::MAX));
        let usage = json!({"prompt_tokens": tokens(user.len()), "completion_tokens": written});
        let usage = if has(|fault| matches!(fault, Fault::NoUsage)) { Value::Null } else { usage };
        let name = body.get("model").and_then(Value::as_str).unwrap_or("scripted");
        if has(|fault| matches!(fault, Fault::NoStream)) || body["stream"] != json!(true) {
            let choice = json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish});
            return self.answer(200, &[], &json!({"model": name, "choices": [choice], "usage": usage}));
        }
        self.stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        )?;
        let piece = |delta: &Value, finish: Option<&str>| json!({"model": name, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        if thinks.is_some() {
            self.event(&piece(&json!({"reasoning_content": "Let me see."}), None))?;
        }
        for (i, part) in parts(&text).into_iter().enumerate() {
            for fault in faults {
                match fault {
                    Fault::Slow(pause) => self.pause(*pause)?,
                    Fault::Cut(after) if i == *after => {
                        return self.stream.shutdown(std::net::Shutdown::Both);
                    }
                    Fault::Stuck(after) if i == *after => return self.say_nothing(),
                    _ => {}
                }
            }
            self.event(&piece(&json!({"content": part}), None))?;
        }
        self.event(&piece(&json!({}), Some(finish)))?;
        if !usage.is_null() && body.pointer("/stream_options/include_usage") == Some(&json!(true)) {
            self.event(&json!({"model": name, "choices": [], "usage": usage}))?;
        }
        self.chunk(b"data: [DONE]\n\n")?;
        self.stream.write_all(b"0\r\n\r\n")
    }

    fn answer(&mut self, status: u16, headers: &[String], body: &Value) -> io::Result<()> {
        let body = bytes(&body.to_string());
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        write!(
            self.stream,
            "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
        )?;
        self.stream.write_all(&body)
    }

    fn event(&mut self, value: &Value) -> io::Result<()> {
        let written = self.chunk(&bytes(&format!("data: {value}\n\n")));
        if written.is_err() {
            self.hung_up();
        }
        written
    }

    fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk)
    }

    /// Waits, and notices whether the other side is still there.
    fn pause(&mut self, pause: Duration) -> io::Result<()> {
        let start = Instant::now();
        while start.elapsed() < pause {
            let left = pause.saturating_sub(start.elapsed()).min(LOOK).max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left))?;
            let over = self.shared.over.load(Ordering::Relaxed);
            match self.stream.peek(&mut [0]) {
                Err(e)
                    if !over && matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Ok(1..) if !over => thread::sleep(left),
                _ => {
                    self.hung_up();
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }
        Ok(())
    }

    fn say_nothing(&mut self) -> io::Result<()> {
        loop {
            self.pause(PATIENCE)?;
        }
    }

    fn hung_up(&self) {
        if !self.shared.over.load(Ordering::Relaxed) {
            *locked(&self.shared.hung_up) += 1;
            self.shared.changed.notify_all();
        }
    }
}

/// Stands for bytes that are no text, until they are sent.
const NO_TEXT: char = '\u{f8ff}';

fn bytes(text: &str) -> Vec<u8> {
    let mut parts = text.split(NO_TEXT).map(str::as_bytes);
    let mut bytes = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        bytes.extend_from_slice(b"\xff\xfe");
        bytes.extend_from_slice(part);
    }
    bytes
}

/// A reply as a model writes it, some letters at a time.
fn parts(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(12).map(|part| part.iter().collect()).collect()
}

/// The shape that is asked for. Where it does not come with the request, the prompt names its fields.
fn schema(body: &Value) -> Value {
    if let Some(schema) = body.pointer("/response_format/json_schema/schema") {
        return schema.clone();
    }
    let system = body.pointer("/messages/0/content").and_then(Value::as_str).unwrap_or_default();
    let named = system.split('"').skip(1).step_by(2).map(|name| (name.to_owned(), json!({})));
    json!({"properties": named.collect::<serde_json::Map<_, _>>()})
}
