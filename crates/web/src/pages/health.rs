//! What is wrong ([`page`]), and what healing would change ([`preview`]).

use std::collections::BTreeMap;

use forklore_api::FailureReport;
use forklore_api::heal::Healed;
use forklore_api::look::HealthReport;
use forklore_core::check::{Code, Finding, Severity};
use forklore_engine::heal::{Action, Choice, Quarantined, Question};
use maud::{Markup, html};

use super::{act, parts};
use crate::names::name_of;
use crate::{Here, Page, link, words};

const STYLES: &[&str] = &["act", "health"];

/// All findings, story by story, the worst first.
pub fn page(report: &HealthReport, chat: Option<&str>) -> Page {
    let findings = &report.check.findings;
    let many = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (many(Severity::Error), many(Severity::Warning));
    let body = html! {
        @match (chat, &report.story) {
            (Some(chat), _) => (parts::crumbs(&[("Health", Some(link::health(None))), (chat, None)])),
            (None, Some(story)) => {
                (parts::crumbs(&[(report.names.get(story).map_or(story, String::as_str), Some(link::tree(story))), ("Health", None)]))
            },
            (None, None) => {},
        }
        h1 { "Health" @if let (None, Some(story)) = (chat, &report.story) { " of " bdi { (report.names.get(story).unwrap_or(story)) } } }
        p.lead {
            @match (errors, warnings) {
                (0, 0) => { "All is well." },
                (0, _) => { "Nothing is wrong with the story. " (words::count(warnings, "thing")) " could be better." },
                _ => { (words::count(errors, "thing")) " should be mended before you play on." },
            }
            " " span.quiet { (words::count(report.chats, "chat")) " looked at." @if report.story.is_some() { " " a href=(link::health(None)) { "Look at all stories" } } }
        }
        @if !findings.is_empty() {
            p.go {
                a.button.main href=(link::heal(chat)) { "See what healing would change" }
                span.quiet { "Nothing is changed before you say so, and all of it can be undone." }
            }
        }
        @for (story, findings) in by_story(findings) {
            section.story-health {
                @match story {
                    Some(story) => h2 { a href=(link::tree(story)) { bdi { (report.names.get(story).map_or(story, String::as_str)) } } },
                    None => h2 { "The whole vault" },
                }
                @for (code, findings) in by_code(&findings) { (group(code, &findings)) }
            }
        }
    };
    Page { here: Here::Health, title: "Health".to_owned(), styles: STYLES, scripts: &[], body }
}

/// Findings by the story that they are about; the vault's own last.
fn by_story(findings: &[Finding]) -> Vec<(Option<&str>, Vec<&Finding>)> {
    let mut stories: BTreeMap<Option<&str>, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        stories.entry(finding.chat.as_deref().map(link::story_of)).or_default().push(finding);
    }
    let worst = |all: &[&Finding]| all.iter().map(|finding| finding.severity).max();
    let mut stories: Vec<_> = stories.into_iter().collect();
    stories.sort_by_key(|(story, all)| (std::cmp::Reverse(worst(all)), story.is_none()));
    stories
}

/// Findings of the same kind together, the worst first.
fn by_code<'a>(findings: &[&'a Finding]) -> Vec<(Code, Vec<&'a Finding>)> {
    let mut kinds: Vec<(Code, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match kinds
            .iter_mut()
            .find(|(code, all)| *code == finding.code && all[0].severity == finding.severity)
        {
            Some((_, all)) => all.push(finding),
            None => kinds.push((finding.code, vec![finding])),
        }
    }
    kinds.sort_by_key(|(_, all)| std::cmp::Reverse(all[0].severity));
    kinds
}

fn group(code: Code, findings: &[&Finding]) -> Markup {
    let severity = findings[0].severity;
    let (class, word) = match severity {
        Severity::Error => ("error", "Mend before you play on"),
        Severity::Warning => ("warning", "Could be better"),
        Severity::Info => ("info", "Worth knowing"),
    };
    // What to do is mostly the same for all of them, and then said once.
    let same = Some(findings[0].to_do.as_str());
    let same = same.filter(|text| !text.is_empty() && findings.iter().all(|finding| finding.to_do == *text));
    // Everybody has many of the harmless ones: they wait folded.
    let id = format!("f-{}-{}", code.as_str(), findings[0].chat.as_deref().unwrap_or_default());
    html! {
        details.finding.(class) id=(id) open[severity != Severity::Info] {
            summary { span.sev { (word) } h3 { (code.title()) } span.badge { (findings.len()) } }
            p.why { (explain(code)) }
            @if let Some(to_do) = same { p.todo { "What to do: " (to_do) } }
            ul {
                @for finding in findings {
                    li {
                        p {
                            @if let Some(chat) = &finding.chat { a href=(link::moment(chat, None)) title=(chat) { bdi { (words::chat_name(name_of(chat))) } } ": " }
                            @if let (None, Some(book)) = (&finding.chat, &finding.book) { strong { bdi { (book) } } ": " }
                            (finding.message)
                        }
                        @if same.is_none() && !finding.to_do.is_empty() { p.todo { "What to do: " (finding.to_do) } }
                        @if let Some(chat) = finding.chat.as_deref().filter(|_| severity != Severity::Info) {
                            p.todo { a href=(link::heal(Some(chat))) { "See what healing this chat would change" } }
                        }
                    }
                }
            }
        }
    }
}

/// What a kind of finding means for the story, in plain words.
fn explain(code: Code) -> &'static str {
    match code {
        Code::BookShared => "What is written while you play one of these chats shows up in the others.",
        Code::BookSharedByChoice => "That is a normal way to use a lorebook that you keep yourself.",
        Code::BookMissing => "SillyTavern goes on without the lore and does not say so.",
        Code::BookForeign => "The chat reads, and perhaps writes, what belongs to another one.",
        Code::BookOrphaned => "Its chat was probably deleted, or bound to another lorebook.",
        Code::BookDamaged => "SillyTavern may show it as empty, or it lacks something that this line had.",
        Code::BookAlsoGlobal => "In a fork, its copy and the original would be active at the same time.",
        Code::RegistryDangling => "The memory extension's list of entries does not match the entries.",
        Code::RegistryIndexStale => "The memory extension may offer entries that this chat does not have.",
        Code::RecapFromFuture => "The recap tells of messages that this chat does not have.",
        Code::RecapForeign => "The recap tells of scenes that were played on another line.",
        Code::RecapVersionMissing => "Scenes were merged into the recap, and what they added is gone.",
        Code::EntryFromFuture => "The model is told things that have not happened yet in this chat.",
        Code::EntryForeign => "The model is told things that happened on another line.",
        Code::QueueForeign => "Waiting work is about messages that this chat does not have.",
        Code::QueueStuck => "It was tried again and again, or never ends.",
        Code::ParentMissing => "Nothing is lost in this chat; only its place in the tree is open.",
        Code::ParentRenamed => "Forklore found it by its messages. SillyTavern does not.",
        Code::LinkDangling => "A flag in the chat leads nowhere.",
        Code::SlugDuplicate => "SillyTavern takes them for the same chat.",
        Code::UnrecordedFork => {
            "Nothing records what it started from, so Forklore works it out from the messages."
        }
        Code::PendingFork => "It was saved without its lorebook, which is still to be made.",
        Code::BaselineChanged => "If that was you, all is well.",
        Code::ChatDamaged => "SillyTavern drops what it cannot read when it next saves the chat.",
        Code::TmpLitter => "They only take up space.",
        Code::UnfinishedOperation => "Forklore tries again with everything that it does.",
        Code::ConflictOpen => {
            "Both branches went on with the same thing, each in its own way. Play on; answer when you like."
        }
        Code::HistoryDamaged => "Something that Forklore keeps is not what it was. Chats are not affected.",
    }
}

/// What healing would change, with what there is to decide.
pub fn preview(
    chat: Option<&str>,
    chosen: &BTreeMap<String, Choice>,
    plan: &Result<Healed, FailureReport>,
) -> Page {
    let body = html! {
        (parts::crumbs(&[("Health", Some(link::health(chat))), ("Heal", None)]))
        h1 { "Heal" @if let Some(chat) = chat { " " bdi { (words::chat_name(name_of(chat))) } } }
        p.lead { "No existing lorebook is written. A chat gets a new one, and the old one stays or goes to the trash." }
        @match plan {
            Err(told) => section.card.plan { (act::refusal(told)) },
            Ok(healed) => (planned(chat, chosen, healed)),
        }
    };
    Page { here: Here::Health, title: "Heal".to_owned(), styles: STYLES, scripts: &[], body }
}

fn planned(chat: Option<&str>, chosen: &BTreeMap<String, Choice>, healed: &Healed) -> Markup {
    let actions = &healed.report.actions;
    html! {
        form #cure method="get" action="heal" data-preview {
            @if let Some(chat) = chat { input type="hidden" name="chat" value=(chat); }
            input type="hidden" name="kind" value="heal";
            @let (first, others): (Vec<&Question>, Vec<&Question>) = healed.questions.iter().partition(|question| question.ask_first);
            @if !healed.questions.is_empty() {
                section.card aria-labelledby="decide" {
                    h2 #decide { "What you decide" }
                    @for question in first { (asking(question, chosen.get(&question.chat).copied())) }
                    @if !others.is_empty() {
                        // What is best is known: who wants something else finds it here.
                        details #otherwise open[others.iter().any(|question| chosen.contains_key(&question.chat))] {
                            summary { "Choose something else for " (if others.len() == 1 { "one chat".to_owned() } else { format!("single ones of {}", words::count(others.len(), "chat")) }) }
                            @for question in others { (asking(question, chosen.get(&question.chat).copied())) }
                        }
                    }
                    button { "Show the plan" }
                }
            }
            section.card.plan aria-labelledby="plan" {
                @if actions.is_empty() {
                    h2 #plan { "Nothing would change" }
                    p { "There is nothing that healing can mend here." }
                    p.go { a.button href=(link::health(chat)) { "Back to the findings" } }
                } @else {
                    h2 #plan { "What will change" }
                    @let (adopted, mended): (Vec<_>, Vec<_>) = by_chat(actions).into_iter().partition(|(_, actions)| is_adopted(actions));
                    p { (tally(mended.len(), adopted.len())) }
                    @for (chat, actions) in &mended {
                        div.cure {
                            h3 title=(chat) { bdi { (words::chat_name(name_of(chat))) } }
                            p { (sentence(actions)) }
                            (quarantined(chat, &healed.report.quarantined))
                            details {
                                summary { "What was found" }
                                ul { @for title in found(actions) { li { (title) } } }
                            }
                        }
                    }
                    @if !adopted.is_empty() {
                        details.adopted {
                            summary { (words::count(adopted.len(), "fork")) " that only " (if adopted.len() == 1 { "gets its" } else { "get their" }) " place in the tree recorded" }
                            ul { @for (chat, _) in &adopted { li { bdi { (words::chat_name(name_of(chat))) } } } }
                        }
                    }
                    p.go {
                        button.main formmethod="post" formaction="act" { "Heal" }
                        a.button href=(link::health(chat)) { "Not now" }
                    }
                }
            }
        }
        @if !healed.report.left.is_empty() {
            details #left {
                summary { (words::count(healed.report.left.len(), "finding")) " that healing leaves" }
                ul.rows { @for finding in &healed.report.left { li { span { @if let Some(chat) = &finding.chat { bdi { (chat) } ": " } (finding.message) } span.quiet { (finding.to_do) } } } }
            }
        }
    }
}

fn by_chat(actions: &[Action]) -> BTreeMap<&str, Vec<&Action>> {
    let mut chats: BTreeMap<&str, Vec<&Action>> = BTreeMap::new();
    for action in actions {
        chats.entry(&action.chat).or_default().push(action);
    }
    chats
}

/// A chat with which nothing is wrong but that nobody noted where it comes from.
fn is_adopted(actions: &[&Action]) -> bool {
    actions.iter().all(|action| action.code == Code::UnrecordedFork)
}

fn tally(mended: usize, adopted: usize) -> String {
    match (mended, adopted) {
        (0, n) => format!("Nothing is mended; {} recorded.", words::count(n, "fork is")),
        (n, 0) => format!(
            "{} mended.",
            if n == 1 { "One chat is".to_owned() } else { format!("{} are", words::count(n, "chat")) }
        ),
        (n, m) => format!(
            "{} mended, and {} more only recorded.",
            if n == 1 { "One chat is".to_owned() } else { format!("{} are", words::count(n, "chat")) },
            words::number(m)
        ),
    }
}

/// All that is done to a chat, each thing once, in one sentence.
fn sentence(actions: &[&Action]) -> String {
    let mut told: Vec<String> = Vec::new();
    for action in actions.iter().filter(|action| action.code != Code::UnrecordedFork) {
        let text = match (&action.book, action.did.starts_with("a ")) {
            (Some(_), true) => format!("it gets {}", action.did),
            _ => action.did.clone(),
        };
        if !told.contains(&text) {
            told.push(text);
        }
    }
    if actions.iter().any(|action| action.code == Code::UnrecordedFork) {
        told.push("its place in the tree is recorded".to_owned());
    }
    let all = told.join("; ");
    let mut letters = all.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect::<String>() + ".")
}

/// What was found wrong with a chat, each thing once.
fn found(actions: &[&Action]) -> Vec<&'static str> {
    let mut titles: Vec<&str> = Vec::new();
    for action in actions {
        let title = action.code.title();
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    titles
}

/// Entries that nobody can attribute.
fn quarantined(chat: &str, all: &[Quarantined]) -> Markup {
    let titles: Vec<&str> =
        all.iter().filter(|one| one.chat == chat).map(|one| one.comment.as_str()).collect();
    html! {
        @if !titles.is_empty() {
            p {
                (words::count(titles.len(), "entry")) " that nobody can attribute "
                (if titles.len() == 1 { "stays where it is" } else { "stay where they are" })
                ", with a copy in this chat's record: "
                @for (n, title) in titles.iter().enumerate() { @if n > 0 { ", " } bdi { (title) } }
                "."
            }
        }
    }
}

fn asking(question: &Question, chosen: Option<Choice>) -> Markup {
    let field = format!("choose/{}", question.chat);
    let optional = question.code == Code::BookSharedByChoice;
    let own = question.copy_of.as_ref() == Some(&question.book);
    let best = match question.choices.first() {
        Some(Choice::Follow) => "the same lorebook under its new name",
        _ => "a new lorebook with what its own line has earned",
    };
    html! {
        label.ask {
            span { strong title=(question.chat) { bdi { (words::chat_name(name_of(&question.chat))) } } " " (question.text) }
            select id=(field) name=(field) {
                option value="" selected[chosen.is_none()] { @if optional { "Go on sharing it" } @else if question.ask_first { "Leave it as it is for now" } @else { "What is best (" (best) ")" } }
                @for choice in &question.choices {
                    @let meaning = if own && *choice == Choice::Copy { "A copy of it, for this chat alone" } else { meaning(*choice) };
                    option value=(word(*choice)) selected[chosen == Some(*choice)] { (meaning) }
                }
            }
        }
    }
}

fn word(choice: Choice) -> &'static str {
    match choice {
        Choice::Follow => "follow",
        Choice::Rebuild => "rebuild",
        Choice::Empty => "empty",
        Choice::Copy => "copy",
        Choice::Detach => "detach",
        Choice::Accept => "accept",
    }
}

fn meaning(choice: Choice) -> &'static str {
    match choice {
        Choice::Follow => "The same lorebook under its new name",
        Choice::Rebuild => "A new lorebook with what its own line has earned",
        Choice::Empty => "A new lorebook without entries",
        Choice::Copy => "A copy of its parent's lorebook as it is now",
        Choice::Detach => "No lorebook",
        Choice::Accept => "Leave it, and say no more about it",
    }
}
