//! [`Table`]: everything that can be asked. Each line gives a route of the router and an entry of the OpenAPI description, so that
//! neither can tell of something that the other does not know.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use forklore_api::{ErrorCode, Failure};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::answer::{failed, json as answer, refused, usage};
use crate::doorman::Room;
use crate::guard::{session, token};
use crate::vaults::{Call, Vaults, Work, work};

/// The largest body of an ordinary request.
pub(crate) const ORDINARY: usize = 1 << 20;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// What has to be shown to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Nothing
    Free,
    /// The token of a vault
    Token,
    /// The key that opens vaults
    Key,
}

struct Line {
    method: Method,
    path: &'static str,
    summary: &'static str,
    pass: Pass,
    query: Option<Schema>,
    body: Option<Schema>,
    /// Media type and schema of what is answered
    answer: (&'static str, Schema),
    route: MethodRouter<Arc<Vaults>>,
}

/// Everything that can be asked.
pub(crate) struct Table {
    lines: Vec<Line>,
    asking: SchemaGenerator,
    answering: SchemaGenerator,
}

/// The types that a line is made of: something that can be asked, and something that can be answered.
pub(crate) trait Asked: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Asked for T {}
pub(crate) trait Answered: Serialize + JsonSchema + Send + 'static {}
impl<T: Serialize + JsonSchema + Send + 'static> Answered for T {}

impl Table {
    pub(crate) fn new() -> Self {
        let settings =
            || SchemaSettings::draft2020_12().with(|s| s.definitions_path = "/components/schemas".into());
        Self {
            lines: Vec::new(),
            asking: settings().into_generator(),
            answering: settings().for_serialize().into_generator(),
        }
    }

    /// Looks: what is asked stands in the query.
    pub(crate) fn get<Q: Asked, A: Answered>(
        mut self,
        path: &'static str,
        summary: &'static str,
        call: fn(&Call, Q) -> Result<A, Failure>,
    ) -> Self {
        let handler = move |State(vaults): State<Arc<Vaults>>, request: Request| async move {
            let asked = called(&vaults, &request).and_then(|called| Ok((called, query::<Q>(&request)?)));
            respond(asked, Work::Look, call, |_| StatusCode::OK).await
        };
        let (query, answer) = (self.asking.subschema_for::<Q>(), self.answering.subschema_for::<A>());
        self.lines.push(Line {
            method: Method::GET,
            path,
            summary,
            pass: Pass::Token,
            query: Some(query),
            body: None,
            answer: ("application/json", answer),
            route: on(MethodFilter::GET, handler),
        });
        self
    }

    /// Changes: what is asked is the body.
    pub(crate) fn post<B: Asked, A: Answered>(
        self,
        path: &'static str,
        summary: &'static str,
        call: fn(&Call, B) -> Result<A, Failure>,
    ) -> Self {
        self.post_with(path, summary, ORDINARY, |_| StatusCode::OK, call)
    }

    /// As [`Table::post`], with a body of up to `most` bytes and a status that depends on the answer.
    pub(crate) fn post_with<B: Asked, A: Answered>(
        mut self,
        path: &'static str,
        summary: &'static str,
        most: usize,
        status: fn(&A) -> StatusCode,
        call: fn(&Call, B) -> Result<A, Failure>,
    ) -> Self {
        let handler = move |State(vaults): State<Arc<Vaults>>, request: Request| async move {
            let called = match called(&vaults, &request) {
                Ok(called) => called,
                Err(failure) => return failed(&failure),
            };
            let asked = body::<B>(request, most).await.map(|body| (called, body));
            respond(asked, Work::Change, call, status).await
        };
        let (body, answer) = (self.asking.subschema_for::<B>(), self.answering.subschema_for::<A>());
        self.lines.push(Line {
            method: Method::POST,
            path,
            summary,
            pass: Pass::Token,
            query: None,
            body: Some(body),
            answer: ("application/json", answer),
            route: on(MethodFilter::POST, handler),
        });
        self
    }

    /// A route that answers in its own way.
    pub(crate) fn own<A: JsonSchema>(
        mut self,
        (method, path): (Method, &'static str),
        summary: &'static str,
        pass: Pass,
        media: &'static str,
        route: MethodRouter<Arc<Vaults>>,
    ) -> Self {
        let answer = self.answering.subschema_for::<A>();
        let (query, body) = (None, None);
        self.lines.push(Line { method, path, summary, pass, query, body, answer: (media, answer), route });
        self
    }

    /// The same for the last line, with what its body holds.
    pub(crate) fn with_body<B: JsonSchema>(mut self) -> Self {
        let body = self.asking.subschema_for::<B>();
        if let Some(line) = self.lines.last_mut() {
            line.body = Some(body);
        }
        self
    }

    pub(crate) fn router(self) -> Router<Arc<Vaults>> {
        let add = |router: Router<Arc<Vaults>>, line: Line| router.route(line.path, line.route);
        self.lines.into_iter().fold(Router::new(), add)
    }

    /// The description of everything.
    pub(crate) fn openapi(mut self) -> Value {
        let mut definitions: Map<String, Value> = self.asking.take_definitions(true);
        definitions.extend(self.answering.take_definitions(true));
        let mut paths: Map<String, Value> = Map::new();
        for line in &self.lines {
            let method = line.method.as_str().to_lowercase();
            let entry = paths.entry(line.path).or_insert_with(|| json!({}));
            entry[method] = describe(line, &definitions);
        }
        let error = json!({
            "type": "object",
            "required": ["error"],
            "properties": {"error": {"$ref": "#/components/schemas/FailureReport"}},
        });
        definitions.insert("Error".to_owned(), error);
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Forklore",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Fork your story, keep its lore. docs/formats/http.md tells more.",
            },
            // This document is at api/openapi.json, below whatever prefix.
            "servers": [{"url": ".."}],
            "paths": paths,
            "components": {
                "schemas": definitions,
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer", "description": "Opens one vault"},
                    "key": {"type": "http", "scheme": "bearer", "description": "Opens vaults"},
                },
            },
        })
    }
}

fn describe(line: &Line, definitions: &Map<String, Value>) -> Value {
    let (media, schema) = &line.answer;
    let error = json!({"description": "Refused or failed", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}});
    let mut entry = json!({
        "summary": line.summary,
        "operationId": format!("{} {}", line.method, line.path).to_lowercase().replace([' ', '/', '.'], "_"),
        "responses": {"200": {"description": "Done", "content": {*media: {"schema": schema}}}, "default": error},
    });
    match line.pass {
        Pass::Free => entry["security"] = json!([]),
        Pass::Token => entry["security"] = json!([{"token": []}]),
        Pass::Key => entry["security"] = json!([{"key": []}]),
    }
    if let Some(body) = &line.body {
        entry["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": body}}});
    }
    if let Some(query) = &line.query {
        entry["parameters"] = parameters(query, definitions);
    }
    entry
}

/// The members of what is asked, each as a parameter.
fn parameters(query: &Schema, definitions: &Map<String, Value>) -> Value {
    let name = query.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let empty = Value::Null;
    let schema = name.and_then(|name| definitions.get(name)).unwrap_or(&empty);
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|all| all.iter().any(|required| required == name))
    };
    let members = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, schema): (&String, &Value)| {
        json!({
            "name": name,
            "in": "query",
            "required": required(name),
            "description": schema["description"],
            "schema": schema,
        })
    };
    members.map(parameter).collect()
}

/// Which vault a request is about.
pub(crate) fn called(vaults: &Vaults, request: &Request) -> Result<Call, Failure> {
    let headers = request.headers();
    let shown = token(headers);
    let vault = match (shown, request.extensions().get::<Room>()) {
        (Some(token), _) => vaults.find(token),
        (None, Some(Room(room))) => {
            let doorman = &vaults.doorman;
            let sessions = session(headers, request.method(), &doorman.cookie)?;
            sessions.into_iter().find_map(|id| doorman.find(id, room))
        }
        (None, None) => None,
    };
    let Some(vault) = vault else {
        return Err(if shown.is_some_and(|token| vaults.is_key(token)) {
            refused(
                ErrorCode::NotAllowed,
                "The key opens vaults and nothing else",
                "Use the token of a vault.",
            )
        } else {
            let hint =
                "Send the header \"Authorization: Bearer TOKEN\"; `forklore serve --json` prints the token.";
            refused(ErrorCode::NoToken, "No vault is opened by this request", hint)
        });
    };
    let request = headers.get("x-forklore-request").and_then(|value| value.to_str().ok());
    let request = request.map(|text| text.chars().take(64).collect());
    Ok(Call { vault, request })
}

/// What is asked in the address.
pub(crate) fn query<Q: DeserializeOwned>(request: &Request) -> Result<Q, Failure> {
    let query = Query::<Q>::try_from_uri(request.uri());
    query
        .map(|Query(query)| query)
        .map_err(|e| usage(format!("The query is not understood: {}", e.body_text())))
}

/// The body of a request, if it is JSON and not too large.
pub(crate) async fn body<B: DeserializeOwned>(request: Request, most: usize) -> Result<B, Failure> {
    let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_lowercase();
    let too_large = || {
        let message = format!("The body is larger than {most} bytes");
        refused(ErrorCode::TooLarge, message, "Send less at once.")
    };
    let told = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if told.and_then(|text| text.parse::<usize>().ok()).is_some_and(|len| len > most) {
        return Err(too_large());
    }
    let bytes = bytes(request, most).await?.ok_or_else(too_large)?;
    if bytes.is_empty() {
        return serde_json::from_slice(b"{}").map_err(|e| usage(format!("The body is empty: {e}")));
    }
    if media != "application/json" {
        return Err(usage("The body is no JSON: its Content-Type is not application/json"));
    }
    serde_json::from_slice(&bytes).map_err(|e| usage(format!("The body is not understood: {e}")))
}

/// All bytes of a body, if they come in time; nothing if they are too many.
pub(crate) async fn bytes(request: Request, most: usize) -> Result<Option<Bytes>, Failure> {
    let all = tokio::time::timeout(PATIENCE, axum::body::to_bytes(request.into_body(), most));
    let late =
        |_| refused(ErrorCode::TooSlow, "The body did not arrive in time", "Send it again, all at once.");
    Ok(all.await.map_err(late)?.ok())
}

/// Does the work on a thread of its own, and answers.
async fn respond<Q: Send + 'static, A: Answered>(
    asked: Result<(Call, Q), Failure>,
    kind: Work,
    call: fn(&Call, Q) -> Result<A, Failure>,
    status: fn(&A) -> StatusCode,
) -> Response {
    let (called, asked) = match asked {
        Ok(asked) => asked,
        Err(failure) => return failed(&failure),
    };
    match work(called.vault.clone(), kind, move || call(&called, asked)).await {
        Ok(Ok(done)) => answer(status(&done), &done),
        Ok(Err(failure)) => failed(&failure),
        // The engine does not panic; if it ever does, others are served all the same.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
