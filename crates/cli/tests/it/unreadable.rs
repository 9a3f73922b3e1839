//! What cannot be read fails only itself: a chat, a lorebook, a backup, a card or a folder that is closed to us keeps nobody from working with
//! the rest, is told of, and is never taken for one that is gone.
//!
//! Root may read everything, so root gives the vault away and runs Forklore as nobody; whoever else runs this closes what is his own.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forklore_fs::{RealFs, VaultPath, Vfs};
use forklore_testkit::TestVault;
use forklore_testkit::unix::PermissionsExt as _;
use forklore_vault::history::{Observed, Timeline};
use serde_json::{Value, json};

use crate::kills::strace::Strace;
use crate::{FORKLORE, nobody};

/// A vault in which things can be closed.
struct Closing {
    vault: TestVault,
    root: bool,
    /// What is closed, with the mode that it had
    closed: RefCell<Vec<(PathBuf, u32)>>,
}

impl Closing {
    fn of(vault: TestVault) -> Self {
        let this = Self { vault, root: nobody::are_root(), closed: RefCell::default() };
        this.give_away();
        this
    }

    /// What root has written since belongs to nobody as well.
    fn give_away(&self) {
        if self.root {
            nobody::give(self.vault.root().parent().unwrap());
        }
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        self.vault.write(path, bytes);
        self.give_away();
    }

    fn close(&self, path: &str) {
        let path = self.vault.root().join(path);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        self.closed.borrow_mut().push((path, mode));
    }

    fn open_all(&self) {
        for (path, mode) in self.closed.borrow_mut().drain(..).rev() {
            let _gone = fs::set_permissions(path, fs::Permissions::from_mode(mode));
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = if self.root { nobody::command(&self.vault) } else { self.vault.command(FORKLORE) };
        command.args(args);
        command
    }

    fn json(&self, args: &[&str]) -> Value {
        let run = self.vault.finish(&mut self.command(&[args, &["--json"]].concat()));
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}\n{run}"))
    }

    /// A command that must work.
    fn did(&self, args: &[&str]) -> Value {
        let answer = self.json(args);
        assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
        answer
    }

    /// The findings of `check` with a code, as (place, message).
    fn found(&self, code: &str) -> Vec<String> {
        let report = self.did(&["check"]);
        let all = report["findings"].as_array().unwrap().iter();
        let ours = all.filter(|finding| finding["code"] == code);
        ours.map(|finding| format!("{} {}", finding["chat"], finding["message"])).collect()
    }

    /// The files that `watch --once` has recorded, and those that it could not read.
    fn watched(&self) -> (Vec<String>, Vec<String>) {
        let report = self.did(&["watch", "--once"]);
        let list = |key: &str, of: &dyn Fn(&Value) -> Value| -> Vec<String> {
            let list = report[key].as_array().unwrap().iter();
            list.map(|one| of(one).as_str().unwrap().to_owned()).collect()
        };
        (list("recorded", &Value::clone), list("closed", &|one| one["path"].clone()))
    }

    /// Whether history ever said that a file is gone.
    fn was_gone(&self, file: &str) -> bool {
        let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&self.vault.root()).unwrap());
        let timeline = Timeline::load(&fs).unwrap().unwrap();
        let track = timeline.track(&VaultPath::new(file).unwrap()).to_vec();
        track.iter().any(|i| timeline.seen[*i].observation.what == Observed::Gone)
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.open_all();
    }
}

/// Two stories, each with a chat and its lorebook.
fn stories() -> TestVault {
    let header = |slug: &str, book: &str| json!({"integrity": slug, "world_info": book});
    TestVault::new()
        .chat("Ana", "Rain", &header("a", "Lore"), &["hello", "one", "two"])
        .chat("Bea", "Sun", &header("b", "Days"), &["hi", "eins", "zwei"])
        .book("Lore", &[("The sea", "It is cold.")])
        .book("Days", &[("Noon", "It is hot.")])
}

fn two() -> Closing {
    Closing::of(stories())
}

/// One more message.
fn play_on(closing: &Closing, chat: &str) {
    let path = format!("chats/{chat}.jsonl");
    let mut text = closing.vault.read(&path);
    text.extend_from_slice(
        b"\n{\"name\":\"X\",\"is_user\":true,\"send_date\":\"2026-01-02T00:00:00.000Z\",\"mes\":\"more\"}",
    );
    closing.write(&path, &text);
}

const MAIN: &str = "Maren Voss - 2026-11-15@00h59m16s354ms";

fn main_book() -> String {
    format!("worlds/z-AutoLB-Maren Voss-{MAIN}.json")
}

/// `tree`, without what tells how well chats are.
fn tree(closing: &Closing) -> Vec<(String, Value)> {
    let tree = closing.did(&["tree"]);
    let stories = tree["stories"].as_array().unwrap().iter();
    let chats = stories.flat_map(|story| story["chats"].as_array().unwrap());
    chats.map(|chat| (chat["chat"].as_str().unwrap().to_owned(), chat["parent"].clone())).collect()
}

/// One file that could not be read kept all others from being recorded, those of the same sweep for ever.
#[test]
fn regression_watch_records_what_it_can_read() {
    for closed in ["chats/Ana/Rain.jsonl", "worlds/Lore.json"] {
        let closing = two();
        closing.close(closed);
        let (recorded, unread) = closing.watched();
        assert_eq!(unread, [closed]);
        assert_eq!(recorded.len(), 3, "{recorded:?}");
        assert!(!recorded.iter().any(|file| file == closed));
        // Others go on.
        play_on(&closing, "Bea/Sun");
        assert_eq!(closing.watched(), (vec!["chats/Bea/Sun.jsonl".to_owned()], vec![closed.to_owned()]));
        // What was seen before it was closed stays, and it is not gone.
        closing.open_all();
        assert_eq!(closing.watched().0, [closed]);
        closing.close(closed);
        assert_eq!(closing.watched(), (vec![], vec![closed.to_owned()]));
        assert!(!closing.was_gone(closed));
    }
}

#[test]
fn regression_watch_takes_nothing_in_a_closed_folder_for_gone() {
    let closing = two();
    assert_eq!(closing.watched().0.len(), 4);
    for folder in ["chats/Ana", "worlds"] {
        closing.close(folder);
        play_on(&closing, "Bea/Sun");
        assert_eq!(closing.watched(), (vec!["chats/Bea/Sun.jsonl".to_owned()], vec![folder.to_owned()]));
        closing.open_all();
    }
    assert!(!closing.was_gone("chats/Ana/Rain.jsonl") && !closing.was_gone("worlds/Lore.json"));
    assert_eq!(closing.watched(), (vec![], vec![]));
    // What is in it may be listed, on some systems, and not looked at.
    let folder = closing.vault.root().join("chats/Ana");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o444)).unwrap();
    let seen = closing.watched();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(seen.0.is_empty() && seen.1.len() == 1 && seen.1[0].starts_with("chats/Ana"), "{seen:?}");
    assert!(!closing.was_gone("chats/Ana/Rain.jsonl"));
}

#[test]
fn regression_watch_goes_on_and_says_once_what_it_cannot_read() {
    let closing = two();
    closing.close("chats/Ana/Rain.jsonl");
    let errors = closing.vault.root().with_file_name("errors");
    let mut command = closing.command(&["watch", "--every", "1", "--no-backups"]);
    command.stdout(Stdio::null()).stderr(fs::File::create(&errors).unwrap());
    let mut watching = command.spawn().unwrap();
    let is_recorded = |file: &str| {
        let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&closing.vault.root()).unwrap());
        let timeline = Timeline::load(&fs).ok().flatten();
        timeline.map_or(0, |timeline| timeline.track(&VaultPath::new(file).unwrap()).len())
    };
    let wait = |file: &str, times: usize| {
        let begun = Instant::now();
        while is_recorded(file) < times {
            assert!(begun.elapsed().as_secs() < 60, "{file} was not recorded {times} times");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait("chats/Bea/Sun.jsonl", 1);
    play_on(&closing, "Bea/Sun");
    wait("chats/Bea/Sun.jsonl", 2);
    std::thread::sleep(Duration::from_millis(2_500));
    closing.open_all();
    wait("chats/Ana/Rain.jsonl", 1);
    watching.kill().unwrap();
    watching.wait().unwrap();
    let said = fs::read_to_string(&errors).unwrap();
    assert_eq!(said.matches("chats/Ana/Rain.jsonl").count(), 1, "{said}");
    assert!(said.contains("Everything else is recorded."), "{said}");
}

#[test]
fn regression_serve_records_what_it_can_read() {
    let closing = two();
    closing.close("chats/Ana/Rain.jsonl");
    let mut command = closing.command(&["serve", "--port", "0", "--json"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let begun = Instant::now();
    let recorded = loop {
        let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&closing.vault.root()).unwrap());
        let timeline = Timeline::load(&fs).ok().flatten();
        let seen = timeline.is_some_and(|timeline| {
            !timeline.track(&VaultPath::new("chats/Bea/Sun.jsonl").unwrap()).is_empty()
        });
        if seen || begun.elapsed().as_secs() > 60 {
            break seen;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(recorded);
}

/// One lorebook kept `tree`, `heal`, `diff`, `branch` and `show` from chats that do not need it.
#[test]
fn regression_a_closed_lorebook_fails_only_what_needs_it() {
    let whole = Closing::of(TestVault::harbor());
    let closing = Closing::of(TestVault::harbor());
    let book = main_book();
    closing.close(&book);
    assert_eq!(tree(&closing), tree(&whole));
    let damaged = closing.found("BOOK_DAMAGED");
    assert!(damaged.iter().any(|finding| finding.contains(&book)), "{damaged:#?}");
    for fork in [format!("{MAIN} - Branch #1"), format!("{MAIN} - Branch #4"), "Blue door".to_owned()] {
        let Some(own) = tree(&whole).into_iter().find(|(chat, _)| chat.ends_with(&fork)) else { continue };
        println!("{}", own.0);
        let shown = closing.did(&["show", &own.0]);
        assert_eq!(shown["text"], whole.did(&["show", &own.0])["text"]);
    }
    closing.did(&["heal", "--dry-run"]);
    // What needs it says what to do.
    let refused = closing.json(&["branch", MAIN, "--at", "3", "--name", "no"]);
    assert_eq!(refused["error"]["code"], "CORRUPT_BOOK", "{refused:#}");
    assert!(refused["error"]["hint"].as_str().unwrap().contains("the right to read"), "{refused:#}");
}

/// A lorebook that is damaged was shown as nothing, where one that is gone was shown as its scenes tell it.
#[test]
fn regression_what_tells_of_a_damaged_lorebook_is_shown() {
    let whole = Closing::of(TestVault::harbor());
    let shown = |closing: &Closing| closing.did(&["show", "Loft night", "--at", "14"]);
    let book = shown(&whole)["book"]["name"].as_str().unwrap().to_owned();
    let path = format!("worlds/{book}.json");
    fs::remove_file(whole.vault.root().join(&path)).unwrap();
    let gone = shown(&whole);
    let closing = Closing::of(TestVault::harbor());
    let told = || {
        let now = shown(&closing);
        assert_eq!(now["book"], gone["book"]);
        let warnings: Vec<&str> =
            now["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
        assert_eq!(warnings, ["BOOK_DAMAGED"]);
    };
    closing.close(&path);
    told();
    closing.open_all();
    for broken in [&b"not a lorebook"[..], b""] {
        closing.write(&path, broken);
        told();
    }
    // Where nothing tells, nothing is made up.
    let closing = two();
    closing.write("worlds/Lore.json", b"{");
    assert_eq!(closing.json(&["show", "Ana/Rain", "--at", "1"])["error"]["code"], "CORRUPT_BOOK");
    // History does.
    closing.write(
        "worlds/Lore.json",
        b"{\"entries\":{\"0\":{\"uid\":0,\"comment\":\"The sea\",\"content\":\"Cold.\",\"key\":[]}}}",
    );
    let _seen = closing.watched();
    closing.close("worlds/Lore.json");
    let now = closing.did(&["show", "Ana/Rain"]);
    assert_eq!(crate::titles(&now), ["The sea"]);
    assert_eq!(now["book"]["source"]["kind"], "history", "{now:#}");
}

#[test]
fn regression_a_closed_backup_fails_only_itself() {
    let closing = Closing::of(TestVault::harbor());
    let whole = Closing::of(TestVault::harbor());
    closing.close("backups/chat_maren_voss_20261115-010052.jsonl");
    assert_eq!(tree(&closing), tree(&whole));
    let then = |closing: &Closing| closing.did(&["show", "Loft night", "--at", "14"])["book"].clone();
    assert_eq!(then(&closing), then(&whole));
    closing.did(&["branch", "Loft night", "--at", "3", "--name", "Early"]);
    let (recorded, unread) = closing.watched();
    assert!(!recorded.is_empty() && unread.is_empty(), "{unread:?}");
    let found = closing.found("CHAT_DAMAGED");
    assert!(found.iter().any(|finding| finding.contains("1 backup of SillyTavern's")), "{found:#?}");
    closing.close("backups");
    assert!(closing.did(&["show", "Loft night", "--at", "14"])["error"].is_null());
    let found = closing.found("CHAT_DAMAGED");
    assert!(found.iter().any(|finding| finding.contains("The folder backups")), "{found:#?}");
}

#[test]
fn regression_a_closed_folder_of_chats_fails_only_its_story() {
    let closing = two();
    closing.close("chats/Ana");
    assert_eq!(tree(&closing), [("Bea/Sun".to_owned(), Value::Null)]);
    assert_eq!(closing.did(&["show", "Bea/Sun"])["text"], "zwei");
    assert!(closing.did(&["stories"])["stories"].to_string().contains("Bea"));
    let found = closing.found("CHAT_DAMAGED");
    assert!(found.len() == 1 && found[0].contains("chats/Ana"), "{found:#?}");
    closing.did(&["heal", "--dry-run"]);
    closing.did(&["branch", "Bea/Sun", "--at", "1", "--name", "Fork"]);
    closing.did(&["undo"]);
    // All of this was looked at while it was closed; nothing of it is believed once it is open.
    closing.open_all();
    assert_eq!(tree(&closing).len(), 2);
    assert_eq!(closing.found("CHAT_DAMAGED"), [""; 0]);
}

/// Who uses a lorebook and cannot be read uses it all the same.
#[test]
fn regression_nothing_is_unneeded_while_its_users_cannot_be_read() {
    let kept = |closing: &Closing| {
        let gc = closing.did(&["gc", "--orphans"]);
        assert_eq!(gc["books"], json!([]), "{gc:#}");
        assert!(closing.vault.root().join("worlds/Memories.json").exists());
        assert_eq!(closing.found("BOOK_ORPHANED"), [""; 0]);
    };
    let kept_by = json!({"entries": {"0": {"uid": 0, "comment": "x", "content": "x", "key": [], "stmemorybooks": true, "STMB_start": 0, "STMB_end": 1}}});
    let vault = || {
        let header = json!({"integrity": "c", "world_info": "Memories"});
        let texts = ["hello", "one", "two"];
        let vault = TestVault::new().chat("Ana", "Rain", &header, &texts);
        let vault = vault.chat("Bea", "Sun", &json!({"integrity": "b"}), &texts);
        Closing::of(vault.file("worlds/Memories.json", kept_by.to_string().as_bytes()))
    };
    for closed in ["chats/Ana/Rain.jsonl", "chats/Ana"] {
        let closing = vault();
        closing.close(closed);
        kept(&closing);
    }
    // A card may name it, and so may settings and groups.
    for (path, closed) in [
        ("characters/Ana.png", "characters/Ana.png"),
        ("characters/Ana.png", "characters"),
        ("settings.json", "settings.json"),
        ("groups/1.json", "groups"),
        ("group chats/1.jsonl", "group chats"),
    ] {
        let closing = vault();
        fs::remove_file(closing.vault.root().join("chats/Ana/Rain.jsonl")).unwrap();
        closing.write(path, b"{}");
        closing.close(closed);
        kept(&closing);
    }
    // The lorebook itself.
    let closing = vault();
    fs::remove_file(closing.vault.root().join("chats/Ana/Rain.jsonl")).unwrap();
    closing.close("worlds/Memories.json");
    kept(&closing);
    closing.open_all();
    assert_eq!(closing.found("BOOK_ORPHANED").len(), 1);
    assert_eq!(closing.did(&["gc", "--orphans"])["books"], json!(["Memories"]));
}

/// The messages of a chat that cannot be read cannot be compared with those of its forks.
#[test]
fn regression_forks_of_a_closed_chat_keep_their_parent() {
    let closing = Closing::of(TestVault::harbor());
    let before = tree(&closing);
    let chat = before.iter().find(|(chat, _)| chat.ends_with(MAIN)).unwrap().0.clone();
    closing.close(&format!("chats/{chat}.jsonl"));
    // That a chat is a copy is known by what stands in both.
    let is_copy = |chat: &str| chat.ends_with("imported");
    let parents = |of: &[(String, Value)]| {
        let forks = of.iter().filter(|(fork, parent)| *parent == *chat && !is_copy(fork));
        let mut forks: Vec<(String, Value)> = forks.cloned().collect();
        forks.sort_by(|a, b| a.0.cmp(&b.0));
        forks
    };
    let after = tree(&closing);
    assert!(!parents(&before).is_empty());
    assert_eq!(parents(&after), parents(&before));
    assert_eq!(after.len(), before.len());
    let report = closing.did(&["check"]);
    for finding in report["findings"].as_array().unwrap() {
        let about_parent = finding["code"] == "PARENT_RENAMED" || finding["code"] == "PARENT_MISSING";
        assert!(
            !(about_parent && finding["message"].to_string().contains(&format!("{MAIN}\\\""))),
            "{finding:#}"
        );
    }
    // It is not healed into something else meanwhile.
    let healed = closing.did(&["heal", "--dry-run"]);
    let forks: Vec<String> = parents(&before).into_iter().map(|(fork, _)| fork).collect();
    for action in healed["actions"].as_array().unwrap() {
        let chat = action["chat"].as_str().unwrap();
        assert!(!forks.iter().any(|fork| fork == chat) && !is_copy(chat), "{action:#}");
    }
    closing.open_all();
    assert_eq!(tree(&closing), before);
}

/// A `worlds` that cannot be listed is not one without lorebooks.
#[test]
fn regression_lorebooks_in_a_closed_folder_are_not_missing() {
    let closing = two();
    closing.close("worlds");
    assert_eq!(closing.found("BOOK_MISSING"), [""; 0]);
    let damaged = closing.found("BOOK_DAMAGED");
    assert_eq!(damaged.len(), 2, "{damaged:#?}");
    let healed = closing.did(&["heal", "--dry-run"]);
    assert_eq!(healed["actions"], json!([]), "{healed:#}");
    assert_eq!(tree(&closing).len(), 2);
}

#[test]
fn regression_undo_works_beside_what_is_closed() {
    let closing = two();
    closing.did(&["branch", "Bea/Sun", "--at", "1", "--name", "Fork"]);
    closing.close("chats/Ana/Rain.jsonl");
    closing.close("worlds/Lore.json");
    closing.did(&["undo"]);
    assert_eq!(tree(&closing).len(), 2);
    assert!(!closing.vault.root().join("chats/Bea/Fork.jsonl").exists());
}

/// A disk that fails in one file is not a vault that is gone.
#[test]
fn regression_a_disk_that_fails_in_one_file_fails_only_that() {
    let Some(strace) = Strace::find("a disk that fails in one file") else { return };
    for broken in ["chats/Ana/Rain.jsonl", "worlds/Lore.json"] {
        let vault = stories();
        let path = vault.root().join(broken).display().to_string();
        let failing = ["-f", "-P", path.as_str(), "-e", "inject=pread64:error=EIO"];
        let did = |args: &[&str]| -> Value {
            let run = strace.run(&vault, &failing, &[args, &["--json"]].concat());
            let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"));
            assert!(answer["error"].is_null(), "{args:?}: {answer:#}");
            answer
        };
        let watched = did(&["watch", "--once"]);
        assert_eq!(watched["recorded"].as_array().unwrap().len(), 3, "{watched:#}");
        assert_eq!(watched["closed"][0]["path"], broken, "{watched:#}");
        assert_eq!(did(&["tree"])["stories"].as_array().unwrap().len(), 2);
        assert_eq!(did(&["show", "Bea/Sun"])["text"], "zwei");
        assert_eq!(did(&["heal", "--dry-run"])["actions"], json!([]));
        let findings = did(&["check"])["findings"].to_string();
        assert!(findings.contains(broken), "{findings}");
        assert_eq!(did(&["gc", "--orphans"])["books"], json!([]));
        // Nothing of that is believed afterwards.
        let whole = vault.json(FORKLORE, &["watch", "--once"]);
        assert_eq!(whole["recorded"], json!([broken]), "{whole:#}");
        assert_eq!(vault.json(FORKLORE, &["check"])["ok"], true);
    }
}
