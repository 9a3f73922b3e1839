//! [`Tavern`]: the real SillyTavern server, with the real plugin in it, installed by the real command.
//!
//! Each has a folder of its own: SillyTavern's files as links to the ones that npm installed, so that nothing is copied, and a data
//! folder that the test fills. Tests talk to it as the page does, with its session and its CSRF token.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Answer, Http};
use crate::unix::symlink;

/// The versions that must work, newest first.
pub const VERSIONS: [&str; 2] = ["1.19.0", "1.18.0"];

/// A server that does not answer in this time will not.
const PATIENCE: Duration = Duration::from_secs(180);
/// And so many looks, at least.
const LOOKS: usize = 2000;

/// What a server is started with.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Variables of its environment
    pub env: Vec<(String, String)>,
    /// Whether the page works, too: its libraries are put together at the start, which takes a while the first time
    pub page: bool,
    /// Whether Forklore is left out
    pub bare: bool,
    /// The program that runs it; `node` if there is none
    pub node: Option<PathBuf>,
}

/// A SillyTavern server, ended when dropped.
#[derive(Debug)]
pub struct Tavern {
    dir: TempDir,
    child: Child,
    port: u16,
    setup: Setup,
    /// Version of SillyTavern
    pub version: &'static str,
    /// The server, with the session of the first user
    pub http: Http,
}

/// The folder that npm installed a version into; `None` if it is not there. What `xtask` has installed must be there.
pub fn installed(version: &str) -> Option<PathBuf> {
    let named = std::env::var_os("FORKLORE_SILLYTAVERN").map(PathBuf::from);
    let tools = named.clone().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools"));
    let found = tools.join(format!("sillytavern-{version}/node_modules/sillytavern"));
    let there = found.join("server.js").is_file();
    assert!(there || named.is_none(), "there is no SillyTavern {version} in {}", tools.display());
    there.then(|| found.canonicalize().unwrap())
}

/// The versions that can be tested here. Says past the harness what is skipped.
pub fn versions(test: &str) -> Vec<&'static str> {
    let (there, missing): (Vec<_>, Vec<_>) =
        VERSIONS.iter().partition(|version| installed(version).is_some());
    for version in missing {
        let why = "it is not installed; `cargo xtask test` does that";
        let _unheard = writeln!(std::io::stderr(), "SKIPPED {test} on SillyTavern {version}: {why}");
    }
    there
}

impl Tavern {
    /// Starts a server whose first user has this vault. `forklore` is the program that installs the plugin and that the
    /// plugin starts.
    pub fn start(version: &'static str, forklore: &str, vault: &Path, setup: Setup) -> Self {
        let package = installed(version).unwrap();
        // Beside the packages, so that files can be linked.
        let dir = tempfile::Builder::new().prefix("run-").tempdir_in(package.join("../../..")).unwrap();
        let tree = dir.path().join("SillyTavern");
        link_tree(&package, &tree);
        symlink(package.join(".."), tree.join("node_modules")).unwrap();
        if !setup.page {
            // Nobody opens the page: what it would need is not put together.
            fs::remove_file(tree.join("public/lib.js")).unwrap();
            fs::write(tree.join("public/lib.js"), "export {};\n").unwrap();
        }
        if !setup.bare {
            let output =
                Command::new(forklore).args(["install", "--sillytavern"]).arg(&tree).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let data = dir.path().join("data");
        fs::create_dir_all(&data).unwrap();
        symlink(vault, data.join("default-user")).unwrap();
        let (child, port) = run(&tree, &data, &setup);
        let http = Http::new(&format!("http://127.0.0.1:{port}/"));
        let mut tavern = Self { dir, child, port, setup, version, http };
        tavern.wait();
        tavern
    }

    /// Starts the server again, on the same files.
    pub fn restart(&mut self) {
        self.stop();
        (self.child, self.port) = run(&self.tree(), &self.dir.path().join("data"), &self.setup);
        self.http = Http::new(&format!("http://127.0.0.1:{}/", self.port));
        self.wait();
    }

    /// Ends the server, and leaves its files.
    pub fn stop(&mut self) {
        let _ended = self.child.kill();
        self.child.wait().unwrap();
    }

    fn wait(&mut self) {
        let (mut last, mut since) = (self.log().len(), Instant::now());
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            // As long as it says something it is on its way, however slow the machine is.
            if self.log().len() != last {
                (last, since) = (self.log().len(), Instant::now());
            }
            let ended = self.child.try_wait().unwrap();
            // What runs it for another system takes its time for each of its thousands of files.
            let patience = if self.setup.node.is_some() { 5 * PATIENCE } else { PATIENCE };
            assert!(
                ended.is_none() && since.elapsed() < patience,
                "SillyTavern {} did not start: {}",
                self.version,
                self.log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        self.http = session(&Http::new(&format!("http://127.0.0.1:{}/", self.port)));
    }

    /// The folder of the install.
    pub fn tree(&self) -> PathBuf {
        self.dir.path().join("SillyTavern")
    }

    /// The folder of a user.
    pub fn user(&self, handle: &str) -> PathBuf {
        self.dir.path().join("data").join(handle)
    }

    /// What the server has said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("server.log")).unwrap_or_default()
    }

    /// Whether it is still alive.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the plugin says of itself.
    pub fn plugin(&self) -> Value {
        self.http.get("api/plugins/forklore/plugin").ok()
    }

    /// The engine, through the plugin.
    pub fn engine(&self) -> Http {
        Http { prefix: "/api/plugins/forklore".to_owned(), ..self.http.clone() }
    }

    /// Waits until the plugin's engine is in a state.
    pub fn engine_is(&self, state: &str) -> Value {
        self.until(&format!("the engine is {state}"), || {
            Some(self.plugin()).filter(|p| p["engine"]["state"] == state)
        })
    }

    /// Waits until there is something.
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        for looks in 0.. {
            if let Some(found) = look() {
                return found;
            }
            // On a machine with much else to do a look takes longer, too: so many of them are made, whatever time has passed.
            assert!(
                looks < LOOKS || start.elapsed() < PATIENCE,
                "never: {what}. SillyTavern says: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        unreachable!("there is no end to numbers")
    }

    /// Posts as the page does.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.http.post(path, body)
    }

    /// A chat as the page has it in memory: the header, then the messages.
    pub fn open(&self, folder: Option<&str>, name: &str) -> Vec<Value> {
        let chat = match folder {
            Some(folder) => {
                let body =
                    json!({"ch_name": folder, "file_name": name, "avatar_url": format!("{folder}.png")});
                self.post("api/chats/get", &body).ok()
            }
            None => self.post("api/chats/group/get", &json!({"id": name})).ok(),
        };
        chat.as_array().cloned().unwrap_or_default()
    }

    /// Saves a chat as the page does.
    pub fn save(&self, folder: Option<&str>, name: &str, chat: &[Value], force: bool) -> Answer {
        match folder {
            Some(folder) => {
                let body = json!({"ch_name": folder, "file_name": name, "chat": chat, "avatar_url": format!("{folder}.png"), "force": force});
                self.post("api/chats/save", &body)
            }
            None => self.post("api/chats/group/save", &json!({"id": name, "chat": chat, "force": force})),
        }
    }

    /// Forks a chat as the page does: everything up to a message, with the parent's metadata, its name, and, from 1.19 on, a slug
    /// of its own.
    pub fn fork(&self, folder: Option<&str>, parent: &str, at: usize, name: &str) -> Answer {
        self.save(folder, name, &self.forked(&self.open(folder, parent), parent, at), false)
    }

    /// The chat that a page would save for a fork.
    pub fn forked(&self, chat: &[Value], parent: &str, at: usize) -> Vec<Value> {
        let mut fork = chat[..=at + 1].to_vec();
        fork[0]["chat_metadata"]["main_chat"] = json!(parent);
        if self.version != "1.18.0" {
            fork[0]["chat_metadata"]["integrity"] = json!(format!("page-{}", fresh()));
        }
        fork
    }
}

/// A number that no other has.
fn fresh() -> u128 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    u128::from(std::process::id()) << 32 | u128::from(COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A session with the server, as a page begins one.
pub fn session(http: &Http) -> Http {
    let answer = http.get("csrf-token");
    let token = answer.ok()["token"].as_str().unwrap_or_default().to_owned();
    let (http, cookies) = (http.clone().with("X-CSRF-Token", &token), cookies(&answer));
    if cookies.is_empty() { http } else { http.with("Cookie", &cookies) }
}

/// The cookies that an answer sets, as a page sends them back.
pub fn cookies(answer: &Answer) -> String {
    let set = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
    set.filter_map(|(_, value)| value.split(';').next()).collect::<Vec<_>>().join("; ")
}

fn run(tree: &Path, data: &Path, setup: &Setup) -> (Child, u16) {
    // Asked for and given back: nobody else takes it in the moment between.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let log = fs::File::options().create(true).append(true).open(tree.join("../server.log")).unwrap();
    let mut command = Command::new(setup.node.as_deref().unwrap_or(Path::new("node")));
    command
        .arg("server.js")
        .args(["--listen", "false", "--browserLaunchEnabled", "false", "--port", &port.to_string()])
        .arg("--dataRoot")
        .arg(data)
        .current_dir(tree)
        .env_remove("FORKLORE_BIN")
        .envs(setup.env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    (command.spawn().unwrap(), port)
}

/// The same files under other names. Where files cannot be linked they are copied.
fn link_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "node_modules" {
                link_tree(&entry.path(), &target);
            }
        } else if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

impl Drop for Tavern {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
