//! What changes a vault, and tells everybody who listens. The API and the forms of the pages both come here.
//!
//! [`perform`] does what a form asks for, and gives the address of the page that shows what came of it.

use forklore_api::memory::{self, Deciding, DecisionReport, ReplyReport, Replying, Switching};
use forklore_api::merge::{self, Adopting, Keep, Picking, Resolving};
use forklore_api::notes::{self, Noting};
use forklore_api::ops::{self, Cleaning, Deletion, Redoing, Renaming, Restored, Restoring, Undoing};
use forklore_api::past::{self, Bringing};
use forklore_api::retention::{self, Forgetting};
use forklore_api::{Failure, OpenVault, config, heal};
use forklore_config::Value;
use forklore_engine::delete::DeleteReport;
use forklore_engine::fork::ForkRequest;
use forklore_engine::memory::{Choice, MemoryStatus};
use forklore_engine::merge::adopt::AdoptReport;
use forklore_engine::merge::append::{AppendReport, AppendRequest};
use forklore_engine::merge::learn::{LearnReport, LearnRequest};
use forklore_engine::merge::pick::PickReport;
use forklore_engine::merge::resolve::ResolveReport;
use forklore_engine::notes::Note;
use forklore_engine::rename::RenameReport;
use forklore_engine::restore::RestoreReport;
use forklore_engine::retention::{ForgetReport, PruneReport};
use forklore_engine::trash::GcReport;
use forklore_engine::undo::UndoReport;
use forklore_web::link;

use crate::answer::usage;
use crate::events::{Event, VaultChange};
use crate::form::Fields;
use crate::queued_forks::{self, ForkAnswer};
use crate::vault::Call;

/// Tells that an operation happened, if one did.
fn tell(call: &Call, act: &'static str, chat: Option<&str>, operation: Option<&str>) {
    if operation.is_some() {
        call.vault.tell(Event::Change(VaultChange::operation(act, chat, operation)));
    }
}

pub(crate) fn heal(call: &Call, cure: &heal::Cure) -> Result<heal::Healed, Failure> {
    let healed = call.change(|open| heal::heal(open, cure))?;
    tell(call, "saved", cure.chat.as_deref(), healed.report.operation.as_deref());
    Ok(healed)
}

pub(crate) fn switch_memory(call: &Call, of: &Switching) -> Result<MemoryStatus, Failure> {
    let status = call.change(|open| memory::switch(open, of))?;
    if !of.dry_run {
        call.vault.tell(Event::Change(VaultChange::operation("saved", Some(&status.chat), None)));
    }
    Ok(status)
}

pub(crate) fn decide(call: &Call, of: &Deciding) -> Result<DecisionReport, Failure> {
    let report = call.change(|open| memory::decide(open, of))?;
    tell(call, "saved", Some(&report.status.chat), report.operations.last().map(String::as_str));
    Ok(report)
}

pub(crate) fn reply(call: &Call, of: &Replying) -> Result<ReplyReport, Failure> {
    let report = call.change(|open| memory::reply(open, of))?;
    tell(call, "saved", Some(&report.status.chat), report.operations.last().map(String::as_str));
    Ok(report)
}

pub(crate) fn delete(call: &Call, of: &Deletion) -> Result<DeleteReport, Failure> {
    let report = call.change(|open| ops::delete(open, of))?;
    tell(call, "deleted", Some(&report.chat), report.operation.as_deref());
    Ok(report)
}

pub(crate) fn rename(call: &Call, of: &Renaming) -> Result<RenameReport, Failure> {
    let report = call.change(|open| ops::rename(open, of))?;
    if report.operation.is_some() {
        let change = VaultChange::operation("renamed", Some(&report.chat), report.operation.as_deref());
        call.vault.tell(Event::Change(VaultChange { from: Some(report.from.clone()), ..change }));
    }
    Ok(report)
}

pub(crate) fn undo(call: &Call, of: &Undoing) -> Result<UndoReport, Failure> {
    let report = call.change(|open| ops::undo(open, of))?;
    tell(call, "saved", None, report.operation.as_deref());
    Ok(report)
}

pub(crate) fn redo(call: &Call, of: &Redoing) -> Result<UndoReport, Failure> {
    let report = call.change(|open| ops::redo(open, of))?;
    tell(call, "saved", None, report.operation.as_deref());
    Ok(report)
}

pub(crate) fn restore(call: &Call, of: &Restoring) -> Result<Restored, Failure> {
    let (restored, _) = call.change(|open| ops::restore(open, of))?;
    if !of.dry_run {
        call.vault.tell(Event::Change(VaultChange::vault()));
    }
    Ok(restored)
}

pub(crate) fn gc(call: &Call, of: &Cleaning) -> Result<GcReport, Failure> {
    let report = call.change(|open| ops::gc(open, of))?;
    tell(call, "deleted", None, report.operation.as_deref());
    Ok(report)
}

pub(crate) fn forget(call: &Call, of: &Forgetting) -> Result<ForgetReport, Failure> {
    call.change(|open| retention::forget(open, of))
}

pub(crate) fn prune(call: &Call, dry_run: bool) -> Result<PruneReport, Failure> {
    call.change(|open| retention::prune(open, dry_run))
}

pub(crate) fn learn(call: &Call, of: &LearnRequest) -> Result<LearnReport, Failure> {
    let report = call.change(|open| merge::learn(open, of))?;
    tell(call, "saved", report.chat.as_deref(), report.operation.as_deref());
    Ok(report)
}

pub(crate) fn append(call: &Call, of: &AppendRequest) -> Result<AppendReport, Failure> {
    let report = call.change(|open| merge::append(open, of))?;
    tell(call, "saved", Some(&report.chat), report.operation.as_deref());
    Ok(report)
}

pub(crate) fn pick(call: &Call, of: &Picking) -> Result<PickReport, Failure> {
    let report = call.change(|open| merge::pick(open, of, &|_| of.yes))?;
    tell(call, "saved", Some(&report.chat), report.operation.as_deref());
    Ok(report)
}

pub(crate) fn adopt(call: &Call, of: &Adopting) -> Result<AdoptReport, Failure> {
    let report = call.change(|open| merge::adopt(open, of))?;
    tell(call, "saved", Some(&report.chat), report.operation.as_deref());
    Ok(report)
}

pub(crate) fn resolve(call: &Call, of: &Resolving) -> Result<ResolveReport, Failure> {
    let report = call.change(|open| merge::resolve(open, of, &|_| of.yes))?;
    tell(call, "saved", Some(&report.chat), report.operation.as_deref());
    Ok(report)
}

/// What a form decides about memory; gives the way back to the page with it.
fn remembered(call: &Call, fields: &Fields, chat: String) -> Result<String, Failure> {
    let back = link::memory(&chat, fields.number("at")?);
    let keep = fields.number("keep")?.map(Choice::Keep);
    let entry = fields.text("approve").map(|entry| Choice::Approve(entry.to_owned()));
    let all = fields.flag("approve_all").then_some(Choice::ApproveAll);
    let choices: Vec<Choice> = keep.into_iter().chain(entry).chain(all).collect();
    if fields.flag("retry") {
        call.change(|open| memory::retry(open, &chat))?;
    }
    if !choices.is_empty() {
        decide(call, &Deciding { chat, choices, dry_run: false })?;
    }
    Ok(back)
}

pub(crate) fn noted(call: &Call, of: &Noting) -> Result<Note, Failure> {
    // A note is none of the vault's operations: the library that is read already tells all that is asked.
    let note = call.ask(|open| notes::write(open, of))?;
    call.vault.tell(Event::Change(VaultChange::operation("saved", Some(&of.chat), None)));
    Ok(note)
}

pub(crate) fn bring_back(call: &Call, of: &Bringing) -> Result<RestoreReport, Failure> {
    let report = call.change(|open| past::restore(open, of))?;
    tell(call, "saved", Some(&report.chat), report.operation.as_deref());
    Ok(report)
}

/// What a form wants a setting to be: what stands in it is as people write it.
fn setting(open: &OpenVault<'_>, fields: &Fields, key: &str) -> Result<config::Set, Failure> {
    let key = key.to_owned();
    if fields.flag("unset") {
        return Ok(config::Set { key, unset: true, ..config::Set::default() });
    }
    let text = fields.0.get("value").map_or("", String::as_str);
    let wrong = || usage(format!("{text:?} is not what this setting can be"));
    let value = match config::setting(open, config::Who::Anybody, &key)?.value {
        Value::Flag(_) => Value::Flag(text.parse().map_err(|_| wrong())?),
        Value::Number(_) => Value::Number(text.trim().parse().map_err(|_| wrong())?),
        Value::Text(_) => Value::Text(text.to_owned()),
        Value::Names(_) => {
            let names = text.lines().map(str::trim).filter(|name| !name.is_empty());
            Value::Names(names.map(str::to_owned).collect())
        }
    };
    Ok(config::Set { key, value: Some(value), ..config::Set::default() })
}

/// Does what a form asks for, and gives the address of the page that shows it.
pub(crate) fn perform(call: &Call, fields: &Fields) -> Result<String, Failure> {
    if let Some(request) = fields.fork()? {
        return fork(call, &request);
    }
    let log = link::log;
    let done = |operation: Option<String>, other: String| operation.map_or(other, |id| link::done(&id));
    let chat = || fields.needed("chat");
    Ok(match fields.text("kind").unwrap_or_default() {
        "rename" => {
            let of = Renaming { chat: chat()?, name: fields.needed("name")?, dry_run: false };
            done(rename(call, &of)?.operation, log())
        }
        "delete" => done(delete(call, &Deletion { chat: chat()?, dry_run: false })?.operation, log()),
        "undo" => {
            let operation = fields.text("operation").map(str::to_owned);
            done(undo(call, &Undoing { operation, dry_run: false })?.operation, log())
        }
        "redo" => done(redo(call, &Redoing { dry_run: false })?.operation, log()),
        "restore" => {
            let of = Restoring { item: fields.needed("item")?, dry_run: false };
            let operation = match restore(call, &of)? {
                Restored::File(report) => report.operation,
                Restored::Operation(report) => report.operation,
                Restored::Rest(report) => report.operation,
            };
            done(operation, log())
        }
        "heal" => {
            let chat = fields.text("chat").map(str::to_owned);
            let choices = fields.choices()?;
            let cure = heal::Cure { chat: chat.clone(), choose: None, choices, yes: false, dry_run: false };
            done(heal(call, &cure)?.report.operation, link::health(chat.as_deref()))
        }
        "learn" => {
            let of = LearnRequest {
                chat: chat()?,
                from: fields.needed("from")?,
                all_scenes: fields.flag("all_scenes"),
                name: fields.text("name").map(str::to_owned),
                ..LearnRequest::default()
            };
            let report = learn(call, &of)?;
            let nothing = link::bring(&of.chat, Some(&of.from));
            report.chat.map_or(nothing, |made| link::bring(&made, Some(&of.from)))
        }
        "append" => {
            let of =
                AppendRequest { chat: chat()?, from: fields.needed("from")?, ..AppendRequest::default() };
            done(append(call, &of)?.operation, log())
        }
        "pick" => {
            let from = fields.needed("from")?;
            let of = Picking {
                chat: chat()?,
                from: Some(from.clone()),
                entry: Some(fields.needed("entry")?),
                yes: true,
                ..Picking::default()
            };
            pick(call, &of)?;
            link::bring(&of.chat, Some(&from))
        }
        "memory" => remembered(call, fields, chat()?)?,
        "adopt" => done(adopt(call, &Adopting { chat: chat()?, dry_run: false })?.operation, log()),
        "resolve" => {
            let keep = match fields.text("keep") {
                Some("ours") => Some(Keep::Ours),
                Some("theirs") => Some(Keep::Theirs),
                Some("both") => Some(Keep::Both),
                _ => None,
            };
            let text = fields.text("text").map(str::to_owned);
            let id = Some(fields.needed("id")?);
            resolve(call, &Resolving { chat: chat()?, id, keep, text, yes: true, ..Resolving::default() })?;
            link::bring(&chat()?, fields.text("other"))
        }
        "gc" => {
            let report = gc(call, &Cleaning { orphans: fields.flag("orphans"), ..Cleaning::default() })?;
            done(report.operation, link::retention(&[("cleaned", &report.freed.to_string())]))
        }
        "forget" => {
            let report = forget(call, &fields.rules(false)?)?;
            link::retention(&[("forgot", &report.forgotten.to_string())])
        }
        "prune" => {
            let report = prune(call, false)?;
            link::retention(&[("before", &report.before.to_string()), ("after", &report.after.to_string())])
        }
        "days" => {
            let value = fields.number::<u32>("days")?.ok_or_else(|| usage("The field \"days\" is empty"))?;
            let set = config::Set {
                key: "trash.days".to_owned(),
                value: Some(Value::Number(value)),
                ..config::Set::default()
            };
            call.change(|open| config::set(open, &set))?;
            link::retention(&[("set", "true")])
        }
        "set" => {
            let key = fields.needed("key")?;
            call.change(|open| config::set(open, &setting(open, fields, &key)?))?;
            link::settings(Some(&key))
        }
        "note" => {
            let at = fields.number("at")?.ok_or_else(|| usage("The field \"at\" is empty"))?;
            // The star is a button: what it does not say stays as it was.
            let star = fields.choice("star").unwrap_or(fields.flag("starred"));
            let of =
                Noting { chat: chat()?, at, star, text: fields.text("text").unwrap_or_default().to_owned() };
            noted(call, &of)?;
            link::moment(&of.chat, Some(at))
        }
        "bring-back" => {
            let report = bring_back(call, &fields.bringing(false)?)?;
            done(report.operation, link::moment(&report.chat, None))
        }
        "cancel" => {
            queued_forks::cancel(call, &fields.needed("id")?)?;
            link::moment(&chat()?, None)
        }
        other => return Err(usage(format!("Nobody knows how to {other:?}"))),
    })
}

fn fork(call: &Call, request: &ForkRequest) -> Result<String, Failure> {
    Ok(match queued_forks::make(call, request)? {
        ForkAnswer::Made(report) => {
            report.operation.as_deref().map_or_else(|| link::moment(&report.chat, None), link::done)
        }
        ForkAnswer::Waits { .. } => link::act(request.kind().as_str(), &request.chat, request.at),
    })
}
