//! Memory: how long it takes to tell what is missing, what is read for a scene, and what is asked again, against what a pipeline that rewrites
//! "now" asks for the same story; and whether what is told is in the line, with a model that answers by a script.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use forklore_memory::{
    Answer, Ground, Inputs, KnownAnswers, Line, Memory, Prompts, Provenance, Question, Reply, Settings,
    Utterance,
};
use forklore_testkit::{fixtures, model};
use serde_json::Value;

use super::{best, projection, target_dir};

/// Scenes of the story, and messages of a scene.
const SCENES: usize = 200;
const MESSAGES: usize = 24;
/// Scenes so far apart tell of the same people.
const PEOPLE: usize = 40;

/// Everything that was answered.
#[derive(Default)]
struct Desk {
    answers: KnownAnswers,
    /// The same, in the order in which they came
    all: Vec<Answer>,
    inputs: Inputs,
    settings: Settings,
    prompts: Prompts,
    questions: usize,
    tokens_in: usize,
}

impl Desk {
    fn memory(&self, line: &Line) -> Memory {
        let Self { answers, inputs, settings, prompts, .. } = self;
        Memory::of(Ground { line, answers, inputs, settings, prompts })
    }

    /// Asks until nothing is missing; how many questions that took.
    fn run(&mut self, line: &Line) -> Result<usize> {
        let before = self.questions;
        loop {
            let memory = self.memory(line);
            if memory.missing.is_empty() {
                return Ok(self.questions - before);
            }
            for question in &memory.missing {
                self.ask(line, question)?;
            }
        }
    }

    fn ask(&mut self, line: &Line, question: &Question) -> Result<()> {
        let request = question.request(line, &self.prompts);
        self.questions += 1;
        self.tokens_in += self.settings.tokens(request.system.len() + request.user.len());
        let said = model::reply(&request.schema, &request.user).to_string();
        let reply = Reply::read(question, &said).context("the scripted model is not understood")?;
        let part = question.messages().map_or_else(Vec::new, |part| line.part(part).to_vec());
        let messages = part.iter().map(Utterance::key).collect();
        let provenance = Provenance { messages, model: "script".to_owned(), ..Provenance::default() };
        let answer = Answer { key: question.key(), kind: question.kind(), reply, provenance };
        self.all.push(answer.clone());
        self.answers.add(answer);
        Ok(())
    }
}

pub(crate) fn bench() -> Result<()> {
    println!("\nMemory, {SCENES} scenes of {MESSAGES} messages:");
    let line: Line = (0..SCENES * MESSAGES).map(|i| said(i, "")).collect();
    let mut desk = Desk::default();
    let asked = desk.run(&line)?;
    let memory = desk.memory(&line);
    let whole = memory.standing.len();
    let ours = desk.tokens_in / whole.max(1);
    println!("  scenes found and remembered                  {whole:>8}, {asked} questions");
    told("telling that nothing is missing", time(|| desk.memory(&line).missing.len())?);
    projection::bench(&line, &desk.all)?;
    let edited: Line =
        (0..line.len()).map(|i| said(i, if i == line.len() / 2 { " And so it was." } else { "" })).collect();
    told("telling what is missing after an edit", time(|| desk.memory(&edited).missing.len())?);
    let theirs = rewritten(&line, &memory, &desk.settings);
    println!(
        "  tokens that are read for a scene             {ours:>8}, by a pipeline that rewrites {theirs} ({:.2} of it)",
        ours as f64 / theirs as f64
    );
    let after_edit = desk.run(&edited)?;
    let per_scene = asked as f64 / whole.max(1) as f64;
    println!(
        "  questions after an edit in the middle        {after_edit:>8}, redoing all that follows {:.0}",
        per_scene * whole as f64 / 2.0
    );
    println!("  questions after going back                   {:>8}", desk.run(&line)?);
    let fork: Line = (0..line.len() * 2 / 3).map(|i| said(i, "")).collect();
    println!("  questions after a fork at two thirds         {:>8}", desk.run(&fork)?);
    println!(
        "  names of recaps that are in the line so far, and recaps of later put earlier that are noticed by it:"
    );
    let demo = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
    let vault = demo.path().join("demo");
    forklore_demo::build(&vault)?;
    for (name, vault) in
        [("harbor", fixtures().join("harbor")), ("lantern", fixtures().join("lantern")), ("demo", vault)]
    {
        let (named, found, planted, flagged) = precision(&vault)?;
        println!("    {name:<42} {found:>8} of {named}, {flagged} of {planted}");
    }
    Ok(())
}

pub(super) fn told(what: &str, time: Duration) {
    println!("  {what:<44} {:>8.1} ms", time.as_secs_f64() * 1000.0);
}

pub(super) fn time(mut what: impl FnMut() -> usize) -> Result<Duration> {
    best(|| {
        let start = Instant::now();
        std::hint::black_box(what());
        Ok(start.elapsed())
    })
}

/// What is said in the story: about a thousand characters, now and then something worth remembering.
fn said(i: usize, more: &str) -> Utterance {
    let (scene, at) = (i / MESSAGES, i % MESSAGES);
    let name = format!("Person{}", (b'A' + u8::try_from(scene % PEOPLE % 26).unwrap_or(0)) as char);
    let name = if scene % PEOPLE < 26 { name } else { format!("{name}bel") };
    let talk = "the rain went on over the roofs and nobody said anything that mattered; ".repeat(13);
    let text = match at {
        0 if i > 0 => format!("Later they came upon {name} at the mill, and {talk}"),
        3 => format!("It is said that {name} lives in house {i}. And {talk}"),
        7 => format!("They say {name} owes {i} coins. And {talk}"),
        _ => format!("Nothing new: {talk} {i}"),
    };
    Utterance::new(if i.is_multiple_of(2) { "Mara" } else { "You" }, text + more)
}

/// Tokens that a pipeline reads for a scene that looks for its end at every reply, and rewrites the entries that a scene touches and the recap as a
/// whole: the steps of ST-Auto-Recap, with what each of them has to be shown and not a word of its instructions.
fn rewritten(line: &Line, memory: &Memory, settings: &Settings) -> usize {
    let mut bytes = 0;
    let text = |part: std::ops::Range<usize>| {
        line.part(part).iter().map(|m| m.text.len() + m.name.len()).sum::<usize>()
    };
    for (i, standing) in memory.standing.iter().enumerate() {
        let (start, end) = (standing.scene.messages.start, standing.scene.messages.end);
        // From the shortest scene on, at every other message, until eight more show that it is over.
        let looks = (start + 10..=end + 8).step_by(2);
        bytes += looks.map(|to| text(start..to)).sum::<usize>();
        let before = i.checked_sub(1).map(|before| &memory.standing[before]);
        let recap = before.map_or(0, |before| before.recap.text().len());
        let facts: usize = standing.facts.happened.iter().map(String::len).sum();
        bytes += text(start..end) + facts + (facts + recap) + (facts + recap);
        let registry: usize = standing.entities.iter().map(|entity| entity.title().len() + 140).sum();
        for entity in standing.entities.iter().filter(|entity| entity.scenes().contains(&i)) {
            // Whether it is active lore, who it is, and its entry as a whole.
            bytes += entity.text().len() * 2 + registry;
        }
    }
    settings.tokens(bytes) / memory.standing.len().max(1)
}

/// Of the recaps that a model once wrote of a vault's stories: names in them, and how many of them are in the line so far; recaps of two
/// scenes later, and how many of them tell a name that is not.
fn precision(vault: &Path) -> Result<(usize, usize, usize, usize)> {
    let (mut named, mut found, mut planted, mut flagged) = (0, 0, 0, 0);
    for folder in fs::read_dir(vault.join("chats"))? {
        for chat in fs::read_dir(folder?.path())? {
            let text = fs::read_to_string(chat?.path())?;
            let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let Some((header, said)) = lines.split_first() else { continue };
            let recaps = header["chat_metadata"]["auto_recap_running_scene_recaps"]["versions"].as_array();
            let recaps = recaps.map(Vec::as_slice).unwrap_or_default();
            let names_of = |recap: &Value| names(recap["content"].as_str().unwrap_or_default());
            for (i, recap) in recaps.iter().enumerate() {
                let last = recap["new_scene_index"].as_u64().and_then(|last| usize::try_from(last).ok());
                let so_far = said.iter().take(last.unwrap_or(0) + 1);
                let so_far = so_far.map(|message| format!("{} {}", message["name"], message["mes"]));
                let so_far = so_far.collect::<String>().to_lowercase();
                let is_there = |name: &String| so_far.contains(&name.to_lowercase());
                let told = names_of(recap);
                named += told.len();
                found += told.iter().filter(|name| is_there(name)).count();
                if let Some(later) = recaps.get(i + 2) {
                    let news: Vec<String> = names_of(later).difference(&told).cloned().collect();
                    planted += usize::from(!news.is_empty());
                    flagged += usize::from(news.iter().any(|name| !is_there(name)));
                }
            }
        }
    }
    Ok((named, found, planted, flagged))
}

/// Words that begin in upper case inside of a sentence.
fn names(text: &str) -> HashSet<String> {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ':' | ';' | '[' | ']' | '"' | '“' | '\n');
    let inside = text.split(ends).flat_map(|sentence| sentence.split_whitespace().skip(1));
    let words = inside.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    // "Mara's" is Mara.
    let words = words.map(|word| word.split(['\'', '’']).next().unwrap_or_default());
    let named = words.filter(|word| word.starts_with(char::is_uppercase) && word.chars().count() > 2);
    named.map(str::to_owned).collect()
}
