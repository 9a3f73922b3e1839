//! Sentences about a [`DiffReport`], for whoever shows it to people.

use super::DiffReport;

impl DiffReport {
    /// Where they part, in a sentence.
    pub fn parting(&self) -> String {
        let transcript = &self.transcript;
        let (after, one) = (transcript.after, self.a.chat == self.b.chat);
        let messages = |n: usize| format!("{n} message{}", if n == 1 { "" } else { "s" });
        let (more_a, more_b) = (messages(after.a), messages(after.b));
        let Some(common) = &transcript.common else {
            let swipe =
                if transcript.swipe { ": they begin with different swipes of one greeting" } else { "" };
            return format!("They have no message in common{swipe}.");
        };
        let place = if common.a == common.b {
            format!("message {}", common.a)
        } else {
            format!("message {} of A, which is {} of B", common.a, common.b)
        };
        let sure = match transcript.confidence {
            "certain" => "",
            "likely" => " That is likely, not certain.",
            _ => " That is a guess: few of the messages before it agree.",
        };
        let edits = match transcript.edits.len() {
            0 => String::new(),
            1 => format!(" Before it, something was edited or deleted since.{sure}"),
            n => format!(" Before it, {n} places were edited or deleted since.{sure}"),
        };
        match transcript.relation {
            "same" if one => "It is the same message.".to_owned(),
            "same" => format!("Both have the same messages, 0 to {}.", common.a),
            "edited" => format!("Both end with {place}.{edits}"),
            "ahead" if one => format!("B is {more_b} later."),
            "behind" if one => format!("B is {more_a} earlier."),
            "ahead" => format!("A ends with {place}; B goes on from there for {more_b}.{edits}"),
            "behind" => format!("B ends with {place}; A goes on from there for {more_a}.{edits}"),
            _ if transcript.swipe => format!(
                "They part after {place}: message {} is the same one with another swipe. A goes on for {more_a}, B for {}.",
                common.a + 1,
                after.b
            ),
            _ => format!("They part after {place}: A goes on for {more_a}, B for {}.{edits}", after.b),
        }
    }
}
