//! The server against requests that make no sense, or too many of them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use forklore_testkit::TestVault;
use forklore_testkit::http::Http;
use forklore_testkit::story::Story;
use serde_json::{Value, json};

use crate::FORKLORE;

/// A server, ended when dropped.
struct Serving {
    child: Child,
    http: Http,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn serve(vault: &TestVault) -> Serving {
    let mut command = vault.command(FORKLORE);
    command.args(["serve", "--port", "0", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
    let http = Http::new(told["url"].as_str().unwrap()).token(told["token"].as_str().unwrap());
    Serving { child, http }
}

/// A story with a scene, and with work in its queue if wanted.
fn story(vault: &TestVault, queue: &[(&str, &str)]) {
    let mut story = Story::new("Ana", "Main");
    story.until(10).learn(1, "character-Ben", "Ben is a baker.").scene("One");
    story.until(25).queue(queue);
    story.save(vault);
}

#[test]
fn only_so_many_forks_wait() {
    let vault = TestVault::new();
    story(&vault, &[("generate_scene_recap", "in_progress")]);
    let server = serve(&vault);
    let body = json!({"chat": "Ana/Main", "at": 24, "when_ready": true});
    let refused = (0..100).map(|_| server.http.post("api/branch", &body)).find(|answer| answer.status != 202);
    assert_eq!(refused.unwrap().code().1, "TOO_MANY");
    assert!(
        server.http.get("api/waits").ok()["waits"].as_array().unwrap().len() > 1,
        "the others go on waiting"
    );
}

#[test]
fn a_story_without_a_picture_shows_none() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault);
    let answer = server.http.query("picture", &[("story", "Ana")]);
    assert_eq!(answer.status, 200, "NO_PICTURE is nothing that a page complains about");
}

/// Values that stand for what a body or an argument should not be.
fn nonsense() -> Vec<Value> {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let long = "x".repeat(100_000);
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("../../x"),
        json!("Ana/Main"),
        json!("\u{0}\u{202e}"),
        json!(long),
        json!([]),
        json!([null]),
        json!({}),
        json!({"": {}}),
        deep,
    ]
}

/// Every call, with every argument as it should not be: refused with a code, and the server goes on.
#[test]
fn bodies_and_arguments_that_make_no_sense_are_refused() {
    let vault = TestVault::new();
    story(&vault, &[]);
    let server = serve(&vault);
    let api = server.http.get("api/openapi.json").ok();
    let named = |schema: &Value| -> Vec<String> {
        let name = schema["$ref"].as_str().unwrap_or_default().trim_start_matches('#');
        let fields = api.pointer(name).unwrap_or(schema)["properties"].as_object();
        fields.into_iter().flat_map(|fields| fields.keys().cloned()).collect()
    };
    let mut tried = 0;
    let mut send = |method: &str, path: &str, body: &[u8]| {
        let headers = [("Content-Type", "application/json")];
        let answer = server.http.send(method, path, &headers, body);
        let told = || {
            format!("{method} {path} {:?}: {answer:?}", String::from_utf8_lossy(&body[..body.len().min(200)]))
        };
        assert!((200..500).contains(&answer.status), "{}", told());
        if answer.status >= 400 && path.starts_with("api/") {
            assert!(answer.code().1.len() > 1, "{}", told());
        }
        tried += 1;
    };
    for (path, methods) in api["paths"].as_object().unwrap() {
        let path = path.trim_start_matches('/');
        // One that never ends, and one that begins anew.
        if ["api/events", "api/session"].contains(&path) {
            continue;
        }
        for (method, call) in methods.as_object().unwrap() {
            if method == "get" {
                for parameter in call["parameters"].as_array().into_iter().flatten() {
                    for value in nonsense() {
                        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        let text = text.chars().take(2000).collect::<String>();
                        let name = parameter["name"].as_str().unwrap();
                        let query = format!("{path}?{name}={}", forklore_testkit::http::percent(&text));
                        send("GET", &query, b"");
                    }
                }
                continue;
            }
            for body in [&b""[..], b"{", b"\xff\xfe", b"nul", &[b'['; 5000]] {
                send("POST", path, body);
            }
            let schema = &call["requestBody"]["content"]["application/json"]["schema"];
            for value in nonsense() {
                send("POST", path, value.to_string().as_bytes());
                for field in named(schema) {
                    // The rest of it may make sense.
                    let mut body = json!({"chat": "Ana/Main", "dry_run": true});
                    body[&field] = value.clone();
                    send("POST", path, body.to_string().as_bytes());
                    send("POST", path, json!({field: value.clone()}).to_string().as_bytes());
                }
            }
        }
    }
    println!("{tried} requests that make no sense");
    assert!(tried > 1000, "{tried}");
    assert_eq!(server.http.get("api/health").status, 200);
    assert_eq!(vault.json(FORKLORE, &["check"])["ok"], true);
}
