//! [`Prompts`]: the words in which questions are asked. Files in `prompts/`, each of which a vault can have another version of.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::key::Key;
use crate::kind::Kind;

/// What stands between what a model is told to do and what it is shown.
const DIVIDER: &str = "\n---\n";

/// The words for every kind of question.
#[derive(Debug, Clone)]
pub struct Prompts(BTreeMap<Kind, Prompt>);

#[derive(Debug, Clone)]
struct Prompt {
    system: Cow<'static, str>,
    user: Cow<'static, str>,
    key: Key,
}

/// A prompt that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PromptError {
    /// It is not in two parts.
    #[error(
        "the prompt \"{0}\" has no line \"---\": what stands above it tells the model what to do, what stands below shows it the story"
    )]
    Undivided(&'static str),
    /// It leaves out what the question is about.
    #[error(
        "the prompt \"{0}\" does not have {{{{{1}}}}} anywhere: the model would not see what it is asked about"
    )]
    Missing(&'static str, &'static str),
}

impl Default for Prompts {
    fn default() -> Self {
        Self(
            Kind::ALL
                .iter()
                .filter_map(|kind| Some((*kind, Prompt::read(*kind, Cow::Borrowed(built_in(*kind))).ok()?)))
                .collect(),
        )
    }
}

impl Prompts {
    /// The built-in words for a kind of question, to start from.
    pub fn built_in(kind: Kind) -> &'static str {
        built_in(kind)
    }

    /// Takes other words for a kind of question. All questions of that kind are new ones then.
    pub fn replace(&mut self, kind: Kind, text: String) -> Result<(), PromptError> {
        self.0.insert(kind, Prompt::read(kind, Cow::Owned(text))?);
        Ok(())
    }

    pub(crate) fn key(&self, kind: Kind) -> &Key {
        &self.0[&kind].key
    }

    /// The words with values in them. A value is put in once and not looked at again: `{{name}}` in a story stays what it is.
    pub(crate) fn fill(&self, kind: Kind, values: &[(&str, String)]) -> (String, String) {
        let prompt = &self.0[&kind];
        (fill(&prompt.system, values), fill(&prompt.user, values))
    }
}

impl Prompt {
    fn read(kind: Kind, text: Cow<'static, str>) -> Result<Self, PromptError> {
        let text = if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { text };
        let key = Key::of("prompt").text(&text).done();
        let (system, user) = text.split_once(DIVIDER).ok_or(PromptError::Undivided(kind.as_str()))?;
        if let Some(missing) = needed(kind).iter().find(|name| !text.contains(&format!("{{{{{name}}}}}"))) {
            return Err(PromptError::Missing(kind.as_str(), missing));
        }
        let (system, user) = (system.trim().to_owned(), user.trim().to_owned());
        Ok(Self { system: system.into(), user: user.into(), key })
    }
}

fn fill(text: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let value = after.split_once("}}").and_then(|(name, after)| {
            Some((&values.iter().find(|(known, _)| *known == name.trim())?.1, after))
        });
        match value {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// What a prompt of a kind has to show.
fn needed(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Boundary => &["messages", "from", "to"],
        Kind::Facts => &["messages"],
        Kind::Identity => &["new", "known"],
        Kind::Recap => &["parts"],
        Kind::Compaction => &["lines"],
        Kind::Combined => &["recap", "messages"],
    }
}

fn built_in(kind: Kind) -> &'static str {
    match kind {
        Kind::Boundary => include_str!("../prompts/boundary.md"),
        Kind::Facts => include_str!("../prompts/facts.md"),
        Kind::Identity => include_str!("../prompts/identity.md"),
        Kind::Recap => include_str!("../prompts/recap.md"),
        Kind::Compaction => include_str!("../prompts/compaction.md"),
        Kind::Combined => include_str!("../prompts/combined.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_words() {
        let prompts = Prompts::default();
        assert!(Kind::ALL.iter().all(|kind| prompts.0.contains_key(kind)));
    }

    #[test]
    fn what_a_story_says_is_not_taken_for_a_place() {
        let filled =
            fill("a {{messages}} b {{ to }} {{what}}", &[("messages", "{{to}}".into()), ("to", "7".into())]);
        assert_eq!(filled, "a {{to}} b 7 {{what}}");
    }

    #[test]
    fn a_prompt_without_the_story_is_refused() {
        let mut prompts = Prompts::default();
        assert_eq!(prompts.replace(Kind::Facts, "x".into()), Err(PromptError::Undivided("facts")));
        assert_eq!(
            prompts.replace(Kind::Facts, "x\n---\ny".into()),
            Err(PromptError::Missing("facts", "messages"))
        );
        assert_eq!(prompts.replace(Kind::Facts, "x\r\n---\r\n{{messages}}".into()), Ok(()));
    }
}
