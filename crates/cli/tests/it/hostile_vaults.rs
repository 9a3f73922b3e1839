//! Vaults that somebody means no good with, made by chance, and the real program on them. It may refuse; it never panics, hangs, ends
//! with a strange status, or touches anything outside.
//!
//! Every seed is one vault and some commands. `FORKLORE_SEED` tries a single one; `cargo xtask soak` tries new ones for minutes.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use forklore_testkit::TestVault;
use forklore_testkit::unix::{OsStrExt as _, PermissionsExt as _, UnixListener, symlink};
use serde_json::json;

use crate::kills::strace::{Strace, soaking};
use crate::{FORKLORE, nobody};

/// Longer than this without any progress is a hang. What is busy has as much of the processor's time.
const HANG: Duration = Duration::from_secs(30);

struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end as u64).unwrap()
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A folder with a vault in it, and one beside it that nobody may touch.
struct Trap {
    vault: TestVault,
    outside: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let metadata = json!({"integrity": "a", "world_info": "B"});
        let native = json!({"integrity": "n", "world_info": "B", "main_chat": "main"});
        let registry = ("_registry_character", "[Registry: character]\n- UID=1 | name: Ana");
        let vault = TestVault::new()
            .chat("Ana", "main", &metadata, &["hello", "one", "two", "three"])
            .chat("Ana", "native", &native, &["hello", "one", "two", "other"])
            .book("B", &[registry, ("character-Ana", "A girl")])
            .file(
                "groups/1.json",
                br#"{"id":"1","name":"Band","members":[],"chat_id":"100","chats":["100"]}"#,
            )
            .file("group chats/100.jsonl", b"{\"chat_metadata\":{}}\n{\"mes\":\"x\",\"name\":\"A\"}");
        let outside = vault.root().parent().unwrap().join("outside");
        fs::create_dir_all(outside.join("Ana")).unwrap();
        for name in ["main.jsonl", "B.json", "secret", "Ana/main.jsonl", "config.toml"] {
            fs::write(
                outside.join(name),
                b"{\"chat_metadata\":{\"integrity\":\"SECRET\"}}\n{\"mes\":\"SECRET\"}",
            )
            .unwrap();
        }
        Self { vault, outside }
    }

    /// Everything outside, as it must stay.
    fn picture(&self) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
        let mut found = Vec::new();
        let mut todo = vec![self.outside.clone()];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                // A trap that was laid through a link that was laid before lies here: it is not walked into by whoever looks, either.
                let content = match meta.file_type() {
                    kind if kind.is_dir() => {
                        todo.push(path);
                        continue;
                    }
                    kind if kind.is_symlink() => {
                        fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
                    }
                    kind if kind.is_file() => fs::read(&path).unwrap(),
                    _ => Vec::new(),
                };
                found.push((path, content, meta.modified().unwrap()));
            }
        }
        found.sort();
        found
    }

    /// Lays one thing in the way, at a place that is read or written; tells what.
    fn lay(&self, chance: &mut Chance) -> String {
        let places = [
            "chats/Ana/main.jsonl",
            "chats/Ana/trap.jsonl",
            "chats/Ana",
            "chats/Trap",
            "chats",
            "worlds/B.json",
            "worlds/trap.json",
            "worlds",
            "groups/1.json",
            "groups",
            "group chats/100.jsonl",
            "group chats",
            "characters",
            "characters/Ana.png",
            "settings.json",
            "backups",
            ".forklore",
            ".forklore/tx",
            ".forklore/tx/trap.intent",
            ".forklore/ops",
            ".forklore/ops/trap.op",
            ".forklore/objects",
            ".forklore/lost",
            ".forklore/lock",
            ".forklore/cache",
            ".forklore/history",
            ".forklore/history/packs",
            ".forklore/history/lock",
            ".forklore/config.toml",
            ".forklore/config.toml.new",
        ];
        let place = chance.one(&places);
        let at = self.vault.root().join(place);
        // What stands there goes; a part of the time it stays, and what is laid comes into it.
        let at = if at.is_dir() && chance.below(2) == 0 {
            at.join(chance.one(&["trap.jsonl", "trap.json", "trap", "main.jsonl"]))
        } else {
            at
        };
        let _gone =
            if at.is_dir() && !at.is_symlink() { fs::remove_dir_all(&at) } else { fs::remove_file(&at) };
        let _parent = fs::create_dir_all(at.parent().unwrap());
        let what = self.put(&at, chance);
        format!("{what} at {}", at.strip_prefix(self.vault.root()).unwrap().display())
    }

    fn put(&self, at: &Path, chance: &mut Chance) -> String {
        let write = |bytes: &[u8]| {
            // A trap that was laid before can be in the way of this one.
            let _in_the_way = fs::write(at, bytes);
        };
        let run = |program: &str, args: &[&str]| {
            let _unable = Command::new(program).args(args).stderr(Stdio::null()).status();
        };
        let host = at.to_string_lossy().into_owned();
        let what = chance.below(16);
        match what {
            0 => run("mkfifo", &[&host]),
            1 => drop(UnixListener::bind(at)),
            2 => run("mknod", &[&host, "c", "1", "5"]),
            3 => drop(symlink(&self.outside, at)),
            4 => drop(symlink(self.outside.join("main.jsonl"), at)),
            5 => drop(symlink("../../outside/secret", at)),
            6 => drop(symlink(at, at)),
            7 => drop(symlink("nowhere", at)),
            8 => drop(symlink("/dev/zero", at)),
            9 => drop(fs::create_dir(at)),
            10 => write(b""),
            11 => write(&[0xff; 5000]),
            12 => write("[".repeat(200_000).as_bytes()),
            13 => {
                write(b"{\"entries\":{},\"chat_metadata\":{\"integrity\":\"a\",\"main_chat\":\"main\"}}");
                let _unable = fs::set_permissions(at, Permissions::from_mode(0o000));
            }
            14 => {
                write(b"{\"chat_metadata\":{}}\n{\"mes\":\"from another time\"}");
                let when = chance.one(&[0, 1, 4_102_444_800, 253_402_300_799]);
                let when = SystemTime::UNIX_EPOCH + Duration::from_secs(when);
                let _unable =
                    fs::File::options().append(true).open(at).and_then(|file| file.set_modified(when));
            }
            _ => {
                let names: [&[u8]; 10] = [
                    b"\xff\xfe.jsonl",
                    b"CON.jsonl",
                    b"a\nb.jsonl",
                    b"-rf.jsonl",
                    b" .jsonl",
                    b".jsonl",
                    b"...jsonl",
                    "e\u{301}\u{1f600}\u{202e}.jsonl".as_bytes(),
                    b"main.jsonl.1234567",
                    b"MAIN.jsonl",
                ];
                let mut name = chance.one(&names).to_vec();
                if chance.below(4) == 0 {
                    name = [&[b'x'; 249][..], b".jsonl"].concat();
                }
                let _dir = fs::create_dir_all(at);
                let _unable = fs::write(at.join(OsStr::from_bytes(&name)), crate_chat());
            }
        }
        let words = [
            "a pipe",
            "a socket",
            "a device",
            "a link out",
            "a link to a file outside",
            "a relative link out",
            "a circle",
            "a link to nothing",
            "a link to /dev/zero",
            "a folder",
            "nothing in it",
            "no text",
            "a deep nest",
            "a closed file",
            "another time",
            "a strange name",
        ];
        words[what].to_owned()
    }
}

fn crate_chat() -> &'static [u8] {
    b"{\"chat_metadata\":{\"integrity\":\"z\",\"main_chat\":\"main\",\"world_info\":\"B\"}}\n{\"name\":\"Ana\",\"mes\":\"hello\"}"
}

/// Time of the processor that a process has used so far, in hundredths of a second; nothing once it is gone.
fn worked(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Waits for the end; an error if it stands still, or runs in a circle.
fn wait(child: &mut Child) -> Result<Option<i32>, String> {
    let (mut last, mut since) = (worked(child.id()), Instant::now());
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(status.code());
        }
        let now = worked(child.id());
        if now != last {
            (last, since) = (now, Instant::now());
        }
        let busy = last.is_some_and(|hundredths| hundredths > HANG.as_secs() * 100);
        if busy || since.elapsed() > HANG {
            let _ended = child.kill();
            let _reaped = child.wait();
            return Err(if busy { "it runs in a circle" } else { "it hangs" }.to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What is tried, in this order, as far as the seed says.
const COMMANDS: [&[&str]; 22] = [
    &["stories"],
    &["tree"],
    &["check"],
    &["show", "Ana/main", "--at", "1"],
    &["checkpoint", "Ana/main", "--at", "2"],
    &["branch", "Ana/native", "--at", "1"],
    &["branch", "group:1/100", "--at", "0"],
    &["heal", "--yes"],
    &["undo"],
    &["redo"],
    &["log"],
    &["watch", "--once"],
    &["history", "Ana/main"],
    &["blame", "Ana/main"],
    &["diff", "Ana/main", "Ana/native"],
    &["delete", "Ana/native"],
    &["trash"],
    &["restore", "Ana/main", "--at", "1"],
    &["rename", "Ana/main", "other"],
    &["gc"],
    &["config", "trash.days", "7"],
    &["check", "--deep"],
];

fn one(seed: u64, strace: Option<&Strace>) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let trap = Trap::new();
    // Some have been used before, so that there is something of Forklore's to meddle with.
    if chance.below(2) == 0 {
        for args in [
            &["watch", "--once"][..],
            &["branch", "Ana/main", "--at", "2"],
            &["branch", "Ana/main", "--at", "1"],
            &["undo"],
        ] {
            let run = trap.vault.run(FORKLORE, args);
            assert_eq!(run.code, Some(0), "{run}");
        }
    }
    // Root is told "permission denied" by nothing; so a part of the runs is somebody else's.
    let other = nobody::are_root() && chance.below(2) == 0;
    let laid: Vec<String> = (0..=chance.below(4)).map(|_| trap.lay(&mut chance)).collect();
    if other {
        nobody::give(trap.vault.root().parent().unwrap());
    }
    let before = trap.picture();
    let first = chance.below(COMMANDS.len());
    for n in 0..6 {
        let args = COMMANDS[(first + n * (1 + chance.below(3))) % COMMANDS.len()];
        let json: &[&str] = if chance.below(2) == 0 { &["--json"] } else { &[] };
        // A part of them meets a disk that is full from one moment on, or a call that fails.
        let failing = strace.filter(|_| !other && chance.below(3) == 0).map(|strace| {
            let call = chance.one(&[
                "write",
                "fsync",
                "openat",
                "openat2",
                "renameat2",
                "copy_file_range",
                "mkdirat",
                "unlinkat",
            ]);
            let error = chance.one(&["ENOSPC", "EIO", "EACCES", "EMFILE"]);
            let from = 1 + chance.below(60);
            let until = if chance.below(2) == 0 { "+" } else { "" };
            (strace, format!("inject={call}:error={error}:when={from}{until}"))
        });
        let mut command = match &failing {
            Some((strace, inject)) => {
                let mut command = trap.vault.command(&strace.0);
                command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
                command.args(["-f", "-qq", "-o", "/dev/null", "-e", inject, FORKLORE]);
                command
            }
            None if other => nobody::command(&trap.vault),
            None => trap.vault.command(FORKLORE),
        };
        let log = trap.vault.root().parent().unwrap().join("log");
        let out = fs::File::create(&log).unwrap();
        command.args(args).args(json).stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
        let told = format!(
            "seed {seed}, as {}: {laid:?}; {args:?} {json:?} {:?}",
            if other { "nobody" } else { "us" },
            failing.as_ref().map(|(_, inject)| inject)
        );
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{told}: {e}"));
        let ended = wait(&mut child).unwrap_or_else(|why| panic!("{told}: {why}"));
        let said = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        // What fails may be the system's own part, before there is a program.
        if failing.is_some() && said.contains("error while loading shared libraries") {
            continue;
        }
        assert!(!said.contains("panicked"), "{told}\n{said}");
        assert!(matches!(ended, Some(0..=2)), "{told} ended with {ended:?}\n{said}");
        assert!(!said.contains("SECRET"), "{told} read something outside\n{said}");
        assert!(trap.picture() == before, "{told} changed something outside\n{said}");
    }
}

#[test]
fn whatever_is_in_a_vault_nothing_panics_hangs_or_leaves_it() {
    let strace = Strace::find("the part of it in which calls fail");
    if let Some(seed) = std::env::var("FORKLORE_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return one(seed, strace.as_ref());
    }
    if !soaking() {
        return (0..60).for_each(|seed| one(seed, strace.as_ref()));
    }
    let fresh = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let start = Instant::now();
    let mut seeds = 0;
    while start.elapsed() < Duration::from_secs(10 * 60) {
        one(fresh * 100_000 + seeds, strace.as_ref());
        seeds += 1;
    }
    println!("hostile vaults: {seeds} from seed {} on", fresh * 100_000);
}
