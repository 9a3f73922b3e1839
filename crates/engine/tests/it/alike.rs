//! What is found out about a chat does not depend on which chats were read before, whatever lines they have in common.

use forklore_core::story::Row;
use forklore_fs::{SimFs, Vfs};
use forklore_vault::read::scan::{Scan, scan};
use serde_json::json;

use crate::path;
use crate::random::Random;

fn line(random: &mut Random, n: usize) -> String {
    let mut extra = json!({});
    match random.below(6) {
        0 => {
            let entry = |uid: usize| json!({"uid": uid, "comment": format!("fact-{uid}"), "content": "x".repeat(uid + n % 3)});
            let entries: Vec<_> = (0..random.below(5)).map(entry).collect();
            extra["auto_recap_memory"] = json!({"scene_break": true, "scene_recap_memory": "then",
                "scene_recap_versions": ["", "then"], "scene_recap_current_index": 1,
                "scene_recap_metadata": {"1": {"timestamp": n, "chatLorebookName": "Lore", "allEntries": entries}}});
        }
        1 => extra["bookmark_link"] = format!("Elsewhere {n}").into(),
        2 => return ["", "null", "{broken", "{\"chat_metadata\":{}}"][random.below(4)].to_owned(),
        _ => {}
    }
    let text = format!("{n} {}", "word ".repeat(random.below(40)));
    json!({"name": "Ana", "is_user": n.is_multiple_of(2), "send_date": n.to_string(), "mes": text, "extra": extra})
        .to_string()
}

fn rows(scan: &Scan) -> Vec<Row> {
    scan.transcript.rows_from(0).collect()
}

#[test]
fn what_was_read_before_changes_nothing() {
    let mut random = Random::new(21);
    let fs = SimFs::new();
    let mut lines: Vec<String> = Vec::new();
    for n in 0..150 {
        // Mostly a fork of the chat before: some of its first lines, with some of them changed, and other ones behind.
        lines.truncate(random.below(lines.len() + 1));
        for _ in 0..random.below(3) {
            if !lines.is_empty() {
                let place = random.below(lines.len());
                lines[place] = line(&mut random, place);
            }
        }
        for i in 0..random.below(30) {
            lines.push(line(&mut random, i));
        }
        let header = if n % 7 == 0 {
            String::new()
        } else {
            format!("{{\"chat_metadata\":{{\"integrity\":\"{n}\"}}}}\n")
        };
        let bom = if n % 11 == 0 { "\u{feff}" } else { "" };
        let file = path(&format!("chats/Ana/{n}.jsonl"));
        fs.put(&file, format!("{bom}{header}{}", lines.join("\n")).as_bytes());
        let open = || fs.open(&file).unwrap();
        let here = scan(&*open(), n % 5 == 0).unwrap();
        // A thread that has read nothing before.
        let alone =
            std::thread::scope(|scope| scope.spawn(|| scan(&*open(), n % 5 == 0).unwrap()).join().unwrap());
        assert_eq!(
            (&here.header, &here.outline, &here.facts),
            (&alone.header, &alone.outline, &alone.facts),
            "chat {n}"
        );
        assert_eq!(rows(&here), rows(&alone), "chat {n}");
        assert_eq!(here.snapshots, alone.snapshots, "chat {n}");
    }
}
