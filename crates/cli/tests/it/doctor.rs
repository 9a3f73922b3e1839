//! `forklore doctor`: what is told of an installation, and that what is told is so.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;

/// What it says, with what differs from machine to machine left out.
fn said(vault: &TestVault, args: &[&str]) -> String {
    let run = vault.run(FORKLORE, &[&["doctor"], args].concat());
    let text = without_path(&run.to_string(), FORKLORE);
    text.lines().filter(|line| !line.contains(" disk ")).collect::<Vec<_>>().join("\n")
}

/// The program's path is as long as whoever builds it likes, and broken where a line ends.
fn without_path(text: &str, path: &str) -> String {
    let begin = concat!("Forklore ", env!("CARGO_PKG_VERSION"), ",");
    let Some((before, after)) = text.split_once(begin) else { return text.to_owned() };
    let mut rest = after;
    for wanted in path.chars().filter(|c| !c.is_whitespace()) {
        match rest.trim_start().strip_prefix(wanted) {
            Some(more) => rest = more,
            None => return text.to_owned(),
        }
    }
    format!("{before}{begin} $FORKLORE{rest}")
}

#[test]
fn regression_the_program_may_be_in_a_folder_with_a_long_name() {
    let version = env!("CARGO_PKG_VERSION");
    for told in [" /a b/forklore.", "\n               /a b/\n               forklore.", " /a\n b/fork\nlore."]
    {
        let told = format!("✓ program      Forklore {version},{told}\n✗ vault");
        let wanted = format!("✓ program      Forklore {version}, $FORKLORE.\n✗ vault");
        assert_eq!(without_path(&told, "/a b/forklore"), wanted);
    }
    let another = format!("✓ program      Forklore {version}, /a/c.\n");
    assert_eq!(without_path(&another, "/a/b"), another);
}

/// A point of the document.
fn point(vault: &TestVault, args: &[&str], about: &str) -> Value {
    let report = vault.json(FORKLORE, &[&["doctor"], args].concat());
    let found = report["points"].as_array().unwrap().iter().find(|point| point["about"] == about).cloned();
    found.unwrap_or_else(|| panic!("nothing about {about}: {report:#}"))
}

fn in_words(point: &Value) -> String {
    let word = |key: &str| point[key].as_str().unwrap().to_owned();
    format!("{}: {}\n{}", word("health"), word("message"), word("remedy"))
}

/// Puts a SillyTavern beside the vault, as far as an installation needs one. It listens on this port, by its settings.
fn tavern(vault: &TestVault, port: u16) -> String {
    let tavern = vault.root().with_file_name("SillyTavern");
    std::fs::create_dir_all(&tavern).unwrap();
    std::fs::write(tavern.join("package.json"), r#"{"name":"sillytavern","version":"1.19.0"}"#).unwrap();
    std::fs::write(tavern.join("server.js"), "").unwrap();
    std::fs::write(tavern.join("config.yaml"), format!("port: {port} # here\nenableServerPlugins: false\n"))
        .unwrap();
    tavern.display().to_string()
}

/// A port that nobody listens on.
fn nowhere() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A vault of whose past everything is recorded.
fn recorded() -> TestVault {
    let vault = TestVault::new()
        .chat("Ana", "Main", &json!({"integrity": "a", "world_info": "B"}), &["hello", "one", "two"])
        .book("B", &[("Ana", "A girl")]);
    since(&vault, "chats/Ana/Main.jsonl", 300);
    since(&vault, "worlds/B.json", 300);
    assert_eq!(vault.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    vault
}

/// As if a file had been saved so many seconds ago.
fn since(vault: &TestVault, file: &str, seconds: u64) {
    let file = std::fs::File::options().append(true).open(vault.root().join(file)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

// Paths are written in another way on Windows.
#[cfg(unix)]
#[test]
fn without_anything_it_says_how_to_begin() {
    let vault = TestVault::new();
    let elsewhere = vault.root().with_file_name("nothing");
    std::fs::create_dir(&elsewhere).unwrap();
    insta::assert_snapshot!(said(&vault, &["--vault", &elsewhere.to_string_lossy()]), @"
    ✓ program      Forklore 0.1.0, $FORKLORE.
    ✗ vault        $TMP/nothing holds no SillyTavern chats.
                   → Name a SillyTavern user folder with --vault DIR or FORKLORE_VAULT, or try `forklore
                     demo`.
    ! sillytavern  No SillyTavern install was found from here.
                   → Name the folder that has SillyTavern's server.js in it: forklore doctor
                     --sillytavern DIR
    1 error, 1 warning.
    --- exit 1
    ");
}

// Paths are written in another way on Windows.
#[cfg(unix)]
#[test]
fn where_all_is_well_it_says_so() {
    let vault = recorded();
    let port = nowhere();
    let tavern = tavern(&vault, port);
    assert_eq!(vault.run(FORKLORE, &["install", "--sillytavern", &tavern]).code, Some(0));
    let told = said(&vault, &["--sillytavern", &tavern]).replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(told, @"
    ✓ program      Forklore 0.1.0, $FORKLORE.
    ✓ vault        $TMP/vault: 1 story, 1 chat, 1 lorebook.
    ✓ rights       Forklore may read and write what it has to, and nobody else looks into its folder.
    ✓ system       Every change is whole or not at all, also if the power goes, and no save of
                   SillyTavern's is lost.
    ✓ leftovers    Nothing is left behind.
    ✓ history      Everything is recorded: 2 saves of 2 files.
    ✓ sillytavern  SillyTavern 1.19.0, $TMP/SillyTavern.
    ✓ plugin       Version 0.1.0 is installed. SillyTavern does not run at port PORT now.
    All is well.
    ");
    let report = vault.json(FORKLORE, &["doctor", "--sillytavern", &tavern]);
    assert_eq!((&report["ok"], &report["version"]), (&json!(true), &json!(env!("CARGO_PKG_VERSION"))));
    let points = report["points"].as_array().unwrap();
    assert!(
        points.iter().all(|point| point["health"] == "ok" && point["remedy"] == Value::Null),
        "{report:#}"
    );
}

/// It looks, and changes nothing that is SillyTavern's; where Forklore never was, it leaves nothing.
#[test]
fn it_changes_nothing() {
    let vault = TestVault::new().chat("Ana", "Main", &json!({"integrity": "a"}), &["hello", "one"]);
    let before = vault.snapshot();
    let told = said(&vault, &[]);
    assert!(told.contains("Nothing is recorded"), "{told}");
    assert!(vault.snapshot() == before);
    assert!(!vault.root().join(".forklore/tx").exists(), "{told}");
}

#[test]
fn history_that_is_not_recorded_is_told_and_what_to_do() {
    let vault = recorded();
    // The same bytes again are no change.
    let book = vault.read("worlds/B.json");
    std::fs::remove_file(vault.root().join("worlds/B.json")).unwrap();
    vault.write("worlds/B.json", &book);
    since(&vault, "worlds/B.json", 60);
    assert_eq!(point(&vault, &[], "history")["health"], "ok");
    // Others are; but whoever records needs a moment.
    let other = String::from_utf8(book).unwrap().replace("A girl", "A lady");
    vault.write("worlds/B.json", other.as_bytes());
    assert_eq!(point(&vault, &[], "history")["health"], "ok");
    since(&vault, "worlds/B.json", 60);
    insta::assert_snapshot!(in_words(&point(&vault, &[], "history")), @r#"
    warning: History is not being recorded: 1 file changed since, such as "worlds/B.json". It has 2 saves of 2 files.
    SillyTavern's plugin records by itself: `forklore install`, and restart SillyTavern. Without it, leave `forklore watch` running. `forklore watch --once` records what there is now.
    "#);
    assert_eq!(vault.run(FORKLORE, &["watch", "--once"]).code, Some(0));
    assert_eq!(point(&vault, &[], "history")["health"], "ok");
    // Another vault's: it will not be written.
    vault.write(".forklore/history/vault", b"0123456789abcdef0123456789abcdef\n");
    insta::assert_snapshot!(in_words(&point(&vault, &[], "history")), @r#"
    error: History is not being recorded: The folder ".forklore/history" holds the history of another vault.
    Every vault has its own. Move that folder away, or choose another: forklore config history.dir PATH. Chats and lorebooks are not affected.
    "#);
    assert_eq!(vault.run(FORKLORE, &["doctor"]).code, Some(1));
}

/// A plugin of another version, without its program, changed, or switched off.
// Paths are written in another way on Windows.
#[cfg(unix)]
#[test]
fn a_plugin_that_cannot_work_is_told() {
    let vault = recorded();
    let tavern = tavern(&vault, nowhere());
    let plugin = || point(&vault, &["--sillytavern", &tavern], "plugin");
    assert_eq!(plugin()["health"], "warning", "not installed: {}", plugin());
    let install = || assert_eq!(vault.run(FORKLORE, &["install", "--sillytavern", &tavern]).code, Some(0));
    let change = |file: &str, from: &str, to: &str| {
        let file = std::path::Path::new(&tavern).join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
    };
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    for (file, from, to, told) in [
        ("plugins/forklore/engine.json", &*version, "\"version\": \"0.0.1\"", "Version 0.0.1 is installed"),
        ("plugins/forklore/engine.json", FORKLORE, "/nowhere/forklore", "/nowhere/forklore"),
        ("plugins/forklore/index.js", "export", "import", "1 of its files is missing or changed"),
        ("config.yaml", "enableServerPlugins: true", "enableServerPlugins: false", "does not load plugins"),
    ] {
        install();
        assert_eq!(plugin()["health"], "ok");
        change(file, from, to);
        let found = plugin();
        assert_eq!(found["health"], "error", "{found:#}");
        assert!(found["message"].as_str().unwrap().contains(told), "{found:#}");
        assert!(found["remedy"].as_str().unwrap().starts_with("forklore install --sillytavern"), "{found:#}");
    }
}

/// A SillyTavern that runs tells whether it has loaded the plugin.
#[test]
fn who_answers_at_sillytaverns_port_is_told() {
    let vault = recorded();
    let refusal = r#"{"error":{"code":"WRONG_ORIGIN"}}"#;
    for (answer, health, told) in [
        (format!("HTTP/1.1 403 Forbidden\r\n\r\n{refusal}"), "ok", "answers at port"),
        ("HTTP/1.1 404 Not Found\r\n\r\nNot found".to_owned(), "error", "has not loaded it"),
        ("HTTP/1.1 401 Unauthorized\r\n\r\n".to_owned(), "warning", "does not say"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tavern = tavern(&vault, listener.local_addr().unwrap().port());
        assert_eq!(vault.run(FORKLORE, &["install", "--sillytavern", &tavern]).code, Some(0));
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 1024];
            let n = stream.read(&mut asked).unwrap();
            assert!(asked[..n].starts_with(b"GET /api/plugins/forklore/plugin HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let found = point(&vault, &["--sillytavern", &tavern], "plugin");
        served.join().unwrap();
        assert_eq!(found["health"], health, "{found:#}");
        assert!(found["message"].as_str().unwrap().contains(told), "{found:#}");
    }
}

/// What others may see, what is left behind, and what cannot be read.
#[test]
#[cfg(unix)]
fn rights_and_leftovers_are_told() {
    use forklore_testkit::unix::PermissionsExt as _;
    let vault = recorded();
    let own = vault.root().join(".forklore");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = point(&vault, &[], "rights");
    assert!(found["message"].as_str().unwrap().contains("can look into .forklore"), "{found:#}");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(point(&vault, &[], "rights")["health"], "ok");
    forklore_testkit::unix::symlink("/etc", vault.root().join("chats/Out")).unwrap();
    let found = point(&vault, &[], "rights");
    assert!(found["message"].as_str().unwrap().contains("chats/Out"), "{found:#}");
    vault.write("chats/Ana/Main.jsonl.123456", b"{}");
    vault.write(".forklore/lost/old", b"x");
    let found = point(&vault, &[], "leftovers");
    assert_eq!(found["health"], "warning");
    assert_eq!(
        found["message"],
        "1 file of saves that were cut off, 1 file in .forklore/lost that nobody could place."
    );
}
