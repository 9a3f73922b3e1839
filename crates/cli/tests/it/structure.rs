//! Arrows point down only: no modules of a crate import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every module of a crate, by its path (`crate::a::b`), with its file.
fn modules(dir: &Path, path: &str, found: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        if entry.is_dir() {
            modules(&entry, &format!("{path}::{name}"), found);
        } else if entry.extension().is_some_and(|end| end == "rs") && name != "tests" {
            let own = matches!(name.as_str(), "mod" | "lib" | "main");
            found.insert(if own { path.to_owned() } else { format!("{path}::{name}") }, entry);
        }
    }
}

/// What the imports of a file name, as whole paths: `use a::{b, c::d};` names `a::b` and `a::c::d`. Those of its unit tests do not count.
fn imports(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap();
    let mut found = Vec::new();
    for (at, _) in text.match_indices("use ") {
        let line = text[..at].rsplit('\n').next().unwrap().trim();
        if !(line.is_empty() || line.starts_with("pub")) {
            continue;
        }
        let import: String = text[at + 4..].split(';').next().unwrap().split_whitespace().collect();
        unfold("", &import, &mut found);
    }
    found
}

fn unfold(before: &str, import: &str, found: &mut Vec<String>) {
    let Some((path, group)) = import.split_once('{') else {
        return found.push(format!("{before}{import}"));
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    let (mut depth, mut start) = (0, 0);
    for (i, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                unfold(&format!("{before}{path}"), &group[start..i], found);
                start = i + 1;
            }
            _ => {}
        }
    }
}

/// The module that a path leads to from module `here`: the longest beginning of it that is one.
fn resolve(here: &str, path: &str, modules: &BTreeMap<String, PathBuf>) -> Option<String> {
    let mut whole = match path.split_once("::") {
        Some(("crate", rest)) => format!("crate::{rest}"),
        Some(("self", rest)) => format!("{here}::{rest}"),
        Some(("super", rest)) => {
            return resolve(here.rsplit_once("::")?.0, &format!("self::{rest}"), modules);
        }
        _ => return None,
    };
    while !modules.contains_key(&whole) {
        whole.truncate(whole.rfind("::")?);
    }
    Some(whole)
}

/// A module and what is inside it are one room: the door of the room may name what is in it, and what is in it the door.
fn is_around(a: &str, b: &str) -> bool {
    a == b || a.starts_with(&format!("{b}::")) || b.starts_with(&format!("{a}::"))
}

/// Everything that can be reached from a module.
fn reached<'a>(from: &str, arrows: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<&str> = arrows.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(next) = todo.pop() {
        if found.insert(next) {
            todo.extend(arrows.get(next).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for name in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name()) {
        let mut all = BTreeMap::new();
        modules(&root().join("crates").join(&name).join("src"), "crate", &mut all);
        let arrow = |(here, file): (&String, &PathBuf)| {
            let named = imports(&fs::read_to_string(file).unwrap());
            let to = named.iter().filter_map(|path| resolve(here, path, &all));
            (here.clone(), to.filter(|to| !is_around(here, to)).collect::<BTreeSet<_>>())
        };
        let arrows: BTreeMap<String, BTreeSet<String>> = all.iter().map(arrow).collect();
        let in_circle = |module: &&String| reached(module, &arrows).contains(module.as_str());
        let found: Vec<&String> = all.keys().filter(in_circle).collect();
        if !found.is_empty() {
            circles.push(format!("crates/{}: {found:?}", name.display()));
        }
    }
    assert!(circles.is_empty(), "modules import each other in a circle: {circles:#?}");
}

#[test]
fn the_look_for_circles_finds_one() {
    let text = "use super::{b::{C, D}, e};\npub use self::x::Y;\nfn f() { let used = 1; }\n#[cfg(test)]\nmod t { use crate::z; }";
    assert_eq!(imports(text), ["super::b::C", "super::b::D", "super::e", "self::x::Y"]);
    let module = |name: &str| (name.to_owned(), PathBuf::new());
    let all: BTreeMap<_, _> = ["crate", "crate::a", "crate::b", "crate::a::x"].map(module).into();
    assert_eq!(resolve("crate::a", "super::b::C", &all).as_deref(), Some("crate::b"));
    assert_eq!(resolve("crate::a", "self::x::Y", &all).as_deref(), Some("crate::a::x"));
    assert_eq!(resolve("crate::a", "std::fmt", &all), None);
    let to = |name: &str| BTreeSet::from([name.to_owned()]);
    let arrows =
        BTreeMap::from([("a".to_owned(), to("b")), ("b".to_owned(), to("c")), ("c".to_owned(), to("a"))]);
    assert!(reached("a", &arrows).contains("a"));
}
