//! A moment: the messages around it, the state as of then, and the slider that travels along the line.
//!
//! [`page`] is all of it. [`step`] is what becomes another when one travels: both are made of the same `parts`, and what is the same
//! where one comes from is not sent again.

use std::collections::{BTreeMap, HashMap, HashSet};

use forklore_api::moment::Moment;
use forklore_core::diff::{Effort, TextDiff};
use forklore_engine::line::{Line, LineMessage, Mark, MarkKind};
use forklore_engine::show::{ShowEntry, ShowReport};
use forklore_engine::warning::WarningCode;
use maud::{Markup, html};
use serde::Serialize;

use super::{marks, parts as shared};
use crate::{Here, Page, link, words};

/// How much of a message is shown unfolded: of the one that the moment is at, of others, of entries and recaps.
const FOLD: (usize, usize, usize) = (2400, 420, 700);
/// So many scenes and forks are listed.
const LISTED: usize = 400;

/// A moment.
pub fn page(moment: &Moment) -> Page {
    let Moment { line, here, .. } = moment;
    let changes = changes(moment);
    let story = link::tree(&link::story_name(line.story_kind, &line.folder));
    let parts: BTreeMap<_, _> = parts(&line.chat, here).into_iter().collect();
    let part =
        |name: &str| html! { div data-part=(name) { @if let Some(part) = parts.get(name) { (part) } } };
    let body = html! {
        (shared::crumbs(&[(&line.story, Some(story)), (&line.name, None)]))
        h1 { bdi { (line.name) } }
        p.lineage {
            span.badge { (line.kind) } " "
            @if let Some((address, name, at)) = &line.parent {
                "forked from " a href=(link::moment(address, *at)) { bdi { (name) } }
                @if let Some(at) = at { " at message " (at) }
                " · "
            }
            (words::count(line.messages, "message"))
        }
        (slider(line, here.at, &said(&changes, moment)))
        (listed(line, here.at))
        div.travel {
            div data-part="head" { (head(line, here)) }
            div.transcript data-part="transcript" { (transcript(&moment.window, here, line)) }
            div.state {
                section.book aria-labelledby="book" {
                    h2 #book { "Lorebook" }
                    (part("source"))
                    div data-part="changes" { (told(&changes, moment)) }
                    ul.entries data-list="facts" { (entries(line, here, &changes, false)) }
                    details.registries {
                        summary { "Registries and indexes" }
                        p.quiet { "Extensions keep these lists to find entries by. They grow and shrink with the entries." }
                        ul.entries data-list="registries" { (entries(line, here, &changes, true)) }
                    }
                    (part("left"))
                }
                (part("scene"))
                (part("recap"))
                (part("queue"))
                (part("variables"))
            }
        }
    };
    Page { here: Here::Stories, title: title(line, here), styles: &["moment"], scripts: &["moment"], body }
}

/// What becomes another when one travels.
#[derive(Debug, Serialize)]
pub struct SliderParts {
    /// The message
    at: usize,
    /// Title of the page
    title: String,
    /// What to tell
    said: String,
    /// Where the buttons lead: a message back and ahead, and to what stands at the line before and after
    steps: [Option<usize>; 4],
    /// Parts that are not as they were
    parts: BTreeMap<&'static str, String>,
    /// Keys of all entries, in their order
    lists: BTreeMap<&'static str, Vec<String>>,
    /// Entries that are not as they were, by key
    entries: BTreeMap<String, String>,
}

/// A step: only what is not as it was where one comes from, or `all` of it.
pub fn step(moment: &Moment, all: bool) -> SliderParts {
    let Moment { line, here, window, before } = moment;
    let changes = changes(moment);
    let before = before.as_ref().filter(|_| !all);
    let old: HashMap<&str, String> = before.map_or_else(HashMap::new, |before| {
        parts(&line.chat, before).into_iter().map(|(name, part)| (name, part.into_string())).collect()
    });
    let mut fresh: BTreeMap<&'static str, String> = BTreeMap::new();
    for (name, part) in parts(&line.chat, here) {
        let part = part.into_string();
        if old.get(name) != Some(&part) {
            fresh.insert(name, part);
        }
    }
    fresh.insert("head", head(line, here).into_string());
    fresh.insert("transcript", transcript(window, here, line).into_string());
    fresh.insert("changes", told(&changes, moment).into_string());
    let known: HashSet<String> = before.map_or_else(HashSet::new, |before| {
        keyed(before).map(|(key, e)| entry(&line.chat, &key, e, None).into_string()).collect()
    });
    let mut entries = BTreeMap::new();
    let mut lists: BTreeMap<&'static str, Vec<String>> = [("facts", vec![]), ("registries", vec![])].into();
    for (key, found) in keyed(here) {
        let change = changes.of.get(&key);
        let plain = entry(&line.chat, &key, found, None).into_string();
        if let Some(change) = change {
            entries.insert(key.clone(), entry(&line.chat, &key, found, Some(change)).into_string());
        } else if !known.contains(&plain) {
            entries.insert(key.clone(), plain);
        }
        let list = if found.role == "fact" { "facts" } else { "registries" };
        lists.entry(list).or_default().push(key);
    }
    SliderParts {
        at: here.at,
        title: format!("{} · Forklore", title(line, here)),
        said: said(&changes, moment),
        steps: steps(line, here.at),
        parts: fresh,
        lists,
        entries,
    }
}

fn title(line: &Line, here: &ShowReport) -> String {
    format!("Message {} of {}", here.at, line.name)
}

// ---- what changed -------------------------------------------------------------------------------------------------------------

/// What is not as it was where one comes from.
#[derive(Default)]
struct Changes {
    /// By key of the entry
    of: HashMap<String, Difference>,
    /// Titles of new, changed and gone entries that are facts, with their keys
    new: Vec<(String, String)>,
    changed: Vec<(String, String)>,
    gone: Vec<String>,
    /// The recap's version, if it is another
    recap: Option<Option<i64>>,
    /// The scene, if it is another
    scene: Option<String>,
}

enum Difference {
    New,
    Changed { text: TextDiff, keys: bool, switched: bool },
}

/// Entries with names that stay with them along the line.
fn keyed(report: &ShowReport) -> impl Iterator<Item = (String, &ShowEntry)> {
    let mut seen: HashMap<(Option<i64>, &str), usize> = HashMap::new();
    report.book.entries.iter().map(move |entry| {
        let twin = seen.entry((entry.uid, entry.comment.as_str())).or_default();
        *twin += 1;
        let name = format!("{:?} {} {twin}", entry.uid, entry.comment);
        let hash: String = blake3::hash(name.as_bytes()).to_hex().chars().take(12).collect();
        (format!("e{hash}"), entry)
    })
}

fn changes(moment: &Moment) -> Changes {
    let (here, Some(before)) = (&moment.here, &moment.before) else { return Changes::default() };
    let mut changes = Changes::default();
    let mut old: HashMap<String, &ShowEntry> = keyed(before).collect();
    let mut effort = Effort::default();
    for (key, entry) in keyed(here) {
        let fact = entry.role == "fact";
        let Some(was) = old.remove(&key) else {
            if fact {
                changes.new.push((key.clone(), entry.comment.clone()));
            }
            changes.of.insert(key, Difference::New);
            continue;
        };
        let (keys, switched) = (was.keys != entry.keys, was.disable != entry.disable);
        if was.content != entry.content || keys || switched {
            let text = TextDiff::of(&was.content, &entry.content, &mut effort);
            if fact {
                changes.changed.push((key.clone(), entry.comment.clone()));
            }
            changes.of.insert(key, Difference::Changed { text, keys, switched });
        }
    }
    let gone = keyed(before).filter(|(key, entry)| old.contains_key(key) && entry.role == "fact");
    changes.gone = gone.map(|(_, entry)| entry.comment.clone()).collect();
    let version = |report: &ShowReport| report.running_recap.current_version;
    changes.recap = (version(here) != version(before)).then(|| version(here));
    let scene = |report: &ShowReport| report.scene.as_ref().map(|scene| (scene.message, scene.name.clone()));
    changes.scene = scene(here).filter(|now| scene(before).as_ref() != Some(now)).and_then(|(_, name)| name);
    changes
}

/// What changed, in a sentence that is read out.
fn said(changes: &Changes, moment: &Moment) -> String {
    let at = moment.here.at;
    let Some(before) = &moment.before else { return format!("Message {at}: the line begins here.") };
    let mut told = Vec::new();
    for (n, word) in
        [(changes.new.len(), "new"), (changes.changed.len(), "changed"), (changes.gone.len(), "gone")]
    {
        match n {
            0 => {}
            n if told.is_empty() => told.push(format!("{} {word}", words::count(n, "entry"))),
            n => told.push(format!("{n} {word}")),
        }
    }
    if told.is_empty() {
        told.push(format!("the lorebook is as at message {}", before.at));
    }
    match changes.recap {
        Some(Some(version)) => told.push(format!("recap version {version}")),
        Some(None) => told.push("no recap yet".to_owned()),
        None => {}
    }
    if let Some(scene) = &changes.scene {
        told.push(format!("scene \"{scene}\""));
    }
    format!("Message {at}: {}.", told.join(", "))
}

/// What changed, to see.
fn told(changes: &Changes, moment: &Moment) -> Markup {
    let Some(before) = &moment.before else { return html! {} };
    if changes.new.is_empty() && changes.changed.is_empty() && changes.gone.is_empty() {
        return html! { p.still { "Nothing differs from message " (before.at) "." } };
    }
    let kinds = [("new", "+", "new", &changes.new), ("changed", "~", "changed", &changes.changed)];
    html! {
        div.changes {
            p { "Against message " (before.at) ":" }
            ul {
                @for (class, sign, word, list) in kinds {
                    @for (key, title) in list {
                        li class=(class) { a href={ "#" (key) } { span.sign aria-hidden="true" { (sign) } (marks::title(title)) " " em { (word) } } }
                    }
                }
                @for title in &changes.gone {
                    li.gone { span { span.sign aria-hidden="true" { "−" } (marks::title(title)) " " em { "gone" } } }
                }
            }
        }
    }
}

// ---- the slider ---------------------------------------------------------------------------------------------------------------

fn steps(line: &Line, at: usize) -> [Option<usize>; 4] {
    let back = line.marks.iter().rev().map(|mark| mark.message).find(|message| *message < at);
    let ahead = line.marks.iter().map(|mark| mark.message).find(|message| *message > at);
    let last = line.messages.saturating_sub(1);
    [at.checked_sub(1), (at < last).then_some(at + 1), back, ahead]
}

fn slider(line: &Line, at: usize, said: &str) -> Markup {
    let last = line.messages.saturating_sub(1);
    let [back, next, mark_back, mark_next] = steps(line, at);
    let button = |name: &str, to: Option<usize>, sign: &str, text: &str| {
        let address = to.map(|to| link::step(&line.chat, to, at));
        html! {
            a.button.step data-step=(name) href=[address] aria-disabled=[to.is_none().then_some("true")] role=[to.is_none().then_some("link")] title=(text) {
                span aria-hidden="true" { (sign) } span.unseen { (text) }
            }
        }
    };
    html! {
        section.slider aria-label="Travel along the line" data-chat=(line.chat) data-last=(last) {
            form method="get" action="moment" {
                input type="hidden" name="chat" value=(line.chat);
                input type="hidden" name="from" value=(at);
                div.track {
                    (button("mark-back", mark_back, "⇤", "Back to the last scene or fork"))
                    (button("back", back, "‹", "One message back"))
                    div.rail {
                        (ticks(line))
                        input type="range" name="at" min="0" max=(last) step="1" value=(at) aria-label="Message" aria-valuetext={ "message " (at) " of 0 to " (last) } autocomplete="off";
                    }
                    (button("next", next, "›", "One message ahead"))
                    (button("mark-next", mark_next, "⇥", "Ahead to the next scene or fork"))
                }
                div.reading {
                    strong { "Message " output { (at) } }
                    span.quiet { "of 0 to " (last) }
                    button type="submit" { "Go there" }
                    p #said role="status" aria-live="polite" { (said) }
                }
            }
        }
    }
}

/// Scenes and forks, where they are.
fn ticks(line: &Line) -> Markup {
    let last = line.messages.saturating_sub(1).max(1);
    let mut drawn = HashSet::new();
    // A thousandth of the line is less than a pixel.
    let ticks: Vec<(&Mark, usize)> = line
        .marks
        .iter()
        .map(|mark| (mark, mark.message * 1000 / last))
        .filter(|(mark, x)| drawn.insert((mark.kind as u8, *x)))
        .collect();
    html! {
        svg.ticks aria-hidden="true" focusable="false" height="16" {
            @for (mark, x) in ticks {
                @let x = format!("{}.{}%", x / 10, x % 10);
                @match mark.kind {
                    MarkKind::Scene => line.scene x1=(x) x2=(x) y1="7" y2="16" {},
                    MarkKind::Branch => circle.branch cx=(x) cy="6" r="3.6" {},
                    MarkKind::Checkpoint => svg.checkpoint x=(x) overflow="visible" { path d="M0 16V1l8 3.200-8 3.200" {} },
                    MarkKind::Origin => svg.origin x=(x) overflow="visible" { path d="M-4 2h8L0 9z" {} },
                }
            }
        }
    }
}

fn listed(line: &Line, at: usize) -> Markup {
    if line.marks.is_empty() {
        return html! {};
    }
    let word = |mark: &Mark| match mark.kind {
        MarkKind::Scene => "scene",
        MarkKind::Branch => "branch",
        MarkKind::Checkpoint => "checkpoint",
        MarkKind::Origin => "forked from",
    };
    html! {
        details.marks {
            summary { "Scenes and forks" span.quiet { " " (words::number(line.marks.len())) } }
            ol {
                @for mark in line.marks.iter().take(LISTED) {
                    li class=(word(mark).split(' ').next().unwrap_or_default()) {
                        a data-at=(mark.message) href=(link::step(&line.chat, mark.message, at)) { span.unseen { "Message " } (mark.message) }
                        " " span.kind { (word(mark)) } " "
                        @match (&mark.chat, &mark.name) {
                            (Some(chat), Some(name)) => a href=(link::moment(chat, Some(mark.message))) { bdi { (name) } },
                            (_, Some(name)) => bdi { (name) },
                            _ => span.quiet { "without a name" },
                        }
                    }
                }
                @if line.marks.len() > LISTED { li { "… and " (words::number(line.marks.len() - LISTED)) " more; the tree shows them all." } }
            }
        }
    }
}

// ---- the parts ----------------------------------------------------------------------------------------------------------------

/// What one can do here.
fn head(line: &Line, here: &ShowReport) -> Markup {
    let chat = &line.chat;
    let last = here.at + 1 == here.messages;
    // At its last message a fork is compared with its parent; anywhere else with its last message.
    let compared = link::compare(chat, (!last).then_some(here.at), None, None);
    html! {
        div.doing {
            a.button.main href=(link::act("branch", chat, Some(here.at))) { "Branch here" }
            a.button href=(link::act("checkpoint", chat, Some(here.at))) { "Checkpoint here" }
            a.button href=(compared) { "Compare with …" }
            a.button href=(link::tree(&link::story_name(line.story_kind, &line.folder))) { "See the tree" }
            (shared::open_in_sillytavern(chat))
        }
    }
}

fn transcript(window: &[LineMessage], here: &ShowReport, line: &Line) -> Markup {
    let first = window.first().map_or(0, |message| message.message);
    let end = window.last().map_or(0, |message| message.message + 1);
    html! {
        h2 { "Story" }
        @if first > 0 { p.edge { (words::count(first, "message")) " before" } }
        @for message in window { (said_there(message, here, line)) }
        @if end < here.messages { p.edge { (words::count(here.messages - end, "message")) " after" } }
    }
}

fn said_there(message: &LineMessage, here: &ShowReport, line: &Line) -> Markup {
    let n = message.message;
    let is_here = n == here.at;
    let marks = line.marks.iter().filter(|mark| mark.message == n);
    let later = n > here.at;
    html! {
        article.message.here[is_here].later[later].user[message.user].veiled[message.hidden] aria-current=[is_here.then_some("location")] {
            header {
                a.number data-at=(n) href=(link::step(&line.chat, n, here.at)) { span.unseen { "Message " } (n) }
                strong { bdi { @if message.speaker.is_empty() { "?" } @else { (message.speaker) } } }
                @if is_here { span.badge { "you are here" } }
                @if later { span.badge { "later" } }
                @if message.hidden { span.badge title="Hidden from the model" { "hidden" } }
                @if message.swipes > 1 { span.badge { (message.swipes) " swipes" } }
            }
            (marks::text(&message.text, if is_here { FOLD.0 } else { FOLD.1 }))
            @for mark in marks {
                p.at {
                    @match mark.kind {
                        MarkKind::Scene => { "A scene ends here" },
                        MarkKind::Branch => { "Branched here" },
                        MarkKind::Checkpoint => { "Checkpoint made here" },
                        MarkKind::Origin => { "Forked here from" },
                    }
                    @if let Some(name) = &mark.name {
                        ": "
                        @match &mark.chat { Some(chat) => a href=(link::moment(chat, Some(n))) { bdi { (name) } }, None => bdi { (name) } }
                    }
                }
            }
        }
    }
}

/// All parts of a state that are simply what they are.
fn parts(chat: &str, here: &ShowReport) -> Vec<(&'static str, Markup)> {
    vec![
        ("source", source(chat, here)),
        ("left", left_out(here)),
        ("scene", scene(chat, here)),
        ("recap", recap(here)),
        ("queue", queue(here)),
        ("variables", variables(chat, here)),
    ]
}

/// Where the state of the book comes from, and how sure that is.
fn source(chat: &str, here: &ShowReport) -> Markup {
    let book = &here.book;
    let from = &book.source;
    let facts = book.entries.iter().filter(|entry| entry.role == "fact").count();
    let place = |message: usize| html! { a data-at=(message) href=(link::step(chat, message, here.at)) { "message " (message) } };
    html! {
        @if let Some(name) = &book.name { p.name { bdi { (name) } " · " (words::count(facts, "entry")) } }
        p.source {
            @match (from.kind, from.message) {
                ("head", _) => { strong { "Exact." } " This is the last message: the lorebook as it is now." },
                ("unchanged", _) => { strong { "Exact." } " Nothing has changed since, and history proves it: the lorebook as it is now." },
                ("history", _) => { strong { "Exact." } " History saw the lorebook at this message." },
                ("scene", Some(message)) => {
                    strong { "From scenes." } " As the scenes tell it up to " (place(message))
                    @match from.distance { Some(0) => { ", right here." }, Some(n) => { ", " (words::count(n, "message")) " before." }, None => { "." } }
                },
                ("scene", None) => { strong { "From scenes." } " No scene has ended yet." },
                ("none", _) => { "No lorebook is bound to this chat." },
                _ => { strong { "Not exact." } " Nothing tells how the lorebook was: this is how it is now." },
            }
        }
        @if book.by_choice {
            p.quiet {
                (words::count(book.others, "other chat")) " " (if book.others == 1 { "uses" } else { "use" }) " this lorebook, too. "
                a href=(link::own_copy(chat)) { "Give this chat its own copy" }
            }
        }
        @for warning in here.warnings.iter().filter(|warning| warning.code != WarningCode::StateInexact) { p.warning { (warning.message) } }
    }
}

fn entries(line: &Line, here: &ShowReport, changes: &Changes, registries: bool) -> Markup {
    html! {
        @for (key, found) in keyed(here).filter(|(_, entry)| (entry.role != "fact") == registries) {
            (entry(&line.chat, &key, found, changes.of.get(&key)))
        }
    }
}

fn entry(chat: &str, key: &str, entry: &ShowEntry, change: Option<&Difference>) -> Markup {
    let word = change.map(|change| match change {
        Difference::New => "new",
        Difference::Changed { .. } => "changed",
    });
    let is_fact = entry.role == "fact";
    html! {
        li.entry id=(key) data-key=(key) data-change=[word] {
            h3 {
                (marks::title(&entry.comment))
                @if let Some(word) = word { span.flag { @if word == "new" { "+ new" } @else { "~ changed" } } }
                @if entry.disable && is_fact { span.badge { "off" } }
                @if entry.constant { span.badge { "always on" } }
                @if entry.undated { span.badge.doubt { "undated" } }
            }
            @if !entry.keys.is_empty() {
                p.keys { span.unseen { "Keys: " } @for key in entry.keys.iter().take(24) { span.key { bdi { (key) } } " " } }
            }
            @if let Some(Difference::Changed { text, keys, switched }) = change {
                div.change {
                    @if !text.is_empty() { div.marked.said dir="auto" { (marks::within(text, &entry.content)) } }
                    @if *keys { p.quiet { "Its keys were others before." } }
                    @if *switched { p.quiet { @if entry.disable { "It was on before." } @else { "It was off before." } } }
                }
            }
            (marks::text(&entry.content, FOLD.2))
            p.origin {
                span { (origin(chat, entry)) }
                @if let Some(uid) = entry.uid { span.uid { "uid " (uid) } }
            }
        }
    }
}

fn origin(chat: &str, entry: &ShowEntry) -> Markup {
    let place = |message: usize| html! { a data-at=(message) href=(link::moment(chat, Some(message))) { "message " (message) } };
    html! {
        @match (entry.source, entry.message) {
            ("undated", _) => { "Nothing tells when it was written" },
            ("head" | "degraded", _) => { "As it is now" },
            ("unchanged", Some(message)) => { "Unchanged since " (place(message)) },
            ("unchanged", None) => { "Unchanged since the start" },
            ("history", Some(message)) => { "Seen by history at " (place(message)) },
            ("history", None) => { "Seen by history" },
            (_, Some(message)) => { "From the scene at " (place(message)) },
            ("start", None) => { "There from the start" },
            (_, None) => { "From a scene" },
        }
        @if entry.inferred.iter().any(|field| field == "content") { ", text put together from evidence" }
    }
}

fn left_out(here: &ShowReport) -> Markup {
    let left = &here.book.left_out;
    if left.is_empty() {
        return html! {};
    }
    html! {
        details.left {
            summary { "Left out " span.quiet { (words::count(left.len(), "entry")) " that " @if left.len() == 1 { "does" } @else { "do" } " not belong here" } }
            ul {
                @for out in left {
                    li {
                        @if out.lines > 0 { (words::count(out.lines, "line")) " of " }
                        (marks::title(&out.comment)) " " span.quiet { (out.why) }
                    }
                }
            }
        }
    }
}

fn scene(chat: &str, here: &ShowReport) -> Markup {
    html! {
        section.scene {
            h2 { "Scene" }
            @match &here.scene {
                None => p.quiet { "No scene has ended yet." },
                Some(scene) => {
                    p.name {
                        bdi { (scene.name.as_deref().unwrap_or("without a name")) } " "
                        span.quiet { @if scene.message == here.at { "ends here" } @else { "ended at " a data-at=(scene.message) href=(link::moment(chat, Some(scene.message))) { "message " (scene.message) } } }
                    }
                    @if let Some(text) = &scene.recap { (marks::text(text, FOLD.2)) }
                }
            }
        }
    }
}

fn recap(here: &ShowReport) -> Markup {
    let recap = &here.running_recap;
    html! {
        section.recap {
            h2 { "Running recap" @if let Some(version) = recap.current_version { span.badge { "version " (version) } } }
            @match &recap.content {
                Some(text) => (marks::text(text, FOLD.2 * 2)),
                None => p.quiet { "There is none here yet." },
            }
            @if recap.dropped > 0 { p.quiet { (words::count(recap.dropped, "version")) " of later messages or of another line left out." } }
            @if let Some(combined) = &here.combined_recap {
                h3 { "Combined recap" } p.quiet { "Of " (combined.message_count) " messages." }
                (marks::text(&combined.content, FOLD.2))
            }
        }
    }
}

fn queue(here: &ShowReport) -> Markup {
    let queue = &here.queue;
    html! {
        section.queue {
            h2 { "Queue" }
            @if queue.operations.is_empty() { p.quiet { "Nothing waits to be done." } }
            ul { @for operation in &queue.operations { li { bdi { (operation.kind) } " " span.badge { (operation.status) } } } }
        }
    }
}

fn variables(chat: &str, here: &ShowReport) -> Markup {
    let metadata = &here.metadata;
    let Some(variables) = &metadata.variables else { return html! {} };
    let read: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(variables.get()).unwrap_or_default();
    let from = match (metadata.source, metadata.message) {
        ("history", Some(message)) => Some(("Saved at", message)),
        ("backup", Some(message)) => Some(("From a backup at", message)),
        _ => None,
    };
    html! {
        section.variables {
            h2 { "Variables" }
            @if let ("first", Some(message)) = (metadata.source, metadata.message) { p.quiet { "As they were when Forklore first saw this chat, at message " (message) ": nothing tells how they were before." } }
            @if metadata.source == "inherited" { p.quiet { "As they are now: nothing tells how they were." } }
            @if let Some((word, message)) = from { p.quiet { (word) " " a data-at=(message) href=(link::moment(chat, Some(message))) { "message " (message) } "." } }
            dl {
                @for (name, value) in &read {
                    dt { bdi { (name) } }
                    dd { (marks::text(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), FOLD.1)) }
                }
            }
        }
    }
}
