//! [`Reply`]: what a model said, once it has come through the gate: [`Reply::read`]. Whatever a reply says, nothing is done but what its
//! kind may do, with the names and numbers that were asked about.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::{Digest, Facts, Learnt, Said};
use crate::question::{Ask, Named, Question};
use crate::schema::TYPES;

/// Longest text of one line of a reply, in characters.
const LINE: usize = 800;
/// Longest name.
const NAME: usize = 80;
/// Longest recap as one text.
const TEXT: usize = 12_000;
/// Longest list.
const LIST: usize = 60;

/// An accepted reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The number of the message in the window that ends the scene, counted from 1; none
    Boundary(Option<usize>),
    /// What the scene tells
    Facts(Facts),
    /// For new names, the known name that each is
    Identity(Vec<(String, String)>),
    /// Several recaps as one
    Recap(Digest),
    /// The lines of a shorter entry
    Compaction(Vec<String>),
    /// A recap as one text
    Combined(String),
    /// The question was too long for every model that was asked: it is asked in parts
    TooLong,
}

/// Why a reply is not accepted, in words that a model understands as well: it is asked again with them.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum Refusal {
    /// There is no JSON object in it.
    #[error("the reply is not a JSON object")]
    NoObject,
    /// It ends in the middle.
    #[error("the reply was cut off before its end; say less")]
    Cut,
    /// Something is not of the shape that was asked for.
    #[error("the reply does not have the shape that was asked for: {0}")]
    Shape(String),
    /// A number that was not to choose from.
    #[error("\"ends_at\" is {0}, which is not one of the messages from #{1} to #{2}")]
    Range(i64, usize, usize),
    /// A name that was not asked about.
    #[error("\"{0}\" is not one of the names that were listed")]
    Name(String),
    /// It says nothing.
    #[error("\"{0}\" is empty")]
    Empty(&'static str),
    /// It says too much.
    #[error("\"{0}\" is too long")]
    TooMuch(&'static str),
}

impl Reply {
    /// Takes what a model said as the reply to a question, or says why not.
    pub fn read(question: &Question, said: &str) -> Result<Self, Refusal> {
        let value = object(said)?;
        match &question.ask {
            Ask::Boundary { from, to, forced, .. } => boundary(&value, *from, *to, *forced),
            Ask::Facts { .. } => facts(&value).map(Self::Facts),
            Ask::Identity { new, known, .. } => identity(&value, new, known).map(Self::Identity),
            Ask::Recap { .. } => digest(&value).map(Self::Recap),
            Ask::Compaction { lines: before, .. } => {
                let lines = texts(&value, "lines", LINE)?;
                let length = |lines: &[String]| lines.iter().map(String::len).sum::<usize>();
                if lines.is_empty() {
                    Err(Refusal::Empty("lines"))
                } else if length(&lines) > length(before) {
                    Err(Refusal::TooMuch("lines"))
                } else {
                    Ok(Self::Compaction(lines))
                }
            }
            Ask::Combined { .. } => {
                let text = value.get("recap").and_then(Value::as_str).ok_or_else(|| shape("recap"))?;
                match clean(text, true) {
                    text if text.is_empty() => Err(Refusal::Empty("recap")),
                    text if text.chars().count() > TEXT => Err(Refusal::TooMuch("recap")),
                    text => Ok(Self::Combined(text)),
                }
            }
        }
    }
}

/// The JSON object in a text: models put fences, thoughts and courtesies around it.
fn object(said: &str) -> Result<Value, Refusal> {
    let said = said.rsplit_once("</think>").map_or(said, |(_, after)| after);
    let start = said.find('{').ok_or(Refusal::NoObject)?;
    let text = said.get(start..).unwrap_or_default();
    // What follows the object is not looked at.
    match serde_json::Deserializer::from_str(text).into_iter::<Value>().next() {
        Some(Ok(value @ Value::Object(_))) => Ok(value),
        Some(Err(e)) if e.is_eof() => Err(Refusal::Cut),
        Some(Err(e)) => Err(Refusal::Shape(e.to_string())),
        _ => Err(Refusal::NoObject),
    }
}

fn boundary(value: &Value, from: usize, to: usize, forced: bool) -> Result<Reply, Refusal> {
    let ends_at = value.get("ends_at").and_then(Value::as_i64).ok_or_else(|| shape("ends_at"))?;
    match usize::try_from(ends_at) {
        Ok(0) if !forced => Ok(Reply::Boundary(None)),
        Ok(at) if (from..=to).contains(&at) => Ok(Reply::Boundary(Some(at))),
        _ => Err(Refusal::Range(ends_at, from, to)),
    }
}

fn facts(value: &Value) -> Result<Facts, Refusal> {
    let title = clean(value.get("title").and_then(Value::as_str).unwrap_or_default(), false);
    let learnt = list(value, "learnt")?.iter().map(learnt).collect::<Result<Vec<_>, _>>()?;
    let facts = Facts {
        title: title.chars().take(NAME).collect(),
        present: texts(value, "present", NAME)?,
        happened: texts(value, "happened", LINE)?,
        open: texts(value, "open", LINE)?,
        resolved: texts(value, "resolved", LINE)?,
        state: texts(value, "state", LINE)?,
        // Nothing is kept under no name.
        learnt: learnt
            .into_iter()
            .filter(|learnt| !learnt.name.is_empty() && !learnt.facts.is_empty())
            .collect(),
    };
    if facts.happened.is_empty() { Err(Refusal::Empty("happened")) } else { Ok(facts) }
}

fn learnt(value: &Value) -> Result<Learnt, Refusal> {
    let kind = value.get("type").and_then(Value::as_str).ok_or_else(|| shape("type"))?;
    let kind = TYPES.iter().find(|known| kind.trim().eq_ignore_ascii_case(known));
    let name = clean(value.get("name").and_then(Value::as_str).ok_or_else(|| shape("name"))?, false);
    if name.chars().count() > NAME {
        return Err(Refusal::TooMuch("name"));
    }
    let said = |value: &Value| {
        let text = match value {
            Value::String(text) => text,
            value => value.get("text").and_then(Value::as_str).ok_or_else(|| shape("facts"))?,
        };
        let about = clean(value.get("about").and_then(Value::as_str).unwrap_or_default(), false);
        let about = if about.chars().count() > NAME { String::new() } else { about };
        let known_to = if value.is_object() { texts(value, "known_to", NAME)? } else { Vec::new() };
        line(text, "facts").map(|text| Said { text, about, known_to })
    };
    let facts = list(value, "facts")?.iter().map(said).collect::<Result<Vec<_>, _>>()?;
    Ok(Learnt {
        kind: (*kind.ok_or_else(|| shape("type"))?).to_owned(),
        name,
        aliases: texts(value, "aliases", NAME)?,
        facts: facts.into_iter().filter(|said| !said.text.is_empty()).collect(),
    })
}

fn identity(value: &Value, new: &[Named], known: &[Named]) -> Result<Vec<(String, String)>, Refusal> {
    let mut told = HashSet::new();
    let mut same = Vec::new();
    for pair in list(value, "same")? {
        let part = |name| pair.get(name).and_then(Value::as_str).ok_or_else(|| shape(name));
        let (name, is) = (part("name")?, part("is")?.trim());
        let listed =
            |names: &[Named], name: &str| names.iter().find(|known| known.name == name.trim()).cloned();
        let name = listed(new, name).ok_or_else(|| Refusal::Name(name.to_owned()))?;
        if is.is_empty() || !told.insert(name.name.clone()) {
            continue;
        }
        let is = listed(known, is).ok_or_else(|| Refusal::Name(is.to_owned()))?;
        same.push((name.name, is.name));
    }
    same.sort();
    Ok(same)
}

fn digest(value: &Value) -> Result<Digest, Refusal> {
    let digest = Digest {
        developments: texts(value, "developments", LINE)?,
        open: texts(value, "open", LINE)?,
        resolved: texts(value, "resolved", LINE)?,
        state: texts(value, "state", LINE)?,
    };
    if digest.developments.is_empty() { Err(Refusal::Empty("developments")) } else { Ok(digest) }
}

fn list<'a>(value: &'a Value, name: &'static str) -> Result<&'a [Value], Refusal> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) if list.len() > LIST => Err(Refusal::TooMuch(name)),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(shape(name)),
    }
}

fn texts(value: &Value, name: &'static str, longest: usize) -> Result<Vec<String>, Refusal> {
    let texts = list(value, name)?.iter().map(|text| {
        let text = clean(text.as_str().ok_or_else(|| shape(name))?, false);
        if text.chars().count() > longest { Err(Refusal::TooMuch(name)) } else { Ok(text) }
    });
    texts.filter(|text| text.as_ref().map_or(true, |text| !text.is_empty())).collect()
}

fn line(text: &str, name: &'static str) -> Result<String, Refusal> {
    let text = clean(text, false);
    if text.chars().count() > LINE { Err(Refusal::TooMuch(name)) } else { Ok(text) }
}

/// A text without what no text of a recap has: control characters, and, in a line, line breaks. Braces that SillyTavern would fill with
/// something are parted, so that a reply cannot make it do anything.
fn clean(text: &str, lines: bool) -> String {
    let text: String = text
        .chars()
        .map(|c| if c == '\t' || (c == '\n' && !lines) || c == '\r' { ' ' } else { c })
        .filter(|c| !c.is_control() || *c == '\n')
        .collect();
    let text = text.replace("{{", "{ {").replace("}}", "} }");
    let text = text.trim();
    if lines { text.to_owned() } else { text.split_whitespace().collect::<Vec<_>>().join(" ") }
}

fn shape(name: &str) -> Refusal {
    Refusal::Shape(format!("\"{name}\" is missing, or is not what it should be"))
}
