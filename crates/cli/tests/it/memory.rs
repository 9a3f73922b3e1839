//! `forklore memory` with a server that answers by a script: what people see, what it costs, and what a server can do wrong.

use std::process::Command;

use forklore_testkit::TestVault;
use forklore_testkit::model_server::{Fault, Faults, ModelServer};
use serde_json::{Value, json};

use crate::FORKLORE;

/// A chat of `n` messages: a scene of twelve, and the next.
fn vault(n: usize) -> TestVault {
    let names = ["Tolan", "Ilse", "Bren"];
    let texts: Vec<String> = (0..n)
        .map(|i| match i % 12 {
            0 if i > 0 => format!("Later they came upon {} at the mill.", names[(i / 12) % 3]),
            3 => format!("It is said that {} lives in house {i}.", names[(i / 12) % 3]),
            _ => format!("Nothing new, {i}."),
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    TestVault::new().chat("Mara", "Long road", &json!({"integrity": "1"}), &texts)
}

fn run(vault: &TestVault, server: &ModelServer, more: &[&str]) -> (bool, Value) {
    let mut command: Command = vault.command(FORKLORE);
    command.args(["memory", "run", "Long road", "--json", "--url", &server.url()]).args(more);
    let done = vault.finish(&mut command);
    (
        done.code == Some(0),
        serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}{}", done.stdout, done.stderr)),
    )
}

fn ok(vault: &TestVault, args: &[&str]) -> Value {
    vault.json(FORKLORE, args)
}

#[test]
fn it_is_off_until_it_is_turned_on_and_tells_what_it_costs() {
    let vault = vault(60);
    let server = ModelServer::start(Faults::none());
    let (done, refused) = run(&vault, &server, &[]);
    assert!(!done);
    assert_eq!(refused["error"]["code"], "MEMORY_OFF");
    let told = ok(&vault, &["memory", "on", "Long road"]);
    assert!(told["questions"].as_u64().unwrap() > 0 && told["tokens_in"].as_u64().unwrap() > 500, "{told:#}");
    assert_eq!(server.asked().len(), 0, "nothing is asked before");
}

#[test]
fn it_remembers_and_a_fork_asks_nothing() {
    let vault = vault(60);
    let server = ModelServer::start(Faults::none());
    ok(&vault, &["memory", "on", "Long road"]);
    let (done, report) = run(&vault, &server, &[]);
    assert!(done, "{report:#}");
    assert!(report["status"]["scenes"].as_array().unwrap().iter().all(|scene| scene["state"] == "ready"));
    let asked = server.asked().len();
    assert_eq!(report["asked"].as_u64(), Some(asked as u64));
    assert!(run(&vault, &server, &[]).0);
    assert_eq!(server.asked().len(), asked, "a second run asks nothing");
    ok(&vault, &["branch", "Long road", "--at", "30", "--name", "Aside"]);
    let fork = ok(&vault, &["memory", "status", "Aside"]);
    assert_eq!((fork["on"].as_bool(), fork["questions"].as_u64()), (Some(true), Some(0)), "{fork:#}");
    let why = ok(&vault, &["memory", "why", "Long road", "ilse"]);
    assert_eq!(why["title"], "character-Ilse");
    assert_eq!(why["lines"][0]["scenes"][0]["first"], 12);
}

#[test]
fn what_is_stopped_goes_on_where_it_was() {
    let vault = vault(60);
    let server = ModelServer::start(Faults::none());
    ok(&vault, &["memory", "on", "Long road"]);
    let mut asked = 0;
    loop {
        let (done, report) = run(&vault, &server, &["--at-most", "1"]);
        assert!(done, "{report:#}");
        asked += report["asked"].as_u64().unwrap();
        if report["stopped"].is_null() {
            break;
        }
        assert!(asked < 100);
    }
    let other = self::vault(60);
    let fresh = ModelServer::start(Faults::none());
    ok(&other, &["memory", "on", "Long road"]);
    run(&other, &fresh, &[]);
    assert_eq!(server.asked().len(), fresh.asked().len(), "nothing is asked twice");
}

#[test]
fn a_server_that_fails_costs_nothing_that_was_paid() {
    let vault = vault(60);
    let server =
        ModelServer::start(Faults::none().then(Fault::Chatter).always(Fault::Status(401, "no".into())));
    ok(&vault, &["memory", "on", "Long road"]);
    let (done, report) = run(&vault, &server, &[]);
    assert!(!done);
    assert!(report["stopped"].as_str().is_some_and(|why| !why.is_empty()), "{report:#}");
    let good = ModelServer::start(Faults::none());
    let (done, report) = run(&vault, &good, &[]);
    assert!(done, "{report:#}");
    let shown = ok(&vault, &["show", "Long road"]);
    let titles: Vec<&str> = shown["book"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["comment"].as_str())
        .collect();
    assert!(titles.contains(&"character-Ilse") && titles.contains(&"Story so far"), "{titles:?}");
}

#[test]
fn where_an_extension_keeps_it_nothing_is_turned_on() {
    let vault = TestVault::harbor();
    let tree = ok(&vault, &["tree"]);
    let chats =
        tree["stories"].as_array().unwrap().iter().flat_map(|story| story["chats"].as_array().unwrap());
    let scenes = |chat: &&Value| chat["scenes"].as_array().is_some_and(|scenes| !scenes.is_empty());
    let kept = chats.filter(scenes).find_map(|chat| chat["chat"].as_str()).unwrap();
    let tree = vault.run(FORKLORE, &["memory", "on", kept, "--json"]);
    let refused: Value = serde_json::from_str(&tree.stdout).unwrap();
    assert_eq!(refused["error"]["code"], "MEMORY_KEPT");
}
