//! Drawing for people. Colours vanish by themselves where the output is not a terminal or `NO_COLOR` is set.

mod bar;
mod blame;
mod check;
mod config;
mod delete;
mod demo;
mod diff;
mod doctor;
mod document;
mod error;
mod export;
mod forget;
mod fork;
mod heal;
mod history;
mod import;
mod install;
mod log;
mod memory;
mod merge;
mod parts;
mod restore;
mod serve;
mod show;
mod style;
mod trash;
mod tree;
mod undo;
mod watch;
mod words;

pub(crate) use bar::Bar;
pub(crate) use blame::blame;
pub(crate) use check::check;
pub(crate) use config::{setting, setting_changed, settings};
pub(crate) use delete::{deleted, renamed};
pub(crate) use demo::{demo, demo_plan};
pub(crate) use diff::diff;
pub(crate) use doctor::doctor;
pub(crate) use document::{json, line};
pub(crate) use error::error;
pub(crate) use export::exported;
pub(crate) use forget::{forgotten, pruned};
pub(crate) use fork::{forked, recovered, waiting};
pub(crate) use heal::{healed, question};
pub(crate) use history::history;
pub(crate) use import::imported;
pub(crate) use install::installed;
pub(crate) use log::log;
pub(crate) use memory::{
    memory_bill, memory_decided, memory_prompts, memory_status, memory_switched, memory_why, remembered,
    remembering,
};
pub(crate) use merge::{adopted, appended, ask_to_answer, ask_to_pick, learnt, picked, resolved};
pub(crate) use restore::{ask_to_bind, brought_back};
pub(crate) use serve::{first_visit, serving};
pub(crate) use show::show;
pub(crate) use trash::{cleaned, rest_restored, restored, trash};
pub(crate) use tree::{stories, tree};
pub(crate) use undo::undone;
pub(crate) use watch::{not_noted, not_read, not_recorded, saw, watched, watching};
pub(crate) use words::size;
