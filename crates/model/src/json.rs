//! Looking at JSON in what a model said, before it is known what it should say.

use serde_json::Value;

/// Whether there is a JSON object in it from beginning to end. What follows it does not matter.
pub(crate) fn has_whole_object(said: &str) -> bool {
    let said = said.rsplit_once("</think>").map_or(said, |(_, after)| after);
    let Some(text) = said.find('{').and_then(|start| said.get(start..)) else { return false };
    matches!(serde_json::Deserializer::from_str(text).into_iter::<Value>().next(), Some(Ok(_)))
}

/// A text as one short line, for people.
pub(crate) fn short(text: &str) -> String {
    const LONGEST: usize = 300;
    let line = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}
