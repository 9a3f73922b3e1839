//! [`Table`]: everything that can be asked. Each line gives a route of the router and an entry of the OpenAPI description, so that
//! neither can tell of something that the other does not know.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::routing::{MethodFilter, MethodRouter, on};
use forklore_api::Failure;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::answer::{Refused, json as answer};
use crate::extract::{Body, ORDINARY, Query};
use crate::vault::{Call, Work};
use crate::vaults::Vaults;

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
        let handler = async move |called: Call, Query(query): Query<Q>| {
            let done = called.work(Work::Look, move |called| call(called, query)).await?;
            Ok::<_, Refused>(answer(StatusCode::OK, &done))
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
        self.post_with::<ORDINARY, B, A>(path, summary, |_| StatusCode::OK, call)
    }

    /// As [`Table::post`], with a body of up to `MOST` bytes and a status that depends on the answer.
    pub(crate) fn post_with<const MOST: usize, B: Asked, A: Answered>(
        mut self,
        path: &'static str,
        summary: &'static str,
        status: fn(&A) -> StatusCode,
        call: fn(&Call, B) -> Result<A, Failure>,
    ) -> Self {
        let handler = async move |called: Call, Body(body): Body<B, MOST>| {
            let done = called.work(Work::Change, move |called| call(called, body)).await?;
            Ok::<_, Refused>(answer(status(&done), &done))
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
