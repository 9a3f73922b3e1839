//! How people and programs get in: browsers with a code ([`enter`]), whoever manages the server with its key ([`open`]), and somebody who
//! has no vault yet by choosing one ([`setup`], [`choose`]).

use std::path::PathBuf;
use std::sync::Arc;

use axum::RequestExt as _;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use forklore_api::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Refused, json, refused, usage};
use crate::doorman::Right;
use crate::extract::{Body, Key};
use crate::guard::token;
use crate::setup::First;
use crate::vault::Call;
use crate::vaults::Vaults;

/// A vault to open.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Opening {
    /// Absolute path of a SillyTavern user folder
    path: PathBuf,
}

/// What there is to choose from at the first visit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Choices {
    /// Vaults that were found on this machine
    folders: Vec<String>,
    /// Where the demo story would be made
    demo: String,
}

/// What was chosen: one of both.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chosen {
    /// A SillyTavern folder: a user's, or one around it
    path: Option<PathBuf>,
    /// The demo story
    #[serde(default)]
    demo: bool,
}

/// A vault that is open.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Opened {
    /// What opens it from now on
    token: String,
    /// Name of its folder
    vault: String,
    /// Lets one browser in, once
    code: String,
}

/// Who wants in.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Knock {
    /// The code in the address that was printed; not needed with a token
    code: Option<String>,
}

/// A browser that was let in.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LetIn {
    /// Name of the vault's folder; nothing if a vault is to be chosen first
    vault: Option<String>,
    /// Where the pages are for this browser, relative to the base
    to: Option<String>,
    /// What a vault is chosen with
    key: Option<String>,
}

/// A way in for another browser.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnotherCode {
    /// Works once, behind `#code=` in the address
    code: String,
}

/// A code or a token comes in the body or as a header, so no other page can let a browser in.
pub(crate) async fn enter(
    State(vaults): State<Arc<Vaults>>,
    mut request: Request,
) -> Result<Response, Refused> {
    let right = if token(request.headers()).is_some() {
        let call: Call = request.extract_parts_with_state(&vaults).await?;
        Some(Right::Use(call.vault))
    } else {
        let Body(Knock { code }) = Body::<Knock>::from_request(request, &vaults).await?;
        code.and_then(|code| vaults.doorman.redeem(&code))
    };
    let vault = match right {
        Some(Right::Use(vault)) => vault,
        Some(Right::Choose) => {
            let let_in = LetIn { vault: None, to: None, key: vaults.key_to_choose() };
            return Ok(json(StatusCode::OK, &let_in));
        }
        None => {
            let message = "This address was used already, or is of another server";
            let hint = "Each works once. Press Enter where `forklore serve` runs, and open the address that it prints.";
            return Err(refused(ErrorCode::CodeUsed, message, hint).into());
        }
    };
    let name = vault.name();
    let session = vaults.doorman.admit(vault);
    let let_in = LetIn { vault: Some(name), to: Some(format!("~{}/", session.room)), key: None };
    let mut response = json(StatusCode::OK, &let_in);
    if let Ok(cookie) = HeaderValue::from_str(&vaults.doorman.set_cookie(&session)) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// A way in for another browser.
pub(crate) async fn another(State(vaults): State<Arc<Vaults>>, call: Call) -> Response {
    json(StatusCode::OK, &AnotherCode { code: vaults.doorman.code(Right::Use(call.vault)) })
}

pub(crate) async fn open(
    State(vaults): State<Arc<Vaults>>,
    _: Key,
    Body(opening): Body<Opening>,
) -> Result<Response, Refused> {
    opened(vaults, move |_| Ok(opening.path)).await
}

/// Opens a vault that is still to be found.
async fn opened(
    vaults: Arc<Vaults>,
    find: impl FnOnce(&Vaults) -> Result<PathBuf, Failure> + Send + 'static,
) -> Result<Response, Refused> {
    let open = move || {
        let (token, vault) = vaults.open(&find(&vaults)?)?;
        let code = vaults.doorman.code(Right::Use(vault.clone()));
        Ok::<_, Failure>(Opened { token, vault: vault.name(), code })
    };
    let opened = tokio::task::spawn_blocking(open).await.map_err(|_| Refused::Died)??;
    Ok(json(StatusCode::OK, &opened))
}

fn no_setup() -> Failure {
    refused(
        ErrorCode::NotAllowed,
        "This server has its vault already",
        "Start `forklore serve` where there is none.",
    )
}

/// What there is to choose from at the first visit.
pub(crate) async fn setup(State(vaults): State<Arc<Vaults>>, _: Key) -> Result<Response, Refused> {
    let setup = vaults.setup.as_ref().ok_or_else(no_setup)?;
    let text = |path: &PathBuf| path.display().to_string();
    let folders = setup.folders.iter().map(text).collect();
    Ok(json(StatusCode::OK, &Choices { folders, demo: text(&setup.demo) }))
}

/// What was chosen at the first visit.
pub(crate) async fn choose(
    State(vaults): State<Arc<Vaults>>,
    _: Key,
    Body(chosen): Body<Chosen>,
) -> Result<Response, Refused> {
    let first = match (chosen.path, chosen.demo) {
        (Some(path), false) => First::Folder(path),
        (None, true) => First::Demo,
        _ => return Err(usage("Choose a folder or the demo story, one of both").into()),
    };
    opened(vaults, move |vaults| (vaults.setup.as_ref().ok_or_else(no_setup)?.choose)(first)).await
}
