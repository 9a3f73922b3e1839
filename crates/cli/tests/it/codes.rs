//! Codes are stable, so they are written down and tested: docs/formats/findings.md lists exactly those that exist, and each appears in
//! a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Words in capital letters that are no codes.
const WORDS: [&str; 13] = [
    "SIGKILL",
    "CHAT",
    "KB",
    "MB",
    "GB",
    "TB",
    "B",
    "GET",
    "POST",
    "ENOENT",
    "DEVELOPMENTS",
    "OPEN",
    "STATE",
];

/// What stands right before a word that is the name of something else.
const NAMES: [&str; 8] = ["value_name = ", "env!(", "var_os(", "var(", "b", "env(", "headers.", "env = "];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below a folder of the repository that end like this.
fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let mut todo = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    found
}

fn is_code(word: &str) -> bool {
    word.len() > 1
        && word.bytes().all(|c| c.is_ascii_uppercase() || c == b'_')
        && !word.starts_with('_')
        && !word.ends_with('_')
        && !WORDS.contains(&word)
}

/// Words between these marks that may be codes.
fn quoted(text: &str, mark: char) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(mark) {
        let rest = &text[at + 1..];
        let Some(end) = rest.find(mark) else { continue };
        let names_something = NAMES.iter().any(|name| text[..at].ends_with(name));
        if is_code(&rest[..end]) && !names_something {
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

/// A file of the program, and the tests in it.
fn parts(text: &str) -> (&str, &str) {
    text.split_once("#[cfg(test)]").unwrap_or((text, ""))
}

fn codes() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in ["api", "cli", "core", "engine", "install", "server"] {
        for file in files(&format!("crates/{part}/src"), ".rs") {
            if !file.ends_with("tests.rs") {
                found.extend(quoted(parts(&fs::read_to_string(file).unwrap()).0, '"'));
            }
        }
    }
    for file in files("sillytavern/plugin", ".js") {
        found.extend(quoted(&fs::read_to_string(file).unwrap(), '\''));
    }
    found
}

#[test]
fn the_list_of_codes_has_exactly_those_that_exist() {
    let page = fs::read_to_string(root().join("docs/formats/findings.md")).unwrap();
    let mut listed = quoted(&page, '`');
    for (at, _) in page.match_indices("](#") {
        let name = page[..at].rsplit('[').next().unwrap_or_default();
        listed.extend(Some(name.to_owned()).filter(|name| is_code(name)));
    }
    let codes = codes();
    let missing: Vec<_> = codes.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&codes).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "not in the list: {missing:?}; only in the list: {gone:?}"
    );
    // Findings have a chapter each.
    for code in forklore_core::check::Code::ALL {
        assert!(page.contains(&format!("\n### {code}\n")), "{code} is not explained");
    }
}

#[test]
fn every_code_has_a_test() {
    let mut tests = String::new();
    for file in files("crates", ".rs") {
        let text = fs::read_to_string(&file).unwrap();
        let path = file.to_string_lossy();
        if path.ends_with("/codes.rs") {
            continue;
        }
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        tests.push_str(if is_test { &text } else { parts(&text).1 });
    }
    for file in files("sillytavern/tests", ".js").into_iter().chain(files("crates/web/tests", ".js")) {
        tests.push_str(&fs::read_to_string(file).unwrap());
    }
    let is_word = |c: char| c.is_ascii_uppercase() || c == '_';
    let told: BTreeSet<&str> = tests.split(|c: char| !is_word(c)).collect();
    let untested: Vec<String> = codes().into_iter().filter(|code| !told.contains(&**code)).collect();
    assert!(untested.is_empty(), "no test says {untested:?}");
}
