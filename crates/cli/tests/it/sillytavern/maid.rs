//! SillyTavern's Data Maid offers images and files for deletion that no chat links to: not those that a chat in the trash needs.

use std::fs;
use std::path::Path;

use forklore_testkit::TestVault;
use forklore_testkit::tavern::{Setup, Tavern};
use serde_json::{Value, json};

use super::{ana, on_each, tavern};
use crate::FORKLORE;

/// A story with a picture and a file that are linked to, and a picture and a file that nobody needs.
fn with_pictures() -> TestVault {
    let vault = ana();
    for name in ["kept", "loose"] {
        vault.write(&format!("user/images/Ana/{name} one.png"), name.as_bytes());
        vault.write(&format!("user/images/{name}.mp4"), name.as_bytes());
        vault.write(&format!("user/files/{name}.txt"), name.as_bytes());
    }
    let text = String::from_utf8(vault.read("chats/Ana/Main.jsonl")).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[2]["extra"]["media"] = json!([{"type": "image", "url": "/user/images/Ana/kept one.png"}]);
    lines[2]["extra"]["files"] = json!([{"url": "/user/files/kept.txt", "name": "kept.txt"}]);
    lines[3]["swipe_info"] = json!([{"extra": {"video": "/user/images/kept.mp4"}}]);
    lines[3]["extra"]["video"] = json!("/user/images/kept.mp4");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    vault.write("chats/Ana/Main.jsonl", lines.join("\n").as_bytes());
    vault
}

/// What is offered: images, files, and everything else.
fn offered(tavern: &Tavern) -> (Vec<String>, Vec<String>, Value) {
    let mut answer = tavern.post("api/data-maid/report", &json!({})).ok();
    assert!(answer["token"].is_string(), "{answer}");
    let names = |records: Value| {
        let records = records.as_array().unwrap().clone();
        let mut names: Vec<String> = records.iter().map(|r| r["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let (images, files) = (answer["report"]["images"].take(), answer["report"]["files"].take());
    (names(images), names(files), answer["report"].take())
}

fn loose(tavern: &Tavern) {
    let (images, files, _) = offered(tavern);
    assert_eq!(
        (images, files),
        (vec!["loose one.png".to_owned(), "loose.mp4".to_owned()], vec!["loose.txt".to_owned()])
    );
}

fn everything(tavern: &Tavern) {
    let (images, files, _) = offered(tavern);
    assert_eq!(images, ["kept one.png", "kept.mp4", "loose one.png", "loose.mp4"]);
    assert_eq!(files, ["kept.txt", "loose.txt"]);
}

fn empty(objects: &Path) {
    fs::read_dir(objects).unwrap().for_each(|object| fs::remove_file(object.unwrap().path()).unwrap());
}

#[test]
fn data_maid_offers_nothing_that_the_trash_needs() {
    on_each("Data Maid", |version| {
        let vault = with_pictures();
        let tavern = tavern(version, &vault);
        loose(&tavern);
        assert_eq!(vault.run(FORKLORE, &["delete", "Ana/Main"]).code, Some(0));
        loose(&tavern);
        // What is offered can be deleted as ever.
        let answer = tavern.post("api/data-maid/report", &json!({})).ok();
        let hash = answer["report"]["files"][0]["hash"].clone();
        let delete = json!({"token": answer["token"], "hashes": [hash]});
        assert_eq!(tavern.post("api/data-maid/delete", &delete).status, 204);
        assert!(!vault.root().join("user/files/loose.txt").exists());
        vault.write("user/files/loose.txt", b"loose");
        // As if it had been there for long enough.
        let objects = vault.root().join(".forklore/objects");
        let kept: Vec<_> = fs::read_dir(&objects).unwrap().map(|object| object.unwrap().path()).collect();
        assert!(!kept.is_empty());
        empty(&objects);
        everything(&tavern);
    });
}

#[test]
fn nor_what_a_chat_needs_that_sillytavern_deleted_and_history_can_bring_back() {
    on_each("Data Maid and history", |version| {
        let vault = with_pictures();
        let tavern = tavern(version, &vault);
        let page = tavern.open(Some("Ana"), "Main");
        tavern.save(Some("Ana"), "Main", &page, false).ok();
        tavern.until("history knows the chat", || {
            let history = vault.json(FORKLORE, &["history", "Ana/Main"]);
            (history["unseen"] == false).then_some(())
        });
        tavern.post("api/chats/delete", &json!({"chatfile": "Main.jsonl", "avatar_url": "Ana.png"})).ok();
        assert!(!vault.root().join("chats/Ana/Main.jsonl").exists());
        loose(&tavern);
    });
}

#[test]
fn without_an_engine_images_and_files_are_not_offered_at_all() {
    on_each("Data Maid without an engine", |version| {
        let vault = with_pictures();
        let env = vec![("FORKLORE_BIN".to_owned(), "/there/is/no/forklore".to_owned())];
        let tavern = Tavern::start(version, FORKLORE, &vault.root(), Setup { env, ..Setup::default() });
        tavern.engine_is("down");
        // A vault that Forklore never did anything in has no trash.
        loose(&tavern);
        assert_eq!(vault.run(FORKLORE, &["delete", "Ana/Main"]).code, Some(0));
        let (images, files, rest) = offered(&tavern);
        assert_eq!((images.len(), files.len()), (0, 0));
        assert!(
            rest["chats"].is_array() && rest["groupChats"].is_array(),
            "the rest is offered as ever: {rest}"
        );
        assert!(
            tavern.log().contains("Data Maid does not offer images and files for now"),
            "{}",
            tavern.log()
        );
    });
}
