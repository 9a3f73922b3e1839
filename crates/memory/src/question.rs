//! [`Question`]: one thing that a model is asked, known by everything it depends on; [`Request`]: the same in words; [`Again`]: why it is
//! asked once more.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::facts::Digest;
use crate::inputs::Settings;
use crate::key::Key;
use crate::kind::Kind;
use crate::line::Line;
use crate::prompt::Prompts;
use crate::schema;

/// A name with what it is the name of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Named {
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// What exactly is asked.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// Whether one of the messages from the `from`-th to the `to`-th of the window, counted from 1, ends a scene; one of them must if
    /// it is `forced`
    Boundary {
        window: Range<usize>,
        from: usize,
        to: usize,
        forced: bool,
    },
    Facts {
        part: Range<usize>,
    },
    Identity {
        scene: Range<usize>,
        new: Vec<Named>,
        known: Vec<Named>,
    },
    Recap {
        parts: Vec<Arc<Digest>>,
    },
    Compaction {
        entry: Named,
        lines: Vec<String>,
        tokens: usize,
    },
    Combined {
        so_far: Arc<Digest>,
        since: Range<usize>,
    },
}

/// A question that was not answered yet, or that an answer is looked up for.
#[derive(Debug, Clone)]
pub struct Question {
    key: Key,
    pub(crate) ask: Ask,
    language: String,
}

/// A question in words, for any model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What the model is told to do
    pub system: String,
    /// What it is shown
    pub user: String,
    /// The shape of the reply, without lengths: servers are slow with them, or wrong
    pub schema: Value,
    /// About how many tokens the reply may have
    pub reply_tokens: usize,
}

/// A reply that was refused. The model is shown it, and told why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// What it said
    pub said: String,
    /// Why that is not accepted
    pub why: String,
}

/// How much of a refused reply is shown to the model, in bytes.
const SHOWN: usize = 8000;

impl Again {
    /// What was said and refused. One that said nothing has nothing to be shown.
    pub fn new(said: &str, why: impl Into<String>) -> Option<Self> {
        let shown = said.get(..said.floor_char_boundary(SHOWN)).unwrap_or_default();
        (!said.trim().is_empty()).then(|| Self { said: shown.to_owned(), why: why.into() })
    }
}

impl Request {
    /// What is sent, one after the other: who says it (`system`, `user`, `assistant`), and what.
    pub fn messages(&self, again: Option<&Again>) -> Vec<(&'static str, String)> {
        let mut messages = vec![("system", self.system.clone()), ("user", self.user.clone())];
        if let Some(Again { said, why }) = again {
            messages.push(("assistant", said.clone()));
            let why = format!("That cannot be used: {why}. Reply once more, with the JSON alone.");
            messages.push(("user", why));
        }
        messages
    }
}

impl Question {
    pub(crate) fn new(ask: Ask, line: &Line, prompts: &Prompts, settings: &Settings) -> Self {
        let kind = ask.kind();
        let mut key = Key::of("question");
        key.text(kind.as_str()).key(prompts.key(kind)).text(schema::VERSION).text(&settings.language);
        ask.hash(&mut key, line);
        Self { key: key.done(), ask, language: settings.language.clone() }
    }

    /// What it is known by.
    pub fn key(&self) -> Key {
        self.key
    }

    /// What kind it is of.
    pub fn kind(&self) -> Kind {
        self.ask.kind()
    }

    /// The messages whose text is shown.
    pub fn messages(&self) -> Option<Range<usize>> {
        match &self.ask {
            Ask::Boundary { window, .. } => Some(window.clone()),
            Ask::Facts { part } => Some(part.clone()),
            Ask::Identity { scene, .. } => Some(scene.clone()),
            Ask::Combined { since, .. } => Some(since.clone()),
            Ask::Recap { .. } | Ask::Compaction { .. } => None,
        }
    }

    /// What it would be asked to make one of, side by side: longer than any answer, and not wrong.
    pub fn joined(&self) -> Option<Digest> {
        let Ask::Recap { parts } = &self.ask else { return None };
        Some(parts.iter().fold(Digest::default(), |all, part| all.and(part)))
    }

    /// The names that it is about, where it is about which of them are the same: new ones, and known ones.
    pub fn names(&self) -> Option<(Vec<&str>, Vec<&str>)> {
        let Ask::Identity { new, known, .. } = &self.ask else { return None };
        Some((of(new), of(known)))
    }

    /// The same in words. The same question has the same words, always: only what is in the key is in them.
    pub fn request(&self, line: &Line, prompts: &Prompts) -> Request {
        let mut values: Vec<(&str, String)> = vec![("language", self.tongue())];
        match &self.ask {
            Ask::Boundary { window, from, to, forced } => {
                values.push(("messages", line.told(window.clone())));
                values.push(("from", from.to_string()));
                values.push(("to", to.to_string()));
                let none =
                    if *forced { "One of them must be chosen." } else { "If none of them does, answer 0." };
                values.push(("none", none.to_owned()));
            }
            Ask::Facts { part } => values.push(("messages", line.told(part.clone()))),
            Ask::Identity { scene, new, known } => {
                values.push(("messages", line.told(scene.clone())));
                values.push(("new", list(new)));
                values.push(("known", list(known)));
            }
            Ask::Recap { parts } => {
                let told = parts.iter().enumerate().map(|(i, part)| told(i + 1, part));
                values.push(("parts", told.collect::<Vec<_>>().join("\n\n")));
            }
            Ask::Compaction { entry, lines, tokens } => {
                values.push(("name", entry.name.clone()));
                values.push(("type", entry.kind.clone()));
                values.push(("tokens", tokens.to_string()));
                values.push((
                    "lines",
                    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n"),
                ));
            }
            Ask::Combined { so_far, since } => {
                values.push(("recap", so_far.text()));
                values.push(("messages", line.told(since.clone())));
            }
        }
        let (system, user) = prompts.fill(self.kind(), &values);
        Request { system, user, schema: schema::of(self.kind()), reply_tokens: self.reply_tokens() }
    }

    /// About how many tokens are read and written for it.
    pub fn tokens(&self, line: &Line, prompts: &Prompts, settings: &Settings) -> (usize, usize) {
        let request = self.request(line, prompts);
        (settings.tokens(request.system.len() + request.user.len()), self.reply_tokens() / 3)
    }

    fn reply_tokens(&self) -> usize {
        match self.kind() {
            Kind::Boundary => 300,
            Kind::Facts => 3000,
            Kind::Identity => 800,
            Kind::Recap | Kind::Combined => 1500,
            Kind::Compaction => 1000,
        }
    }

    fn tongue(&self) -> String {
        if self.language.is_empty() { "the language of the story".to_owned() } else { self.language.clone() }
    }
}

impl Ask {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Boundary { .. } => Kind::Boundary,
            Self::Facts { .. } => Kind::Facts,
            Self::Identity { .. } => Kind::Identity,
            Self::Recap { .. } => Kind::Recap,
            Self::Compaction { .. } => Kind::Compaction,
            Self::Combined { .. } => Kind::Combined,
        }
    }

    /// Everything that the words of the question are made of. Where in the chat its messages stand is not among it.
    fn hash(&self, key: &mut crate::key::Hasher, line: &Line) {
        let messages = |key: &mut crate::key::Hasher, part: &Range<usize>| {
            let keys = line.keys(part.clone());
            key.number(keys.len());
            keys.for_each(|message| {
                key.key(&message);
            });
        };
        match self {
            Self::Boundary { window, from, to, forced } => {
                messages(key, window);
                key.number(*from).number(*to).number(usize::from(*forced));
            }
            Self::Facts { part } => messages(key, part),
            Self::Identity { scene, new, known } => {
                messages(key, scene);
                for names in [new, known] {
                    key.number(names.len());
                    names.iter().for_each(|named| {
                        key.text(&named.kind).text(&named.name);
                    });
                }
            }
            Self::Recap { parts } => {
                key.number(parts.len());
                parts.iter().for_each(|part| hash_digest(key, part));
            }
            Self::Compaction { entry, lines, tokens } => {
                key.text(&entry.kind).text(&entry.name).number(*tokens);
                key.all(lines.iter().map(String::as_str));
            }
            Self::Combined { so_far, since } => {
                hash_digest(key, so_far);
                messages(key, since);
            }
        }
    }
}

fn hash_digest(key: &mut crate::key::Hasher, digest: &Digest) {
    digest.lists().iter().for_each(|(_, lines)| {
        key.all(lines.iter().map(String::as_str));
    });
}

fn of(names: &[Named]) -> Vec<&str> {
    names.iter().map(|named| named.name.as_str()).collect()
}

fn list(names: &[Named]) -> String {
    names.iter().map(|named| format!("- {} ({})", named.name, named.kind)).collect::<Vec<_>>().join("\n")
}

fn told(number: usize, part: &Digest) -> String {
    let lists = part.lists();
    let lists = lists.iter().filter(|(_, lines)| !lines.is_empty());
    let lists = lists.map(|(name, lines)| {
        format!("{name}:\n{}", lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n"))
    });
    format!("## Part {number}\n{}", lists.collect::<Vec<_>>().join("\n"))
}
