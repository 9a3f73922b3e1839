//! `check --deep`: everything that Forklore keeps is read and compared with its name, and mended where a file still has it.

use std::collections::BTreeMap;

use forklore_core::check::{Code, Finding, Severity};
use forklore_fs::NodeKind;
use forklore_journal::folders;
use forklore_vault::Library;
use forklore_vault::history::{self, HistoryError, Timeline};
use schemars::JsonSchema;
use serde::Serialize;

const FROM_BACKUP: &str = "Look at the disk, and bring the file back from a backup.";
const NOT_AFFECTED: &str = "The chat and the lorebook themselves are not affected.";

/// What reading everything came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeepReport {
    /// Pieces of history and kept files that were read
    pub objects: usize,
    /// Their bytes
    pub bytes: u64,
    /// Pieces of history that were damaged and could be mended from files that still have them
    pub mended: usize,
}

/// Reads everything that is kept; what it came to, and what is wrong. With `mend`, what can be mended is.
pub fn deep(library: &Library, mend: bool) -> Result<(DeepReport, Vec<Finding>), HistoryError> {
    let (mut report, mut findings) = (DeepReport::default(), Vec::new());
    kept_files(library, &mut report, &mut findings)?;
    past(library, mend, &mut report, &mut findings)?;
    Ok((report, findings))
}

/// Files in the trash, and those that undo needs.
fn kept_files(
    library: &Library,
    report: &mut DeepReport,
    findings: &mut Vec<Finding>,
) -> Result<(), HistoryError> {
    let folder = folders::objects();
    for node in library.fs().list(&folder)?.iter().filter(|node| node.kind == NodeKind::File) {
        let Ok(path) = folder.join(&node.name) else { continue };
        let Some(bytes) = library.fs().read(&path)? else { continue };
        report.objects += 1;
        report.bytes += bytes.len() as u64;
        if blake3::hash(&bytes).to_hex().as_str() != node.name {
            findings.push(Finding {
                code: Code::HistoryDamaged,
                severity: Severity::Error,
                chat: None,
                book: None,
                message: format!("{path} is damaged: an operation that needs it cannot be undone."),
                remedy: FROM_BACKUP.to_owned(),
                to_do: FROM_BACKUP.to_owned(),
                heals: false,
            });
        }
    }
    Ok(())
}

fn past(
    library: &Library,
    mend: bool,
    report: &mut DeepReport,
    findings: &mut Vec<Finding>,
) -> Result<(), HistoryError> {
    let Some(timeline) = Timeline::load(library.fs())? else { return Ok(()) };
    let mut store = history::store(library.fs())?;
    let roots = |record: &forklore_store::Record<'_>| {
        // A list that cannot be read does not hide the rest.
        let named = || history::parse(record.payload).map(|seen| seen.names().collect()).unwrap_or_default();
        timeline.roots(timeline.store(), record.seq, record.payload).unwrap_or_else(named)
    };
    let mut verified = store.verify(&roots);
    if !verified.is_good() && mend {
        let mut writer = store.writer()?;
        report.mended += writer.salvage()?;
        for seen in timeline.seen.iter().filter(|seen| verified.records.contains(&seen.seq)) {
            let (Some(content), Ok(file)) =
                (timeline.content(seen), library.fs().open(&seen.observation.file))
            else {
                continue;
            };
            // A list of segments that is damaged itself cannot be mended from the file as it is now.
            report.mended += writer.mend_document(&content, &*file).unwrap_or(0);
        }
        writer.commit()?;
        verified = store.verify(&roots);
    }
    report.objects += verified.objects;
    report.bytes += verified.bytes;
    let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
    for seen in timeline.seen.iter().filter(|seen| verified.records.contains(&seen.seq)) {
        *by_file.entry(seen.observation.file.as_str()).or_default() += 1;
    }
    let mut add = |message: String| {
        findings.push(Finding {
            code: Code::HistoryDamaged,
            severity: Severity::Warning,
            chat: None,
            book: None,
            message,
            remedy: format!("{NOT_AFFECTED} `forklore watch --once` records them as they are now."),
            to_do: format!("{NOT_AFFECTED} The next save is recorded again."),
            heals: false,
        });
    };
    for (file, saves) in by_file {
        let saves = if saves == 1 { "One save".to_owned() } else { format!("{saves} saves") };
        add(format!("{saves} of {file} cannot be read back whole."));
    }
    for file in &verified.files {
        add(format!("{file} is damaged: what was recorded in it may be lost."));
    }
    Ok(())
}
