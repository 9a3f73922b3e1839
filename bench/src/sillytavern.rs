//! SillyTavern's own server doing the same fork, with a client that does what the browser does.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use xtask::tools::{SILLYTAVERN, sillytavern};

/// The version that is measured.
const VERSION: &str = SILLYTAVERN[0];
/// A server that does not answer in this time will not.
const PATIENCE: Duration = Duration::from_secs(90);

/// What was measured.
pub(super) struct Measured {
    pub(super) fork: Duration,
    pub(super) opening: Duration,
    pub(super) peak: u64,
}

/// A server on a port of its own, ended when dropped.
pub(super) struct Server {
    child: Child,
    url: String,
}

/// The installed server, installed now if need be. `Err` says why there is none.
pub(super) fn install() -> Result<PathBuf> {
    sillytavern(VERSION).map_err(anyhow::Error::msg)
}

impl Server {
    /// Starts a server whose only user has `vault` for a folder.
    pub(super) fn start(server: &Path, dir: &Path, vault: &Path) -> Result<Self> {
        let data = dir.join("data");
        fs::create_dir_all(&data)?;
        let user = data.join("default-user");
        fs::rename(vault, &user)?;
        // Asked for and given back: nobody else takes it in the moment between.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let config = dir.join("config.yaml");
        fs::copy(server.join("default/config.yaml"), &config)?;
        let log = File::create(dir.join("server.log"))?;
        let child = Command::new("node")
            .arg("--max-old-space-size=12288")
            .arg(server.join("server.js"))
            .args(["--listen", "false", "--browserLaunchEnabled", "false", "--disableCsrf", "true"])
            .args(["--port", &port.to_string()])
            .arg("--configPath")
            .arg(&config)
            .arg("--dataRoot")
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("node is not installed")?;
        let mut this = Self { child, url: format!("http://127.0.0.1:{port}") };
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if this.child.try_wait()?.is_some() || start.elapsed() > PATIENCE {
                bail!(
                    "SillyTavern did not start: {}",
                    fs::read_to_string(dir.join("server.log")).unwrap_or_default()
                );
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(this)
    }

    /// Lets it fork at the last or at the middle message.
    pub(super) fn fork(&self, at: &str) -> Result<Measured> {
        let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sillytavern-fork.mjs");
        let output = Command::new("timeout")
            .args(["300", "node", "--max-old-space-size=12288"])
            .arg(client)
            .args([&self.url, at])
            .output()?;
        if !output.status.success() {
            bail!("the client failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let told: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let time = |key: &str| Duration::from_secs_f64(told[key].as_f64().unwrap_or_default() / 1000.0);
        Ok(Measured { fork: time("fork"), opening: time("opening"), peak: self.peak()? })
    }

    /// The most memory that the server held at once.
    fn peak(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().context("no VmHWM")?;
        Ok(kilobytes * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
