//! [`Entity`]: somebody or something that the story tells of, with what was learnt: an entry of the book.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::facts::{Brought, Learnt, Said};
use crate::key::Key;
use crate::schema::TYPES;

/// What an entity is known by in a line: what it is, and the name under which it first came up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntityId {
    /// What it is: character, location, …
    pub kind: String,
    /// Its name
    pub name: String,
}

impl EntityId {
    /// What an entry of this title is about; `None` if no entry of memory's is called like that.
    pub fn titled(title: &str) -> Option<Self> {
        let (kind, name) = title.split_once('-')?;
        let known = TYPES.contains(&kind) && !name.is_empty();
        known.then(|| Self { kind: kind.to_owned(), name: name.to_owned() })
    }

    /// The title of its entry.
    pub fn title(&self) -> String {
        format!("{}-{}", self.kind, self.name)
    }
}

/// Where a line of an entry comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// From what was learnt in scenes, by their numbers
    Scenes(Vec<usize>),
    /// From an answer that made the entry shorter, and the scenes before it
    Compaction(Key, Vec<usize>),
    /// From a person
    Hand,
    /// From another line of the story, where it was learnt
    Elsewhere,
}

/// One line of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it says
    pub text: String,
    /// What it is about, where a later one replaces it
    pub about: String,
    /// Who knows of it, where not everybody does
    pub known_to: Vec<String>,
    /// Where it comes from
    pub source: Source,
}

/// What a person decided about an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hold {
    /// Nothing
    #[default]
    Free,
    /// It stays as it is
    Locked,
    /// It is not wanted
    Deleted,
}

/// Somebody or something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// What it is known by
    pub id: EntityId,
    /// Other names
    pub aliases: Vec<String>,
    /// What was learnt, in order
    pub facts: Vec<Fact>,
    /// What a person decided about it
    pub hold: Hold,
    /// The scene it first came up in, by its number; none if a person made it
    pub since: Option<usize>,
}

impl Entity {
    pub(crate) fn new(id: EntityId, since: Option<usize>) -> Self {
        Self { id, aliases: Vec::new(), facts: Vec::new(), hold: Hold::Free, since }
    }

    /// Its entry's text.
    pub fn text(&self) -> String {
        self.facts.iter().map(Fact::line).collect::<Vec<_>>().join("\n")
    }

    /// The title of its entry.
    pub fn title(&self) -> String {
        self.id.title()
    }

    /// Words that bring its entry up, the name first: lower case, no more than ten.
    pub fn keywords(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let names = std::iter::once(&self.id.name).chain(&self.aliases).map(|name| name.to_lowercase());
        let short = names.filter(|name| name.chars().count() <= 32 && name.split_whitespace().count() <= 4);
        short.filter(|name| seen.insert(name.clone())).take(10).collect()
    }

    /// All names it goes by.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.id.name).chain(&self.aliases).map(String::as_str)
    }

    /// The scenes that its lines come from.
    pub fn scenes(&self) -> Vec<usize> {
        let mut scenes: Vec<usize> =
            self.facts.iter().flat_map(|fact| fact.source.scenes()).copied().collect();
        scenes.sort_unstable();
        scenes.dedup();
        scenes
    }

    /// It, for another line of the story.
    pub fn brought(&self) -> Brought {
        let (words, facts): (Vec<&Fact>, Vec<&Fact>) =
            self.facts.iter().partition(|fact| fact.source == Source::Hand);
        let said = |fact: &Fact| Said {
            text: fact.text.clone(),
            about: fact.about.clone(),
            known_to: fact.known_to.clone(),
        };
        Brought {
            aliases: self.aliases.clone(),
            text: words.into_iter().map(Fact::line).collect::<Vec<_>>().join("\n"),
            facts: facts.into_iter().map(said).collect(),
        }
    }

    /// Takes over what another line has learnt of it.
    pub(crate) fn take(&mut self, brought: &Brought) {
        self.also_called(brought.aliases.iter());
        if brought.text.is_empty() && brought.facts.is_empty() {
            return;
        }
        let learnt = brought.facts.iter().map(|said| Fact {
            text: said.text.clone(),
            about: said.about.clone(),
            known_to: said.known_to.clone(),
            source: Source::Elsewhere,
        });
        let words = Some(&brought.text).filter(|text| !text.is_empty()).map(|text| Fact::by_hand(text));
        self.facts = words.into_iter().chain(learnt).collect();
        if self.hold == Hold::Deleted {
            self.hold = Hold::Free;
        }
    }

    /// Adds names that are new.
    fn also_called<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        let own: HashSet<String> = self.names().map(normal).collect();
        let mut fresh: Vec<String> = Vec::new();
        for name in names {
            if !own.contains(&normal(name)) && !fresh.iter().any(|known| normal(known) == normal(name)) {
                fresh.push(name.clone());
            }
        }
        self.aliases.extend(fresh);
    }

    /// Adds what scene number `scene` tells of it: what it says already is not said twice, what is about the same takes the place of
    /// what was said before.
    pub(crate) fn learn(&mut self, learnt: &Learnt, scene: usize) {
        self.also_called(std::iter::once(&learnt.name).chain(&learnt.aliases));
        for said in &learnt.facts {
            let text = normal(&said.text);
            if let Some(known) = self.facts.iter_mut().find(|fact| normal(&fact.text) == text) {
                known.source.also(scene);
                continue;
            }
            let about = normal(&said.about);
            if !about.is_empty() {
                self.facts.retain(|fact| normal(&fact.about) != about);
            }
            self.facts.push(Fact {
                text: said.text.clone(),
                about: said.about.clone(),
                known_to: said.known_to.clone(),
                source: Source::Scenes(vec![scene]),
            });
        }
    }
}

impl Fact {
    pub(crate) fn by_hand(text: &str) -> Self {
        Self { text: text.to_owned(), about: String::new(), known_to: Vec::new(), source: Source::Hand }
    }

    /// As it stands in the entry.
    pub fn line(&self) -> String {
        if self.known_to.is_empty() {
            self.text.clone()
        } else {
            format!("{} (known to {})", self.text, self.known_to.join(", "))
        }
    }
}

impl Source {
    /// The scenes it rests on.
    pub fn scenes(&self) -> &[usize] {
        match self {
            Self::Scenes(scenes) | Self::Compaction(_, scenes) => scenes,
            Self::Hand | Self::Elsewhere => &[],
        }
    }

    fn also(&mut self, scene: usize) {
        if let Self::Scenes(scenes) = self
            && scenes.last() != Some(&scene)
        {
            scenes.push(scene);
        }
    }
}

/// A name or a line as it is compared: however it is written, and without what stands at its end.
pub(crate) fn normal(text: &str) -> String {
    let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let text = text.trim_end_matches(['.', '!', '。']);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a text as they are compared.
pub(crate) fn words(text: &str) -> HashSet<String> {
    normal(text).unicode_words().map(str::to_owned).collect()
}
