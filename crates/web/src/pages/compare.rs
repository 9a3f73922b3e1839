//! Two moments side by side: where they part, and everything that differs.

use forklore_core::diff::Quiet;
use forklore_engine::diff::{
    Chosen, DiffChange, DiffEntry, DiffField, DiffName, DiffRegistry, DiffReport, DiffRow, DiffSide,
    DiffSpan, DiffValue,
};
use forklore_engine::line::{Companion, LineMessage};
use forklore_engine::show::ShowOperation;
use maud::{Markup, html};
use serde_json::value::RawValue;

use super::{marks, parts};
use crate::names::{self, Names};
use crate::{Here, Page, link, words};

/// How much of a text is shown unfolded.
const FOLD: usize = 700;
/// How much of a message is.
const TURN: usize = 500;

/// Two moments. `onward` is what each of them says from where they part.
pub fn page(report: &DiffReport, onward: &[Vec<LineMessage>; 2], companions: &[Companion]) -> Page {
    let (a, b) = (&report.a, &report.b);
    let differs = report.book.added.len() + report.book.removed.len() + loud(report).count();
    let names = Names::of(companions);
    let body = html! {
        (parts::way(&a.chat, None, "Compare"))
        h1 { "Compare" }
        (form(companions, &names, (&a.chat, Some(a.at)), (&b.chat, Some(b.at))))
        p.lead { (report.parting()) }
        @match report.chosen {
            Chosen::Asked => {},
            Chosen::Parent => p.quiet { "No second chat was named, so A is the chat that it was forked from." },
            Chosen::Head => p.quiet { "No second message was named, so B is the last one." },
        }
        div.sides.heads { (side("A", a, &names)) (side("B", b, &names)) }
        (transcript(report, onward))
        section aria-labelledby="entries" {
            h2 #entries { "Lorebook" }
            @if differs == 0 && report.book.is_empty() { p.quiet { "The entries are the same in both." } }
            @else { p.quiet { (tally(report)) } }
            @for change in loud(report) { (changed(change, a, b)) }
            @for entry in &report.book.removed { (only("A", a, entry)) }
            @for entry in &report.book.added { (only("B", b, entry)) }
            (quiet(report))
        }
        (registries(report))
        (recaps(report))
        (values("Variables", &report.variables))
        (values("Author's note", &report.note))
        (values("Other metadata", &report.metadata))
        (timed(report))
        (queue(report))
        @if report.is_state_same() { p.same { "Lorebook, recaps, variables and queue are the same in both." } }
    };
    Page {
        here: Here::Stories,
        title: "Compare".to_owned(),
        styles: &["compare"],
        scripts: &["compare"],
        body,
    }
}

/// One moment, and the other still to choose.
pub fn choose(chat: &str, at: Option<usize>, companions: &[Companion]) -> Page {
    // Most people want to see what another line made of the story.
    let other = companions.iter().find(|other| other.chat != chat).map_or(chat, |other| other.chat.as_str());
    let names = Names::of(companions);
    let body = html! {
        (parts::way(chat, None, "Compare"))
        h1 { "Compare" }
        p.lead { "Choose two moments of the story. They can be in one chat or in two." }
        (form(companions, &names, (chat, at), (other, None)))
    };
    Page {
        here: Here::Stories,
        title: "Compare".to_owned(),
        styles: &["compare"],
        scripts: &["compare"],
        body,
    }
}

fn form(
    companions: &[Companion],
    names: &Names,
    a: (&str, Option<usize>),
    b: (&str, Option<usize>),
) -> Markup {
    let side = |name: &str, (chat, at): (&str, Option<usize>)| {
        let lower = name.to_lowercase();
        let known = companions.iter().any(|other| other.chat == chat);
        let last =
            companions.iter().find(|other| other.chat == chat).map(|other| other.messages.saturating_sub(1));
        html! {
            fieldset {
                legend { (name) }
                label { "Chat"
                    select name=(lower) {
                        @if !known { option value=(chat) selected { (chat) } }
                        @for other in companions {
                            option value=(other.chat) data-last=(other.messages.saturating_sub(1)) selected[other.chat == chat] { (names.get(&other.chat)) }
                        }
                    }
                }
                label { "Message"
                    input type="number" name={ (lower) "_at" } min="0" max=[last] value=[at] placeholder="last" inputmode="numeric" autocomplete="off";
                }
            }
        }
    };
    html! {
        form.choose method="get" action="compare" {
            (side("A", a))
            a.button.swap href=(link::compare(b.0, b.1, Some(a.0), a.1)) title="A becomes B, and B becomes A" { span aria-hidden="true" { "⇄" } " Swap" }
            (side("B", b))
            button.main type="submit" { "Compare" }
        }
    }
}

/// What is compared.
fn side(name: &str, side: &DiffSide, names: &Names) -> Markup {
    let source = match side.book.source.kind {
        "head" | "unchanged" | "history" => "exact",
        "scene" => "from scenes",
        "none" => "no lorebook",
        _ if side.book.source.message.is_some() => "not exact: as Forklore first saw it",
        _ => "not exact: as it is now",
    };
    html! {
        div.side.head {
            p.which { (name) }
            h2 { a href=(link::moment(&side.chat, Some(side.at))) title=(names::name_of(&side.chat)) { bdi { (names.get(&side.chat)) } } }
            p { "Message " strong { (side.at) } @if side.at + 1 == side.messages { ", its last one" } }
            @if let Some(scene) = &side.scene { p.quiet { "After the scene " bdi { (scene.name.as_deref().unwrap_or("without a name")) } } }
            p.quiet { (words::count(side.book.entries, "entry")) " with registries, " (source) }
            @for warning in &side.warnings { p.warning { (warning.message) } }
            @for note in &side.notes { p.quiet { (note) } }
        }
    }
}

fn transcript(report: &DiffReport, onward: &[Vec<LineMessage>; 2]) -> Markup {
    let told = &report.transcript;
    let (a, b) = (&told.next.a, &told.next.b);
    if a.is_none() && b.is_none() && told.edits.is_empty() {
        return html! {};
    }
    let side = |name: &str, side: &DiffSide, messages: &[LineMessage]| {
        html! {
            div.side {
                @if messages.is_empty() { p.quiet { (name) " ends there." } }
                @for message in messages {
                    div.turn {
                        p.speaker {
                            (parts::face(&message.speaker, None)) " "
                            a href=(link::moment(&side.chat, Some(message.message))) { span.unseen { (name) ": message " } (message.message) } " "
                            strong { bdi { (message.speaker) } }
                        }
                        (marks::speech(&message.text, TURN))
                    }
                }
                @if let Some(left) = messages.last().and_then(|last| side.at.checked_sub(last.message)).filter(|left| *left > 0) {
                    p.quiet { "… and " (words::count(left, "more message")) " to message " (side.at) "." }
                }
            }
        }
    };
    let span = |name: &str, span: Option<DiffSpan>| {
        span.map(|span| match span.to - span.from {
            0 => format!("message {} of {name}", span.from),
            _ => format!("messages {} to {} of {name}", span.from, span.to),
        })
    };
    html! {
        section.part aria-labelledby="part" {
            h2 #part { @if a.is_some() && b.is_some() { "Where they part" } @else { "What comes next" } }
            @if told.swipe { p.quiet { "It is one message with two swipes." } }
            @if a.is_some() || b.is_some() { div.sides { (side("A", &report.a, &onward[0])) (side("B", &report.b, &onward[1])) } }
            @if !told.edits.is_empty() {
                details {
                    summary { "Edited or deleted before that: " (words::count(told.edits.len(), "place")) }
                    ul.edits {
                        @for edit in &told.edits {
                            li {
                                p { @match (span("A", edit.a), span("B", edit.b)) {
                                    (Some(a), Some(b)) => { (a) " and " (b) " differ" },
                                    (Some(one), None) | (None, Some(one)) => { "Only there: " (one) },
                                    (None, None) => {},
                                } }
                                @if let Some(text) = &edit.text { (marks::sides(text)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Changes that mean something.
fn loud(report: &DiffReport) -> impl Iterator<Item = &DiffChange> {
    report.book.changed.iter().filter(|change| !change.quiet)
}

fn tally(report: &DiffReport) -> String {
    let book = &report.book;
    let mut told = vec![format!("{} the same", words::count(book.same, "entry"))];
    for (n, what) in [
        (loud(report).count(), "with differences"),
        (book.removed.len(), "only in A"),
        (book.added.len(), "only in B"),
    ] {
        if n > 0 {
            told.push(format!("{n} {what}"));
        }
    }
    format!("{}.", told.join(", "))
}

fn place(side: &DiffSide, name: &DiffName) -> Markup {
    html! {
        @match name.message {
            Some(message) => { "from " a href=(link::moment(&side.chat, Some(message))) { "message " (message) } },
            None if name.undated => { "undated" },
            None => { "as it is there" },
        }
        @if let Some(uid) = name.uid { " · uid " (uid) }
    }
}

fn changed(change: &DiffChange, a: &DiffSide, b: &DiffSide) -> Markup {
    let told = change.fields.iter().filter(|field| field.quiet.is_none());
    let hushed = change.fields.iter().filter(|field| field.quiet.is_some()).count();
    html! {
        article.entry data-change="changed" {
            h3 {
                (marks::title(&change.comment)) span.flag { "differs" }
                @if change.a.comment != change.comment { span.quiet { " called " (marks::title(&change.a.comment)) " in A" } }
            }
            div.sides.origins { p.side.quiet { "A " (place(a, &change.a)) } p.side.quiet { "B " (place(b, &change.b)) } }
            @for found in told { (field(found)) }
            @if hushed > 0 { p.quiet { (words::count(hushed, "more field")) " can be told apart only because one side does not show them." } }
        }
    }
}

fn field(field: &DiffField) -> Markup {
    html! {
        div.field {
            h4 { (label(&field.field)) }
            @match (&field.text, &field.list) {
                (Some(text), _) => (marks::sides(text)),
                (None, Some(list)) => (marks::list(list)),
                (None, None) => (both(field.before.as_deref(), field.after.as_deref())),
            }
        }
    }
}

/// What people call a field.
fn label(field: &str) -> &str {
    match field {
        "content" => "Text",
        "comment" => "Title",
        "key" => "Keys",
        "keysecondary" => "Secondary keys",
        "disable" => "Switched off",
        "constant" => "Always on",
        other => other,
    }
}

/// Two values as they stand.
fn both(before: Option<&RawValue>, after: Option<&RawValue>) -> Markup {
    html! {
        div.sides {
            div.side { @match before { Some(value) => del { (value_text(value)) }, None => span.quiet { "not there" } } }
            div.side { @match after { Some(value) => ins { (value_text(value)) }, None => span.quiet { "not there" } } }
        }
    }
}

fn value_text(value: &RawValue) -> String {
    let text = serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned());
    match text.char_indices().nth(4000) {
        Some((cut, _)) => format!("{} …", &text[..cut]),
        None => text,
    }
}

fn only(name: &str, side: &DiffSide, entry: &DiffEntry) -> Markup {
    html! {
        article.entry.only data-side=(name) {
            h3 { (marks::title(&entry.comment)) span.flag { "only in " (name) } @if entry.disable { span.badge { "off" } } }
            @if !entry.keys.is_empty() { p.keys { span.unseen { "Keys: " } @for key in entry.keys.iter().take(24) { span.key { bdi { (key) } } " " } } }
            (marks::text(&entry.content, FOLD))
            p.quiet {
                @match entry.message {
                    Some(message) => { "From " a href=(link::moment(&side.chat, Some(message))) { "message " (message) } },
                    None if entry.undated => { "Nothing tells when it was written" },
                    None => { "As it is there" },
                }
                @if let Some(uid) = entry.uid { " · uid " (uid) }
            }
        }
    }
}

/// Changes that probably mean nothing.
fn quiet(report: &DiffReport) -> Markup {
    let hushed: Vec<&DiffChange> = report.book.changed.iter().filter(|change| change.quiet).collect();
    if hushed.is_empty() {
        return html! {};
    }
    html! {
        details.hushed {
            summary { (words::count(hushed.len(), "entry")) " can be told apart only because one side does not show some fields" }
            ul { @for change in hushed { li {
                (marks::title(&change.comment)) " "
                span.quiet {
                    @for field in &change.fields {
                        (label(&field.field)) @match field.quiet { Some(Quiet::Default) => { " (default) " }, _ => { " " } }
                    }
                }
            } } }
        }
    }
}

fn registries(report: &DiffReport) -> Markup {
    if report.registries.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="registries" {
            h2 #registries { "Registries" }
            @for registry in &report.registries { (one_registry(registry)) }
        }
    }
}

fn one_registry(registry: &DiffRegistry) -> Markup {
    let row = |row: &DiffRow| {
        html! {
            (marks::title(&row.name))
            @if !row.aliases.is_empty() { span.quiet { " also " (row.aliases.join(", ")) } }
            @if !row.synopsis.is_empty() { " " span.quiet { (row.synopsis) } }
        }
    };
    html! {
        details.registry {
            summary {
                bdi { (registry.comment) } " "
                span.quiet { (registry.removed.len()) " only in A, " (registry.added.len()) " only in B, " (registry.changed.len()) " changed" }
            }
            ul {
                @for found in &registry.removed { li { del { (row(found)) } } }
                @for found in &registry.added { li { ins { (row(found)) } } }
                @for found in &registry.changed {
                    li { (marks::title(&found.after.name)) span.quiet { " changed" } (marks::list(&found.aliases)) @if !found.synopsis.is_empty() { (marks::sides(&found.synopsis)) } }
                }
            }
            @if registry.other { p.quiet { "Other lines of it differ, or their order." } }
        }
    }
}

fn recaps(report: &DiffReport) -> Markup {
    let running = &report.running_recap;
    let version = |version: Option<i64>| {
        version.map_or_else(|| "none".to_owned(), |version| format!("version {version}"))
    };
    html! {
        @if !running.is_empty() {
            section aria-labelledby="recap" {
                h2 #recap { "Running recap" }
                div.sides.origins { p.side.quiet { "A " (version(running.before)) } p.side.quiet { "B " (version(running.after)) } }
                @if running.text.is_empty() { p.quiet { "The text in use is the same." } } @else { (marks::sides(&running.text)) }
                @let others = running.added.len() + running.removed.len() + running.changed.len();
                @if others > 0 {
                    p.quiet {
                        (words::count(running.same, "version")) " the same, " (running.removed.len()) " only in A, " (running.added.len()) " only in B, "
                        (running.changed.len()) " with one number and another text."
                    }
                }
            }
        }
        @if let Some(combined) = &report.combined_recap {
            section aria-labelledby="combined" {
                h2 #combined { "Combined recap" }
                (marks::sides(&combined.text))
            }
        }
    }
}

fn values(title: &str, values: &[DiffValue]) -> Markup {
    if values.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { (title) }
            @for value in values {
                div.field {
                    h4 { bdi { (value.path.join(" › ")) } }
                    @match &value.text {
                        Some(text) => (marks::sides(text)),
                        None => (both(value.before.as_deref(), value.after.as_deref())),
                    }
                }
            }
        }
    }
}

fn timed(report: &DiffReport) -> Markup {
    let timed = &report.timed_effects;
    let effect = |effect: &forklore_engine::diff::DiffEffect| {
        html! {
            (effect.effect.kind) " " @match &effect.comment { Some(comment) => (marks::title(comment)), None => bdi { (effect.effect.book.as_deref().unwrap_or("an entry")) } }
            @if let (Some(start), Some(end)) = (effect.effect.start, effect.effect.end) { span.quiet { " from message " (start) " to " (end) } }
        }
    };
    let changed = timed.changed.iter().map(|found| (&found.before, &found.after)).collect();
    parted("Sticky and cooldown", &timed.removed, &timed.added, changed, effect)
}

fn queue(report: &DiffReport) -> Markup {
    let queue = &report.queue;
    let operation = |operation: &ShowOperation| html! { bdi { (operation.kind) } " " (operation.status) };
    let changed = queue.changed.iter().map(|found| (&found.before, &found.after)).collect();
    parted("Queue", &queue.removed, &queue.added, changed, operation)
}

/// What only one side has, and what differs; nothing where both have the same.
fn parted<T>(
    title: &str,
    removed: &[T],
    added: &[T],
    changed: Vec<(&T, &T)>,
    one: impl Fn(&T) -> Markup,
) -> Markup {
    if removed.is_empty() && added.is_empty() && changed.is_empty() {
        return html! {};
    }
    html! {
        section {
            h2 { (title) }
            ul.operations {
                @for found in removed { li { "Only in A: " del { (one(found)) } } }
                @for found in added { li { "Only in B: " ins { (one(found)) } } }
                @for (before, after) in changed { li { "A: " del { (one(before)) } " B: " ins { (one(after)) } } }
            }
        }
    }
}
