//! [`Heard`]: what came from a server, put together from the pieces of a stream, or from one piece where a server does not stream.

use std::io::Read;

use serde_json::Value;

use crate::error::ModelError;
use crate::json::short;

/// No reply is longer; what is, is cut off here.
const LONGEST: usize = 4 << 20;

/// What was heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The reply, without what was thought before it
    pub(crate) text: String,
    /// As the server calls it
    pub(crate) model: Option<String>,
    /// Tokens read and written
    pub(crate) usage: Option<(u64, u64)>,
    /// Why it ended; nothing if it just did
    pub(crate) finish: Option<String>,
    /// An error that came where a reply was to come
    pub(crate) error: Option<Value>,
    /// How much was thought, in bytes
    pub(crate) thought: usize,
    /// Whether the server said that this is all
    done: bool,
}

impl Heard {
    /// Listens to the end.
    pub(crate) fn from(
        mut body: impl Read,
        broken: impl Fn(std::io::Error) -> ModelError,
    ) -> Result<Self, ModelError> {
        let mut heard = Self::default();
        let mut line = Vec::new();
        let mut piece = [0; 16 << 10];
        let mut streamed = None;
        while !heard.is_over() {
            let n = match body.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => n,
                // A reply that is whole counts, however the connection ended.
                Err(_) if heard.finish.is_some() => break,
                Err(e) => return Err(broken(e)),
            };
            for byte in piece.get(..n).unwrap_or_default() {
                line.push(*byte);
                if *byte != b'\n' || streamed == Some(false) {
                    continue;
                }
                // What the first line is tells what the others are.
                let text = String::from_utf8_lossy(&line);
                let text = text.trim();
                if !text.is_empty() && *streamed.get_or_insert_with(|| is_field(text)) {
                    heard.field(text)?;
                }
                if streamed != Some(false) {
                    line.clear();
                }
            }
            if line.len() > 2 * LONGEST {
                heard.cut();
            }
        }
        // A body without a line's end, or the last line of a stream, which may have been cut anywhere.
        let rest = String::from_utf8_lossy(&line);
        let rest = rest.trim();
        match streamed {
            Some(true) => {
                let _cut = heard.field(rest);
            }
            _ if is_field(rest) => heard.field(rest)?,
            _ if heard.is_over() => {}
            _ => heard.whole(rest)?,
        }
        heard.forget_thoughts();
        Ok(heard)
    }

    /// Whether the server has said all that it wanted to.
    pub(crate) fn is_whole(&self) -> bool {
        self.done || self.finish.is_some()
    }

    /// Whether it ended because it became too long.
    pub(crate) fn is_cut(&self) -> bool {
        self.finish.as_deref() == Some("length")
    }

    fn is_over(&self) -> bool {
        self.done || self.error.is_some()
    }

    fn cut(&mut self) {
        self.finish = Some("length".to_owned());
        self.done = true;
    }

    /// A line of a stream of events.
    fn field(&mut self, line: &str) -> Result<(), ModelError> {
        let Some((name, value)) = line.split_once(':') else { return Ok(()) };
        let value = value.trim();
        // llama.cpp has told errors in a field of their own.
        if value.is_empty() || !matches!(name, "data" | "error") {
            return Ok(());
        }
        if value == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let value: Value = serde_json::from_str(value)
            .map_err(|_| ModelError::Unreadable(format!("a piece of its stream is {}", short(value))))?;
        if name == "error" {
            self.error = Some(value);
        } else {
            self.piece(&value);
        }
        Ok(())
    }

    /// A reply in one piece.
    fn whole(&mut self, body: &str) -> Result<(), ModelError> {
        if body.is_empty() {
            return Err(ModelError::Unreachable("the connection ended before a reply".to_owned()));
        }
        let value: Value = match serde_json::from_str(body) {
            Ok(value @ Value::Object(_)) => value,
            Err(e) if e.is_eof() => {
                return Err(ModelError::Unreachable(
                    "the connection ended in the middle of a reply".to_owned(),
                ));
            }
            _ => return Err(ModelError::Unreadable(format!("it says {}", short(body)))),
        };
        self.piece(&value);
        if self.error.is_none() && value.get("choices").is_none() {
            return Err(ModelError::Unreadable(format!("there is no reply in {}", short(body))));
        }
        // There is nothing more to come, whether it says so or not.
        self.done = true;
        Ok(())
    }

    fn piece(&mut self, value: &Value) {
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            self.error = Some(error.clone());
        }
        if let Some(model) = value.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
            let of = |name: &str| usage.get(name).and_then(Value::as_u64);
            if let (Some(read), Some(written)) = (of("prompt_tokens"), of("completion_tokens")) {
                self.usage = Some((read, written));
            }
        }
        let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) else { return };
        let said = choice.get("delta").or_else(|| choice.get("message"));
        let part = |name: &str| said.and_then(|said| said.get(name)).map(words).unwrap_or_default();
        let room = LONGEST.saturating_sub(self.text.len() + self.thought);
        // Who refuses says so in a field of its own: people are to see it.
        let more = part("content") + &part("refusal");
        let thought = part("reasoning_content").len().max(part("reasoning").len());
        self.thought += thought;
        self.text.push_str(more.get(..more.floor_char_boundary(room)).unwrap_or_default());
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        if more.len() + thought > room {
            self.cut();
        }
    }

    /// Thoughts that never came to an end are no reply.
    fn forget_thoughts(&mut self) {
        if self.text.trim_start().starts_with("<think>") && !self.text.contains("</think>") {
            self.thought += self.text.len();
            self.text.clear();
        }
    }
}

/// Whether a line is one of a stream of events.
fn is_field(line: &str) -> bool {
    ["data:", "event:", "id:", "retry:", "error:", ":"].iter().any(|field| line.starts_with(field))
}

/// A text, or the texts of a list of parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(body: &[u8]) -> Result<Heard, ModelError> {
        Heard::from(body, |e| ModelError::Unreachable(e.to_string()))
    }

    #[test]
    fn a_stream_is_put_together_whatever_comes_between() {
        let heard = hear(
            b": waiting\r\n\r\nevent: x\r\ndata: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\"\"}}]}\r\n\r\n\
              data:{\"choices\":[{\"delta\":{\"content\":\":1}\"},\"finish_reason\":\"stop\"}]}\n\n\
              data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\ndata: [DONE]\n\ndata: never",
        )
        .unwrap();
        assert_eq!(
            (heard.text.as_str(), heard.model.as_deref(), heard.usage),
            ("{\"a\":1}", Some("m"), Some((7, 5)))
        );
        assert!(heard.is_whole() && !heard.is_cut());
    }

    #[test]
    fn a_reply_in_one_piece_over_several_lines() {
        let heard = hear(
            b"\n{\"choices\": [\n{\"message\": {\"content\": [{\"type\":\"text\",\"text\":\"hello\"}]}}]}\n",
        )
        .unwrap();
        assert_eq!(heard.text, "hello");
        assert!(heard.is_whole());
    }

    #[test]
    fn thoughts_are_no_reply() {
        let heard = hear(b"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm { hm\"},\"finish_reason\":\"length\"}]}\n").unwrap();
        assert_eq!((heard.text.as_str(), heard.thought), ("", 7));
        let heard = hear(
            b"data: {\"choices\":[{\"delta\":{\"content\":\"<think>{ hm\"},\"finish_reason\":\"length\"}]}\n",
        )
        .unwrap();
        assert_eq!(heard.text, "");
        assert!(heard.is_cut());
    }

    #[test]
    fn what_is_longer_than_any_reply_is_cut_off() {
        let piece = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
            "\u{e9}".repeat(30_000)
        );
        let endless = std::io::Cursor::new(piece.into_bytes().repeat(200));
        let heard = Heard::from(endless, |e| ModelError::Unreachable(e.to_string())).unwrap();
        assert!(heard.is_cut() && heard.text.len() <= LONGEST, "{}", heard.text.len());
        assert!(hear(&vec![b' '; 3 * LONGEST]).is_ok_and(|heard| heard.is_cut()));
    }

    /// A connection can end anywhere, also in the middle of a letter.
    #[test]
    fn a_stream_that_is_cut_anywhere_is_never_taken_for_a_whole_reply() {
        let piece = |delta: &str, end: &str| {
            format!(
                "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{delta}\"}},\"finish_reason\":{end}}}]}}\n\n"
            )
        };
        let stream = piece("Zo\u{eb} ", "null")
            + &piece("\u{306f} here", "null")
            + &piece("", "\"stop\"")
            + "data: [DONE]\n\n";
        let mut whole = 0;
        for cut in 0..=stream.len() {
            let Ok(heard) = hear(&stream.as_bytes()[..cut]) else { continue };
            assert!("Zo\u{eb} \u{306f} here".starts_with(&heard.text), "{}", heard.text);
            assert!(!heard.is_whole() || heard.text == "Zo\u{eb} \u{306f} here", "{cut}");
            whole += usize::from(heard.is_whole());
        }
        assert!(whole > 0);
    }

    #[test]
    fn other_servers_are_told_from_models() {
        assert!(matches!(hear(b"<!doctype html>\n<p>Hello"), Err(ModelError::Unreadable(_))));
        assert!(matches!(hear(b"{\"hello\":1}"), Err(ModelError::Unreadable(_))));
        assert!(matches!(hear(b"data: <html>\n"), Err(ModelError::Unreadable(_))));
        assert!(matches!(hear(b""), Err(ModelError::Unreachable(_))));
        assert!(matches!(hear(b"{\"choices\":[{\"mess"), Err(ModelError::Unreachable(_))));
    }
}
