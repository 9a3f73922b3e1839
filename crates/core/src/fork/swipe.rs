//! [`show`]: a message with another of its swipes shown, as SillyTavern does when the user swipes.

use forklore_json::{PathPart, Raw};

/// The line of a message with swipe `k` shown; `None` if it has no such swipe. All swipes stay in it.
pub fn show(message: Raw<'_>, k: usize) -> Option<Vec<u8>> {
    let text = message.get("swipes")?.elements().nth(k)?;
    let info = message.get("swipe_info").unwrap_or(Raw::NULL).elements().nth(k).unwrap_or(Raw::NULL);
    let mut line = message.bytes().to_vec();
    let mut set = |key: &str, value: &[u8]| {
        // The message has swipes, so it is an object, and every key has a place in it.
        if let Ok(splice) = forklore_json::set(Raw::trust(&line), &[PathPart::Key(key)], value) {
            line = splice.apply(&line);
        }
    };
    set("mes", text.bytes());
    set("swipe_id", k.to_string().as_bytes());
    // What belongs to a swipe travels with it, recaps and links included.
    for key in ["send_date", "gen_started", "gen_finished", "extra"] {
        if let Some(value) = info.get(key) {
            set(key, value.bytes());
        }
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_belongs_to_the_swipe_and_keeps_the_rest() {
        let line = br#"{"mes":"a","swipes":["a","b"],"swipe_id":0,"send_date":"1","extra":{"x":1},"swipe_info":[{},{"send_date":"2","extra":{"y":9007199254740993}}],"odd":1e400}"#;
        let shown = show(Raw::parse(line).unwrap(), 1).unwrap();
        let wanted = r#"{"mes":"b","swipes":["a","b"],"swipe_id":1,"send_date":"2","extra":{"y":9007199254740993},"swipe_info":[{},{"send_date":"2","extra":{"y":9007199254740993}}],"odd":1e400}"#;
        assert_eq!(String::from_utf8(shown).unwrap(), wanted);
        assert_eq!(show(Raw::parse(line).unwrap(), 2), None);
        assert_eq!(show(Raw::parse(b"{\"mes\":1}").unwrap(), 0), None);
    }
}
