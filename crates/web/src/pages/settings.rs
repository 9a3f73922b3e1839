//! The settings of a vault, for people: each a question with its answers, saved on its own.

use forklore_api::config::SettingsReport;
use forklore_config::{SettingReport, Value};
use maud::{Markup, html};

use crate::{Here, Page, link, words};

/// What a setting is called, and what it does, as far as people need it.
struct Words {
    title: &'static str,
    text: &'static str,
}

fn words_of(key: &str) -> Option<Words> {
    let (title, text) = match key {
        "checkpoint.auto_name" => ("Names for checkpoints", "Make a name when none is given."),
        "checkpoint.name_template" => (
            "Pattern of made names",
            "For example “Scene {scene_number} - {scene_name}”. Empty: as SillyTavern names them.",
        ),
        "checkpoint.require_scene_break" => {
            ("Only where a scene ends", "Make checkpoints and branches nowhere else.")
        }
        "checkpoint.show_warnings" => {
            ("Warnings", "Say what is missing or inexact when a checkpoint or branch is made.")
        }
        "checkpoint.at_scene_break" => {
            ("A checkpoint at every scene", "Make one whenever a scene ends, without being asked.")
        }
        "fork.strict" => ("Only exact forks", "Refuse to fork where something is missing or inexact."),
        "fork.undated" => ("Entries that nothing dates", "What becomes of them in a fork."),
        "fork.link_parent" => ("Flag in the parent", "Link the fork at the message that it was forked from."),
        "books.shared" => {
            ("Lorebooks that forks share", "One name a line. All other lorebooks are copied for each fork.")
        }
        "trash.days" => {
            ("Days in the trash", "After so many days something may leave it for good. 0: never.")
        }
        "history.operations" => ("History of what Forklore does", "Remember what every change touched."),
        "history.media" => (
            "Images and files in history",
            "Keep those that messages link to, so that they come back with a chat.",
        ),
        _ => return None,
    };
    Some(Words { title, text })
}

/// What the groups are called.
const GROUPS: [(&str, &str); 5] = [
    ("checkpoint", "Checkpoints"),
    ("fork", "Forks"),
    ("books", "Lorebooks"),
    ("trash", "Trash"),
    ("history", "History"),
];

/// The settings. `saved` is the one that was just saved.
pub fn page(report: &SettingsReport, saved: Option<&str>) -> Page {
    let of = |group: &str| {
        let own =
            move |setting: &&SettingReport| setting.key.split_once('.').is_some_and(|(of, _)| of == group);
        report.settings.iter().filter(own).collect::<Vec<_>>()
    };
    let rest = report.settings.iter().filter(|setting| {
        !GROUPS.iter().any(|(group, _)| setting.key.split_once('.').is_some_and(|(of, _)| of == *group))
    });
    let body = html! {
        h1 { "Settings" }
        p.lead { "How Forklore works in this SillyTavern folder. Light or dark is chosen above, for this browser alone." }
        @for (group, title) in GROUPS {
            section.card.settings aria-labelledby={ "group-" (group) } {
                h2 id={ "group-" (group) } { (title) }
                @for setting in of(group) { (one(setting, saved)) }
                @if group == "trash" || group == "history" { p.quiet { a href=(link::retention(&[])) { "History and space" } " shows how much is kept, and cleans up." } }
            }
        }
        @for setting in rest { section.card.settings { (one(setting, saved)) } }
    };
    Page {
        here: Here::Settings,
        title: "Settings".to_owned(),
        styles: &["act", "settings"],
        scripts: &[],
        body,
    }
}

fn one(setting: &SettingReport, saved: Option<&str>) -> Markup {
    let told = words_of(setting.key);
    let title = told.as_ref().map_or(setting.key, |told| told.title);
    let text = told.map_or(setting.meaning, |told| told.text);
    let id = setting.key.replace('.', "-");
    html! {
        form.setting id=(id) method="post" action="act" {
            input type="hidden" name="kind" value="set";
            input type="hidden" name="key" value=(setting.key);
            div.what { h3 id={ (id) "-name" } { (title) } p.quiet id={ (id) "-text" } { (text) } }
            div.choice {
                (field(setting, &id))
                button { "Save" span.unseen { ": " (title) } }
                @if !setting.is_default { button name="unset" value="true" { "As it was at first" span.unseen { ": " (title) } } }
                @if saved == Some(setting.key) { span.saved role="status" { "Saved." } }
            }
        }
    }
}

fn field(setting: &SettingReport, id: &str) -> Markup {
    let (name, text) = (format!("{id}-name"), format!("{id}-text"));
    html! {
        @match &setting.value {
            Value::Flag(on) => select name="value" aria-labelledby=(name) aria-describedby=(text) {
                option value="true" selected[*on] { "Yes" }
                option value="false" selected[!*on] { "No" }
            },
            Value::Number(n) => input type="number" name="value" min="0" max="36500" value=(n) inputmode="numeric" aria-labelledby=(name) aria-describedby=(text);,
            Value::Text(now) if setting.key == "fork.undated" => select name="value" aria-labelledby=(name) aria-describedby=(text) {
                option value="carry" selected[now == "carry"] { "They come along" }
                option value="leave" selected[now == "leave"] { "They stay behind" }
            },
            Value::Text(now) => input name="value" value=(now) autocomplete="off" maxlength="300" aria-labelledby=(name) aria-describedby=(text);,
            Value::Names(names) => textarea name="value" rows=(names.len().clamp(2, 8)) aria-labelledby=(name) aria-describedby=(text) { (names.join("\n")) },
        }
        @if let Value::Names(names) = &setting.value { span.quiet { (words::count(names.len(), "lorebook")) } }
    }
}
