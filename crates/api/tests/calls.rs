//! What is asked of a vault and what is answered, without a terminal and without HTTP.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set up its files should stop")]

use std::sync::Arc;

use forklore_api::fork::{self, Asked};
use forklore_api::heal::{self, Cure};
use forklore_api::look::{self, AnyChat, OneChat, Spot};
use forklore_api::ops::{self, Deletion, Limit, Renaming, Restoring, Undoing};
use forklore_api::{ErrorCode, Failure, OpenVault};
use forklore_core::fork::ForkKind;
use forklore_engine::fork::{ForkReport, ForkRequest};
use forklore_fs::RealFs;
use forklore_testkit::TestVault;
use forklore_vault::NoProgress;
use serde_json::json;

fn open(vault: &TestVault) -> OpenVault<'static> {
    let fs = Arc::new(RealFs::new(&vault.root()).unwrap());
    OpenVault { fs, progress: &NoProgress, told: &|_| {}, settle: true, library_cache: None }
}

/// Two chats of one character that share a lorebook, which nothing but a hand keeps.
fn ana() -> TestVault {
    let of = |slug: &str| json!({"integrity": slug, "world_info": "Lore"});
    TestVault::new()
        .chat("Ana", "Rain", &of("slug-a"), &["Hello.", "Hi.", "It rains.", "It does."])
        .chat("Ana", "Sun", &of("slug-b"), &["Good day.", "Hi."])
        .book("Lore", &[("Rain", "It is wet.")])
}

fn spot(chat: &str, at: usize) -> Spot {
    Spot { chat: chat.to_owned(), at: Some(at) }
}

fn branch(chat: &str, at: usize, name: &str) -> ForkRequest {
    ForkRequest {
        kind: Some(ForkKind::Branch),
        at: Some(at),
        name: Some(name.to_owned()),
        ..ForkRequest::of(chat.to_owned())
    }
}

fn made(vault: &TestVault, request: &ForkRequest) -> Result<ForkReport, Failure> {
    match fork::fork(&open(vault), request)? {
        Asked::Made(report) => Ok(*report),
        Asked::Waits { .. } => panic!("nothing waits in this vault"),
    }
}

/// A failure says what it is in sentences: code, what happened, what to do next, which can end with names to choose from.
fn is_told(failure: &Failure, code: ErrorCode) {
    assert_eq!(failure.code, code, "{failure:?}");
    let told = failure.as_json();
    for sentence in ["message", "hint"] {
        let text = told["error"][sentence].as_str().unwrap();
        assert!(
            text.len() > 5 && text.ends_with(['.', '!', '?', '"']),
            "{sentence} is no sentence: {text:?}"
        );
    }
    assert_eq!(told["error"]["code"], code.as_str());
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let vault = ana();
    let failure = look::show(&open(&vault), &spot("Rian", 0)).unwrap_err();
    is_told(&failure, ErrorCode::ChatNotFound);
    let failure = look::show(&open(&vault), &spot("Rain", 4)).unwrap_err();
    is_told(&failure, ErrorCode::MessageNotFound);
    let story = look::OneStory { story: "Bo".to_owned() };
    is_told(&look::gained(&open(&vault), &story).unwrap_err(), ErrorCode::StoryNotFound);
    let nothing = ops::undo(&open(&vault), &Undoing::default()).unwrap_err();
    is_told(&nothing, ErrorCode::NothingToUndo);
}

#[test]
fn a_name_that_two_chats_have_asks_which() {
    let vault = ana().chat("Bo", "Rain", &json!({"integrity": "slug-c"}), &["Hello."]);
    let failure = look::queue(&open(&vault), &OneChat { chat: "Rain".to_owned() }).unwrap_err();
    is_told(&failure, ErrorCode::ChatAmbiguous);
    let told = failure.as_json().to_string();
    assert!(told.contains("Ana/Rain") && told.contains("Bo/Rain"), "{told}");
}

#[test]
fn a_fork_is_refused_with_what_to_do_and_changes_nothing() {
    let vault = ana();
    let before = vault.snapshot();
    is_told(&made(&vault, &branch("Rain", 9, "Other")).unwrap_err(), ErrorCode::MessageNotFound);
    is_told(&made(&vault, &branch("Rain", 1, "sun")).unwrap_err(), ErrorCode::NameTaken);
    is_told(&made(&vault, &branch("Rain", 1, "..")).unwrap_err(), ErrorCode::InvalidName);
    let dry = made(&vault, &ForkRequest { dry_run: true, ..branch("Rain", 1, "Other") }).unwrap();
    assert_eq!((dry.operation, dry.at), (None, 1));
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn what_was_made_is_in_the_log_and_comes_and_goes_with_undo_and_redo() {
    let vault = ana();
    let before = vault.snapshot();
    let report = made(&vault, &branch("Rain", 1, "Other")).unwrap();
    assert_eq!(report.chat, "Ana/Other");
    let after = vault.snapshot();
    let (log, all) = ops::log(&open(&vault), &Limit::default()).unwrap();
    assert_eq!((log.operations.len(), all), (1, 1));
    ops::undo(&open(&vault), &Undoing { operation: report.operation, dry_run: false }).unwrap();
    assert_eq!(vault.snapshot(), before);
    ops::redo(&open(&vault), &ops::Redoing::default()).unwrap();
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&vault.snapshot()), names(&after));
}

#[test]
fn a_chat_that_is_deleted_leaves_the_book_that_another_uses_and_comes_back() {
    let vault = ana();
    let before = vault.snapshot();
    let deletion = Deletion { chat: "Sun".to_owned(), dry_run: false };
    let report = ops::delete(&open(&vault), &deletion).unwrap();
    assert!(report.books.is_empty() && vault.root().join("worlds/Lore.json").exists());
    let (trash, _) = ops::trash(&open(&vault)).unwrap();
    let id = report.operation.unwrap();
    assert!(serde_json::to_string(&trash).unwrap().contains(&id));
    ops::restore(&open(&vault), &Restoring { item: id, dry_run: false }).unwrap();
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_rename_is_planned_refused_and_done() {
    let vault = ana();
    let renaming = |name: &str, dry_run| Renaming { chat: "Sun".to_owned(), name: name.to_owned(), dry_run };
    is_told(&ops::rename(&open(&vault), &renaming("Rain", false)).unwrap_err(), ErrorCode::NameTaken);
    ops::rename(&open(&vault), &renaming("Moon", true)).unwrap();
    assert!(vault.root().join("chats/Ana/Sun.jsonl").exists());
    ops::rename(&open(&vault), &renaming("Moon", false)).unwrap();
    assert!(vault.root().join("chats/Ana/Moon.jsonl").exists());
}

#[test]
fn healing_tells_what_there_is_to_decide_and_decides_nothing_by_itself() {
    let gone = json!({"integrity": "slug-d", "world_info": "Gone"});
    let vault = ana().chat("Ana", "Lost", &gone, &["Hello.", "Hi."]);
    let before = vault.snapshot();
    let cure = Cure { chat: Some("Lost".to_owned()), dry_run: true, ..Cure::default() };
    let healed = heal::heal(&open(&vault), &cure).unwrap();
    let asked = healed.questions.first().unwrap();
    assert_eq!((asked.chat.as_str(), asked.book.as_str()), ("Ana/Lost", "Gone"));
    assert!(!asked.choices.is_empty());
    assert_eq!(vault.snapshot(), before);
    let (findings, chats) = look::check(&open(&vault), &AnyChat { chat: Some("Lost".to_owned()) }).unwrap();
    assert!(!findings.findings.is_empty() && chats > 0);
}
