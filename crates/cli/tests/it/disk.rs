//! What is on disk after a fork, taken apart for tests.

use std::collections::BTreeMap;

use forklore_testkit::TestVault;
use serde_json::{Value, json};

use crate::FORKLORE;

/// A chat's file: the header, and every other line as it stands.
pub(crate) struct ChatFile {
    pub(crate) header: Value,
    pub(crate) lines: Vec<Vec<u8>>,
}

impl ChatFile {
    pub(crate) fn read(vault: &TestVault, path: &str) -> Self {
        let bytes = vault.read(path);
        let mut lines = bytes.split(|c| *c == b'\n').map(<[u8]>::to_vec);
        let header = serde_json::from_slice(&lines.next().unwrap()).unwrap();
        Self { header, lines: lines.collect() }
    }

    /// The chat at an address.
    pub(crate) fn at(vault: &TestVault, address: &str) -> Self {
        Self::read(vault, &path_of(address))
    }

    pub(crate) fn metadata(&self) -> &Value {
        &self.header["chat_metadata"]
    }

    pub(crate) fn book(&self) -> &str {
        self.metadata()["world_info"].as_str().unwrap_or_else(|| panic!("no book in {}", self.header))
    }

    /// Numbers of the versions of the running recap, in file order.
    pub(crate) fn versions(&self) -> Vec<i64> {
        let versions = self.metadata()["auto_recap_running_scene_recaps"]["versions"].as_array();
        versions.into_iter().flatten().map(|v| v["version"].as_i64().unwrap()).collect()
    }
}

/// File of a chat, by its address.
pub(crate) fn path_of(address: &str) -> String {
    match address.strip_prefix("group:") {
        Some(group) => format!("group chats/{}.jsonl", group.split_once('/').unwrap().1),
        None => format!("chats/{address}.jsonl"),
    }
}

/// A book's file, parsed.
pub(crate) fn book(vault: &TestVault, name: &str) -> Value {
    serde_json::from_slice(&vault.read(&format!("worlds/{name}.json"))).unwrap()
}

/// The entries of a book by title, the queue left out.
pub(crate) fn entries(book: &Value) -> BTreeMap<String, Value> {
    let all = book["entries"].as_object().unwrap().values();
    let facts = all.filter(|e| e["comment"] != "__operation_queue");
    facts.map(|e| (e["comment"].as_str().unwrap_or_default().to_owned(), e.clone())).collect()
}

/// Makes a fork that must work, and gives the report.
pub(crate) fn fork(vault: &TestVault, args: &[&str]) -> Value {
    let run = vault.run(FORKLORE, &[args, &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{args:?}\n{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("not one JSON document ({e}):\n{run}"))
}

/// The address of a fork, from its report.
pub(crate) fn address(report: &Value) -> String {
    report["chat"].as_str().unwrap().to_owned()
}

/// Asks for a fork that must be refused with this code, and leave every file as it is; gives the error.
pub(crate) fn refused(vault: &TestVault, args: &[&str], code: &str) -> Value {
    let before = vault.snapshot();
    let run = vault.run(FORKLORE, &[args, &["--json"]].concat());
    assert_eq!(run.code, Some(1), "{args:?}\n{run}");
    let answer: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("not one JSON document ({e}):\n{run}"));
    assert_eq!(answer["error"]["code"], code, "{args:?}\n{answer}");
    for part in ["message", "hint"] {
        let text = answer["error"][part].as_str().unwrap_or_default();
        assert!(text.len() > 15, "a user needs to know more: {answer}");
    }
    unchanged(&before, vault);
    answer["error"].clone()
}

/// Every file is what it was.
pub(crate) fn unchanged(before: &[(String, Vec<u8>)], vault: &TestVault) {
    changed_only(before, vault, &[]);
}

/// Every file is what it was, but for these, which must not be.
pub(crate) fn changed_only(before: &[(String, Vec<u8>)], vault: &TestVault, but: &[&str]) {
    let before: BTreeMap<&str, &[u8]> = before.iter().map(|(path, bytes)| (&**path, &**bytes)).collect();
    let after = vault.snapshot();
    let after: BTreeMap<&str, &[u8]> = after.iter().map(|(path, bytes)| (&**path, &**bytes)).collect();
    let paths: std::collections::BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let differing: Vec<&str> = paths.into_iter().filter(|path| before.get(path) != after.get(path)).collect();
    let mut but = but.to_vec();
    but.sort_unstable();
    but.dedup();
    assert_eq!(differing, but, "files that are not what they were");
}

/// What `check` says of a chat, as (code, severity), infos left out.
pub(crate) fn complaints(vault: &TestVault, chat: &str) -> Vec<(String, String, String)> {
    let report = vault.json(FORKLORE, &["check", chat]);
    let findings = report["findings"].as_array().unwrap_or_else(|| panic!("{report}"));
    let serious = findings.iter().filter(|f| f["severity"] != "info" && f["chat"] == chat);
    let text = |f: &Value, key: &str| f[key].as_str().unwrap().to_owned();
    serious.map(|f| (text(f, "code"), text(f, "severity"), text(f, "message"))).collect()
}

/// Codes of the warnings in a report.
pub(crate) fn warnings(report: &Value) -> Vec<&str> {
    report["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect()
}

/// `auto_lorebooks.registry.index` as the registries' text in a book has it: uid to (type, name, aliases, synopsis).
pub(crate) fn index_by_text(book: &Value) -> BTreeMap<String, Value> {
    let mut index = BTreeMap::new();
    for entry in book["entries"].as_object().unwrap().values() {
        let Some(kind) = entry["comment"].as_str().and_then(|c| c.strip_prefix("_registry_")) else {
            continue;
        };
        let content = entry["content"].as_str().unwrap();
        for line in content.lines().filter_map(|line| line.strip_prefix("- UID=")) {
            let mut parts = line.splitn(4, " | ");
            let uid = parts.next().unwrap();
            let mut field =
                |label: &str| parts.next().and_then(|p| p.strip_prefix(label)).unwrap_or_default();
            let (name, aliases, synopsis) = (field("name: "), field("aliases: "), field("synopsis: "));
            let aliases: Vec<&str> = aliases.split("; ").filter(|a| *a != "—" && !a.is_empty()).collect();
            let synopsis = if synopsis == "—" { "" } else { synopsis };
            let value = json!({"type": kind, "name": name, "aliases": aliases, "synopsis": synopsis});
            index.insert(uid.to_owned(), value);
        }
    }
    index
}

/// The same of a header's own index.
pub(crate) fn index_of(metadata: &Value) -> BTreeMap<String, Value> {
    let index = metadata["auto_lorebooks"]["registry"]["index"].as_object();
    let told = |e: &Value| json!({"type": e["type"], "name": e["name"], "aliases": e["aliases"], "synopsis": e["synopsis"]});
    index.into_iter().flatten().map(|(uid, e)| (uid.clone(), told(e))).collect()
}
