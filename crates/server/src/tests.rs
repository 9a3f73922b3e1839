//! Request in, answer out: everything that the server answers with, without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use forklore_testkit::TestVault;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::guard::Places;
use crate::routes;
use crate::vaults::Vaults;

const HOST: &str = "127.0.0.1:8377";
const KEY: &str = "the key";

/// A server for one vault.
struct Asked {
    app: Router,
    token: String,
    vault: TestVault,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn header(&self, name: impl header::AsHeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    /// The status, the code and both sentences of a refusal, which are there.
    fn refusal(&self) -> (u16, String) {
        let error = &self.json()["error"];
        for sentence in ["message", "hint"] {
            let text = error[sentence].as_str().unwrap();
            assert!(text.ends_with('.'), "{sentence} is no sentence: {error}");
        }
        (self.status.as_u16(), error["code"].as_str().unwrap().to_owned())
    }
}

impl Asked {
    fn of(vault: TestVault) -> Self {
        let vaults = Arc::new(Vaults::new(Some(KEY.to_owned()), 8377, "", None));
        let (token, _) = vaults.open(&vault.root()).unwrap();
        let places = Arc::new(Places::new(HOST.parse().unwrap(), &[]));
        Self { app: routes::app(vaults, places, ""), token, vault }
    }

    /// Two chats of one character, one of them with a lorebook.
    fn ana() -> Self {
        let metadata = json!({"integrity": "slug-a", "world_info": "Lore"});
        let vault = TestVault::new()
            .chat("Ana", "Rain", &metadata, &["Hello.", "Hi.", "It rains.", "It does."])
            .chat("Ana", "<b>Sun", &json!({"integrity": "slug-b"}), &["<script>alert(1)</script>", "Hi."])
            .book("Lore", &[("Rain", "It is wet.")]);
        Self::of(vault)
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    fn request(&self, method: Method, path: &str) -> axum::http::request::Builder {
        let with = Request::builder().method(method).uri(path).header(header::HOST, HOST);
        with.header(header::AUTHORIZATION, format!("Bearer {}", self.token))
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.request(Method::POST, path).header(header::CONTENT_TYPE, "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }
}

#[tokio::test]
async fn who_shows_no_token_or_another_is_told_how_to_get_in() {
    let server = Asked::ana();
    for token in [None, Some("Bearer wrong"), Some("Basic YTpi")] {
        let mut request = Request::builder().uri("/api/stories").header(header::HOST, HOST);
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, token);
        }
        let answer = server.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.refusal(), (401, "NO_TOKEN".to_owned()));
        assert!(answer.text.contains("Authorization: Bearer TOKEN"));
        assert!(!answer.text.contains("Rain"), "nothing of the vault is told");
    }
}

#[tokio::test]
async fn the_key_opens_vaults_and_a_token_opens_none() {
    let server = Asked::ana();
    let other = TestVault::new().chat("Bo", "One", &json!({}), &["Hello."]);
    let path = json!({"path": other.root()}).to_string();
    let open = |bearer: &str| {
        let request = Request::builder().method(Method::POST).uri("/api/vaults").header(header::HOST, HOST);
        let request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
        let request = request.header(header::CONTENT_TYPE, "application/json");
        server.send(request.body(Body::from(path.clone())).unwrap())
    };
    assert_eq!(open(&server.token).await.refusal(), (403, "NOT_ALLOWED".to_owned()));
    let opened = open(KEY).await;
    assert_eq!(opened.status, StatusCode::OK, "{}", opened.text);
    let token = opened.json()["token"].as_str().unwrap().to_owned();
    let request = Request::builder().uri("/api/stories").header(header::HOST, HOST);
    let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    let seen = server.send(request.body(Body::empty()).unwrap()).await;
    assert!(seen.text.contains("Bo") && !seen.text.contains("Ana"), "each token reaches its own vault only");
    let key = Request::builder().uri("/api/stories").header(header::HOST, HOST);
    let key = key.header(header::AUTHORIZATION, format!("Bearer {KEY}"));
    assert_eq!(
        server.send(key.body(Body::empty()).unwrap()).await.refusal(),
        (403, "NOT_ALLOWED".to_owned())
    );
}

#[tokio::test]
async fn other_names_and_other_pages_are_refused_before_anything_is_looked_at() {
    let server = Asked::ana();
    let refused = async |name: &str, value: &str| {
        let mut request = server.request(Method::GET, "/api/stories");
        if name == "host" {
            request.headers_mut().unwrap().remove(header::HOST);
        }
        server.send(request.header(name, value).body(Body::empty()).unwrap()).await
    };
    assert_eq!(refused("host", "evil.example:8377").await.refusal(), (403, "WRONG_HOST".to_owned()));
    assert_eq!(refused("origin", "http://evil.example").await.refusal(), (403, "WRONG_ORIGIN".to_owned()));
    assert_eq!(refused("sec-fetch-site", "cross-site").await.refusal(), (403, "WRONG_ORIGIN".to_owned()));
    let twice = server.request(Method::GET, "/api/stories").header(header::HOST, HOST);
    assert_eq!(
        server.send(twice.body(Body::empty()).unwrap()).await.refusal(),
        (403, "WRONG_HOST".to_owned())
    );
    assert_eq!(refused("origin", &format!("http://{HOST}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_nobody_understands_is_said_in_sentences() {
    let server = Asked::ana();
    assert_eq!(server.get("/api/nothing").await.refusal(), (404, "NO_ROUTE".to_owned()));
    assert_eq!(server.get("/api/undo").await.refusal(), (405, "WRONG_METHOD".to_owned()));
    assert_eq!(server.get("/api/show?chat=Nobody").await.refusal(), (404, "CHAT_NOT_FOUND".to_owned()));
    assert_eq!(
        server.get("/api/show?chat=Rain&at=99").await.refusal(),
        (404, "MESSAGE_NOT_FOUND".to_owned())
    );
    assert_eq!(server.get("/api/show?chat=Rain&when=now").await.refusal(), (400, "USAGE".to_owned()));
    assert_eq!(server.get("/api/show?chat=Rain&at=first").await.refusal(), (400, "USAGE".to_owned()));
    let unknown = server.post("/api/delete", &json!({"chat": "Rain", "forever": true})).await;
    assert_eq!(unknown.refusal(), (400, "USAGE".to_owned()));
    assert!(unknown.text.contains("forever"), "it says what is not understood: {}", unknown.text);
    let request =
        server.request(Method::POST, "/api/delete").body(Body::from("{\"chat\": \"Rain\"}")).unwrap();
    assert_eq!(server.send(request).await.refusal(), (400, "USAGE".to_owned()), "no JSON is no request");
    let twice = server.post("/api/branch", &json!({"chat": "Rain", "kind": "checkpoint"})).await;
    assert_eq!(twice.refusal(), (400, "USAGE".to_owned()));
    let large = server.post("/api/rename", &json!({"chat": "Rain", "name": "x".repeat(2 << 20)})).await;
    assert_eq!(large.refusal(), (413, "TOO_LARGE".to_owned()));
    assert!(server.vault.root().join("chats/Ana/Rain.jsonl").exists(), "nothing was deleted");
}

#[tokio::test]
async fn documents_are_for_nobody_else_and_are_not_kept() {
    let server = Asked::ana();
    let answer = server.get("/api/show?chat=Rain&at=2").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header(header::CONTENT_TYPE), "application/json; charset=utf-8");
    assert_eq!(answer.header(header::CACHE_CONTROL), "no-store");
    assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
    let policy = header::HeaderName::from_static("cross-origin-resource-policy");
    assert_eq!(answer.header(policy), "same-origin");
    assert_eq!(answer.json()["at"], 2);
    let free = Request::builder().uri("/api/health").header(header::HOST, HOST).body(Body::empty()).unwrap();
    assert_eq!(server.send(free).await.json()["ok"], true);
}

#[tokio::test]
async fn a_fork_is_made_undone_and_planned_without_a_trace() {
    let server = Asked::ana();
    let before = server.vault.snapshot();
    let planned = server.post("/api/branch", &json!({"chat": "Rain", "at": 1, "dry_run": true})).await;
    assert_eq!(planned.status, StatusCode::OK, "{}", planned.text);
    assert_eq!(server.vault.snapshot(), before, "a dry run changes nothing");
    let made = server.post("/api/branch", &json!({"chat": "Rain", "at": 1, "name": "Other"})).await.json();
    assert_eq!((&made["chat"], &made["at"]), (&json!("Ana/Other"), &json!(1)));
    assert!(server.vault.root().join("chats/Ana/Other.jsonl").exists());
    let again = server.post("/api/branch", &json!({"chat": "Rain", "at": 1, "name": "other"})).await;
    assert_eq!(again.refusal(), (409, "NAME_TAKEN".to_owned()));
    let undone = server.post("/api/undo", &json!({})).await;
    assert_eq!(undone.status, StatusCode::OK, "{}", undone.text);
    assert_eq!(server.vault.snapshot(), before);
    assert_eq!(server.post("/api/undo", &json!({})).await.refusal(), (409, "NOTHING_TO_UNDO".to_owned()));
}

#[tokio::test]
async fn branches_are_brought_together_by_whoever_may_change_the_vault() {
    let server = Asked::ana();
    server.post("/api/branch", &json!({"chat": "Rain", "at": 1, "name": "Other"})).await.json();
    let book = "worlds/Lore - Other.json";
    let mut held: Value = serde_json::from_slice(&server.vault.read(book)).unwrap();
    held["entries"]["7"] = json!({"uid": 7, "comment": "<b>Bo", "content": "A thief.", "key": ["Bo"]});
    server.vault.write(book, held.to_string().as_bytes());
    let path = "chats/Ana/Other.jsonl";
    let said = json!({"name": "Ana", "is_user": false, "send_date": "9", "mes": "Elsewhere."});
    let all = [server.vault.read(path), format!("\n{said}").into_bytes()].concat();
    server.vault.write(path, &all);
    for call in ["learn", "append", "pick", "adopt", "resolve"] {
        let closed =
            Request::builder().method(Method::POST).uri(format!("/api/{call}")).header(header::HOST, HOST);
        let closed = closed.header(header::CONTENT_TYPE, "application/json").body(Body::from("{}")).unwrap();
        assert_eq!(server.send(closed).await.status, StatusCode::UNAUTHORIZED, "{call}");
    }
    let told = server.get("/api/together?chat=Rain&from=Other").await.json();
    let theirs = told["theirs"].as_array().unwrap();
    assert!(theirs.iter().any(|entry| entry["title"] == "<b>Bo" && entry["did"] == "added"), "{told:#}");
    let page = server.get("/bring?a=Ana%2FRain&b=Ana%2FOther").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("Take this over") && !page.text.contains("<b>Bo"), "{}", page.text);
    assert_eq!(server.get("/bring?a=Ana%2FRain").await.status, StatusCode::OK);
    let pick = json!({"chat": "Rain", "from": "Other", "entry": "7"});
    assert_eq!(server.post("/api/pick", &pick).await.refusal(), (409, "NOT_CONFIRMED".to_owned()));
    let learnt =
        server.post("/api/learn", &json!({"chat": "Rain", "from": "Other", "name": "Both"})).await.json();
    assert_eq!(learnt["chat"], "Ana/Both", "{learnt:#}");
    let open = server.post("/api/resolve", &json!({"chat": "Both"})).await.json();
    assert_eq!(open["open"], json!([]), "{open:#}");
    let append = json!({"chat": "Rain", "from": "Other", "name": "Then"});
    assert_eq!(server.post("/api/append", &append).await.json()["messages"], 5);
    assert_eq!(server.post("/api/adopt", &json!({"chat": "Both"})).await.json()["chat"], "Ana/Both");
    let taken = json!({"chat": "Rain", "from": "Other", "entry": "7", "yes": true});
    assert_eq!(server.post("/api/pick", &taken).await.json()["did"], "added");
}

#[tokio::test]
async fn pages_run_nothing_of_what_a_story_says() {
    let server = Asked::ana();
    for path in ["/", "/tree?story=Ana", "/moment?chat=Ana%2F%3Cb%3ESun", "/health", "/log"] {
        let page = server.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_eq!(page.header(header::CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(page.header(header::CONTENT_SECURITY_POLICY), forklore_web::POLICY);
        assert_eq!(page.header(header::REFERRER_POLICY), "same-origin");
        assert!(
            !page.text.contains("<script>alert") && !page.text.contains("<b>Sun"),
            "{path}: {}",
            page.text
        );
    }
    assert!(forklore_web::POLICY.contains("default-src 'none'") && !forklore_web::POLICY.contains("unsafe"));
}

#[tokio::test]
async fn a_page_without_a_way_in_tells_how_to_get_one_and_nothing_else() {
    let server = Asked::ana();
    let request = Request::builder().uri("/").header(header::HOST, HOST).body(Body::empty()).unwrap();
    let page = server.send(request).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED);
    assert!(
        page.text.contains("the address that Forklore printed") && !page.text.contains("Ana"),
        "{}",
        page.text
    );
    let failed = server.get("/tree?story=Nobody").await;
    assert_eq!(failed.status, StatusCode::NOT_FOUND);
    assert_eq!(failed.header(header::CONTENT_SECURITY_POLICY), forklore_web::POLICY);
    assert!(failed.text.contains("Nobody"), "it says what there is not: {}", failed.text);
}

#[tokio::test]
async fn scripts_and_styles_are_kept_only_under_their_own_edition() {
    let server = Asked::ana();
    let now = format!("/{}", forklore_web::assets::address("base.css"));
    let kept = server.get(&now).await;
    assert_eq!(kept.header(header::CACHE_CONTROL), "public, max-age=31536000, immutable");
    assert_eq!(kept.header(header::CONTENT_TYPE), "text/css; charset=utf-8");
    assert_eq!(server.get("/assets/older/base.css").await.header(header::CACHE_CONTROL), "no-store");
    assert_eq!(server.get("/assets/older/nothing.css").await.status, StatusCode::NOT_FOUND);
}

#[test]
fn everything_that_can_be_asked_is_described() {
    let described = crate::openapi();
    let paths = described["paths"].as_object().unwrap();
    assert!(paths.len() > 30, "{}", paths.len());
    for (path, methods) in paths {
        for (method, call) in methods.as_object().unwrap() {
            assert!(call["summary"].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}");
            assert!(call["responses"].is_object(), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_note_stands_at_its_moment_and_one_without_text_and_star_is_gone() {
    let server = Asked::ana();
    let before = server.vault.snapshot();
    let noted = server.post("/api/note", &json!({"chat": "Rain", "at": 1, "text": " Wet. "})).await;
    assert_eq!((noted.status, noted.json()["text"].clone()), (StatusCode::OK, json!("Wet.")));
    server.post("/api/branch", &json!({"chat": "Rain", "at": 2, "name": "Other"})).await.json();
    for (chat, many) in [("Rain", 1), ("Other", 1), ("<b>Sun", 0)] {
        let path = format!("/api/notes?chat={}", chat.replace('<', "%3C").replace('>', "%3E"));
        let found = server.get(&path).await.json();
        assert_eq!(found["notes"].as_array().map(Vec::len), Some(many), "{chat}: {found}");
    }
    let nowhere = server.post("/api/note", &json!({"chat": "Rain", "at": 9, "star": true})).await;
    assert_eq!(nowhere.refusal(), (404, "MESSAGE_NOT_FOUND".to_owned()));
    let long = "x".repeat(2001);
    let long = server.post("/api/note", &json!({"chat": "Rain", "at": 1, "text": long})).await;
    assert_eq!(long.refusal(), (413, "TOO_LARGE".to_owned()));
    server.post("/api/note", &json!({"chat": "Rain", "at": 1})).await.json();
    assert_eq!(server.get("/api/notes").await.json()["notes"], json!([]));
    let undone = server.post("/api/undo", &json!({})).await;
    assert_eq!(undone.status, StatusCode::OK, "a note is no operation: {}", undone.text);
    assert_eq!(server.vault.snapshot(), before, "no chat was touched");
}

#[tokio::test]
async fn a_note_that_was_changed_or_taken_away_comes_back_and_is_found_and_drawn_once() {
    let server = Asked::ana();
    let note = |text: &str| json!({"chat": "Rain", "at": 1, "text": text});
    server.post("/api/note", &note("The lamp is lit.")).await.json();
    server.post("/api/note", &note("The lamp was lit.")).await.json();
    let told = |found: Value| {
        let texts = found.as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    let earlier = told(server.get("/api/notes?chat=Rain").await.json()["earlier"].clone());
    assert_eq!(earlier, ["The lamp is lit."]);
    server.post("/api/note", &note("")).await.json();
    let earlier = told(server.get("/api/notes").await.json()["earlier"].clone());
    assert_eq!(earlier, ["The lamp was lit.", "The lamp is lit."], "the last one first");
    for page in ["/log", "/moment?chat=Rain&at=1"] {
        assert!(server.get(page).await.text.contains("The lamp was lit."), "{page}");
    }
    assert!(!server.get("/moment?chat=Rain&at=0").await.text.contains("The lamp was lit."));

    // Written again, it is there again.
    server.post("/api/note", &note("The lamp was lit.")).await.json();
    let notes = server.get("/api/notes").await.json();
    assert_eq!(told(notes["notes"].clone()), ["The lamp was lit."]);
    assert_eq!(told(notes["earlier"].clone()), ["The lamp is lit."]);

    // A star that it has got since stays when an earlier text comes back from the log.
    assert!(!server.get("/log").await.text.contains(r#"name="starred" value="true""#));
    let starred = json!({"chat": "Rain", "at": 1, "text": "The lamp was lit.", "star": true});
    server.post("/api/note", &starred).await.json();
    assert!(server.get("/log").await.text.contains(r#"name="starred" value="true""#));

    // A fork has the moment, too: the tree shows the note once, on the line whose message it is.
    server.post("/api/branch", &json!({"chat": "Rain", "at": 2, "name": "Other"})).await.json();
    let tree = server.get("/tree?story=Ana").await.text;
    assert_eq!(tree.matches("Noted: The lamp was lit.").count(), 1);
    let found = server.get("/api/search?text=LAMP+was").await.json();
    assert_eq!(found["notes"][0]["chat"], json!("Ana/Rain"), "{found}");
    assert_eq!(
        (found["notes"][0]["at"].clone(), found["notes"].as_array().map(Vec::len)),
        (json!(1), Some(1))
    );
    assert_eq!(server.get("/api/search?text=zebra").await.json()["notes"], json!([]));
}
