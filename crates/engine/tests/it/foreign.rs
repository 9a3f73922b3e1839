//! Operations that somebody else put into a vault: sealed, whole, and never acted upon.

use forklore_fs::{SimFs, Vfs};
use forklore_journal::folders;
use forklore_vault::settle;
use serde_json::{Value, json};

use crate::path;

const NOW: i64 = 1_800_000_000_000;

fn sealed(operation: &Value) -> Vec<u8> {
    let document = serde_json::to_vec_pretty(operation).unwrap();
    let hash = blake3::hash(&document).to_hex().to_string();
    [&document[..], b"\n", hash.as_bytes(), b"\n"].concat()
}

fn operation(id: &str, step: &Value) -> Value {
    json!({"version": 1, "id": id, "kind": "gc", "at": 1, "chat": null, "summary": "x", "steps": [step]})
}

#[test]
fn regression_an_operation_that_forklore_would_not_write_is_not_done() {
    let file = json!({"number": 0, "bytes": 2, "modified": 1});
    let hash = "0".repeat(64);
    let steps = [
        json!({"retire": {"target": "settings.json", "object": "../../../evil", "file": file}}),
        json!({"retire": {"target": "secrets.json", "object": hash, "file": file}}),
        json!({"retire": {"target": "worlds", "object": hash, "file": file}}),
        json!({"publish": {"target": "../outside", "staged": "id.0.staged", "file": file}}),
        json!({"publish": {"target": "worlds/x.json", "staged": "../../settings.json", "file": file}}),
        json!({"publish": {"target": "worlds/x.json", "staged": "other.0.staged", "file": file}}),
        json!({"edit": {"target": "secrets.json", "place": "document", "changes": []}}),
        json!({"burn": {"target": "worlds/x.json"}}),
    ];
    for (name, id) in [("id", "id"), ("id", "another"), ("id", "")] {
        for step in &steps {
            let fs = SimFs::new();
            let files = ["settings.json", "secrets.json", "worlds/b.json"];
            files.iter().for_each(|file| fs.put(&path(file), b"{}"));
            [folders::ops(), folders::objects()].iter().for_each(|dir| fs.make_dir(dir).unwrap());
            fs.put(&folders::tx().join(&format!("{name}.intent")).unwrap(), &sealed(&operation(id, step)));
            settle::recover(&fs, NOW).unwrap();
            for file in files {
                assert_eq!(fs.read(&path(file)).unwrap().as_deref(), Some(&b"{}"[..]), "{file} after {step}");
            }
            assert!(fs.list(&folders::tx()).unwrap().is_empty(), "{step} stands in the way");
            assert_eq!(
                fs.list(&folders::lost()).unwrap().len(),
                1,
                "{step} is kept for whoever wants to know"
            );
        }
    }
}
