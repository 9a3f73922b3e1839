//! Comparing two books: entry by entry, and with the texts that differ laid out word by word.

use std::time::Duration;

use anyhow::Result;
use forklore_core::diff::{Effort, entries};
use forklore_core::format::book::Book;
use forklore_core::state::StateEntry;

use super::{best, timed};

/// How many entries each book has.
const ENTRIES: usize = 5_000;

pub(crate) fn bench() -> Result<()> {
    println!("\nTwo books of {ENTRIES} entries, in memory:");
    let base = book(|_| String::new());
    let books = [
        ("the same", base.clone()),
        ("every 50th changed", book(|uid| if uid % 50 == 0 { "More.".to_owned() } else { String::new() })),
        ("all changed", book(|uid| format!("Seen again at message {uid}."))),
    ];
    for (what, other) in books {
        let alone = best(|| {
            timed(|| {
                let diff = entries(&base, &other);
                anyhow::ensure!(diff.same.len() + diff.changed.len() == ENTRIES, "an entry was lost");
                Ok(())
            })
        })?;
        let whole = best(|| {
            timed(|| {
                let mut effort = Effort::default();
                let changed = entries(&base, &other).changed;
                let fields = changed.iter().flat_map(|change| &change.fields);
                let hunks: usize = fields.filter_map(|f| f.text(&mut effort)).map(|t| t.hunks.len()).sum();
                anyhow::ensure!(hunks >= changed.len(), "a change is not shown");
                Ok(())
            })
        })?;
        row(&format!("{what}: entries"), alone, "target 60 ms");
        row(&format!("{what}: with texts"), whole, "");
    }
    Ok(())
}

fn row(what: &str, time: Duration, target: &str) {
    println!("  {what:<44} {:>8.1} ms            {target}", time.as_secs_f64() * 1000.0);
}

/// A book as SillyTavern writes it, about 2.5 KB an entry. What `more` says is put into the middle of the text.
fn book(more: impl Fn(usize) -> String) -> Vec<StateEntry> {
    let text = |uid: usize| {
        let line =
            |n: usize| format!("Line {n} of what is known about number {uid}, and how it came to be known.");
        let mut lines: Vec<String> = (0..16).map(line).collect();
        lines[8].push_str(&more(uid));
        lines.join("\n")
    };
    let entry = |uid: usize| {
        let entry = forklore_testkit::story::entry(uid as i64, &format!("character-{uid}"), &text(uid));
        (uid.to_string(), entry)
    };
    let book = serde_json::json!({"entries": (0..ENTRIES).map(entry).collect::<serde_json::Map<_, _>>()});
    let bytes = serde_json::to_vec_pretty(&book).unwrap_or_default();
    let images = Book::parse(&bytes).map(|book| book.images()).unwrap_or_default();
    images.into_iter().map(StateEntry::plain).collect()
}
