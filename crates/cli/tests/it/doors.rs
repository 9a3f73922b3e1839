//! Doors that were open once: what somebody who has one vault, or none, must not be able to do. docs/security.md tells what is promised.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forklore_api::{LibraryCache, SharedLibrary};
use forklore_fs::{RealFs, Vfs};
use forklore_testkit::TestVault;
use forklore_testkit::http::Http;
use forklore_vault::NoProgress;
use serde_json::{Value, json};

use crate::FORKLORE;
use crate::serve::{Serving, managed, serve, start, story};

/// The names of everything below a folder.
fn names(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        found.extend(names(&path));
        found.push(path);
    }
    found.sort();
    found
}

/// A vault with a history.
fn remembering() -> TestVault {
    let vault = TestVault::new();
    story(&vault, &[]);
    let watched = vault.run(FORKLORE, &["watch", "--once"]);
    assert_eq!(watched.code, Some(0), "{watched}");
    vault
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(path, target).unwrap();
        }
    }
}

/// Whoever had one vault's token could make another one's history its own, read it with `restore` and forget it.
#[test]
fn regression_no_request_moves_history() {
    let (one, two) = (remembering(), TestVault::new());
    story(&two, &[]);
    let theirs = one.root().join(".forklore/history");
    let before = names(&theirs);
    let server = managed();
    let http = server.open(&two.root());
    let nowhere = two.root().parent().unwrap().join("made-by-a-request");
    for dir in [&theirs, &nowhere] {
        for body in [
            json!({"key": "history.dir", "value": dir}),
            json!({"key": "history.dir", "value": dir, "dry_run": true}),
            json!({"key": "history.dir", "unset": true}),
            json!({"key": "history.dir", "add": [dir]}),
        ] {
            assert_eq!(http.post("api/config", &body).code(), (403, "NOT_ALLOWED".to_owned()), "{body}");
        }
    }
    assert_eq!(http.query("api/config", &[("key", "history.dir")]).code(), (403, "NOT_ALLOWED".to_owned()));
    let told = http.get("api/config").ok().to_string();
    assert!(told.contains("history.operations") && !told.contains("history.dir"), "{told}");
    let _told = http.query("api/history", &[("chat", "Ana/Main")]).ok();
    assert!(!nowhere.exists());
    assert_eq!(names(&theirs), before);
}

/// A vault that came from somebody else could say where its history is.
#[test]
fn regression_a_vault_that_was_copied_reaches_no_history_outside() {
    let (one, two) = (remembering(), TestVault::new());
    story(&two, &[]);
    let theirs = one.root().join(".forklore/history");
    let nowhere = two.root().parent().unwrap().join("made-by-a-vault");
    let before = names(&theirs);
    for dir in [&theirs, &nowhere] {
        two.write(".forklore/config.toml", format!("[history]\ndir = '{}'\n", dir.display()).as_bytes());
        let run = two.run(FORKLORE, &["watch", "--once"]);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stderr.contains("names a place outside of the vault"), "{run}");
        assert!(run.stderr.contains("forklore config history.dir --unset"), "{run}");
        let server = serve(&two, &[]);
        assert!(server.http.get("api/stories").status != 500);
        for (call, body) in [
            ("api/restore", json!({"chat": "Ana/Main", "at": 3, "yes": true})),
            ("api/forget", json!({"last": 1})),
            ("api/prune", json!({})),
        ] {
            let answer = server.http.post(call, &body);
            assert!(answer.status >= 400, "{call}: {}", answer.status);
        }
        assert_eq!(names(&theirs), before);
        assert!(!nowhere.exists());
    }
    // What the sentence says helps.
    assert_eq!(two.run(FORKLORE, &["config", "history.dir", "--unset"]).code, Some(0));
    assert_eq!(two.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    assert!(two.root().join(".forklore/history/packs").is_dir());
}

/// One vault's history was any vault's that was pointed at it.
#[test]
fn regression_a_history_is_one_vaults_and_no_others() {
    let (one, two) = (remembering(), remembering());
    let theirs = one.root().join(".forklore/history");
    let before = names(&theirs);
    let set = two.json(FORKLORE, &["config", "history.dir", theirs.to_str().unwrap()]);
    assert_eq!(set["error"]["code"], "HISTORY_FOREIGN", "{set}");
    assert_eq!(names(&theirs), before);
    // Nor by putting it into the other's place.
    let own = two.root().join(".forklore/history");
    std::fs::remove_dir_all(&own).unwrap();
    copy(&theirs, &own);
    let put = names(&own);
    for args in [&["history", "Ana/Main"][..], &["watch", "--once"], &["prune"]] {
        let run = two.run(FORKLORE, &[args, &["--json"]].concat());
        assert!(run.code == Some(1) && run.stdout.contains("HISTORY_FOREIGN"), "{args:?}: {run}");
    }
    assert_eq!(names(&own), put);
    // The story can be looked at, and what the sentence says helps.
    assert_eq!(two.json(FORKLORE, &["tree"])["stories"][0]["name"], "Ana");
    std::fs::rename(&own, two.root().join(".forklore/not-mine")).unwrap();
    let fork = two.json(FORKLORE, &["branch", "Ana/Main", "--at", "20", "--name", "Side"]);
    assert_eq!(fork["chat"], "Ana/Side", "{fork}");
}

#[test]
fn history_elsewhere_is_set_by_the_owner_and_kept_with_the_owners_things() {
    let (vault, disk) = (remembering(), tempfile::tempdir().unwrap());
    let dir = disk.path().join("past");
    let set = vault.json(FORKLORE, &["config", "history.dir", dir.to_str().unwrap()]);
    assert_eq!(set["value"], dir.to_str().unwrap());
    let home = vault.root().parent().unwrap().join(".config/forklore/config.toml");
    let text = std::fs::read_to_string(&home).unwrap();
    assert!(text.contains(vault.root().to_str().unwrap()) && text.contains(dir.to_str().unwrap()), "{text}");
    assert!(!vault.root().join(".forklore/config.toml").exists());
    assert_eq!(vault.json(FORKLORE, &["config"])["owners"]["settings"][0]["value"], dir.to_str().unwrap());
    assert_eq!(vault.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    assert!(names(&dir.join("packs")).iter().any(|name| name.extension().is_some_and(|e| e == "pack")));

    // A copy of the vault has its own.
    let copied = vault.root().parent().unwrap().join("copied");
    copy(&vault.root(), &copied);
    let before = names(&dir);
    let run = vault.finish(vault.command(FORKLORE).env("FORKLORE_VAULT", &copied).args(["watch", "--once"]));
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(names(&dir), before);
    std::fs::remove_dir_all(&copied).unwrap();

    // One that was moved is told so, instead of beginning anew; the sentence helps.
    std::fs::rename(vault.root(), &copied).unwrap();
    let at_its_new_place = |args: &[&str]| {
        vault.finish(vault.command(FORKLORE).env("FORKLORE_VAULT", &copied).args(args).arg("--json"))
    };
    let run = at_its_new_place(&["watch", "--once"]);
    assert!(run.code == Some(1) && run.stdout.contains("HISTORY_MOVED"), "{run}");
    assert_eq!(at_its_new_place(&["config", "history.dir", dir.to_str().unwrap()]).code, Some(0));
    assert_eq!(at_its_new_place(&["watch", "--once"]).code, Some(0));

    // A disk that is not there does not become a folder of another one.
    std::fs::remove_dir_all(&dir).unwrap();
    let run = at_its_new_place(&["watch", "--once"]);
    assert!(run.code == Some(1) && run.stdout.contains("Plug the disk in"), "{run}");
    assert!(!dir.exists());
    assert_eq!(at_its_new_place(&["config", "history.dir", "--unset"]).code, Some(0));
    assert_eq!(at_its_new_place(&["watch", "--once"]).code, Some(0));
    assert!(!std::fs::read_to_string(&home).unwrap().contains("past"));
}

/// The cookie was the token itself, and the address that is printed let in whoever found it.
#[test]
fn regression_a_browser_gets_a_session_and_never_the_token() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let mut command = vault.command(FORKLORE);
    let (server, told) = start(command.args(["serve", "--port", "0", "--json"]), "");
    let (token, code) = (told["token"].as_str().unwrap(), told["code"].as_str().unwrap());
    assert_ne!(token, code);
    let bare = server.http.clone();
    let enter = |code: &str| bare.post("api/session", &json!({"code": code}));
    let entered = enter(code);
    let place = entered.ok()["to"].as_str().unwrap().to_owned();
    let cookie = entered.header("set-cookie").unwrap().to_owned();
    assert!(!cookie.contains(token) && !cookie.contains(code), "{cookie}");
    assert!(cookie.contains(&format!("Path=/{place};")) && cookie.contains("HttpOnly; SameSite=Strict"));
    let (name, session) = cookie.split(';').next().unwrap().split_once('=').unwrap();
    let shows = |value: &str| bare.clone().with("Cookie", &format!("{name}={value}"));
    assert_eq!(shows(session).get(&format!("{place}api/stories")).status, 200);
    // A code works once; a session is no token, a token no session, and neither opens anything elsewhere.
    assert_eq!(enter(code).code(), (401, "CODE_USED".to_owned()));
    assert_eq!(enter("").code(), (401, "CODE_USED".to_owned()));
    assert_eq!(bare.clone().token(session).get("api/stories").code(), (401, "NO_TOKEN".to_owned()));
    assert_eq!(bare.clone().token(code).get("api/stories").code(), (401, "NO_TOKEN".to_owned()));
    for value in [token, code] {
        assert_eq!(shows(value).get(&format!("{place}api/stories")).status, 401);
    }
    assert_eq!(shows(session).get("api/stories").status, 401);
    assert_eq!(shows(session).get("~another/api/stories").status, 401);
    // It ends with the server.
    let port = bare.address.rsplit(':').next().unwrap().to_owned();
    drop(server);
    let mut command = vault.command(FORKLORE);
    let (again, _) = start(command.args(["serve", "--port", &port, "--json"]), "");
    let late = again.http.clone().with("Cookie", &format!("{name}={session}"));
    assert_eq!(late.get(&format!("{place}api/stories")).status, 401);
}

/// Browsers say from where they ask also where there is no `Origin`.
#[test]
fn regression_a_picture_or_a_frame_on_another_page_gets_nothing() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &[]);
    let ask = |site, mode, dest| {
        let said = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)];
        server.http.send("GET", "api/stories", &said, b"").status
    };
    for site in ["cross-site", "same-site"] {
        for dest in ["image", "iframe", "script", "empty", "object"] {
            assert_eq!(ask(site, "no-cors", dest), 403, "{site} {dest}");
            assert_eq!(ask(site, "navigate", dest), 403, "{site} {dest}");
        }
        assert_eq!(ask(site, "navigate", "document"), 200, "a link that somebody follows");
    }
    assert_eq!(ask("same-origin", "cors", "empty"), 200);
    assert_eq!(ask("none", "navigate", "document"), 200);
}

fn connect(server: &Serving) -> TcpStream {
    let stream = TcpStream::connect(&server.http.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream
}

/// 1,040 connections that said nothing stopped all answers, for ever.
#[test]
fn regression_who_says_nothing_keeps_nobody_from_being_answered() {
    let vault = TestVault::new();
    story(&vault, &[]);
    // What a system allows a process to open by default.
    let mut command = vault.command("/bin/sh");
    let start_it = format!("ulimit -n 1024; exec '{FORKLORE}' serve --port 0 --json");
    let (mut server, told) = start(command.args(["-c", &start_it]), "");
    server.http = server.http.clone().token(told["token"].as_str().unwrap());
    let mut silent = Vec::new();
    for n in 0..1500 {
        let mut stream = connect(&server);
        if n % 2 == 0 {
            let _gone = stream.write_all(b"GET /api/hello HTTP/1.1\r\nHost: 127");
        }
        silent.push(stream);
    }
    assert_eq!(server.http.get("api/stories").status, 200);
    // And they are not kept: neither who never spoke, nor who asked once and says nothing since.
    let mut last = silent.pop().unwrap();
    let mut said = Vec::new();
    let _reset = last.read_to_end(&mut said);
    assert!(!String::from_utf8_lossy(&said).contains(" 200 "), "it never asked for anything");
    let mut idle = connect(&server);
    let request = format!("GET /api/health HTTP/1.1\r\nHost: {}\r\n\r\n", server.http.address);
    idle.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    idle.read_to_end(&mut all).unwrap();
    assert!(String::from_utf8_lossy(&all).starts_with("HTTP/1.1 200"), "it is answered, and hung up on");
}

/// A long row of forks in one vault kept all other vaults waiting.
#[test]
fn regression_no_vault_waits_for_anothers_work() {
    let (busy, quiet) = (TestVault::new(), TestVault::new());
    story(&busy, &[]);
    story(&quiet, &[]);
    let server = managed();
    let (one, two) = (server.open(&busy.root()), server.open(&quiet.root()));
    let forks = std::thread::scope(|scope| {
        let fork = |n: usize| {
            let (name, one) = (format!("Fork {n}"), &one);
            move || one.post("api/branch", &json!({"chat": "Ana/Main", "at": 20, "name": name})).status
        };
        // More than can wait, and fewer than there are connections for (400): beyond that, who has not spoken yet is hung up on.
        let forks: Vec<_> = (0..300).map(|n| scope.spawn(fork(n))).collect();
        // As many as can wait do wait by now, or are refused; the other vault's fork comes in between.
        let made = two.post("api/branch", &json!({"chat": "Ana/Main", "at": 20, "name": "Mine"}));
        assert_eq!(made.ok()["chat"], "Ana/Mine");
        let done = std::fs::read_dir(busy.root().join("chats/Ana")).unwrap().count() - 1;
        let all: Vec<u16> = forks.into_iter().map(|fork| fork.join().unwrap()).collect();
        (done, all)
    });
    let made = forks.1.iter().filter(|status| **status == 200).count();
    assert!(forks.1.iter().all(|status| [200, 503].contains(status)), "{:?}", forks.1);
    assert!(made >= 64, "those who may wait are served: {made}");
    assert!(forks.0 < made, "the other vault did not wait for all of them: {} of {made}", forks.0);
}

/// With 200 readers and a fork every second reading took 24 seconds: whoever had looked at the files before others were done read the vault
/// again, one after the other, and what he had read was in nobody's interest any more.
#[test]
fn regression_a_vault_is_read_once_for_all_who_wait() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let fs: Arc<dyn Vfs> = Arc::new(RealFs::new(&vault.root()).unwrap());
    let (library_cache, over) = (LibraryCache::default(), AtomicBool::new(false));
    let changes = 30;
    let read = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..32)
            .map(|_| {
                scope.spawn(|| {
                    let mut got: Vec<Arc<SharedLibrary>> = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let library = library_cache.library(&fs, &NoProgress).unwrap();
                        if !got.iter().any(|known| Arc::ptr_eq(known, &library)) {
                            got.push(library);
                        }
                    }
                    got
                })
            })
            .collect();
        for n in 0..changes {
            let chat = vault.read("chats/Ana/Main.jsonl");
            vault.write("new.tmp", &chat);
            std::fs::rename(
                vault.root().join("new.tmp"),
                vault.root().join(format!("chats/Ana/Copy {n}.jsonl")),
            )
            .unwrap();
            // Whoever asks after a change is told of it.
            let library = library_cache.library(&fs, &NoProgress).unwrap();
            assert_eq!(library.library.chats().len(), n + 2);
        }
        over.store(true, Ordering::Relaxed);
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    let mut different: Vec<*const SharedLibrary> = read.iter().map(Arc::as_ptr).collect();
    different.sort();
    different.dedup();
    // A chat that comes is one change, and the cache of what was read of it is none.
    assert!(different.len() <= changes + 1, "{} times read for {changes} changes", different.len());
}

/// SillyTavern's page saves when it likes. A fork that it saved into was refused, and somebody had to ask again.
#[test]
fn regression_a_save_that_slips_in_keeps_nobody_from_forking() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &[]);
    let (chat, new) = (vault.root().join("chats/Ana/Main.jsonl"), vault.root().join("new.tmp"));
    for n in 0..8 {
        let asked = json!({"chat": "Ana/Main", "at": 20, "name": format!("Side {n}")});
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..40 {
                    std::fs::write(&new, std::fs::read(&chat).unwrap()).unwrap();
                    std::fs::rename(&new, &chat).unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            let made = server.http.post("api/branch", &asked).ok();
            assert_eq!(made["chat"], format!("Ana/Side {n}"), "{made:#}");
        });
    }
}

/// What was asked is answered, also if the server is told to end meanwhile; streams of events end.
#[test]
#[cfg(unix)]
fn a_server_that_ends_answers_what_was_asked() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let mut server = serve(&vault, &[]);
    let mut events = server.http.events("api/events");
    events.wait("hello", |_| true);
    // A body that is still on its way: the request is under way.
    let body = json!({"chat": "Ana/Main", "at": 20, "name": "Last"}).to_string();
    let mut stream = connect(&server);
    let token = server.http.headers.iter().find(|(name, _)| name == "Authorization").unwrap().1.clone();
    let head = format!(
        "POST /api/branch HTTP/1.1\r\nHost: {}\r\nAuthorization: {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.http.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body.as_bytes()[..10]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let pid = server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    std::thread::sleep(Duration::from_millis(300));
    stream.write_all(&body.as_bytes()[10..]).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    assert!(vault.root().join("chats/Ana/Last.jsonl").exists());
    assert!(server.child.wait().unwrap().success());
}

/// Nothing was named, and something was undone.
#[test]
fn regression_an_operation_without_a_name_is_none() {
    let vault = TestVault::new();
    story(&vault, &[]);
    vault.json(FORKLORE, &["branch", "Ana/Main", "--at", "20", "--name", "Side"]);
    let server = serve(&vault, &[]);
    let undone = server.http.post("api/undo", &json!({"operation": ""}));
    assert_eq!(undone.code(), (404, "OPERATION_NOT_FOUND".to_owned()));
    assert!(vault.root().join("chats/Ana/Side.jsonl").exists());
}

/// A fork, and its own book.
fn forked(vault: &TestVault, name: &str) -> PathBuf {
    let fork = vault.json(FORKLORE, &["branch", "Ana/Main", "--at", "20", "--name", name]);
    vault.root().join(format!("worlds/{}.json", fork["book"]["name"].as_str().unwrap()))
}

fn deleted(name: &str) -> Value {
    json!({"what": "chat", "act": "deleted", "folder": "Ana", "name": name})
}

/// One report that could not be followed took the others of its batch with it.
#[test]
fn regression_every_report_is_answered_for_itself() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let (before, one, two) = (forked(&vault, "Before"), forked(&vault, "One"), forked(&vault, "Two"));
    std::fs::remove_file(vault.root().join("chats/Ana/Before.jsonl")).unwrap();
    let server = managed();
    let http = server.open(&vault.root());
    // Who comes back looks at the disk for what nobody told. That must be over, or it finds what is deleted now.
    let start = Instant::now();
    while before.exists() {
        assert!(start.elapsed() < Duration::from_secs(120), "what nobody told is never found");
        std::thread::sleep(Duration::from_millis(20));
    }
    for name in ["One", "Two"] {
        std::fs::remove_file(vault.root().join(format!("chats/Ana/{name}.jsonl"))).unwrap();
    }
    // Somebody else is at work for longer than anybody waits.
    let lock = std::fs::File::options().write(true).open(vault.root().join(".forklore/lock")).unwrap();
    lock.lock().unwrap();
    let events =
        json!({"events": [deleted("One"), {"what": "book", "act": "saved", "name": "x"}, deleted("Two")]});
    let told = http.post("api/seen", &events).ok();
    let failed: Vec<(u64, &str, bool)> = told["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["event"].as_u64().unwrap(), f["error"]["code"].as_str().unwrap(), f["again"] == true))
        .collect();
    assert_eq!(failed, [(0, "BUSY", true), (2, "BUSY", true)], "{told}");
    assert!(one.exists() && two.exists());
    drop(lock);
    let told = http.post("api/seen", &json!({"events": [deleted("One"), deleted("Two")]})).ok();
    assert_eq!((told["did"].as_array().unwrap().len(), &told["failed"]), (2, &json!([])), "{told}");
    assert!(!one.exists() && !two.exists());
}

/// What was deleted while nobody could tell the engine is found when it comes back.
#[test]
fn regression_what_nobody_told_is_found_on_disk() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let (gone, kept, renamed) = (forked(&vault, "Gone"), forked(&vault, "Kept"), forked(&vault, "Renamed"));
    let chat = |name: &str| vault.root().join(format!("chats/Ana/{name}.jsonl"));
    std::fs::remove_file(chat("Gone")).unwrap();
    std::fs::rename(chat("Renamed"), chat("Another name")).unwrap();
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < Duration::from_secs(120), "never: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let server = managed();
    let http: Http = server.open(&vault.root());
    wait("its book goes to the trash", &|| !gone.exists());
    assert!(kept.exists() && renamed.exists());
    // Also when the plugin has had to forget something.
    std::fs::remove_file(chat("Kept")).unwrap();
    let _told = http.post("api/seen", &json!({"events": [], "lost": true})).ok();
    assert!(!kept.exists() && renamed.exists());
    // It can be brought back; and a folder that is not there at all has deleted nothing.
    let summary = http.get("api/log").ok()["operations"][0]["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("deleted in SillyTavern"), "{summary}");
    std::fs::rename(vault.root().join("chats/Ana"), vault.root().join("elsewhere")).unwrap();
    let _told = http.post("api/seen", &json!({"events": [], "lost": true})).ok();
    assert!(renamed.exists());
}

/// History stopped being recorded, and nobody was told.
#[test]
fn regression_history_that_is_not_recorded_is_told() {
    let vault = remembering();
    // Another vault's: it will not be written.
    vault.write(".forklore/history/vault", b"0123456789abcdef0123456789abcdef\n");
    let server = serve(&vault, &[]);
    let mut events = server.http.events("api/events");
    let said = loop {
        match events.any() {
            (name, data) if name == "recording" => break data["message"].clone(),
            (name, data) if name == "hello" && data["recording"].is_string() => {
                break data["recording"].clone();
            }
            _ => {}
        }
    };
    assert!(said.as_str().unwrap().contains("another vault"), "{said}");
    assert_eq!(server.http.get("api/hello").ok()["recording"], said);
    // It goes on by itself when it can.
    vault.write(".forklore/history/vault", &vault.read(".forklore/id"));
    let _made = server.http.post("api/branch", &json!({"chat": "Ana/Main", "at": 20, "name": "Side"})).ok();
    assert_eq!(events.wait("recording", |_| true)["message"], Value::Null);
}
