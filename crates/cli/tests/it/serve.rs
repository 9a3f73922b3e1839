//! `forklore serve`: the real server on real vaults, asked over HTTP by clients good and bad.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use forklore_testkit::TestVault;
use forklore_testkit::http::Http;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;

/// A server, ended when dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    /// Kept open: a managed server ends when it is closed
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) http: Http,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub(crate) const KEY: &str = "0123456789abcdef-a-key-for-tests";

/// A server for one vault, and its client.
pub(crate) fn serve(vault: &TestVault, args: &[&str]) -> Serving {
    let mut command = vault.command(FORKLORE);
    command.args(["serve", "--port", "0", "--json"]).args(args);
    let (mut serving, told) = start(&mut command, "");
    serving.http = serving.http.clone().token(told["token"].as_str().unwrap());
    serving
}

/// A server as the plugin starts it.
pub(crate) fn managed() -> Serving {
    let mut command = Command::new(FORKLORE);
    let (serving, _) =
        start(command.args(["serve", "--port", "0", "--managed"]), &format!("{{\"key\":\"{KEY}\"}}\n"));
    serving
}

pub(crate) fn start(command: &mut Command, input: &str) -> (Serving, Value) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
    let http = Http::new(told["url"].as_str().unwrap());
    (Serving { child, stdin: Some(stdin), http }, told)
}

impl Serving {
    /// A client for a vault of a managed server.
    pub(crate) fn open(&self, vault: &Path) -> Http {
        let opened = self.http.clone().token(KEY).post("api/vaults", &json!({"path": vault})).ok();
        self.http.clone().token(opened["token"].as_str().unwrap())
    }
}

/// A story with two scenes, and with work in its queue if wanted.
pub(crate) fn story(vault: &TestVault, queue: &[(&str, &str)]) -> Story {
    let mut story = Story::new("Ana", "Main");
    story.until(10).learn(1, "character-Ben", "Ben is a baker.").scene("One");
    story.until(20).learn(2, "character-Cleo", "Cleo is a clerk.").scene("Two");
    story.until(25).queue(queue);
    story.save(vault);
    story
}

#[test]
fn answers_are_what_the_command_line_prints() {
    let vault = TestVault::harbor();
    let main = "Maren Voss/The Lighthouse Road";
    let server = serve(&vault, &[]);
    type Asked<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);
    let asked: [Asked<'_>; 12] = [
        (
            "api/diff",
            &[("a", main), ("a_at", "14"), ("b", main), ("b_at", "28")],
            &["diff", main, "--at", "14", "--at", "28"],
        ),
        ("api/diff", &[("a", "Maren Voss/Blue door")], &["diff", "Maren Voss/Blue door"]),
        ("api/stories", &[], &["stories"]),
        ("api/tree", &[], &["tree"]),
        ("api/tree", &[("story", "Harbor Watch")], &["tree", "Harbor Watch"]),
        ("api/show", &[("chat", main), ("at", "14")], &["show", main, "--at", "14"]),
        ("api/check", &[], &["check"]),
        ("api/check", &[("chat", main)], &["check", main]),
        ("api/log", &[("limit", "3")], &["log", "--limit", "3"]),
        ("api/trash", &[], &["trash"]),
        ("api/config", &[("key", "trash.days")], &["config", "trash.days"]),
        ("api/show", &[("chat", "nobody/nothing")], &["show", "nobody/nothing"]),
    ];
    for (path, query, args) in asked {
        let answer = server.http.query(path, query);
        let printed = vault.run(FORKLORE, &[args, &["--json"]].concat()).stdout;
        assert_eq!(String::from_utf8(answer.body.clone()).unwrap(), printed, "{path} {query:?}");
    }
    // And changes do what commands do, planned or made.
    let body = json!({"chat": main, "at": 14, "name": "Over HTTP", "dry_run": true});
    let args = ["checkpoint", main, "--at", "14", "--name", "Over HTTP", "--dry-run"];
    assert_eq!(server.http.post("api/checkpoint", &body).ok(), vault.json(FORKLORE, &args));
    let before = vault.snapshot();
    let made = server.http.post("api/checkpoint", &json!({"chat": main, "at": 14, "name": "Over HTTP"})).ok();
    assert_eq!(made["chat"], "Maren Voss/Over HTTP");
    assert_eq!(vault.json(FORKLORE, &["check", "Maren Voss/Over HTTP"])["ok"], true);
    assert_eq!(server.http.get("api/log").ok()["operations"][0]["id"], made["operation"]);
    let undone = server.http.post("api/undo", &json!({})).ok();
    assert_eq!(undone["undoes"], made["operation"]);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn what_a_route_says_already_or_cannot_do_is_refused_in_a_fork() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &[]);
    let usage = (400, "USAGE".to_owned());
    let twice = json!({"chat": "Ana/Main", "kind": "branch"});
    assert_eq!(server.http.post("api/checkpoint", &twice).code(), usage);
    assert_eq!(server.http.post("api/branch", &twice).code(), usage);
    assert_eq!(server.http.query("api/plan", &[("chat", "Ana/Main")]).code(), usage);
    for (field, value) in [("name", json!("Mine")), ("swipe", json!(1)), ("link", json!(false))] {
        let next = json!({"chat": "Ana/Main", field: value});
        assert_eq!(server.http.post("api/next-fork", &next).code(), usage, "{field}");
    }
    assert!(server.http.post("api/next-fork", &json!({"chat": "Ana/Main"})).ok()["until"].is_string());
}

#[test]
fn every_use_case_can_be_asked() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &[]);
    let post = |path: &str, body: Value| server.http.post(path, &body).ok();
    let plan = server.http.query("api/plan", &[("kind", "branch"), ("chat", "Ana/Main"), ("at", "20")]).ok();
    assert_eq!((&plan["ready"], &plan["refusal"]), (&json!(true), &Value::Null));
    let refused =
        server.http.query("api/plan", &[("kind", "branch"), ("chat", "Ana/Main"), ("at", "99")]).ok();
    assert_eq!(
        (&refused["ready"], &refused["refusal"]["code"]),
        (&json!(false), &json!("MESSAGE_NOT_FOUND"))
    );

    let fork = post("api/branch", json!({"chat": "Ana/Main", "at": 20, "name": "Side"}));
    assert_eq!(fork["chat"], "Ana/Side");
    let renamed = post("api/rename", json!({"chat": "Ana/Side", "name": "Aside"}));
    assert_eq!((&renamed["chat"], &renamed["from"]), (&json!("Ana/Aside"), &json!("Ana/Side")));
    let tree = server.http.get("api/tree").ok();
    let aside = tree["stories"][0]["chats"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["chat"] == "Ana/Aside")
        .unwrap()
        .clone();
    assert_eq!(
        (&aside["parent"], &aside["lineage"], &aside["health"]),
        (&json!("Ana/Main"), &json!("recorded"), &json!("ok"))
    );
    let entered = server.http.query("api/enter", &[("chat", "Ana/Aside")]).ok();
    assert_eq!(
        (&entered["ok"], &entered["hold"], &entered["book"]["state"]),
        (&json!(true), &json!(false), &json!("own"))
    );
    assert_eq!(entered["entering"]["message"], 20);
    assert_eq!(
        entered["place"],
        json!({"kind": "branch", "parent": "Ana/Main", "message": 20, "siblings": []})
    );
    let sibling = post("api/checkpoint", json!({"chat": "Ana/Main", "at": 22, "name": "Beside"}));
    let place = server.http.query("api/enter", &[("chat", "Ana/Aside")]).ok()["place"].clone();
    assert_eq!(place["siblings"], json!([{"chat": "Ana/Beside", "message": 22}]));
    post("api/undo", json!({"operation": sibling["operation"]}));

    std::fs::remove_file(
        vault.root().join(format!("worlds/{}.json", aside["book"]["name"].as_str().unwrap())),
    )
    .unwrap();
    let entered = server.http.query("api/enter", &[("chat", "Ana/Aside")]).ok();
    assert_eq!((&entered["ok"], &entered["hold"]), (&json!(false), &json!(true)));
    let choices = &entered["questions"][0]["choices"];
    assert_eq!(choices, &json!(["rebuild", "empty", "copy", "detach", "accept"]), "{entered}");
    let healed = post("api/heal", json!({"chat": "Ana/Aside", "choose": "rebuild"}));
    assert_eq!(healed["left"], json!([]), "{healed}");
    assert_eq!(healed["questions"][0]["code"], "BOOK_MISSING");

    assert_eq!(post("api/config", json!({"key": "trash.days", "value": 7}))["value"], 7);
    assert_eq!(
        post("api/config", json!({"key": "books.shared", "value": ["A, B", "C"]}))["value"],
        json!(["A, B", "C"])
    );
    assert_eq!(post("api/config", json!({"key": "books.shared", "remove": ["C"]}))["value"], json!(["A, B"]));
    assert_eq!(post("api/config", json!({"key": "books.shared", "unset": true}))["value"], json!([]));
    let both = server.http.post("api/config", &json!({"key": "trash.days", "value": 7, "unset": true}));
    assert_eq!(both.code(), (400, "USAGE".to_owned()));

    let gone = post("api/delete", json!({"chat": "Ana/Aside"}));
    let trash = server.http.get("api/trash").ok();
    let now = trash["items"].as_array().unwrap().iter().filter(|item| item["operation"] == gone["operation"]);
    assert_eq!(now.count(), 2, "the chat and its book: {trash}");
    assert_eq!(post("api/trash/restore", json!({"item": "Aside"}))["restored"], "chats/Ana/Aside.jsonl");
    assert_eq!(post("api/gc", json!({"dry_run": true}))["operation"], Value::Null);
    let undone = post("api/undo", json!({}));
    assert_eq!(post("api/redo", json!({}))["undoes"], undone["operation"]);
}

#[test]
fn only_whoever_has_the_token_is_answered() {
    let (one, two) = (TestVault::new(), TestVault::new());
    story(&one, &[]);
    Story::new("Zoe", "Other").save(&two);
    let server = managed();
    let (a, b) = (server.open(&one.root()), server.open(&two.root()));
    assert_eq!(server.open(&one.root()).headers, a.headers, "the same folder, the same token");
    assert_ne!(a.headers, b.headers);
    assert_eq!(a.get("api/stories").ok()["stories"][0]["name"], "Ana");
    assert_eq!(b.get("api/stories").ok()["stories"][0]["name"], "Zoe");
    assert_eq!(b.query("api/show", &[("chat", "Ana/Main")]).code(), (404, "CHAT_NOT_FOUND".to_owned()));

    let bare = server.http.clone();
    assert_eq!(bare.get("api/health").ok()["ok"], true);
    for token in ["", "Bearer", "Bearer ", "Bearer wrong", "Basic wrong", KEY] {
        let http = bare.clone().with("Authorization", token);
        assert_eq!(http.get("api/stories").code(), (401, "NO_TOKEN".to_owned()), "{token:?}");
        assert_eq!(http.post("api/undo", &json!({})).code(), (401, "NO_TOKEN".to_owned()), "{token:?}");
        assert_eq!(
            http.post("api/vaults", &json!({"path": one.root()})).code(),
            (401, "NO_TOKEN".to_owned())
        );
    }
    // The key opens vaults and nothing else; a token opens its vault and nothing else.
    let key = bare.token(KEY);
    assert_eq!(key.get("api/stories").code(), (403, "NOT_ALLOWED".to_owned()));
    assert_eq!(a.post("api/vaults", &json!({"path": two.root()})).code(), (403, "NOT_ALLOWED".to_owned()));
    for path in ["relative", "/", "/etc", "/nowhere/at/all", ""] {
        assert_eq!(
            key.post("api/vaults", &json!({"path": path})).code(),
            (409, "NO_VAULT".to_owned()),
            "{path:?}"
        );
    }
    // What leads out of the vault is not followed.
    #[cfg(unix)]
    {
        forklore_testkit::unix::symlink(one.root().join("chats/Ana"), two.root().join("chats/Ana")).unwrap();
        assert_eq!(b.query("api/show", &[("chat", "Ana/Main")]).code(), (404, "CHAT_NOT_FOUND".to_owned()));
    }
    // A server for one vault has no key.
    let alone = serve(&one, &[]);
    for key in ["", KEY] {
        let http = alone.http.clone().token(key);
        assert_eq!(http.post("api/vaults", &json!({"path": two.root()})).code().0, 401);
    }
}

#[test]
fn only_its_own_name_and_its_own_pages_are_answered() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &["--host", "forklore.example", "--host", "proxy.example:8443"]);
    let port = server.http.address.split(':').nth(1).unwrap().to_owned();
    let ask = |headers: &[(&str, &str)]| server.http.send("GET", "api/hello", headers, b"");
    let here = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
    ];
    for host in here.iter().map(String::as_str).chain(["forklore.example", "proxy.example:8443"]) {
        assert_eq!(ask(&[("Host", host)]).status, 200, "{host}");
        let origin = format!("http://{host}");
        assert_eq!(ask(&[("Host", host), ("Origin", &origin)]).status, 200, "{origin}");
    }
    let evil = [
        "evil.example",
        "127.0.0.1",
        "localhost:1",
        &format!("evil.example:{port}"),
        &format!("127.0.0.1:{port}@evil.example"),
        "proxy.example",
    ];
    for host in evil {
        assert_eq!(ask(&[("Host", host)]).code(), (403, "WRONG_HOST".to_owned()), "{host}");
    }
    for origin in [
        "http://evil.example",
        "null",
        "file://",
        &format!("http://127.0.0.1:{port}.evil.example"),
        "http://127.0.0.1:1",
    ] {
        assert_eq!(ask(&[("Origin", origin)]).code(), (403, "WRONG_ORIGIN".to_owned()), "{origin}");
        let undo = server.http.send(
            "POST",
            "api/undo",
            &[("Origin", origin), ("Content-Type", "application/json")],
            b"{}",
        );
        assert_eq!(undo.code(), (403, "WRONG_ORIGIN".to_owned()), "{origin}");
    }
    let twice = ask(&[("Host", &here[0]), ("Host", "evil.example")]);
    assert!(twice.status == 403 || twice.status == 400, "{}", twice.status);
    // Nothing lets another page read an answer.
    let answer = server.http.get("api/hello");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn bodies_have_bounds_and_must_be_json() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &[]);
    let json = [("Content-Type", "application/json")];
    let large = format!("{{\"chat\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(
        server.http.send("POST", "api/delete", &json, large.as_bytes()).code(),
        (413, "TOO_LARGE".to_owned())
    );
    // One that says so is refused before it is sent.
    let lying = [("Content-Type", "application/json"), ("Content-Length", "9999999999")];
    assert_eq!(server.http.send("POST", "api/hook/prepare", &lying, b"{").status, 413);
    assert_eq!(server.http.send("POST", "api/delete", &lying, b"{").status, 413);
    for (media, body) in [
        ("text/plain", "{}"),
        ("application/x-www-form-urlencoded", "chat=Ana/Main"),
        ("", "{\"chat\":\"Ana/Main\"}"),
        ("application/json", "{"),
        ("application/json", "[]"),
        ("application/json", "{\"chat\": 7}"),
        ("application/json", "{\"chat\": \"Ana/Main\", \"chats\": 1}"),
        ("application/json", "{\"chat\": \"Ana/Main\"} {}"),
        ("application/json", "\u{0}"),
    ] {
        let answer = server.http.send("POST", "api/delete", &[("Content-Type", media)], body.as_bytes());
        assert_eq!(answer.code(), (400, "USAGE".to_owned()), "{media} {body}");
    }
    let deep = format!("{{\"chat\":{}", "[".repeat(200_000));
    assert_eq!(server.http.send("POST", "api/delete", &json, deep.as_bytes()).status, 400);
    assert!(vault.root().join("chats/Ana/Main.jsonl").exists());
    assert_eq!(server.http.send("GET", "api/delete", &[], b"").code(), (405, "WRONG_METHOD".to_owned()));
    assert_eq!(server.http.send("PUT", "api/config", &json, b"{}").status, 405);
    assert_eq!(server.http.get("api/nothing").code(), (404, "NO_ROUTE".to_owned()));
    assert_eq!(server.http.get("api/stories?x=1").code(), (400, "USAGE".to_owned()));
    assert_eq!(server.http.get("api/hello").status, 200, "and it is still there");
}

/// What somebody might try to get out of a vault, or to get it confused.
fn tricks() -> Vec<String> {
    let mut tricks: Vec<String> = [
        "../../secret",
        "..",
        "../secret.txt",
        "/etc/passwd",
        "..\\..\\secret",
        "Ana/../../../secret",
        "Ana/..",
        "./Ana/Main",
        "chats/../../secret.txt",
        "%2e%2e/secret",
        "..%2fsecret",
        "Ana/Main\u{0}",
        "Ana/Main\n",
        "\u{0}",
        "",
        " ",
        ".",
        "CON",
        "nul/CON",
        "group:../secret",
        "group:-/../../secret",
        "\u{202e}",
        "💥",
        "'; DROP TABLE chats; --",
        "${jndi:x}",
        "-rf",
        "--vault",
        "\\\\?\\C:\\secret",
        "worlds/../settings.json",
        ".forklore/config.toml",
        "../vault/settings.json",
    ]
    .map(str::to_owned)
    .to_vec();
    tricks.push("a".repeat(5000));
    tricks.push("../".repeat(200) + "etc/passwd");
    tricks
}

#[test]
fn a_path_trick_in_any_parameter_leads_nowhere() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let outside = vault.root().parent().unwrap().join("secret.txt");
    std::fs::write(&outside, "SECRET").unwrap();
    let around = |vault: &TestVault| {
        let mut names: Vec<_> = std::fs::read_dir(vault.root().parent().unwrap())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let (before, near) = (vault.snapshot(), around(&vault));
    let server = serve(&vault, &[]);
    let described = server.http.get("api/openapi.json").ok();
    let resolve = |schema: &Value| -> Value {
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.map_or_else(|| schema.clone(), |name| described["components"]["schemas"][name].clone())
    };
    // A value that fits, for fields that must be there.
    let fitting = |name: &str, schema: &Value| match name {
        "chat" | "a" => json!("Ana/Main"),
        "name" => json!("Another"),
        "story" => json!("Ana"),
        "text" | "q" => json!("rain"),
        "from" | "to" | "at" | "count" | "messages" => json!(1),
        "kind" => json!("branch"),
        "key" => json!("trash.days"),
        "entry" => json!("Nobody"),
        "on" => json!(false),
        "choices" => json!([]),
        "item" | "id" | "ticket" => json!("none"),
        "header" => json!({"chat_metadata": {"main_chat": "Main", "integrity": "x"}}),
        "events" => json!([{"what": "chat", "act": "deleted", "folder": "Ana", "name": "Gone"}]),
        other => panic!("{other} is new: say what fits ({schema})"),
    };
    let is_text = |schema: &Value| {
        schema["type"] == "string"
            || schema["type"].as_array().is_some_and(|all| all.contains(&json!("string")))
    };
    let mut asked = 0;
    for (path, methods) in described["paths"].as_object().unwrap() {
        let path = path.trim_start_matches('/');
        if path == "api/events" || path == "api/vaults" {
            continue;
        }
        for parameter in methods["get"]["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            let others: Vec<(String, String)> = methods["get"]["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|other| other["required"] == true && other["name"] != name)
                .map(|other| {
                    let name = other["name"].as_str().unwrap();
                    let value = fitting(name, other);
                    (name.to_owned(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect();
            for trick in tricks() {
                let mut query: Vec<(&str, &str)> =
                    others.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
                query.push((name, &trick));
                let answer = server.http.query(path, &query);
                assert!(answer.status < 500, "{path} {name} {trick:.80}: {}", answer.status);
                assert!(
                    !String::from_utf8_lossy(&answer.body).contains("SECRET"),
                    "{path} {name} {trick:.80}"
                );
                asked += 1;
            }
        }
        let body = resolve(&methods["post"]["requestBody"]["content"]["application/json"]["schema"]);
        let required: Vec<&str> =
            body["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut base = serde_json::Map::new();
        for name in &required {
            base.insert((*name).to_owned(), fitting(name, &body["properties"][*name]));
        }
        if body["properties"]["dry_run"].is_object() {
            base.insert("dry_run".to_owned(), json!(true));
        }
        for (name, schema) in body["properties"].as_object().into_iter().flatten() {
            if !is_text(&resolve(schema))
                && name != "choices"
                && name != "add"
                && name != "events"
                && name != "header"
            {
                continue;
            }
            for trick in tricks() {
                let mut body = base.clone();
                body.insert(name.clone(), match name.as_str() {
                    "choices" => json!({trick.clone(): "rebuild"}),
                    "add" => json!([trick]),
                    "events" => json!([{"what": "chat", "act": "deleted", "folder": trick, "name": trick}, {"what": "character", "act": "deleted", "name": trick}, {"what": "book", "act": "deleted", "name": trick}]),
                    "header" => json!({"chat_metadata": {"main_chat": trick, "integrity": trick, "world_info": trick, "forklore": {"version": 1, "owner": {"file": trick, "slug": trick}}}}),
                    _ => json!(trick),
                });
                let answer = server.http.post(path, &Value::Object(body.clone()));
                assert!(answer.status < 500, "{path} {name} {trick:.80}: {}", answer.status);
                assert!(
                    !String::from_utf8_lossy(&answer.body).contains("SECRET"),
                    "{path} {name} {trick:.80}"
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 1000, "{asked}");
    assert_eq!(vault.snapshot(), before, "nothing of SillyTavern's was touched");
    assert_eq!(around(&vault), near, "nothing came into being outside");
    assert_eq!(std::fs::read(&outside).unwrap(), b"SECRET");
}

/// The server went on with what it had read before history was moved, or went on in its folder outside of the vault.
#[test]
fn regression_what_history_elsewhere_knows_is_told_at_once() {
    let vault = TestVault::new();
    let mut story = story(&vault, &[]);
    let elsewhere = tempfile::tempdir().unwrap();
    vault.json(FORKLORE, &["config", "history.dir", elsewhere.path().to_str().unwrap()]);
    let watch = || {
        let watched = vault.run(FORKLORE, &["watch", "--once"]);
        assert_eq!(watched.code, Some(0), "{watched}");
    };
    watch();
    let server = serve(&vault, &[]);
    story
        .put(
            "9",
            json!({"uid": 9, "key": [], "comment": "by hand", "content": "Written between two scenes."}),
        )
        .save(&vault);
    // The server records what happens, too, whenever it comes to it: then both know more, but never one alone.
    let agreed = || {
        let told = || server.http.query("api/show", &[("chat", "Ana/Main"), ("at", "22")]).ok();
        let printed = || vault.json(FORKLORE, &["show", "Ana/Main", "--at", "22"]);
        let same = || Some(told()).filter(|told| *told == printed());
        (0..100).find_map(|_| same()).expect("the server never tells what the command line prints")
    };
    agreed();
    watch();
    let seen = agreed();
    vault.json(FORKLORE, &["config", "history.dir", "--unset"]);
    assert_ne!(agreed(), seen);
}

#[test]
fn looking_changes_nothing() {
    let vault = TestVault::new();
    story(&vault, &[]);
    // What an interrupted operation left: looking over HTTP leaves it there.
    vault.write(".forklore/tx/20260101-000000-000-abcd.0.staged", b"left");
    let server = serve(&vault, &[]);
    vault.write(".forklore/tx/20260101-000000-000-abcd.0.staged", b"left");
    let all = |vault: &TestVault| {
        let mut found = vault.snapshot();
        for folder in ["tx", "ops", "objects", "lost"] {
            for entry in std::fs::read_dir(vault.root().join(".forklore").join(folder)).into_iter().flatten()
            {
                let path = entry.unwrap().path();
                found.push((path.to_string_lossy().into_owned(), std::fs::read(&path).unwrap()));
            }
        }
        found
    };
    let before = all(&vault);
    assert!(before.iter().any(|(name, _)| name.ends_with("staged")));
    let described = server.http.get("api/openapi.json").ok();
    for (path, methods) in described["paths"].as_object().unwrap() {
        if methods["get"].is_object() && path != "/api/events" {
            let answer = server.http.get(&format!("{path}?a=Ana/Main&b_at=1"));
            let answer = if answer.status == 400 {
                server.http.get(&format!("{path}?kind=branch&chat=Ana/Main"))
            } else {
                answer
            };
            let answer =
                if answer.status == 400 { server.http.get(&format!("{path}?chat=Ana/Main")) } else { answer };
            let others = [
                "story=Ana",
                "story=Ana&text=one",
                "chat=Ana/Main&from=0&to=1",
                "chat=Ana/Main&from=Ana/Main",
                "chat=Ana/Main&entry=Nobody",
                "",
            ];
            let answer = others.iter().fold(answer, |answer, query| {
                if answer.status == 400 { server.http.get(&format!("{path}?{query}")) } else { answer }
            });
            let allowed = match path.as_str() {
                // Which vaults there are is told to whoever has the key.
                "/api/setup" => 403,
                "/api/memory/why" => 409,
                _ => 200,
            };
            assert_eq!(answer.status, allowed, "{path}");
        }
    }
    assert_eq!(all(&vault), before);
}

#[test]
fn every_route_is_described_and_documented() {
    let vault = TestVault::new();
    let server = serve(&vault, &[]);
    let described = server.http.get("api/openapi.json").ok();
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/http.md"))
            .unwrap();
    let schemas = described["components"]["schemas"].as_object().unwrap();
    let stranger = Http { headers: Vec::new(), ..server.http.clone() };
    for (path, methods) in described["paths"].as_object().unwrap() {
        assert!(page.contains(path.trim_start_matches('/')), "docs/formats/http.md does not tell of {path}");
        for (method, entry) in methods.as_object().unwrap() {
            assert!(!entry["summary"].as_str().unwrap().is_empty());
            let answer = stranger.send(&method.to_uppercase(), path, &[], b"");
            assert_ne!(answer.status, 404, "{method} {path}");
        }
    }
    // Whatever is referred to is there.
    let text = described.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap())
    {
        assert!(schemas.contains_key(reference), "{reference}");
    }
    for name in ["TreeReport", "ShowReport", "ForkReport", "HealReport", "Error"] {
        assert!(schemas.contains_key(name), "{name}");
    }
}

#[test]
fn everything_works_below_a_prefix() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault, &["--prefix", "/some/where/"]);
    assert_eq!(server.http.prefix, "/some/where");
    assert_eq!(server.http.get("api/hello").ok()["name"], "forklore");
    assert_eq!(server.http.post("api/branch", &json!({"chat": "Ana/Main", "at": 20})).ok()["kind"], "branch");
    let described = server.http.get("api/openapi.json").ok();
    assert_eq!(described["servers"][0]["url"], "..", "relative to where the description is");
    let (event, hello) = server.http.events("api/events").any();
    assert_eq!((event.as_str(), &hello["name"]), ("hello", &json!("forklore")));
    let outside = Http { prefix: String::new(), ..server.http.clone() };
    assert_eq!(outside.get("api/hello").code(), (404, "NO_ROUTE".to_owned()));
}

#[test]
fn pages_hear_what_happens() {
    let (one, two) = (TestVault::new(), TestVault::new());
    story(&one, &[]);
    story(&two, &[]);
    let server = managed();
    let (a, b) = (server.open(&one.root()), server.open(&two.root()));
    assert_eq!(server.http.get("api/events").status, 401);
    let (mut events, mut others) = (a.events("api/events"), b.events("api/events"));
    assert_eq!(events.any().0, "hello");
    assert_eq!(others.any().0, "hello");
    let fork = a.post("api/checkpoint", &json!({"chat": "Ana/Main", "at": 20, "name": "Kept"})).ok();
    let change = events.wait("change", |change| change["act"] == "made");
    assert_eq!(
        (&change["chat"], &change["operation"], &change["by"]),
        (&fork["chat"], &fork["operation"], &json!("forklore"))
    );
    assert_eq!(change["book"], fork["book"]["name"]);
    let seen = json!({"events": [{"what": "book", "act": "saved", "name": "Lore"}, {"what": "chat", "act": "renamed", "folder": "Ana", "name": "New", "from": "Old"}]});
    assert_eq!(a.post("api/seen", &seen).ok(), json!({"did": [], "failed": []}));
    let change = events.wait("change", |change| change["what"] == "book");
    assert_eq!((&change["book"], &change["by"]), (&json!("Lore"), &json!("sillytavern")));
    let change = events.wait("change", |change| change["act"] == "renamed");
    assert_eq!((&change["chat"], &change["from"]), (&json!("Ana/New"), &json!("Old")));
    // The other vault's page hears nothing of it: the first that it hears is its own.
    b.post("api/delete", &json!({"chat": "Ana/Main"})).ok();
    assert_eq!(others.wait("change", |_| true)["chat"], "Ana/Main");
    assert_eq!(events_about(&mut events, &a), "Ana/Kept");
}

/// SillyTavern renames a chat, and nothing else knows: its memory extension forgets the recap of a chat that goes by another name, and the
/// parent's flag leads nowhere.
#[test]
fn regression_what_says_the_former_name_follows_a_rename_in_sillytavern() {
    use crate::disk::ChatFile;
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = managed();
    let http = server.open(&vault.root());
    http.post("api/checkpoint", &json!({"chat": "Ana/Main", "at": 20, "name": "Kept"})).ok();
    http.post("api/branch", &json!({"chat": "Ana/Kept", "at": 12, "name": "Below"})).ok();
    let running = |chat: &str| {
        let chat = ChatFile::at(&vault, chat);
        chat.metadata()["auto_recap_running_scene_recaps"].clone()
    };
    let versions = running("Ana/Kept")["versions"].clone();
    assert_ne!(versions, json!([]));
    let file = |name: &str| vault.root().join(format!("chats/Ana/{name}.jsonl"));
    std::fs::rename(file("Kept"), file("New")).unwrap();
    let before = vault.snapshot();
    let renamed = json!({"what": "chat", "act": "renamed", "folder": "Ana", "name": "New", "from": "Kept"});
    let told = http.post("api/seen", &json!({"events": [renamed]})).ok();
    assert_eq!((told["did"].as_array().unwrap().len(), &told["failed"]), (1, &json!([])), "{told}");
    assert_eq!((&running("Ana/New")["chat_id"], &running("Ana/New")["versions"]), (&json!("New"), &versions));
    let line = String::from_utf8(ChatFile::at(&vault, "Ana/Main").lines[20].clone()).unwrap();
    assert!(line.contains(r#""bookmark_link":"New""#), "{line}");
    assert_eq!(ChatFile::at(&vault, "Ana/Below").metadata()["main_chat"], "New");
    assert_eq!(http.post("api/seen", &json!({"events": [renamed]})).ok()["did"], json!([]), "once is enough");
    http.post("api/undo", &json!({})).ok();
    assert!(vault.snapshot() == before, "undo left something changed");
}

/// The chat that the next change is about, after one more deletion.
fn events_about(events: &mut forklore_testkit::http::Events, http: &Http) -> String {
    http.post("api/delete", &json!({"chat": "Ana/Kept"})).ok();
    events.wait("change", |change| change["act"] == "deleted")["chat"].as_str().unwrap().to_owned()
}

#[test]
fn a_fork_waits_for_the_queue() {
    let vault = TestVault::new();
    let mut story = story(&vault, &[("generate_scene_recap", "in_progress")]);
    let server = serve(&vault, &[]);
    let mut events = server.http.events("api/events");
    let queue = server.http.query("api/queue", &[("chat", "Ana/Main")]).ok();
    assert_eq!(
        (&queue["idle"], &queue["count"], &queue["types"]),
        (&json!(false), &json!(1), &json!(["generate_scene_recap"]))
    );
    let body = json!({"chat": "Ana/Main", "at": 24});
    assert_eq!(server.http.post("api/branch", &body).code(), (409, "QUEUE_NOT_EMPTY".to_owned()));
    let plan = server.http.query("api/plan", &[("kind", "branch"), ("chat", "Ana/Main")]).ok();
    assert_eq!(
        (&plan["ready"], &plan["refusal"]["code"], &plan["queue"]["count"]),
        (&json!(false), &json!("QUEUE_NOT_EMPTY"), &json!(1))
    );

    let body = json!({"chat": "Ana/Main", "at": 24, "when_ready": true});
    let unwanted = server.http.post("api/branch", &body);
    assert_eq!(unwanted.status, 202);
    let wanted = server.http.post("api/branch", &body).ok();
    let (unwanted, wanted) = (unwanted.json()["wait"]["id"].clone(), wanted["wait"]["id"].clone());
    assert_eq!(server.http.get("api/waits").ok()["waits"].as_array().unwrap().len(), 2);
    assert_eq!(server.http.post("api/waits/cancel", &json!({"id": unwanted})).ok()["cancelled"], true);
    events.wait("wait", |wait| wait["id"] == unwanted && wait["state"] == "cancelled");
    assert!(!vault.root().join("chats/Ana/Main - Branch #1.jsonl").exists(), "nothing is created meanwhile");
    story.queue(&[]).save(&vault);
    let told = events.wait("wait", |wait| wait["id"] == wanted && wait["state"] != "waiting");
    assert_eq!((&told["state"], &told["report"]["chat"]), (&json!("made"), &json!("Ana/Main - Branch #1")));
    assert_eq!(server.http.get("api/waits").ok()["waits"], json!([]));
    assert_eq!(
        server.http.post("api/waits/cancel", &json!({"id": wanted})).code(),
        (404, "WAIT_NOT_FOUND".to_owned())
    );
}

#[test]
fn a_managed_server_ends_with_whoever_started_it() {
    let mut server = managed();
    assert_eq!(server.http.get("api/health").status, 200);
    drop(server.stdin.take());
    assert!(server.child.wait().unwrap().success());
    for input in ["", "{}\n", "{\"key\": \"short\"}\n", "key\n"] {
        let mut child = Command::new(FORKLORE)
            .args(["serve", "--managed", "--port", "0", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{input:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("USAGE"));
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let vault = TestVault::new();
    let run = vault.run(FORKLORE, &["serve", "--port", &port]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("--port 0"), "{run}");
}
