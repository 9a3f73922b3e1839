//! The table of everything that can be asked, and the [`app`] that answers it.

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use forklore_api::config::{self, Who};
use forklore_api::look::{self, AnyChat, AnyStory, OneChat, OneStory, Pair, Search, Spot, Stretch};
use forklore_api::merge::{self, Adopting, Picking, Resolving, Together};
use forklore_api::notes::{self, Noting};
use forklore_api::ops::{self, Cleaning, Deletion, Limit, Redoing, Renaming, Restoring, Undoing};
use forklore_api::past::{self, Blaming, Bringing, Looking};
use forklore_api::retention::Forgetting;
use forklore_api::{ErrorCode, Failure, document, enter, fork, heal};
use forklore_config::SettingReport;
use forklore_core::fork::ForkKind;
use forklore_engine::fork::ForkRequest;
use forklore_engine::merge::append::AppendRequest;
use forklore_engine::merge::learn::LearnRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::answer::{Refused, json, refused, usage};
use crate::events::{Event, ForkTold, VaultChange};
use crate::extract::ORDINARY;
use crate::guard::{Places, guard};
use crate::hello::Hello;
use crate::queued_forks::{self, Cancelling, ForkAnswer};
use crate::table::{Pass, Table};
use crate::vault::Call;
use crate::vaults::Vaults;
use crate::{actions, entrance, pages, st_forks, st_reports, stream};

/// The largest body of all: a header with everything that an extension ever kept in it.
const LARGEST: usize = 64 << 20;

/// Nothing is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// What is to be freed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pruning {
    /// Change nothing, and tell the size
    #[serde(default)]
    dry_run: bool,
}

/// That the server is there.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// Always true
    ok: bool,
    /// Version of the program
    version: &'static str,
}

/// One setting, or all.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Settings {
    /// All
    All(config::SettingsReport),
    /// One
    One(SettingReport),
}

/// What became of the last forks that SillyTavern saved.
#[derive(Debug, Serialize, JsonSchema)]
struct Recent {
    /// Newest first
    forks: Vec<ForkTold>,
}

/// Everything that can be asked.
pub(crate) fn table() -> Table {
    let forked = |answer: &ForkAnswer| match answer {
        ForkAnswer::Made(_) => StatusCode::OK,
        ForkAnswer::Waits { .. } => StatusCode::ACCEPTED,
    };
    let table = Table::new()
        .own::<Health>(
            (Method::GET, "/api/health"),
            "Whether the server is there",
            Pass::Free,
            "application/json",
            get(async || json(StatusCode::OK, &Health { ok: true, version: env!("CARGO_PKG_VERSION") })),
        )
        .own::<serde_json::Value>(
            (Method::GET, "/api/openapi.json"),
            "This description",
            Pass::Free,
            "application/json",
            get(description),
        )
        .own::<String>(
            (Method::GET, "/api/events"),
            "What happens, as server-sent events",
            Pass::Token,
            "text/event-stream",
            get(listen),
        )
        .own::<entrance::LetIn>(
            (Method::POST, "/api/session"),
            "Let a browser in, for a code or a token: it gets a session as a cookie",
            Pass::Free,
            "application/json",
            post(entrance::enter),
        )
        .with_body::<entrance::Knock>()
        .own::<entrance::AnotherCode>(
            (Method::POST, "/api/code"),
            "A code that lets another browser in, once",
            Pass::Token,
            "application/json",
            post(entrance::another),
        )
        .own::<entrance::Opened>(
            (Method::POST, "/api/vaults"),
            "Open a vault",
            Pass::Key,
            "application/json",
            post(entrance::open),
        )
        .with_body::<entrance::Opening>()
        .own::<entrance::Choices>(
            (Method::GET, "/api/setup"),
            "What there is to choose from, if there is no vault yet",
            Pass::Key,
            "application/json",
            get(entrance::setup),
        )
        .own::<entrance::Opened>(
            (Method::POST, "/api/setup"),
            "Open the vault that was chosen",
            Pass::Key,
            "application/json",
            post(entrance::choose),
        )
        .with_body::<entrance::Chosen>();
    let table = table
        .get("/api/hello", "Who answers, and for which vault", |call, _: Nothing| Ok(Hello::of(&call.vault)))
        .get("/api/stories", "List the stories", |call, _: Nothing| call.ask(look::stories))
        .get("/api/tree", "The fork tree", |call, of: AnyStory| call.ask(|open| look::tree(open, &of)))
        .get("/api/gained", "What the forks of a story gained since they were made", |call, of: OneStory| {
            call.ask(|open| look::gained(open, &of))
        })
        .get("/api/messages", "What is said in a part of a chat", |call, of: Stretch| {
            call.ask(|open| look::messages(open, &of))
        })
        .get("/api/search", "Where something is said in a story", |call, of: Search| {
            call.ask(|open| look::search(open, &of))
        })
        .get("/api/show", "The state of a chat at a message", |call, spot: Spot| {
            call.ask(|open| look::show(open, &spot))
        })
        .get(
            "/api/together",
            "Two lines: what both knew, and what each has learnt since",
            |call, of: Together| call.ask(|open| merge::together(open, &of)),
        )
        .get("/api/diff", "What differs between two states", |call, pair: Pair| {
            call.ask(|open| look::diff(open, &pair.spots()))
        })
        .get("/api/check", "What is wrong", |call, of: AnyChat| {
            call.ask(|open| Ok(look::check(open, &of)?.0))
        })
        .get("/api/history", "What happened to a chat and its lorebooks", |call, of: Looking| {
            call.ask(|open| past::history(open, &of))
        })
        .get("/api/blame", "Which message each part of a lorebook comes from", |call, of: Blaming| {
            call.ask(|open| past::blame(open, &of))
        })
        .get("/api/enter", "What there is to say and to decide on entering a chat", |call, of: OneChat| {
            call.ask(|open| enter::enter(open, &of))
        })
        .get(
            "/api/plan",
            "Whether a fork could be made now, and what it would be",
            |call, of: ForkRequest| match of.kind {
                Some(_) => call.ask(|open| fork::plan(open, &of)),
                None => Err(usage("The query is not understood: missing field `kind`")),
            },
        )
        .get("/api/queue", "What a memory extension still has to do", |call, of: OneChat| {
            call.ask(|open| look::queue(open, &of))
        })
        .get("/api/log", "What Forklore did", |call, limit: Limit| {
            call.ask(|open| Ok(ops::log(open, &limit)?.0))
        })
        .get("/api/trash", "What is in the trash", |call, _: Nothing| {
            call.ask(|open| Ok(ops::trash(open)?.0))
        })
        .get("/api/media/needed", "Images and files that chats in the trash need", |call, _: Nothing| {
            call.ask(ops::needed)
        })
        .get("/api/config", "The settings", |call, of: config::AnySetting| {
            call.ask(|open| match &of.key {
                Some(key) => config::setting(open, Who::Anybody, key).map(Settings::One),
                None => config::settings(open, Who::Anybody).map(Settings::All),
            })
        })
        .get("/api/notes", "Notes and stars at the messages of a chat, or all", |call, of: AnyChat| {
            call.ask(|open| notes::notes(open, &of))
        })
        .get("/api/pending", "What is still to be done", |call, of: AnyChat| {
            call.ask(|open| enter::pending(open, &of))
        })
        .get("/api/waits", "Forks that wait for the queue", |call, _: Nothing| Ok(queued_forks::list(call)))
        .get("/api/recent", "The last forks that SillyTavern saved", |call, of: AnyChat| {
            Ok(Recent { forks: call.vault.recent(of.chat.as_deref()) })
        });
    table
        .post_with::<ORDINARY, _, _>(
            "/api/checkpoint",
            "Make a checkpoint",
            forked,
            |call, of: ForkRequest| queued_forks::make(call, &said_by_path(ForkKind::Checkpoint, of)?),
        )
        .post_with::<ORDINARY, _, _>("/api/branch", "Make a branch", forked, |call, of: ForkRequest| {
            queued_forks::make(call, &said_by_path(ForkKind::Branch, of)?)
        })
        .post("/api/waits/cancel", "A fork that waits is not wanted any more", |call, of: Cancelling| {
            queued_forks::cancel(call, &of.id)
        })
        .post("/api/heal", "Heal forks that were made elsewhere, and repair", |call, cure: heal::Cure| {
            actions::heal(call, &cure)
        })
        .post("/api/delete", "Move a chat and its own lorebook to the trash", |call, of: Deletion| {
            actions::delete(call, &of)
        })
        .post("/api/rename", "Give a chat another name", |call, of: Renaming| actions::rename(call, &of))
        .post("/api/undo", "Take back what Forklore did", |call, of: Undoing| actions::undo(call, &of))
        .post("/api/redo", "Do again what was undone last", |call, of: Redoing| actions::redo(call, &of))
        .post("/api/trash/restore", "Bring something back from the trash", |call, of: Restoring| {
            actions::restore(call, &of)
        })
        .post("/api/restore", "Bring a past state back", |call, of: Bringing| actions::bring_back(call, &of))
        .post("/api/learn", "Bring along what happened in another branch", |call, of: LearnRequest| {
            actions::learn(call, &of)
        })
        .post(
            "/api/append",
            "Play another branch's messages after a chat's own",
            |call, of: AppendRequest| actions::append(call, &of),
        )
        .post("/api/pick", "Take one thing over", |call, of: Picking| actions::pick(call, &of))
        .post("/api/adopt", "Mark the line that is the story now", |call, of: Adopting| {
            actions::adopt(call, &of)
        })
        .post("/api/resolve", "Answer what two branches do not agree on", |call, of: Resolving| {
            actions::resolve(call, &of)
        })
        .post("/api/note", "Put a note or a star at a message, or take it away", |call, of: Noting| {
            actions::noted(call, &of)
        })
        .post("/api/gc", "Clean up", |call, of: Cleaning| actions::gc(call, &of))
        .post("/api/forget", "Forget old contents by rule", |call, of: Forgetting| actions::forget(call, &of))
        .post("/api/prune", "Free the space of what was forgotten", |call, of: Pruning| {
            actions::prune(call, of.dry_run)
        })
        .post("/api/config", "Change a setting", |call, of: config::Set| {
            call.change(|open| config::set(open, &of))
        })
        .post(
            "/api/pending/finish",
            "Give forks their lorebooks that wait for them",
            |call, of: enter::Finishing| {
                let report = call.change(|open| enter::finish(open, &of))?;
                for chat in report.finished.iter().filter(|_| !of.dry_run) {
                    call.vault.tell(Event::Change(VaultChange::operation("saved", Some(chat), None)));
                }
                Ok(report)
            },
        )
        .post("/api/next-fork", "How the next fork that SillyTavern saves is to be made", |call, next| {
            st_forks::next_fork(call, next)
        })
        .post_with::<LARGEST, _, _>(
            "/api/hook/prepare",
            "Before SillyTavern saves a chat that may be a fork",
            |_| StatusCode::OK,
            |call, save| st_forks::prepare(call, &save),
        )
        .post("/api/hook/resolve", "When that save is over", |call, over| st_forks::resolve(call, &over))
        .post_with::<LARGEST, _, _>(
            "/api/seen",
            "What SillyTavern has changed",
            |_| StatusCode::OK,
            |call, report| Ok(st_reports::reported(call, &report)),
        )
}

/// The fork that is asked for on the path of its kind, where nothing else has to say it.
fn said_by_path(kind: ForkKind, request: ForkRequest) -> Result<ForkRequest, Failure> {
    match request.kind {
        None => Ok(ForkRequest { kind: Some(kind), ..request }),
        Some(_) => Err(usage("The body is not understood: the path says already which `kind` it is")),
    }
}

/// What happens in a vault, while it happens.
async fn listen(State(vaults): State<Arc<Vaults>>, call: Call) -> Result<impl IntoResponse, Refused> {
    let events = stream::stream(&call.vault, vaults.ending.subscribe())?;
    // A proxy that packs or holds back what it passes on would keep events from arriving.
    let straight = [("cache-control", "no-cache, no-transform"), ("x-accel-buffering", "no")];
    Ok((straight, events))
}

/// The description of this API: it never changes while the program runs.
async fn description() -> Response {
    static WRITTEN: OnceLock<Bytes> = OnceLock::new();
    let write = || document(&table().openapi()).map(Bytes::from).unwrap_or_default();
    let written = WRITTEN.get_or_init(write).clone();
    (
        [(header::CONTENT_TYPE, "application/json; charset=utf-8"), (header::CACHE_CONTROL, "no-store")],
        written,
    )
        .into_response()
}

/// What answers everything.
pub(crate) fn app(vaults: Arc<Vaults>, places: Arc<Places>, prefix: &str) -> Router {
    let no_route = async |headers: HeaderMap, call: Result<Call, Refused>| pages::nothing(&headers, &call);
    let wrong_method = async || {
        let hint = "Looking is GET, changing is POST.";
        Refused::from(refused(ErrorCode::WrongMethod, "This is not asked like that", hint))
    };
    let routes = table().router().merge(pages::router());
    let home = format!("{prefix}/");
    let routes = routes.fallback(no_route).method_not_allowed_fallback(wrong_method);
    let routes =
        if prefix.is_empty() { routes } else { Router::new().nest(prefix, routes).fallback(no_route) };
    let routes = routes.route(&home, pages::home()).with_state(vaults);
    let same_origin = HeaderValue::from_static("same-origin");
    let nosniff = HeaderValue::from_static("nosniff");
    routes
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(RequestBodyLimitLayer::new(LARGEST))
        .layer(middleware::from_fn_with_state(places, guard))
        .layer(SetResponseHeaderLayer::overriding(header::X_CONTENT_TYPE_OPTIONS, nosniff))
        .layer(SetResponseHeaderLayer::overriding(
            HeaderName::from_static("cross-origin-resource-policy"),
            same_origin,
        ))
}
