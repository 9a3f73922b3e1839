//! Forks against what they started with, and what is told on entering one.

use forklore_core::adapter;
use forklore_core::adapter::recap::{self, StoredVersion};
use forklore_core::check::{Code, Remedy, Severity};
use forklore_core::fork::book::fingerprint;
use forklore_core::fork::header as core_header;
use forklore_core::format::record::Baseline;
use forklore_fs::PathError;
use forklore_vault::{Chat, ChatIx, Library};
use schemars::JsonSchema;
use serde::Serialize;

use super::Checker;

/// What a user should be told on entering a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entering {
    /// `branch`, `checkpoint` or `copy`
    pub kind: String,
    /// The chat it was forked from
    pub parent: String,
    /// The last message that came from there
    pub message: usize,
    /// Title of the scene it was made at
    pub scene: Option<String>,
    /// Version of the running recap in use
    pub running_version: Option<i64>,
    /// How many versions it has
    pub versions: usize,
    /// How many messages the combined recap covers
    pub combined_messages: Option<i64>,
    /// When it was made, as RFC 3339
    pub created: String,
    /// Whether it has been played on since
    pub moved_on: bool,
}

/// What to tell on entering a chat; nothing if Forklore did not make it.
pub fn entering(library: &Library, c: ChatIx) -> Option<Entering> {
    let chat = library.chat(c);
    let record = chat.record()?;
    let metadata = chat.header().metadata();
    Some(Entering {
        kind: record.kind.clone(),
        parent: record.parent_file.clone(),
        message: record.message,
        scene: adapter::ALL.iter().find_map(|adapter| adapter.checkpoint_scene(metadata)),
        running_version: chat.running().and_then(|running| running.current),
        versions: chat.running().map_or(0, |running| running.versions.len()),
        combined_messages: recap::combined(metadata).map(|recap| recap.message_count),
        created: forklore_journal::oplog::time(record.created),
        moved_on: record.baseline.as_ref().is_some_and(|baseline| !is_untouched(chat, baseline)),
    })
}

fn is_untouched(chat: &Chat, baseline: &Baseline) -> bool {
    let moment = chat.transcript().moment(chat.head()).map(|moment| moment.to_string());
    chat.transcript().len() == baseline.messages && moment.as_deref() == Some(&*baseline.moment)
}

impl Checker<'_> {
    pub(super) fn baseline(&mut self, c: ChatIx) -> Result<(), PathError> {
        let library = self.library;
        let chat = library.chat(c);
        let Some(baseline) = chat.record().and_then(|record| record.baseline.as_ref()) else {
            return Ok(());
        };
        let metadata = chat.header().metadata();
        let now = recap::versions(metadata);
        // A version is known by what it tells: where lost ones came back, later ones have other numbers.
        let now: Vec<String> = now.iter().map(StoredVersion::hash).collect();
        let mut changed: Vec<String> = Vec::new();
        let gone = baseline.versions.iter().filter(|then| !now.contains(&then.hash));
        let gone: Vec<String> = gone.map(|then| format!("v{}", then.version)).collect();
        if !gone.is_empty() {
            changed.push(format!("version {} of the running recap is gone or changed", gone.join(", ")));
        }
        let untouched = is_untouched(chat, baseline);
        // One that tells of more messages was made later; the same messages told otherwise are another story.
        let then = baseline.combined.as_ref();
        let combined = core_header::combined_baseline(metadata);
        let count = |recap: Option<&(i64, String)>| recap.map(|(count, _)| *count);
        if combined.as_ref() != then && count(combined.as_ref()) == count(then) {
            changed.push("the combined recap tells the same messages otherwise".to_owned());
        } else if untouched && combined.as_ref() != then {
            changed.push("the combined recap covers other messages".to_owned());
        }
        // Who edits the lorebook of a fork before playing on has changed it on purpose: that is worth knowing, and no more.
        let mut edited = false;
        if untouched {
            let current = chat.running().and_then(|running| running.current);
            if gone.is_empty() && (current != baseline.current || now.len() != baseline.versions.len()) {
                changed.push("another version of the running recap is in use".to_owned());
            }
            if let (Some(then), Some((name, _))) = (&baseline.book, chat.book())
                && let Some(book) = library.book(name)?
                && let Ok(parsed) = book.parse()
                && fingerprint(&parsed) != *then
            {
                edited = changed.is_empty();
                changed.push("entries of its lorebook were changed".to_owned());
            }
        }
        if !changed.is_empty() {
            let message = format!(
                "What it started from was changed{}: {}.",
                if untouched { ", although it was not played on" } else { "" },
                changed.join("; ")
            );
            let remedy = Remedy::new(
                "If that was you, all is well. If not, look at `forklore show` for this chat, or branch again from its parent.",
                "If that was you, all is well. If not, compare it with its parent, or branch again from there.",
            );
            let severity = if edited { Severity::Info } else { Severity::Warning };
            self.add(Code::BaselineChanged, severity, Some(c), None, message, remedy);
        }
        Ok(())
    }

    /// What the user has accepted as it is, is worth knowing and no more.
    pub(super) fn accepted(&mut self, c: ChatIx) {
        let Some(record) = self.library.chat(c).record() else { return };
        for finding in &mut self.findings {
            if record.accepted.iter().any(|code| code == finding.code.as_str()) {
                finding.severity = Severity::Info;
                let accepted = "You have accepted this as it is.";
                finding.remedy = format!("{accepted} `forklore heal` with another choice changes it.");
                finding.to_do = format!("{accepted} Another choice changes it.");
                finding.heals = false;
            }
        }
    }
}
