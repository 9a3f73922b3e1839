//! [`Complaint`]: what a server answers instead of a reply, and what that means.

use std::time::Duration;

use serde_json::Value;

use crate::error::ModelError;
use crate::json::short;

/// Words by which servers say that question and reply together are too long: llama.cpp, vLLM, OpenAI, OpenRouter, Ollama, KoboldCpp, and
/// those behind OpenRouter. Small letters only.
const TOO_LONG: [&str; 15] = [
    "exceed_context_size",
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "context_window_exceeded",
    "maximum model length",
    "maximum prompt length",
    "maximum allowed input length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input token count",
    "reduce the length of the messages",
    "too large to process",
];

/// What a request can be sent without, where a server does not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extra {
    /// The shape of the reply
    Shape,
    /// That the stream is to end with the number of tokens
    Usage,
    /// The old name of the greatest number of tokens
    MaxTokens,
}

/// An error as a server tells it.
#[derive(Debug)]
pub(crate) struct Complaint {
    status: u16,
    body: String,
    wait: Option<Duration>,
}

impl Complaint {
    /// An answer with this status.
    pub(crate) fn new(status: u16, body: String, wait: Option<Duration>) -> Self {
        Self { status, body, wait }
    }

    /// An error that came under status 200, as SillyTavern and OpenRouter send them.
    pub(crate) fn hidden(error: &Value) -> Self {
        let code = |name: &str| {
            error.get(name).map(|code| code.as_str().map_or_else(|| code.to_string(), str::to_lowercase))
        };
        let codes = [code("code"), code("status"), code("type")].into_iter().flatten().collect::<Vec<_>>();
        let number = codes.iter().find_map(|code| code.parse().ok().filter(|code| (400..600).contains(code)));
        let named = || {
            codes.iter().find_map(|code| match code.as_str() {
                code if code.contains("rate_limit") => Some(429),
                code if code.contains("overloaded") || code.contains("unavailable") => Some(503),
                code if code.contains("authentication") || code.contains("api_key") => Some(401),
                code if code.contains("server_error") || code.contains("internal") => Some(500),
                _ => None,
            })
        };
        Self { status: number.or_else(named).unwrap_or(200), body: error.to_string(), wait: None }
    }

    /// What the server seems not to know, if that is why it complains.
    pub(crate) fn unknown(&self) -> Option<Extra> {
        let says = self.body.to_lowercase();
        if !matches!(self.status, 400 | 422 | 501) || is_too_long(&says) {
            return None;
        }
        let names = |words: &[&str]| words.iter().any(|word| says.contains(word));
        if names(&["max_completion_tokens"]) {
            Some(Extra::MaxTokens)
        } else if names(&["stream_options", "include_usage"]) {
            Some(Extra::Usage)
        } else if names(&[
            "response_format",
            "json_schema",
            "json_object",
            "schema",
            "grammar",
            "structured output",
        ]) {
            Some(Extra::Shape)
        } else {
            None
        }
    }

    /// What it means.
    pub(crate) fn meaning(self, key: Option<&str>) -> ModelError {
        let says = self.body.to_lowercase();
        let paid_out = says.contains("insufficient_quota");
        match self.status {
            401 => ModelError::Unauthorized,
            413 => ModelError::TooLong,
            408 | 429 | 503 | 529 if !paid_out => ModelError::Busy { wait: self.wait },
            _ if is_too_long(&says) => ModelError::TooLong,
            status => ModelError::Refused { status, said: without(&message(&self.body), key) },
        }
    }
}

fn is_too_long(says: &str) -> bool {
    TOO_LONG.iter().any(|words| says.contains(words))
}

/// Servers repeat keys that they do not like.
fn without(said: &str, key: Option<&str>) -> String {
    key.filter(|key| !key.is_empty()).map_or_else(|| said.to_owned(), |key| said.replace(key, "…"))
}

/// The sentence in an error: every server has its own place for it.
fn message(body: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        let page = body.trim_start().starts_with('<');
        return if page || body.trim().is_empty() { "it does not say why.".to_owned() } else { short(body) };
    };
    let error = value.get("error").unwrap_or(&value);
    let places = [error.get("message"), error.get("detail"), value.get("message"), Some(error)];
    let said =
        places.into_iter().flatten().find_map(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
    // OpenRouter passes on what the server behind it said.
    let behind = error.pointer("/metadata/raw").and_then(Value::as_str).unwrap_or_default();
    short(&format!("{said} {behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(status: u16, body: &str) -> ModelError {
        Complaint::new(status, body.to_owned(), None).meaning(Some("sk-secret"))
    }

    #[test]
    fn too_long_is_understood_from_every_server() {
        for (status, body) in [
            (
                400,
                r#"{"error":{"code":400,"message":"request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9412,"n_ctx":8192}}"#,
            ),
            (
                500,
                r#"{"error":{"code":500,"message":"input is too large to process. increase the physical batch size","type":"server_error"}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","code":400}"#,
            ),
            (
                400,
                r#"{"error":{"message":"The decoder prompt (length 5951) is longer than the maximum model length of 4096."}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 3000. This model's maximum context length is 4096 tokens and your request has 2000 input tokens"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}"#,
            ),
            (400, r#"{"error":"prompt too long; exceeded max context length by 100 tokens"}"#),
            (400, r#"{"error":{"message":"the input length exceeds the context length"}}"#),
            (
                400,
                r#"{"error":{"code":400,"message":"This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens."}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"prompt is too long: 213462 tokens > 200000 maximum"}}}"#,
            ),
            (413, "<html>Request Entity Too Large</html>"),
        ] {
            assert_eq!(meaning(status, body), ModelError::TooLong, "{body}");
            assert_eq!(Complaint::new(status, body.to_owned(), None).unknown(), None, "{body}");
        }
    }

    #[test]
    fn what_a_server_does_not_know_is_understood() {
        let unknown = |status, body: &str| Complaint::new(status, body.to_owned(), None).unknown();
        assert_eq!(unknown(400, r#"{"error":"response_format is not supported"}"#), Some(Extra::Shape));
        assert_eq!(
            unknown(422, r#"{"detail":[{"loc":["body","response_format","json_schema"]}]}"#),
            Some(Extra::Shape)
        );
        assert_eq!(unknown(400, "failed to parse grammar"), Some(Extra::Shape));
        assert_eq!(
            unknown(422, r#"{"detail":[{"loc":["body","stream_options"],"type":"extra_forbidden"}]}"#),
            Some(Extra::Usage)
        );
        assert_eq!(
            unknown(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            Some(Extra::MaxTokens)
        );
        assert_eq!(unknown(401, "schema"), None);
        assert_eq!(unknown(400, "no such model"), None);
    }

    #[test]
    fn an_error_is_told_in_the_words_of_the_server_without_the_key() {
        let ModelError::Refused { status, said } =
            meaning(403, r#"{"error":{"message":"Key sk-secret\nis for others"}}"#)
        else {
            panic!("not refused")
        };
        assert_eq!((status, said.as_str()), (403, "Key … is for others"));
        let ModelError::Refused { said, .. } = meaning(502, "<html>nginx</html>") else {
            panic!("not refused")
        };
        assert_eq!(said, "it does not say why.");
        assert_eq!(meaning(401, "sk-secret"), ModelError::Unauthorized);
        assert!(matches!(
            meaning(429, r#"{"error":{"code":"insufficient_quota"}}"#),
            ModelError::Refused { status: 429, .. }
        ));
    }

    #[test]
    fn errors_under_status_200_are_errors() {
        let of = |text: &str| Complaint::hidden(&serde_json::from_str(text).unwrap()).meaning(None);
        assert_eq!(of(r#"{"code":429,"message":"slow down"}"#), ModelError::Busy { wait: None });
        assert_eq!(of(r#"{"code":"invalid_api_key"}"#), ModelError::Unauthorized);
        assert_eq!(
            of(r#"{"message":"Bad Request"}"#),
            ModelError::Refused { status: 200, said: "Bad Request".to_owned() }
        );
        assert!(matches!(of(r#"{"type":"server_error"}"#), ModelError::Refused { status: 500, .. }));
    }
}
