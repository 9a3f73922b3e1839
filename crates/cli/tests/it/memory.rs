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

#[test]
fn what_an_extension_kept_is_taken_over_without_a_question_and_undone() {
    let vault = TestVault::harbor();
    assert_eq!(vault.run(FORKLORE, &["heal", "--yes"]).code, Some(0));
    let tree = ok(&vault, &["tree"]);
    let chats =
        tree["stories"].as_array().unwrap().iter().flat_map(|story| story["chats"].as_array().unwrap());
    let scenes = |chat: &&Value| chat["scenes"].as_array().map_or(0, Vec::len);
    let kept = chats.max_by_key(scenes).and_then(|chat| chat["chat"].as_str()).unwrap();
    let before = ok(&vault, &["show", kept]);
    let told = ok(&vault, &["memory", "on", kept, "--take-over"]);
    assert_eq!(told["taken"], "Auto-Recap", "{told:#}");
    assert!(told["scenes"].as_array().unwrap().iter().all(|scene| scene["state"] == "ready"), "{told:#}");
    let after = ok(&vault, &["show", kept]);
    let entries = |shown: &Value| -> Vec<(String, String)> {
        let all = shown["book"]["entries"].as_array().unwrap().iter();
        let all = all.map(|entry| {
            (entry["comment"].as_str().unwrap_or_default().to_owned(), entry["content"].to_string())
        });
        all.filter(|(title, _)| title != "Story so far" && !title.starts_with("_registry")).collect()
    };
    assert_eq!(entries(&before), entries(&after));
    let undone = ok(&vault, &["undo"]);
    assert_eq!(undone["left"], json!([]), "{undone:#}");
    assert_eq!(ok(&vault, &["show", kept]), before);
}

#[test]
fn a_day_has_its_limit_and_everything_has_its_price() {
    let vault = vault(60);
    let server = ModelServer::start(Faults::none());
    for (key, value) in [("memory.price_in", "2.5"), ("memory.price_out", "10"), ("memory.daily_tokens", "1")]
    {
        ok(&vault, &["config", key, value]);
    }
    let told = ok(&vault, &["memory", "on", "Long road"]);
    assert!(told["price"].as_f64().unwrap() > 0.0, "{told:#}");
    let (done, report) = run(&vault, &server, &[]);
    assert!(!done);
    assert_eq!(report["asked"], 1, "the first question is more than a day's token: {report:#}");
    assert_eq!(run(&vault, &server, &[]).1["asked"], 0);
    ok(&vault, &["config", "memory.daily_tokens", "--unset"]);
    assert!(run(&vault, &server, &[]).0);
    let bill = ok(&vault, &["memory", "bill"]);
    assert_eq!(bill["all"]["questions"].as_u64(), Some(server.asked().len() as u64));
    assert_eq!((bill["days"].as_array().unwrap().len(), &bill["stories"][0]["of"]), (1, &json!("Mara")));
    let cost = bill["all"]["tokens_in"].as_f64().unwrap() * 2.5e-6
        + bill["all"]["tokens_out"].as_f64().unwrap() * 1e-5;
    assert!((bill["all"]["price"].as_f64().unwrap() - cost).abs() < 1e-9, "{bill:#}");
}

#[test]
fn the_address_of_a_model_is_the_owners_and_not_a_vaults() {
    let vault = vault(60);
    let server = ModelServer::start(Faults::none());
    ok(&vault, &["memory", "on", "Long road"]);
    let none = vault.run(FORKLORE, &["memory", "run", "Long road", "--json"]);
    assert!(none.stdout.contains("There is no model to ask yet"), "{}", none.stdout);
    std::fs::write(
        vault.root().join(".forklore/config.toml"),
        format!("[memory]\nurl = \"{}\"\n", server.url()),
    )
    .unwrap();
    let refused = vault.run(FORKLORE, &["memory", "run", "Long road", "--json"]);
    let refused: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(refused["error"]["code"], "CONFIG_INVALID", "{refused:#}");
    assert_eq!(server.asked().len(), 0, "a vault sends nobody's story anywhere");
    std::fs::remove_file(vault.root().join(".forklore/config.toml")).unwrap();
    ok(&vault, &["config", "memory.url", &server.url()]);
    let done = vault.json(FORKLORE, &["memory", "run", "Long road"]);
    assert!(done["asked"].as_u64().unwrap() > 0);
    ok(&vault, &["config", "memory.url", "--unset"]);
}

#[test]
fn an_owner_decides_on_the_command_line() {
    let vault = vault(60);
    let server = ModelServer::start(Faults::none());
    ok(&vault, &["memory", "on", "Long road"]);
    run(&vault, &server, &[]);
    let asked = server.asked().len();
    let chat = vault.root().join("chats/Mara/Long road.jsonl");
    let text = std::fs::read_to_string(&chat).unwrap();
    std::fs::write(&chat, text.replace("Nothing new, 5.", "Nothing at all, 5.")).unwrap();
    assert!(ok(&vault, &["memory", "status", "Long road"])["questions"].as_u64().unwrap() > 0);
    let kept = ok(&vault, &["memory", "keep", "Long road", "5"]);
    assert_eq!(kept["status"]["questions"], 0, "{kept:#}");
    run(&vault, &server, &[]);
    assert_eq!(server.asked().len(), asked, "nothing is asked for what is kept");
    let refused = vault.run(FORKLORE, &["memory", "keep", "Long road", "5", "--json"]);
    assert!(refused.stdout.contains("NOTHING_NEW"), "{}", refused.stdout);
    let again = vault.json(FORKLORE, &["memory", "ask", "Long road", "5", "--url", &server.url()]);
    assert_eq!(again["asked"].as_u64(), Some((server.asked().len() - asked) as u64));
    assert!(again["asked"].as_u64().unwrap() >= 1, "{again:#}");
    let broken = ok(&vault, &["memory", "break", "Long road", "17"]);
    assert!(
        broken["status"]["scenes"].as_array().unwrap().iter().any(|scene| scene["last"] == 17),
        "{broken:#}"
    );
    let all = vault.run(FORKLORE, &["memory", "prompts"]);
    assert!(all.stdout.contains(".forklore/prompts/facts.md"), "{}", all.stdout);
}

#[test]
fn a_chat_of_another_line_is_not_taken_over() {
    let vault = TestVault::real("quill");
    let tree = ok(&vault, &["tree"]);
    let chats =
        tree["stories"].as_array().unwrap().iter().flat_map(|story| story["chats"].as_array().unwrap());
    let codes = chats.filter_map(|chat| chat["chat"].as_str()).map(|chat| {
        let told = vault.run(FORKLORE, &["memory", "on", chat, "--take-over", "--json"]);
        let told: Value = serde_json::from_str(&told.stdout).unwrap();
        told["error"]["code"].as_str().unwrap_or_default().to_owned()
    });
    assert!(codes.collect::<Vec<_>>().contains(&"MEMORY_ILL".to_owned()));
}

#[test]
fn killed_again_and_again_it_buys_nothing_twice() {
    let (vault, other) = (vault(60), vault(60));
    let fresh = ModelServer::start(Faults::none());
    ok(&other, &["memory", "on", "Long road"]);
    run(&other, &fresh, &[]);
    let server = ModelServer::start(Faults::none());
    ok(&vault, &["memory", "on", "Long road"]);
    let mut kills = 0;
    for patience in 0..40 {
        let before = server.asked().len();
        let mut command: Command = vault.command(FORKLORE);
        command.args(["memory", "run", "Long road", "--json", "--url", &server.url()]);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        // Killed with one, two or three questions on the way, and at whatever instruction it is then.
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if server.asked().len() >= before + 1 + patience % 3 {
                std::thread::sleep(std::time::Duration::from_millis(patience as u64));
                break None;
            }
            std::thread::yield_now();
        };
        if ended.is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(run(&vault, &server, &[]).0 && kills > 1);
    let asked = server.asked().len();
    assert!(asked <= fresh.asked().len() + kills, "{asked} questions with {kills} kills");
    let shown = |vault: &TestVault| ok(vault, &["show", "Long road"])["book"]["entries"].clone();
    assert_eq!(shown(&vault), shown(&other), "it comes to the same");
    assert_eq!(ok(&vault, &["check"])["ok"], true);
}

#[cfg(unix)]
#[test]
fn ctrl_c_pauses_it_and_what_was_answered_is_written() {
    let vault = vault(60);
    let stuck =
        ModelServer::start(Faults::none().then(Fault::Chatter).then(Fault::Chatter).then(Fault::Silent));
    ok(&vault, &["memory", "on", "Long road"]);
    let mut command: Command = vault.command(FORKLORE);
    command.args(["memory", "run", "Long road", "--json", "--url", &stuck.url()]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    stuck.await_calls(3);
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let done = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((done.status.code(), &told["stopped"]), (Some(1), &json!("you have paused it")), "{told:#}");
    assert!(
        !told["operations"].as_array().unwrap().is_empty(),
        "a scene was known, and is written: {told:#}"
    );
    let good = ModelServer::start(Faults::none());
    let (done, report) = run(&vault, &good, &[]);
    assert!(done && report["asked"].as_u64().unwrap() > 0, "{report:#}");
}

#[test]
fn a_chat_that_comes_from_somebody_else_spends_nothing() {
    let theirs = json!({"integrity": "1", "forklore_memory": {"version": 1, "on": true, "vault": "0123456789abcdef0123456789abcdef"}});
    let texts: Vec<String> = (0..60).map(|i| format!("Nothing new, {i}.")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vault = TestVault::new().chat("Mara", "Long road", &theirs, &texts);
    let server = ModelServer::start(Faults::none());
    for known in [false, true] {
        if known {
            // Also where the vault has a name of its own.
            ok(&vault, &["watch", "--once"]);
        }
        assert_eq!(ok(&vault, &["memory", "status", "Long road"])["on"], false);
        assert_eq!(run(&vault, &server, &[]).1["error"]["code"], "MEMORY_OFF");
    }
    assert_eq!(server.asked().len(), 0);
    ok(&vault, &["memory", "on", "Long road"]);
    assert!(run(&vault, &server, &[]).0);
    assert!(!server.asked().is_empty());
}
