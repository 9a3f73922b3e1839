//! [`execute`]: a planned fork happens; [`prepare`]: its book does, and SillyTavern writes the chat.

use forklore_core::format::record::Appended;
use forklore_fs::{Part, PathError};
use forklore_journal::operation::{Awaits, FileId, Kind};
use forklore_journal::{About, Tx, TxError};
use forklore_vault::{Library, Made};

use super::brought::More;
use super::plan::Restored;
use super::{ForkError, ForkPlan, ForkReport};
use crate::finder::finder;

/// Makes the fork: its book and its chat appear together or not at all.
pub fn execute(library: &Library, plan: ForkPlan, now: i64) -> Result<ForkReport, ForkError> {
    let mut tx = library.begin(now)?;
    let file = plan.fs.open(&plan.parent)?;
    let fail = |source| PathError { path: plan.parent.clone(), doing: "read", source };
    let identity = FileId::from(file.identity().map_err(fail)?);
    if plan.guards.iter().any(|(path, planned)| *path == plan.parent && *planned != identity) {
        return Err(TxError::Changed(plan.parent.clone()).into());
    }
    plan.media.stage(library, &mut tx)?;
    stage_book(&mut tx, &plan)?;
    let mut parts = Vec::new();
    if !plan.header.is_empty() {
        parts.push(Part::Bytes(&plan.header));
        // A chat without a header has no newline before its first message.
        if file.read_range(plan.body.start..plan.body.start + 1).map_err(fail)? != b"\n" {
            parts.push(Part::Bytes(b"\n"));
        }
    }
    parts.push(Part::Range(&*file, plan.body.clone()));
    if let Some(last) = &plan.last {
        parts.push(Part::Bytes(last));
    }
    let more = plan.more.as_ref().map(|more| Ok::<_, PathError>((library.fs().open(&more.file)?, more)));
    let more = more.transpose()?;
    if let Some((file, more)) = &more {
        parts.push(Part::Bytes(b"\n"));
        parts.push(Part::Range(&**file, more.range.clone()));
    }
    let known = finder(library);
    let (links, edits): (Vec<_>, Vec<_>) =
        plan.edits.into_iter().partition(|edit| edit.target == plan.parent);
    let model = std::slice::from_ref(&plan.parent);
    match links.into_iter().next() {
        Some(link) => tx.publish_and_edit(plan.target.clone(), &parts, model, link, &known)?,
        None => tx.publish(plan.target.clone(), &parts, model)?,
    }
    let mut report = plan.report;
    report.operation = Some(tx.id().to_owned());
    edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    plan.guards.into_iter().for_each(|(path, file)| tx.guard(path, file));
    let about = about(&report, plan.restored.as_ref(), plan.learnt.as_deref(), plan.more.as_ref());
    let staged = tx.staged(&plan.target);
    let outcome = tx.commit(about, &known)?;
    let remember = || {
        if let (Some(file), None, None, None) = (staged, &plan.last, &plan.restored, &plan.more) {
            let (parent, target, header, body) = (plan.chat, &plan.target, &plan.header, plan.body.clone());
            library.remember_fork(&Made { parent, at: report.at, target, header, body }, file);
        }
        let linked = outcome.edited.iter().filter(|(path, ..)| *path == plan.parent);
        for (_, was, is) in linked.filter(|_| plan.restored.is_none()) {
            library.remember_link(plan.chat, report.at, *was, *is);
        }
    };
    // The parent as it was has no name any more: closing it takes the time of freeing it all.
    rayon::join(|| drop(file), remember);
    report.pending =
        outcome.pending.iter().chain(&outcome.void).map(|path| path.as_str().to_owned()).collect();
    Ok(report)
}

/// Publishes the book of a fork whose chat SillyTavern is about to write, with this slug in its header.
///
/// The report has the id to settle it with (see [`forklore_journal::resolve`]).
pub fn prepare(library: &Library, plan: ForkPlan, now: i64, until: i64) -> Result<ForkReport, ForkError> {
    let mut tx = library.begin(now)?;
    stage_book(&mut tx, &plan)?;
    let mut report = plan.report;
    report.operation = Some(tx.id().to_owned());
    plan.edits.into_iter().try_for_each(|edit| tx.edit(edit))?;
    plan.guards.into_iter().for_each(|(path, file)| tx.guard(path, file));
    let awaits = Awaits { target: plan.target, slug: plan.slug, until };
    tx.prepare(about(&report, None, None, None), awaits)?;
    Ok(report)
}

fn about(
    report: &ForkReport,
    restored: Option<&Restored>,
    learnt: Option<&str>,
    more: Option<&More>,
) -> About {
    let kind = match report.kind {
        _ if restored.is_some() => Kind::Restore,
        _ if more.is_some() => Kind::Append,
        _ if learnt.is_some() => Kind::Learn,
        forklore_core::fork::ForkKind::Branch => Kind::Branch,
        forklore_core::fork::ForkKind::Checkpoint => Kind::Checkpoint,
    };
    let what = if restored.is_some() { "past state" } else { report.kind.as_str() };
    About {
        kind,
        chat: Some(report.chat.clone()),
        summary: match (more, learnt) {
            (Some(more), _) => {
                let Appended { file, first, message, .. } = &more.appended;
                let (parent, at) = (&report.parent, report.at);
                format!("{parent} at message {at} with messages {first} to {message} of \"{file}\"")
            }
            (None, Some(from)) => {
                format!("{} at message {} with what happened in \"{from}\"", report.parent, report.at)
            }
            (None, None) => format!("{what} of {} at message {}", report.parent, report.at),
        },
        undoes: None,
    }
}

/// Stages the book and reads it back: what is on disk must be what was meant.
fn stage_book(tx: &mut Tx, plan: &ForkPlan) -> Result<(), ForkError> {
    let Some((path, bytes)) = &plan.book else { return Ok(()) };
    tx.publish(path.clone(), &[Part::Bytes(bytes)], &plan.models)?;
    if tx.read_back(path)?.as_ref() != Some(&**bytes) {
        return Err(ForkError::NotVerified("it does not read as it was written".to_owned()));
    }
    Ok(())
}
