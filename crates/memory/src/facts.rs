//! [`Facts`]: what happened in a scene and what was learnt of whom; [`Digest`]: the part of it that a recap is made of.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// What one scene tells, and nothing of what was before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// What the scene is called
    pub title: String,
    /// Who was there
    pub present: Vec<String>,
    /// What happened, in order
    pub happened: Vec<String>,
    /// What is left open
    pub open: Vec<String>,
    /// What was settled
    pub resolved: Vec<String>,
    /// How things stand at its end
    pub state: Vec<String>,
    /// What was learnt
    pub learnt: Vec<Learnt>,
}

/// What was learnt of somebody or something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learnt {
    /// What it is: character, location, item, faction, lore, event, document, rule
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name, as the scene has it
    pub name: String,
    /// Other names that the scene has for it
    pub aliases: Vec<String>,
    /// What was said of it
    pub facts: Vec<Said>,
}

/// One thing that was said of something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    /// What
    pub text: String,
    /// What it is about, where a later one would replace it: "home", "rank", "wound"
    pub about: String,
    /// Who knows of it, where not everybody does
    pub known_to: Vec<String>,
}

/// What another line has learnt of somebody or something. Where nothing is said, it is only the names that are taken over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brought {
    /// Other names
    pub aliases: Vec<String>,
    /// What a person wrote there: it comes first, and nobody makes it shorter
    pub text: String,
    /// What was learnt there
    pub facts: Vec<Said>,
}

/// What a recap is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Digest {
    /// What happened, in order
    pub developments: Vec<String>,
    /// What is left open
    pub open: Vec<String>,
    /// What was settled of what had been open before
    pub resolved: Vec<String>,
    /// How things stand
    pub state: Vec<String>,
}

impl Facts {
    /// The facts of a scene that was asked about in parts.
    pub(crate) fn and(mut self, later: Self) -> Self {
        if self.title.is_empty() {
            self.title = later.title;
        }
        let mut known: HashSet<String> = self.present.iter().cloned().collect();
        self.present.extend(later.present.into_iter().filter(|name| known.insert(name.clone())));
        self.happened.extend(later.happened);
        self.open.retain(|open| !later.resolved.contains(open));
        self.open.extend(later.open);
        self.resolved.extend(later.resolved);
        if !later.state.is_empty() {
            self.state = later.state;
        }
        self.learnt.extend(later.learnt);
        self
    }

    /// What of them goes into recaps.
    pub fn digest(&self) -> Digest {
        Digest {
            developments: self.happened.clone(),
            open: self.open.clone(),
            resolved: self.resolved.clone(),
            state: self.state.clone(),
        }
    }
}

impl Digest {
    /// The digest of what came first and of what came then, one after the other.
    pub(crate) fn and(mut self, later: &Self) -> Self {
        self.developments.extend_from_slice(&later.developments);
        self.open.retain(|open| !later.resolved.contains(open));
        let fresh: Vec<String> =
            later.open.iter().filter(|open| !self.open.contains(open)).cloned().collect();
        self.open.extend(fresh);
        if !later.state.is_empty() {
            self.state.clone_from(&later.state);
        }
        self.resolved.extend_from_slice(&later.resolved);
        self
    }

    /// Its texts, in order, each list with its name.
    pub(crate) fn lists(&self) -> [(&'static str, &[String]); 4] {
        [
            ("developments", &self.developments),
            ("open", &self.open),
            ("resolved", &self.resolved),
            ("state", &self.state),
        ]
    }

    /// As people and models read it.
    pub fn text(&self) -> String {
        let sections = [("DEVELOPMENTS", &self.developments), ("OPEN", &self.open), ("STATE", &self.state)];
        let told = sections.iter().filter(|(_, lines)| !lines.is_empty());
        told.map(|(name, lines)| format!("{name}:\n{}", lines.join("\n"))).collect::<Vec<_>>().join("\n\n")
    }
}
