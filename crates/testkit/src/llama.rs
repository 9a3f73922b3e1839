//! [`Llama`]: the real llama.cpp server, with the model that knows nothing ([`crate::noise`]).

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::http::Http;
use crate::noise;

/// A server that is not ready in this time will not be.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server, ended when dropped.
#[derive(Debug)]
pub struct Llama {
    dir: TempDir,
    child: Child,
    port: u16,
}

/// The program; `None` if it is not there. What `xtask` has fetched must be there.
pub fn installed() -> Option<PathBuf> {
    let named = std::env::var_os("FORKLORE_LLAMA").map(PathBuf::from);
    let program = named
        .clone()
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/llama/llama-server"));
    let there = program.is_file();
    assert!(there || named.is_none(), "there is no llama.cpp server at {}", program.display());
    there.then_some(program)
}

impl Llama {
    /// Starts one that can read so many tokens at once. Says past the harness if there is none to start.
    pub fn start(test: &str, context: usize) -> Option<Self> {
        Self::start_with(test, context, None)
    }

    /// The same with a model that was learnt: the file of it.
    pub fn start_with(test: &str, context: usize, model: Option<&Path>) -> Option<Self> {
        let Some(program) = installed() else {
            let why = "there is no llama.cpp server; `cargo xtask test` fetches one where it can";
            let _unheard = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
            return None;
        };
        let mut log = String::new();
        // Somebody else may take the port before the server does.
        for _ in 0..5 {
            let mut llama = Self::spawn(&program, context, model);
            if llama.is_ready() {
                return Some(llama);
            }
            log = llama.log();
        }
        panic!("llama.cpp did not start: {log}")
    }

    fn spawn(program: &Path, context: usize, model: Option<&Path>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let noise = dir.path().join("noise.gguf");
        let model = model.unwrap_or_else(|| {
            fs::write(&noise, noise::model()).unwrap();
            &noise
        });
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = fs::File::create(dir.path().join("log")).unwrap();
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--threads", "1", "--parallel", "1"])
            .args([
                "--ctx-size",
                &context.to_string(),
                "--seed",
                "1",
                "--no-webui",
                "--offline",
                "--no-warmup",
            ])
            .arg("--model")
            .arg(model)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { dir, child, port }
    }

    /// Its address, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it has said.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.path().join("log")).unwrap_or_default()).into_owned()
    }

    /// Waits until it has said this.
    pub fn await_log(&self, what: &str) {
        let start = Instant::now();
        while !self.log().contains(what) {
            assert!(start.elapsed() < PATIENCE, "llama.cpp never says {what:?}: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_ready(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE && self.child.try_wait().unwrap().is_none() {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                && Http::new(&self.url()).get("/health").status == 200
            {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _gone = self.child.wait();
    }
}
