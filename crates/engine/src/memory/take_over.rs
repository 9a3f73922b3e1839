//! [`take_over`]: memory goes on from what another extension has kept of a chat. Its scenes end where they ended, and what it wrote of
//! them counts as answers: nothing is asked again, and nothing that it wrote becomes another text.

use std::collections::{BTreeMap, HashMap, HashSet};

use forklore_core::adapter::{self, Adapter, OWN};
use forklore_core::check::Code;
use forklore_core::format::book::EntryImage;
use forklore_core::format::chat::Message;
use forklore_memory::{
    Answer, Decision, Digest, EntityId, Facts, Ground, Kind, KnownAnswers, Learnt, Memory, Provenance,
    Question, Reply, Said, TYPES,
};
use forklore_vault::Library;

use super::answers::AnswerStore;
use super::error::MemoryError;
use super::survey::Survey;
use crate::check::check;
use crate::memory_record::{MemoryRecord, WrittenScene};

/// What all lines of an entry are about that another extension wrote as a whole: its next text takes the place of this one.
const WHOLE: &str = "(all that was written)";

/// What is taken over.
pub struct Taken {
    /// The record with it
    pub record: MemoryRecord,
    /// Answers that are known from now on
    pub answers: Vec<Answer>,
}

/// One scene as the extension left it.
struct TheirScene {
    last: usize,
    clock: i64,
    title: String,
    /// What it tells
    lines: Vec<String>,
    /// The entries of the book after it, if somebody wrote them down
    entries: Option<Vec<EntryImage>>,
}

/// Works out what there is to take over. Nothing is written.
pub fn take_over(library: &Library, survey: &Survey, answers: &AnswerStore) -> Result<Taken, MemoryError> {
    let chat = library.chat(survey.c);
    let none = || MemoryError::NobodyKeeps(chat.name().to_owned());
    let (name, _) = chat.book().ok_or_else(none)?;
    let book = library.open_book(name)?.ok_or_else(none)?;
    let keeper = book.keeper().ok_or_else(none)?;
    let findings = check(library, Some(survey.c), 0).findings;
    if let Some(finding) = findings.iter().find(|finding| finding.heals && finding.code != Code::LinkDangling)
    {
        return Err(MemoryError::Ill { chat: chat.name().to_owned(), why: finding.message.clone() });
    }
    let live = book.images();
    let mut scenes = scenes_of(library, survey)?;
    if scenes.is_empty() {
        scenes = memories(keeper, &live, chat.name(), survey.line.len());
    }
    let mut record = survey.record.clone();
    record.on = true;
    record.taken = Some(keeper.name().to_owned());
    record.inputs.breaks.extend(scenes.iter().map(|scene| scene.last));
    for version in keeper.running(chat.header().metadata()).map(|recap| recap.versions).unwrap_or_default() {
        if let Some(content) = version.content.filter(|content| !content.trim().is_empty()) {
            record.inputs.recaps.insert(version.scene, Digest::read(&content));
        }
    }
    // Two entries of one title: the first one is meant, the other stays as it is.
    let mut uids = BTreeMap::new();
    for (entry, uid) in live.iter().filter_map(|entry| Some((entry, entry.uid?))) {
        let list = TYPES.iter().any(|kind| OWN.list_title(kind) == *entry.comment);
        if list || EntityId::titled(&entry.comment).is_some() {
            uids.entry(entry.comment.to_string()).or_insert(uid);
        }
    }
    record.written = uids.keys().cloned().collect();
    record.uids.extend(uids);
    let told = learnt(&scenes, &live, survey.line.len().saturating_sub(1), &mut record);
    let mut taken = Taken { record, answers: Vec::new() };
    taken.answer(survey, answers, keeper.name(), &scenes, told);
    Ok(taken)
}

/// The scenes that messages are marked with.
fn scenes_of(library: &Library, survey: &Survey) -> Result<Vec<TheirScene>, MemoryError> {
    let mut scenes = Vec::new();
    for (at, scene) in library.chat(survey.c).facts().scenes.iter().filter(|(_, scene)| scene.is_real()) {
        let Some(line) = library.message_line(survey.c, *at)? else { continue };
        let Ok(message) = Message::parse(&line) else { continue };
        let text = adapter::scene_keeper(message).and_then(|keeper| keeper.recap_text(message));
        let sightings = adapter::scene(message).map(|(_, sightings)| sightings).unwrap_or_default();
        let chosen = sightings.iter().position(|sighting| sighting.version == scene.current);
        let entries = sightings.into_iter().nth(chosen.unwrap_or(0)).map(|sighting| sighting.entries);
        let version = scene.versions.iter().find(|version| version.number == scene.current);
        scenes.push(TheirScene {
            last: *at,
            clock: version.map_or(0, |version| version.clock),
            title: scene.name.clone().unwrap_or_default(),
            lines: text.unwrap_or_default().lines().map(str::to_owned).collect(),
            entries,
        });
    }
    Ok(scenes)
}

/// The memories that entries are, each of a stretch of messages. They stay entries of their own: of the scene, only their titles go
/// into recaps.
fn memories(keeper: &dyn Adapter, live: &[EntryImage], chat: &str, messages: usize) -> Vec<TheirScene> {
    let mut by_end: BTreeMap<usize, String> = BTreeMap::new();
    for entry in live {
        let theirs = keeper.chat_of(entry).is_none_or(|of| of == chat);
        let end = keeper.subject(entry).and_then(|(_, end)| usize::try_from(end).ok());
        if let Some(end) = end.filter(|end| theirs && *end < messages) {
            by_end.entry(end).or_insert_with(|| entry.comment.to_string());
        }
    }
    let scene = |(last, title): (usize, String)| TheirScene {
        last,
        clock: 0,
        lines: vec![title.clone()],
        title,
        entries: None,
    };
    by_end.into_iter().map(scene).collect()
}

/// What each scene told of whom, by what it changed in the book; what happened to entries besides is decided by a person's hand.
fn learnt(
    scenes: &[TheirScene],
    live: &[EntryImage],
    head: usize,
    record: &mut MemoryRecord,
) -> Vec<Vec<Learnt>> {
    let mut known: HashMap<EntityId, String> = HashMap::new();
    let mut gone: HashSet<EntityId> = HashSet::new();
    let mut told = Vec::new();
    let mut decide = |at: usize, id: &EntityId, decision: Decision| {
        record.inputs.entries.entry(at).or_default().push((id.clone(), decision));
    };
    let mut first = 0;
    for scene in scenes {
        let mut news = Vec::new();
        if let Some(entries) = &scene.entries {
            let now: Vec<(EntityId, &EntryImage)> = named(entries);
            for (id, entry) in &now {
                let content = entry.content();
                if known.get(id).is_none_or(|before| *before != *content) {
                    // Whoever was deleted and is there again is told of before the scene tells more.
                    if gone.remove(id) {
                        decide(first, id, Decision::Released);
                    }
                    known.insert(id.clone(), content.to_string());
                    news.push(as_learnt(id, entry));
                }
            }
            let there: HashSet<&EntityId> = now.iter().map(|(id, _)| id).collect();
            let missing: Vec<EntityId> = known.keys().filter(|id| !there.contains(id)).cloned().collect();
            for id in missing {
                decide(scene.last, &id, Decision::Deleted);
                known.remove(&id);
                gone.insert(id);
            }
        }
        told.push(news);
        first = scene.last + 1;
    }
    let now = named(live);
    for (id, entry) in &now {
        if known.get(id).is_none_or(|before| *before != *entry.content()) {
            decide(head, id, Decision::Text(entry.content().into_owned()));
        }
    }
    let there: HashSet<&EntityId> = now.iter().map(|(id, _)| id).collect();
    known.keys().filter(|id| !there.contains(id)).for_each(|id| decide(head, id, Decision::Deleted));
    told
}

/// Entries whose titles tell who or what they are about; of several, the first.
fn named(entries: &[EntryImage]) -> Vec<(EntityId, &EntryImage)> {
    let mut seen = HashSet::new();
    let named = entries.iter().filter_map(|entry| Some((EntityId::titled(&entry.comment)?, entry)));
    named.filter(|(id, entry)| !entry.content().is_empty() && seen.insert(id.clone())).collect()
}

fn as_learnt(id: &EntityId, entry: &EntryImage) -> Learnt {
    let keys = entry.raw().get("key").unwrap_or(forklore_json::Raw::NULL).elements();
    let keys = keys.filter_map(|key| key.as_text().map(std::borrow::Cow::into_owned));
    let said = Said { text: entry.content().into_owned(), about: WHOLE.to_owned(), known_to: Vec::new() };
    Learnt {
        kind: id.kind.clone(),
        name: id.name.clone(),
        aliases: keys.filter(|key| !key.trim().is_empty()).collect(),
        facts: vec![said],
    }
}

impl Taken {
    /// Answers everything that is asked about the scenes that were taken over.
    fn answer(
        &mut self,
        survey: &Survey,
        answers: &AnswerStore,
        keeper: &str,
        scenes: &[TheirScene],
        told: Vec<Vec<Learnt>>,
    ) {
        let mut known = answers.known().clone();
        let provenance = Provenance { model: keeper.to_owned(), ..Provenance::default() };
        let mut memory = self.compute(survey, &known);
        for (i, (scene, learnt)) in scenes.iter().zip(told).enumerate() {
            let facts = Facts {
                title: scene.title.clone(),
                happened: scene.lines.clone(),
                learnt,
                ..Facts::default()
            };
            let ground = ground(survey, &self.record, &known);
            if let Some(question) = memory.facts_of(ground, i) {
                self.add(survey, &mut known, &question, Reply::Facts(facts), &provenance);
            }
        }
        // What is asked then shows itself step by step; what is about messages after their last scene is nobody's answer.
        loop {
            memory = self.compute(survey, &known);
            let missing = memory.missing.iter().filter_map(|question| {
                let reply = match question.kind() {
                    // Whoever has an entry of their own is somebody of their own.
                    Kind::Identity if within(question, scenes) => Reply::Identity(Vec::new()),
                    Kind::Recap => Reply::Recap(question.joined()?),
                    _ => return None,
                };
                Some((question.clone(), reply))
            });
            let missing: Vec<(Question, Reply)> = missing.collect();
            if missing.is_empty() {
                break;
            }
            for (question, reply) in missing {
                self.add(survey, &mut known, &question, reply, &provenance);
            }
        }
        let written = memory.standing.iter().zip(scenes).map(|(standing, scene)| WrittenScene {
            last: scene.last,
            clock: scene.clock,
            keys: standing.rests_on.clone(),
            taken: true,
        });
        self.record.scenes = written.collect();
        self.record.free = self.record.free.map(|_| self.record.scenes.len());
        self.record.head = survey.line.len().saturating_sub(1);
    }

    fn compute(&self, survey: &Survey, known: &KnownAnswers) -> Memory {
        Memory::of(ground(survey, &self.record, known))
    }

    fn add(
        &mut self,
        survey: &Survey,
        known: &mut KnownAnswers,
        question: &Question,
        reply: Reply,
        provenance: &Provenance,
    ) {
        // What a model has answered stays an answer; it is only not the one that counts.
        let variants = u32::try_from(known.variants(&question.key())).unwrap_or(0);
        if variants > 0 {
            self.record.inputs.variants.insert(question.key(), variants);
        }
        let answer = survey.answer(question, reply, provenance.clone());
        known.add(answer.clone());
        self.answers.push(answer);
    }
}

fn ground<'a>(survey: &'a Survey, record: &'a MemoryRecord, known: &'a KnownAnswers) -> Ground<'a> {
    Ground {
        line: &survey.line,
        answers: known,
        inputs: &record.inputs,
        settings: &survey.ways.settings,
        prompts: &survey.ways.prompts,
    }
}

/// Whether a question is about messages of scenes that were taken over.
fn within(question: &Question, scenes: &[TheirScene]) -> bool {
    let last = scenes.last().map(|scene| scene.last);
    question.messages().zip(last).is_some_and(|(part, last)| part.end <= last + 1)
}
