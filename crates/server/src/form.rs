//! [`Fields`]: what stands in a form, or in the address of a page that has one.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use forklore_api::past::Bringing;
use forklore_api::retention::Forgetting;
use forklore_api::{ErrorCode, Failure};
use forklore_core::fork::ForkKind;
use forklore_engine::fork::ForkRequest;
use forklore_engine::heal::Choice;

use crate::answer::{Refused, refused, usage};
use crate::extract::{Body, ORDINARY, bytes};

/// The fields of a form, or of an address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(pub(crate) BTreeMap<String, String>);

impl Fields {
    /// What stands in a field; a field that is left empty says nothing.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn needed(&self, name: &str) -> Result<String, Failure> {
        self.text(name).map(str::to_owned).ok_or_else(|| usage(format!("The field \"{name}\" is empty")))
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let parse = |text: &str| {
            text.trim().parse().map_err(|_| usage(format!("\"{name}\" is no number that fits: {text:?}")))
        };
        self.text(name).map(parse).transpose()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// Yes, no, or nothing said.
    pub(crate) fn choice(&self, name: &str) -> Option<bool> {
        match self.text(name) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        }
    }

    /// The fork that is asked for, if one is.
    pub(crate) fn fork(&self) -> Result<Option<ForkRequest>, Failure> {
        let kind = match self.text("kind") {
            Some("branch") => ForkKind::Branch,
            Some("checkpoint") => ForkKind::Checkpoint,
            _ => return Ok(None),
        };
        Ok(Some(ForkRequest {
            kind: Some(kind),
            at: self.number("at")?,
            name: self.text("name").map(str::to_owned),
            swipe: self.number("swipe")?,
            when_ready: self.flag("when_ready"),
            ignore_queue: self.flag("ignore_queue"),
            strict: self.choice("strict"),
            copy_book: self.flag("copy_book"),
            ..ForkRequest::of(self.needed("chat")?)
        }))
    }

    pub(crate) fn rules(&self, dry_run: bool) -> Result<Forgetting, Failure> {
        let (last, daily, weekly) = (self.number("last")?, self.number("daily")?, self.number("weekly")?);
        Ok(Forgetting { last, daily, weekly, dry_run })
    }

    /// What is asked to come back.
    pub(crate) fn bringing(&self, dry_run: bool) -> Result<Bringing, Failure> {
        Ok(Bringing {
            chat: self.needed("chat")?,
            at: self.number("at")?,
            observation: self.number("observation")?,
            entry: self.text("entry").map(str::to_owned),
            book: self.flag("book"),
            yes: true,
            dry_run,
            ..Bringing::default()
        })
    }

    /// What was chosen for single chats: `choose/ADDRESS`.
    pub(crate) fn choices(&self) -> Result<BTreeMap<String, Choice>, Failure> {
        let said = self.0.iter().filter(|(_, value)| !value.is_empty());
        let said = said.filter_map(|(name, value)| Some((name.strip_prefix("choose/")?, value)));
        said.map(|(chat, value)| {
            let choice = serde_json::from_value(serde_json::Value::String(value.clone()));
            Ok((chat.to_owned(), choice.map_err(|_| usage(format!("{value:?} cannot be chosen")))?))
        })
        .collect()
    }
}

impl<S: Sync> FromRequest<S> for Fields {
    type Rejection = Refused;

    /// As a browser sends a form, or as JSON.
    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !media.is_some_and(|media| media.starts_with("application/x-www-form-urlencoded")) {
            let Body(fields) = Body::<BTreeMap<String, String>>::from_request(request, state).await?;
            return Ok(Self(fields));
        }
        let too_large = || refused(ErrorCode::TooLarge, "The form is too large", "Send less at once.");
        let bytes = bytes(request, ORDINARY).await?.ok_or_else(too_large)?;
        Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
    }
}
