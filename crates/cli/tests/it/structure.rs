//! Arrows point down only: no modules of a crate import each other in a circle. And only one module of the tests knows what Unix has.

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

/// A file without its unit tests and comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// What the imports of a file name, as whole paths: `use a::{b, c::d};` names `a::b` and `a::c::d`. With each whether it is passed on.
fn imports(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("use ") {
        let line = text[..at].rsplit('\n').next().unwrap().trim();
        if !(line.is_empty() || line.starts_with("pub")) {
            continue;
        }
        let import: Vec<&str> = text[at + 4..].split(';').next().unwrap().split_whitespace().collect();
        let mut paths = Vec::new();
        unfold("", &import.join(" ").replace("{ ", "{").replace(" }", "}").replace(", ", ","), &mut paths);
        found.extend(paths.into_iter().map(|path| (path, line.starts_with("pub"))));
    }
    found
}

/// The paths that a file names outside of its imports.
fn inline(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let starts = ["crate::", "super::"].iter().flat_map(|start| text.match_indices(start).map(|(at, _)| at));
    let alone = starts.filter(|at| !text[..*at].ends_with(is_path));
    alone
        .map(|at| text[at..].split(|c| !is_path(c)).next().unwrap().trim_end_matches(':').to_owned())
        .collect()
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

/// The modules of a crate, and what each passes on: its name there, and the path of what it is.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<String, PathBuf>,
    passed_on: BTreeMap<(String, String), String>,
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut this = Self::default();
        modules(folder, "crate", &mut this.modules);
        for (here, file) in &this.modules {
            for (path, _) in imports(&code(&fs::read_to_string(file).unwrap())).iter().filter(|(_, on)| *on) {
                let (path, name) =
                    path.split_once(" as ").unwrap_or_else(|| (path, path.rsplit("::").next().unwrap()));
                this.passed_on.insert((here.clone(), name.to_owned()), path.to_owned());
            }
        }
        this
    }

    /// The module that a path leads to from module `here`: the longest beginning of it that is one, and from there on to where it
    /// passes the name on from.
    fn resolve(&self, here: &str, path: &str) -> Option<String> {
        let path = path.split(" as ").next()?;
        let whole = match path.split_once("::") {
            Some(("crate", rest)) => format!("crate::{rest}"),
            Some(("self", rest)) => format!("{here}::{rest}"),
            Some(("super", rest)) => {
                return self.resolve(here.rsplit_once("::")?.0, &format!("self::{rest}"));
            }
            // An import can name a module next to it, or what another one passes on.
            Some((first, _)) if self.modules.contains_key(&format!("{here}::{first}")) => {
                format!("{here}::{path}")
            }
            _ => return None,
        };
        let mut module = whole.as_str();
        while !self.modules.contains_key(module) {
            module = &module[..module.rfind("::")?];
        }
        let name = whole[module.len()..].trim_start_matches("::").split("::").next()?;
        let from = self.passed_on.get(&(module.to_owned(), name.to_owned()));
        from.and_then(|path| self.resolve(module, path)).or_else(|| Some(module.to_owned()))
    }
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
        let all = Crate::read(&root().join("crates").join(&name).join("src"));
        let arrow = |(here, file): (&String, &PathBuf)| {
            let text = code(&fs::read_to_string(file).unwrap());
            let imported = imports(&text).into_iter().map(|(path, _)| path);
            let to = imported.chain(inline(&text)).filter_map(|path| all.resolve(here, &path));
            (here.clone(), to.filter(|to| !is_around(here, to)).collect::<BTreeSet<_>>())
        };
        let arrows: BTreeMap<String, BTreeSet<String>> = all.modules.iter().map(arrow).collect();
        let in_circle = |module: &&String| reached(module, &arrows).contains(module.as_str());
        let found: Vec<&String> = all.modules.keys().filter(in_circle).collect();
        if !found.is_empty() {
            circles.push(format!("crates/{}: {found:?}", name.display()));
        }
    }
    assert!(circles.is_empty(), "modules import each other in a circle: {circles:#?}");
}

#[test]
fn the_look_for_circles_finds_one() {
    let text = "use super::{b::{C, D}, e};\npub use self::x::Y as Z;\nfn f() { let used = crate::b::g(); } // crate::no\n#[cfg(test)]\nmod t { use crate::z; }";
    let text = code(text);
    let found: Vec<String> = imports(&text).into_iter().map(|(path, _)| path).collect();
    assert_eq!(found, ["super::b::C", "super::b::D", "super::e", "self::x::Y as Z"]);
    assert!(inline(&text).contains(&"crate::b::g".to_owned()), "{:?}", inline(&text));
    let module = |name: &str| (name.to_owned(), PathBuf::new());
    let all = Crate {
        modules: ["crate", "crate::a", "crate::b", "crate::a::x"].map(module).into(),
        passed_on: [(("crate::a".to_owned(), "Z".to_owned()), "self::x::Y".to_owned())].into(),
    };
    assert_eq!(all.resolve("crate::a", "super::b::C").as_deref(), Some("crate::b"));
    assert_eq!(all.resolve("crate::b", "crate::a::Z").as_deref(), Some("crate::a::x"));
    assert_eq!(all.resolve("crate::a", "std::fmt"), None);
    let to = |name: &str| BTreeSet::from([name.to_owned()]);
    let arrows =
        BTreeMap::from([("a".to_owned(), to("b")), ("b".to_owned(), to("c")), ("c".to_owned(), to("a"))]);
    assert!(reached("a", &arrows).contains("a"));
}

/// The sources below a folder.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|end| end == "rs") {
            found.push(entry);
        }
    }
}

/// What is not behind one of these doors does not compile for Windows one day, and nobody there sees it here.
#[test]
fn only_the_seam_and_one_helper_of_the_tests_know_unix() {
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    sources(&root().join("fuzz"), &mut found);
    let needle = ["std::os", "unix"].join("::");
    let knows = |file: &&PathBuf| fs::read_to_string(file).unwrap().contains(&needle);
    let names = found.iter().filter(knows).map(|file| file.strip_prefix(root()).unwrap());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().replace('\\', "/")).collect();
    names.sort();
    let doors = ["crates/fs/src/beneath/unix.rs", "crates/fs/src/real.rs", "crates/testkit/src/unix.rs"];
    assert_eq!(names, doors, "tests use forklore_testkit::unix");
}
