//! What is remembered, as it is written into a chat and its lorebook: how long it takes to work that out, and to write it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use forklore_engine::memory::{AnswerStore, Survey, projection, survey};
use forklore_fs::{RealFs, Vfs};
use forklore_memory::{Answer, Line, Provenance, Reply};
use forklore_testkit::model;
use forklore_vault::{Library, NoProgress};
use serde_json::json;

use super::memory::{time, told};
use super::{target_dir, timed};

const CHAT: &str = "chats/Mara/Long.jsonl";
const NOW: i64 = 1_800_000_000_000;

/// Of a line whose memory is known.
pub(super) fn bench(line: &Line, known: &[Answer]) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("forklore-bench").tempdir_in(target_dir())?;
    let path = dir.path().join(CHAT);
    fs::create_dir_all(dir.path().join("chats/Mara"))?;
    fs::create_dir_all(dir.path().join("worlds"))?;
    fs::write(dir.path().join("settings.json"), "{}")?;
    let mut lines = vec![json!({"chat_metadata": {"integrity": "slug"}}).to_string()];
    for (i, said) in line.messages().iter().enumerate() {
        lines.push(json!({"name": said.name, "is_user": said.name == "You", "mes": said.text, "send_date": i.to_string(), "extra": {}}).to_string());
    }
    fs::write(&path, lines.join("\n"))?;
    let vault: Arc<dyn Vfs> = Arc::new(RealFs::new(dir.path())?);
    let mut answers = AnswerStore::open(&vault)?;
    known.iter().try_for_each(|answer| answers.add(answer.clone()))?;

    let now = Now::at(&vault, &answers)?;
    ensure!(now.found.memory.missing.is_empty(), "the chat says something else than the line");
    told("working out what is written, all of it", now.working_out()?);
    now.write("writing all of it")?;
    let now = Now::at(&vault, &answers)?;
    told("working out that everything is written", now.working_out()?);
    drop(now);

    // Nothing takes the place of this: every later scene's copy of the entry is another one.
    let text = fs::read_to_string(&path)?;
    let edited = text.replacen("owes 7 coins. And", "owes 7000 coins. And", 1);
    ensure!(edited != text, "there is nothing to edit");
    fs::write(&path, edited)?;
    let mut asked = 0;
    loop {
        let now = Now::at(&vault, &answers)?;
        let Some(question) = now.found.missing(&answers).next().cloned() else {
            told(&format!("the same after an edit in the first scene ({asked} asked)"), now.working_out()?);
            return now.write("writing that");
        };
        let request = question.request(&now.found.line, &now.found.ways.prompts);
        let said = model::reply(&request.schema, &request.user).to_string();
        let reply = Reply::read(&question, &said).context("the scripted model is not understood")?;
        answers.add(now.found.answer(&question, reply, Provenance::default()))?;
        asked += 1;
    }
}

/// A chat as it is, and what is remembered of it.
struct Now {
    library: Library,
    found: Survey,
}

impl Now {
    fn at(vault: &Arc<dyn Vfs>, answers: &AnswerStore) -> Result<Self> {
        let library = Library::load(vault.clone(), &NoProgress)?;
        let c = library.find_chat("Mara/Long")?;
        let found = survey(&library, c, answers, &Arc::default())?;
        Ok(Self { library, found })
    }

    fn working_out(&self) -> Result<Duration> {
        // What cannot be worked out is found when it is written.
        time(|| projection::plan(&self.library, &self.found, NOW).map_or(0, |plan| plan.report.files.len()))
    }

    fn write(self, what: &str) -> Result<()> {
        let plan = projection::plan(&self.library, &self.found, NOW)?;
        let edits = plan.report.files.len();
        let took = timed(|| {
            let report = projection::execute(&self.library, &self.found, plan, NOW)?;
            ensure!(report.pending.is_empty(), "it could not be written: {:?}", report.pending);
            Ok(())
        })?;
        ensure!(edits > 0, "there was nothing to write");
        told(what, took);
        Ok(())
    }
}
