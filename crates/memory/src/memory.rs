//! [`Memory`]: what is remembered after every scene of a line, and what has to be asked to remember the rest.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::boundary::{Ended, Scene, scenes};
use crate::entity::{Entity, EntityId};
use crate::facts::{Digest, Facts};
use crate::fold::Entities;
use crate::ground::Ground;
use crate::identity::KnownNames;
use crate::key::Key;
use crate::question::{Ask, Question};
use crate::recap::RecapTree;
use crate::reply::Reply;

/// What is remembered after a scene.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The scene
    pub scene: Scene,
    /// What it tells
    pub facts: Arc<Facts>,
    /// Everybody and everything that the story has told of until then, in the order in which they came up
    pub entities: Vec<Arc<Entity>>,
    /// The recap up to its end
    pub recap: Digest,
    /// The questions whose answers are new with this scene: what it rests on, besides the scenes before it
    pub rests_on: Vec<Key>,
}

/// What is remembered of a line.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// All scenes that are over
    pub scenes: Vec<Scene>,
    /// What is remembered after each of them, as far as nothing is missing
    pub standing: Vec<Standing>,
    /// What has to be asked next. Some questions only show themselves when these are answered.
    pub missing: Vec<Question>,
    /// Everybody and everything at the end of the line, with what was decided after its last scene
    pub entities: Vec<Arc<Entity>>,
}

impl Memory {
    /// Computes it.
    pub fn of(ground: Ground<'_>) -> Self {
        let (scenes, next) = scenes(ground);
        let mut memory = Self { scenes, ..Self::default() };
        let mut works = Works::new(ground);
        let told: Vec<Option<Told>> = memory.scenes.iter().map(|scene| works.facts(scene)).collect();
        let same = works.identities(&memory.scenes, &told);
        memory.fold(&mut works, told, same);
        // What is over is read before it is looked where the next scene ends: so something is remembered early.
        memory.missing.append(&mut works.missing);
        memory.missing.extend(next);
        memory
    }

    /// The first message that belongs to no scene yet.
    pub fn open(&self) -> usize {
        self.scenes.last().map_or(0, |scene| scene.messages.end)
    }

    /// The recap of the line up to its last scene that is remembered.
    pub fn recap(&self) -> Digest {
        self.standing.last().map(|standing| standing.recap.clone()).unwrap_or_default()
    }

    /// The question what a scene tells, by its number: the one that is asked about it as a whole.
    pub fn facts_of(&self, ground: Ground<'_>, scene: usize) -> Option<Question> {
        let part = self.scenes.get(scene)?.messages.clone();
        Some(ground.question(Ask::Facts { part }))
    }

    /// The scene that a message is in, by its number.
    pub fn scene_of(&self, message: usize) -> Option<usize> {
        self.scenes.iter().position(|scene| scene.messages.contains(&message))
    }

    /// Whether it is known what a part of the line tells, as one scene.
    pub fn is_told(ground: Ground<'_>, messages: Range<usize>) -> bool {
        let mut works = Works::new(ground);
        works.facts(&Scene { messages, ended: Ended::TooLong }).is_some()
    }

    /// The question for a recap as one text, which goes up to the end of the line.
    pub fn combined(&self, ground: Ground<'_>) -> Question {
        let since = self.standing.last().map_or(0, |standing| standing.scene.messages.end)..ground.line.len();
        ground.question(Ask::Combined { so_far: Arc::new(self.recap()), since })
    }

    /// Goes through the scenes in order, as far as everything is known.
    fn fold(&mut self, works: &mut Works<'_>, told: Vec<Option<Told>>, same: Vec<Option<Same>>) {
        let mut entities = Entities::default();
        let mut tree = RecapTree::default();
        let mut decisions = works.ground.inputs.entries.iter().peekable();
        for (number, (scene, (told, same))) in self.scenes.iter().zip(told.into_iter().zip(same)).enumerate()
        {
            let (Some(told), Some(same)) = (told, same) else { break };
            // What was decided before the scene was over counts before what it tells.
            while let Some((_, decided)) = decisions.next_if(|(at, _)| **at < scene.last()) {
                decided.iter().for_each(|(id, decision)| entities.decide(id, decision));
            }
            let mut rests_on = told.keys;
            rests_on.extend(same.key);
            for i in entities.learn(&told.facts, &same.pairs, number) {
                rests_on.extend(works.shorten(&mut entities, i));
            }
            while let Some((_, decided)) = decisions.next_if(|(at, _)| **at == scene.last()) {
                decided.iter().for_each(|(id, decision)| entities.decide(id, decision));
            }
            tree.push(told.facts.digest(), |ask| {
                let (key, reply) = works.ask(ask)?;
                let Reply::Recap(digest) = reply else { return None };
                rests_on.push(key);
                Some(digest.clone())
            });
            if let Some(recap) = works.ground.inputs.recaps.get(&scene.last()) {
                tree.say(recap.clone());
            }
            self.standing.push(Standing {
                scene: scene.clone(),
                facts: Arc::new(told.facts),
                entities: entities.all().to_vec(),
                recap: tree.digest(),
                rests_on,
            });
        }
        decisions.flat_map(|(_, decided)| decided).for_each(|(id, decision)| entities.decide(id, decision));
        self.entities = entities.all().to_vec();
    }
}

/// What a scene tells, and which answers say so.
struct Told {
    facts: Facts,
    keys: Vec<Key>,
}

/// Which new names of a scene are known ones, and which answer says so.
#[derive(Default)]
struct Same {
    pairs: Vec<(String, String)>,
    key: Option<Key>,
}

/// Looks answers up, and remembers which are missing.
struct Works<'a> {
    ground: Ground<'a>,
    missing: Vec<Question>,
    asked: HashSet<Key>,
    /// Entities that are waiting to be made shorter. What they become later is not known before that.
    growing: HashSet<EntityId>,
}

impl<'a> Works<'a> {
    fn new(ground: Ground<'a>) -> Self {
        Self { ground, missing: Vec::new(), asked: HashSet::new(), growing: HashSet::new() }
    }

    /// The answer to a question; if there is none, it is missing.
    fn ask(&mut self, ask: Ask) -> Option<(Key, &'a Reply)> {
        let question = self.ground.question(ask);
        if let Some(answer) = self.ground.answer(&question) {
            return Some((answer.key, &answer.reply));
        }
        if self.asked.insert(question.key()) {
            self.missing.push(question);
        }
        None
    }

    /// What a scene tells: asked in one, or in two halves where it was too long, and so on.
    fn facts(&mut self, scene: &Scene) -> Option<Told> {
        let mut told: Option<Told> = Some(Told { facts: Facts::default(), keys: Vec::new() });
        let mut parts = vec![scene.messages.clone()];
        while let Some(part) = parts.pop() {
            match self.ask(Ask::Facts { part: part.clone() }) {
                Some((key, Reply::Facts(facts))) => {
                    told = told.map(|mut told| {
                        told.facts = told.facts.and(facts.clone());
                        told.keys.push(key);
                        told
                    });
                }
                // One message that no model can read tells nothing.
                Some((_, Reply::TooLong)) if part.len() > 1 => {
                    let middle = part.start + part.len() / 2;
                    parts.push(middle..part.end);
                    parts.push(part.start..middle);
                }
                Some(_) => {}
                None => told = None,
            }
        }
        told
    }

    /// Which names are known ones, scene by scene. It is not asked before everything that came up earlier is known.
    fn identities(&mut self, scenes: &[Scene], told: &[Option<Told>]) -> Vec<Option<Same>> {
        let mut known = KnownNames::default();
        let mut same = Vec::with_capacity(scenes.len());
        for (scene, told) in scenes.iter().zip(told) {
            let Some(told) = told else { break };
            same.push(match known.ask(self.ground.line, &scene.messages, &told.facts) {
                None => Some(Same::default()),
                Some(ask) => match self.ask(ask) {
                    Some((key, Reply::Identity(pairs))) => {
                        Some(Same { pairs: pairs.clone(), key: Some(key) })
                    }
                    // Names that cannot be asked about are new ones.
                    Some(_) => Some(Same::default()),
                    None => None,
                },
            });
            known.add(&told.facts);
        }
        same.resize_with(scenes.len(), || None);
        same
    }

    /// Makes an entity shorter if it has grown too long and somebody has said how.
    fn shorten(&mut self, entities: &mut Entities, i: usize) -> Option<Key> {
        let settings = self.ground.settings;
        let ask = entities.too_long(i, |bytes| settings.tokens(bytes), settings.entry_tokens)?;
        let id = entities.all()[i].id.clone();
        if self.growing.contains(&id) {
            return None;
        }
        match self.ask(ask) {
            Some((key, Reply::Compaction(lines))) => {
                entities.compact(i, lines, key);
                Some(key)
            }
            Some(_) => None,
            None => {
                self.growing.insert(id);
                None
            }
        }
    }
}
