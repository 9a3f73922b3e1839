//! [`OpenAi`]: a model behind `/v1/chat/completions`.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use forklore_memory::{Again, Request};
use serde_json::{Map, Value, json};
use ureq::tls::RootCerts;

use crate::address::Address;
use crate::answer::{Complaint, Extra};
use crate::endpoint::Endpoint;
use crate::error::ModelError;
use crate::exchange::{Exchange, Trouble, agent, trusted};
use crate::hear::Heard;
use crate::json::has_whole_object;
use crate::model::{Model, Said};
use crate::stop::Stop;
use crate::tokens::estimate;

/// So often it is looked whether somebody has stopped it.
const LOOK: Duration = Duration::from_millis(50);

/// A model on a server. It remembers what the server does not know, so that it is found out once: keep it as long as you ask.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    address: Address,
    trusted: RootCerts,
    /// How the shape of a reply is sent: as a schema, as "some JSON", not at all
    shape: AtomicU8,
    /// 1 if tokens are not to be asked for
    no_usage: AtomicU8,
    /// 1 if the greatest number of tokens has its new name
    new_name: AtomicU8,
}

impl OpenAi {
    /// The model at an endpoint. Nothing is sent yet.
    pub fn new(mut endpoint: Endpoint) -> Result<Self, ModelError> {
        endpoint.key = endpoint.key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        if endpoint.key.as_ref().is_some_and(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(ModelError::BadAddress("the key has characters that no key has".to_owned()));
        }
        let address = Address::of(&endpoint)?;
        let trusted = trusted(endpoint.certificate.as_deref())?;
        let (shape, no_usage, new_name) = Default::default();
        Ok(Self { endpoint, address, trusted, shape, no_usage, new_name })
    }

    fn body(&self, request: &Request, again: Option<&Again>, most: usize) -> Value {
        let messages = request.messages(again).into_iter();
        let messages = messages.map(|(role, content)| json!({"role": role, "content": content}));
        let mut body = Map::new();
        if !self.endpoint.model.is_empty() {
            body.insert("model".to_owned(), json!(self.endpoint.model));
        }
        body.insert("messages".to_owned(), messages.collect());
        body.insert("stream".to_owned(), json!(true));
        if self.no_usage.load(Ordering::Relaxed) == 0 {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        let name =
            if self.new_name.load(Ordering::Relaxed) == 0 { "max_tokens" } else { "max_completion_tokens" };
        body.insert(name.to_owned(), json!(most));
        let format = match self.shape.load(Ordering::Relaxed) {
            0 => {
                json!({"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": request.schema}})
            }
            1 => json!({"type": "json_object"}),
            _ => Value::Null,
        };
        if !format.is_null() {
            body.insert("response_format".to_owned(), format);
        }
        // It would leave out the middle of what is too long, without a word.
        if self.address.host().ends_with("openrouter.ai") {
            body.insert("transforms".to_owned(), json!([]));
        }
        Value::Object(body)
    }

    /// Sends it in a thread of its own, and closes the connection when it is stopped.
    fn exchange(&self, body: &Value, stop: &Stop) -> Result<Heard, Trouble> {
        let agent = agent(&self.address, self.endpoint.timeout, &self.trusted);
        let exchange = Exchange {
            agent: agent.clone(),
            address: self.address.clone(),
            key: self.endpoint.key.clone(),
            body: body.to_string().into_bytes(),
        };
        let (said, hears) = channel();
        let thread = thread::Builder::new().name("model".to_owned()).spawn(move || {
            // Nobody may be there any more who wants to hear it.
            let _gone = said.send(exchange.run());
        });
        thread.map_err(|e| ModelError::Unreachable(format!("this machine has no thread for it: {e}")))?;
        loop {
            match hears.recv_timeout(LOOK) {
                Ok(heard) => return heard,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ModelError::Unreachable("the request fell over".to_owned()).into());
                }
                Err(RecvTimeoutError::Timeout) if stop.is_stopped() => {
                    agent.shutdown();
                    return Err(ModelError::Stopped.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Leaves out what the server does not know. False if there is nothing left to leave out.
    fn without(&self, extra: Extra) -> bool {
        let (what, last) = match extra {
            Extra::Shape => (&self.shape, 2),
            Extra::Usage => (&self.no_usage, 1),
            Extra::MaxTokens => (&self.new_name, 1),
        };
        what.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| (now < last).then_some(now + 1)).is_ok()
    }

    fn meaning(&self, complaint: Complaint) -> ModelError {
        complaint.meaning(self.endpoint.key.as_deref())
    }
}

impl Model for OpenAi {
    fn ask(&self, request: &Request, again: Option<&Again>, stop: &Stop) -> Result<Said, ModelError> {
        let shown = again.map_or(0, |again| estimate(&again.said) + estimate(&again.why));
        let reads = estimate(&request.system) + estimate(&request.user) + shown;
        let mut most = request.reply_tokens;
        if self.endpoint.context > 0 {
            // Most replies are much shorter than they may be.
            let room = self.endpoint.context.saturating_sub(reads);
            if room < most / 3 {
                return Err(ModelError::TooLong);
            }
            most = most.min(room);
        }
        let heard = loop {
            if stop.is_stopped() {
                return Err(ModelError::Stopped);
            }
            let complaint = match self.exchange(&self.body(request, again, most), stop) {
                Ok(Heard { error: Some(error), .. }) => Complaint::hidden(&error),
                Ok(heard) => break heard,
                Err(Trouble::Complaint(complaint)) => complaint,
                Err(Trouble::Error(error)) => return Err(error),
            };
            if !complaint.unknown().is_some_and(|extra| self.without(extra)) {
                return Err(self.meaning(complaint));
            }
        };
        if !has_whole_object(&heard.text) {
            if !heard.is_whole() {
                return Err(ModelError::Unreachable(
                    "the connection ended in the middle of a reply".to_owned(),
                ));
            }
            // Cut before it was as long as it may be: there was no more room.
            let wrote = heard.usage.map(|(_, wrote)| wrote);
            if heard.is_cut() && wrote.is_some_and(|wrote| wrote < most as u64) {
                return Err(ModelError::TooLong);
            }
            if heard.finish.as_deref() == Some("content_filter") {
                let said = "a filter of the server took the reply away.".to_owned();
                return Err(ModelError::Refused { status: 200, said });
            }
        }
        let (tokens_in, tokens_out) = heard
            .usage
            .unwrap_or_else(|| (reads as u64, (estimate(&heard.text) + heard.thought.div_ceil(4)) as u64));
        let model = heard.model.unwrap_or_else(|| self.endpoint.model.clone());
        Ok(Said { text: heard.text, model, tokens_in, tokens_out })
    }
}
